//! What a cohort amounts to.

use std::fmt::{self, Display, Formatter};

use consequence_feedback::words::{count, number};
use consequence_import::ImportSummary;
use consequence_record::{Kind, Split, Vocabulary};
use serde::Serialize;

/// How large a cohort is, in the words of the paper's table of datasets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CohortFigures {
    /// Records.
    pub patients: u64,
    /// Encounters of all records.
    pub encounters: u64,
    /// Codes of all encounters, each once a visit.
    pub codes: u64,
    /// Different static codes.
    pub static_vocabulary: u64,
    /// Different codes of encounters, `END` not counted.
    pub vocabulary: u64,
    /// Records of the train split.
    pub train: u64,
    /// Records of the tuning split.
    pub tuning: u64,
    /// Records of the held-out split.
    pub held_out: u64,
}

impl CohortFigures {
    /// An empty cohort over these codes.
    pub fn of(vocabulary: &Vocabulary) -> Self {
        let statics =
            vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static).count();
        Self {
            static_vocabulary: statics as u64,
            vocabulary: (vocabulary.len() - statics - 1) as u64,
            ..Self::default()
        }
    }

    /// Counts a record with so many encounters and codes.
    pub fn add(&mut self, split: Split, encounters: usize, codes: usize) {
        self.patients += 1;
        self.encounters += encounters as u64;
        self.codes += codes as u64;
        match split {
            Split::Train => self.train += 1,
            Split::Tuning => self.tuning += 1,
            Split::HeldOut => self.held_out += 1,
        }
    }

    /// Encounters a record.
    pub fn encounters_per_patient(&self) -> f64 {
        self.encounters as f64 / self.patients.max(1) as f64
    }

    /// Codes an encounter.
    pub fn codes_per_encounter(&self) -> f64 {
        self.codes as f64 / self.encounters.max(1) as f64
    }
}

impl From<&ImportSummary> for CohortFigures {
    fn from(summary: &ImportSummary) -> Self {
        let [train, tuning, held_out] = summary.splits;
        Self {
            patients: summary.patients,
            encounters: summary.visits,
            codes: summary.codes,
            static_vocabulary: summary.static_vocabulary,
            vocabulary: summary.vocabulary,
            train,
            tuning,
            held_out,
        }
    }
}

impl Display for CohortFigures {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "  {} ({:.2} a patient), {:.2} codes an encounter",
            count(self.encounters, "encounter"),
            self.encounters_per_patient(),
            self.codes_per_encounter()
        )?;
        writeln!(
            out,
            "  vocabulary: {} and {} of encounters",
            count(self.static_vocabulary, "static code"),
            number(self.vocabulary)
        )?;
        let splits = [self.train, self.tuning, self.held_out].map(number);
        let [train, tuning, held_out] = splits;
        writeln!(out, "  splits: {train} train, {tuning} tuning, {held_out} held out")
    }
}
