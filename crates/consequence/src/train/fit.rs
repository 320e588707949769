//! A network is trained, and watched.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use consequence_model::{Epoch, NetworkSizes, Trained};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Error, Watch, watched};
use consequence_train::{
    Checkpoints, Device, DeviceChoice, Estimate, Event, Examples, Precision, SilentUnits, Teacher,
    TrainMode, fit_ends, settle, train_on, untrained,
};

use super::NetworkTask;
use super::lesson::Lesson;
use super::report::EpochSeconds;

/// What a run took.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Seconds, validation and checkpoints included.
    pub seconds: f64,
    /// Records seen, each as often as it was.
    pub records: u64,
    /// Units of HALO's head that never fire.
    pub silent_units: Option<SilentUnits>,
    /// Epochs of this run, by their numbers.
    pub epochs: BTreeMap<u32, EpochSeconds>,
}

/// What was trained, every epoch, and what the run took.
pub(super) type Outcome = (Trained, Vec<Epoch>, Option<Run>);

/// Trains a network; `checkpoint` is the file, how often it is written, and what the run depends on.
pub(super) fn network(
    lesson: &Lesson,
    (task, device, precision): (&NetworkTask, DeviceChoice, Precision),
    checkpoint: (PathBuf, Duration, String),
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let examples =
        Examples { train: lesson.records(&lesson.train), tuning: lesson.records(&lesson.tuning) };
    let sizes = task.sizes_for(lesson.max_visits);
    let fresh = untrained(lesson.codes.clone(), &sizes, &examples, task.options.seed)?;
    let teacher = match &lesson.enforcer {
        Some(enforcer) => Teacher::new(lesson.mode, enforcer),
        None => Teacher::Off,
    };
    let chosen = device.find(precision, &task.sizes, &teacher)?;
    watch.note(&format!("training on {}", chosen.why));
    let (path, every, fingerprint) = checkpoint;
    let checkpoints = Checkpoints { path, every, fingerprint };
    let began = Instant::now();
    let mut meter = Meter { watch, records: 0, epochs: BTreeMap::new() };
    let mut tell = |event| {
        meter.tell(event);
        !watch.wants_stop()
    };
    let (on_gpu, kept) = (matches!(chosen.device, Device::Gpu(_)), Some(&checkpoints));
    let trained =
        train_on(chosen.device, fresh, &examples, &teacher, &task.options, kept, &mut tell);
    watch.finish();
    let trained = trained?;
    if let Some(SilentUnits { after, .. }) = trained.silent_units {
        watch.note(&told_silent(after, "after training"));
    }
    if trained.interrupted {
        let done = epochs(trained.history.len());
        let what = format!("stopped after {done}; nothing is lost");
        return Err(Error::Interrupted { what, path: checkpoints.path });
    }
    let mut network = trained.network;
    let recurrent = matches!(task.sizes, NetworkSizes::Recurrent(_));
    // The paper's networks stay as they are published.
    if recurrent && (lesson.mode == TrainMode::Causal || lesson.rules.is_empty()) {
        let days = lesson.details.gap_days();
        let ends = || fit_ends(&network, lesson.enforcer.as_ref(), &examples, &days);
        let ends = watched(watch, "fitting when records end", None, ends);
        network = network.with_ends(ends);
        let (rules, seed) = (&lesson.rules, task.options.seed);
        let mut go_on = || !watch.wants_stop();
        let settled = || {
            // Dates cost time, so they are drawn only for rules that ask for them.
            let details = lesson.known.as_ref().map(|_| &lesson.details);
            let gpus = on_gpu.then(|| device.find_again()).flatten().into_iter().collect();
            settle(&mut network, rules, details, examples.train, gpus, seed, &mut go_on)
        };
        if !watched(watch, "settling frequencies", None, settled)? {
            return Err(Error::halted(checkpoints.path));
        }
    }
    let (seconds, records) = (began.elapsed().as_secs_f64(), meter.records);
    let run = Run { seconds, records, silent_units: trained.silent_units, epochs: meter.epochs };
    Ok((Trained::Network(Box::new(network)), trained.history, Some(run)))
}

fn epochs(done: usize) -> String {
    match done {
        0 => "a part of the first epoch".into(),
        done => count(done as u64, "epoch"),
    }
}

/// Tells how far a network has come.
struct Meter<'a> {
    watch: &'a dyn Watch,
    records: u64,
    epochs: BTreeMap<u32, EpochSeconds>,
}

impl Meter<'_> {
    fn tell(&mut self, event: Event) {
        match event {
            Event::Begin { estimate, silent_units } => {
                self.watch.note(&told(&estimate));
                if let Some(share) = silent_units {
                    self.watch.note(&told_silent(share, "before training"));
                }
                // How many epochs there will be is not known before.
                self.watch.begin("training", None);
            }
            Event::Step { epoch, records, more, of, nats } => {
                self.watch.advance(more);
                self.records += more;
                let part = 100 * records / of.max(1);
                let state = format!("epoch {epoch}, {part}% of it, {nats:.2} nats a record");
                self.watch.describe(&state);
            }
            Event::Epoch {
                figures: Epoch { epoch, tuning_nats, .. },
                seconds,
                training_seconds,
                ..
            } => {
                self.epochs.insert(epoch, EpochSeconds { seconds, training_seconds });
                self.watch.stage(&format!("epoch {epoch}: {tuning_nats:.3} nats a tuning record"));
            }
            Event::LessMemory { pieces_of } => self.watch.note(&format!(
                "note: the GPU ran out of memory; steps are worked through by {} at a time from here on",
                count(pieces_of as u64, "visit")
            )),
            Event::Checkpoint => {}
        }
    }
}

/// What training will take, in a line, and what to do if it is too much.
fn told(estimate: &Estimate) -> String {
    let Estimate { parameters, bytes, epoch_seconds, batch, wanted_batch } = *estimate;
    let mut said = format!(
        "{}, about {} of memory, {} an epoch; often 5 to 15 epochs",
        count(parameters as u64, "parameter"),
        size(bytes),
        duration(epoch_seconds)
    );
    if batch < wanted_batch {
        said.push_str(&format!(
            "\nnote: the GPU has memory for {} a step, not for {}",
            count(batch as u64, "visit"),
            number(wanted_batch as u64)
        ));
    }
    if bytes > MUCH_MEMORY || epoch_seconds > LONG_EPOCH {
        said.push_str(
            "\n  = help: a smaller size of network takes less of both, and so do coarser codes",
        );
    }
    said
}

/// How many units of HALO's head never fire, in a line.
fn told_silent(share: f64, when: &str) -> String {
    format!("{:.1}% of the head's units never fire {when}", 100.0 * share)
}

/// Bytes that not every machine has, and seconds that not everyone waits for.
const MUCH_MEMORY: u64 = 8 << 30;
const LONG_EPOCH: f64 = 900.0;

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0..1_000 => format!("{} MB", (bytes >> 20).max(1)),
        megabytes => format!("{:.1} GB", megabytes as f64 / 1_024.0),
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..1.0 => "less than a second".into(),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use consequence_train::Estimate;

    use super::told;

    #[test]
    fn what_is_too_much_comes_with_advice() {
        let small = Estimate {
            parameters: 12_000,
            bytes: 3 << 20,
            batch: 64,
            wanted_batch: 64,
            epoch_seconds: 0.25,
        };
        let said = told(&small);
        assert!(said.contains("12,000 parameters, about 3 MB") && !said.contains("help"), "{said}");
        let less = told(&Estimate { wanted_batch: 2_048, ..small });
        assert!(
            less.ends_with("note: the GPU has memory for 64 visits a step, not for 2,048"),
            "{less}"
        );
        let said = told(&Estimate { bytes: 20 << 30, epoch_seconds: 9_000.0, ..small });
        assert!(said.contains("20.0 GB") && said.contains("2.5 hours"), "{said}");
        assert!(said.contains("= help"), "{said}");
    }
}
