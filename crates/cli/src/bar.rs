//! A progress bar on stderr, for tasks that take a while.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use consequence::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{output, stop};

const EVERY: Duration = Duration::from_millis(120);

/// Shows the task at hand where stderr is a terminal; elsewhere a line for each stage of a long one.
#[derive(Debug, Default)]
pub struct Bar {
    current: Mutex<Option<ProgressBar>>,
}

impl Bar {
    fn replace(&self, bar: Option<ProgressBar>) {
        let before = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, bar)
        };
        if let Some(before) = before {
            before.finish_and_clear();
        }
    }
}

impl Watch for Bar {
    fn begin(&self, task: &str, total: Option<u64>) {
        let (bar, template) = match total {
            Some(total) => {
                (ProgressBar::new(total), "{msg} [{bar:30}] {human_pos} of {human_len}, {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        if output::is_quiet() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        output::log(task);
        bar.set_message(task.to_owned());
        bar.enable_steady_tick(EVERY);
        self.replace(Some(bar));
    }

    fn advance(&self, steps: u64) {
        if let Some(bar) = &*self.current.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.inc(steps);
        }
    }

    fn finish(&self) {
        self.replace(None);
    }

    fn describe(&self, state: &str) {
        if let Some(bar) = &*self.current.lock().unwrap_or_else(PoisonError::into_inner) {
            let template = "{msg} [{bar:30}] {per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(state.to_owned());
        }
    }

    fn stage(&self, text: &str) {
        match io::stderr().is_terminal() {
            true => output::log(text),
            false => output::say(&format!("{text}\n")),
        }
    }

    fn note(&self, text: &str) {
        // A warning is said even where little is.
        let say = || match text.starts_with("warning") {
            true => output::message(&format!("{text}\n")),
            false => output::say(&format!("{text}\n")),
        };
        match &*self.current.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    fn wants_stop(&self) -> bool {
        stop::asked()
    }
}
