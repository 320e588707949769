//! A real cohort and a generated one, over one vocabulary.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use consequence_evaluate::{Samples, TimingSample, TimingSamples};
use consequence_pipeline::{CohortInput, Error, Watch, load};
use consequence_record::{Code, Cohort, CohortDetails, Part, Scale, Selection, Split, Vocabulary};
use consequence_tables::Dataset;
use serde::Serialize;

use super::FreshSample;

/// A real cohort and a generated one, over one vocabulary.
pub(crate) struct Pair {
    /// What both are called, in a message.
    pub names: String,
    pub real: Cohort,
    pub synthetic: Cohort,
    pub vocabulary: Arc<Vocabulary>,
    pub titles: BTreeMap<Code, String>,
    /// Dates, stays, births and values of either, where they are known.
    pub real_details: Option<CohortDetails>,
    pub synthetic_details: Option<CohortDetails>,
    /// What the values of codes are: as the real cohort says, else as the generated one does.
    pub scales: BTreeMap<Code, Scale>,
    /// Real records that the generated ones are held against.
    pub base: Vec<usize>,
    /// Whether those are the train split; else they are all that are not held out.
    pub of_train_split: bool,
    /// Real records of the held-out split.
    pub held_out: Vec<usize>,
    /// Real records that the generator did not see: those held out, then those of the tuning split.
    pub others: Vec<usize>,
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
        let codes = OnlyIn::of(&real.vocabulary, &synthetic.vocabulary);
        let vocabulary = Arc::new(joined(&real.vocabulary, &synthetic.vocabulary, synthetic_at)?);
        let synthetic = synthetic.over(Arc::clone(&vocabulary), &synthetic_at.shown())?;
        let Dataset {
            cohort: synthetic, details: synthetic_details, scales: mut all_scales, ..
        } = synthetic;
        let Dataset { cohort: real, splits, titles, scales, details, .. } = real.into_dataset();
        all_scales.extend(scales);
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
        let others = match of_train_split {
            true => [held_out.as_slice(), &tuning].concat(),
            false => Vec::new(),
        };
        Ok(Self {
            names: format!("{real_at} and {synthetic_at}"),
            real,
            synthetic,
            vocabulary,
            titles,
            real_details: details,
            synthetic_details,
            scales: all_scales,
            base,
            of_train_split,
            held_out,
            others,
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

    /// The records whose dates and values are compared; the other real ones show what luck does.
    pub fn timing_samples(&self) -> TimingSamples<'_> {
        let real = |records| TimingSample { records, details: self.real_details.as_ref() };
        let others = Selection::new(&self.real, &self.others);
        TimingSamples {
            real: real(self.real_sample()),
            synthetic: TimingSample {
                records: self.synthetic_sample(),
                details: self.synthetic_details.as_ref(),
            },
            other: (!others.is_empty()).then(|| real(others)),
            vocabulary: &self.vocabulary,
            scales: &self.scales,
        }
    }

    /// Generated records with exactly the codes of a real one, whatever their order. Codes that tell time
    /// or a value do not count.
    pub fn copies(&self) -> u64 {
        let codes = |cohort: &Cohort, index: usize| -> Vec<Code> {
            let counts =
                |code: &Code| !matches!(self.vocabulary.part(*code), Part::Time | Part::Values);
            let visits = cohort.record(index).visits();
            let mut codes: Vec<Code> = visits.flatten().copied().filter(counts).collect();
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
        if self.others.is_empty() {
            return Ok(None);
        }
        let records = self.others.len().min(self.synthetic.len());
        let other = Selection::new(&self.real, &self.others[..records]);
        let generated = self.synthetic_sample().part(0..records);
        Ok(Some(FreshSample {
            records,
            real: reference.compare(other)?.all,
            synthetic: reference.compare(generated)?.all,
        }))
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

/// The codes of one vocabulary, and after them those that only another has.
fn joined(first: &Vocabulary, other: &Vocabulary, path: &CohortInput) -> Result<Vocabulary, Error> {
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
    Vocabulary::new(all).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use consequence_record::{
        Cohort, CohortDetails, Details, EventDetail, Kind, Record, Scale, Vocabulary,
    };
    use consequence_tables::Dataset;

    use super::joined;

    #[test]
    fn codes_of_both_are_there_once() {
        let first = Vocabulary::new([("A", Kind::Encounter), ("F", Kind::Static)]).unwrap();
        let other = [("F", Kind::Static), ("B", Kind::Encounter), ("A", Kind::Encounter)];
        let other = Vocabulary::new(other).unwrap();
        let [f, b, a] = ["F", "B", "A"].map(|name| other.code(name).unwrap());
        let mut cohort = Cohort::default();
        cohort.push("p", &Record::new(vec![vec![f], vec![b, a]]).cut());
        let event = |code, value| EventDetail { visit: 1, code, time: None, value: Some(value) };
        let events = vec![event(b, 2.0), event(a, 1.0)];
        let mut details = CohortDetails::default();
        details.push(Details { times: vec![5], events, ..Details::default() }.view());
        let scale = Scale { test: "B".into(), ..Scale::default() };
        let other = Dataset {
            scales: [(b, scale.clone())].into(),
            details: Some(details),
            ..Dataset::new(cohort, Arc::new(other))
        };
        let path = "x".into();
        let all = Arc::new(joined(&first, &other.vocabulary, &path).unwrap());
        let found = other.over(Arc::clone(&all), "x").unwrap();
        let names: Vec<&str> = all.codes().map(|code| all.name(code)).collect();
        assert_eq!(names, ["A", "F", "B", "END"]);
        let record = found.cohort.record(0);
        assert_eq!((record.visit(0).len(), record.visit(1).len()), (1, 2));
        assert_eq!(all.name(record.visit(1)[0]), "A");
        assert!(!record.ended());
        // What is known of a code goes with it, and is found by its new number.
        let details = found.details.unwrap();
        let [a, b] = ["A", "B"].map(|name| all.code(name).unwrap());
        let value = |code| details.of(0).event(1, code).and_then(|event| event.value);
        assert_eq!((value(a), value(b), details.of(0).time(1)), (Some(1.0), Some(2.0), Some(5)));
        assert_eq!(found.scales.get(&b), Some(&scale));

        let clash = Vocabulary::new([("A", Kind::Static)]).unwrap();
        assert!(joined(&first, &clash, &path).is_err());
    }
}
