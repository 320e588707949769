//! Long calls: on a thread of their own, so that Ctrl-C is heard, and on as many threads as were asked for.
//!
//! The thread that called waits without the interpreter's lock, looks for signals a few times a second and
//! tells how far the work has come. After Ctrl-C the work is asked to stop. Training ends with a
//! checkpoint; other work is unwound from its next step. Where it does not come to one in time, or Ctrl-C
//! comes once more, it is left to itself: it ends at its next step, and what it made is thrown away. Files
//! are put in place whole or not at all, so nothing is left half written.
//!
//! Threads do not survive a fork, so a pool belongs to the process that made it: a child of
//! `multiprocessing` makes its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use consequence::{Error, Watch};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors;
use crate::watch::Watching;

/// How often signals are looked for.
const EVERY: Duration = Duration::from_millis(50);
/// How long work may take to its next step once it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a call is to be made; from an object of `conseq._call`.
#[derive(FromPyObject)]
pub struct Call {
    threads: Option<usize>,
    watcher: Py<PyAny>,
}

type Outcome<T> = Result<Result<T, Error>, Box<dyn Any + Send>>;

impl Call {
    /// Does long work without the interpreter's lock.
    pub fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Watch) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        self.begin(py, work)?.finish(py)
    }

    /// Begins long work, to be waited for.
    pub fn begin<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Watch) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<Waiting<T>> {
        let failed = |error: Error| errors::raised(py, &error);
        let pool = self.pool().map_err(failed)?;
        let watching = Arc::new(Watching::default());
        let (sender, receiver) = channel();
        let watch = Arc::clone(&watching);
        let worker = thread::Builder::new().name("conseq".into()).spawn(move || {
            let work = AssertUnwindSafe(|| pool.install(|| work(&*watch)));
            // Nobody listens where the work was left to itself.
            let _ = sender.send(catch_unwind(work));
        });
        worker.map_err(|error| failed(Error::Threads { threads: 1, reason: error.to_string() }))?;
        Ok(Waiting { receiver, watching, watcher: self.watcher.clone_ref(py) })
    }

    /// The threads to work with: those that were asked for, or those that the process shares.
    fn pool(&self) -> Result<Arc<ThreadPool>, Error> {
        // Held only by who has the interpreter's lock, as whoever forks has: a child finds it free.
        static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
        if let Some(threads) = self.threads {
            return new_pool(threads);
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*shared {
            Some((owner, pool)) if *owner == process::id() => Ok(Arc::clone(pool)),
            _ => {
                let pool = new_pool(0)?;
                // The threads of a parent are not here to be told to end.
                std::mem::forget(shared.replace((process::id(), Arc::clone(&pool))));
                Ok(pool)
            }
        }
    }
}

/// Work that was begun.
pub struct Waiting<T> {
    receiver: Receiver<Outcome<T>>,
    watching: Arc<Watching>,
    watcher: Py<PyAny>,
}

impl<T: Send> Waiting<T> {
    /// Waits until the work is over.
    pub fn finish(self, py: Python<'_>) -> PyResult<T> {
        let Self { mut receiver, watching, watcher } = self;
        let mut asked: Option<Instant> = None;
        let outcome = loop {
            let got;
            (receiver, got) = patiently(py, receiver);
            let told = watching.tell(watcher.bind(py));
            match got {
                Ok(outcome) => {
                    told?;
                    break outcome;
                }
                Err(RecvTimeoutError::Disconnected) => break Err(Box::new("the work was lost")),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // An exception of whoever is told stops the work as a signal does.
            if let Err(signal) = told.and_then(|()| py.check_signals()) {
                watching.stop();
                if asked.is_some() || !signal.is_instance_of::<PyKeyboardInterrupt>(py) {
                    return Err(signal);
                }
                asked = Some(Instant::now());
            }
            if asked.is_some_and(|asked| asked.elapsed() > PATIENCE) && !watching.ends_in_order() {
                return Err(PyKeyboardInterrupt::new_err(()));
            }
        };
        match outcome {
            Ok(outcome) if !watching.is_stopping() => {
                outcome.map_err(|error| errors::raised(py, &error))
            }
            // A checkpoint was left, or a report of work that was nearly over is thrown away.
            Ok(Err(error @ Error::Interrupted { .. })) => Err(errors::raised(py, &error)),
            Ok(_) => Err(PyKeyboardInterrupt::new_err(())),
            Err(_) if watching.is_stopping() => Err(PyKeyboardInterrupt::new_err(())),
            Err(panic) => Err(errors::defect(py, &*panic)),
        }
    }

    /// Waits for the next thing that the work hands on; none where it hands on no more.
    pub fn next<M: Send>(
        &self,
        py: Python<'_>,
        mut handed: Receiver<M>,
    ) -> PyResult<Option<(M, Receiver<M>)>> {
        loop {
            let got;
            (handed, got) = patiently(py, handed);
            self.watching.tell(self.watcher.bind(py))?;
            match got {
                Ok(next) => return Ok(Some((next, handed))),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals().inspect_err(|_| self.stop())?;
                }
            }
        }
    }

    /// Asks the work to stop.
    pub fn stop(&self) {
        self.watching.stop();
    }
}

/// Waits a little, without the interpreter's lock.
fn patiently<M: Send>(
    py: Python<'_>,
    receiver: Receiver<M>,
) -> (Receiver<M>, Result<M, RecvTimeoutError>) {
    py.detach(move || {
        let got = receiver.recv_timeout(EVERY);
        (receiver, got)
    })
}

fn new_pool(threads: usize) -> Result<Arc<ThreadPool>, Error> {
    let named = |index| format!("conseq-{index}");
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build();
    built.map(Arc::new).map_err(|error| Error::Threads { threads, reason: error.to_string() })
}
