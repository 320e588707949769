//! Files to try things on: a simulated hospital to find rules in, and a small clinic with rules
//! written by hand and records that break them.

mod clinic;
mod hospital;

pub use clinic::{CLINIC_RULES, Clinic};
pub use hospital::Hospital;
