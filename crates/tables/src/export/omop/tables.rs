//! The tables of OMOP, version 5.4, that are written: their columns in the order of the standard.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Float,
    Date,
    Datetime,
    /// Text of at most so many characters, which databases hold to; 0 for any number.
    Text(u16),
}

use Type::{Date, Datetime, Float, Integer, Text};

/// A column: its name, what it holds, and whether no row may lack it.
pub(super) type Column = (&'static str, Type, bool);

/// A table.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
}

const NEEDED: bool = true;
const OPTIONAL: bool = false;

pub(super) const PERSON: Table = Table {
    name: "person",
    columns: &[
        ("person_id", Integer, NEEDED),
        ("gender_concept_id", Integer, NEEDED),
        ("year_of_birth", Integer, NEEDED),
        ("month_of_birth", Integer, OPTIONAL),
        ("day_of_birth", Integer, OPTIONAL),
        ("birth_datetime", Datetime, OPTIONAL),
        ("race_concept_id", Integer, NEEDED),
        ("ethnicity_concept_id", Integer, NEEDED),
        ("location_id", Integer, OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("care_site_id", Integer, OPTIONAL),
        ("person_source_value", Text(50), OPTIONAL),
        ("gender_source_value", Text(50), OPTIONAL),
        ("gender_source_concept_id", Integer, OPTIONAL),
        ("race_source_value", Text(50), OPTIONAL),
        ("race_source_concept_id", Integer, OPTIONAL),
        ("ethnicity_source_value", Text(50), OPTIONAL),
        ("ethnicity_source_concept_id", Integer, OPTIONAL),
    ],
};

pub(super) const OBSERVATION_PERIOD: Table = Table {
    name: "observation_period",
    columns: &[
        ("observation_period_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("observation_period_start_date", Date, NEEDED),
        ("observation_period_end_date", Date, NEEDED),
        ("period_type_concept_id", Integer, NEEDED),
    ],
};

pub(super) const VISIT_OCCURRENCE: Table = Table {
    name: "visit_occurrence",
    columns: &[
        ("visit_occurrence_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("visit_concept_id", Integer, NEEDED),
        ("visit_start_date", Date, NEEDED),
        ("visit_start_datetime", Datetime, OPTIONAL),
        ("visit_end_date", Date, NEEDED),
        ("visit_end_datetime", Datetime, OPTIONAL),
        ("visit_type_concept_id", Integer, NEEDED),
        ("provider_id", Integer, OPTIONAL),
        ("care_site_id", Integer, OPTIONAL),
        ("visit_source_value", Text(50), OPTIONAL),
        ("visit_source_concept_id", Integer, OPTIONAL),
        ("admitted_from_concept_id", Integer, OPTIONAL),
        ("admitted_from_source_value", Text(50), OPTIONAL),
        ("discharged_to_concept_id", Integer, OPTIONAL),
        ("discharged_to_source_value", Text(50), OPTIONAL),
        ("preceding_visit_occurrence_id", Integer, OPTIONAL),
    ],
};

pub(super) const CONDITION_OCCURRENCE: Table = Table {
    name: "condition_occurrence",
    columns: &[
        ("condition_occurrence_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("condition_concept_id", Integer, NEEDED),
        ("condition_start_date", Date, NEEDED),
        ("condition_start_datetime", Datetime, OPTIONAL),
        ("condition_end_date", Date, OPTIONAL),
        ("condition_end_datetime", Datetime, OPTIONAL),
        ("condition_type_concept_id", Integer, NEEDED),
        ("condition_status_concept_id", Integer, OPTIONAL),
        ("stop_reason", Text(20), OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("visit_occurrence_id", Integer, OPTIONAL),
        ("visit_detail_id", Integer, OPTIONAL),
        ("condition_source_value", Text(50), OPTIONAL),
        ("condition_source_concept_id", Integer, OPTIONAL),
        ("condition_status_source_value", Text(50), OPTIONAL),
    ],
};

pub(super) const DRUG_EXPOSURE: Table = Table {
    name: "drug_exposure",
    columns: &[
        ("drug_exposure_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("drug_concept_id", Integer, NEEDED),
        ("drug_exposure_start_date", Date, NEEDED),
        ("drug_exposure_start_datetime", Datetime, OPTIONAL),
        ("drug_exposure_end_date", Date, NEEDED),
        ("drug_exposure_end_datetime", Datetime, OPTIONAL),
        ("verbatim_end_date", Date, OPTIONAL),
        ("drug_type_concept_id", Integer, NEEDED),
        ("stop_reason", Text(20), OPTIONAL),
        ("refills", Integer, OPTIONAL),
        ("quantity", Float, OPTIONAL),
        ("days_supply", Integer, OPTIONAL),
        ("sig", Text(0), OPTIONAL),
        ("route_concept_id", Integer, OPTIONAL),
        ("lot_number", Text(50), OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("visit_occurrence_id", Integer, OPTIONAL),
        ("visit_detail_id", Integer, OPTIONAL),
        ("drug_source_value", Text(50), OPTIONAL),
        ("drug_source_concept_id", Integer, OPTIONAL),
        ("route_source_value", Text(50), OPTIONAL),
        ("dose_unit_source_value", Text(50), OPTIONAL),
    ],
};

pub(super) const PROCEDURE_OCCURRENCE: Table = Table {
    name: "procedure_occurrence",
    columns: &[
        ("procedure_occurrence_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("procedure_concept_id", Integer, NEEDED),
        ("procedure_date", Date, NEEDED),
        ("procedure_datetime", Datetime, OPTIONAL),
        ("procedure_end_date", Date, OPTIONAL),
        ("procedure_end_datetime", Datetime, OPTIONAL),
        ("procedure_type_concept_id", Integer, NEEDED),
        ("modifier_concept_id", Integer, OPTIONAL),
        ("quantity", Integer, OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("visit_occurrence_id", Integer, OPTIONAL),
        ("visit_detail_id", Integer, OPTIONAL),
        ("procedure_source_value", Text(50), OPTIONAL),
        ("procedure_source_concept_id", Integer, OPTIONAL),
        ("modifier_source_value", Text(50), OPTIONAL),
    ],
};

pub(super) const DEVICE_EXPOSURE: Table = Table {
    name: "device_exposure",
    columns: &[
        ("device_exposure_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("device_concept_id", Integer, NEEDED),
        ("device_exposure_start_date", Date, NEEDED),
        ("device_exposure_start_datetime", Datetime, OPTIONAL),
        ("device_exposure_end_date", Date, OPTIONAL),
        ("device_exposure_end_datetime", Datetime, OPTIONAL),
        ("device_type_concept_id", Integer, NEEDED),
        ("unique_device_id", Text(255), OPTIONAL),
        ("production_id", Text(255), OPTIONAL),
        ("quantity", Integer, OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("visit_occurrence_id", Integer, OPTIONAL),
        ("visit_detail_id", Integer, OPTIONAL),
        ("device_source_value", Text(50), OPTIONAL),
        ("device_source_concept_id", Integer, OPTIONAL),
        ("unit_concept_id", Integer, OPTIONAL),
        ("unit_source_value", Text(50), OPTIONAL),
        ("unit_source_concept_id", Integer, OPTIONAL),
    ],
};

pub(super) const MEASUREMENT: Table = Table {
    name: "measurement",
    columns: &[
        ("measurement_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("measurement_concept_id", Integer, NEEDED),
        ("measurement_date", Date, NEEDED),
        ("measurement_datetime", Datetime, OPTIONAL),
        ("measurement_time", Text(10), OPTIONAL),
        ("measurement_type_concept_id", Integer, NEEDED),
        ("operator_concept_id", Integer, OPTIONAL),
        ("value_as_number", Float, OPTIONAL),
        ("value_as_concept_id", Integer, OPTIONAL),
        ("unit_concept_id", Integer, OPTIONAL),
        ("range_low", Float, OPTIONAL),
        ("range_high", Float, OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("visit_occurrence_id", Integer, OPTIONAL),
        ("visit_detail_id", Integer, OPTIONAL),
        ("measurement_source_value", Text(50), OPTIONAL),
        ("measurement_source_concept_id", Integer, OPTIONAL),
        ("unit_source_value", Text(50), OPTIONAL),
        ("unit_source_concept_id", Integer, OPTIONAL),
        ("value_source_value", Text(50), OPTIONAL),
        ("measurement_event_id", Integer, OPTIONAL),
        ("meas_event_field_concept_id", Integer, OPTIONAL),
    ],
};

pub(super) const OBSERVATION: Table = Table {
    name: "observation",
    columns: &[
        ("observation_id", Integer, NEEDED),
        ("person_id", Integer, NEEDED),
        ("observation_concept_id", Integer, NEEDED),
        ("observation_date", Date, NEEDED),
        ("observation_datetime", Datetime, OPTIONAL),
        ("observation_type_concept_id", Integer, NEEDED),
        ("value_as_number", Float, OPTIONAL),
        ("value_as_string", Text(60), OPTIONAL),
        ("value_as_concept_id", Integer, OPTIONAL),
        ("qualifier_concept_id", Integer, OPTIONAL),
        ("unit_concept_id", Integer, OPTIONAL),
        ("provider_id", Integer, OPTIONAL),
        ("visit_occurrence_id", Integer, OPTIONAL),
        ("visit_detail_id", Integer, OPTIONAL),
        ("observation_source_value", Text(50), OPTIONAL),
        ("observation_source_concept_id", Integer, OPTIONAL),
        ("unit_source_value", Text(50), OPTIONAL),
        ("qualifier_source_value", Text(50), OPTIONAL),
        ("value_source_value", Text(50), OPTIONAL),
        ("observation_event_id", Integer, OPTIONAL),
        ("obs_event_field_concept_id", Integer, OPTIONAL),
    ],
};

pub(super) const DEATH: Table = Table {
    name: "death",
    columns: &[
        ("person_id", Integer, NEEDED),
        ("death_date", Date, NEEDED),
        ("death_datetime", Datetime, OPTIONAL),
        ("death_type_concept_id", Integer, OPTIONAL),
        ("cause_concept_id", Integer, OPTIONAL),
        ("cause_source_value", Text(50), OPTIONAL),
        ("cause_source_concept_id", Integer, OPTIONAL),
    ],
};

pub(super) const CDM_SOURCE: Table = Table {
    name: "cdm_source",
    columns: &[
        ("cdm_source_name", Text(255), NEEDED),
        ("cdm_source_abbreviation", Text(25), NEEDED),
        ("cdm_holder", Text(255), NEEDED),
        ("source_description", Text(0), OPTIONAL),
        ("source_documentation_reference", Text(255), OPTIONAL),
        ("cdm_etl_reference", Text(255), OPTIONAL),
        ("source_release_date", Date, NEEDED),
        ("cdm_release_date", Date, NEEDED),
        ("cdm_version", Text(10), OPTIONAL),
        ("cdm_version_concept_id", Integer, NEEDED),
        ("vocabulary_version", Text(20), NEEDED),
    ],
};

pub(super) const METADATA: Table = Table {
    name: "metadata",
    columns: &[
        ("metadata_id", Integer, NEEDED),
        ("metadata_concept_id", Integer, NEEDED),
        ("metadata_type_concept_id", Integer, NEEDED),
        ("name", Text(250), NEEDED),
        ("value_as_string", Text(250), OPTIONAL),
        ("value_as_concept_id", Integer, OPTIONAL),
        ("value_as_number", Float, OPTIONAL),
        ("metadata_date", Date, OPTIONAL),
        ("metadata_datetime", Datetime, OPTIONAL),
    ],
};

pub(super) const CONCEPT: Table = Table {
    name: "concept",
    columns: &[
        ("concept_id", Integer, NEEDED),
        ("concept_name", Text(255), NEEDED),
        ("domain_id", Text(20), NEEDED),
        ("vocabulary_id", Text(20), NEEDED),
        ("concept_class_id", Text(20), NEEDED),
        ("standard_concept", Text(1), OPTIONAL),
        ("concept_code", Text(50), NEEDED),
        ("valid_start_date", Date, NEEDED),
        ("valid_end_date", Date, NEEDED),
        ("invalid_reason", Text(1), OPTIONAL),
    ],
};

pub(super) const COHORT_DEFINITION: Table = Table {
    name: "cohort_definition",
    columns: &[
        ("cohort_definition_id", Integer, NEEDED),
        ("cohort_definition_name", Text(255), NEEDED),
        ("cohort_definition_description", Text(0), OPTIONAL),
        ("definition_type_concept_id", Integer, NEEDED),
        ("cohort_definition_syntax", Text(0), OPTIONAL),
        ("subject_concept_id", Integer, NEEDED),
        ("cohort_initiation_date", Date, OPTIONAL),
    ],
};

pub(super) const COHORT: Table = Table {
    name: "cohort",
    columns: &[
        ("cohort_definition_id", Integer, NEEDED),
        ("subject_id", Integer, NEEDED),
        ("cohort_start_date", Date, NEEDED),
        ("cohort_end_date", Date, NEEDED),
    ],
};

/// All of them.
pub(super) const TABLES: [&Table; 15] = [
    &PERSON,
    &OBSERVATION_PERIOD,
    &VISIT_OCCURRENCE,
    &CONDITION_OCCURRENCE,
    &DRUG_EXPOSURE,
    &PROCEDURE_OCCURRENCE,
    &DEVICE_EXPOSURE,
    &MEASUREMENT,
    &OBSERVATION,
    &DEATH,
    &COHORT_DEFINITION,
    &COHORT,
    &CDM_SOURCE,
    &METADATA,
    &CONCEPT,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The table of fields that the Data Quality Dashboard of OHDSI checks databases by.
    const FIELDS: &str = "data/rules/dqd/OMOP_CDMv5.4_Field_Level.csv";

    #[test]
    fn columns_are_those_of_the_standard() {
        let Some(path) = consequence_testing::shared(FIELDS) else { return };
        let mut expected = BTreeSet::new();
        let mut reader = csv::Reader::from_path(path).unwrap();
        for row in reader.records() {
            let row = row.unwrap();
            let kind = match &*row[6].to_lowercase() {
                "integer" | "bigint" => Integer,
                "float" => Float,
                "date" => Date,
                "datetime" => Datetime,
                "varchar(max)" => Text(0),
                text => {
                    let width =
                        text.strip_prefix("varchar(").and_then(|rest| rest.strip_suffix(')'));
                    Text(width.unwrap().parse().unwrap())
                }
            };
            expected.insert((
                row[0].to_lowercase(),
                row[2].to_owned(),
                format!("{kind:?}"),
                &row[3] == "Yes",
            ));
        }
        assert!(expected.len() > 300, "{}", expected.len());
        for table in TABLES {
            let ours: BTreeSet<_> = table
                .columns
                .iter()
                .map(|&(name, kind, needed)| {
                    (table.name.to_owned(), name.to_owned(), format!("{kind:?}"), needed)
                })
                .collect();
            let theirs = expected.iter().filter(|row| row.0 == table.name).cloned();
            assert_eq!(ours, theirs.collect(), "{}", table.name);
            assert_eq!(ours.len(), table.columns.len(), "a column of {} twice", table.name);
        }
    }
}
