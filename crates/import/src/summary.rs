//! What an import kept, and what it left out and why.

use std::collections::BTreeMap;
use std::fmt;

use consequence_record::Split;
use consequence_tally::{Coded, Counts, Damaged, Reader, Writer};
use serde::Serialize;

/// Why something of a source is not in the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// Subjects without an encounter.
    NoVisits,
    /// Subjects whose sex is not known, where sex is asked for.
    UnknownSex,
    /// Subjects whose age is not known, where age is asked for.
    UnknownAge,
    /// Rows of subjects that the table of subjects does not have.
    UnknownSubject,
    /// Rows of encounters that the table of encounters does not have.
    UnknownVisit,
    /// Rows without an encounter, in a table where each has one.
    NoVisit,
    /// Rows and encounters without a date.
    NoDate,
    /// Rows without a code, or with one that means that none is known.
    NoCode,
    /// Measurements without a number.
    NoValue,
    /// Measurements in another unit than the code's, which no table converts.
    OtherUnit,
    /// Ends of encounters before their beginnings.
    EndBeforeBegin,
    /// Births after the first encounter.
    BirthAfterVisit,
    /// Rows of no encounter from before the birth.
    BeforeBirth,
    /// Times before the beginning of their encounter, which counts instead.
    EarlyTime,
    /// Offsets from UTC in times, of which the clock on the wall counts.
    Offset,
    /// Rows whose code the map does not have.
    Unmapped,
    /// Rows whose code the encounter, or the static visit, has already.
    Repeated,
    /// Static values after the first of their kind.
    LaterStatic,
    /// Encounters without a code.
    EmptyVisits,
    /// Encounters after the number to keep.
    CutVisits,
    /// Codes that too few subjects have.
    RareCodes,
    /// How often those codes were in records.
    RareOccurrences,
}

impl Reason {
    /// All reasons, in their order.
    const ALL: [Self; 22] = [
        Self::NoVisits,
        Self::UnknownSex,
        Self::UnknownAge,
        Self::UnknownSubject,
        Self::UnknownVisit,
        Self::NoVisit,
        Self::NoDate,
        Self::NoCode,
        Self::NoValue,
        Self::OtherUnit,
        Self::EndBeforeBegin,
        Self::BirthAfterVisit,
        Self::BeforeBirth,
        Self::EarlyTime,
        Self::Offset,
        Self::Unmapped,
        Self::Repeated,
        Self::LaterStatic,
        Self::EmptyVisits,
        Self::CutVisits,
        Self::RareCodes,
        Self::RareOccurrences,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::NoVisits => "subjects without an encounter",
            Self::UnknownSex => "subjects whose sex is not known",
            Self::UnknownAge => "subjects whose age is not known",
            Self::UnknownSubject => "rows of subjects that are not listed",
            Self::UnknownVisit => "rows of encounters that are not listed",
            Self::NoVisit => "rows without an encounter",
            Self::NoDate => "rows and encounters without a date",
            Self::NoCode => "rows without a known code",
            Self::NoValue => "measurements without a number",
            Self::OtherUnit => "measurements in another unit than the commonest",
            Self::EndBeforeBegin => "ends of encounters before their beginning",
            Self::BirthAfterVisit => "births after the first encounter",
            Self::BeforeBirth => "rows of no encounter from before the birth",
            Self::EarlyTime => "times before the beginning of their encounter, which counts",
            Self::Offset => "offsets from UTC in times; the clock on the wall counts",
            Self::Unmapped => "rows whose code is not in the map",
            Self::Repeated => "rows whose code the visit has already",
            Self::LaterStatic => "static values after the first of their kind",
            Self::EmptyVisits => "encounters without a code",
            Self::CutVisits => "encounters after the number to keep",
            Self::RareCodes => "codes that too few subjects have",
            Self::RareOccurrences => "rows of codes that too few subjects have",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

/// How much was left out for which reason, as counts that add up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reasons([u64; Reason::ALL.len()]);

impl Reasons {
    /// Counts what was left out.
    pub fn put(&mut self, reason: Reason, count: u64) {
        if let Some(at) = Reason::ALL.iter().position(|&one| one == reason) {
            self.0[at] += count;
        }
    }

    /// Adds them to what an import left out.
    pub fn put_into(&self, summary: &mut ImportSummary) {
        Reason::ALL
            .into_iter()
            .zip(self.0)
            .for_each(|(reason, count)| summary.drop_many(reason, count));
    }
}

impl Coded for Reasons {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Coded::read(from).map(Self)
    }
}

impl Counts for Reasons {
    fn add(&mut self, other: Self) {
        self.0.add(other.0);
    }
}

/// What an import kept, and what it left out and why.
///
/// ```
/// use consequence_feedback::Unwatched;
/// use consequence_import::{CsvColumns, ImportOptions, Reason, Source, open};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("events.csv");
/// std::fs::write(&path, "subject_id,time,code\n1,2024-01-31,A\n1,2024-01-31,A\n2,2024-02-01,B\n")?;
/// let source = Source::Csv(CsvColumns::default());
/// let (_, summary) = open(&source, &path, &ImportOptions::default(), &Unwatched)?.collect()?;
/// assert_eq!((summary.patients, summary.visits, summary.codes), (2, 2, 2));
/// assert_eq!(summary.dropped(Reason::Repeated), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportSummary {
    /// Rows read, by table.
    pub tables: Vec<(String, u64)>,
    /// Tables that are there and were not read.
    pub unread_tables: Vec<String>,
    /// Columns that were not read, by table.
    pub unread_columns: Vec<(String, Vec<String>)>,
    /// Years of two digits that were completed.
    pub repaired_years: u64,
    /// Records.
    pub patients: u64,
    /// Encounters of all records.
    pub visits: u64,
    /// Codes of all encounters, each once a visit.
    pub codes: u64,
    /// Encounters without a code that were kept.
    pub empty_visits: u64,
    /// Different static codes.
    pub static_vocabulary: u64,
    /// Different codes of encounters.
    pub vocabulary: u64,
    /// Records that were cut, and so have no `END`.
    pub cut: u64,
    /// Records of the train, tuning and held-out split.
    pub splits: [u64; 3],
    /// The years of the first and the last encounter, where encounters have dates.
    pub years: Option<(i64, i64)>,
    /// Encounters of which the end is known.
    pub ends: u64,
    /// Records of which the birth is known.
    pub births: u64,
    /// Encounters that begin on a day after the patient's death.
    pub after_death: u64,
    /// Days after a death of which something is told that belongs to the encounter of the death.
    pub told_late: u64,
    /// Tests with values.
    pub tests: u64,
    /// Values in records.
    pub values: u64,
    /// Different results in words.
    pub texts: u64,
    /// What was left out, by reason.
    pub dropped: BTreeMap<Reason, u64>,
}

impl ImportSummary {
    /// How much was left out for a reason.
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.dropped.get(&reason).copied().unwrap_or(0)
    }

    /// Encounters a record.
    pub fn visits_per_patient(&self) -> f64 {
        self.visits as f64 / self.patients.max(1) as f64
    }

    /// Codes an encounter.
    pub fn codes_per_visit(&self) -> f64 {
        self.codes as f64 / self.visits.max(1) as f64
    }

    pub(crate) fn drop_one(&mut self, reason: Reason) {
        self.drop_many(reason, 1);
    }

    pub(crate) fn drop_many(&mut self, reason: Reason, count: u64) {
        if count > 0 {
            *self.dropped.entry(reason).or_default() += count;
        }
    }

    pub(crate) fn count_split(&mut self, split: Split) {
        let index = Split::ALL.iter().position(|one| *one == split);
        if let Some(count) = index.and_then(|index| self.splits.get_mut(index)) {
            *count += 1;
        }
    }
}

impl fmt::Display for ImportSummary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} patients, {} encounters ({:.2} a patient), {:.2} codes an encounter",
            self.patients,
            self.visits,
            self.visits_per_patient(),
            self.codes_per_visit()
        )?;
        write!(
            out,
            "vocabulary: {} static codes and {} of encounters",
            self.static_vocabulary, self.vocabulary
        )?;
        if self.cut > 0 {
            write!(out, "\n{} records cut, so that they have no end", self.cut)?;
        }
        if let Some((first, last)) = self.years {
            write!(out, "\nyears {first} to {last}")?;
        }
        if self.tests + self.texts > 0 {
            let Self { tests, values, texts, .. } = self;
            write!(out, "\n{values} values of {tests} tests, {texts} results in words")?;
        }
        if self.after_death > 0 {
            write!(out, "\n{} encounters after a death", self.after_death)?;
        }
        if self.told_late > 0 {
            write!(out, "\n{} days after a death joined to its encounter", self.told_late)?;
        }
        if self.repaired_years > 0 {
            write!(out, "\n{} years of two digits completed", self.repaired_years)?;
        }
        for (reason, count) in &self.dropped {
            write!(out, "\nleft out: {reason} ({count})")?;
        }
        if !self.unread_tables.is_empty() {
            write!(out, "\ntables not read: {}", self.unread_tables.join(", "))?;
        }
        for (table, columns) in &self.unread_columns {
            write!(out, "\ncolumns not read of {table}: {}", columns.join(", "))?;
        }
        Ok(())
    }
}
