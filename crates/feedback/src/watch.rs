//! Who is told how far a long task has come.

/// Someone who watches a pipeline at work, and may ask it to stop. Told from several threads at once.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use consequence_feedback::{Watch, watched};
///
/// /// Counts steps, and asks for an end after a hundred.
/// #[derive(Default)]
/// struct Counter(AtomicU64);
///
/// impl Watch for Counter {
///     fn begin(&self, _task: &str, _total: Option<u64>) {}
///     fn advance(&self, steps: u64) {
///         self.0.fetch_add(steps, Ordering::Relaxed);
///     }
///     fn finish(&self) {}
///     fn wants_stop(&self) -> bool {
///         self.0.load(Ordering::Relaxed) >= 100
///     }
/// }
///
/// let counter = Counter::default();
/// let steps = watched(&counter, "counting", None, || {
///     (0..).take_while(|_| !counter.wants_stop()).inspect(|_| counter.advance(1)).count()
/// });
/// assert_eq!(steps, 100);
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
pub fn watched<T>(
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
