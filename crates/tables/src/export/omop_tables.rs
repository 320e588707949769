//! The tables of OMOP that events go to, and their columns.

/// What stands in a column of a table of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// The number of the row.
    Number,
    Person,
    /// 0: no concept of the vocabularies of OMOP is looked up.
    Zero,
    Date,
    Moment,
    Visit,
    /// The code.
    Source,
    /// The test that was measured, or the code where nothing is known of one.
    Test,
    /// What was measured.
    Value,
    /// Its unit.
    Unit,
    /// What was measured, or the code where only that is known.
    Measured,
    Empty,
}

/// A table that holds events of one kind.
#[derive(Debug)]
pub(super) struct EventTable {
    pub file: &'static str,
    /// The first parts of the codes that belong to it.
    pub prefixes: &'static [&'static str],
    pub columns: &'static [(&'static str, Cell)],
}

/// The tables that codes can go to; the last takes what no other does.
pub(super) const EVENT_TABLES: [EventTable; 5] = [
    EventTable {
        file: "condition_occurrence.csv",
        prefixes: &["ICD9CM", "ICD10CM", "ICD9", "ICD10", "DIAGNOSIS", "DX", "PHECODE", "CCS"],
        columns: &[
            ("condition_occurrence_id", Cell::Number),
            ("person_id", Cell::Person),
            ("condition_concept_id", Cell::Zero),
            ("condition_start_date", Cell::Date),
            ("condition_start_datetime", Cell::Moment),
            ("condition_end_date", Cell::Empty),
            ("condition_end_datetime", Cell::Empty),
            ("condition_type_concept_id", Cell::Zero),
            ("condition_status_concept_id", Cell::Empty),
            ("stop_reason", Cell::Empty),
            ("provider_id", Cell::Empty),
            ("visit_occurrence_id", Cell::Visit),
            ("visit_detail_id", Cell::Empty),
            ("condition_source_value", Cell::Source),
            ("condition_source_concept_id", Cell::Zero),
            ("condition_status_source_value", Cell::Empty),
        ],
    },
    EventTable {
        file: "drug_exposure.csv",
        prefixes: &["RX", "RXNORM", "NDC", "DRUG", "MEDICATION", "ATC"],
        columns: &[
            ("drug_exposure_id", Cell::Number),
            ("person_id", Cell::Person),
            ("drug_concept_id", Cell::Zero),
            ("drug_exposure_start_date", Cell::Date),
            ("drug_exposure_start_datetime", Cell::Moment),
            ("drug_exposure_end_date", Cell::Date),
            ("drug_exposure_end_datetime", Cell::Moment),
            ("verbatim_end_date", Cell::Empty),
            ("drug_type_concept_id", Cell::Zero),
            ("stop_reason", Cell::Empty),
            ("refills", Cell::Empty),
            ("quantity", Cell::Empty),
            ("days_supply", Cell::Empty),
            ("sig", Cell::Empty),
            ("route_concept_id", Cell::Empty),
            ("lot_number", Cell::Empty),
            ("provider_id", Cell::Empty),
            ("visit_occurrence_id", Cell::Visit),
            ("visit_detail_id", Cell::Empty),
            ("drug_source_value", Cell::Source),
            ("drug_source_concept_id", Cell::Zero),
            ("route_source_value", Cell::Empty),
            ("dose_unit_source_value", Cell::Empty),
        ],
    },
    EventTable {
        file: "procedure_occurrence.csv",
        prefixes: &["ICD9PROC", "ICD10PCS", "PROC", "PROCEDURE", "CPT4", "CPT", "HCPCS"],
        columns: &[
            ("procedure_occurrence_id", Cell::Number),
            ("person_id", Cell::Person),
            ("procedure_concept_id", Cell::Zero),
            ("procedure_date", Cell::Date),
            ("procedure_datetime", Cell::Moment),
            ("procedure_end_date", Cell::Empty),
            ("procedure_end_datetime", Cell::Empty),
            ("procedure_type_concept_id", Cell::Zero),
            ("modifier_concept_id", Cell::Empty),
            ("quantity", Cell::Empty),
            ("provider_id", Cell::Empty),
            ("visit_occurrence_id", Cell::Visit),
            ("visit_detail_id", Cell::Empty),
            ("procedure_source_value", Cell::Source),
            ("procedure_source_concept_id", Cell::Zero),
            ("modifier_source_value", Cell::Empty),
        ],
    },
    EventTable {
        file: "measurement.csv",
        prefixes: &["LAB", "LOINC", "MEASUREMENT"],
        columns: &[
            ("measurement_id", Cell::Number),
            ("person_id", Cell::Person),
            ("measurement_concept_id", Cell::Zero),
            ("measurement_date", Cell::Date),
            ("measurement_datetime", Cell::Moment),
            ("measurement_time", Cell::Empty),
            ("measurement_type_concept_id", Cell::Zero),
            ("operator_concept_id", Cell::Empty),
            ("value_as_number", Cell::Value),
            ("value_as_concept_id", Cell::Empty),
            ("unit_concept_id", Cell::Empty),
            ("range_low", Cell::Empty),
            ("range_high", Cell::Empty),
            ("provider_id", Cell::Empty),
            ("visit_occurrence_id", Cell::Visit),
            ("visit_detail_id", Cell::Empty),
            ("measurement_source_value", Cell::Test),
            ("measurement_source_concept_id", Cell::Zero),
            ("unit_source_value", Cell::Unit),
            ("unit_source_concept_id", Cell::Empty),
            ("value_source_value", Cell::Measured),
            ("measurement_event_id", Cell::Empty),
            ("meas_event_field_concept_id", Cell::Empty),
        ],
    },
    EventTable {
        file: "observation.csv",
        prefixes: &[],
        columns: &[
            ("observation_id", Cell::Number),
            ("person_id", Cell::Person),
            ("observation_concept_id", Cell::Zero),
            ("observation_date", Cell::Date),
            ("observation_datetime", Cell::Moment),
            ("observation_type_concept_id", Cell::Zero),
            ("value_as_number", Cell::Value),
            ("value_as_string", Cell::Empty),
            ("value_as_concept_id", Cell::Empty),
            ("qualifier_concept_id", Cell::Empty),
            ("unit_concept_id", Cell::Empty),
            ("provider_id", Cell::Empty),
            ("visit_occurrence_id", Cell::Visit),
            ("visit_detail_id", Cell::Empty),
            ("observation_source_value", Cell::Source),
            ("observation_source_concept_id", Cell::Zero),
            ("unit_source_value", Cell::Unit),
            ("qualifier_source_value", Cell::Empty),
            ("value_source_value", Cell::Empty),
            ("observation_event_id", Cell::Empty),
            ("obs_event_field_concept_id", Cell::Empty),
        ],
    },
];

/// The index of the table of what was measured.
pub(super) const MEASUREMENTS: usize = OBSERVATIONS - 1;

/// The index of the table that takes what no other does.
pub(super) const OBSERVATIONS: usize = EVENT_TABLES.len() - 1;

/// The index of the table that a code goes to.
pub(super) fn table_of(code: &str) -> usize {
    let first = code.split("//").next().unwrap_or(code);
    EVENT_TABLES
        .iter()
        .position(|table| table.prefixes.iter().any(|known| known.eq_ignore_ascii_case(first)))
        .unwrap_or(OBSERVATIONS)
}

pub(super) const PERSON_FILE: &str = "person.csv";
pub(super) const PERSON: [&str; 18] = [
    "person_id",
    "gender_concept_id",
    "year_of_birth",
    "month_of_birth",
    "day_of_birth",
    "birth_datetime",
    "race_concept_id",
    "ethnicity_concept_id",
    "location_id",
    "provider_id",
    "care_site_id",
    "person_source_value",
    "gender_source_value",
    "gender_source_concept_id",
    "race_source_value",
    "race_source_concept_id",
    "ethnicity_source_value",
    "ethnicity_source_concept_id",
];

pub(super) const VISIT_FILE: &str = "visit_occurrence.csv";
pub(super) const VISIT: [&str; 17] = [
    "visit_occurrence_id",
    "person_id",
    "visit_concept_id",
    "visit_start_date",
    "visit_start_datetime",
    "visit_end_date",
    "visit_end_datetime",
    "visit_type_concept_id",
    "provider_id",
    "care_site_id",
    "visit_source_value",
    "visit_source_concept_id",
    "admitted_from_concept_id",
    "admitted_from_source_value",
    "discharged_to_concept_id",
    "discharged_to_source_value",
    "preceding_visit_occurrence_id",
];

pub(super) const DEATH_FILE: &str = "death.csv";
pub(super) const DEATH: [&str; 7] = [
    "person_id",
    "death_date",
    "death_datetime",
    "death_type_concept_id",
    "cause_concept_id",
    "cause_source_value",
    "cause_source_concept_id",
];

pub(super) const PERIOD_FILE: &str = "observation_period.csv";
pub(super) const PERIOD: [&str; 5] = [
    "observation_period_id",
    "person_id",
    "observation_period_start_date",
    "observation_period_end_date",
    "period_type_concept_id",
];
