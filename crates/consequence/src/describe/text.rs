//! What a cohort looks like, for people.

use std::fmt::{self, Display, Formatter};

use consequence_evaluate::Spread;
use consequence_pipeline::words::{count, number};

use super::{CodeFigures, DescribeReport};
use crate::look::{Grid, figure, share, shortened};

impl Display for DescribeReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let cohort = &self.described;
        let split = self.split.map_or_else(String::new, |split| format!(" ({split} split)"));
        writeln!(
            out,
            "{}{split}: {}, {}, {}",
            self.cohort,
            count(cohort.patients, "patient"),
            count(cohort.encounters, "encounter"),
            count(cohort.events, "code")
        )?;
        match (&self.first_date, &self.last_date) {
            (Some(first), Some(last)) => writeln!(
                out,
                "  encounters from {first} to {last}; births of {} known",
                count(cohort.births, "patient")
            )?,
            _ => writeln!(out, "  no dates: only the order of encounters is known")?,
        }
        let vocabulary = cohort.vocabulary + cohort.static_vocabulary;
        writeln!(
            out,
            "  vocabulary: {} and {} of encounters, {} of which are seen; {} of all have a title",
            count(cohort.static_vocabulary, "static code"),
            number(cohort.vocabulary),
            number(cohort.codes_seen),
            share(self.titled, vocabulary)
        )?;
        let splits = [cohort.splits.train, cohort.splits.tuning, cohort.splits.held_out];
        let [train, tuning, held_out] = splits.map(number);
        writeln!(out, "  splits: {train} train, {tuning} tuning, {held_out} held out")?;
        if self.hide_below > 0 {
            let least = self.hide_below;
            writeln!(out, "  what fewer than {} have is not told", count(least, "patient"))?;
        }
        self.write_lengths(out)?;
        self.write_codes(out, "static codes", &self.statics, self.statics.len() as u64)?;
        self.write_families(out)?;
        self.write_codes(out, "commonest codes", &self.commonest, self.commonest_of)?;
        self.write_tests(out)?;
        self.write_odd(out)?;
        match &self.html {
            Some(page) => writeln!(out, "\n{page}: the same as a page"),
            None => Ok(()),
        }
    }
}

/// The headings of spreads.
const SPREAD: [&str; 7] = ["mean", "sd", "least", "25%", "median", "75%", "most"];

fn spread(spread: &Spread) -> Vec<String> {
    let [low, median, high] = spread.quartiles.map_or([None; 3], |all| all.map(Some));
    [spread.mean, spread.deviation, spread.least, low, median, high, spread.most]
        .map(|value| value.map_or_else(|| "-".to_owned(), figure))
        .to_vec()
}

impl DescribeReport {
    fn write_lengths(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut grid = Grid::new(&[&["<lengths and ages", "count"], &SPREAD[..]].concat());
        for (name, one) in self.described.lengths.named() {
            if one.count > 0 {
                grid.row([vec![name.to_owned(), number(one.count)], spread(one)].concat());
            }
        }
        write!(out, "\n{grid}")
    }

    fn write_codes(
        &self,
        out: &mut Formatter<'_>,
        heading: &str,
        codes: &[CodeFigures],
        of: u64,
    ) -> fmt::Result {
        if codes.is_empty() {
            return Ok(());
        }
        let heading = format!("<{heading}");
        let mut grid = Grid::new(&[&heading, "patients", "", "visits", "<title"]);
        for one in codes {
            grid.row(vec![
                one.code.clone(),
                number(one.patients),
                share(one.patients, self.described.patients),
                number(one.visits),
                shortened(one.title.as_deref()),
            ]);
        }
        write!(out, "\n{grid}")?;
        match of - codes.len() as u64 {
            0 => Ok(()),
            more => writeln!(out, "  and {}", count(more, "more code")),
        }
    }

    fn write_families(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let families = &self.described.families;
        if families.is_empty() {
            return Ok(());
        }
        let mut grid =
            Grid::new(&["<families", "codes", "seen", "patients", "", "visits", "times"]);
        for family in families {
            grid.row(vec![
                family.name.clone(),
                number(family.codes),
                number(family.codes_seen),
                number(family.patients),
                share(family.patients, self.described.patients),
                number(family.visits),
                number(family.events),
            ]);
        }
        write!(out, "\n{grid}")
    }

    fn write_tests(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.described.tests.is_empty() {
            return Ok(());
        }
        let headings =
            [&["<values", "<unit", "patients", "count"], &SPREAD[..], &["far", "<title"]];
        let mut grid = Grid::new(&headings.concat());
        for (test, title) in self.described.tests.iter().zip(&self.test_titles) {
            let unit = test.unit.clone().unwrap_or_default();
            let first = [test.test.clone(), unit, number(test.patients), number(test.values.count)];
            let last = [number(test.far_out), shortened(title.as_deref())];
            grid.row([first.to_vec(), spread(&test.values), last.to_vec()].concat());
        }
        write!(out, "\n{grid}")?;
        match self.tests_of - self.described.tests.len() as u64 {
            0 => Ok(()),
            more => writeln!(out, "  and {}", count(more, "more test")),
        }
    }

    fn write_odd(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let seen = self.described.odd.seen();
        if seen.is_empty() {
            return writeln!(out, "\n  nothing odd was seen");
        }
        let mut grid = Grid::new(&["<what is odd", "count", "", "of"]);
        for (what, oddity) in seen {
            grid.row(vec![
                what,
                number(oddity.count),
                share(oddity.count, oddity.of),
                number(oddity.of),
            ]);
        }
        write!(out, "\n{grid}")
    }
}
