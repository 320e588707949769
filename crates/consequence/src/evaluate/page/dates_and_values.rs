//! The section about dates, stays, ages and values.

use consequence_evaluate::{Distribution, Known, Misplaced, SharesOf, Sides, Summary, Timing};
use consequence_pipeline::pages::cell;
use consequence_pipeline::words::{count, number};
use consequence_report::{
    Block, Cell, Column, Holds, LinePanel, LineSeries, Lines, Row, RowKind, ScaleKind, Section,
    Statement, Table,
};

use super::Page;

/// The largest distance of days between visits that is called close.
const CLOSE: f64 = 0.05;

impl Page<'_> {
    pub(super) fn dates_and_values(&self) -> Section {
        let found = &self.report.timing;
        let mut blocks = Vec::new();
        if let Some(undated) = found.undated() {
            let what = "so nothing can be said of days, weekdays and spans of records";
            blocks.push(Block::Text(format!("Note: {undated}, {what}.")));
        }
        blocks.extend(table_of_days(found).map(Block::Table));
        blocks.extend(curves(
            "Days between visits",
            ("days since the visit before", ScaleKind::SquareRoot),
            &found.days_between_visits,
        ));
        blocks.extend(curves("Age at a visit", ("age in years", ScaleKind::Linear), &found.age));
        let shares = [
            ("Weekdays", "weekday", &found.weekdays),
            ("Months", "month", &found.months),
            ("Ages, as the source told them at visits", "age band", &found.age_bands),
        ];
        blocks.extend(
            shares.into_iter().filter_map(|(title, of, shares)| table_of_shares(title, of, shares)),
        );
        blocks.extend(table_of_values(found).map(Block::Table));
        blocks.push(Block::Table(table_of_faults(found)));
        Section::new("dates-and-values", "Are dates, ages and values like real ones?", blocks)
    }

    /// What the report promises of dates and values.
    pub(super) fn statements_of_dates(&self) -> Vec<Statement> {
        let found = &self.report.timing;
        let told = |holds: bool| if holds { Holds::Yes } else { Holds::No };
        let mut all = Vec::new();
        if let Some(ks) = found.days_between_visits.ks {
            all.push(Statement {
                text: format!(
                    "Days between visits are spread as in real records (Kolmogorov-Smirnov distance at \
                     most {CLOSE})"
                ),
                figure: match found.days_between_visits.other_ks {
                    Some(other) => format!("{ks:.3}, other real records {other:.3}"),
                    None => format!("{ks:.3}"),
                },
                holds: told(ks <= CLOSE),
            });
        }
        let misplaced = [found.after_death.synthetic, found.before_birth.synthetic];
        let [after, before] = misplaced.map(|one| one.visits + one.events);
        all.push(Statement {
            text: "Nothing happens after a patient's death or before birth".to_owned(),
            figure: format!(
                "visits and events: {} after death, {} before birth",
                number(after),
                number(before)
            ),
            holds: told(after + before == 0),
        });
        if let Some(Sides { synthetic, other, .. }) = &found.known {
            let share = |one: &Known| 100.0 * one.share().unwrap_or(0.0);
            all.push(Statement {
                text: "Values with their code and date are a real patient's no more often than those of \
                       other real records (but for what 1.96 standard errors allow)"
                    .to_owned(),
                figure: match other {
                    Some(other) => format!(
                        "{:.2}% of {}, other real records {:.2}% of {}",
                        share(synthetic),
                        number(synthetic.triples),
                        share(other),
                        number(other.triples)
                    ),
                    None => format!("{:.2}% of {}", share(synthetic), number(synthetic.triples)),
                },
                holds: match other.filter(|other| other.triples > 0) {
                    Some(other) => told(!clearly_more(synthetic, &other)),
                    None => Holds::Unknown("there are no other real records with values".to_owned()),
                },
            });
        }
        all
    }
}

/// Whether a larger share is known of the first than luck explains.
fn clearly_more(one: &Known, other: &Known) -> bool {
    let (Some(share), Some(expected)) = (one.share(), other.share()) else { return false };
    let (many, others) = (one.triples as f64, other.triples as f64);
    let pooled = (one.known + other.known) as f64 / (many + others);
    let error = (pooled * (1.0 - pooled) * (1.0 / many + 1.0 / others)).sqrt();
    share - expected > 1.96 * error
}

const WHO: [&str; 3] = ["real", "synthetic", "other real records"];

fn summaries(sides: &Sides<Summary>) -> [Cell; 3] {
    let shown = |summary: &Summary| match summary.count {
        0 => Cell::missing("there are none"),
        _ if summary.quartiles.is_none() => Cell::missing("too few to tell"),
        _ => Cell::text(summary.to_string()),
    };
    let other = match &sides.other {
        Some(other) => shown(other),
        None => Cell::missing("there are no other real records"),
    };
    [shown(&sides.real), shown(&sides.synthetic), other]
}

fn distances(found: &Distribution) -> [Cell; 2] {
    let missing = "one of the cohorts has none";
    [cell(found.ks, 4, missing), cell(found.other_ks, 4, missing)]
}

fn table_of_days(found: &Timing) -> Option<Table> {
    let mut rows = vec![("days between visits".to_owned(), &found.days_between_visits)];
    rows.extend(found.days_after.iter().map(|one| (format!("after {}", one.code), &one.days)));
    rows.push(("days from the first visit to the last".to_owned(), &found.span));
    rows.push(("age at a visit, in years".to_owned(), &found.age));
    rows.push(("days of a stay".to_owned(), &found.stay));
    rows.retain(|(_, row)| row.sides.real.count + row.sides.synthetic.count > 0);
    if rows.is_empty() {
        return None;
    }
    let row = |(name, row): (String, &Distribution)| {
        let mut cells = vec![Cell::text(name)];
        cells.extend(
            [&row.sides.real, &row.sides.synthetic].map(|side| Cell::number(side.count as f64, 0)),
        );
        cells.extend(summaries(&row.sides));
        cells.extend(distances(row));
        Row::new(cells)
    };
    let mut columns = vec![
        Column::new(""),
        Column::grouped("number", "real"),
        Column::grouped("number", "synthetic"),
    ];
    columns.extend(WHO.map(|who| Column::grouped("median (quartiles)", who)));
    columns.push(Column::grouped("Kolmogorov-Smirnov", "synthetic"));
    columns.push(Column::grouped("Kolmogorov-Smirnov", "other real records"));
    Some(Table {
        title: "Days and ages".to_owned(),
        note: "The Kolmogorov-Smirnov distance from the real records is the furthest that the shares below \
               any number are apart: 0 where all agree, 1 where nothing does. That of other real records \
               is what luck alone does. Days are also held against each other after visits with each \
               of the five commonest codes."
            .to_owned(),
        columns,
        rows: rows.into_iter().map(row).collect(),
    })
}

/// Shares of what is at most so much, as steps.
fn curves(
    title: &str,
    (x_axis, x_scale): (&str, ScaleKind),
    found: &Distribution,
) -> Option<Block> {
    let sides = [Some(&found.sides.real), Some(&found.sides.synthetic), found.sides.other.as_ref()];
    let series: Vec<LineSeries> = sides
        .into_iter()
        .zip(WHO)
        .filter_map(|(side, name)| {
            let percentiles = &side.filter(|side| !side.percentiles.is_empty())?.percentiles;
            let points = percentiles.iter().enumerate().flat_map(|(at, &value)| {
                [at, at + 1].map(|hundredths| (value, hundredths as f64 / 100.0))
            });
            Some(LineSeries { name: name.to_owned(), points: points.collect() })
        })
        .collect();
    // A curve alone compares nothing.
    (series.len() > 1).then(|| {
        Block::Lines(Lines {
            title: title.to_owned(),
            note: "The share that is at most so much; the last hundredth is not shown. Where curves lie on \
                   each other, the cohorts agree."
                .to_owned(),
            x_axis: x_axis.to_owned(),
            y_axis: "share".to_owned(),
            x_scale,
            y_scale: ScaleKind::Linear,
            panels: vec![LinePanel { title: String::new(), series }],
        })
    })
}

fn table_of_shares(title: &str, of: &str, found: &SharesOf) -> Option<Block> {
    found.total_variation?;
    let mut totals = Sides { real: 0, synthetic: 0, other: Some(0) };
    for row in &found.rows {
        totals.real += row.visits.real;
        totals.synthetic += row.visits.synthetic;
        totals.other = totals.other.zip(row.visits.other).map(|(total, more)| total + more);
    }
    let missing = "there are no other real records";
    let share = |visits: u64, of: u64| 100.0 * visits as f64 / of.max(1) as f64;
    let mut rows: Vec<Row> = (found.rows.iter())
        .map(|row| {
            let other = row.visits.other.zip(totals.other).filter(|(_, of)| *of > 0);
            Row::new(vec![
                Cell::text(row.name.clone()),
                Cell::number(share(row.visits.real, totals.real), 1),
                Cell::number(share(row.visits.synthetic, totals.synthetic), 1),
                cell(other.map(|(visits, of)| share(visits, of)), 1, missing),
            ])
        })
        .collect();
    let total = vec![
        Cell::text("total variation from the real records"),
        Cell::text(""),
        cell(found.total_variation, 4, "nothing to compare"),
        cell(found.other_total_variation, 4, missing),
    ];
    rows.push(Row::new(total).of_kind(RowKind::Reference));
    Some(Block::Table(Table {
        title: title.to_owned(),
        note: "The share of visits, in percent. The total variation is half of what the shares differ by."
            .to_owned(),
        columns: [of].into_iter().chain(WHO).map(Column::new).collect(),
        rows,
    }))
}

fn table_of_values(found: &Timing) -> Option<Table> {
    let values = &found.values;
    if values.tests == 0 {
        return None;
    }
    let row = |test: &consequence_evaluate::TestValues| {
        let sides = &test.values.sides;
        let mut cells = vec![
            Cell::text(test.test.clone()),
            Cell::text(test.unit.clone().unwrap_or_default()),
            Cell::number(sides.real.count as f64, 0),
            Cell::number(sides.synthetic.count as f64, 0),
        ];
        cells.extend(summaries(sides));
        cells.extend(distances(&test.values));
        Row::new(cells)
    };
    let mut columns = vec![
        Column::new("test"),
        Column::new("unit"),
        Column::grouped("number", "real"),
        Column::grouped("number", "synthetic"),
    ];
    columns.extend(WHO.map(|who| Column::grouped("median (quartiles)", who)));
    columns.push(Column::grouped("Kolmogorov-Smirnov", "synthetic"));
    columns.push(Column::grouped("Kolmogorov-Smirnov", "other real records"));
    let distance = |figure: Option<f64>| figure.map_or("-".to_owned(), |one| format!("{one:.4}"));
    Some(Table {
        title: "Values of tests".to_owned(),
        note: format!(
            "The {} with the most values, of {} in real records; {} have values in synthetic records \
             too. Over all of those the distance is {} in the middle and {} at most; of other real \
             records {} and {}.",
            count(values.commonest.len() as u64, "test"),
            number(values.tests),
            number(values.in_both),
            distance(values.median_ks),
            distance(values.largest_ks),
            distance(values.other_median_ks),
            distance(values.other_largest_ks)
        ),
        columns,
        rows: values.commonest.iter().map(row).collect(),
    })
}

fn table_of_faults(found: &Timing) -> Table {
    let numbers = |title: &str, sides: Sides<u64>| {
        Row::new(vec![
            Cell::text(title),
            Cell::number(sides.real as f64, 0),
            Cell::number(sides.synthetic as f64, 0),
            cell(sides.other.map(|other| other as f64), 0, "there are no other real records"),
        ])
    };
    let each = |sides: &Sides<Misplaced>, of: fn(&Misplaced) -> u64| sides.map(of);
    let mut rows = Vec::new();
    for (when, sides) in
        [("after death", &found.after_death), ("before birth", &found.before_birth)]
    {
        rows.push(numbers(
            &format!("records with something {when}"),
            each(sides, |one| one.records),
        ));
        rows.push(numbers(&format!("visits that begin {when}"), each(sides, |one| one.visits)));
        rows.push(numbers(&format!("events {when}"), each(sides, |one| one.events)));
    }
    let mut note =
        "A death told as a date alone counts from the end of that day. Without dates, the \
                    order of visits tells what is after death."
            .to_owned();
    if let Some(known) = &found.known {
        rows.push(numbers("values with a date", known.map(|one| one.triples)));
        rows.push(numbers(
            "those that a real patient has, of the same code on the same date",
            known.map(|one| one.known),
        ));
        note.push_str(
            " A value with its code and date is known if a real record that was trained on has the \
             same; of other real records as many are known as chance, and rounding, bring about.",
        );
    }
    Table {
        title: "What cannot be, and what is a real patient's".to_owned(),
        note,
        columns: [""].into_iter().chain(WHO).map(Column::new).collect(),
        rows,
    }
}
