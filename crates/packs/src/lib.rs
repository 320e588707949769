//! Rules from expert tables: sex and age edits, chronic conditions, plausible genders.
//!
//! | table | reader | rules |
//! |---|---|---|
//! | CMS Medicare Code Editor, ICD-9 and ICD-10 | [`mce`] | diagnoses and procedures of one sex, diagnoses of some ages |
//! | OHDSI Data Quality Dashboard, concept level | [`dqd`] | OMOP concepts of one sex |
//! | phecode maps 1.2, ICD-9 and ICD-10 | [`phecode`] | codes or phecodes of one sex |
//! | HCUP chronic condition indicators, ICD-9 and ICD-10 | [`cci`] | soft rules: what is chronic stays |
//!
//! A reader takes a file's name and its bytes, plain or gzip, and gives an [`ExpertTable`];
//! [`ExpertTable::pack`] makes a [`Pack`] of rules, for all codes or for those of a vocabulary, for
//! single codes or for categories; [`Pack::text`] is a rule file.
//!
//! ```
//! use consequence_packs::{Level, PackLimits, PackOptions, cci};
//!
//! let text = "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n\
//!             '4010',\"MALIGNANT HYPERTENSION\",'1'\n'4019',\"HYPERTENSION NOS\",'1'\n";
//! let table = cci::read("cci.csv", text.as_bytes(), &PackLimits::default())?;
//! let options = PackOptions { level: Level::Categories, ..PackOptions::default() };
//! assert_eq!(
//!     table.pack(&options)?.rules[0].statement,
//!     "rule chronic-ICD9CM//401: ICD9CM//401 in previous => ICD9CM//401 with probability 0.9"
//! );
//! # Ok::<(), consequence_packs::PackError>(())
//! ```
#![forbid(unsafe_code)]

mod bands;
pub mod cci;
mod codes;
pub mod dqd;
mod error;
mod expert;
pub mod mce;
mod options;
mod pack;
pub mod phecode;
mod source;
mod system;
mod table;

pub use codes::CodeList;
pub use error::PackError;
pub use expert::{Entry, ExpertTable, Limit};
pub use options::{Level, PackOptions};
pub use pack::{Pack, PackRule};
pub use source::PackLimits;
pub use system::System;
