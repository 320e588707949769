//! Rules found in data, with the evidence for each.
#![forbid(unsafe_code)]
