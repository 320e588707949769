//! A model that writes records under rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_model::{Generator, Turn};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Record, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, Order, Plan, RuleSet, compile};
use rayon::prelude::*;

use crate::decider::{Policy, VisitDecider};
use crate::drafts::{Draft, Kept, Queue};
use crate::prefix::Prefix;
use crate::{Mode, Request, SampleError, Totals};

/// Records that may wait for a slow one before them, for each that is written at a time.
const ROOM: usize = 4;

/// Visits that one task ends: few enough to share, and enough to be worth it.
const TASK: usize = 8;

/// A model with all that its records must follow.
///
/// The rules are closed and proved in the model's order of codes, together with the conditions
/// given, so what cannot be is refused here and names the rules that forbid it.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Network, NetworkGenerator, Sizes};
/// use consequence_rules::{Order, RuleSet};
/// use consequence_sample::{Condition, Request, Sampler};
///
/// let rules = RuleSet::parse("static SEX//F, SEX//M  rule one-sex: exactly one of SEX//*", None)?;
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let sizes = Sizes::recurrent(5, 8);
/// let generator = NetworkGenerator::new(&Network::drawn(codes, &sizes, 1)?);
///
/// let given = Condition::parse_list("SEX//F, SEX//M", rules.vocabulary())?;
/// let refused = Sampler::new(&generator, &rules, Request { given, ..Request::default() });
/// assert_eq!(
///     refused.err().map(|error| error.to_string()).as_deref(),
///     Some("no record can obey these rules together: one-sex, given SEX//F, given SEX//M")
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sampler<'a, G> {
    generator: &'a G,
    request: Request<'a>,
    max_visits: usize,
    rules: Option<Obeyed>,
    prefix: Option<Prefix<'a>>,
}

/// Rules that records obey.
struct Obeyed {
    enforcer: Enforcer,
    referee: Referee,
}

impl<'a, G: Generator> Sampler<'a, G> {
    /// Makes a model ready to write records. In mode `off` the rules have no say, but the
    /// conditions given have.
    pub fn new(
        generator: &'a G,
        rules: &RuleSet,
        request: Request<'a>,
    ) -> Result<Self, SampleError> {
        request.check()?;
        let codes = generator.codes();
        if rules.vocabulary() != codes.vocabulary() {
            return Err(SampleError::OtherCodes);
        }
        let max_visits = generator.max_visits().min(u16::MAX.into());
        let set = obeyed(rules, &request, codes.vocabulary())?;
        let rules = match set.is_empty() && !request.mode.obeys() {
            true => None,
            false => Some(Obeyed::new(set, codes, max_visits)?),
        };
        let enforcer = rules.as_ref().map(|rules| &rules.enforcer);
        let prefix = request.prefix;
        let prefix = prefix.map(|cohort| Prefix::new(cohort, codes, max_visits, enforcer));
        let prefix = prefix.transpose()?;
        Ok(Self { generator, request, max_visits, rules, prefix })
    }

    /// What is asked of the model.
    pub fn request(&self) -> &Request<'a> {
        &self.request
    }

    /// The codes of the model.
    pub fn codes(&self) -> &'a Order {
        self.generator.codes()
    }

    /// The plan that records obey: that of the rules and of the conditions given.
    pub fn plan(&self) -> Option<&Plan> {
        self.rules.as_ref().map(|rules| rules.enforcer.plan())
    }

    /// Writes the records with these numbers, which must ascend, and gives them in order. In memory
    /// are those under way, and at most four times as many that wait for one before them.
    pub fn records(
        &self,
        numbers: impl IntoIterator<Item = u64>,
        totals: &mut Totals,
        mut each: impl FnMut(u64, Record) -> Result<(), SampleError>,
    ) -> Result<(), SampleError> {
        let Request { mode, batch, attempts, .. } = self.request;
        let room = batch.saturating_mul(ROOM);
        let mut queue = Queue::new(numbers.into_iter(), self.request.proposals(), room);
        let mut drafts: Vec<Draft<'_, G>> = Vec::new();
        let mut idle: Vec<Draft<'_, G>> = Vec::new();
        let mut scratch = G::Scratch::default();
        let rejecting = self.rules.as_ref().filter(|_| mode == Mode::Reject);
        loop {
            while drafts.len() < batch
                && let Some((serial, number, proposal)) = queue.begin()
            {
                let draft = idle.pop();
                let mut draft = draft.unwrap_or_else(|| Draft::new(self.generator, self.decider()));
                let beginning = self.prefix.as_ref().map(|prefix| prefix.of(number));
                draft.begin(self.generator, (serial, number), proposal, beginning);
                drafts.push(draft);
            }
            if drafts.is_empty() {
                return Ok(());
            }
            let referee = rejecting.map(|rules| &rules.referee);
            // On a thread of the pool, which then need not be woken for every part of a visit.
            rayon::scope(|_| self.step(&mut drafts, &mut scratch, referee))?;
            let mut at = 0;
            while at < drafts.len() {
                let draft = &mut drafts[at];
                if !draft.broken.is_empty() {
                    let entry = queue.entry(draft.serial);
                    entry.rejected += 1;
                    for &rule in &draft.broken {
                        *entry.broken.entry(rule).or_default() += 1;
                    }
                    if draft.decider.attempt + 1 == attempts {
                        return Err(self.exhausted(draft.decider.number, &entry.broken));
                    }
                    draft.begin_again(self.generator);
                    at += 1;
                } else if draft.ended() {
                    let mut draft = drafts.swap_remove(at);
                    queue.entry(draft.serial).finish(self.kept(&mut draft), draft.decider.weight);
                    idle.push(draft);
                } else {
                    at += 1;
                }
            }
            let complete = queue.complete();
            self.judge(complete.iter().map(|(entry, kept)| (entry.number, &kept.record)))?;
            for (entry, kept) in complete {
                totals.count(&kept.record);
                totals.attempts += entry.rejected + entry.weights.len() as u64;
                totals.rejected += entry.rejected;
                totals.overruled += kept.overruled;
                totals.truncated += u64::from(kept.truncated);
                if mode == Mode::Exact {
                    totals.weigh(&entry.weights);
                }
                each(entry.number, kept.record)?;
            }
        }
    }

    /// One visit of every record under way.
    fn step(
        &self,
        drafts: &mut [Draft<'_, G>],
        scratch: &mut G::Scratch,
        referee: Option<&Referee>,
    ) -> Result<(), SampleError> {
        let mut turns: Vec<Turn<'_, G::Past>> = drafts.iter_mut().map(Draft::turn).collect();
        self.generator.next(&mut turns, scratch);
        drafts.par_iter_mut().with_min_len(TASK).for_each(|draft| draft.close(referee));
        match drafts.iter().any(|draft| draft.decider.bad_probability) {
            true => Err(SampleError::Probability),
            false => Ok(()),
        }
    }

    /// Who decides the codes of a record: each mode has a policy of its own.
    fn decider(&self) -> VisitDecider<'_> {
        let writer = self.rules.as_ref().map(|rules| rules.enforcer.writer());
        let policy = match (self.request.pass, self.request.mode, writer) {
            (Some(pass), ..) => Policy::Pass(Record::default(), pass),
            (None, Mode::Reject, _) | (None, _, None) => Policy::Free(Record::default()),
            (None, Mode::Guided | Mode::Off, Some(writer)) => Policy::Force(writer),
            (None, Mode::Exact, Some(writer)) => Policy::Weigh(writer),
            (None, Mode::Override, Some(writer)) => Policy::Repair(writer),
        };
        VisitDecider::new(self.generator.codes(), &self.request, self.max_visits, policy)
    }

    /// A finished proposal with the key that decides whether it is kept. With a key of its weight's
    /// logarithm and a Gumbel variate, the largest is each with a probability that is its share of
    /// all weights, in whatever order they finish.
    fn kept(&self, draft: &mut Draft<'_, G>) -> Kept {
        let key = match self.request.mode {
            Mode::Exact => {
                let draws = Draws::new(self.request.seed);
                let mut draws = draws.visit(draft.decider.number, 0, 0, Purpose::Proposal);
                draft.decider.weight - (-draws.uniform(draft.decider.attempt.into()).ln()).ln()
            }
            _ => 0.0,
        };
        Kept {
            key,
            // Of other modes the first attempt that is finished is the only one.
            proposal: if self.request.mode == Mode::Exact { draft.decider.attempt } else { 0 },
            overruled: draft.decider.overruled,
            truncated: draft.decider.truncated,
            record: draft.decider.take(),
        }
    }

    /// Lets the referee see every record.
    fn judge<'r>(
        &self,
        records: impl Iterator<Item = (u64, &'r Record)>,
    ) -> Result<(), SampleError> {
        let Some(Obeyed { referee, .. }) = &self.rules else { return Ok(()) };
        let records: Vec<(u64, &Record)> = records.collect();
        let rejected = records.par_iter().find_first(|(_, record)| !referee.is_valid(*record));
        match rejected {
            Some((number, _)) => Err(SampleError::Rejected { record: number + 1 }),
            None => Ok(()),
        }
    }

    fn exhausted(&self, number: u64, broken: &BTreeMap<usize, u64>) -> SampleError {
        let mut broken: Vec<(usize, u64)> =
            broken.iter().map(|(&rule, &times)| (rule, times)).collect();
        broken.sort_by_key(|&(rule, times)| (Reverse(times), rule));
        let name = |rule: usize| self.plan().map(|plan| plan.rule(rule as u32).name.to_string());
        let named = broken.into_iter().take(3);
        let named = named.filter_map(|(rule, times)| Some((name(rule)?, times)));
        SampleError::Exhausted {
            record: number + 1,
            attempts: self.request.attempts,
            broken: named.collect(),
        }
    }
}

impl Obeyed {
    fn new(set: RuleSet, codes: &Order, max_visits: usize) -> Result<Self, SampleError> {
        let options = CompileOptions {
            max_visits: max_visits as u16,
            order: Some(codes.clone()),
            ..CompileOptions::default()
        };
        let rules = Arc::new(set);
        let referee = Referee::new(&rules);
        match compile(Arc::clone(&rules), &options) {
            Ok(plan) => Ok(Self { enforcer: Enforcer::new(&plan), referee }),
            Err(error) => Err(SampleError::Compile { error, rules }),
        }
    }
}

/// The rules that records obey: those of the set that count in the mode, and the conditions given.
fn obeyed(
    rules: &RuleSet,
    request: &Request<'_>,
    vocabulary: &Arc<Vocabulary>,
) -> Result<RuleSet, SampleError> {
    let heeded = rules
        .iter()
        .filter(|rule| request.mode.obeys() && (rule.is_hard() || request.mode.draws_soft_rules()));
    let mut rules: Vec<_> = heeded.cloned().collect();
    for (index, condition) in request.given.iter().enumerate() {
        if !request.given[..index].contains(condition) {
            rules.push(condition.rule(vocabulary));
        }
    }
    RuleSet::new(Arc::clone(vocabulary), rules).map_err(|_| SampleError::OtherCodes)
}
