//! Built-in cohorts: simulated patients with rules planted among them.
#![forbid(unsafe_code)]
