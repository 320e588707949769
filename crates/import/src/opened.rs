//! Reading a source, and what is known once it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use consequence_feedback::Watch;
use consequence_record::{Code, Cohort, CohortDetails, Concept, Details, Scale, Vocabulary};
use consequence_tables::Dataset;

use crate::codes::test_of_part;
use crate::collector::{Collector, Subjects, scratch};
use crate::event::Event;
use crate::finals::{Cuts, Seen};
use crate::known::Known;
use crate::records::Records;
use crate::runs::Runs;
use crate::sources::{self, Gathered};
use crate::summary::ImportSummary;
use crate::tally::Tally;
use crate::{ImportError, ImportOptions, ImportProblem, Source};

/// Reads a source, in a folder of tables or a file. `watch` is told of every table, and of its bytes
/// as they are read.
pub fn open(
    source: &Source,
    path: impl AsRef<Path>,
    options: &ImportOptions,
    watch: &dyn Watch,
) -> Result<Import, ImportError> {
    let path = path.as_ref();
    let file: Arc<str> = path.display().to_string().into();
    let options = checked(options.clone(), source)
        .map_err(|problem| ImportError::whole(Arc::clone(&file), problem))?;
    let mut collector = Collector::new(&options, watch);
    let gathered = sources::gather(source, path, &mut collector)?;
    Import::settle(collector, gathered, file, watch)
}

/// Options with what is usual for a source; those that make no sense are refused.
pub(crate) fn checked(
    mut options: ImportOptions,
    source: &Source,
) -> Result<ImportOptions, ImportProblem> {
    let refuse = |text: &str| Err(ImportProblem::Option(text.into()));
    let bands = options.age_bands.get_or_insert_with(|| source.age_bands().to_vec());
    if !bands.is_sorted_by(|one, next| one < next) {
        return refuse("the bounds of the age bands do not rise");
    }
    if options.quantiles != 0 && !(2..=1000).contains(&options.quantiles) {
        return refuse("values can be put into 2 to 1000 parts, or left out with 0");
    }
    if options.truncate == Some(0) {
        return refuse("a code cannot be cut to no characters");
    }
    if options.max_visits == Some(0) {
        return refuse("a record has at least one encounter to keep");
    }
    Ok(options)
}

/// A source that was read: its vocabulary, and its records in the order of their identifiers.
pub struct Import {
    pub(crate) file: Arc<str>,
    pub(crate) known: Known,
    pub(crate) subjects: Subjects,
    pub(crate) ranks: Vec<u32>,
    pub(crate) runs: Runs<Event>,
    pub(crate) summary: ImportSummary,
}

impl fmt::Debug for Import {
    /// Tells of the import as a whole, and nothing of a subject.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Import").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Import {
    /// Counts what records will hold, and fixes the vocabulary.
    fn settle(
        collector: Collector<'_>,
        gathered: Gathered,
        file: Arc<str>,
        watch: &dyn Watch,
    ) -> Result<Self, ImportError> {
        let Collector { options, mut subjects, codes, units, summary, mut runs, .. } = collector;
        let whole = |problem: ImportProblem| ImportError::whole(Arc::clone(&file), problem);
        let mut known = Known::new(codes, &units, gathered, options).map_err(whole)?;
        let ranks = subjects.ranks();
        subjects.settle();
        let rank = |event: &Event| ranks.get(event.subject as usize).copied();
        runs.finish(rank).map_err(|error| scratch(options, error))?;
        if known.cuts_values() {
            let (cuts, placed) =
                cut(&runs, &ranks, &subjects, &known).map_err(|error| scratch(options, error))?;
            known.cut(cuts, placed).map_err(whole)?;
        }
        let mut import = Self { file, known, subjects, ranks, runs, summary };
        watch.begin("counting", None);
        import.number_codes()?;
        watch.finish();
        Ok(import)
    }

    /// Numbers the codes that occur in enough records.
    fn number_codes(&mut self) -> Result<(), ImportError> {
        let (mut counted, left_out) = Tally::of(self, None)?;
        if counted.records == 0 {
            let dropped: Vec<String> = left_out
                .dropped
                .iter()
                .chain(&self.summary.dropped)
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            let why = if dropped.is_empty() { "it is empty".into() } else { dropped.join(", ") };
            return Err(self.fail(ImportProblem::NoRecords(why)));
        }
        let renewed = self.known.renew_gaps(&mut counted);
        renewed.map_err(|problem| self.fail(problem))?;
        let rare = self.known.rare(&counted);
        if self.known.options.drop_empty && rare.contains(&true) {
            // Without the encounters that they leave empty, others are the next to each other.
            counted = Tally::of(self, Some(&rare))?.0;
        }
        let numbered = self.known.number(counted, &rare, &mut self.summary);
        numbered.map_err(|problem| self.fail(problem))
    }

    /// The codes of the records, static codes first and each kind sorted by name.
    pub fn vocabulary(&self) -> Arc<Vocabulary> {
        Arc::clone(&self.known.vocabulary)
    }

    /// What codes mean, where the source tells.
    pub fn titles(&self) -> &BTreeMap<Code, String> {
        &self.known.titles
    }

    /// The OMOP concepts that codes stand for, where the source tells.
    pub fn concepts(&self) -> &BTreeMap<Code, Concept> {
        &self.known.concepts
    }

    /// What the values of codes are, for those that have any.
    pub fn scales(&self) -> &BTreeMap<Code, Scale> {
        &self.known.scales
    }

    /// Whether encounters have dates, rather than an order only.
    pub fn dated(&self) -> bool {
        self.known.profile.dated
    }

    /// The records in the order of their identifiers: numbers by size, then text.
    pub fn records(&self) -> Records<'_> {
        Records::new(self)
    }

    /// All records in memory.
    pub fn collect(&self) -> Result<(Dataset, ImportSummary), ImportError> {
        let mut cohort = Cohort::default();
        let mut details = CohortDetails::default();
        let mut records = self.records();
        let mut splits = Vec::new();
        let mut known = self.known.profile.dated;
        for record in &mut records {
            let record = record?;
            known |= record.details != Details::default();
            cohort.push(&record.id, &record.record);
            splits.push(record.split);
            details.push(record.details.view());
        }
        let mut dataset = Dataset::new(cohort, self.vocabulary());
        dataset.splits = splits;
        dataset.titles = self.known.titles.clone();
        dataset.concepts = self.known.concepts.clone();
        dataset.scales = self.known.scales.clone();
        dataset.details = known.then_some(details);
        Ok((dataset, records.summary().clone()))
    }

    pub(crate) fn fail(&self, problem: ImportProblem) -> ImportError {
        ImportError::whole(Arc::clone(&self.file), problem)
    }
}

/// Finds where the values of tests are cut, from those of the train split; and the codes that are
/// parts of values already.
fn cut(
    runs: &Runs<Event>,
    ranks: &[u32],
    subjects: &Subjects,
    known: &Known,
) -> io::Result<(Cuts, BTreeSet<u32>)> {
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let mut placed = BTreeSet::new();
    let mut split = None;
    for event in runs.merged(|event| ranks.get(event.subject as usize).copied()) {
        let event = event?;
        let Some(raw) = event.fact.code().filter(|_| !event.value.is_nan()) else { continue };
        let Some(test) = known.finals.test(raw) else { continue };
        let Ok(value) = known.measures.value(event.fact.0, event.unit, event.value) else {
            continue;
        };
        if test_of_part(&known.codes.entries()[raw].name).is_some() {
            placed.insert(test);
            continue;
        }
        let of_subject = match split {
            Some((subject, of_subject)) if subject == event.subject => of_subject,
            _ => subjects.split(event.subject),
        };
        split = Some((event.subject, of_subject));
        seen.entry(test).or_default().see(value, of_subject);
    }
    Ok((Cuts::new(&seen, known.options.quantiles), placed))
}
