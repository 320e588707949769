//! What an expert table says: limits on codes.

use std::fmt;

use crate::codes::CodeList;
use crate::system::System;

/// What an expert table says of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Only women have it.
    Female,
    /// Only men have it.
    Male,
    /// Only people of these ages have it, in years, both ends included.
    Ages {
        /// The youngest.
        from: u16,
        /// The oldest.
        to: u16,
    },
    /// It is chronic: it stays.
    Chronic,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Female => out.write_str("female only"),
            Self::Male => out.write_str("male only"),
            Self::Ages { from: 0, to: 0 } => out.write_str("newborn only"),
            Self::Ages { from, to } => write!(out, "age {from} to {to}"),
            Self::Chronic => out.write_str("chronic"),
        }
    }
}

/// One line of an expert table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The system of the code.
    pub system: System,
    /// The code, plain.
    pub code: String,
    /// Its title.
    pub title: String,
    /// What the table says of it.
    pub limit: Limit,
}

/// An expert table that was read.
#[derive(Clone, Debug)]
pub struct ExpertTable {
    pub(crate) file: String,
    /// What the table is, and its version.
    pub(crate) about: String,
    pub(crate) entries: Vec<Entry>,
    /// All codes of the table's system, if the table lists them.
    pub(crate) complete: Option<CodeList>,
}

impl ExpertTable {
    /// What the table is, with its version where it states one.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// What it says, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
