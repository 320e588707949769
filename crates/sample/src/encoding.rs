//! Data files that are encoded on threads of the pool while records go on being drawn and judged.
//!
//! A file depends on its records alone, so it does not matter which thread encodes it, nor which of several is in place first: each is
//! noted in the manifest before it is.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use consequence_record::{Cohort, CohortDetails};
use consequence_tables::meds::Shards;
use rayon::Scope;

use crate::SampleError;
use crate::drawing::Clock;
use crate::manifest::Manifest;

/// Data files that wait to be encoded or are, at most.
const MOST_WAITING: usize = 8;

/// The records of a data file.
pub(crate) struct Full {
    pub file: usize,
    pub cohort: Cohort,
    pub details: Option<CohortDetails>,
}

/// Encodes data files, and puts them in place.
pub(crate) struct Encoding<'a> {
    shards: &'a Shards,
    folder: &'a Path,
    clock: &'a Clock,
    manifest: Mutex<Manifest>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: usize,
    failed: Option<SampleError>,
}

impl<'a> Encoding<'a> {
    pub fn new(shards: &'a Shards, folder: &'a Path, manifest: Manifest, clock: &'a Clock) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { shards, folder, clock, manifest: Mutex::new(manifest), state, changed }
    }

    /// Has a data file encoded as soon as a thread is free for it. Waits while too many others are; gives what went wrong
    /// with one before.
    pub fn encode<'scope>(
        &'scope self,
        scope: &Scope<'scope>,
        full: Full,
    ) -> Result<(), SampleError> {
        let room = rayon::current_num_threads().min(MOST_WAITING);
        let mut state = locked(&self.state);
        while state.waiting >= room && state.failed.is_none() {
            state = match rayon::current_thread_index() {
                // A thread of the pool does what others are to do meanwhile, lest all of them wait.
                Some(_) => {
                    drop(state);
                    if rayon::yield_now() != Some(rayon::Yield::Executed) {
                        std::thread::yield_now();
                    }
                    locked(&self.state)
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        if let Some(failed) = state.failed.take() {
            return Err(failed);
        }
        state.waiting += 1;
        drop(state);
        scope.spawn(move |_| {
            let began = Instant::now();
            let written = self.write(&full);
            // The records are given up before the next are let in.
            drop(full);
            self.clock.add(began.elapsed());
            let mut state = locked(&self.state);
            state.waiting -= 1;
            if let Err(error) = written {
                state.failed.get_or_insert(error);
            }
            drop(state);
            self.changed.notify_all();
        });
        Ok(())
    }

    fn write(&self, full: &Full) -> Result<(), SampleError> {
        let Full { file, cohort, details } = full;
        let mut shard = self.shards.fill(*file, cohort, details.as_ref())?;
        let digest = shard.digest()?;
        // The digest is noted first, so that a file that is in place has one.
        let mut manifest = locked(&self.manifest);
        manifest.files.insert(Shards::name(*file), digest);
        manifest.write(self.folder)?;
        Ok(shard.commit()?)
    }

    /// The manifest, once all that was to be encoded is in place.
    pub fn finish(self) -> Result<Manifest, SampleError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.failed {
            Some(failed) => Err(failed),
            None => Ok(self.manifest.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
