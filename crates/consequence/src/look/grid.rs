//! Text in columns.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::words::number;

/// Rows of cells, each column as wide as its widest cell. Columns are to the right but for those whose
/// heading says otherwise; the last cell of a row is never padded.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    to_left: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// With headings; one that begins with `<` stands over a column to the left.
    pub fn new(headings: &[&str]) -> Self {
        let to_left = headings.iter().map(|heading| heading.starts_with('<')).collect();
        let row = headings.iter().map(|heading| heading.trim_start_matches('<').to_owned());
        Self { to_left, rows: vec![row.collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl Display for Grid {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.to_left.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths.get(column).copied().unwrap_or(0);
                line.push_str("  ");
                match self.to_left.get(column).copied().unwrap_or(true) {
                    true => line.push_str(&format!("{cell:width$}")),
                    false => line.push_str(&format!("{cell:>width$}")),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A figure with four significant digits, and no more of a whole number than it has.
pub(crate) fn figure(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    if size.fract() == 0.0 && size < 1e15 {
        return format!("{sign}{}", number(size as u64));
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - size.log10().floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{size:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), number);
    match rest.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        rest => format!("{sign}{whole}.{rest}"),
    }
}

/// A share in percent with one digit after the point, that only says 0 or 100 where that is exact.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    match part {
        0 => "0%".to_owned(),
        part if part >= whole => "100%".to_owned(),
        _ if percent < 0.1 => "<0.1%".to_owned(),
        _ if percent > 99.9 => ">99.9%".to_owned(),
        _ => format!("{percent:.1}%"),
    }
}

/// The most letters of a title in a column.
const WIDEST: usize = 72;

/// A title that fits into a column.
pub(crate) fn shortened(title: Option<&str>) -> String {
    let title = title.unwrap_or_default();
    match title.char_indices().nth(WIDEST) {
        None => title.to_owned(),
        Some((end, _)) => format!("{}...", title[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let mut grid = Grid::new(&["<code", "patients", "<title"]);
        grid.row(vec!["A".into(), "1,000".into(), "one".into()]);
        grid.row(vec!["long name".into(), "2".into(), String::new()]);
        let text =
            "  code       patients  title\n  A             1,000  one\n  long name         2\n";
        assert_eq!(grid.to_string(), text);
    }

    #[test]
    fn figures_have_four_digits() {
        let shown = [0.0, 12.0, 1234.5, 12.345, 0.012345, -3.25, 1e-7, 99999.5].map(figure);
        assert_eq!(shown, ["0", "12", "1,234", "12.35", "0.01235", "-3.25", "1.000e-7", "100,000"]);
        assert_eq!(
            [share(1, 3000), share(2999, 3000), share(3, 3), share(0, 0)],
            ["<0.1%", ">99.9%", "100%", "0%"]
        );
    }
}
