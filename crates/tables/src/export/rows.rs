//! Rows of comma-separated values.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

/// Writes rows field by field, quoting where it is needed.
pub(super) struct Rows<W> {
    out: W,
    row: String,
    begun: bool,
}

impl<W: Write> Rows<W> {
    pub fn new(out: W) -> Self {
        Self { out, row: String::new(), begun: false }
    }

    /// Appends a field to the row.
    pub fn field(&mut self, value: impl Display) -> &mut Self {
        if self.begun {
            self.row.push(',');
        }
        self.begun = true;
        let start = self.row.len();
        // Writing to a string fails only if the value refuses to be shown, and then it is empty.
        if write!(self.row, "{value}").is_err() {
            self.row.truncate(start);
        }
        if self.row[start..].contains([',', '"', '\n', '\r']) {
            let quoted = self.row[start..].replace('"', "\"\"");
            self.row.truncate(start);
            self.row.push('"');
            self.row.push_str(&quoted);
            self.row.push('"');
        }
        self
    }

    /// Appends a field that may be empty.
    pub fn optional(&mut self, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.field(value),
            None => self.field(Nothing),
        }
    }

    /// Ends the row.
    pub fn end(&mut self) -> io::Result<()> {
        self.row.push('\n');
        self.out.write_all(self.row.as_bytes())?;
        self.row.clear();
        self.begun = false;
        Ok(())
    }

    /// What the rows were written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// An empty field.
pub(super) struct Nothing;

impl Display for Nothing {
    fn fmt(&self, _out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
