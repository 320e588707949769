//! Networks train on a GPU as on the CPU. Says `SKIPPED` where there is none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use consequence_engine::cuda::{Gpu, GpuError, Precision};
use consequence_model::{HaloSizes, Network, NetworkSizes, Sizes};
use consequence_record::{Code, Cohort, Kind, Record, Selection, Vocabulary};
use consequence_rules::{Order, RuleSet};
use consequence_train::{
    Checkpoints, Device, DeviceChoice, Event, Teacher, TrainError, TrainMode, TrainOptions,
    Trained, settle, train, train_on,
};

use crate::training::{SIZES, World};

/// A GPU, or none where there is none to test on.
fn gpu(precision: Precision) -> Option<Device> {
    match Gpu::open(0, precision) {
        Ok(gpu) => Some(Device::Gpu(Box::new(gpu))),
        Err(error @ GpuError::Failed(_)) => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn options() -> TrainOptions {
    TrainOptions { epochs: 3, batch: Some(64), rate: 3e-3, warm_up: 5, ..TrainOptions::default() }
}

/// A HALO network, of which training leaves out some units.
const HALO: Sizes = Sizes {
    max_visits: 200,
    network: NetworkSizes::Halo(HaloSizes { width: 16, layers: 2, heads: 2, head_units: 2 }),
};

fn fit(
    world: &World,
    network: Network,
    (device, mode): (Device, TrainMode),
    checkpoints: Option<&Checkpoints>,
    watch: &mut dyn FnMut(Event) -> bool,
) -> Result<Trained, TrainError> {
    let teacher = Teacher::new(mode, &world.enforcer);
    train_on(device, network, &world.examples(), &teacher, &options(), checkpoints, watch)
}

fn checkpoints(folder: &Path) -> Checkpoints {
    let path = folder.join("checkpoint.safetensors");
    Checkpoints { path, every: Duration::ZERO, fingerprint: "one".into() }
}

fn comes_to_the_same(world: &World, sizes: &Sizes, mode: TrainMode, precision: Precision) {
    let Some(device) = gpu(precision) else { return };
    let teacher = Teacher::new(mode, &world.enforcer);
    let (network, examples) = (world.network_of(sizes), world.examples());
    let fresh = network.clone();
    let cpu = train(fresh, &examples, &teacher, &options(), None, &mut |_| true).unwrap();
    let found = fit(world, network, (device, mode), None, &mut |_| true).unwrap();
    for (found, right) in found.history.iter().zip(&cpu.history) {
        eprintln!("{precision:?} {mode}: {found:?}, on the CPU {right:?}");
        let near = |found: f64, right: f64| (found / right - 1.0).abs() < 5e-3;
        assert!(near(found.tuning_nats, right.tuning_nats));
        assert!(near(found.train_nats, right.train_nats));
    }
    let silent = |one: &Trained| one.silent_units.map_or(-1.0, |silent| silent.before);
    let (found_silent, right) = (silent(&found), silent(&cpu));
    assert!((found_silent - right).abs() < 0.02, "{found_silent} silent, not {right}");
    let [found, right] = [&found, &cpu].map(|one| one.network.weights().output_bias());
    for (position, (found, right)) in found.iter().zip(right).enumerate() {
        assert!((found - right).abs() < 0.2, "bias {position}: {found}, not {right}");
    }
}

#[test]
fn it_comes_to_what_the_cpu_comes_to() {
    for precision in [Precision::Full, Precision::Fast] {
        let world = World::new(200);
        for mode in [TrainMode::Off, TrainMode::Causal, TrainMode::Paper] {
            comes_to_the_same(&world, &SIZES, mode, precision);
        }
    }
}

#[test]
fn halo_comes_to_what_it_comes_to_on_the_cpu() {
    let world = World::small(200);
    for precision in [Precision::Full, Precision::Fast] {
        comes_to_the_same(&world, &HALO, TrainMode::Causal, precision);
    }
}

fn ends_as_if_not_stopped(world: &World, sizes: &Sizes) {
    let run = |checkpoints: Option<&Checkpoints>, steps: usize| {
        let on = (gpu(Precision::Fast)?, TrainMode::Causal);
        let mut left = steps;
        Some(fit(world, world.network_of(sizes), on, checkpoints, &mut |event| {
            left -= usize::from(matches!(event, Event::Step { .. }));
            left > 0
        }))
    };
    let Some(whole) = run(None, usize::MAX) else { return };
    let whole = whole.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = checkpoints(folder.path());
    let again = loop {
        let trained = run(Some(&checkpoints), 7).unwrap().unwrap();
        if !trained.interrupted {
            break trained;
        }
    };
    assert_eq!(again.history, whole.history);
    assert!(again.network.weights().values() == whole.network.weights().values());
}

#[test]
fn a_run_that_is_stopped_ends_as_one_that_is_not() {
    ends_as_if_not_stopped(&World::new(120), &SIZES);
}

#[test]
fn halo_that_is_stopped_ends_as_one_that_is_not() {
    ends_as_if_not_stopped(&World::small(200), &HALO);
}

#[test]
fn a_run_goes_on_upon_another_device() {
    let world = World::new(120);
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = checkpoints(folder.path());
    let mut on_gpu = true;
    let trained = loop {
        let gpu = gpu(Precision::Full);
        if gpu.is_none() {
            return;
        }
        let device = if on_gpu { gpu } else { Some(Device::Cpu) };
        on_gpu = !on_gpu;
        let mut left = 9;
        let on = (device.unwrap(), TrainMode::Causal);
        let trained = fit(&world, world.network(), on, Some(&checkpoints), &mut |event| {
            left -= usize::from(matches!(event, Event::Step { .. }));
            left > 0
        })
        .unwrap();
        if !trained.interrupted {
            break trained;
        }
    };
    let whole = fit(&world, world.network(), (Device::Cpu, TrainMode::Causal), None, &mut |_| true)
        .unwrap();
    for (found, right) in trained.history.iter().zip(&whole.history) {
        assert!((found.tuning_nats / right.tuning_nats - 1.0).abs() < 1e-3, "{found:?} {right:?}");
    }
}

/// Whether this runs on the emulated GPU with such a variable; see `make gpu-test`.
fn emulated(variable: &str) -> bool {
    let is_set = std::env::var_os(variable).is_some();
    if !is_set {
        eprintln!("SKIPPED: {variable} is not set");
    }
    is_set
}

/// A launch amid the steps fails for want of memory, in the first of two runs: it goes on in pieces, to the same network but for
/// the last digits.
#[test]
fn out_of_memory_amid_steps() {
    if !emulated("EMULATED_FAILS") {
        return;
    }
    let world = World::new(400);
    let teacher = Teacher::new(TrainMode::Causal, &world.enforcer);
    let options = TrainOptions { batch: Some(300), ..options() };
    let run = || {
        let mut told = Vec::new();
        let device = gpu(Precision::Full).unwrap();
        let (network, examples) = (world.network_of(&SIZES), world.examples());
        let trained =
            train_on(device, network, &examples, &teacher, &options, None, &mut |event| {
                if let Event::LessMemory { pieces_of } = event {
                    told.push(pieces_of);
                }
                true
            });
        (trained.unwrap(), told)
    };
    let (found, told) = run();
    assert_eq!(told.len(), 1, "it was told once: {told:?}");
    assert!((64..=150).contains(&told[0]), "half as many: {told:?}");
    let (whole, nothing) = run();
    assert!(nothing.is_empty());
    for (found, right) in found.history.iter().zip(&whole.history) {
        let near = |found: f64, right: f64| (found / right - 1.0).abs() < 1e-5;
        assert!(near(found.train_nats, right.train_nats), "{found:?}, not {right:?}");
        assert!(near(found.tuning_nats, right.tuning_nats), "{found:?}, not {right:?}");
    }
}

#[test]
fn frequencies_settle_on_a_gpu_as_on_the_cpu() {
    let Some(Device::Gpu(gpu)) = gpu(Precision::Full) else { return };
    let names = ["A", "B", "C"].map(|name| (name, Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(names).unwrap());
    let rules = RuleSet::empty(Arc::clone(&vocabulary));
    let mut cohort = Cohort::default();
    for number in 0..100_usize {
        let visit = (0..3).filter(|code| !number.is_multiple_of(2 + 3 * code));
        let visit = visit.map(|code| Code(code as u32)).collect();
        cohort.push(&number.to_string(), &Record::new(vec![vec![], visit]));
    }
    let sizes = Sizes::recurrent(3, 8);
    let fresh = Network::drawn(Order::natural(vocabulary), &sizes, 1).unwrap();
    let settled = |gpus: Vec<Gpu>| {
        let (mut network, mut rounds) = (fresh.clone(), 0);
        let mut go_on = || {
            rounds += 1;
            rounds < 3
        };
        settle(&mut network, &rules, None, Selection::all(&cohort), gpus, 1, &mut go_on).unwrap();
        network.weights().output_bias().to_vec()
    };
    let (here, there) = (settled(Vec::new()), settled(vec![*gpu]));
    for (code, (found, right)) in there.iter().zip(&here).enumerate() {
        assert!((found - right).abs() < 0.01, "bias {code}: {found}, not {right}");
    }
    assert!(here != fresh.weights().output_bias(), "something was moved");
}

/// Steps that are of few visits already are not worked through in pieces: that memory lacks is said.
#[test]
fn out_of_memory_in_small_steps() {
    if !emulated("EMULATED_FAILS") {
        return;
    }
    let world = World::new(120);
    let teacher = Teacher::new(TrainMode::Causal, &world.enforcer);
    let options = TrainOptions { batch: Some(64), ..options() };
    let (network, examples) = (world.network_of(&SIZES), world.examples());
    let device = gpu(Precision::Full).unwrap();
    let refused = train_on(device, network, &examples, &teacher, &options, None, &mut |_| true);
    assert!(matches!(refused, Err(TrainError::Gpu(GpuError::OutOfMemory))));
}

/// Three GPUs, of which the second cannot be used and the third is of another kind.
#[test]
fn gpus_that_are_left_out_are_named() {
    if !emulated("EMULATED_BUSY") {
        return;
    }
    let found = DeviceChoice::Auto.find_all(Precision::Full).unwrap();
    assert_eq!(found.gpus.len(), 1);
    let [busy, other] = &found.left_out[..] else { panic!("{:?}", found.left_out) };
    assert!(busy.starts_with("GPU 1 cannot be used: CUDA failed"), "{busy}");
    assert_eq!(other, "GPU 2 (another emulated GPU) is of another kind than the first");
}

#[test]
fn what_cannot_be_is_refused_or_trains_on_the_cpu() {
    let sizes = HaloSizes { width: 514, layers: 1, heads: 2, head_units: 1 };
    let sizes = NetworkSizes::Halo(sizes);
    let why = "HALO's network with heads of more than 256 numbers trains on the CPU alone";
    let refused = DeviceChoice::Cuda(0).find(Precision::Fast, &sizes, &Teacher::Off).unwrap_err();
    assert_eq!(refused.to_string(), why);
    let chosen = DeviceChoice::Auto.find(Precision::Fast, &sizes, &Teacher::Off).unwrap();
    assert!(matches!(chosen.device, Device::Cpu));
    assert_eq!(chosen.why, format!("the CPU: {why}"));
    for sizes in [SIZES, HALO] {
        let refused =
            DeviceChoice::Cuda(4_000).find(Precision::Fast, &sizes.network, &Teacher::Off);
        assert!(matches!(refused, Err(TrainError::Gpu(_))));
    }
    assert!(
        DeviceChoice::Cpu
            .find(Precision::Fast, &SIZES.network, &Teacher::Off)
            .unwrap()
            .why
            .contains("asked")
    );
}
