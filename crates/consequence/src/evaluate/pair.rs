//! A real cohort and a generated one, over one vocabulary.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use consequence_evaluate::Samples;
use consequence_record::{Code, Cohort, Selection, Split, Vocabulary};
use serde::Serialize;

use super::union::union;
use super::{EvaluateTask, FreshSample};
use consequence_pipeline::load::{self, LoadedCohort};
use consequence_pipeline::{Error, Watch};

/// A real cohort and a generated one, over one vocabulary.
pub(super) struct Pair {
    pub real: Cohort,
    pub synthetic: Cohort,
    pub vocabulary: Arc<Vocabulary>,
    pub titles: BTreeMap<Code, String>,
    /// Real records that the generated ones are held against.
    pub base: Vec<usize>,
    /// Whether those are the train split; else they are all that are not held out.
    pub of_train_split: bool,
    /// Real records of the held-out split, and of the tuning split.
    pub held_out: Vec<usize>,
    pub tuning: Vec<usize>,
    /// The indices of all generated records.
    pub generated: Vec<usize>,
    pub codes: OnlyIn,
}

/// Codes that only one of two cohorts has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    /// In the vocabulary of the real cohort alone.
    pub real: usize,
    /// In the vocabulary of the generated cohort alone.
    pub synthetic: usize,
    /// In both.
    pub both: usize,
    /// The first of those that only the generated cohort has.
    pub examples: Vec<String>,
}

/// Codes named as examples.
const EXAMPLES: usize = 5;

impl Pair {
    pub fn load(task: &EvaluateTask, watch: &dyn Watch) -> Result<Self, Error> {
        let real = load::cohort(&task.real, None, watch)?;
        let synthetic = load::cohort(&task.synthetic, None, watch)?;
        for (loaded, path) in [(&real, &task.real), (&synthetic, &task.synthetic)] {
            refuse_empty(&loaded.cohort, path)?;
        }
        let codes = OnlyIn::of(&real.vocabulary, &synthetic.vocabulary);
        let LoadedCohort { cohort, vocabulary, .. } = synthetic;
        let (vocabulary, synthetic) =
            union(&real.vocabulary, &vocabulary, &cohort, &task.synthetic)?;
        let LoadedCohort { cohort: real, splits, titles, .. } = real;
        let [train, held_out, tuning] =
            [Split::Train, Split::HeldOut, Split::Tuning].map(|split| split.indices(&splits));
        let of_train_split = !train.is_empty();
        // What is held out must stay so, whatever else there is.
        let others = || (0..real.len()).filter(|&index| splits.get(index) != Some(&Split::HeldOut));
        let base = match (of_train_split, others().next()) {
            (true, _) => train,
            (false, Some(_)) => others().collect(),
            (false, None) => (0..real.len()).collect(),
        };
        let held_out = if base.len() == real.len() { Vec::new() } else { held_out };
        let generated = (0..synthetic.len()).collect();
        Ok(Self {
            real,
            synthetic,
            vocabulary,
            titles,
            base,
            of_train_split,
            held_out,
            tuning,
            generated,
            codes,
        })
    }

    /// The real records that the generated ones are held against.
    pub fn real_sample(&self) -> Selection<'_> {
        Selection::new(&self.real, &self.base)
    }

    /// The generated records.
    pub fn synthetic_sample(&self) -> Selection<'_> {
        Selection::new(&self.synthetic, &self.generated)
    }

    /// Those trained on, those generated, and those that nobody saw.
    pub fn samples(&self) -> Samples<'_> {
        Samples {
            train: self.real_sample(),
            synthetic: self.synthetic_sample(),
            held_out: Selection::new(&self.real, &self.held_out),
            vocabulary: &self.vocabulary,
        }
    }

    /// Generated records with exactly the codes of a real one, whatever their order.
    pub fn copies(&self) -> u64 {
        let codes = |cohort: &Cohort, index: usize| -> Vec<Code> {
            let mut codes = cohort.record(index).visits().flatten().copied().collect::<Vec<_>>();
            codes.sort_unstable();
            codes.dedup();
            codes
        };
        let real: HashSet<Vec<Code>> =
            (0..self.real.len()).map(|index| codes(&self.real, index)).collect();
        let copied = |&index: &usize| real.contains(&codes(&self.synthetic, index));
        (0..self.synthetic.len()).filter(copied).count() as u64
    }

    /// Other real records and as many generated ones, if there are any.
    pub fn fresh(
        &self,
        reference: &consequence_evaluate::Reference<'_>,
    ) -> Result<Option<FreshSample>, Error> {
        let others = [self.held_out.as_slice(), &self.tuning].concat();
        if !self.of_train_split || others.is_empty() {
            return Ok(None);
        }
        let records = others.len().min(self.synthetic.len());
        let other = Selection::new(&self.real, &others[..records]);
        let generated = self.synthetic_sample().part(0..records);
        Ok(Some(FreshSample {
            records,
            real: reference.compare(other)?.all,
            synthetic: reference.compare(generated)?.all,
        }))
    }
}

fn refuse_empty(cohort: &Cohort, path: &Path) -> Result<(), Error> {
    match cohort.is_empty() {
        false => Ok(()),
        true => {
            Err(Error::refused_at(path, "the cohort has no record", "compare cohorts with records"))
        }
    }
}

impl OnlyIn {
    fn of(real: &Vocabulary, synthetic: &Vocabulary) -> Self {
        let lacks = |from: &Vocabulary, other: &Vocabulary| -> Vec<String> {
            let names = from.codes().map(|code| from.name(code));
            names.filter(|name| other.code(name).is_none()).map(str::to_owned).collect()
        };
        let (only_real, only_synthetic) = (lacks(real, synthetic), lacks(synthetic, real));
        Self {
            real: only_real.len(),
            synthetic: only_synthetic.len(),
            // The end of a record is in both, and is no code of theirs.
            both: real.len() - only_real.len() - 1,
            examples: only_synthetic.into_iter().take(EXAMPLES).collect(),
        }
    }
}
