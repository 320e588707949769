//! What differs between two cohorts, for people.

use std::fmt::{self, Display, Formatter};

use consequence_evaluate::Spread;
use consequence_pipeline::words::{count, number};

use super::{DiffReport, OnlyCodes, Side};
use crate::look::{Grid, figure, share, shortened};

/// Names written of codes whose kind differs; the rest are counted.
const NAMED: usize = 5;

impl Display for DiffReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (a, b) = (&self.a, &self.b);
        if self.same {
            let patients = count(a.patients, "patient");
            return writeln!(
                out,
                "{} and {} are the same: {patients} with the same records, and the same codes",
                a.cohort, b.cohort
            );
        }
        writeln!(out, "a: {}\nb: {}\n", a.cohort, b.cohort)?;
        self.write_sizes(out)?;
        self.write_records(out)?;
        self.write_vocabulary(out)?;
        self.write_lengths(out)?;
        self.write_frequencies(out)?;
        self.write_tests(out)
    }
}

impl DiffReport {
    fn write_sizes(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut grid = Grid::new(&["<sizes", "a", "b", "b - a"]);
        for ((name, a), (_, b)) in counts(&self.a).into_iter().zip(counts(&self.b)) {
            grid.row(vec![name.to_owned(), number(a), number(b), difference(a, b)]);
        }
        let dates = [
            ("first encounter", &self.a.first_date, &self.b.first_date),
            ("last encounter", &self.a.last_date, &self.b.last_date),
        ];
        for (name, a, b) in dates {
            let [a, b] = [a, b].map(|date| date.clone().unwrap_or_else(|| "no date".to_owned()));
            grid.row(vec![name.to_owned(), a, b]);
        }
        write!(out, "{grid}")
    }

    fn write_records(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let records = &self.records;
        let patients = |many: u64| count(many, "patient");
        match records.same + records.changed {
            0 => writeln!(out, "\n  no patient is in both, by id"),
            both => writeln!(
                out,
                "\n  {} in both, {} of them with another record; {} in a alone, {} in b alone",
                patients(both),
                number(records.changed),
                number(records.only_a),
                number(records.only_b)
            ),
        }
    }

    fn write_vocabulary(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let found = &self.vocabulary;
        writeln!(
            out,
            "\n  {} in both vocabularies, {} in a alone, {} in b alone",
            count(found.in_both, "code"),
            number(found.only_a.count),
            number(found.only_b.count)
        )?;
        for (kind, codes) in
            [(found.other_title, "title"), (found.other_scale, "unit or cut point")]
        {
            if kind > 0 {
                writeln!(out, "  {} with another {codes}", count(kind, "code"))?;
            }
        }
        if !found.other_kind.is_empty() {
            let named: Vec<&str> =
                found.other_kind.iter().take(NAMED).map(String::as_str).collect();
            let all = count(found.other_kind.len() as u64, "code");
            writeln!(out, "  {all} static in one alone: {}", named.join(", "))?;
        }
        for (name, only, all) in
            [("a", &found.only_a, self.a.patients), ("b", &found.only_b, self.b.patients)]
        {
            write_only(out, name, only, all)?;
        }
        Ok(())
    }

    fn write_lengths(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let headings =
            ["<lengths and ages", "mean a", "mean b", "median a", "median b", "most a", "most b"];
        let mut grid = Grid::new(&headings);
        for one in &self.lengths {
            grid.row([vec![one.name.to_owned()], both(&one.a, &one.b)].concat());
        }
        write!(out, "\n{grid}")
    }

    fn write_frequencies(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.frequencies.is_empty() {
            return writeln!(out, "\n  every code of both has the same share of patients");
        }
        let mut grid = Grid::new(&["<shares of patients", "a", "b", "z", "<title"]);
        for one in &self.frequencies {
            grid.row(vec![
                one.code.clone(),
                share(one.a, self.a.patients),
                share(one.b, self.b.patients),
                format!("{:+.1}", one.z),
                shortened(one.title.as_deref()),
            ]);
        }
        write!(out, "\n{grid}")?;
        writeln!(
            out,
            "  of {} those that differ most for their number (z: standard errors)",
            count(self.frequencies_of, "code")
        )
    }

    fn write_tests(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.tests.is_empty() {
            return Ok(());
        }
        let headings = [
            "<values", "<unit", "count a", "count b", "mean a", "mean b", "median a", "median b",
            "most a", "most b", "<title",
        ];
        let mut grid = Grid::new(&headings);
        for test in &self.tests {
            let [a, b] = [&test.unit_a, &test.unit_b].map(|unit| unit.clone().unwrap_or_default());
            let unit = if a == b || test.b.count == 0 { a } else { format!("{a} | {b}") };
            let counts = [test.a.count, test.b.count].map(number).to_vec();
            let title = vec![shortened(test.title.as_deref())];
            grid.row(
                [vec![test.test.clone(), unit], counts, both(&test.a, &test.b), title].concat(),
            );
        }
        write!(out, "\n{grid}")?;
        match self.tests_of - self.tests.len() as u64 {
            0 => Ok(()),
            more => writeln!(out, "  and {}", count(more, "more test")),
        }
    }
}

fn write_only(out: &mut Formatter<'_>, name: &str, only: &OnlyCodes, all: u64) -> fmt::Result {
    if only.count == 0 {
        return Ok(());
    }
    let heading = format!("<in {name} alone");
    let mut grid = Grid::new(&[&heading, "patients", "", "<title"]);
    for one in &only.codes {
        let title = shortened(one.title.as_deref());
        grid.row(vec![one.code.clone(), number(one.patients), share(one.patients, all), title]);
    }
    write!(out, "\n{grid}")?;
    match only.count - only.codes.len() as u64 {
        0 => Ok(()),
        more => writeln!(out, "  and {}", count(more, "more code")),
    }
}

/// Mean, median and the largest number, of one and of the other.
fn both(a: &Spread, b: &Spread) -> Vec<String> {
    let told = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
    let pairs = [(a.mean, b.mean), (a.median(), b.median()), (a.most, b.most)];
    pairs.into_iter().flat_map(|(a, b)| [told(a), told(b)]).collect()
}

/// What is counted of a cohort, by name.
fn counts(side: &Side) -> [(&'static str, u64); 11] {
    [
        ("patients", side.patients),
        ("encounters", side.encounters),
        ("codes seen in encounters", side.events),
        ("values", side.values),
        ("births known", side.births),
        ("static codes", side.static_vocabulary),
        ("codes of encounters", side.codes),
        ("those that are seen", side.codes_seen),
        ("train", side.splits.train),
        ("tuning", side.splits.tuning),
        ("held out", side.splits.held_out),
    ]
}

fn difference(a: u64, b: u64) -> String {
    match b.cmp(&a) {
        std::cmp::Ordering::Less => format!("-{}", number(a - b)),
        std::cmp::Ordering::Equal => "=".to_owned(),
        std::cmp::Ordering::Greater => format!("+{}", number(b - a)),
    }
}
