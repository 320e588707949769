//! Tables of OMOP without a line of names: their columns are in the order of the standard.

use consequence_tables::export::omop_columns;

use crate::ImportError;
use crate::files::{Folder, Parts};

/// The columns of tables of version 5.3, where they are others than those of 5.4, and of tables that
/// are only read.
const OTHERS: [(&str, &[&str]); 4] = [
    (
        "PROCEDURE_OCCURRENCE",
        &[
            "procedure_occurrence_id",
            "person_id",
            "procedure_concept_id",
            "procedure_date",
            "procedure_datetime",
            "procedure_type_concept_id",
            "modifier_concept_id",
            "quantity",
            "provider_id",
            "visit_occurrence_id",
            "visit_detail_id",
            "procedure_source_value",
            "procedure_source_concept_id",
            "modifier_source_value",
        ],
    ),
    (
        "DEVICE_EXPOSURE",
        &[
            "device_exposure_id",
            "person_id",
            "device_concept_id",
            "device_exposure_start_date",
            "device_exposure_start_datetime",
            "device_exposure_end_date",
            "device_exposure_end_datetime",
            "device_type_concept_id",
            "unique_device_id",
            "quantity",
            "provider_id",
            "visit_occurrence_id",
            "visit_detail_id",
            "device_source_value",
            "device_source_concept_id",
        ],
    ),
    (
        "MEASUREMENT",
        &[
            "measurement_id",
            "person_id",
            "measurement_concept_id",
            "measurement_date",
            "measurement_datetime",
            "measurement_time",
            "measurement_type_concept_id",
            "operator_concept_id",
            "value_as_number",
            "value_as_concept_id",
            "unit_concept_id",
            "range_low",
            "range_high",
            "provider_id",
            "visit_occurrence_id",
            "visit_detail_id",
            "measurement_source_value",
            "measurement_source_concept_id",
            "unit_source_value",
            "value_source_value",
        ],
    ),
    (
        "CONCEPT_ANCESTOR",
        &[
            "ancestor_concept_id",
            "descendant_concept_id",
            "min_levels_of_separation",
            "max_levels_of_separation",
        ],
    ),
];

/// The columns of OBSERVATION that version 5.3 has too.
const OLD_OBSERVATION: usize = 18;

/// The files of a table that may be missing.
pub(super) fn find(folder: &Folder, table: &'static str) -> Result<Option<Parts>, ImportError> {
    Ok(folder.find(table)?.map(|parts| Parts { orders: orders(table), ..parts }))
}

/// The files of a table that must be there.
pub(super) fn need(folder: &Folder, table: &'static str) -> Result<Parts, ImportError> {
    Ok(Parts { orders: orders(table), ..folder.need(table)? })
}

/// The orders that the columns of a table may have, each of another number of columns.
fn orders(table: &str) -> Vec<Vec<&'static str>> {
    let mut orders: Vec<_> = omop_columns(table).into_iter().collect();
    let others = OTHERS.iter().filter(|(name, _)| *name == table);
    orders.extend(others.map(|(_, order)| order.to_vec()));
    if let Some(newer) = orders.first().filter(|_| table == "OBSERVATION") {
        let older = newer.iter().take(OLD_OBSERVATION).copied().collect();
        orders.push(older);
    }
    orders
}
