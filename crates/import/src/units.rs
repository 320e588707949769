//! Units of measurements: those a source tells, the one each test keeps, and the user's table that
//! turns others into it.

use std::path::Path;

use consequence_feedback::Unwatched;
use rustc_hash::FxHashMap;

use crate::codes::Codes;
use crate::files::Parts;
use crate::finals::Finals;
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{ImportError, ImportLimits, ImportProblem};

/// The most different units of a source.
const MOST_UNITS: usize = 65_000;

/// How values in one unit become values in another: a table that the user gives.
///
/// It has columns `code`, `from`, `to`, `factor` and, where one is needed, `offset`: a value becomes
/// `value * factor + offset`. A code that is empty or `*` means every code; a row with the name of a
/// code goes before. Units are compared letter by letter.
///
/// ```
/// use consequence_import::{ImportLimits, UnitTable};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("units.csv");
/// std::fs::write(&path, "code,from,to,factor,offset\nLAB//temperature,F,C,0.5555556,-17.777779\n")?;
/// let table = UnitTable::read(&path, &ImportLimits::default())?;
/// let (unit, value) = table.convert("LAB//temperature", "F", 212.0).unwrap();
/// assert_eq!((unit, value.round()), ("C", 100.0));
/// assert!(table.convert("LAB//50912", "F", 212.0).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct UnitTable {
    /// By code and unit; the code is empty for all codes.
    rows: FxHashMap<(Box<str>, Box<str>), Conversion>,
}

#[derive(Clone, Debug)]
struct Conversion {
    to: Box<str>,
    line: Line,
}

/// A straight line that turns values into others.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    factor: f64,
    offset: f64,
}

impl Line {
    const SAME: Self = Self { factor: 1.0, offset: 0.0 };

    fn at(self, value: f64) -> f64 {
        value.mul_add(self.factor, self.offset)
    }
}

impl UnitTable {
    /// Reads a table.
    pub fn read(path: impl AsRef<Path>, limits: &ImportLimits) -> Result<Self, ImportError> {
        let columns = vec![
            Column::needed(&["code"]),
            Column::needed(&["from"]),
            Column::needed(&["to"]),
            Column::needed(&["factor"]),
            Column::optional(&["offset"]),
        ];
        let parts = Parts::new("units", vec![path.as_ref().to_path_buf()]);
        let mut table = Table::open(parts, columns, limits, &Unwatched)?;
        let mut rows = FxHashMap::default();
        while table.advance()? {
            let number = |column: usize, missing: f64| match table.text(column)? {
                "" if column == 4 => Ok(missing),
                text => match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Ok(number),
                    _ => Err(table.fail(ImportProblem::BadNumber { column: table.name(column) })),
                },
            };
            let line = Line { factor: number(3, 1.0)?, offset: number(4, 0.0)? };
            if line.factor == 0.0 {
                return Err(table.fail(ImportProblem::BadNumber { column: table.name(3) }));
            }
            let code = match table.text(0)? {
                "*" => "",
                code => code,
            };
            if rows.len() >= limits.map_rows {
                let text = format!("the table of units has more than {} rows", limits.map_rows);
                return Err(table.fail(ImportProblem::Option(text)));
            }
            let conversion = Conversion { to: table.text(2)?.into(), line };
            if rows.insert((code.into(), table.text(1)?.into()), conversion).is_some() {
                return Err(table.fail(ImportProblem::RepeatedUnit));
            }
        }
        Ok(Self { rows })
    }

    /// The unit and the value that a value of a code becomes; none where the table says nothing of it.
    pub fn convert(&self, code: &str, unit: &str, value: f64) -> Option<(&str, f64)> {
        let conversion = self.find(&[code], unit)?;
        Some((&conversion.to, conversion.line.at(value)))
    }

    /// What is said of a unit of a code that goes by these names, or else of any code.
    fn find(&self, names: &[&str], unit: &str) -> Option<&Conversion> {
        let of = |code: &str| self.rows.get(&(Box::from(code), Box::from(unit)));
        names.iter().find_map(|name| of(name)).or_else(|| of(""))
    }
}

/// The units met so far, and how many values each code has in each.
#[derive(Default)]
pub(crate) struct Units {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u16>,
    rows: FxHashMap<(u32, u16), u64>,
}

impl Units {
    /// The number of a unit; 0 where none is told.
    pub fn number(&mut self, name: &str) -> Result<u16, ImportProblem> {
        if self.names.is_empty() {
            self.names.push("".into());
        }
        if name.is_empty() {
            return Ok(0);
        }
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if self.names.len() > MOST_UNITS {
            return Err(ImportProblem::TooManyUnits { limit: MOST_UNITS });
        }
        let number = self.names.len() as u16;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// Calls a unit by another name; it keeps its number.
    pub fn rename(&mut self, number: u16, name: &str) {
        if let Some(kept) = self.names.get_mut(usize::from(number)).filter(|_| !name.is_empty()) {
            *kept = name.into();
        }
    }

    /// Counts values of a code.
    pub fn count(&mut self, code: u32, unit: u16, rows: u64) {
        *self.rows.entry((code, unit)).or_default() += rows;
    }

    fn name(&self, number: u16) -> &str {
        self.names.get(usize::from(number)).map_or("", |name| name)
    }
}

/// The unit of each test, and what becomes of values in others.
#[derive(Default)]
pub(crate) struct Measures {
    /// What becomes of the values of a code in a unit; nothing is said of those that stay as they are.
    changed: FxHashMap<(u32, u16), Option<Line>>,
    /// The unit of each test, by the code that its parts are named after.
    units: FxHashMap<u32, Box<str>>,
}

impl Measures {
    /// Gives each test the unit that most of its values have, once the user's table has turned units
    /// into others.
    pub fn new(units: &Units, codes: &Codes, finals: &Finals, table: Option<&UnitTable>) -> Self {
        let turned = |raw: u32, test: u32, unit: u16| -> (&str, Line) {
            let told = units.name(unit);
            let names = [
                codes.entries().get(raw as usize).map_or("", |code| &*code.name),
                finals.names.get(test as usize).map_or("", String::as_str),
            ];
            let found = table.and_then(|table| table.find(&names, told));
            found.map_or((told, Line::SAME), |found| (&*found.to, found.line))
        };
        let mut rows: Vec<(u32, u32, u16, u64)> = units
            .rows
            .iter()
            .filter_map(|(&(raw, unit), &rows)| Some((finals.test(raw as usize)?, raw, unit, rows)))
            .collect();
        rows.sort_unstable();
        let mut measures = Self::default();
        for of_test in rows.chunk_by(|one, other| one.0 == other.0) {
            let mut counts: Vec<(&str, u64)> = Vec::new();
            for &(test, raw, unit, rows) in of_test {
                let (name, _) = turned(raw, test, unit);
                match counts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += rows,
                    None => counts.push((name, rows)),
                }
            }
            // Of units that are equally common, the first by name.
            let first = |one: &&(&str, u64), other: &&(&str, u64)| {
                one.1.cmp(&other.1).then_with(|| other.0.cmp(one.0))
            };
            let Some(&(kept, _)) = counts.iter().max_by(first) else { continue };
            for &(test, raw, unit, _) in of_test {
                let (name, line) = turned(raw, test, unit);
                if name != kept {
                    measures.changed.insert((raw, unit), None);
                } else if line != Line::SAME {
                    measures.changed.insert((raw, unit), Some(line));
                }
                if !kept.is_empty() {
                    measures.units.insert(test, kept.into());
                }
            }
        }
        measures
    }

    /// The unit of a test, where one is known.
    pub fn unit(&self, test: u32) -> Option<&str> {
        self.units.get(&test).map(|unit| &**unit)
    }

    /// A value of a code in the unit of its test, or why there is none.
    pub fn value(&self, raw: u32, unit: u16, value: f32) -> Result<f32, Reason> {
        match self.changed.get(&(raw, unit)) {
            None => Ok(value),
            Some(None) => Err(Reason::OtherUnit),
            Some(Some(line)) => {
                let value = line.at(f64::from(value)) as f32;
                if value.is_finite() { Ok(value) } else { Err(Reason::NoValue) }
            }
        }
    }
}
