//! The tables that events go to, by the domains of their concepts.

use consequence_record::Domain;

use super::tables::{
    CONDITION_OCCURRENCE, DEVICE_EXPOSURE, DRUG_EXPOSURE, MEASUREMENT, OBSERVATION,
    PROCEDURE_OCCURRENCE, Table,
};

/// The columns of a table of events.
pub(super) struct Events {
    pub domain: Domain,
    pub table: &'static Table,
    pub id: &'static str,
    pub concept: &'static str,
    pub date: &'static str,
    pub datetime: &'static str,
    /// The last date and time, where no row may lack them.
    pub end: Option<(&'static str, &'static str)>,
    pub record_type: &'static str,
    pub source: &'static str,
    pub source_concept: &'static str,
}

/// The tables of events.
pub(super) const EVENTS: [Events; 6] = [
    Events {
        domain: Domain::Condition,
        table: &CONDITION_OCCURRENCE,
        id: "condition_occurrence_id",
        concept: "condition_concept_id",
        date: "condition_start_date",
        datetime: "condition_start_datetime",
        end: None,
        record_type: "condition_type_concept_id",
        source: "condition_source_value",
        source_concept: "condition_source_concept_id",
    },
    Events {
        domain: Domain::Drug,
        table: &DRUG_EXPOSURE,
        id: "drug_exposure_id",
        concept: "drug_concept_id",
        date: "drug_exposure_start_date",
        datetime: "drug_exposure_start_datetime",
        end: Some(("drug_exposure_end_date", "drug_exposure_end_datetime")),
        record_type: "drug_type_concept_id",
        source: "drug_source_value",
        source_concept: "drug_source_concept_id",
    },
    Events {
        domain: Domain::Procedure,
        table: &PROCEDURE_OCCURRENCE,
        id: "procedure_occurrence_id",
        concept: "procedure_concept_id",
        date: "procedure_date",
        datetime: "procedure_datetime",
        end: None,
        record_type: "procedure_type_concept_id",
        source: "procedure_source_value",
        source_concept: "procedure_source_concept_id",
    },
    Events {
        domain: Domain::Device,
        table: &DEVICE_EXPOSURE,
        id: "device_exposure_id",
        concept: "device_concept_id",
        date: "device_exposure_start_date",
        datetime: "device_exposure_start_datetime",
        end: None,
        record_type: "device_type_concept_id",
        source: "device_source_value",
        source_concept: "device_source_concept_id",
    },
    Events {
        domain: Domain::Measurement,
        table: &MEASUREMENT,
        id: "measurement_id",
        concept: "measurement_concept_id",
        date: "measurement_date",
        datetime: "measurement_datetime",
        end: None,
        record_type: "measurement_type_concept_id",
        source: "measurement_source_value",
        source_concept: "measurement_source_concept_id",
    },
    Events {
        domain: Domain::Observation,
        table: &OBSERVATION,
        id: "observation_id",
        concept: "observation_concept_id",
        date: "observation_date",
        datetime: "observation_datetime",
        end: None,
        record_type: "observation_type_concept_id",
        source: "observation_source_value",
        source_concept: "observation_source_concept_id",
    },
];

/// The index of the table of a domain.
pub(super) fn table_of(domain: Domain) -> usize {
    EVENTS.iter().position(|events| events.domain == domain).unwrap_or(EVENTS.len() - 1)
}
