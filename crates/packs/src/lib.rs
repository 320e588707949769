//! Rules from expert tables: sex and age edits, chronic conditions, plausible genders.
//!
//! - [`ExpertTable::read_mce`]: the CMS Medicare Code Editor, ICD-9 and ICD-10. Diagnoses and
//!   procedures of one sex, diagnoses of some ages.
//! - [`ExpertTable::read_dqd`]: the OHDSI Data Quality Dashboard, concept level. OMOP concepts of
//!   one sex.
//! - [`ExpertTable::read_phecodes`]: phecode maps 1.2, ICD-9 and ICD-10. Codes or phecodes of one
//!   sex.
//! - [`ExpertTable::read_cci`]: HCUP chronic condition indicators, ICD-9 and ICD-10. Soft rules:
//!   what is chronic stays.
//! - [`ExpertTable::read_icd10`]: the tabular list of ICD-10-CM. Codes that exclude each other, codes
//!   that need another one first, codes of mothers and of newborns.
//!
//! Names for groups that other tools define, as `let`s of a rule file:
//!
//! - [`NamedGroups::read_aces`]: predicates of ACES task configurations.
//! - [`CohortDefinition`]: cohort definitions of OHDSI, with the tables [`Concepts`] and [`Ancestors`].
//!
//! A reader takes a file's name and its bytes, plain or gzip, and gives an [`ExpertTable`];
//! [`ExpertTable::pack`] makes a [`Pack`] of rules, for all codes or for those of a vocabulary, for
//! single codes or for categories; [`Pack::text`] is a rule file. With a vocabulary, rules speak as it
//! does ([`Dialect`]); with records, soft rules are as likely as those show.
//!
//! ```
//! use consequence_packs::{ExpertTable, Level, PackLimits, PackOptions};
//!
//! let text = "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n\
//!             '4010',\"MALIGNANT HYPERTENSION\",'1'\n'4019',\"HYPERTENSION NOS\",'1'\n";
//! let table = ExpertTable::read_cci("cci.csv", text.as_bytes(), &PackLimits::default())?;
//! let options = PackOptions { level: Some(Level::Categories), ..PackOptions::default() };
//! assert_eq!(
//!     table.pack(&options)?.rules[0].statement,
//!     "rule chronic-ICD9CM//401: ICD9CM//401 in previous => ICD9CM//401 with probability 0.9"
//! );
//! # Ok::<(), consequence_packs::PackError>(())
//! ```
#![forbid(unsafe_code)]

mod aces;
mod ancestors;
mod circe;
mod codes;
mod concepts;
mod criteria;
mod dialect;
mod error;
mod expert;
mod maker;
mod names;
mod notes;
mod observed;
mod pack;
mod part;
mod recognize;
mod regex;
mod spans;
mod stream;
mod table;
mod tabular;
mod xml;
mod yaml;

pub use ancestors::Ancestors;
pub use circe::CohortDefinition;
pub use codes::{CodeList, System};
pub use concepts::Concepts;
pub use dialect::Dialect;
pub use error::PackError;
pub use expert::{Entry, ExpertTable, Limit, Over};
pub use names::{NamedGroup, NamedGroups, Unsaid};
pub use pack::{Level, Pack, PackOptions, PackRule};
pub use recognize::TableKind;
pub use table::PackLimits;
