//! A network is trained, and watched.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use consequence_model::{Epoch, Trained};
use consequence_pipeline::words::count;
use consequence_pipeline::{Error, Watch};
use consequence_record::Selection;
use consequence_train::{Checkpoints, Event, Examples, Teacher, train, untrained};

use super::NetworkTask;
use super::lesson::Lesson;

/// What a run took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// Seconds, validation and checkpoints included.
    pub seconds: f64,
    /// Records seen, each as often as it was.
    pub records: u64,
}

/// What was trained, every epoch, and what the run took.
pub(super) type Outcome = (Trained, Vec<Epoch>, Option<Run>);

/// Trains a network; `checkpoint` is the file, how often it is written, and what the run depends on.
pub(super) fn network(
    lesson: &Lesson,
    task: &NetworkTask,
    checkpoint: (PathBuf, Duration, String),
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let examples = Examples {
        train: Selection::new(&lesson.cohort, &lesson.train),
        tuning: Selection::new(&lesson.cohort, &lesson.tuning),
    };
    let sizes = task.sizes.with_visits(lesson.max_visits);
    let fresh = untrained(lesson.codes.clone(), &sizes, &examples, task.options.seed)?;
    let teacher = match &lesson.enforcer {
        Some(enforcer) => Teacher::new(lesson.mode, enforcer),
        None => Teacher::Off,
    };
    let (path, every, fingerprint) = checkpoint;
    let checkpoints = Checkpoints { path, every, fingerprint };
    let began = Instant::now();
    let mut meter = Meter { watch, epochs: task.options.epochs, began: false, records: 0 };
    let trained =
        train(fresh, &examples, &teacher, &task.options, Some(&checkpoints), &mut |event| {
            meter.tell(event);
            !watch.wants_stop()
        });
    watch.finish();
    let trained = trained?;
    if trained.interrupted {
        let done = epochs(trained.history.len());
        let what = format!("stopped after {done}; nothing is lost");
        return Err(Error::Interrupted { what, path: checkpoints.path });
    }
    let run = Run { seconds: began.elapsed().as_secs_f64(), records: meter.records };
    Ok((Trained::Network(Box::new(trained.network)), trained.history, Some(run)))
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
    epochs: u32,
    /// Whether a step was told of.
    began: bool,
    records: u64,
}

impl Meter<'_> {
    fn tell(&mut self, event: Event) {
        match event {
            Event::Step { epoch, records, more, of, nats } => {
                if !self.began {
                    // A run that was taken up has less before it.
                    let done = records - more;
                    let left = u64::from(self.epochs.saturating_sub(epoch)) * of + of - done;
                    self.watch.begin("training", Some(left));
                    self.began = true;
                }
                self.watch.advance(more);
                self.records += more;
                let state = format!("epoch {epoch} of {}, {nats:.2} nats a record", self.epochs);
                self.watch.describe(&state);
            }
            Event::Epoch { figures: Epoch { epoch, tuning_nats, .. }, .. } => {
                let of = self.epochs;
                let stage = format!("epoch {epoch} of {of}: {tuning_nats:.3} nats a tuning record");
                self.watch.stage(&stage);
            }
            Event::Checkpoint => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use consequence_train::Event;

    use super::Meter;
    use consequence_pipeline::Watch;

    #[derive(Default)]
    struct Told {
        total: AtomicU64,
        steps: AtomicU64,
    }

    impl Watch for Told {
        fn begin(&self, _task: &str, total: Option<u64>) {
            self.total.store(total.unwrap_or(0), Ordering::Relaxed);
        }
        fn advance(&self, steps: u64) {
            self.steps.fetch_add(steps, Ordering::Relaxed);
        }
        fn finish(&self) {}
    }

    #[test]
    fn every_batch_of_this_run_counts() {
        let step = |epoch, records| Event::Step { epoch, records, more: 4, of: 12, nats: 1.0 };
        let whole = [1, 2].map(|epoch| [4, 8, 12].map(|records| step(epoch, records))).concat();
        // The second run is taken up after the first batch.
        for (events, expected) in [(&whole[..], 24), (&whole[1..], 20)] {
            let told = Told::default();
            let mut meter = Meter { watch: &told, epochs: 2, began: false, records: 0 };
            events.iter().for_each(|&event| meter.tell(event));
            let figures = [&told.total, &told.steps].map(|count| count.load(Ordering::Relaxed));
            assert_eq!((meter.records, figures), (expected, [expected; 2]));
        }
    }
}
