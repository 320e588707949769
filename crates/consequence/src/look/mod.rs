//! What every look at a cohort stands on: records one after the other, titles of codes, records as people
//! read them, and text in columns.

mod grid;
mod reading;
mod source;
mod title_list;
mod titles;

pub(crate) use grid::{Grid, figure, share, shortened};
pub use reading::{ReadCode, ReadRecord, ReadVisit};
pub(crate) use reading::{Room, moment};
pub(crate) use source::{Lexicon, Seen, Source};
pub(crate) use title_list::TitleList;
pub use title_list::given_titles;
pub use titles::Titles;
