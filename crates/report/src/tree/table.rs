//! Tables of figures.

use serde::{Deserialize, Serialize};

/// A table with a title, named columns and rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    /// What the table shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// The columns; the first one names the rows.
    pub columns: Vec<Column>,
    /// The rows. A row may be shorter than the columns; the rest of it stays empty.
    pub rows: Vec<Row>,
}

impl Table {
    /// Marks the best finite figures of a column, all of them where several are equal. Rows that
    /// are there for reference take no part.
    pub fn mark_best(&mut self, column: usize, better: Better) {
        let figure = |row: &Row| {
            let cell = row.cells.get(column).filter(|_| row.kind != RowKind::Reference)?;
            cell.figure().map(|figure| if better == Better::Lower { figure } else { -figure })
        };
        let best = self.rows.iter().filter_map(figure).min_by(f64::total_cmp);
        for row in &mut self.rows {
            let is_best = best.is_some() && figure(row) == best;
            if let Some(cell) = row.cells.get_mut(column) {
                cell.best = is_best;
            }
        }
    }
}

/// Which way a figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// The head of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    /// What stands in it.
    pub title: String,
    /// A heading shared with the neighbours that have the same one; may be empty.
    pub group: String,
}

impl Column {
    /// A column under no shared heading.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), group: String::new() }
    }

    /// A column under a heading that its neighbours share.
    pub fn grouped(group: impl Into<String>, title: impl Into<String>) -> Self {
        Self { title: title.into(), group: group.into() }
    }
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// Its cells, from the first column on.
    pub cells: Vec<Cell>,
    /// What the row is there for.
    pub kind: RowKind,
}

impl Row {
    /// An ordinary row.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self { cells, kind: RowKind::Ordinary }
    }

    /// The same row, there for another reason.
    pub fn of_kind(self, kind: RowKind) -> Self {
        Self { kind, ..self }
    }
}

/// What a row is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// One of those compared.
    #[default]
    Ordinary,
    /// The one that the report is about.
    Ours,
    /// Something to measure the others against, such as a fresh real sample.
    Reference,
}

/// What is in one cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The value.
    pub value: Value,
    /// Whether it is the best of its column.
    #[serde(default)]
    pub best: bool,
}

/// A text, a figure, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Words.
    Text(String),
    /// A figure with so many digits after the point.
    Number {
        /// The figure; one that is not finite is shown as missing.
        value: f64,
        /// Digits after the point.
        digits: u8,
    },
    /// A mean and what to add and take away for a 95% interval.
    Interval {
        /// The mean; one that is not finite is shown as missing.
        mean: f64,
        /// Half the width of the interval; none where there was one run.
        half_width: Option<f64>,
        /// Digits after the point, of both.
        digits: u8,
    },
    /// No figure, and why.
    Missing(String),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { value: Value::Text(text.into()), best: false }
    }

    /// A figure; one that is not finite becomes missing, since files for programs cannot hold it.
    pub fn number(value: f64, digits: u8) -> Self {
        if !value.is_finite() {
            return Self::missing("not a finite number");
        }
        Self { value: Value::Number { value, digits }, best: false }
    }

    /// A mean with half the width of its interval.
    pub fn interval(mean: f64, half_width: Option<f64>, digits: u8) -> Self {
        if !mean.is_finite() {
            return Self::missing("not a finite number");
        }
        let half_width = half_width.filter(|half| half.is_finite());
        Self { value: Value::Interval { mean, half_width, digits }, best: false }
    }

    /// No figure, and why.
    pub fn missing(why: impl Into<String>) -> Self {
        Self { value: Value::Missing(why.into()), best: false }
    }

    /// The same cell, marked as the best of its column.
    pub fn best(self) -> Self {
        Self { best: true, ..self }
    }

    fn figure(&self) -> Option<f64> {
        match self.value {
            Value::Number { value, .. } => Some(value),
            Value::Interval { mean, .. } => Some(mean),
            Value::Text(_) | Value::Missing(_) => None,
        }
        .filter(|figure| figure.is_finite())
    }
}

/// Published findings beside what was found here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// Whose findings they are.
    pub title: String,
    /// How they were checked; may be empty.
    pub note: String,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// One published finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What was claimed.
    pub claim: String,
    /// The published figure.
    pub published: String,
    /// The figure found here.
    pub here: String,
    /// What to make of it.
    pub verdict: Verdict,
}

/// Whether a published finding was seen again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was seen again.
    Confirmed,
    /// The opposite was seen.
    Contradicted,
    /// Neither: intervals overlap.
    Unclear,
    /// The two cannot be compared, and why.
    NotComparable(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(rows: &[(f64, RowKind)]) -> Table {
        let rows = rows.iter().map(|&(value, kind)| {
            let value = Value::Number { value, digits: 1 };
            Row { cells: vec![Cell { value, best: false }], kind }
        });
        Table { rows: rows.collect(), ..Table::default() }
    }

    fn best(table: &Table) -> Vec<bool> {
        table.rows.iter().map(|row| row.cells[0].best).collect()
    }

    #[test]
    fn equal_best_figures_are_all_marked_and_references_are_not() {
        use RowKind::{Ordinary, Ours, Reference};
        let mut table = column(&[(0.0, Ordinary), (2.0, Ordinary), (0.0, Ours), (-1.0, Reference)]);
        table.mark_best(0, Better::Lower);
        assert_eq!(best(&table), [true, false, true, false]);
        table.mark_best(0, Better::Higher);
        assert_eq!(best(&table), [false, true, false, false]);
    }

    #[test]
    fn what_is_not_finite_is_never_best() {
        let mut table = column(&[(f64::NAN, RowKind::Ordinary), (3.0, RowKind::Ordinary)]);
        table.mark_best(0, Better::Higher);
        assert_eq!(best(&table), [false, true]);
        table.mark_best(7, Better::Lower);
        assert!(matches!(Cell::number(f64::INFINITY, 2).value, Value::Missing(_)));
        assert!(matches!(Cell::interval(f64::NAN, None, 2).value, Value::Missing(_)));
    }
}
