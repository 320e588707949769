//! Where records were drawn, and what each part of the work took.

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What draws records: the last bits of their probabilities depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnBy {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU.
    Gpu {
        /// What GPUs of its kind are called.
        name: String,
        /// How it multiplies.
        precision: String,
    },
}

impl DrawnBy {
    /// What to ask for so that records are drawn by it; settings stand in braces.
    pub fn asked(&self) -> String {
        match self {
            Self::Cpu => "give {device=cpu}".into(),
            Self::Gpu { name, precision } => {
                format!(
                    "on a machine with such a GPU ({name}) give {{device=cuda:0}} and {{precision={precision}}}"
                )
            }
        }
    }
}

impl Display for DrawnBy {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => out.write_str("the CPU"),
            Self::Gpu { name, precision } => write!(out, "a GPU ({name}, {precision} precision)"),
        }
    }
}

/// Seconds of each part of the work. They overlap: records are judged and written while others are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phases {
    /// Until GPUs were open and had the network; 0 where the CPU draws.
    pub opening: f64,
    /// Of drawing codes: of the GPU that took longest, less what it waited for those that judge. Where the CPU draws, judging
    /// is in it.
    pub drawing: f64,
    /// Of giving records their dates and values and of judging them; none where the CPU draws.
    pub judging: Option<f64>,
    /// Of encoding records and writing files, or of handing records on; of all threads together.
    pub writing: f64,
}

/// Where records were drawn, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Drawing {
    /// What drew them.
    pub drawn_by: DrawnBy,
    /// Records that GPUs draw at once, all of them together; none where the CPU draws.
    pub slots: Option<usize>,
    /// Records that a GPU had no room for, so that the CPU drew them.
    pub left_by_gpu: u64,
    /// What each part took.
    #[serde(rename = "seconds")]
    pub phases: Phases,
}

/// A clock that adds up what several threads took.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicU64);

impl Clock {
    /// Adds what someone took.
    pub fn add(&self, taken: Duration) {
        self.0.fetch_add(taken.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn seconds(&self) -> f64 {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// What parts of the work took so far.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    pub drawing: Clock,
    pub judging: Clock,
    pub writing: Clock,
}
