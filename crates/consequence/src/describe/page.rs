//! What a cohort looks like, as a page.

use consequence_evaluate::Spread;
use consequence_pipeline::pages::{program, today};
use consequence_pipeline::words::{count, number};
use consequence_report::{
    Bar, BarPanel, Bars, Block, Caution, CautionKind, Cell, Column, Count, Head, Histogram,
    Histograms, Measure, Report, Row, Section, Source, Table,
};

use super::{CodeFigures, DescribeReport};

/// Bins of a histogram at most.
const BINS: usize = 30;
/// Bars of a plot at most.
const BARS: usize = 15;

impl DescribeReport {
    /// The page.
    pub(super) fn page(&self) -> Report {
        let described = &self.described;
        let split = self.split.map_or_else(String::new, |split| format!(", {split} split"));
        let dates = match (&self.first_date, &self.last_date) {
            (Some(first), Some(last)) => format!("Encounters began from {first} to {last}."),
            _ => "There are no dates: only the order of encounters is known.".to_owned(),
        };
        let mut cautions = Vec::new();
        if self.hide_below > 0 {
            let least = count(self.hide_below, "patient");
            let text =
                format!("What fewer than {least} have is not told, and counts below that are 0.");
            cautions.push(Caution { kind: CautionKind::Limit, text });
        }
        let source = Source {
            role: "cohort".to_owned(),
            name: self.cohort.clone(),
            counts: vec![
                Count::new(described.patients, "patients"),
                Count::new(described.encounters, "encounters"),
                Count::new(described.events, "codes"),
                Count::new(described.values, "values"),
            ],
            sha256: String::new(),
        };
        let mut sections = vec![self.lengths(), self.people(), self.codes()];
        if !described.tests.is_empty() {
            sections.push(self.tests());
        }
        sections.push(self.odd());
        Report {
            head: Head {
                title: format!("A look at {}{split}", self.cohort),
                compared: format!(
                    "{}, {}, {} seen in them.",
                    count(described.patients, "patient"),
                    count(described.encounters, "encounter"),
                    count(described.codes_seen, "code"),
                ),
                when: today(),
                program: program(),
                sources: vec![source],
                ..Head::default()
            },
            summary: vec![dates],
            cautions,
            sections,
            ..Report::default()
        }
    }

    fn lengths(&self) -> Section {
        let columns = ["", "count", "mean", "sd", "least", "25%", "median", "75%", "most"];
        let rows = self.described.lengths.named().into_iter().filter(|(_, one)| one.count > 0);
        let rows = rows.map(|(name, one)| Row::new([vec![text(name)], spread(one)].concat()));
        let table = Table {
            title: "Lengths and ages".to_owned(),
            columns: columns.map(Column::new).to_vec(),
            rows: rows.collect(),
            ..Table::default()
        };
        let plots = self.described.lengths.named().into_iter().filter(|(_, one)| one.count > 0);
        let years = &self.described.years;
        let mut panels: Vec<Histogram> =
            plots.filter_map(|(name, one)| histogram(name, &one.counts)).collect();
        let by_year: Vec<(f64, u64)> =
            years.iter().map(|one| (one.year as f64, one.encounters)).collect();
        panels.extend(histogram("year of encounters", &by_year));
        let plots = Histograms {
            title: "How they are spread".to_owned(),
            note: "The share of all that are counted. All that is long is in the last bar."
                .to_owned(),
            panels,
        };
        let blocks = vec![Block::Table(table), Block::Histograms(plots)];
        Section::new("lengths", "Lengths, gaps and ages", blocks)
    }

    fn people(&self) -> Section {
        let table = self.code_table("Static codes", &self.statics);
        let families = self.described.families.iter().map(|family| {
            let counts = [family.codes, family.codes_seen, family.patients];
            let counts = counts.map(whole).to_vec();
            let patients = percent(family.patients, self.described.patients);
            let rest = vec![patients, whole(family.visits), whole(family.events)];
            Row::new([vec![text(&family.name)], counts, rest].concat())
        });
        let columns = ["", "codes", "seen", "patients", "% of all", "visits", "times"];
        let families = Table {
            title: "Families of codes".to_owned(),
            note: "Codes by what their names begin with; times: each code once a visit.".to_owned(),
            columns: columns.map(Column::new).to_vec(),
            rows: families.collect(),
        };
        Section::new("people", "Who they are", vec![Block::Table(table), Block::Table(families)])
    }

    fn codes(&self) -> Section {
        let bar = |one: &CodeFigures| Bar {
            label: one.title.clone().unwrap_or_else(|| one.code.clone()),
            value: Some(Measure::once(
                100.0 * one.patients as f64 / self.described.patients.max(1) as f64,
            )),
            ..Bar::default()
        };
        let panel = BarPanel {
            title: "patients with it, in percent".to_owned(),
            digits: 1,
            bars: self.commonest.iter().take(BARS).map(bar).collect(),
            ..BarPanel::default()
        };
        let mut blocks = vec![Block::Table(self.code_table("Commonest codes", &self.commonest))];
        if !panel.bars.is_empty() {
            let title = "The commonest of them".to_owned();
            blocks.insert(0, Block::Bars(Bars { title, note: String::new(), panels: vec![panel] }));
        }
        let mut section = Section::new("codes", "Codes", blocks);
        section.lead = format!(
            "{} of encounters are seen, besides those that tell time or a part of a test's values; \
             {} shown.",
            count(self.commonest_of, "code"),
            number(self.commonest.len() as u64)
        );
        section
    }

    fn code_table(&self, title: &str, codes: &[CodeFigures]) -> Table {
        let row = |one: &CodeFigures| {
            let patients = percent(one.patients, self.described.patients);
            let counts = vec![whole(one.patients), patients, whole(one.visits)];
            let title = text(one.title.as_deref().unwrap_or_default());
            Row::new([vec![text(&one.code), title], counts].concat())
        };
        Table {
            title: title.to_owned(),
            columns: ["code", "title", "patients", "% of all", "visits"].map(Column::new).to_vec(),
            rows: codes.iter().map(row).collect(),
            ..Table::default()
        }
    }

    fn tests(&self) -> Section {
        // What no test has needs no column: there are many of them already.
        let titled = self.test_titles.iter().any(Option::is_some);
        let in_units = self.described.tests.iter().any(|test| test.unit.is_some());
        let wanted = [true, titled, in_units];
        let names = ["test", "title", "unit"].into_iter().zip(wanted).filter(|(_, wanted)| *wanted);
        let figures =
            ["patients", "values", "mean", "sd", "least", "25%", "median", "75%", "most", "far"];
        let columns = names.map(|(name, _)| name).chain(figures).map(Column::new);
        let rows = self.described.tests.iter().zip(&self.test_titles).map(|(test, title)| {
            let names = [Some(&test.test), title.as_ref(), test.unit.as_ref()]
                .map(|name| text(name.map_or("", String::as_str)));
            let names = names.into_iter().zip(wanted).filter(|(_, wanted)| *wanted);
            let names = names.map(|(name, _)| name).collect();
            let cells = [names, vec![whole(test.patients)], spread(&test.values)];
            Row::new([cells.concat(), vec![whole(test.far_out)]].concat())
        });
        let table = Table {
            title: "Values of tests".to_owned(),
            note: "Far: further from the quartiles than three times what those are apart."
                .to_owned(),
            columns: columns.collect(),
            rows: rows.collect(),
        };
        let mut section = Section::new("values", "Values", vec![Block::Table(table)]);
        let shown = number(self.described.tests.len() as u64);
        section.lead = format!("{} with values; {shown} shown.", count(self.tests_of, "test"));
        section
    }

    fn odd(&self) -> Section {
        let seen = self.described.odd.seen();
        let rows = seen.iter().map(|(what, oddity)| {
            let (part, all) = (percent(oddity.count, oddity.of), whole(oddity.of));
            Row::new(vec![text(what), whole(oddity.count), part, all])
        });
        let table = Table {
            title: "Seen".to_owned(),
            note: "Worth a look, and not always wrong.".to_owned(),
            columns: ["", "count", "%", "of"].map(Column::new).to_vec(),
            rows: rows.collect(),
        };
        let block = match seen.is_empty() {
            true => Block::Text("Nothing odd was seen.".to_owned()),
            false => Block::Table(table),
        };
        Section::new("odd", "What is odd", vec![block])
    }
}

fn text(text: impl Into<String>) -> Cell {
    Cell::text(text)
}

fn whole(count: u64) -> Cell {
    Cell::number(count as f64, 0)
}

/// A figure with three significant digits, or four of one that has them before the point.
fn short(value: f64) -> Cell {
    let digits = match value.fract() == 0.0 {
        true => 0.0,
        false => (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0),
    };
    Cell::number(value, digits as u8)
}

fn percent(part: u64, whole: u64) -> Cell {
    Cell::number(100.0 * part as f64 / whole.max(1) as f64, 1)
}

/// The count and the figures of a spread.
fn spread(spread: &Spread) -> Vec<Cell> {
    let [low, median, high] = spread.quartiles.map_or([None; 3], |all| all.map(Some));
    let told = [spread.mean, spread.deviation, spread.least, low, median, high, spread.most];
    let told = told.map(|value| value.map_or_else(|| Cell::missing("not told"), short));
    [vec![whole(spread.count)], told.to_vec()].concat()
}

/// Whole numbers in bins of equal width; what all but one in two hundred are below fills all bins but
/// the last. None where there is nothing to see.
fn histogram(axis: &str, counts: &[(f64, u64)]) -> Option<Histogram> {
    let total: u64 = counts.iter().map(|one| one.1).sum();
    let (first, last) = (counts.first()?.0 as i64, counts.last()?.0 as i64);
    let mut beyond = total / 200;
    let mut far = last;
    for &(value, times) in counts.iter().rev() {
        far = value as i64;
        if times > beyond {
            break;
        }
        beyond -= times;
    }
    let width = ((far - first + 1).max(1) as usize).div_ceil(BINS).max(1) as i64;
    let bins = ((far - first) / width + 1) as usize;
    let mut shares = vec![0.0; bins];
    for &(value, times) in counts {
        let bin = ((value as i64 - first) / width).clamp(0, bins as i64 - 1);
        shares[bin as usize] += times as f64 / total as f64;
    }
    let name = |bin: usize| {
        let from = first + bin as i64 * width;
        match (bin + 1 == bins && last >= from + width, width) {
            (true, _) => format!("{from}+"),
            (false, 1) => from.to_string(),
            (false, _) => format!("{from}-{}", from + width - 1),
        }
    };
    Some(Histogram {
        title: axis.to_owned(),
        axis: axis.to_owned(),
        bins: (0..bins).map(name).collect(),
        real: shares,
        synthetic: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_all_and_the_last_what_is_long() {
        let plot = histogram("days", &[(0.0, 500), (1.0, 300), (40.0, 198), (4000.0, 2)]).unwrap();
        assert!((plot.real.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(plot.bins.first().map(String::as_str), Some("0-1"));
        assert_eq!(plot.bins.last().map(String::as_str), Some("40+"));
        assert_eq!(histogram("days", &[]), None);
        let one = histogram("days", &[(3.0, 1)]).unwrap();
        assert_eq!((one.bins, one.real), (vec!["3".to_owned()], vec![1.0]));
    }
}
