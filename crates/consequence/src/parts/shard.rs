//! A part of a cohort that is in files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_import::JoinedCohort;
use consequence_pipeline::load::{self, LoadedCohort};
use consequence_pipeline::parts::{FileBlocks, Outline};
use consequence_pipeline::{CohortInput, Error, HeldCohort, RuleInput, Watch};
use consequence_record::{Selection, Vocabulary};
use consequence_tables::meds::{self, Files, MedsOptions};
use consequence_tables::{Format, arrow};
use consequence_tally::{Block, Blocks};

use crate::look::Titles;

/// One of a number of parts of a cohort: every so many-th data file of a dataset, or line of JSON.
pub struct Shard {
    outline: Outline,
    records: Records,
}

enum Records {
    Files(Box<Files>),
    Lines { loaded: Box<LoadedCohort>, chosen: Vec<usize> },
}

/// A MEDS dataset whose records are not read yet, and what is known of it. One that gives two patients one id is refused.
pub fn open_dataset(
    path: &Path,
    name: String,
    vocabulary: Option<Arc<Vocabulary>>,
) -> Result<(Files, Outline), Error> {
    let files = Files::open(path, &MedsOptions { vocabulary, ..MedsOptions::default() })?;
    files.check_subjects()?;
    let own = meds::own_rules(path).map(RuleInput::Path);
    let own = own.map(|rules| rules.read()).transpose()?;
    let outline = Outline::of_files(name, &files, own);
    Ok((files, outline))
}

/// What is known of OMOP tables that were joined elsewhere, once their records were counted.
pub fn joined_outline(name: String, joined: &JoinedCohort) -> Result<Outline, Error> {
    let tables = arrow::code_tables(&joined.outline(), None)?;
    let outline = Outline::of_tables(name.clone(), &tables, None)?;
    let no_codes = || Error::refused("the joined tables have no codes", "give tables of events");
    let own_rules = joined.own_rules().map(|text| (HeldCohort::own_rules_of(&name), text.into()));
    Ok(Outline { own_rules, ..outline.ok_or_else(no_codes)? })
}

/// Some of the data files of a MEDS dataset, by their numbers from 0, over codes among which its own are.
pub fn data_files(
    path: &Path,
    numbers: &[usize],
    vocabulary: Arc<Vocabulary>,
) -> Result<Files, Error> {
    let options = MedsOptions { vocabulary: Some(vocabulary), ..MedsOptions::default() };
    Ok(Files::open(path, &options)?.only(|place| numbers.contains(&place)))
}

impl Shard {
    /// Opens part `number` of `of`, counted from 1. With a vocabulary file, records are read over its codes.
    pub fn open(
        cohort: &CohortInput,
        vocabulary: Option<&PathBuf>,
        (number, of): (u32, u32),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let vocabulary = vocabulary.map(|path| load::vocabulary_file(path)).transpose()?;
        let mine = |place: usize| place as u64 % u64::from(of) + 1 == u64::from(number);
        let name = cohort.shown();
        match cohort {
            CohortInput::Path(path) if Format::of(path)? == Format::Meds => {
                let (files, outline) = open_dataset(path, name, vocabulary)?;
                let count = files.paths().len();
                if count < of as usize {
                    let what = format!(
                        "the cohort has {count} data files, and cannot be cut into {of} parts"
                    );
                    return Err(Error::refused_at(
                        path,
                        what,
                        "ask for no more parts than it has files",
                    ));
                }
                // Whoever has the other parts does not know of the patients of this one.
                if !files.apart()? {
                    files.check_apart()?;
                }
                Ok(Self { outline, records: Records::Files(Box::new(files.only(mine))) })
            }
            _ => {
                let loaded = load::detailed_cohort(cohort, vocabulary, watch)?;
                let outline = Outline::of(name, &loaded);
                let chosen = (0..loaded.cohort.len()).filter(|&index| mine(index)).collect();
                Ok(Self { outline, records: Records::Lines { loaded: Box::new(loaded), chosen } })
            }
        }
    }

    /// What is known of the whole cohort.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The same with titles of these files for codes that the cohort gives none.
    pub fn titled(mut self, titles: &[PathBuf]) -> Result<Self, Error> {
        if !titles.is_empty() {
            let Outline { vocabulary, titles: known, .. } = &self.outline;
            self.outline.titles = Titles::new(vocabulary, known, titles)?.all().clone();
        }
        Ok(self)
    }

    /// Reads the records over other codes, among which those of the cohort are.
    pub fn over(self, outline: Outline) -> Result<Self, Error> {
        let records = match self.records {
            Records::Files(files) => {
                Records::Files(Box::new(files.over(Arc::clone(&outline.vocabulary))))
            }
            Records::Lines { loaded, chosen } => {
                let dataset = loaded.over(Arc::clone(&outline.vocabulary), &outline.name)?;
                Records::Lines { loaded: Box::new(dataset.into()), chosen }
            }
        };
        Ok(Self { outline, records })
    }

    /// The records of the part, a block at a time.
    pub fn blocks(&self) -> Box<dyn Blocks + '_> {
        match &self.records {
            Records::Files(files) => Box::new(FileBlocks::new(files)),
            Records::Lines { loaded, chosen } => {
                let details = loaded.details.as_ref();
                let records = Selection::new(&loaded.cohort, chosen).detailed(details);
                Box::new(std::iter::once(Block { records, splits: &loaded.splits }))
            }
        }
    }
}
