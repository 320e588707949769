//! Dates, stays, ages and values, as a person reads them.

use std::fmt::{self, Display, Formatter};

use consequence_feedback::words::{count, number};

use super::{Distribution, Known, Misplaced, SharesOf, Sides, Summary, Timing};

/// Tests with a row of their own.
const TESTS: usize = 10;

/// Letters of a name that are shown.
const NAME: usize = 34;

impl Timing {
    /// Which cohorts have no dates, in words; none where all have.
    pub fn undated(&self) -> Option<&'static str> {
        match (self.dated.real, self.dated.synthetic) {
            (true, true) => None,
            (false, true) => Some("the real records have no dates"),
            (true, false) => Some("the synthetic records have no dates"),
            (false, false) => Some("neither the real nor the synthetic records have dates"),
        }
    }
}

impl Display for Timing {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(undated) = self.undated() {
            writeln!(out, "  {undated}: nothing can be said of days and weekdays")?;
        }
        let mut rows: Vec<(String, &Distribution)> =
            vec![("days between visits".into(), &self.days_between_visits)];
        rows.extend(self.days_after.iter().map(|one| (format!("  after {}", one.code), &one.days)));
        rows.push(("days from first to last visit".into(), &self.span));
        rows.push(("age at a visit, in years".into(), &self.age));
        rows.push(("days of a stay".into(), &self.stay));
        rows.extend(self.values.commonest.iter().take(TESTS).map(|test| {
            let unit = test.unit.as_ref().map(|unit| format!(", {unit}")).unwrap_or_default();
            (format!("{}{unit}", test.test), &test.values)
        }));
        rows.retain(|(_, row)| row.sides.real.count + row.sides.synthetic.count > 0);
        if !rows.is_empty() {
            let name = "median (quartiles)";
            let [real, synthetic, ks, other] = ["real", "synthetic", "KS", "other real"];
            writeln!(out, "  {name:NAME$} {real:>22} {synthetic:>22} {ks:>7} {other:>11}")?;
        }
        for (name, row) in &rows {
            let [real, synthetic] = [&row.sides.real, &row.sides.synthetic].map(Summary::to_string);
            let [ks, other] = [row.ks, row.other_ks].map(distance);
            let name = shortened(name);
            writeln!(out, "  {name:NAME$} {real:>22} {synthetic:>22} {ks:>7} {other:>11}")?;
        }
        let shares: [(&str, &SharesOf); 3] = [
            ("weekdays, total variation", &self.weekdays),
            ("months, total variation", &self.months),
            ("age bands, total variation", &self.age_bands),
        ];
        for (name, shares) in shares {
            if shares.total_variation.is_some() {
                let [ours, other] =
                    [shares.total_variation, shares.other_total_variation].map(distance);
                writeln!(out, "  {name:NAME$} {:>22} {:>22} {ours:>7} {other:>11}", "", "")?;
            }
        }
        let values = &self.values;
        if let (Some(median), Some(largest)) = (values.median_ks, values.largest_ks) {
            let tests = count(values.in_both, "test");
            writeln!(
                out,
                "  values of {tests}: KS {median:.4} in the middle, {largest:.4} at most"
            )?;
        }
        for (name, sides) in
            [("after death", &self.after_death), ("before birth", &self.before_birth)]
        {
            writeln!(out, "  {name}: {}", told(sides))?;
        }
        match &self.known {
            Some(known) => writeln!(
                out,
                "  values that a real patient has of the same code on the same date: {}{}",
                share(&known.synthetic),
                match &known.other {
                    Some(other) => format!("; of other real records {}", share(other)),
                    None => String::new(),
                }
            ),
            None => Ok(()),
        }
    }
}

fn shortened(name: &str) -> String {
    match name.chars().count() > NAME {
        true => name.chars().take(NAME - 3).chain("...".chars()).collect(),
        false => name.to_owned(),
    }
}

/// A figure with as many digits as help.
fn short(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 1.0 => {
            let text = format!("{figure:.1}");
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        0.0 => "0".to_owned(),
        _ => format!("{figure:.3}"),
    }
}

impl Display for Summary {
    /// The median and the quartiles beside it, or a dash where there are too few to tell.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.quartiles {
            Some(quartiles) => {
                let [low, median, high] = quartiles.map(short);
                write!(out, "{median} ({low} to {high})")
            }
            None => out.write_str("-"),
        }
    }
}

fn distance(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.4}"))
}

fn told(sides: &Sides<Misplaced>) -> String {
    let one = |found: &Misplaced| match found.events + found.visits {
        0 => "nothing".to_owned(),
        _ => format!(
            "{} and {} of {}",
            count(found.visits, "visit"),
            count(found.events, "event"),
            count(found.records, "record")
        ),
    };
    format!("{} in synthetic records, {} in real ones", one(&sides.synthetic), one(&sides.real))
}

fn share(known: &Known) -> String {
    let percent = 100.0 * known.share().unwrap_or(0.0);
    format!("{} of {} ({percent:.2}%)", number(known.known), number(known.triples))
}
