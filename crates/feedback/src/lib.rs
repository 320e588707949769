//! What libraries say to whoever runs them: how far work has come, and what to do about an error.
//!
//! - [`Watch`]: told of progress, and asked whether to stop.
//! - [`words`]: numbers and lists as a reader likes them.
//! - [`Advice`]: what to do about an error, worded by whoever shows it.
#![forbid(unsafe_code)]

mod advice;
mod watch;
pub mod words;

pub use advice::{Advice, Advise, Setting};
pub use watch::{Unwatched, Watch, watched};
