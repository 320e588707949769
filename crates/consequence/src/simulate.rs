//! A built-in cohort, written to disk with the rules that it obeys.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_pipeline::words::count;
use consequence_pipeline::{
    CohortFigures, Error, HeldCohort, Out, Report, Task, Watch, refuse_file, watched, write_file,
};
use consequence_record::{
    Code, Cohort, CohortDetails, DetailsView, RecordView, Scale, Split, Vocabulary,
};
use consequence_simulate::{DetailedSimulation, Simulation, Truth};
use consequence_tables::meds::{Subject, WriterOptions};
use consequence_tables::{CohortWriter, Dataset, Format};
use serde::Serialize;

pub use consequence_simulate::{Preset, TESTS, Test};

/// Records that are in memory at a time.
const PART: usize = 1 << 15;

/// What to simulate.
///
/// ```
/// use consequence::simulate::{Preset, SimulateTask};
/// use consequence::{Dataset, Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let out = folder.path().join("cohort");
/// let task = SimulateTask { patients: Some(100), ..SimulateTask::new(Preset::Inpatient, &out) };
/// assert_eq!(task.run(&Unwatched)?.figures.patients, 100);
/// assert_eq!(Dataset::open(&out)?.cohort.len(), 100);
/// assert!(std::fs::read_to_string(out.join("truth.rules"))?.contains("rule one-sex"));
/// let own = std::fs::read_to_string(out.join("metadata/own.rules"))?;
/// assert!(own.contains("rule own-one-gap-later"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimulateTask {
    /// The kind of cohort.
    pub preset: Preset,
    /// How many patients; none: as many as the paper's dataset has.
    pub patients: Option<usize>,
    /// The folder to write, or the file if its name ends in `.jsonl`; none: the cohort is given by
    /// [`simulated`](Self::simulated) alone.
    pub out: Option<Out>,
    /// What the patients depend on.
    pub seed: u64,
    /// Leaves out births, dates, stays and values, and the codes that tell of them.
    pub codes_only: bool,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SimulateReport {
    /// The kind of cohort.
    pub preset: &'static str,
    /// What the patients depend on.
    pub seed: u64,
    /// The cohort that was written, if one was.
    pub out: Option<String>,
    /// The file of the rules that every record obeys, if one was written.
    pub truth: Option<String>,
    /// The rules that every record obeys, as text.
    #[serde(skip)]
    pub truth_text: String,
    /// How many rules these are.
    pub rules: usize,
    /// What the cohort amounts to.
    #[serde(flatten)]
    pub figures: CohortFigures,
}

impl SimulateTask {
    /// As many patients as the paper's dataset has.
    pub fn new(preset: Preset, out: impl Into<Out>) -> Self {
        Self { out: Some(out.into()), ..Self::in_memory(preset) }
    }

    /// The same, and nothing is written.
    pub fn in_memory(preset: Preset) -> Self {
        Self { preset, patients: None, out: None, seed: 1, codes_only: false }
    }
}

impl Task for SimulateTask {
    type Report = SimulateReport;

    /// Simulates a cohort and writes it as it is made, so that any number of patients fits. The rules
    /// that every record obeys are in `truth.rules` in its folder; beside a file `x.jsonl` they are in
    /// `x.truth.rules`.
    ///
    /// The files depend on the task alone, and not on the number of threads.
    fn run(&self, watch: &dyn Watch) -> Result<SimulateReport, Error> {
        let Some(target) = &self.out else { return Ok(self.simulated(watch)?.1) };
        let Out { path: out, force, .. } = target;
        let lines = Format::to_write(out) == Format::Lines;
        let truth_file = match lines {
            true => out.with_extension("truth.rules"),
            false => out.join("truth.rules"),
        };
        let _out = target.cohort()?;
        if lines {
            refuse_file(&truth_file, *force)?;
        }
        let simulated = self.prepared();
        let truth = simulated.truth();
        let writer = WriterOptions {
            replace: *force,
            titles: simulated.titles(),
            truth: Some(truth.text.clone()),
            scales: simulated.scales(),
            own_rules: simulated.own_rules(),
            ..WriterOptions::default()
        };
        let mut writer = CohortWriter::create(out, Arc::clone(simulated.vocabulary()), writer)?;
        let figures = watched(watch, "simulating", Some(self.patients() as u64), || {
            let figures = self.each(&simulated, watch, |subject, record| {
                Ok(writer.push(subject, record.visits())?)
            })?;
            if lines {
                write_file(&truth_file, *force, |file| file.write_all(truth.text.as_bytes()))?;
            }
            writer.finish()?;
            Ok::<_, Error>(figures)
        })?;
        let truth_file = Some(truth_file.display().to_string());
        Ok(SimulateReport { truth: truth_file, ..self.report(truth, figures) })
    }
}

impl SimulateTask {
    /// Simulates a cohort and gives it. Nothing is written.
    ///
    /// ```
    /// use consequence::Unwatched;
    /// use consequence::simulate::{Preset, SimulateTask};
    ///
    /// let task = SimulateTask { patients: Some(100), ..SimulateTask::in_memory(Preset::Inpatient) };
    /// let (held, report) = task.simulated(&Unwatched)?;
    /// assert_eq!(held.dataset.cohort.len(), 100);
    /// assert!(report.truth_text.contains("rule one-sex"));
    /// # Ok::<(), consequence::Error>(())
    /// ```
    pub fn simulated(&self, watch: &dyn Watch) -> Result<(HeldCohort, SimulateReport), Error> {
        let simulated = self.prepared();
        let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
        let figures = watched(watch, "simulating", Some(self.patients() as u64), || {
            self.each(&simulated, watch, |subject, record| {
                cohort.push_visits(subject.id, record.visits(), record.ended());
                details.push(subject.details);
                Ok(())
            })
        })?;
        let dataset = Dataset {
            titles: simulated.titles(),
            scales: simulated.scales(),
            details: (!self.codes_only).then_some(details),
            ..Dataset::new(cohort, Arc::clone(simulated.vocabulary()))
        };
        let own_rules = simulated.own_rules().map(Into::into);
        let name = format!("simulated {} cohort", self.preset.name());
        let held = HeldCohort { own_rules, ..HeldCohort::new(name, dataset) };
        Ok((held, self.report(simulated.truth(), figures)))
    }

    fn patients(&self) -> usize {
        self.patients.unwrap_or(self.preset.figures().records)
    }

    fn prepared(&self) -> Simulated {
        let simulation = Simulation::new(self.preset, self.patients(), self.seed);
        match self.codes_only {
            true => Simulated::Codes(Box::new(simulation)),
            false => Simulated::Details(Box::new(simulation.detailed())),
        }
    }

    /// Simulates every patient, a part at a time.
    fn each(
        &self,
        simulated: &Simulated,
        watch: &dyn Watch,
        mut take: impl FnMut(Subject<'_>, RecordView<'_>) -> Result<(), Error>,
    ) -> Result<CohortFigures, Error> {
        let mut figures = CohortFigures::of(simulated.vocabulary());
        for start in (0..self.patients()).step_by(PART) {
            let (part, details) = simulated.part(start);
            for (index, record) in part.records().enumerate() {
                let id = part.id(index);
                let split = Split::of(id);
                let details = match &details {
                    Some(details) => details.of(index),
                    None => DetailsView::default(),
                };
                take(Subject { id, split, ended: record.ended(), details }, record)?;
                let codes = record.visits().skip(1).map(<[_]>::len).sum();
                figures.add(split, record.len() - 1, codes);
            }
            watch.advance(part.len() as u64);
        }
        Ok(figures)
    }

    fn report(&self, truth: &Truth, figures: CohortFigures) -> SimulateReport {
        SimulateReport {
            preset: self.preset.name(),
            seed: self.seed,
            out: self.out.as_ref().map(Out::shown),
            truth: None,
            truth_text: truth.text.clone(),
            rules: truth.rules.len(),
            figures,
        }
    }
}

/// What is simulated, with details or without.
enum Simulated {
    Codes(Box<Simulation>),
    Details(Box<DetailedSimulation>),
}

impl Simulated {
    fn vocabulary(&self) -> &Arc<Vocabulary> {
        match self {
            Self::Codes(simulation) => simulation.vocabulary(),
            Self::Details(simulation) => simulation.vocabulary(),
        }
    }

    fn truth(&self) -> &Truth {
        match self {
            Self::Codes(simulation) => simulation.truth(),
            Self::Details(simulation) => simulation.truth(),
        }
    }

    fn titles(&self) -> BTreeMap<Code, String> {
        let title = |code| match self {
            Self::Codes(simulation) => simulation.title(code),
            Self::Details(simulation) => simulation.title(code),
        };
        let codes = self.vocabulary().codes();
        codes.filter_map(|code| Some((code, title(code)?.to_owned()))).collect()
    }

    fn scales(&self) -> BTreeMap<Code, Scale> {
        match self {
            Self::Codes(_) => BTreeMap::new(),
            Self::Details(simulation) => simulation.scales(),
        }
    }

    fn own_rules(&self) -> Option<String> {
        match self {
            Self::Codes(_) => None,
            Self::Details(simulation) => Some(simulation.own_rules()),
        }
    }

    /// The next records from a number on.
    fn part(&self, start: usize) -> (Cohort, Option<CohortDetails>) {
        let patients = start..start.saturating_add(PART);
        match self {
            Self::Codes(simulation) => (simulation.part(patients), None),
            Self::Details(simulation) => {
                let (cohort, details) = simulation.part(patients);
                (cohort, Some(details))
            }
        }
    }
}

impl Report for SimulateReport {}

impl Display for SimulateReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let patients = count(self.figures.patients, "patient");
        if let Some(cohort) = &self.out {
            write!(out, "{cohort}: ")?;
        }
        writeln!(out, "{patients} simulated ({}, seed {})", self.preset, self.seed)?;
        self.figures.fmt(out)?;
        let rules = count(self.rules as u64, "rule");
        match &self.truth {
            Some(file) => writeln!(out, "  every record obeys the {rules} of {file}"),
            None => writeln!(out, "  every record obeys {rules}"),
        }
    }
}
