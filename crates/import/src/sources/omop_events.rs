//! The tables of events of OMOP, and what their columns are called.

use consequence_record::Domain;

/// A table of events.
pub(crate) struct Events {
    pub table: &'static str,
    /// What its concepts speak of, where no table of concepts tells.
    pub domain: Domain,
    /// What the names of its columns of codes begin with.
    word: &'static str,
    pub date: &'static str,
    pub datetime: &'static str,
}

pub(crate) const EVENTS: [Events; 6] = [
    Events {
        table: "CONDITION_OCCURRENCE",
        domain: Domain::Condition,
        word: "condition",
        date: "condition_start_date",
        datetime: "condition_start_datetime",
    },
    Events {
        table: "PROCEDURE_OCCURRENCE",
        domain: Domain::Procedure,
        word: "procedure",
        date: "procedure_date",
        datetime: "procedure_datetime",
    },
    Events {
        table: "DRUG_EXPOSURE",
        domain: Domain::Drug,
        word: "drug",
        date: "drug_exposure_start_date",
        datetime: "drug_exposure_start_datetime",
    },
    Events {
        table: "DEVICE_EXPOSURE",
        domain: Domain::Device,
        word: "device",
        date: "device_exposure_start_date",
        datetime: "device_exposure_start_datetime",
    },
    Events {
        table: "OBSERVATION",
        domain: Domain::Observation,
        word: "observation",
        date: "observation_date",
        datetime: "observation_datetime",
    },
    Events {
        table: "MEASUREMENT",
        domain: Domain::Measurement,
        word: "measurement",
        date: "measurement_date",
        datetime: "measurement_datetime",
    },
];

impl Events {
    /// The standard concept.
    pub fn concept(&self) -> String {
        format!("{}_concept_id", self.word)
    }

    /// The source's own concept.
    pub fn source_concept(&self) -> String {
        format!("{}_source_concept_id", self.word)
    }

    /// What the source says.
    pub fn source_value(&self) -> String {
        format!("{}_source_value", self.word)
    }
}
