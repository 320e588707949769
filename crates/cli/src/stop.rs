//! Ctrl-C and its like: work that can be taken up again ends in order.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::output;

/// Whether the work at hand looks at [`asked`].
static GENTLE: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);
/// What to say when the program ends at once.
static WORDS: Mutex<&str> = Mutex::new("");

/// Whether someone asked for an end.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Does work that ends by itself soon after [`asked`] says so; a second signal ends it at once.
pub fn gently<T>(work: impl FnOnce() -> T) -> T {
    saying("stopped at once; --resume goes on from the last checkpoint", true, work)
}

/// Does work that loses little when it ends at once, and says how to go on.
pub fn at_once<T>(words: &'static str, work: impl FnOnce() -> T) -> T {
    saying(words, false, work)
}

fn saying<T>(words: &'static str, gentle: bool, work: impl FnOnce() -> T) -> T {
    listen();
    let say = |words| *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
    say(words);
    GENTLE.store(gentle, Ordering::Relaxed);
    let outcome = work();
    GENTLE.store(false, Ordering::Relaxed);
    say("");
    outcome
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where no handler can be set, a signal ends the program as it always does.
        let _ = ctrlc::set_handler(heard);
    });
}

fn heard() {
    if GENTLE.load(Ordering::Relaxed) && !ASKED.swap(true, Ordering::Relaxed) {
        output::message("\nstopping after this step; once more to stop at once\n");
        return;
    }
    let words = *WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    output::message(&format!("\n{words}\n"));
    process::exit(2);
}
