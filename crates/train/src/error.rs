//! Why training stopped.

use std::path::PathBuf;

use consequence_engine::cuda::GpuError;
use consequence_feedback::{Advice, Advise};
use consequence_store::StoreError;
use thiserror::Error;

/// Why training stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// Nothing to train on, or nothing to validate with.
    #[error("the {0} split has no records")]
    NoRecords(&'static str),
    /// A record is longer than the network.
    #[error("a record has {found} encounters; the network has room for {room}")]
    TooLong {
        /// Encounters of the longest record.
        found: usize,
        /// Encounters that the network has room for.
        room: usize,
    },
    /// The loss is no number any more.
    #[error("training diverged: the loss is not a number after step {step}")]
    NotANumber {
        /// The step.
        step: u64,
    },
    /// The loss is far above what it was at first.
    #[error(
        "training diverged: {nats:.1} nats a record in epoch {epoch}, and {untrained:.1} before \
         training"
    )]
    Diverged {
        /// The epoch.
        epoch: u32,
        /// Nats of a record in it.
        nats: f64,
        /// Nats of a record before training.
        untrained: f64,
    },
    /// Something that trains on the CPU alone was to train on a GPU.
    #[error("{0} trains on the CPU alone")]
    NotOnGpu(&'static str),
    /// A GPU cannot be used, or could not go on.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A checkpoint cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A checkpoint cannot be read.
    #[error("cannot go on from the checkpoint: {what}\n  --> {}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl Advise for TrainError {
    fn advice(&self) -> Option<Advice> {
        match self {
            Self::NoRecords(_) => Some(Advice::new(
                "a cohort needs records of the train split to train on and of the tuning split to \
                 know when to stop",
            )),
            Self::TooLong { found, .. } => Some(Advice::new(format!(
                "give {{max_visits={found}}}, or import the cohort with a smaller {{max_visits}}"
            ))),
            Self::NotANumber { .. } | Self::Diverged { .. } => {
                Some(Advice::new("try a lower {rate}, half of it for a start"))
            }
            Self::NotOnGpu(_) => Some(Advice::new("leave {device} out, or give {device=cpu}")),
            Self::Gpu(error) => Some(Advice::new(match error {
                GpuError::OutOfMemory => {
                    "a smaller {batch}, such as {batch=1024}, takes less of it"
                }
                GpuError::NoLibrary(_) => {
                    "install CUDA's run-time libraries, or name their folder in LD_LIBRARY_PATH; on the CPU, {device=cpu}, it trains without"
                }
                _ => "train on the CPU: {device=cpu}",
            })),
            Self::Checkpoint { .. } => Some(Advice::new("delete it to begin anew")),
            Self::Store(error) => error.advice(),
        }
    }
}
