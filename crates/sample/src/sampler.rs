//! A model that writes records under rules.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use consequence_details::{Checker, DetailModel, Drawer};
use consequence_enforce::Enforcer;
use consequence_model::Generator;
use consequence_prng::{Draws, Purpose};
use consequence_record::{AgeBand, Code, Details, Record, Scale, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, Order, Plan, RuleSet, compile};

use crate::days::{self, Days};
use crate::decider::{Policy, VisitDecider};
use crate::drafts::{Complete, Draft, Kept, Queue};
use crate::drawing::{Clock, Clocks};
use crate::groups::GivenGroups;
use crate::lanes::{Dealt, Lane};
use crate::on_gpu::OnGpu;
use crate::prefix::{Beginning, Prefix};
use crate::{Drawing, DrawnBy, Mode, Phases, Request, SampleError, Sampled, Totals};

/// Records that are dealt to threads at once, for each that is written at a time.
const ROUND: usize = 8;

/// Records that may wait for a slow one before them, for each that is written at a time.
const ROOM: usize = 3 * ROUND;

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
/// let given = Condition::parse_list("SEX//F, SEX//M", &rules)?;
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
    rules: Option<Arc<Obeyed>>,
    groups: Option<GivenGroups>,
    details: Option<Detailed<'a>>,
    prefix: Option<Prefix<'a>>,
    /// Who draws codes instead of threads of the CPU.
    pub(crate) on_gpu: Option<OnGpu>,
    /// What parts of the work took.
    pub(crate) clocks: Clocks,
}

/// Rules that records obey, closed and proved once for any number of models of the same codes.
pub struct Obeyed {
    pub(crate) enforcer: Enforcer,
    referee: Referee,
}

/// What records are given beside their codes.
struct Detailed<'a> {
    drawer: Drawer<'a>,
    checker: Checker,
}

impl<'a, G: Generator> Sampler<'a, G> {
    /// Makes a model ready to write records. In mode `off` the rules have no say, but the
    /// conditions given have.
    pub fn new(
        generator: &'a G,
        rules: &RuleSet,
        request: Request<'a>,
    ) -> Result<Self, SampleError> {
        let rules = Obeyed::prepare(generator, rules, &request)?;
        Self::prepared(generator, rules, request)
    }

    /// The same with rules that are [prepared](Obeyed::prepare) for this request and for models with the codes of
    /// this one.
    pub fn prepared(
        generator: &'a G,
        rules: Option<Arc<Obeyed>>,
        request: Request<'a>,
    ) -> Result<Self, SampleError> {
        request.check()?;
        let (codes, max_visits) = (generator.codes(), most_visits(generator));
        let plan = rules.as_ref().map(|rules| rules.enforcer.plan());
        if plan.is_some_and(|plan| plan.order() != codes || plan.max_visits() != max_visits) {
            return Err(SampleError::OtherCodes);
        }
        if let Some(plan) = plan {
            check_days(plan, &request)?;
        }
        let groups = GivenGroups::of(&request, codes.vocabulary())?;
        let enforcer = rules.as_ref().map(|rules| &rules.enforcer);
        let prefix = request.prefix;
        let told = request.prefix_details;
        let prefix = prefix.map(|cohort| Prefix::new(cohort, told, codes, max_visits, enforcer));
        let prefix = prefix.transpose()?;
        let details = request.details.map(|model| Detailed {
            drawer: model.drawer(codes.vocabulary()),
            checker: Checker::new(codes.vocabulary(), model.scales_over(codes.vocabulary())),
        });
        let (on_gpu, clocks) = (None, Clocks::default());
        Ok(Self { generator, request, max_visits, rules, groups, details, prefix, on_gpu, clocks })
    }

    /// What is asked of the model.
    pub fn request(&self) -> &Request<'a> {
        &self.request
    }

    /// Where records are drawn, and what the work took so far.
    pub fn drawing(&self) -> Drawing {
        let Clocks { drawing, judging, writing } = &self.clocks;
        let gpu = self.on_gpu.as_ref();
        Drawing {
            drawn_by: self.drawn_by(),
            slots: gpu.map(OnGpu::slots),
            left_by_gpu: gpu.map_or(0, OnGpu::left),
            phases: Phases {
                opening: 0.0,
                drawing: gpu.map_or_else(|| drawing.seconds(), OnGpu::drew),
                judging: gpu.map(|_| judging.seconds()),
                writing: writing.seconds(),
            },
        }
    }

    /// What draws the records.
    pub fn drawn_by(&self) -> DrawnBy {
        self.on_gpu.as_ref().map(OnGpu::drawn_by).unwrap_or_default()
    }

    /// Tells what it took to write records that were given, for [`Sampler::drawing`].
    pub fn has_written(&self, taken: Duration) {
        self.clocks.writing.add(taken);
    }

    pub(crate) fn writing(&self) -> &Clock {
        &self.clocks.writing
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
    /// are those under way on each thread, and at most 24 times as many that wait for one before them.
    pub fn records(
        &self,
        numbers: impl IntoIterator<Item = u64, IntoIter: Send>,
        totals: &mut Totals,
        mut each: impl FnMut(u64, Record) -> Result<(), SampleError>,
    ) -> Result<(), SampleError> {
        self.each(numbers, totals, |sampled| each(sampled.number, sampled.record))
    }

    /// The same with what records have beside their codes.
    pub fn each(
        &self,
        numbers: impl IntoIterator<Item = u64, IntoIter: Send>,
        totals: &mut Totals,
        mut each: impl FnMut(Sampled) -> Result<(), SampleError>,
    ) -> Result<(), SampleError> {
        if let Some(gpu) = &self.on_gpu {
            return self.each_on_gpu(gpu, numbers.into_iter(), totals, &mut each);
        }
        let threads = rayon::current_num_threads();
        let at_a_time = self.request.batch.saturating_mul(threads);
        let room = at_a_time.saturating_mul(ROOM);
        let mut queue = Queue::new(numbers.into_iter(), self.request.proposals(), room);
        let mut lanes: Vec<Lane<'_, G>> = (0..threads).map(|_| Lane::default()).collect();
        let (mut dealt, mut complete) = (Dealt::default(), Vec::new());
        loop {
            dealt.refill(&mut queue, at_a_time.saturating_mul(ROUND));
            if complete.is_empty() && dealt.is_empty() && lanes.iter().all(Lane::is_idle) {
                return Ok(());
            }
            let mut given = Ok(());
            rayon::in_place_scope(|scope| {
                let (dealt, over) = (&dealt, queue.is_over());
                for lane in &mut lanes {
                    scope.spawn(move |_| lane.run(self, dealt, over));
                }
                let mut complete = std::mem::take(&mut complete).into_iter();
                given = complete.try_for_each(|record| self.give(record, totals, &mut each));
            });
            given?;
            let longest = lanes.iter_mut().map(Lane::worked).max().unwrap_or_default();
            self.clocks.drawing.add(longest);
            lanes.iter_mut().flat_map(Lane::finished).for_each(|record| queue.finish(record));
            complete = queue.complete();
        }
    }

    /// Counts a record, and hands it on.
    pub(crate) fn give(
        &self,
        complete: Complete,
        totals: &mut Totals,
        each: &mut impl FnMut(Sampled) -> Result<(), SampleError>,
    ) -> Result<(), SampleError> {
        let Complete { number, outcome, weights, rejected } = complete;
        let Some(kept) = outcome.transpose()? else { return Ok(()) };
        if kept.outside {
            return Err(self.out_of_group(number, weights.len() as u64, &BTreeMap::new()));
        }
        totals.count(&kept.record);
        totals.attempts += rejected + weights.len() as u64;
        totals.rejected += rejected;
        totals.overruled += kept.overruled;
        totals.truncated += u64::from(kept.truncated);
        if self.request.mode == Mode::Exact {
            totals.weigh(&weights);
        }
        each(Sampled { number, record: kept.record, details: kept.details })
    }

    /// The rules that records obey.
    pub(crate) fn obeyed(&self) -> Option<&Obeyed> {
        self.rules.as_deref()
    }

    /// Whether records are to be of groups.
    pub(crate) fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The most encounters that a record may have.
    pub(crate) fn max_visits(&self) -> usize {
        self.max_visits
    }

    pub(crate) fn generator(&self) -> &'a G {
        self.generator
    }

    /// Memory for an attempt at a record.
    pub(crate) fn draft(&self) -> Draft<'_, G> {
        Draft::new(self.generator, self.decider())
    }

    /// What a record begins with.
    pub(crate) fn beginning(&self, number: u64) -> Option<Beginning<'a>> {
        self.prefix.as_ref().map(|prefix| prefix.of(number))
    }

    /// Who finds the rules that a visit breaks, where records are drawn again for it and rules ask for codes
    /// only.
    pub(crate) fn rejecting(&self) -> Option<&Referee> {
        self.rejecting_rules()
            .filter(|rules| !days::are_asked(rules.enforcer.plan()))
            .map(|rules| &rules.referee)
    }

    fn rejecting_rules(&self) -> Option<&Obeyed> {
        self.rules.as_deref().filter(|_| self.request.mode == Mode::Reject)
    }

    /// The rules that a record breaks which has ended, where records are drawn again for it and rules ask for
    /// days, ages or values, too: these are drawn when its codes are known.
    pub(crate) fn broken_at_end(
        &self,
        decider: &VisitDecider<'_>,
    ) -> Result<Vec<usize>, SampleError> {
        let record = decider.record();
        let rules = self.rejecting_rules().filter(|rules| days::are_asked(rules.enforcer.plan()));
        let Some(rules) = rules else { return Ok(Vec::new()) };
        let details = self.detailed(record, decider)?;
        let judged = consequence_referee::Detailed { record, details: details.view() };
        let mut broken: Vec<usize> =
            rules.referee.violations(&judged).into_iter().map(|violation| violation.rule).collect();
        broken.sort_unstable();
        broken.dedup();
        Ok(broken)
    }

    /// The first group given that a record which has ended is not of, where records are drawn again for it.
    pub(crate) fn outside(&self, decider: &VisitDecider<'_>) -> Result<Option<usize>, SampleError> {
        match self.request.mode {
            Mode::Exact => Ok(None),
            _ => self.not_given(decider.record(), decider),
        }
    }

    fn not_given(
        &self,
        record: &Record,
        decider: &VisitDecider<'_>,
    ) -> Result<Option<usize>, SampleError> {
        let Some(groups) = &self.groups else { return Ok(None) };
        let details = match groups.ask_details {
            true => self.detailed(record, decider)?,
            false => Details::default(),
        };
        let judged = consequence_referee::Detailed { record, details: details.view() };
        Ok(groups.first_unmet(&judged))
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
        let plan = self.plan().filter(|plan| days::are_asked(plan));
        let days = plan
            .zip(self.details.as_ref())
            .map(|(plan, details)| Days::new(plan, &details.drawer, Draws::new(self.request.seed)));
        VisitDecider::new(self.generator.codes(), &self.request, self.max_visits, policy, days)
    }

    /// A finished proposal with the key that decides whether it is kept. With a key of its weight's
    /// logarithm and a Gumbel variate, the largest is each with a probability that is its share of
    /// all weights, in whatever order they finish.
    ///
    /// The referee sees every record.
    pub(crate) fn kept(&self, draft: &mut Draft<'_, G>) -> Result<Kept, SampleError> {
        let VisitDecider { number, attempt, weight, overruled, truncated, .. } = draft.decider;
        let record = draft.decider.take();
        let details = self.detailed(&record, &draft.decider)?;
        // Proposals are weighed, and one that is not of the groups is worth nothing.
        let weighed = self.request.mode == Mode::Exact;
        let outside = weighed && self.not_given(&record, &draft.decider)?.is_some();
        let weight = if outside { f64::NEG_INFINITY } else { weight };
        self.judge(number, &record, &details)?;
        let (key, proposal) = match self.request.mode {
            Mode::Exact => {
                let draws = Draws::new(self.request.seed);
                let mut draws = draws.visit(number, 0, 0, Purpose::Proposal);
                (weight - (-draws.uniform(attempt.into()).ln()).ln(), attempt)
            }
            // Of other modes the first attempt that is finished is the only one.
            _ => (0.0, 0),
        };
        Ok(Kept { key, proposal, weight, record, details, overruled, truncated, outside })
    }

    /// A record whose codes were drawn in one attempt, elsewhere, and that no rule asks more of.
    pub(crate) fn judged(
        &self,
        number: u64,
        record: Record,
        overruled: u64,
        truncated: bool,
    ) -> Result<Kept, SampleError> {
        let details = match &self.details {
            Some(Detailed { drawer, checker }) => {
                let details = drawer.draw(&record, &Draws::new(self.request.seed), number);
                if let Some(what) = checker.disagreement_after(&record, details.view(), 0) {
                    return Err(SampleError::Disagreement { record: number + 1, what });
                }
                details
            }
            None => Details::default(),
        };
        self.judge(number, &record, &details)?;
        let (key, proposal, weight, outside) = (0.0, 0, 0.0, false);
        Ok(Kept { key, proposal, weight, record, details, overruled, truncated, outside })
    }

    /// Has the referee see a record.
    fn judge(&self, number: u64, record: &Record, details: &Details) -> Result<(), SampleError> {
        let judged = consequence_referee::Detailed { record, details: details.view() };
        match &self.rules {
            Some(rules) if !rules.referee.is_valid(&judged) => {
                Err(SampleError::Rejected { record: number + 1 })
            }
            _ => Ok(()),
        }
    }

    /// The dates and values of a record, once nothing in them contradicts its codes.
    fn detailed(
        &self,
        record: &Record,
        decider: &VisitDecider<'_>,
    ) -> Result<Details, SampleError> {
        let Some(Detailed { drawer, checker }) = &self.details else {
            return Ok(Details::default());
        };
        let (number, draws) = (decider.number, Draws::new(self.request.seed));
        let drawn = || drawer.draw(record, &draws.attempt(decider.attempt), number);
        let details = decider.details(record).unwrap_or_else(drawn);
        match checker.disagreement_after(record, details.view(), decider.encounters_given()) {
            Some(what) => Err(SampleError::Disagreement { record: number + 1, what }),
            None => Ok(details),
        }
    }

    /// Whether records are given dates.
    pub fn dated(&self) -> bool {
        self.request.details.is_some_and(DetailModel::dated)
    }

    /// What the values of codes are, where records are given any.
    pub fn scales(&self) -> BTreeMap<Code, Scale> {
        self.details.as_ref().map(|details| details.checker.scales().clone()).unwrap_or_default()
    }

    /// That no attempt at a record would do: the groups that most of them were not of, or else the rules that
    /// most of them broke.
    pub(crate) fn exhausted(&self, draft: &Draft<'_, G>) -> SampleError {
        let (number, broken) = (draft.decider.number, &draft.broken_before);
        if !draft.outside_before.is_empty() {
            return self.out_of_group(number, self.request.attempts.into(), &draft.outside_before);
        }
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

    /// That no attempt at a record was of the groups given; how many were not of each.
    fn out_of_group(
        &self,
        number: u64,
        attempts: u64,
        outside: &BTreeMap<usize, u64>,
    ) -> SampleError {
        let wanted = self.groups.as_ref().map_or(&[][..], |groups| &groups.wanted);
        let told = |(&group, &times): (&usize, &u64)| {
            let (name, present) = wanted.get(group)?;
            let not = if *present { "" } else { "not " };
            Some((format!("{not}{name}"), times))
        };
        let unmet = outside.iter().filter_map(told).collect();
        SampleError::OutOfGroup { record: number + 1, attempts, unmet }
    }
}

/// Refuses rules about days, ages and values that nobody could keep.
fn check_days(plan: &Plan, request: &Request<'_>) -> Result<(), SampleError> {
    if !days::are_asked(plan) {
        return Ok(());
    }
    let dated = request.details.is_some_and(DetailModel::dated);
    if days::dates_are_asked(plan) && !dated {
        return Err(SampleError::NoDates);
    }
    Ok(())
}

/// The most encounters that a record may have.
fn most_visits<G: Generator>(generator: &G) -> usize {
    generator.max_visits().min(u16::MAX.into())
}

impl Obeyed {
    /// Closes and proves rules for a model and what is asked of it; none where nothing is obeyed.
    pub fn prepare<G: Generator>(
        generator: &G,
        rules: &RuleSet,
        request: &Request<'_>,
    ) -> Result<Option<Arc<Self>>, SampleError> {
        request.check()?;
        let codes = generator.codes();
        if rules.vocabulary() != codes.vocabulary() {
            return Err(SampleError::OtherCodes);
        }
        let set = obeyed(rules, request, codes.vocabulary())?;
        if set.is_empty() && !request.mode.obeys() {
            return Ok(None);
        }
        Self::new(set, codes, most_visits(generator), request).map(Arc::new).map(Some)
    }

    fn new(
        set: RuleSet,
        codes: &Order,
        max_visits: usize,
        request: &Request<'_>,
    ) -> Result<Self, SampleError> {
        let options = CompileOptions {
            max_visits: max_visits as u16,
            order: Some(codes.clone()),
            ..CompileOptions::default()
        };
        let rules = Arc::new(set);
        let referee = Referee::new(&rules);
        // Without dates the age is what the static visit tells, if it tells any.
        let dated = request.details.is_some_and(DetailModel::dated);
        let has_bands = || !AgeBand::of_statics(rules.vocabulary()).is_empty();
        let by_statics = !dated && rules.ask_ages() && has_bands();
        let planned = match by_statics {
            true => Arc::new(rules.with_static_ages()),
            false => Arc::clone(&rules),
        };
        match compile(planned, &options) {
            Ok(plan) => {
                let trained_with = request.trained_with.map(|rules| match by_statics {
                    true => Cow::Owned(rules.with_static_ages()),
                    false => Cow::Borrowed(rules),
                });
                let enforcer = match request.mode {
                    Mode::Guided | Mode::Off => Enforcer::for_model(&plan, trained_with.as_deref()),
                    // Weights correct what is proposed, so that nothing need be tested.
                    Mode::Exact | Mode::Override | Mode::Reject => Enforcer::new(&plan),
                };
                Ok(Self { enforcer, referee })
            }
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
            rules.extend(condition.rule(vocabulary));
        }
    }
    RuleSet::new(Arc::clone(vocabulary), rules).map_err(|_| SampleError::OtherCodes)
}
