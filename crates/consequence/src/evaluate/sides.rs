//! Two cohorts without their records, and which records of the real one are there for what.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_evaluate::{FollowedCodes, followed_codes};
use consequence_pipeline::Error;
use consequence_pipeline::load::RuleOptions;
use consequence_pipeline::parts::Outline;
use consequence_record::{Code, Kind, Scale, Selection, Split, Vocabulary};
use consequence_rules::UnknownCodes;
use consequence_rules::language::Knows;
use consequence_tally::{Block, Counts as _, Rounds, Whose, key};
use serde::Serialize;

use super::counting::timing_sample;

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

/// What is known of a real cohort and a generated one, over the codes of both.
#[derive(Clone, Debug)]
pub(crate) struct Both {
    /// The real cohort.
    pub real: Outline,
    /// What both are called, in a message.
    pub names: String,
    /// The codes of the real cohort, and after them those that only the generated one has.
    pub vocabulary: Arc<Vocabulary>,
    /// What codes mean, as the real cohort says.
    pub titles: BTreeMap<Code, String>,
    /// What the values of codes are: as the real cohort says, else as the generated one does.
    pub scales: BTreeMap<Code, Scale>,
    pub codes: OnlyIn,
}

impl Both {
    pub fn of(real: &Outline, synthetic: &Outline) -> Result<Self, Error> {
        let codes = OnlyIn::of(&real.vocabulary, &synthetic.vocabulary);
        let joined = joined(&real.vocabulary, &synthetic.vocabulary, &synthetic.name)?;
        let vocabulary = Arc::new(joined);
        let names = format!("{} and {}", real.name, synthetic.name);
        let [real, synthetic] =
            [real, synthetic].map(|outline| outline.over(Arc::clone(&vocabulary)));
        let mut scales = synthetic.scales.clone();
        scales.extend(real.scales.clone());
        let titles = real.titles.clone();
        Ok(Self { real, names, vocabulary, titles, scales, codes })
    }

    /// How to read rules over the codes of both cohorts.
    pub fn rule_options(&self, unknown_codes: UnknownCodes) -> RuleOptions {
        RuleOptions {
            vocabulary: Some(Arc::clone(&self.vocabulary)),
            titles: self.titles.clone(),
            knows: Some(Knows { scales: self.scales.clone(), ..Knows::default() }),
            unknown_codes,
            ..RuleOptions::default()
        }
    }

    /// What rules are read over: the codes of both, with what values are.
    pub fn outline(&self) -> Outline {
        Outline {
            name: self.names.clone(),
            titles: self.titles.clone(),
            scales: self.scales.clone(),
            ..self.real.clone()
        }
    }
}

/// The codes of two cohorts.
pub(crate) fn joined_codes(real: &Outline, synthetic: &Outline) -> Result<Arc<Vocabulary>, Error> {
    Ok(Both::of(real, synthetic)?.vocabulary)
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

/// The codes of one vocabulary, and after them those that only another has, which is called so.
fn joined(first: &Vocabulary, other: &Vocabulary, name: &str) -> Result<Vocabulary, Error> {
    let own = |vocabulary: &Vocabulary| -> Vec<Code> {
        vocabulary.codes().filter(|&code| code != vocabulary.end()).collect()
    };
    let refused = |what: String| {
        Error::refused_at(name, what, "compare cohorts that agree on which codes are static")
    };
    let mut all: Vec<_> =
        own(first).into_iter().map(|code| (first.name(code), first.kind(code))).collect();
    for code in own(other) {
        let (name, kind): (&str, Kind) = (other.name(code), other.kind(code));
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

/// Which real records are there for what: those that generated ones are held against, those held out, and others that
/// show what luck does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roles {
    /// Records of the train, the tuning and the held-out split.
    pub splits: [u64; 3],
    /// Whether generated records are held against the train split; else it is all that are not held out.
    pub of_train_split: bool,
    /// Whether every real record is held out, so that all are taken all the same.
    all: bool,
    /// Generated records.
    pub synthetic: u64,
}

/// What keys are for by which as many records are taken of one side as of the other.
const AS_MANY: u64 = 0x6661_6972;

impl Roles {
    /// Counts the records, and the codes of those that generated ones are held against that others follow.
    pub fn counted(
        vocabulary: &Vocabulary,
        rounds: &mut Rounds<'_>,
    ) -> Result<(Self, FollowedCodes), Error> {
        let by_split: [(u64, FollowedCodes); 3] =
            rounds.count(Whose::Cohort, "splits", |block| {
                // Which of them are the base is not known yet.
                let of = |split: Split| {
                    let own = block.indices().filter(|&index| block.splits[index] == split);
                    let own: Vec<usize> = own.collect();
                    let records = timing_sample(block.records.others(&own));
                    Ok::<_, Error>((own.len() as u64, followed_codes(&records, vocabulary)?))
                };
                Ok::<_, Error>([of(Split::Train)?, of(Split::Tuning)?, of(Split::HeldOut)?])
            })?;
        let splits = by_split.each_ref().map(|(records, _)| *records);
        let synthetic = rounds.count(Whose::Synthetic, "records", |block| {
            Ok::<_, Error>(block.records.len() as u64)
        })?;
        let [train, tuning, _] = splits;
        let (of_train_split, all) = (train > 0, train + tuning == 0);
        let roles = Self { splits, of_train_split, all, synthetic };
        let [mut followed, tuning, held_out] = by_split.map(|(_, followed)| followed);
        if !of_train_split {
            followed.add(if all { held_out } else { tuning });
        }
        Ok((roles, followed))
    }

    /// Real records that generated ones are held against.
    pub fn base(&self) -> u64 {
        let [train, tuning, held_out] = self.splits;
        match (self.of_train_split, self.all) {
            (true, _) => train,
            (false, false) => train + tuning,
            (false, true) => held_out,
        }
    }

    /// Records held out.
    pub fn held_out(&self) -> u64 {
        if self.all { 0 } else { self.splits[2] }
    }

    /// Real records beside those: held out, or of the tuning split.
    pub fn others(&self) -> u64 {
        if self.of_train_split { self.splits[1] + self.splits[2] } else { 0 }
    }

    /// All real records.
    pub fn real(&self) -> u64 {
        self.splits.iter().sum()
    }

    /// The indices of the records of a block that a role has.
    pub fn of(&self, role: Role, block: &Block<'_>) -> Vec<usize> {
        let has = |split: Split| match role {
            Role::Base if self.of_train_split => split == Split::Train,
            Role::Base => self.all || split != Split::HeldOut,
            Role::HeldOut => !self.all && split == Split::HeldOut,
            Role::Others => self.of_train_split && split != Split::Train,
        };
        block.indices().filter(|&index| has(block.splits[index])).collect()
    }

    /// Of some records, about as many as there are on the side that has fewer of the other real records and the
    /// generated ones; `count` is how many there are of theirs.
    pub fn as_many(&self, records: Selection<'_>, count: u64) -> Vec<usize> {
        let fewer = self.others().min(self.synthetic);
        let all = fewer >= count;
        // A share of all keys.
        let below = (fewer as f64 / count.max(1) as f64 * 2_f64.powi(64)) as u64;
        let cohort = records.cohort();
        records.indices().filter(|&index| all || key(cohort.id(index), AS_MANY) < below).collect()
    }
}

/// What real records are there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Generated ones are held against them.
    Base,
    /// Nobody trained on them.
    HeldOut,
    /// Real ones beside the first.
    Others,
}

#[cfg(test)]
mod tests {
    use consequence_record::{Kind, Vocabulary};

    use super::joined;

    #[test]
    fn codes_of_both_are_there_once() {
        let first = Vocabulary::new([("A", Kind::Encounter), ("F", Kind::Static)]).unwrap();
        let other = [("F", Kind::Static), ("B", Kind::Encounter), ("A", Kind::Encounter)];
        let all = joined(&first, &Vocabulary::new(other).unwrap(), "x").unwrap();
        let names: Vec<&str> = all.codes().map(|code| all.name(code)).collect();
        assert_eq!(names, ["A", "F", "B", "END"]);
        let clash = Vocabulary::new([("A", Kind::Static)]).unwrap();
        assert!(joined(&first, &clash, "x").is_err());
    }
}
