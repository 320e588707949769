//! Every method of the paper on one cohort: its tables, its figures, its findings.

mod arena;
mod contestant;
mod figures;
mod findings;
mod page;
mod paper;
mod place;
mod run;
mod task;
mod text;

use std::path::PathBuf;

use consequence_evaluate::Correlations;
use consequence_model::Network;
use consequence_record::Selection;
use serde::Serialize;

pub use consequence_baselines::{Method, UnknownMethod};
pub use consequence_report::{Finding, Verdict};
pub use figures::{
    Deep, DeepFigures, Generation, Median, MethodFigures, Prediction, RunFigures, Training,
};
pub use task::{Effort, MethodsTask};

use crate::Error;
use crate::mine::{MineOptions, mine};
use crate::notes::{read_note, write_note, write_report};
use crate::watch::Watch;
use arena::Arena;
use contestant::Contestant;
use figures::broken;
use findings::Evidence;
use page::page;
use paper::PaperCohort;
use place::Place;
use run::Judge;

/// How every method did on a cohort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodsReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The page to read.
    pub report: String,
    /// The same figures, for programs.
    pub metrics: String,
    /// The rule files.
    pub files: Vec<String>,
    /// Whether the rules were mined for this comparison.
    pub mined: bool,
    /// The rules.
    pub rules: RuleCounts,
    /// The records.
    pub records: RecordCounts,
    /// The digest of the records, and of the rules.
    pub digests: [String; 2],
    /// How thoroughly methods were measured.
    pub effort: Effort,
    /// Parts of a second on how many threads.
    pub threads: usize,
    /// What networks and records depend on.
    pub seed: u64,
    /// Real records of other patients, held against the same train split: what could be reached.
    pub fresh: FreshRecords,
    /// The methods, in the order asked for.
    pub methods: Vec<MethodFigures>,
    /// Methods that cannot take these rules.
    pub left_out: Vec<LeftOutMethod>,
    /// The paper's findings.
    pub findings: Vec<Finding>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// A method that cannot take the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutMethod {
    /// Its name.
    pub method: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// Why.
    pub because: String,
}

/// How many rules there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// Hard rules that look at one visit only.
    pub within_visit_rules: usize,
    /// Hard rules that look back.
    pub temporal_rules: usize,
    /// Rules that hold with a probability.
    pub soft_rules: usize,
}

/// How many records there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RecordCounts {
    /// Trained from.
    pub train: usize,
    /// Asked when to stop.
    pub tuning: usize,
    /// Seen by no method.
    pub held_out: usize,
    /// Those of them that break no rule: perplexity is of these.
    pub predicted: usize,
    /// Codes, `END` not counted.
    pub codes: usize,
    /// The most encounters of a record.
    pub max_visits: usize,
    /// Encounters of a train record, and codes of an encounter.
    pub mean_encounters: f64,
    /// See [`mean_encounters`](Self::mean_encounters).
    pub mean_codes: f64,
}

/// Real records of other patients, held against the train split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FreshRecords {
    /// Records.
    pub records: usize,
    /// How far their frequencies agree.
    pub correlations: Correlations,
}

/// Trains every method on one cohort, has each generate records again and again, measures everything,
/// and writes a report to read and the figures for programs. What is done is kept as it is done, so that
/// a comparison that was stopped can be gone on with.
///
/// ```
/// use consequence::Unwatched;
/// use consequence::compare::{Effort, Method, MethodsTask, compare_methods};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, rules, out] =
///     ["cohort.jsonl", "a.rules", "comparison"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"A\", \"B\"]]}}\n");
/// std::fs::write(&cohort, (0..100).map(line).collect::<String>())?;
/// std::fs::write(&rules, "rule lifelong: A in previous => A")?;
///
/// // As small as it gets. Leave these out for figures that say something.
/// let mut task = MethodsTask::new(cohort, out).quick();
/// task.rules = vec![rules];
/// task.methods = vec![Method::Vanilla, Method::Consequence];
/// task.network.options.epochs = 1;
/// task.effort = Effort { runs: 2, records: 20, deep_runs: 0, train_records: Some(50) };
/// let report = compare_methods(&task, &Unwatched)?;
/// let ours = &report.methods[1];
/// assert_eq!(ours.method, "consequence");
/// assert_eq!(ours.generation.temporal_violations.map(|broken| broken.mean), Some(0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare_methods(task: &MethodsTask, watch: &dyn Watch) -> Result<MethodsReport, Error> {
    let place = Place::settle(task)?;
    let rules = rule_files(task, &place, watch)?;
    let arena = Arena::prepare(task, rules, watch)?;
    let digests = arena.digests();
    place.keep_to(&digests)?;
    let (contestants, left_out) = contestants(task, &arena)?;
    let training = arena.train.len() as u64 * u64::from(task.network.options.epochs);
    let writing = u64::from(task.effort.runs) * task.effort.records;
    watch.begin("comparing methods", Some((training + writing) * contestants.len() as u64));
    let found = Comparison { task, place: &place, arena: &arena, watch }.measure(&contestants);
    watch.finish();
    let (methods, networks) = found?;
    let report = summed_up(task, &place, &arena, (methods, left_out, digests))?;
    write_report(&place.metrics, &report)?;
    let html = page(&report, &arena, &contestants, &networks, task)?.html();
    consequence_store::write_atomically(&place.report, |file| file.write_all(html.as_bytes()))?;
    Ok(report)
}

/// The methods made ready, and those that cannot take the rules; refused if none can.
fn contestants(
    task: &MethodsTask,
    arena: &Arena,
) -> Result<(Vec<Contestant>, Vec<LeftOutMethod>), Error> {
    let (mut ready, mut left_out, mut refused) = (Vec::new(), Vec::new(), None);
    for &method in &task.methods {
        match Contestant::new(method, arena) {
            Ok(contestant) => ready.push(contestant),
            Err(error) => {
                let (because, title) = (error.to_string(), method.title());
                left_out.push(LeftOutMethod { method: method.name(), title, because });
                refused = Some(error);
            }
        }
    }
    match refused.filter(|_| ready.is_empty()) {
        Some(error) => Err(error.into()),
        None => Ok((ready, left_out)),
    }
}

/// The rule files: those given, or one that is mined.
fn rule_files(task: &MethodsTask, place: &Place, watch: &dyn Watch) -> Result<Vec<PathBuf>, Error> {
    if !task.rules.is_empty() {
        return Ok(task.rules.clone());
    }
    if !place.rules.is_file() {
        let (cohort, out) = (task.cohort.clone(), place.rules.clone());
        mine(&MineOptions { cohort, out, ..MineOptions::default() }, watch)?;
    }
    Ok(vec![place.rules.clone()])
}

struct Comparison<'a> {
    task: &'a MethodsTask,
    place: &'a Place,
    arena: &'a Arena,
    watch: &'a dyn Watch,
}

impl Comparison<'_> {
    fn measure(
        &self,
        contestants: &[Contestant],
    ) -> Result<(Vec<MethodFigures>, Vec<Network>), Error> {
        let Self { task, place, arena, watch } = self;
        let mut trained = Vec::new();
        for contestant in contestants {
            let (network, training) = contestant.fit(task, arena, place, *watch)?;
            let path = place.of(contestant.method, "prediction.json");
            let prediction = match read_note::<Option<Prediction>>(&path)? {
                Some(known) => known,
                None => {
                    let found = contestant.predict(arena, &network)?;
                    write_note(&path, &found)?;
                    found
                }
            };
            trained.push((network, training, prediction));
        }
        let judge = Judge::new(arena)?;
        let mut runs: Vec<Vec<RunFigures>> = vec![Vec::new(); contestants.len()];
        let mut deep: Vec<Vec<DeepFigures>> = vec![Vec::new(); contestants.len()];
        let count = contestants.len();
        for run in 0..task.effort.runs {
            // One after the other, and each in every place, so that whatever else the machine does, and
            // whatever comes first, meets all of them.
            for place in 0..count {
                let at = (place + run as usize) % count;
                let contestant = &contestants[at];
                if watch.wants_stop() {
                    return Err(Error::Halted(task.out.clone()));
                }
                let (figures, deeper) = self.run(&judge, contestant, &trained[at].0, run)?;
                runs[at].push(figures);
                deep[at].extend(deeper);
            }
        }
        let vanilla = contestants.iter().position(|one| one.method == Method::Vanilla);
        let mut methods = Vec::new();
        let mut networks = Vec::new();
        for (at, (network, training, prediction)) in trained.into_iter().enumerate() {
            let Contestant { method, rival } = &contestants[at];
            let unexpressed = rival.as_ref().map(|rival| rival.unexpressed()).unwrap_or_default();
            methods.push(MethodFigures {
                method: method.name(),
                title: method.title(),
                reach: method.reach(),
                unexpressed: unexpressed.iter().map(ToString::to_string).collect(),
                training,
                prediction,
                generation: Generation::of(&runs[at], vanilla.map(|at| runs[at].as_slice())),
                deep: Deep::of(&deep[at]),
                broken: broken(&runs[at]),
            });
            networks.push(network);
        }
        Ok((methods, networks))
    }

    /// One generation of a method, measured; or what is known of it.
    fn run(
        &self,
        judge: &Judge<'_>,
        contestant: &Contestant,
        network: &Network,
        run: u32,
    ) -> Result<(RunFigures, Option<DeepFigures>), Error> {
        let Self { task, place, arena, watch } = self;
        let records = task.effort.records;
        let path = place.run(contestant.method, run);
        if let Some(known) = read_note(&path)? {
            watch.advance(records);
            return Ok(known);
        }
        let (title, runs) = (contestant.method.title(), task.effort.runs);
        watch.describe(&format!("{title}: generation {} of {runs}", run + 1));
        if run == 0 {
            // Memory that is touched for the first time is not the method's to pay for.
            contestant.generate(arena, network, (run_seed(task, run), records.min(WARM_UP)))?;
        }
        let generated = contestant.generate(arena, network, (run_seed(task, run), records))?;
        let figures = judge.figures(&generated)?;
        let deep = match run < task.effort.deep_runs {
            true => Some(judge.deep_figures(&generated.cohort, run.into())?),
            false => None,
        };
        write_note(&path, &(&figures, &deep))?;
        watch.advance(records);
        watch.stage(&format!("{title}: generation {} of {runs} measured", run + 1));
        Ok((figures, deep))
    }
}

/// Records that are written before the first generation that counts.
const WARM_UP: u64 = 500;

/// The seed of a generation; the same for all methods.
fn run_seed(task: &MethodsTask, run: u32) -> u64 {
    task.seed.wrapping_mul(1_000).wrapping_add(u64::from(run))
}

fn summed_up(
    task: &MethodsTask,
    place: &Place,
    arena: &Arena,
    (methods, left_out, digests): (Vec<MethodFigures>, Vec<LeftOutMethod>, [String; 2]),
) -> Result<MethodsReport, Error> {
    let shown = |path: &std::path::Path| path.display().to_string();
    let judge = Judge::new(arena)?;
    let others: Vec<usize> = arena.held_out.iter().chain(&arena.tuning).copied().collect();
    let records = others.len().min(task.effort.records as usize);
    let fresh = Selection::new(&arena.cohort, &others[..records]);
    let compared = judge.reference.compare(fresh)?;
    let fresh = FreshRecords { records, correlations: compared.all };
    let hard = || arena.rules.rules.iter().filter(|rule| rule.is_hard());
    let temporal_rules = hard().filter(|rule| rule.is_temporal()).count();
    let rules = RuleCounts {
        within_visit_rules: hard().count() - temporal_rules,
        temporal_rules,
        soft_rules: arena.rules.rules.len() - hard().count(),
    };
    let mean_encounters = compared.real.mean_visits();
    let findings = Evidence::new(&methods, PaperCohort::like(mean_encounters)).findings();
    Ok(MethodsReport {
        cohort: shown(&task.cohort),
        report: shown(&place.report),
        metrics: shown(&place.metrics),
        files: arena.files.clone(),
        mined: task.rules.is_empty(),
        rules,
        records: RecordCounts {
            train: arena.train.len(),
            tuning: arena.tuning.len(),
            held_out: arena.held_out.len(),
            predicted: arena.predicted.len(),
            codes: arena.vocabulary.len() - 1,
            max_visits: arena.max_visits,
            mean_encounters,
            mean_codes: compared.real.mean_codes(),
        },
        digests,
        effort: task.effort,
        threads: rayon::current_num_threads(),
        seed: task.seed,
        fresh,
        methods,
        left_out,
        findings,
        warnings: arena.warnings.clone(),
    })
}
