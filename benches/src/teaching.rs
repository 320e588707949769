//! What rules cost while a network trains.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use consequence_enforce::Enforcer;
use consequence_engine::cuda::{Gpu, Precision};
use consequence_mine::{MineOptions, mine};
use consequence_model::{Network, Sizes};
use consequence_network::gpu::{GpuBatch, Staging};
use consequence_network::{Objective, Scoring};
use consequence_record::{Cohort, CohortDetails, Selection, Split};
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_simulate::{Preset, Simulation};
use consequence_train::{Event, Examples, Teacher, TrainOptions, train, untrained};

use crate::timing::{Times, interleaved};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const SEED: u64 = 7;
/// Visits of a batch, as many as a large cohort is trained in.
const BATCH: usize = 4_096;
/// A cohort of full size: visits of its train split, and cores that teach beside a GPU.
const VISITS: f64 = 28.5e6;
const CORES: f64 = 16.0;

/// Records, and rules that they obey.
#[derive(Debug)]
pub struct Workload {
    name: &'static str,
    cohort: Cohort,
    details: CohortDetails,
    rules: usize,
    enforcer: Enforcer,
}

impl Workload {
    fn new(
        name: &'static str,
        (cohort, details): (Cohort, CohortDetails),
        rules: Arc<RuleSet>,
    ) -> Fallible<Self> {
        let max_visits = u16::try_from(cohort.longest())?;
        let count = rules.len();
        let plan = compile(rules, &CompileOptions { max_visits, ..CompileOptions::default() })?;
        Ok(Self { name, cohort, details, rules: count, enforcer: Enforcer::new(&plan) })
    }

    /// Outpatients with the rules of their simulation.
    pub fn simulated(patients: usize) -> Fallible<Self> {
        let simulation = Simulation::new(Preset::Outpatient, patients, SEED);
        let records = (simulation.cohort(), CohortDetails::default());
        let text = &simulation.truth().text;
        let rules = RuleSet::parse(text, Some(Arc::clone(simulation.vocabulary())))?;
        Self::new("of the simulation", records, Arc::new(rules))
    }

    /// The same with rules that are mined from their records.
    pub fn mined(patients: usize) -> Fallible<Self> {
        let simulation = Simulation::new(Preset::Outpatient, patients, SEED);
        let (cohort, vocabulary) = (simulation.cohort(), simulation.vocabulary());
        let splits = vec![Split::Train; cohort.len()];
        let mined = mine(&cohort, vocabulary, &splits, &MineOptions::default())?;
        let rules = RuleSet::parse(&mined.text(&|_| None), Some(Arc::clone(vocabulary)))?;
        Self::new("mined", (cohort, CohortDetails::default()), Arc::new(rules))
    }

    /// Outpatients with days and values, and all rules that they obey.
    pub fn with_days(patients: usize) -> Fallible<Self> {
        let simulation = Simulation::new(Preset::Outpatient, patients, SEED).detailed();
        let text = format!("{}\n{}", simulation.truth().text, simulation.own_rules());
        let rules = RuleSet::parse(&text, Some(Arc::clone(simulation.vocabulary())))?;
        Self::new("with days and values", simulation.cohort(), Arc::new(rules))
    }

    fn records(&self) -> Selection<'_> {
        let details = (self.details.len() == self.cohort.len()).then_some(&self.details);
        Selection::all(&self.cohort).detailed(details)
    }

    fn network(&self) -> Fallible<Network> {
        let plan = self.enforcer.plan();
        let network = consequence_train::Preset::default().sizes();
        let sizes = Sizes { max_visits: plan.max_visits(), network };
        Ok(Network::drawn(plan.order().clone(), &sizes, 1)?)
    }
}

/// Scores all that an objective has beyond the likelihood of single codes, as if the network knew nothing.
fn score(objective: &dyn Objective, rows: usize) -> f64 {
    let Scoring::Beyond(beyond) = objective.scoring() else { return 0.0 };
    let (mut changes, mut nats) = (Vec::new(), 0.0);
    for row in 0..rows {
        let readings = beyond.readings(row);
        if !readings.is_empty() {
            changes.clear();
            changes.resize(readings.len(), 0.0);
            nats += beyond.score(row, &vec![-3.0; readings.len()], &mut changes);
        }
    }
    nats
}

/// Prints what it takes to teach a visit without rules and with them, and gives what rules add, in microseconds.
pub fn cost(workload: &Workload, repeats: usize) -> Fallible<f64> {
    let (network, records) = (workload.network()?, workload.records());
    let batches = records.chunks(records.len().div_ceil(visits(records).div_ceil(BATCH)).max(1));
    let teachers = [Teacher::Off, Teacher::Causal(&workload.enforcer)];
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut settled = 0;
    for record in records.records() {
        let found = teachers[1].settled(network.codes(), record);
        settled += found.iter().map(Vec::len).sum::<usize>();
    }
    let teach = |teacher: &Teacher<'_>, scores: bool| {
        for &some in &batches {
            let taught = teacher.batch(&network, some);
            if scores {
                black_box(score(taught.objective(), taught.batch.rows()));
            }
            black_box(taught);
        }
    };
    let [without, taught, scored] = alone.install(|| {
        interleaved(
            repeats,
            [&mut || teach(&teachers[0], false), &mut || teach(&teachers[1], false), &mut || {
                teach(&teachers[1], true)
            }],
        )
    });
    let count = visits(records);
    let each = |times: Times| times.per(count).median * 1e6;
    let added = each(scored.beyond(&without));
    println!(
        "{:<26}{:>7}{:>10.2}{:>10.2}{:>10.2}{added:>10.2}{:>10.1}",
        workload.name,
        workload.rules,
        each(without.times()),
        each(taught.times()),
        each(scored.times()),
        settled as f64 / count as f64,
    );
    if let Ok(gpu) = Gpu::open(0, Precision::Fast) {
        let staging = Staging::new(&gpu, network.weights().shape());
        let lay_out = |teacher: &Teacher<'_>| {
            for &some in &batches {
                let taught = teacher.batch(&network, some);
                black_box(GpuBatch::new(&taught.batch, taught.objective(), &staging).ok());
            }
        };
        let [without, with] = alone.install(|| {
            interleaved(repeats, [&mut || lay_out(&teachers[0]), &mut || lay_out(&teachers[1])])
        });
        println!(
            "  taught and laid out for {}: {:.2} without rules, {:.2} with them",
            gpu.name(),
            each(without.times()),
            each(with.times())
        );
    }
    Ok(added)
}

fn visits(records: Selection<'_>) -> usize {
    records.records().map(|record| record.len()).sum()
}

/// Prints what so many microseconds a visit come to for a cohort of full size.
pub fn extrapolate(added: f64) {
    let seconds = added * 1e-6 * VISITS / CORES;
    println!(
        "\nextrapolated: {:.1} million visits on {CORES} cores with the rules of the simulation: {seconds:.1} s an epoch",
        VISITS / 1e6
    );
}

/// Seconds of an epoch on the CPU, what was estimated before it, and the nats of a tuning record after it.
fn epoch(workload: &Workload, teacher: &Teacher<'_>) -> Fallible<(f64, f64, f64)> {
    let records = workload.records();
    let most = records.len() - records.len() / 10;
    let examples =
        Examples { train: records.part(0..most), tuning: records.part(most..records.len()) };
    let plan = workload.enforcer.plan();
    let network = consequence_train::Preset::default().sizes();
    let sizes = Sizes { max_visits: plan.max_visits(), network };
    let fresh = untrained(plan.order().clone(), &sizes, &examples, 1)?;
    let options = TrainOptions { epochs: 2, ..TrainOptions::default() };
    let mut told = (f64::NAN, f64::NAN, f64::NAN);
    let mut watch = |event: Event| match event {
        Event::Begin { estimate, .. } => {
            told.1 = estimate.epoch_seconds;
            true
        }
        Event::Epoch { figures, seconds, .. } => {
            (told.0, told.2) = (seconds, figures.tuning_nats);
            false
        }
        Event::Step { .. } | Event::LessMemory { .. } | Event::Checkpoint => true,
    };
    train(fresh, &examples, teacher, &options, None, &mut watch)?;
    Ok(told)
}

/// Prints what an epoch takes on the CPU without rules and with them, in turn.
pub fn epochs(workload: &Workload, repeats: usize) -> Fallible<()> {
    let teachers = [Teacher::Off, Teacher::Causal(&workload.enforcer)];
    let began = Instant::now();
    for _ in 0..repeats.max(1) {
        let mut seconds = [0.0; 2];
        for (teacher, seconds) in teachers.iter().zip(&mut seconds) {
            let (taken, estimate, nats) = epoch(workload, teacher)?;
            let name = if matches!(teacher, Teacher::Off) { "without" } else { "with rules" };
            println!(
                "  {name:<12}{taken:>7.2} s, estimated {estimate:.2} s; {nats:.9} nats a tuning record"
            );
            *seconds = taken;
        }
        println!("  ratio {:.3}", seconds[1] / seconds[0]);
    }
    println!("  {:.0} s in all", began.elapsed().as_secs_f64());
    Ok(())
}
