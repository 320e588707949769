//! Where records were drawn.

use std::fmt::{self, Display, Formatter};

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
