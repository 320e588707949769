//! A network that learns, watched.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use consequence_model::{Epoch, Learnt};
use consequence_train::{Checkpoints, Event, Examples, Teacher, train, unlearnt};

use super::NetworkTask;
use super::lesson::Lesson;
use crate::Error;
use crate::watch::Watch;

/// What a run took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// Seconds, validation and checkpoints included.
    pub seconds: f64,
    /// Records seen, each as often as it was.
    pub records: u64,
}

/// What was learnt, every epoch, and what the run took.
pub(super) type Outcome = (Learnt, Vec<Epoch>, Option<Run>);

/// Has a network learn; `checkpoint` is the file, how often it is written, and what the run depends on.
pub(super) fn network(
    lesson: &Lesson,
    task: &NetworkTask,
    checkpoint: (PathBuf, Duration, String),
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let examples =
        Examples { cohort: &lesson.cohort, train: &lesson.train, tuning: &lesson.tuning };
    let sizes = task.sizes.with_visits(lesson.max_visits);
    let fresh = unlearnt(lesson.codes.clone(), &sizes, &examples, task.options.seed)?;
    let teacher = match &lesson.enforcer {
        Some(enforcer) => Teacher::new(lesson.mode, enforcer),
        None => Teacher::Off,
    };
    let (path, every, fingerprint) = checkpoint;
    let checkpoints = Checkpoints { path, every, fingerprint };
    let began = Instant::now();
    let mut meter = Meter { watch, epochs: task.options.epochs, seen: None, records: 0 };
    let trained =
        train(fresh, &examples, &teacher, &task.options, Some(&checkpoints), &mut |event| {
            meter.tell(event);
            !watch.wants_stop()
        });
    watch.finish();
    let trained = trained?;
    if trained.interrupted {
        let epochs_done = trained.history.len();
        return Err(Error::Interrupted { epochs_done, checkpoint: checkpoints.path });
    }
    let run = Run { seconds: began.elapsed().as_secs_f64(), records: meter.records };
    Ok((Learnt::Network(Box::new(trained.network)), trained.history, Some(run)))
}

/// Tells how far a network has come.
struct Meter<'a> {
    watch: &'a dyn Watch,
    epochs: u32,
    /// The epoch at hand and its records that were told of.
    seen: Option<(u32, u64)>,
    records: u64,
}

impl Meter<'_> {
    fn tell(&mut self, event: Event) {
        let Event::Step { epoch, records, of, nats } = event else { return };
        let before = match self.seen {
            Some((last, before)) if last == epoch => before,
            Some(_) => 0,
            None => {
                // A run that was taken up has less before it.
                let left = u64::from(self.epochs.saturating_sub(epoch)) * of + of - records;
                self.watch.begin("learning", Some(left));
                records
            }
        };
        let more = records.saturating_sub(before);
        self.watch.advance(more);
        self.records += more;
        self.seen = Some((epoch, records));
        let state = format!("epoch {epoch} of {}, {nats:.2} nats a record", self.epochs);
        self.watch.describe(&state);
    }
}
