//! Every method of the paper on one cohort: its tables, its figures, its findings.
#![forbid(unsafe_code)]

mod arena;
mod choice;
mod contestant;
mod estimate;
mod figures;
mod files;
mod findings;
mod gains;
mod measure;
mod page;
mod paper;
mod run;
mod task;
mod text;

use std::path::PathBuf;

use consequence_evaluate::Correlations;
use consequence_record::Selection;
use consequence_store::write_atomically;
use serde::Serialize;

pub use choice::TriedRate;
pub use consequence_baselines::{Method, UnknownMethod};
pub use consequence_report::{Finding, Verdict};
pub use estimate::{Answer, Estimate};
pub use figures::{
    Deep, DeepFigures, Generation, Median, MethodFigures, OverTrainings, Prediction, RunFigures,
    TrainedOnce, Training,
};
pub use gains::{Gain, GainOn};
pub use task::{ComparisonTask, Effort};

use arena::Arena;
use choice::choose_rates;
use consequence::mine::MineTask;
use consequence_pipeline::{Error, Report, Task, Watch};
use contestant::Contestant;
use files::Files;
use findings::Evidence;
use measure::Comparison;
use page::{PLOTTED, page};
use paper::PaperCohort;
use run::{Gpus, Judge};
use task::{ON_BOTH, network_name};

/// How every method did on a cohort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonReport {
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
    /// Threads that worked.
    pub threads: usize,
    /// What networks and records depend on.
    pub seed: u64,
    /// The network of all methods, then the one beside it, if there is one: `recurrent`, `halo`.
    pub networks: Vec<&'static str>,
    /// Real records of other patients, held against the same train split: what could be reached.
    pub fresh: FreshRecords,
    /// The methods, in the order asked for, then those on the network beside.
    pub methods: Vec<MethodFigures>,
    /// Methods that cannot take these rules.
    pub left_out: Vec<LeftOutMethod>,
    /// The paper's findings, on the network of all methods.
    pub findings: Vec<Finding>,
    /// What rules gain on each of two networks; nothing where there is one.
    pub gains: Vec<Gain>,
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
    /// Encounters of a train record.
    pub mean_encounters: f64,
    /// Codes of an encounter of a train record.
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

impl Task for ComparisonTask {
    type Report = ComparisonReport;

    /// Trains every method on one cohort, once or several times, has each generate records again and
    /// again, measures everything, and writes a report to read and the figures for programs. What is done is kept as it is done, so that
    /// a comparison that was stopped can be resumed.
    fn run(&self, watch: &dyn Watch) -> Result<ComparisonReport, Error> {
        self.check()?;
        let files = Files::open(self)?;
        let rules = rule_files(self, &files, watch)?;
        let arena = Arena::prepare(self, rules, watch)?;
        let digests = arena.digests();
        files.keep_to(&digests)?;
        let (mut contestants, left_out) = contestants(self, &arena)?;
        let training = arena.train.len() as u64 * self.usual_epochs() * u64::from(self.trainings());
        let writing = u64::from(self.effort.runs) * self.effort.records;
        watch.begin("comparing methods", Some((training + writing) * contestants.len() as u64));
        let chosen = choose_rates(&mut contestants, self, &arena, &files, watch);
        let comparison = Comparison {
            task: self,
            files: &files,
            arena: &arena,
            contestants: &contestants,
            watch,
            gpus: Gpus::find(self.device),
        };
        let found = chosen.and_then(|()| comparison.measure());
        watch.finish();
        let (methods, gains) = found?;
        let report = summed_up(self, &files, &arena, (methods, gains, left_out, digests))?;
        let metrics = report.json()?;
        let cohorts = comparison.plotted(PLOTTED)?;
        let html = page(&report, &arena, &contestants, &cohorts, self)?.html();
        for (path, text) in [(&files.metrics, metrics), (&files.report, html)] {
            write_atomically(path, |file| file.write_all(text.as_bytes()))?;
        }
        files.finish()?;
        Ok(report)
    }
}

impl Report for ComparisonReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// The methods made ready, and those that cannot take the rules; refused if none can.
fn contestants(
    task: &ComparisonTask,
    arena: &Arena,
) -> Result<(Vec<Contestant>, Vec<LeftOutMethod>), Error> {
    let (mut ready, mut left_out, mut refused) = (Vec::new(), Vec::new(), None);
    for &method in &task.methods {
        match Contestant::new(method, task, arena) {
            Ok(contestant) => ready.push(contestant),
            Err(error) => {
                let (because, title) = (error.to_string(), method.title());
                left_out.push(LeftOutMethod { method: method.name(), title, because });
                refused = Some(error);
            }
        }
    }
    let beside = task.also.iter().flat_map(|also| ON_BOTH.map(|method| (method, also)));
    for (method, also) in beside.filter(|(method, _)| task.methods.contains(method)) {
        // Neither has anything to refuse: they take every rule.
        ready.extend(Contestant::beside(method, also, task, arena));
    }
    match refused.filter(|_| ready.is_empty()) {
        Some(error) => Err(Error::refused(
            error.to_string(),
            "leave out the rules that it names, or compare other methods",
        )),
        None => Ok((ready, left_out)),
    }
}

/// The rule files: those given, or one that is mined.
fn rule_files(
    task: &ComparisonTask,
    files: &Files,
    watch: &dyn Watch,
) -> Result<Vec<PathBuf>, Error> {
    if !task.rules.is_empty() {
        return Ok(task.rules.clone());
    }
    if !files.rules.is_file() {
        MineTask::new(&task.cohort, &files.rules).run(watch)?;
    }
    Ok(vec![files.rules.clone()])
}

fn summed_up(
    task: &ComparisonTask,
    files: &Files,
    arena: &Arena,
    (methods, gains, left_out, digests): (
        Vec<MethodFigures>,
        Vec<Gain>,
        Vec<LeftOutMethod>,
        [String; 2],
    ),
) -> Result<ComparisonReport, Error> {
    let shown = |path: &std::path::Path| path.display().to_string();
    let judge = Judge::new(arena)?;
    let others: Vec<usize> = arena.held_out.iter().chain(&arena.tuning).copied().collect();
    let records = others.len().min(task.effort.records as usize);
    let fresh = Selection::new(&arena.cohort, &others[..records]);
    let compared = judge.reference.compare(fresh)?;
    let fresh = FreshRecords { records, correlations: compared.all };
    let hard = || arena.rules.iter().filter(|rule| rule.is_hard());
    let temporal_rules = hard().filter(|rule| rule.is_temporal()).count();
    let rules = RuleCounts {
        within_visit_rules: hard().count() - temporal_rules,
        temporal_rules,
        soft_rules: arena.rules.len() - hard().count(),
    };
    let mean_encounters = compared.real.mean_visits();
    let findings = Evidence::new(&methods, PaperCohort::like(mean_encounters)).findings();
    Ok(ComparisonReport {
        cohort: shown(&task.cohort),
        report: shown(&files.report),
        metrics: shown(&files.metrics),
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
        networks: [Some(&task.network), task.also.as_ref()]
            .into_iter()
            .flatten()
            .map(network_name)
            .collect(),
        fresh,
        methods,
        left_out,
        findings,
        gains,
        warnings: arena.warnings.clone(),
    })
}
