//! From the tree of a report or a review to a page.

mod axis;
mod bars;
mod histograms;
mod lines;
mod markup;
mod number;
mod page;
mod plot;
mod records;
mod review;
mod rules;
mod scatter;
mod shell;
mod table;

use crate::tree::{Report, Review};

impl Report {
    /// The report as one page of HTML, complete in itself: it opens from a file, fetches nothing,
    /// and can be read and printed without its script.
    pub fn html(&self) -> String {
        page::page(self)
    }
}

impl Review {
    /// The review as one page of HTML, complete in itself: it opens from a file and fetches nothing.
    /// Choosing and saving need its script.
    pub fn html(&self) -> String {
        review::page(self)
    }
}
