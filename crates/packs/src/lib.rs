//! Rules from expert tables: sex and age edits, chronic conditions, plausible genders.
#![forbid(unsafe_code)]
