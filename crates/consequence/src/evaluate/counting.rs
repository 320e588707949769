//! What is counted of a real cohort and a generated one, round by round.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use consequence_enforce::{Audit, Auditor};
use consequence_evaluate::{
    CompareOptions, FollowedCodes, Frequencies, KeyedSample, PrivacyOptions, Reference, Samples,
    Sides, Timing, TimingCounts, TimingOptions, TimingSample, UtilityOptions, ViolationCounts,
    Violations, ViolationsError, privacy, timing_of, utility,
};
use consequence_pipeline::{Error, RecordsDigest, Unwatched, Watch, watched};
use consequence_record::{Code, Cohort, Part, RecordView, Selection, Vocabulary};
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use consequence_tally::{Block, Later, Lowest, Repeats, Rounds, SampledRecord, Whose, counts, key};

use super::cohorts::{Deeper, FreshSample};
use super::sides::{Both, Role, Roles};
use crate::broken::BrokenRecords;

/// Generated records that are looked at for a few to show, and those of them that break rules and are shown.
const LOOKED_AT: u64 = 500;
const BROKEN_SHOWN: u64 = 3;

/// What keys are for by which records are taken to be shown.
const TO_SHOW: u64 = 0x7368_6f77;

/// Two cohorts, and who is told how far it has come.
pub(super) struct Counting<'a> {
    pub both: &'a Both,
    pub roles: Roles,
    pub watch: &'a dyn Watch,
}

/// How often codes are there.
pub(super) struct Counted<'a> {
    pub reference: Reference<'a>,
    pub synthetic: Frequencies,
    /// Other real records, and about as many generated ones.
    fresh: Option<(Frequencies, Frequencies)>,
}

impl Counted<'_> {
    pub fn fresh(&self) -> Option<FreshSample> {
        let (real, synthetic) = self.fresh.as_ref()?;
        Some(FreshSample {
            records: real.records(),
            synthetic_records: synthetic.records(),
            real: self.reference.compare_with(real).all,
            synthetic: self.reference.compare_with(synthetic).all,
        })
    }
}

/// How records obey rules.
pub(super) struct Judged {
    pub broken: BrokenRecords,
    /// Those that generated ones are held against.
    pub real: Violations,
    pub synthetic: Violations,
}

/// What is counted of the real records by rules.
struct RealJudged {
    all: Audit,
    base: ViolationCounts,
}

counts!(RealJudged { all, base });

/// Counts of frequencies and rules, which are read once all rounds are over.
pub(super) struct Compared<'r> {
    real: Later<'r, (Vec<Frequencies>, Vec<RealJudged>)>,
    synthetic: Later<'r, (Vec<Frequencies>, Vec<ViolationCounts>)>,
}

impl Compared<'_> {
    /// What they come to.
    pub fn read<'a>(
        self,
        vocabulary: &'a Vocabulary,
        rules: Option<&Arc<RuleSet>>,
    ) -> Result<(Counted<'a>, Option<Judged>), Error> {
        let ((real, real_judged), (synthetic, judged)) =
            (self.real.read()?, self.synthetic.read()?);
        let (mut real, mut synthetic) = (real.into_iter(), synthetic.into_iter());
        let (Some(base), Some(all)) = (real.next(), synthetic.next()) else {
            return Err(nothing());
        };
        let counted = Counted {
            reference: Reference::of(base, vocabulary, &CompareOptions::default()),
            synthetic: all,
            fresh: real.next().zip(synthetic.next()),
        };
        let judged = real_judged.into_iter().zip(judged).zip(rules);
        let mut judged = judged.map(|((real, synthetic), rules)| Judged {
            broken: BrokenRecords::of(rules, &real.all),
            real: real.base.violations(rules),
            synthetic: synthetic.violations(rules),
        });
        Ok((counted, judged.next()))
    }
}

/// Counts of dates, values and records that are alike, which are read once all rounds are over.
pub(super) struct Timed<'r> {
    after: Vec<Code>,
    real: Later<'r, (Vec<TimingCounts>, Repeats)>,
    synthetic: Later<'r, (TimingCounts, Repeats)>,
}

impl Timed<'_> {
    /// How dates and values agree, and how many generated records have exactly the codes of a real one, whatever their
    /// order. Codes that tell time or a value do not count.
    pub fn read(self, both: &Both, roles: &Roles) -> Result<(Timing, u64), Error> {
        let ((real, sets), (synthetic, own_sets)) = (self.real.read()?, self.synthetic.read()?);
        let mut real = real.into_iter();
        let Some(base) = real.next() else { return Err(nothing()) };
        let sides = Sides { real: base, synthetic, other: real.next() };
        let options = TimingOptions::default();
        let timing = timing_of(&sides, &self.after, &both.vocabulary, &both.scales, &options);
        Ok((timing, own_sets.of(&sets).min(roles.synthetic)))
    }
}

/// What dates and values of records are looked at.
pub(super) fn timing_sample<'s>(records: Selection<'s>) -> TimingSample<'s> {
    TimingSample { records, details: records.details() }
}

/// Generated records to show, and what the page says of all.
pub(super) struct Shown {
    /// Those that break a rule, or else such as rules speak of.
    pub records: Cohort,
    pub break_rules: bool,
    /// By code: encounters of real records with it.
    pub occurrences: Vec<f64>,
    /// Digests of the real records and of the generated ones.
    pub digests: [String; 2],
}

struct RealShown {
    occurrences: Vec<u64>,
    digest: RecordsDigest,
}

counts!(RealShown { occurrences, digest });

struct SyntheticShown {
    broken: Lowest<SampledRecord>,
    some: Lowest<SampledRecord>,
    digest: RecordsDigest,
}

counts!(SyntheticShown { broken, some, digest });

impl<'a> Counting<'a> {
    /// How often codes are there, and how records obey rules, if there are any.
    pub fn compared<'r>(
        &self,
        rules: Option<&Arc<RuleSet>>,
        rounds: &mut Rounds<'r>,
    ) -> Result<Compared<'r>, Error> {
        let Self { both, roles, .. } = self;
        let vocabulary = &both.vocabulary;
        let fresh = roles.others() > 0;
        let of = |records: Selection<'_>, wanted: &[usize]| {
            Frequencies::of(records.others(wanted), vocabulary)
        };
        let limits = CompileLimits::default();
        let judge = |rules: &Arc<RuleSet>| {
            let written = WrittenRules::new(Arc::clone(rules), &limits);
            let written = written.map_err(|error| Error::compile(rules, error))?;
            Ok::<_, Error>((Arc::clone(rules), Auditor::new(&written)))
        };
        let judge = rules.map(judge).transpose()?;
        let violations = |records: Selection<'_>, rules: &Arc<RuleSet>| {
            ViolationCounts::of(records, rules, &limits).map_err(|error| match error {
                ViolationsError::Rules(error) => Error::compile(rules, error),
                ViolationsError::Record(bad) => bad.into(),
            })
        };
        let real = rounds.count_for_later(Whose::Cohort, "frequencies and rules", |block| {
            let base = roles.of(Role::Base, block);
            let frequencies = self.watching("comparing", || {
                let mut counted = vec![of(block.records, &base)?];
                if fresh {
                    let others = roles.of(Role::Others, block);
                    let some = roles.as_many(block.records.others(&others), roles.others());
                    counted.push(of(block.records, &some)?);
                }
                Ok::<_, Error>(counted)
            })?;
            let judged = judge.iter().map(|(rules, auditor)| {
                let all = auditor.audit(block.records, 0, &Unwatched);
                Ok(RealJudged { all, base: violations(block.records.others(&base), rules)? })
            });
            Ok::<_, Error>((frequencies, judged.collect::<Result<_, Error>>()?))
        })?;
        let synthetic =
            rounds.count_for_later(Whose::Synthetic, "frequencies and rules", |block| {
                let frequencies = self.watching("comparing", || {
                    let mut counted = vec![Frequencies::of(block.records, vocabulary)?];
                    if fresh {
                        let some = roles.as_many(block.records, roles.synthetic);
                        counted.push(of(block.records, &some)?);
                    }
                    Ok::<_, Error>(counted)
                })?;
                let judged = judge.iter().map(|(rules, _)| {
                    self.watching("auditing", || violations(block.records, rules))
                });
                Ok::<_, Error>((frequencies, judged.collect::<Result<_, Error>>()?))
            })?;
        Ok(Compared { real, synthetic })
    }

    /// How dates and values are, and how many records have the same codes. `followed` are codes of the base.
    pub fn timed<'r>(
        &self,
        followed: &FollowedCodes,
        rounds: &mut Rounds<'r>,
    ) -> Result<Timed<'r>, Error> {
        let Self { both, roles, .. } = self;
        let vocabulary = &both.vocabulary;
        let after = followed.commonest(vocabulary, TimingOptions::default().codes);
        let of =
            |records: Selection<'_>| TimingCounts::of(&timing_sample(records), vocabulary, &after);
        let sets = |block: &Block<'_>| {
            let mut sets = Repeats::default();
            block.records.records().for_each(|record| sets.push(self.code_set(record)));
            sets
        };
        let what = "dates, values and sets of codes";
        let real = rounds.count_for_later(Whose::Cohort, what, |block| {
            self.watching("comparing dates and values", || {
                let mut counted = vec![of(block.records.others(&roles.of(Role::Base, block)))?];
                if roles.others() > 0 {
                    counted.push(of(block.records.others(&roles.of(Role::Others, block)))?);
                }
                Ok::<_, Error>((counted, sets(block)))
            })
        })?;
        let synthetic = rounds.count_for_later(Whose::Synthetic, what, |block| {
            Ok::<_, Error>((of(block.records)?, sets(block)))
        })?;
        Ok(Timed { after, real, synthetic })
    }

    fn code_set(&self, record: RecordView<'_>) -> u64 {
        let vocabulary = &self.both.vocabulary;
        let event = |code: &Code| !matches!(vocabulary.part(*code), Part::Time | Part::Values);
        let mut codes: Vec<Code> = record.visits().flatten().copied().filter(event).collect();
        codes.sort_unstable();
        codes.dedup();
        let mut hasher = DefaultHasher::new();
        codes.hash(&mut hasher);
        hasher.finish()
    }

    /// What generated records are good for and what they give away, on records that are taken by keys of their ids.
    pub fn deep(&self, rounds: &mut Rounds<'_>) -> Result<Deeper, Error> {
        let (for_utility, for_privacy) = (UtilityOptions::default(), PrivacyOptions::default());
        let vocabulary = &self.both.vocabulary;
        let sample = |records: Selection<'_>| {
            KeyedSample::of(records, vocabulary, &for_utility, &for_privacy)
        };
        let real: [KeyedSample; 2] = rounds.count(Whose::Cohort, "some records", |block| {
            let [base, held_out] =
                [Role::Base, Role::HeldOut].map(|role| self.roles.of(role, block));
            let of = |some: &[usize]| sample(block.records.others(some));
            Ok::<_, Error>([of(&base)?, of(&held_out)?])
        })?;
        let synthetic: KeyedSample = rounds.count(Whose::Synthetic, "some records", |block| {
            Ok::<_, Error>(sample(block.records)?)
        })?;
        let [train, held_out] = &real;
        let all = [train, &synthetic, held_out];
        // Without any encounter that another follows, it is told that there is none.
        let useful = all.map(|one| match one.for_utility() {
            none if none.is_empty() => one.for_privacy(),
            some => some,
        });
        let private = all.map(KeyedSample::for_privacy);
        fn samples(cohorts: &[Cohort; 3]) -> [Selection<'_>; 3] {
            cohorts.each_ref().map(Selection::all)
        }
        self.watching("measuring utility and privacy", || {
            let [train, synthetic, held_out] = samples(&useful);
            let useful =
                utility(&Samples { train, synthetic, held_out, vocabulary }, &for_utility)?;
            let [train, synthetic, held_out] = samples(&private);
            let kept = privacy(&Samples { train, synthetic, held_out, vocabulary }, &for_privacy)?;
            Ok(Deeper { utility: useful, privacy: kept })
        })
    }

    /// What the page shows of records.
    pub fn shown(
        &self,
        rules: Option<&Arc<RuleSet>>,
        rounds: &mut Rounds<'_>,
    ) -> Result<Shown, Error> {
        let vocabulary = &self.both.vocabulary;
        let written =
            rules.map(|rules| WrittenRules::new(Arc::clone(rules), &CompileLimits::default()));
        let auditor = written.and_then(Result::ok).map(|written| Auditor::new(&written));
        let real: RealShown = rounds.count(Whose::Cohort, "codes of encounters", |block| {
            let base = self.roles.of(Role::Base, block);
            let held_out = self.roles.of(Role::HeldOut, block);
            let mut occurrences = vec![0_u64; vocabulary.len()];
            for record in block.records.others(&base).records() {
                for code in record.visits().skip(1).flatten() {
                    occurrences[code.index()] += 1;
                }
            }
            let both = [base, held_out].concat();
            let digest = RecordsDigest::of(block.records.others(&both));
            Ok::<_, Error>(RealShown { occurrences, digest })
        })?;
        let synthetic: SyntheticShown =
            rounds.count(Whose::Synthetic, "records to show", |block| {
                let (mut broken, mut some) = (Lowest::new(BROKEN_SHOWN), Lowest::new(LOOKED_AT));
                let mut reader = auditor.as_ref().map(Auditor::reader);
                let mut violations = Vec::new();
                for (record, index) in block.records.records().zip(block.indices()) {
                    let id = block.records.cohort().id(index);
                    let copy = || SampledRecord {
                        details: Default::default(),
                        ..SampledRecord::of(id, record)
                    };
                    some.offer(key(id, TO_SHOW), 1, copy);
                    if let Some(reader) = &mut reader {
                        reader.violations(record, &mut violations);
                        if !violations.is_empty() {
                            broken.offer(key(id, TO_SHOW), 1, copy);
                        }
                    }
                }
                let digest = RecordsDigest::of(block.records);
                Ok::<_, Error>(SyntheticShown { broken, some, digest })
            })?;
        let break_rules = synthetic.broken.things().next().is_some();
        let mut records = Cohort::default();
        let chosen = if break_rules { &synthetic.broken } else { &synthetic.some };
        chosen.things().for_each(|one| records.push(&one.id, &one.record));
        Ok(Shown {
            records,
            break_rules,
            occurrences: real.occurrences.iter().map(|&count| count as f64).collect(),
            digests: [real.digest, synthetic.digest].map(|digest| digest.finish(vocabulary)),
        })
    }

    pub fn watching<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        watched(self.watch, what, None, work)
    }
}

fn nothing() -> Error {
    Error::refused("a cohort has no record", "compare cohorts with records")
}
