//! How to import: the kinds of sources, what becomes of codes and visits, limits, and how an import
//! tells how far it has come.

use std::path::PathBuf;
use std::str::FromStr;

use crate::{CodeMap, Titles, UnitTable};

/// How to import: what becomes of codes, visits and subjects.
///
/// ```
/// use consequence_feedback::Unwatched;
/// use consequence_import::{CsvColumns, ImportOptions, Source, open};
///
/// let folder = tempfile::tempdir()?;
/// let table = folder.path().join("events.csv");
/// std::fs::write(&table, "subject_id,time,code\n1,2024-01-31,ICD9CM//25001\n1,2024-02-01,A\n")?;
/// let options =
///     ImportOptions { truncate: Some(3), max_visits: Some(1), ..ImportOptions::default() };
/// let (dataset, _) = open(&Source::Csv(CsvColumns::default()), &table, &options, &Unwatched)?.collect()?;
/// assert!(dataset.vocabulary.code("ICD9CM//250").is_some());
/// assert!(!dataset.cohort.record(0).ended(), "it was cut");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The characters of ICD codes to keep: 3 gives categories. External causes of ICD-9, which
    /// begin with `E`, keep one more, as their categories do.
    pub truncate: Option<usize>,
    /// What codes are turned into; comes before `truncate`.
    pub map: Option<CodeMap>,
    /// Which division into splits subjects get that the source puts into none: another one for each number.
    pub split_seed: u64,
    /// Codes of encounters that fewer subjects have are left out. Static codes, gaps and stays stay.
    pub min_patients: u64,
    /// The encounters to keep of each subject, the first ones. A record that is cut has no `END`.
    pub max_visits: Option<usize>,
    /// Whether encounters that have no code are left out, rather than kept empty.
    pub drop_empty: bool,
    /// Where age bands begin and end, in years, rising: 0, 18, 40 gives `AGE//0-18`, `AGE//18-40`
    /// and `AGE//40+`. The age is that of the first encounter. Empty for no age at all; none: the
    /// [usual](Source::age_bands) ones of the source.
    pub age_bands: Option<Vec<u16>>,
    /// Whether sex is a static code.
    pub sex: bool,
    /// Whether race is a static code, such as `RACE//WHITE`, where the source tells it.
    pub race: bool,
    /// Whether ethnicity is a static code, such as `ETHNICITY//HISPANIC OR LATINO`.
    pub ethnicity: bool,
    /// Whether the kind of an encounter is one of its codes, such as `VISIT_TYPE//INPATIENT VISIT`.
    pub visit_types: bool,
    /// Whether each encounter after the first has a code for the days since the one before began,
    /// such as `GAP//7-14d`, where the source has dates.
    pub gaps: bool,
    /// Into how many parts of equal size the values of a measurement are put: 4 gives codes such
    /// as `LAB//50912//q4`. The parts are those of the train split. With 0 values are left out, and
    /// tables of measurements are not read.
    pub quantiles: usize,
    /// How values in one unit become values in another. The values of a code are in the unit that
    /// most of them have; those in others are left out.
    pub units: Option<UnitTable>,
    /// What codes mean, before what the source tells.
    pub titles: Option<Titles>,
    /// Where events wait while they are sorted, in files that have no name; the system's folder
    /// for temporary files if none is given.
    pub scratch: Option<PathBuf>,
    /// How much to take in before refusing.
    pub limits: ImportLimits,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            truncate: None,
            map: None,
            split_seed: 0,
            min_patients: 0,
            max_visits: None,
            drop_empty: false,
            age_bands: None,
            sex: true,
            race: false,
            ethnicity: false,
            visit_types: false,
            gaps: true,
            quantiles: 4,
            units: None,
            titles: None,
            scratch: None,
            limits: ImportLimits::default(),
        }
    }
}

/// How much an import takes in before it refuses, and how much of it is in memory at a time.
///
/// ```
/// use consequence_feedback::Unwatched;
/// use consequence_import::{CsvColumns, ImportLimits, ImportOptions, Source, open};
///
/// let folder = tempfile::tempdir()?;
/// let table = folder.path().join("events.csv");
/// std::fs::write(&table, "subject_id,time,code\n1,2024-01-31,INSULIN\n")?;
/// let limits = ImportLimits { code_bytes: 4, ..ImportLimits::default() };
/// let options = ImportOptions { limits, ..ImportOptions::default() };
/// let refused = open(&Source::Csv(CsvColumns::default()), &table, &options, &Unwatched).unwrap_err();
/// assert!(refused.to_string().starts_with("code `INSULIN...` has a name longer than 4 bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// The most bytes in a row; 64 MiB. One row is in memory at a time.
    pub row_bytes: usize,
    /// The most bytes in the name of a code; 1024.
    pub code_bytes: usize,
    /// The most bytes in the identifier of a subject; 256.
    pub identifier_bytes: usize,
    /// The most encounters of a subject, unless `max_visits` cuts them; 10 000.
    pub visits: usize,
    /// The most rows of a subject, all of which are in memory together; 16 million.
    pub subject_events: usize,
    /// The rows that are sorted in memory at a time; 2 million, which is 64 MiB.
    pub batch_events: usize,
    /// The most bytes a compressed file unpacks to; 4 TiB.
    pub unpacked_bytes: u64,
    /// The most bytes a compressed byte may unpack to, past the first 16 MiB; 250.
    pub unpacked_ratio: u64,
    /// The most codes in a map, all of which are in memory; 4 million.
    pub map_rows: usize,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self {
            row_bytes: 64 << 20,
            code_bytes: 1024,
            identifier_bytes: 256,
            visits: 10_000,
            subject_events: 16_000_000,
            batch_events: 2 << 20,
            unpacked_bytes: 4 << 40,
            unpacked_ratio: 250,
            map_rows: 4_000_000,
        }
    }
}

/// A kind of source, and how to read it where that must be told.
///
/// ```
/// use consequence_feedback::Unwatched;
/// use consequence_import::Source;
///
/// assert_eq!("mimic3".parse(), Ok(Source::Mimic3));
/// assert_eq!("mimic5".parse::<Source>(), Err(()));
/// assert_eq!(Source::UciDiabetes.name(), "uci-diabetes");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "an import has one of them")]
pub enum Source {
    /// A folder with the tables of MIMIC-III: PATIENTS, ADMISSIONS, DIAGNOSES_ICD, and where they
    /// are there PROCEDURES_ICD, PRESCRIPTIONS and LABEVENTS.
    Mimic3,
    /// A folder with the tables of MIMIC-IV, its `hosp` folder or the one above: patients,
    /// admissions, diagnoses_icd, and the same others.
    Mimic4,
    /// A folder with tables of the OMOP common data model, 5.3 or 5.4: PERSON, VISIT_OCCURRENCE,
    /// and where they are there CONDITION_OCCURRENCE, PROCEDURE_OCCURRENCE, DRUG_EXPOSURE,
    /// DEVICE_EXPOSURE, OBSERVATION, MEASUREMENT, DEATH and CONCEPT. Tables that this program wrote come back as
    /// they were.
    Omop,
    /// A folder with the CSV files of Synthea: patients, encounters, and where they are there
    /// conditions, procedures, medications and observations.
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

    /// Where age bands begin unless that is said: a child of one year has little in common with one of ten. Bands of
    /// this kind must not cut those that the source itself gives.
    pub fn age_bands(&self) -> &'static [u16] {
        match self {
            Self::UciDiabetes => &[0, 20, 40, 60, 80, 100],
            _ => &[0, 1, 5, 12, 18, 40, 60, 80, 100],
        }
    }

    /// Every kind, with its usual options.
    pub fn all() -> [Self; 8] {
        let csv = Self::Csv(CsvColumns::default());
        [
            Self::Mimic3,
            Self::Mimic4,
            Self::Omop,
            Self::Synthea,
            Self::UciDiabetes,
            csv,
            Self::Jsonl,
            Self::Meds,
        ]
    }
}

impl FromStr for Source {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::all().into_iter().find(|source| source.name() == name).ok_or(())
    }
}

/// What the columns of a table with one code a row are called. Letter case does not matter.
///
/// Rows of one visit are one encounter; rows without a visit are one encounter a day. A row with
/// neither visit nor time is a static code, unless the same code is dated elsewhere. A row without
/// a code is an encounter that may have none. Without a time column, encounters come in the order
/// of their visits if those are numbers, and in the order of the file otherwise.
///
/// `GENDER//F`, `SEX//female` and their kin are the static code `SEX//F`; the time of `MEDS_BIRTH` is
/// that of birth, and `MEDS_DEATH` is the code `DEATH`.
///
/// ```
/// use consequence_feedback::Unwatched;
/// use consequence_import::{CsvColumns, ImportOptions, Source, open};
///
/// let folder = tempfile::tempdir()?;
/// let table = folder.path().join("events.csv");
/// std::fs::write(&table, "subject_id,time,code,sex\n1,2024-01-31,INSULIN,F\n")?;
/// let columns = CsvColumns { statics: vec!["sex".into()], ..CsvColumns::default() };
/// let (dataset, _) = open(&Source::Csv(columns), &table, &ImportOptions::default(), &Unwatched)?.collect()?;
/// assert_eq!(dataset.cohort.record(0).visit(0), [dataset.vocabulary.code("SEX//F").unwrap()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumns {
    /// The subject.
    pub subject: String,
    /// The time.
    pub time: Option<String>,
    /// The code.
    pub code: String,
    /// Columns that each hold a code, as claims have them; the column of codes need not be there then.
    pub code_columns: Vec<CodeColumns>,
    /// The encounter.
    pub visit: Option<String>,
    /// When the encounter ended; of several ends the last.
    pub end: Option<String>,
    /// The value of a measurement, a number.
    pub value: Option<String>,
    /// The unit of the value.
    pub unit: Option<String>,
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
            code_columns: Vec::new(),
            visit: None,
            end: None,
            value: None,
            unit: None,
            static_flag: None,
            ended: None,
            statics: Vec::new(),
        }
    }
}

/// Columns that each hold a code: all whose names fit a pattern, in which `*` stands for anything.
///
/// ```
/// use consequence_import::CodeColumns;
///
/// let columns: CodeColumns = "ICD9_DGNS_CD_*=ICD9CM".parse().unwrap();
/// assert_eq!(columns.system.as_deref(), Some("ICD9CM"));
/// assert!(columns.fits("icd9_dgns_cd_10") && !columns.fits("ICD9_PRCDR_CD_1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeColumns {
    /// The pattern. Letter case does not matter.
    pub pattern: String,
    /// What comes before each code: `ICD9CM` makes `ICD9CM//25000` of `250.00`. The codes are as they
    /// stand if there is none.
    pub system: Option<String>,
}

impl CodeColumns {
    /// Whether a column of this name is one of them.
    pub fn fits(&self, column: &str) -> bool {
        let (pattern, column) = (self.pattern.to_lowercase(), column.to_lowercase());
        let mut parts = pattern.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = column.strip_prefix(first) else { return false };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
        for part in middle {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl FromStr for CodeColumns {
    type Err = &'static str;

    /// A pattern, and after an equals sign what comes before each code.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pattern, system) = match text.split_once('=') {
            Some((pattern, system)) => (pattern, Some(system)),
            None => (text, None),
        };
        if pattern.is_empty() || system == Some("") {
            return Err(
                "write the columns, and what comes before their codes as in DGNS_CD_*=ICD9CM",
            );
        }
        Ok(Self { pattern: pattern.to_owned(), system: system.map(str::to_owned) })
    }
}
