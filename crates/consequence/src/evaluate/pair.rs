//! A real cohort and a generated one in memory, over one vocabulary.

use std::ops::Deref;
use std::sync::Arc;

use consequence_evaluate::{Samples, TimingSample, TimingSamples};
use consequence_pipeline::load::LoadedCohort;
use consequence_pipeline::parts::Outline;
use consequence_pipeline::{CohortInput, Error, Watch, load};
use consequence_record::{Cohort, Selection, Split};
use consequence_tables::Dataset;
use consequence_tally::Block;

use super::sides::Both;

/// A real cohort and a generated one, over one vocabulary.
pub(crate) struct Pair {
    both: Both,
    pub real: Dataset,
    pub synthetic: Dataset,
    /// Real records that the generated ones are held against: the train split, or else all that are not held out.
    pub base: Vec<usize>,
    /// Real records of the held-out split.
    pub held_out: Vec<usize>,
    /// Real records that the generator did not see: those held out, then those of the tuning split.
    others: Vec<usize>,
    /// The indices of all generated records.
    pub generated: Vec<usize>,
}

/// What is known of both without their records.
impl Deref for Pair {
    type Target = Both;

    fn deref(&self) -> &Both {
        &self.both
    }
}

impl Pair {
    pub fn load(
        real_at: &CohortInput,
        synthetic_at: &CohortInput,
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let real = load::detailed_cohort(real_at, None, watch)?;
        let synthetic = load::detailed_cohort(synthetic_at, None, watch)?;
        for (loaded, path) in [(&real, real_at), (&synthetic, synthetic_at)] {
            refuse_empty(&loaded.cohort, path)?;
        }
        let outline =
            |loaded: &LoadedCohort, input: &CohortInput| Outline::of(input.shown(), loaded);
        let both = Both::of(&outline(&real, real_at), &outline(&synthetic, synthetic_at))?;
        let synthetic = synthetic.over(Arc::clone(&both.vocabulary), &synthetic_at.shown())?;
        let real = real.into_dataset();
        let splits = &real.splits;
        let [train, held_out, tuning] =
            [Split::Train, Split::HeldOut, Split::Tuning].map(|split| split.indices(splits));
        let of_train_split = !train.is_empty();
        // What is held out must stay so, whatever else there is.
        let others =
            || (0..real.cohort.len()).filter(|&index| splits.get(index) != Some(&Split::HeldOut));
        let base = match (of_train_split, others().next()) {
            (true, _) => train,
            (false, Some(_)) => others().collect(),
            (false, None) => (0..real.cohort.len()).collect(),
        };
        let held_out = if base.len() == real.cohort.len() { Vec::new() } else { held_out };
        let generated = (0..synthetic.cohort.len()).collect();
        let others = match of_train_split {
            true => [held_out.as_slice(), &tuning].concat(),
            false => Vec::new(),
        };
        Ok(Self { both, real, synthetic, base, held_out, others, generated })
    }

    /// The records of both, to be counted.
    pub fn blocks(&self) -> [Block<'_>; 2] {
        [&self.real, &self.synthetic].map(|dataset| Block {
            records: Selection::all(&dataset.cohort).detailed(dataset.details.as_ref()),
            splits: &dataset.splits,
        })
    }

    fn real_sample<'a>(&'a self, records: &'a [usize]) -> Selection<'a> {
        Selection::new(&self.real.cohort, records).detailed(self.real.details.as_ref())
    }

    /// The generated records.
    pub fn synthetic_sample(&self) -> Selection<'_> {
        let Dataset { cohort, details, .. } = &self.synthetic;
        Selection::new(cohort, &self.generated).detailed(details.as_ref())
    }

    /// Those trained on, those generated, and those that nobody saw.
    pub fn samples(&self) -> Samples<'_> {
        Samples {
            train: self.real_sample(&self.base),
            synthetic: self.synthetic_sample(),
            held_out: self.real_sample(&self.held_out),
            vocabulary: &self.vocabulary,
        }
    }

    /// The records whose dates and values are compared; the other real ones show what luck does.
    pub fn timing_samples(&self) -> TimingSamples<'_> {
        fn sample(records: Selection<'_>) -> TimingSample<'_> {
            TimingSample { records, details: records.details() }
        }
        let others = self.real_sample(&self.others);
        TimingSamples {
            real: sample(self.real_sample(&self.base)),
            synthetic: sample(self.synthetic_sample()),
            other: (!others.is_empty()).then(|| sample(others)),
            vocabulary: &self.vocabulary,
            scales: &self.scales,
        }
    }
}

fn refuse_empty(cohort: &Cohort, path: &CohortInput) -> Result<(), Error> {
    match cohort.is_empty() {
        false => Ok(()),
        true => {
            Err(Error::refused_at(path, "the cohort has no record", "compare cohorts with records"))
        }
    }
}
