//! Work that is made ready on other threads while what came before it is under way.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pieces that each thread may be ahead.
const AHEAD: usize = 2;

/// What is made ready, in order.
pub(crate) struct Ready<'a, T> {
    line: &'a Line<T>,
    count: usize,
}

struct Line<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    made: BTreeMap<usize, T>,
    /// The next to be begun, and the next to be taken.
    begun: usize,
    taken: usize,
    /// Whether nobody asks for more, or a thread has failed.
    over: bool,
}

impl<T> Line<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<T>>,
        goes_on: impl Fn(&mut State<T>) -> bool,
    ) -> MutexGuard<'a, State<T>> {
        self.changed
            .wait_while(state, |state| goes_on(state))
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets all threads end, however this one does.
struct Ends<'a, T>(&'a Line<T>);

impl<T> Drop for Ends<'_, T> {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_all();
    }
}

/// Makes so many pieces on other threads, each with tools of its own, while `work` takes them in order.
pub(crate) fn ahead<S, T: Send, R>(
    (threads, count): (usize, usize),
    tools: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize) -> T + Sync,
    work: impl FnOnce(&mut Ready<'_, T>) -> R,
) -> R {
    let threads = threads.clamp(1, count.max(1));
    let state = State { made: BTreeMap::new(), begun: 0, taken: 0, over: false };
    let line = Line { state: Mutex::new(state), changed: Condvar::new() };
    let (line, tools, make) = (&line, &tools, &make);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                let mut tools = tools();
                loop {
                    let full = |state: &mut State<T>| {
                        !state.over
                            && state.begun < count
                            && state.begun >= state.taken + AHEAD * threads
                    };
                    let mut state = line.wait(line.lock(), full);
                    if state.over || state.begun >= count {
                        break;
                    }
                    let number = state.begun;
                    state.begun += 1;
                    drop(state);
                    // Only if this panics.
                    let ends = Ends(line);
                    let made = make(&mut tools, number);
                    std::mem::forget(ends);
                    line.lock().made.insert(number, made);
                    line.changed.notify_all();
                }
            });
        }
        let _ends = Ends(line);
        work(&mut Ready { line, count })
    })
}

impl<T> Iterator for Ready<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let count = self.count;
        let waits = |state: &mut State<T>| {
            !state.over && state.taken < count && !state.made.contains_key(&state.taken)
        };
        let mut state = self.line.wait(self.line.lock(), waits);
        let number = state.taken;
        let made = state.made.remove(&number)?;
        state.taken += 1;
        drop(state);
        self.line.changed.notify_all();
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::ahead;

    #[test]
    fn all_come_in_order_and_some_may_be_left() {
        for (threads, count, taken) in [(1, 0, 3), (1, 7, 99), (5, 100, 1_000), (3, 100, 11)] {
            let found: Vec<usize> = ahead(
                (threads, count),
                || 0,
                |made, number| {
                    *made += 1;
                    number * 2
                },
                |ready| ready.take(taken).collect(),
            );
            assert!(found.iter().enumerate().all(|(at, &found)| found == 2 * at));
            assert_eq!(found.len(), count.min(taken));
        }
    }

    #[test]
    #[should_panic = "scoped thread panicked"]
    fn who_panics_keeps_nobody_waiting() {
        let make = |(): &mut (), number: usize| assert!(number < 5);
        ahead((2, 10), || (), make, |ready| ready.count());
    }
}
