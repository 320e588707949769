//! What libraries say to whoever runs them: how far work has come, and what to do about an error.
//!
//! - [`Watch`]: told of progress, and asked whether to stop.
//! - [`Advice`]: what to do about an error, worded by whoever shows it.
#![forbid(unsafe_code)]

mod advice;
mod watch;

pub use advice::{Advice, Advise, Setting};
pub use watch::{Unwatched, Watch, watched};
