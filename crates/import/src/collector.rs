//! Where the readers of sources put what they find.

use std::io;

use rustc_hash::FxHashMap;

use crate::codes::Codes;
use crate::event::{Event, Fact, VisitKey};
use crate::folder::Parts;
use crate::progress::Teller;
use crate::runs::Runs;
use crate::subjects::Subjects;
use crate::summary::{ImportSummary, Reason};
use crate::table::{Column, Table};
use crate::{ImportError, ImportLimits, ImportOptions, ImportProblem};

/// Takes in the facts of a source, in any order.
pub(crate) struct Collector<'a> {
    pub options: &'a ImportOptions,
    pub teller: Teller<'a>,
    pub subjects: Subjects,
    pub codes: Codes,
    pub summary: ImportSummary,
    pub runs: Runs<Event>,
}

impl<'a> Collector<'a> {
    pub fn new(options: &'a ImportOptions, teller: Teller<'a>) -> Self {
        Self {
            options,
            teller,
            subjects: Subjects::default(),
            codes: Codes::new(&options.limits),
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
        let mut table = Table::open(parts, columns, self.limits(), self.teller)?;
        while table.advance()? {
            row(self, &table)?;
        }
        self.summary.tables.push((name.to_owned(), table.rows()));
        Ok(())
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
