//! A real cohort and a generated one, over one vocabulary.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use consequence_evaluate::Samples;
use consequence_pipeline::load::{self, LoadedCohort};
use consequence_pipeline::{Error, Watch};
use consequence_record::{Code, Cohort, Record, Selection, Split, Vocabulary};
use serde::Serialize;

use super::{EvaluateTask, FreshSample};

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

/// The vocabulary of one cohort with the codes that only another has after it, and the other cohort
/// numbered by it. The numbers of the first stay as they are.
pub(super) fn union(
    first: &Vocabulary,
    other: &Vocabulary,
    cohort: &Cohort,
    path: &Path,
) -> Result<(Arc<Vocabulary>, Cohort), Error> {
    let own = |vocabulary: &Vocabulary| -> Vec<Code> {
        vocabulary.codes().filter(|&code| code != vocabulary.end()).collect()
    };
    let refused = |what: String| {
        Error::refused_at(path, what, "compare cohorts that agree on which codes are static")
    };
    let mut all: Vec<_> =
        own(first).into_iter().map(|code| (first.name(code), first.kind(code))).collect();
    for code in own(other) {
        let (name, kind) = (other.name(code), other.kind(code));
        match first.code(name).map(|code| first.kind(code)) {
            Some(known) if known != kind => {
                return Err(refused(format!("`{name}` is {kind} here and {known} in the other")));
            }
            Some(_) => {}
            None => all.push((name, kind)),
        }
    }
    let vocabulary = Vocabulary::new(all).map_err(|error| refused(error.to_string()))?;
    let numbers: Vec<Option<Code>> =
        other.codes().map(|code| vocabulary.code(other.name(code))).collect();
    let mut renumbered = Cohort::default();
    for (index, record) in cohort.records().enumerate() {
        let visits = record.visits();
        let visits =
            visits.map(|visit| visit.iter().filter_map(|code| numbers[code.index()]).collect());
        let again = Record::new(visits.collect());
        let again = if record.ended() { again } else { again.cut() };
        renumbered.push(cohort.id(index), &again);
    }
    Ok((Arc::new(vocabulary), renumbered))
}

#[cfg(test)]
mod tests {
    use consequence_record::{Cohort, Kind, Record, Vocabulary};

    use super::union;

    #[test]
    fn codes_of_both_are_there_once() {
        let first = Vocabulary::new([("A", Kind::Encounter), ("F", Kind::Static)]).unwrap();
        let other = [("F", Kind::Static), ("B", Kind::Encounter), ("A", Kind::Encounter)];
        let other = Vocabulary::new(other).unwrap();
        let [f, b, a] = ["F", "B", "A"].map(|name| other.code(name).unwrap());
        let mut cohort = Cohort::default();
        cohort.push("p", &Record::new(vec![vec![f], vec![b, a]]).cut());
        let (all, again) = union(&first, &other, &cohort, "x".as_ref()).unwrap();
        let names: Vec<&str> = all.codes().map(|code| all.name(code)).collect();
        assert_eq!(names, ["A", "F", "B", "END"]);
        let record = again.record(0);
        assert_eq!((record.visit(0).len(), record.visit(1).len()), (1, 2));
        assert_eq!(all.name(record.visit(1)[0]), "A");
        assert!(!record.ended());

        let clash = Vocabulary::new([("A", Kind::Static)]).unwrap();
        assert!(union(&first, &clash, &Cohort::default(), "x".as_ref()).is_err());
    }
}
