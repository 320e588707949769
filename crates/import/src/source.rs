//! The kinds of sources.

use std::str::FromStr;

/// A kind of source, and how to read it where that must be told.
///
/// ```
/// use consequence_import::Source;
///
/// assert_eq!("mimic3".parse(), Ok(Source::Mimic3));
/// assert_eq!("mimic5".parse::<Source>(), Err(()));
/// assert_eq!(Source::UciDiabetes.name(), "uci-diabetes");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A folder with the tables of MIMIC-III: PATIENTS, ADMISSIONS, DIAGNOSES_ICD, and where they
    /// are there PROCEDURES_ICD and PRESCRIPTIONS, and LABEVENTS for quantiles.
    Mimic3,
    /// A folder with the tables of MIMIC-IV, its `hosp` folder or the one above: patients,
    /// admissions, diagnoses_icd, and the same others.
    Mimic4,
    /// A folder with tables of the OMOP common data model, 5.3 or 5.4: PERSON, VISIT_OCCURRENCE,
    /// and where they are there CONDITION_OCCURRENCE, PROCEDURE_OCCURRENCE, DRUG_EXPOSURE, DEATH
    /// and CONCEPT, and MEASUREMENT for quantiles.
    Omop,
    /// A folder with the CSV files of Synthea: patients, encounters, and where they are there
    /// conditions, procedures and medications, and observations for quantiles.
    Synthea,
    /// The diabetes data of 130 US hospitals: `diabetic_data.csv`, or the archive it comes in.
    UciDiabetes,
    /// A table with one code a row.
    Csv(CsvColumns),
    /// Records as JSON lines.
    Jsonl,
    /// A MEDS dataset.
    Meds,
}

impl Source {
    /// The name of the kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mimic3 => "mimic3",
            Self::Mimic4 => "mimic4",
            Self::Omop => "omop",
            Self::Synthea => "synthea",
            Self::UciDiabetes => "uci-diabetes",
            Self::Csv(_) => "csv",
            Self::Jsonl => "jsonl",
            Self::Meds => "meds",
        }
    }
}

impl FromStr for Source {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [
            Self::Mimic3,
            Self::Mimic4,
            Self::Omop,
            Self::Synthea,
            Self::UciDiabetes,
            Self::Csv(CsvColumns::default()),
            Self::Jsonl,
            Self::Meds,
        ]
        .into_iter()
        .find(|source| source.name() == name)
        .ok_or(())
    }
}

/// What the columns of a table with one code a row are called. Letter case does not matter.
///
/// Rows of one visit are one encounter; rows without a visit are one encounter a day. A row with
/// neither visit nor time is a static code, unless the same code is dated elsewhere. A row without
/// a code is an encounter that may have none. Without a time column, encounters come in the order
/// of their visits if those are numbers, and in the order of the file otherwise.
///
/// ```
/// use consequence_import::{CsvColumns, ImportOptions, Source, open};
///
/// let folder = tempfile::tempdir()?;
/// let table = folder.path().join("events.csv");
/// std::fs::write(&table, "subject_id,time,code,sex\n1,2024-01-31,INSULIN,F\n")?;
/// let columns = CsvColumns { statics: vec!["sex".into()], ..CsvColumns::default() };
/// let (dataset, _) = open(&Source::Csv(columns), &table, &ImportOptions::default())?.collect()?;
/// assert_eq!(dataset.cohort.record(0).visit(0), [dataset.vocabulary.code("SEX//F").unwrap()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumns {
    /// Who.
    pub subject: String,
    /// When.
    pub time: Option<String>,
    /// What.
    pub code: String,
    /// In which encounter.
    pub visit: Option<String>,
    /// How much: the value of a measurement, for quantiles.
    pub value: Option<String>,
    /// Whether the code is a static one: 1 or `true` where it is.
    pub static_flag: Option<String>,
    /// Whether the record goes on to its real end: 0 or `false` in a row of one that was cut.
    pub ended: Option<String>,
    /// Columns whose values are static codes, `sex` as `SEX//F`. The first value of a subject
    /// holds.
    pub statics: Vec<String>,
}

impl Default for CsvColumns {
    fn default() -> Self {
        Self {
            subject: "subject_id".into(),
            time: Some("time".into()),
            code: "code".into(),
            visit: None,
            value: None,
            static_flag: None,
            ended: None,
            statics: Vec::new(),
        }
    }
}
