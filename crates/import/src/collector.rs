//! Where the readers of sources put what they find, and the subjects of a source: their identifiers
//! and the order they are handed on in.

use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

use consequence_feedback::Watch;
use consequence_record::{DEATH, Split};
use rustc_hash::FxHashMap;

use crate::codes::{Codes, Role};
use crate::event::{Event, Fact, VisitKey};
use crate::files::Parts;
use crate::runs::Runs;
use crate::summary::{ImportSummary, Reason};
use crate::table::{Column, Table};
use crate::units::Units;
use crate::{ImportError, ImportLimits, ImportOptions, ImportProblem};

/// Takes in the facts of a source, in any order.
pub(crate) struct Collector<'a> {
    pub options: &'a ImportOptions,
    pub watch: &'a dyn Watch,
    pub subjects: Subjects,
    pub codes: Codes,
    pub units: Units,
    pub summary: ImportSummary,
    pub runs: Runs<Event>,
}

impl<'a> Collector<'a> {
    pub fn new(options: &'a ImportOptions, watch: &'a dyn Watch) -> Self {
        Self {
            options,
            watch,
            subjects: Subjects { split_seed: options.split_seed, ..Subjects::default() },
            codes: Codes::new(&options.limits),
            units: Units::default(),
            summary: ImportSummary::default(),
            runs: Runs::new(options.limits.batch_events, options.scratch.as_deref()),
        }
    }

    /// How much to take in before refusing.
    pub fn limits(&self) -> &'a ImportLimits {
        &self.options.limits
    }

    /// Reads a table row by row.
    pub fn read(
        &mut self,
        parts: Parts,
        columns: Vec<Column>,
        mut row: impl FnMut(&mut Self, &Table<'_>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let name = parts.table;
        let mut table = Table::open(parts, columns, self.limits(), self.watch)?;
        while table.advance()? {
            row(self, &table)?;
        }
        self.summary.tables.push((name.to_owned(), table.rows()));
        self.summary.drop_many(Reason::Offset, table.offsets());
        self.summary.repaired_years += table.repaired_years();
        if !table.unread().is_empty() {
            self.summary.unread_columns.push((name.to_owned(), table.unread().to_vec()));
        }
        Ok(())
    }

    /// Whether tables of measurements are read.
    pub fn measures(&self) -> bool {
        self.options.quantiles > 0
    }

    /// Takes in a value of what an event says, in a unit.
    pub fn put_value(
        &mut self,
        event: Event,
        value: f32,
        unit: &str,
    ) -> Result<Result<(), ImportError>, ImportProblem> {
        let unit = self.units.number(unit)?;
        if let Some(code) = event.fact.code() {
            self.units.count(code as u32, unit, 1);
        }
        Ok(self.put(event.valued(value, unit)))
    }

    /// Takes in the death of a subject, where its time is known.
    pub fn put_death(
        &mut self,
        subject: u32,
        time: Option<i64>,
    ) -> Result<Result<(), ImportError>, ImportProblem> {
        if time.is_none() {
            return Ok(Ok(()));
        }
        self.codes.fact(&[DEATH], Role::Encounter)?;
        Ok(self.put(Event::new(subject, Fact::DIED, VisitKey::STATIC, time)))
    }

    /// Takes in the end of an encounter, where its time is known.
    pub fn put_end(
        &mut self,
        subject: u32,
        visit: VisitKey,
        time: Option<i64>,
    ) -> Result<(), ImportError> {
        match time {
            Some(_) => self.put(Event::new(subject, Fact::ENDED, visit, time)),
            None => Ok(()),
        }
    }

    /// A subject that this row of the table of subjects lists.
    pub fn listed_subject(&mut self, table: &Table<'_>, column: usize) -> Result<u32, ImportError> {
        let id = self.identifier(table, column)?;
        let subject =
            self.subjects.list(id, table.location()).map_err(|problem| table.fail(problem))?;
        self.put(Event::new(subject, Fact::LISTED, VisitKey::STATIC, None))?;
        Ok(subject)
    }

    /// A subject that the table of subjects has; a row of any other is counted and left out.
    pub fn known_subject(
        &mut self,
        table: &Table<'_>,
        column: usize,
    ) -> Result<Option<u32>, ImportError> {
        let subject = self.subjects.get(table.text(column)?);
        if subject.is_none() {
            self.summary.drop_one(Reason::UnknownSubject);
        }
        Ok(subject)
    }

    /// A subject, met before or not.
    pub fn any_subject(&mut self, table: &Table<'_>, column: usize) -> Result<u32, ImportError> {
        let id = self.identifier(table, column)?;
        self.subjects.number(id).map_err(|problem| table.fail(problem))
    }

    fn identifier<'t>(&self, table: &'t Table<'_>, column: usize) -> Result<&'t str, ImportError> {
        let id = table.needed_text(column)?;
        let limit = self.limits().identifier_bytes;
        if id.len() > limit {
            let column = table.name(column);
            return Err(table.fail(ImportProblem::LongIdentifier { column, limit }));
        }
        Ok(id)
    }

    /// Takes in an event.
    pub fn put(&mut self, event: Event) -> Result<(), ImportError> {
        if self.runs.full() {
            let ranks = self.ranks_of_batch();
            let rank = |event: &Event| ranks.get(&event.subject).copied();
            self.runs.flush(rank).map_err(|error| scratch(self.options, error))?;
        }
        self.runs.push(event);
        Ok(())
    }

    /// The order of the subjects in the batch. It agrees with the order of all subjects, though
    /// those are not all known yet.
    fn ranks_of_batch(&self) -> FxHashMap<u32, u32> {
        let mut numbers: Vec<u32> = self.runs.batch().iter().map(|event| event.subject).collect();
        numbers.sort_unstable();
        numbers.dedup();
        self.subjects.sort(&mut numbers);
        numbers.into_iter().enumerate().map(|(rank, number)| (number, rank as u32)).collect()
    }
}

/// An error met in the file of events that wait.
pub(crate) fn scratch(options: &ImportOptions, error: io::Error) -> ImportError {
    let folder = match &options.scratch {
        Some(folder) => folder.display().to_string(),
        None => "the folder for temporary files of this system".into(),
    };
    ImportError::whole(folder, ImportProblem::Scratch(error))
}

/// The subjects met so far, numbered as they were met.
#[derive(Default)]
pub(crate) struct Subjects {
    ids: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
    /// Where each was listed, as a file and a line; empty where sources have no such list.
    listed: Vec<(u32, u64)>,
    files: Vec<Arc<str>>,
    /// The split of each subject that the source puts into one.
    splits: FxHashMap<u32, Split>,
    split_seed: u64,
}

impl Subjects {
    /// The number of a subject that was met before.
    pub fn get(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    /// The number of a subject, met before or not.
    pub fn number(&mut self, id: &str) -> Result<u32, ImportProblem> {
        const MOST: usize = u32::MAX as usize;
        if let Some(number) = self.get(id) {
            return Ok(number);
        }
        if self.ids.len() >= MOST {
            return Err(ImportProblem::TooManySubjects { limit: MOST });
        }
        let (id, number): (Arc<str>, u32) = (id.into(), self.ids.len() as u32);
        self.ids.push(Arc::clone(&id));
        self.numbers.insert(id, number);
        Ok(number)
    }

    /// The number of a subject that a list of subjects names here, and nowhere before.
    pub fn list(&mut self, id: &str, at: (&Arc<str>, u64)) -> Result<u32, ImportProblem> {
        let (file, line) = at;
        if let Some(&(first, first_line)) =
            self.get(id).and_then(|number| self.listed.get(number as usize))
        {
            let first_file = Arc::clone(self.files.get(first as usize).unwrap_or(file));
            return Err(ImportProblem::RepeatedSubject { first_file, first_line });
        }
        if self.files.last() != Some(file) {
            self.files.push(Arc::clone(file));
        }
        let number = self.number(id)?;
        self.listed.push((self.files.len() as u32 - 1, line));
        Ok(number)
    }

    /// The identifier of a subject.
    pub fn id(&self, number: u32) -> &str {
        self.ids.get(number as usize).map_or("", |id| id)
    }

    /// Sets the split that the source gives a subject.
    pub fn put_into(&mut self, number: u32, split: Split) {
        self.splits.insert(number, split);
    }

    /// The split of a subject: what the source says, or else what the hash of its identifier gives.
    pub fn split(&self, number: u32) -> Split {
        self.splits
            .get(&number)
            .copied()
            .unwrap_or_else(|| Split::seeded(self.id(number), self.split_seed))
    }

    /// Puts subjects into the order they are handed on in.
    pub fn sort(&self, numbers: &mut [u32]) {
        numbers.sort_unstable_by(|&one, &other| in_order(self.id(one), self.id(other)));
    }

    /// The position of each subject in that order.
    pub fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.ids.len() as u32).collect();
        self.sort(&mut order);
        let mut ranks = vec![0; order.len()];
        for (rank, number) in order.into_iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        ranks
    }

    /// Forgets what only taking in more rows needs.
    pub fn settle(&mut self) {
        self.numbers = FxHashMap::default();
        self.listed = Vec::new();
    }
}

/// Numbers by their size, then all else by its text.
fn in_order(one: &str, other: &str) -> Ordering {
    let number = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    match (number(one), number(other)) {
        (true, true) => {
            let (short, long) = (one.trim_start_matches('0'), other.trim_start_matches('0'));
            short.len().cmp(&long.len()).then_with(|| short.cmp(long)).then_with(|| one.cmp(other))
        }
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_first_and_by_size() {
        let mut subjects = Subjects::default();
        let ids = ["b", "10", "9", "a", "010", "0", "123456789012345678901234567890"];
        for id in ids {
            subjects.number(id).unwrap();
        }
        let mut numbers: Vec<u32> = (0..ids.len() as u32).collect();
        subjects.sort(&mut numbers);
        let sorted: Vec<&str> = numbers.iter().map(|&number| subjects.id(number)).collect();
        assert_eq!(sorted, ["0", "9", "010", "10", "123456789012345678901234567890", "a", "b"]);
        assert_eq!(subjects.ranks()[2], 1);
    }

    #[test]
    fn a_subject_is_listed_once() {
        let mut subjects = Subjects::default();
        let (first, second): (Arc<str>, Arc<str>) = ("one.csv".into(), "two.csv".into());
        subjects.list("7", (&first, 2)).unwrap();
        subjects.list("8", (&second, 2)).unwrap();
        let again = subjects.list("7", (&second, 3)).unwrap_err();
        assert_eq!(again.to_string(), "the subject of this row was already listed at one.csv:2");
    }
}
