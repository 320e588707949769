//! How far work has come: kept by the threads that work, told to Python by the one that waits.
//!
//! Threads that work never touch Python. What happens is put in a list, and the thread that waits for the
//! work hands it on a few times a second.
//!
//! Work is stopped where it tells of a step. Training asks whether to stop, and ends in order with a
//! checkpoint. Everything else is unwound from its next step: locks are released and temporary files
//! removed as on any way out, and nothing is put in place.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use consequence::Watch;
use pyo3::prelude::*;

/// What happened, in order.
enum Event {
    Begin(String, Option<u64>),
    Describe(String),
    Stage(String),
    Note(String),
    Finish,
}

/// What unwinds work that is stopped.
struct Stopped;

/// Someone who watches for Python.
#[derive(Default)]
pub struct Watching {
    position: AtomicU64,
    stop: AtomicBool,
    /// Whether the stage at hand asks by itself whether to stop.
    asks: AtomicBool,
    events: Mutex<Vec<Event>>,
}

impl Watching {
    /// Asks the work to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the stage at hand ends by itself soon after it was asked to stop.
    pub fn ends_in_order(&self) -> bool {
        self.asks.load(Ordering::Relaxed)
    }

    /// Tells Python what happened since it was last told.
    pub fn tell(&self, watcher: &Bound<'_, PyAny>) -> PyResult<()> {
        for event in
            std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
        {
            match event {
                Event::Begin(task, total) => watcher.call_method1("begin", (task, total))?,
                Event::Describe(text) => watcher.call_method1("describe", (text,))?,
                Event::Stage(text) => watcher.call_method1("stage", (text,))?,
                Event::Note(text) => watcher.call_method1("note", (text,))?,
                Event::Finish => watcher.call_method0("finish")?,
            };
        }
        watcher.call_method1("move_to", (self.position.load(Ordering::Relaxed),))?;
        Ok(())
    }

    fn push(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    fn unwind_if_stopped(&self) {
        if self.is_stopping() && !self.ends_in_order() {
            resume_unwind(Box::new(Stopped));
        }
    }
}

impl Watch for Watching {
    fn begin(&self, task: &str, total: Option<u64>) {
        self.asks.store(false, Ordering::Relaxed);
        self.unwind_if_stopped();
        self.position.store(0, Ordering::Relaxed);
        self.push(Event::Begin(task.to_owned(), total));
    }

    fn advance(&self, steps: u64) {
        self.position.fetch_add(steps, Ordering::Relaxed);
        self.unwind_if_stopped();
    }

    fn finish(&self) {
        self.push(Event::Finish);
    }

    fn describe(&self, state: &str) {
        self.push(Event::Describe(state.to_owned()));
    }

    fn stage(&self, text: &str) {
        self.push(Event::Stage(text.to_owned()));
    }

    fn note(&self, text: &str) {
        self.push(Event::Note(text.to_owned()));
    }

    fn wants_stop(&self) -> bool {
        self.asks.store(true, Ordering::Relaxed);
        self.is_stopping()
    }
}
