//! What is told of joined rows: what becomes of them, and what their concepts are.

use arrow_array::RecordBatch;
use consequence_tally::{Coded, Damaged, Reader, Writer, coded};

use crate::{ImportError, ImportOptions};

/// What becomes of joined rows: those of the settings of an import that do not ask for more than the rows tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedOptions {
    /// See [`ImportOptions::truncate`].
    pub truncate: Option<usize>,
    /// See [`ImportOptions::min_patients`].
    pub min_patients: u64,
    /// See [`ImportOptions::max_visits`].
    pub max_visits: Option<usize>,
    /// See [`ImportOptions::age_bands`]; none: the usual ones.
    pub age_bands: Option<Vec<u16>>,
    /// See [`ImportOptions::sex`].
    pub sex: bool,
    /// See [`ImportOptions::gaps`].
    pub gaps: bool,
    /// See [`ImportOptions::quantiles`].
    pub quantiles: usize,
}

impl Default for JoinedOptions {
    fn default() -> Self {
        let ImportOptions {
            truncate,
            min_patients,
            max_visits,
            age_bands,
            sex,
            gaps,
            quantiles,
            ..
        } = ImportOptions::default();
        Self { truncate, min_patients, max_visits, age_bands, sex, gaps, quantiles }
    }
}

impl From<JoinedOptions> for ImportOptions {
    /// The settings of an import that makes the same of tables in files.
    fn from(options: JoinedOptions) -> Self {
        let JoinedOptions { truncate, min_patients, max_visits, age_bands, sex, gaps, quantiles } =
            options;
        Self {
            truncate,
            min_patients,
            max_visits,
            age_bands,
            sex,
            gaps,
            quantiles,
            ..Self::default()
        }
    }
}

/// A concept as a table of concepts describes it. What it does not tell is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedConcept {
    /// Its number.
    pub id: u64,
    /// What it means: `concept_name`.
    pub title: String,
    /// The system of its code: `vocabulary_id`.
    pub system: String,
    /// Its code: `concept_code`.
    pub code: String,
    /// What it speaks of: `domain_id`.
    pub domain: String,
    /// Whether it is a standard one: `standard_concept`.
    pub standard: String,
}

impl JoinedConcept {
    /// Reads a table of concepts: its columns are those of OMOP, numbers Int64 and texts Utf8.
    pub fn read(table: &RecordBatch) -> Result<Vec<Self>, ImportError> {
        super::rows::concepts(table).map_err(super::failed)
    }
}

coded!(JoinedConcept { id, title, system, code, domain, standard });

impl Coded for JoinedOptions {
    fn write(&self, out: &mut Writer) {
        let Self { truncate, min_patients, max_visits, age_bands, sex, gaps, quantiles } = self;
        (*truncate, *min_patients, *max_visits).write(out);
        age_bands
            .as_ref()
            .map(|bands| bands.iter().map(|&year| u32::from(year)).collect::<Vec<_>>())
            .write(out);
        (*sex, *gaps, *quantiles).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let (truncate, min_patients, max_visits) = Coded::read(from)?;
        let years = Option::<Vec<u32>>::read(from)?;
        let year = |year| u16::try_from(year).map_err(|_| Damaged);
        let age_bands = years.map(|years| years.into_iter().map(year).collect()).transpose()?;
        let (sex, gaps, quantiles) = Coded::read(from)?;
        Ok(Self { truncate, min_patients, max_visits, age_bands, sex, gaps, quantiles })
    }
}
