//! Who is told how far a long task has come.

/// Someone who watches a pipeline at work, and may ask it to stop. Told from several threads at once.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use consequence::audit::{AuditOptions, audit};
/// use consequence::{Inputs, Watch};
///
/// /// Counts steps; an audit takes one for each record.
/// #[derive(Default)]
/// struct Counter(AtomicU64);
///
/// impl Watch for Counter {
///     fn begin(&self, _task: &str, _total: Option<u64>) {}
///     fn advance(&self, steps: u64) {
///         self.0.fetch_add(steps, Ordering::Relaxed);
///     }
///     fn finish(&self) {}
/// }
///
/// let folder = tempfile::tempdir()?;
/// let (rules, cohort) = (folder.path().join("a.rules"), folder.path().join("a.jsonl"));
/// std::fs::write(&rules, "rule a: A => A")?;
/// let line = |id| format!("{{\"id\": {id}, \"static\": [], \"visits\": [[\"A\"]]}}\n");
/// std::fs::write(&cohort, (0..30).map(line).collect::<String>())?;
/// let inputs = Inputs { rules: vec![rules], cohort: Some(cohort), ..Inputs::default() };
/// let counter = Counter::default();
/// audit(&inputs, &AuditOptions::default(), &counter)?;
/// assert_eq!(counter.0.load(Ordering::Relaxed), 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Watch: Sync {
    /// A task begins, of so many steps where they can be counted.
    fn begin(&self, task: &str, total: Option<u64>);

    /// So many more steps are done.
    fn advance(&self, steps: u64);

    /// The task is over.
    fn finish(&self);

    /// Where the task at hand stands, in a few words that take the place of those before.
    fn describe(&self, _state: &str) {}

    /// A stage of the task at hand is over, in a line.
    fn stage(&self, _text: &str) {}

    /// Something to know before the task is over.
    fn note(&self, _text: &str) {}

    /// Whether the task should come to an end as soon as nothing is lost by it. Only training asks.
    fn wants_stop(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _task: &str, _total: Option<u64>) {}
    fn advance(&self, _steps: u64) {}
    fn finish(&self) {}
}

/// Runs a task between its beginning and its end.
pub(crate) fn watched<T>(
    watch: &dyn Watch,
    task: &str,
    total: Option<u64>,
    work: impl FnOnce() -> T,
) -> T {
    watch.begin(task, total);
    let outcome = work();
    watch.finish();
    outcome
}
