//! Networks train, the same whatever the threads and however often they are stopped.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use consequence_enforce::Enforcer;
use consequence_model::{KnownVisits, Network, NetworkSizes, RecurrentSizes, Sizes};
use consequence_network::TrainingPass;
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Kind, Record, Selection, Split, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_simulate::{Preset, Simulation};
use consequence_train::{
    Checkpoints, Event, Examples, NetworkKind, SilentUnits, Size, Teacher, TrainError, TrainMode,
    TrainOptions, Trained, train, untrained,
};

pub const SIZES: Sizes = Sizes {
    max_visits: 200,
    network: NetworkSizes::Recurrent(RecurrentSizes { head: 24, width: 16, bottleneck: 8 }),
};

/// Codes of encounters in a small world.
const CODES: u32 = 30;

pub struct World {
    cohort: Cohort,
    pub enforcer: Enforcer,
    parts: [Vec<usize>; 2],
}

impl World {
    pub fn new(patients: usize) -> Self {
        let simulation = Simulation::new(Preset::Inpatient, patients, 5);
        let cohort = simulation.cohort();
        let rules = Arc::clone(&simulation.truth().rules);
        let options = CompileOptions { max_visits: 200, ..CompileOptions::default() };
        let enforcer = Enforcer::new(&compile(rules, &options).unwrap());
        let splits = Split::of_records(&cohort);
        let parts = [Split::Train, Split::Tuning].map(|split| split.indices(&splits));
        Self { cohort, enforcer, parts }
    }

    /// A world of few codes, where one of several has to be in every visit.
    pub fn small(patients: usize) -> Self {
        let statics = ["S0", "S1"].map(|name| (name.to_owned(), Kind::Static));
        let encounters = (0..CODES).map(|code| (format!("E{code}"), Kind::Encounter));
        let vocabulary = Vocabulary::new(statics.into_iter().chain(encounters)).unwrap();
        let text = "rule some: any of E1, E4, E9, E16  rule both: E2 => E3
                    rule seldom: S1 in static => E5 with probability 0.3";
        let rules = Arc::new(RuleSet::parse(text, Some(Arc::new(vocabulary))).unwrap());
        let draws = Draws::new(3);
        let mut cohort = Cohort::default();
        for patient in 0..patients {
            let mut draw = draws.visit(patient as u64, 0, 0, Purpose::Order);
            let mut at = 0;
            let mut below = |end: u64| {
                at += 1;
                ((u64::from(draw.word(at)) * end) >> 32) as u32
            };
            let mut visits = vec![vec![Code(below(2))]];
            for _ in 0..1 + below(5) {
                let mut codes = vec![2 + [1, 4, 9, 16][below(4) as usize]];
                codes.extend((0..below(4)).map(|_| 2 + below(u64::from(CODES))));
                if codes.contains(&4) {
                    codes.push(5);
                }
                visits.push(codes.into_iter().map(Code).collect());
            }
            cohort.push(&format!("p{patient}"), &Record::new(visits));
        }
        let options = CompileOptions { max_visits: 200, ..CompileOptions::default() };
        let enforcer = Enforcer::new(&compile(rules, &options).unwrap());
        let splits = Split::of_records(&cohort);
        let parts = [Split::Train, Split::Tuning].map(|split| split.indices(&splits));
        Self { cohort, enforcer, parts }
    }

    pub fn examples(&self) -> Examples<'_> {
        let [train, tuning] =
            self.parts.each_ref().map(|records| Selection::new(&self.cohort, records));
        Examples { train, tuning }
    }

    pub fn network(&self) -> Network {
        self.network_of(&SIZES)
    }

    pub fn network_of(&self, sizes: &Sizes) -> Network {
        let codes = self.enforcer.plan().order().clone();
        untrained(codes, sizes, &self.examples(), 1).unwrap()
    }

    fn fit(
        &self,
        mode: TrainMode,
        checkpoints: Option<&Checkpoints>,
        watch: &mut dyn FnMut(Event) -> bool,
    ) -> Result<Trained, TrainError> {
        let teacher = Teacher::new(mode, &self.enforcer);
        train(self.network(), &self.examples(), &teacher, &options(), checkpoints, watch)
    }
}

fn options() -> TrainOptions {
    TrainOptions { epochs: 2, batch: Some(40), rate: 1e-3, warm_up: 5, ..TrainOptions::default() }
}

fn checkpoints(folder: &Path) -> Checkpoints {
    let path = folder.join("checkpoint.safetensors");
    Checkpoints { path, every: Duration::ZERO, fingerprint: "one".into() }
}

#[test]
fn the_loss_falls_in_every_mode() {
    let world = World::new(200);
    for mode in [TrainMode::Off, TrainMode::Causal, TrainMode::Paper] {
        let trained = world.fit(mode, None, &mut |_| true).unwrap();
        let [first, second] = trained.history[..] else { panic!("two epochs") };
        assert!(second.train_nats < first.train_nats, "{mode}: {first:?} {second:?}");
    }
}

#[test]
fn rules_take_what_they_settle_out_of_the_loss() {
    let world = World::new(200);
    let nats = |mode| world.fit(mode, None, &mut |_| true).unwrap().history[0].tuning_nats;
    let (off, causal, paper) =
        (nats(TrainMode::Off), nats(TrainMode::Causal), nats(TrainMode::Paper));
    assert!(causal < off && paper < off, "off {off}, causal {causal}, paper {paper}");
}

/// By how much a network expects codes too often or too seldom, where each was seen 20 times at least:
/// the largest share of what was seen.
fn miscounted(network: &Network, train: Selection<'_>) -> f64 {
    let mut batch = network.batch();
    let codes = network.codes();
    let mut counts = vec![[0.0f64; 2]; codes.len()];
    let mut ranges = Vec::new();
    for record in train.records() {
        network.push(&mut batch, record, &KnownVisits::default());
        for visit in 0..record.len() {
            ranges.push(codes.range(visit));
            codes.positions(record, visit).iter().for_each(|&at| counts[at as usize][1] += 1.0);
        }
    }
    let logits = TrainingPass::default().logits(network.weights(), &batch);
    for (range, logits) in ranges.into_iter().zip(logits) {
        for (at, logit) in range.zip(logits) {
            counts[at as usize][0] += 1.0 / (1.0 + f64::from(-logit).exp());
        }
    }
    let common = counts.iter().filter(|[_, seen]| *seen >= 20.0);
    common.map(|[expected, seen]| (expected - seen).abs() / seen).fold(0.0, f64::max)
}

#[test]
fn codes_are_expected_as_often_as_they_were_seen() {
    let world = World::new(400);
    let teacher = Teacher::new(TrainMode::Off, &world.enforcer);
    let fast = TrainOptions { epochs: 4, rate: 6e-3, ..options() };
    let trained = train(world.network(), &world.examples(), &teacher, &fast, None, &mut |_| true);
    let found = miscounted(&trained.unwrap().network, world.examples().train);
    assert!(found < 0.1, "{found}");
}

#[test]
fn threads_make_no_difference() {
    let world = World::new(120);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| world.fit(TrainMode::Causal, None, &mut |_| true).unwrap())
    };
    let expected = on(1);
    for threads in [2, 7] {
        let got = on(threads);
        assert_eq!(got.network.weights().values(), expected.network.weights().values());
        assert_eq!(got.history, expected.history);
    }
}

#[test]
fn a_run_that_is_stopped_again_and_again_ends_as_one_that_is_not() {
    let world = World::new(120);
    let expected = world.fit(TrainMode::Causal, None, &mut |_| true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kept = checkpoints(folder.path());
    let mut stops = 0;
    let got = loop {
        let mut steps = 0;
        let trained = world
            .fit(TrainMode::Causal, Some(&kept), &mut |event| {
                steps += usize::from(matches!(event, Event::Step { .. }));
                steps < 3
            })
            .unwrap();
        if !trained.interrupted {
            break trained;
        }
        stops += 1;
    };
    assert!(stops > 2, "{stops}");
    assert_eq!(got.network.weights().values(), expected.network.weights().values());
    assert_eq!(got.history, expected.history);
}

#[test]
fn bad_checkpoints_are_refused() {
    let world = World::new(60);
    let folder = tempfile::tempdir().unwrap();
    let kept = checkpoints(folder.path());
    let first_step = &mut |event: Event| !matches!(event, Event::Step { .. });
    assert!(world.fit(TrainMode::Off, Some(&kept), first_step).unwrap().interrupted);
    let other = Checkpoints { fingerprint: "two".into(), ..kept.clone() };
    let refused = |kept: &Checkpoints| {
        world.fit(TrainMode::Off, Some(kept), &mut |_| true).unwrap_err().to_string()
    };
    assert!(refused(&other).contains("other records, rules or settings"));
    let bytes = std::fs::read(&kept.path).unwrap();
    std::fs::write(&kept.path, &bytes[..bytes.len() - 5]).unwrap();
    assert!(refused(&kept).contains("cannot go on from the checkpoint"));
    std::fs::write(&kept.path, b"rubbish").unwrap();
    assert!(refused(&kept).contains("cannot go on from the checkpoint"));
}

#[test]
fn the_units_of_halo_go_on_firing() {
    let world = World::new(400);
    let preset = consequence_train::Preset::new(NetworkKind::Halo, Size::Tiny).unwrap();
    let sizes = Sizes { network: preset.sizes(), ..SIZES };
    let options = TrainOptions { epochs: 4, batch: Some(64), ..preset.options() };
    let mut begun = None;
    let network = world.network_of(&sizes);
    let trained = train(network, &world.examples(), &Teacher::Off, &options, None, &mut |event| {
        if let Event::Begin { silent_units, .. } = event {
            begun = silent_units;
        }
        true
    })
    .unwrap();
    let SilentUnits { before, after } = trained.silent_units.unwrap();
    assert_eq!(begun, Some(before));
    assert!(before == 0.0 && after < 0.02, "before {before}, after {after}");
}

#[test]
fn a_network_without_such_units_has_no_silent_ones() {
    let trained = World::new(60).fit(TrainMode::Off, None, &mut |_| true).unwrap();
    assert_eq!(trained.silent_units, None);
}

#[test]
fn too_little_and_too_long_are_refused() {
    let world = World::new(60);
    let examples = Examples { tuning: Selection::new(&world.cohort, &[]), ..world.examples() };
    let teacher = Teacher::Off;
    let refused = |network: Network, examples: &Examples<'_>| {
        train(network, examples, &teacher, &options(), None, &mut |_| true).unwrap_err()
    };
    assert!(matches!(refused(world.network(), &examples), TrainError::NoRecords("tuning")));
    let codes = world.network().codes().clone();
    let short = Network::drawn(codes, &Sizes { max_visits: 1, ..SIZES }, 1).unwrap();
    let found = refused(short, &world.examples());
    assert!(matches!(found, TrainError::TooLong { room: 1, .. }), "{found}");
}
