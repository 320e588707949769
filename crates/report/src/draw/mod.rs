//! From the tree of a report to a page.

mod axis;
mod bars;
mod histograms;
mod lines;
mod markup;
mod number;
mod page;
mod plot;
mod records;
mod rules;
mod scatter;
mod table;

use crate::tree::Report;

impl Report {
    /// The report as one page of HTML, complete in itself: it opens from a file, fetches nothing,
    /// and can be read and printed without its script.
    pub fn html(&self) -> String {
        page::page(self)
    }
}
