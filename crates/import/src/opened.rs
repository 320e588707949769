//! Reading a source, and what is known once it is read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use consequence_feedback::Watch;
use consequence_record::{Code, Cohort, CohortDetails, Concept, Kind, Split, Vocabulary};
use consequence_tables::Dataset;
use rustc_hash::FxHashMap;

use crate::build::Profile;
use crate::codes::Codes;
use crate::collector::{Collector, Subjects, scratch};
use crate::event::{Event, Value};
use crate::finals::{Cuts, Finals, sort_key};
use crate::records::{Drafts, Records};
use crate::runs::Runs;
use crate::summary::{ImportSummary, Reason};
use crate::{ImportError, ImportOptions, ImportProblem, Source, sources};

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
    check(options).map_err(|problem| ImportError::whole(Arc::clone(&file), problem))?;
    let mut collector = Collector::new(options, watch);
    let gathered = sources::gather(source, path, &mut collector)?;
    Import::settle(collector, gathered.profile, gathered.truncate, file, watch)
}

/// Refuses options that make no sense.
fn check(options: &ImportOptions) -> Result<(), ImportProblem> {
    let refuse = |text: &str| Err(ImportProblem::Option(text.into()));
    if !options.age_bands.is_sorted_by(|one, next| one < next) {
        return refuse("the bounds of the age bands do not rise");
    }
    if options.quantiles.is_some_and(|parts| !(2..=1000).contains(&parts)) {
        return refuse("values can be put into 2 to 1000 parts");
    }
    if options.truncate == Some(0) {
        return refuse("a code cannot be cut to no characters");
    }
    if options.max_visits == Some(0) {
        return refuse("a record has at least one encounter to keep");
    }
    Ok(())
}

/// A source that was read: its vocabulary, and its records in the order of their identifiers.
pub struct Import {
    pub(crate) file: Arc<str>,
    pub(crate) options: ImportOptions,
    pub(crate) profile: Profile,
    pub(crate) subjects: Subjects,
    pub(crate) ranks: Vec<u32>,
    pub(crate) codes: Codes,
    pub(crate) runs: Runs<Event>,
    pub(crate) cuts: Cuts,
    pub(crate) finals: Finals,
    /// The code of each of the finals; none for those that are left out.
    pub(crate) kept: Vec<Option<Code>>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) titles: BTreeMap<Code, String>,
    pub(crate) concepts: BTreeMap<Code, Concept>,
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
        profile: Profile,
        truncate: Option<usize>,
        file: Arc<str>,
        watch: &dyn Watch,
    ) -> Result<Self, ImportError> {
        let Collector { options, mut subjects, codes, summary, mut runs, .. } = collector;
        let whole = |problem: ImportProblem| ImportError::whole(Arc::clone(&file), problem);
        if options.gaps && !profile.dated {
            let text = "times between encounters are asked for, but the source has no dates";
            return Err(whole(ImportProblem::Option(text.into())));
        }
        let ranks = subjects.ranks();
        subjects.settle();
        let rank = |event: &Event| ranks.get(event.subject as usize).copied();
        runs.finish(rank).map_err(|error| scratch(options, error))?;
        let cuts = match options.quantiles {
            Some(parts) => cut(&runs, &ranks, &subjects, parts, options)
                .map_err(|error| scratch(options, error))?,
            None => Cuts::default(),
        };
        let finals = Finals::new(&codes, truncate, &cuts, options).map_err(whole)?;
        let mut import = Self {
            file: Arc::clone(&file),
            options: options.clone(),
            profile,
            subjects,
            ranks,
            codes,
            runs,
            cuts,
            kept: vec![None; finals.names.len()],
            finals,
            vocabulary: Arc::new(Vocabulary::new::<&str>([]).map_err(|error| whole(error.into()))?),
            titles: BTreeMap::new(),
            concepts: BTreeMap::new(),
            summary,
        };
        watch.begin("counting", None);
        import.number_codes()?;
        watch.finish();
        Ok(import)
    }

    /// Numbers the codes that occur in enough records.
    fn number_codes(&mut self) -> Result<(), ImportError> {
        let mut patients = vec![0_u64; self.finals.names.len()];
        let mut last = vec![0_u64; patients.len()];
        let mut drafts = Drafts::new(self, ImportSummary::default());
        let mut count = 0_u64;
        while let Some((_, draft)) = drafts.advance()? {
            count += 1;
            let encounter = draft.visits.iter().flat_map(|visit| &visit.codes);
            for &code in draft.statics.iter().chain(encounter) {
                let seen = &mut last[code as usize];
                if *seen != count {
                    *seen = count;
                    patients[code as usize] += 1;
                }
            }
        }
        if count == 0 {
            let dropped: Vec<String> = drafts
                .summary
                .dropped
                .iter()
                .chain(&self.summary.dropped)
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            let why = if dropped.is_empty() { "it is empty".into() } else { dropped.join(", ") };
            return Err(self.fail(ImportProblem::NoRecords(why)));
        }
        drop(drafts);
        let finals = &self.finals;
        let mut kept: Vec<usize> = Vec::new();
        for (number, &patients) in patients.iter().enumerate() {
            if patients > 0 && (finals.always_kept(number) || patients >= self.options.min_patients)
            {
                kept.push(number);
            } else if patients > 0 {
                self.summary.drop_one(Reason::RareCodes);
            }
        }
        let is_encounter = |number: usize| finals.kinds[number] == Kind::Encounter;
        kept.sort_by_key(|&number| (is_encounter(number), &finals.names[number]));
        let names = kept.iter().map(|&number| (&finals.names[number], finals.kinds[number]));
        let vocabulary = Vocabulary::new(names).map_err(|error| self.fail(error.into()))?;
        for (index, &number) in kept.iter().enumerate() {
            let code = Code(index as u32);
            self.kept[number] = Some(code);
            if let Some(title) = &finals.titles[number] {
                self.titles.insert(code, title.to_string());
            }
            if let Some(concept) = finals.concepts.get(&(number as u32)) {
                self.concepts.insert(code, concept.clone());
            }
            match finals.kinds[number] {
                Kind::Static => self.summary.static_vocabulary += 1,
                Kind::Encounter => self.summary.vocabulary += 1,
            }
        }
        self.vocabulary = Arc::new(vocabulary);
        Ok(())
    }

    /// The codes of the records, static codes first and each kind sorted by name.
    pub fn vocabulary(&self) -> Arc<Vocabulary> {
        Arc::clone(&self.vocabulary)
    }

    /// What codes mean, where the source tells.
    pub fn titles(&self) -> &BTreeMap<Code, String> {
        &self.titles
    }

    /// The OMOP concepts that codes stand for, where the source tells.
    pub fn concepts(&self) -> &BTreeMap<Code, Concept> {
        &self.concepts
    }

    /// Whether encounters have dates, rather than an order only.
    pub fn dated(&self) -> bool {
        self.profile.dated
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
        for record in &mut records {
            let record = record?;
            cohort.push(&record.id, &record.record);
            splits.push(record.split);
            details.push(record.details.view());
        }
        let mut dataset = Dataset::new(cohort, self.vocabulary());
        dataset.splits = splits;
        dataset.titles = self.titles.clone();
        dataset.concepts = self.concepts.clone();
        dataset.details = self.profile.dated.then_some(details);
        Ok((dataset, records.summary().clone()))
    }

    pub(crate) fn fail(&self, problem: ImportProblem) -> ImportError {
        ImportError::whole(Arc::clone(&self.file), problem)
    }
}

/// Finds where the values of codes are cut, from those of the train split.
fn cut(
    runs: &Runs<Event>,
    ranks: &[u32],
    subjects: &Subjects,
    parts: usize,
    options: &ImportOptions,
) -> io::Result<Cuts> {
    let mut values = Runs::new(options.limits.batch_events, options.scratch.as_deref());
    let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
    let mut split = None;
    for event in runs.merged(|event| ranks.get(event.subject as usize).copied()) {
        let event = event?;
        let Some(code) = event.fact.code().filter(|_| !event.value.is_nan()) else { continue };
        let of_subject = match split {
            Some((subject, of_subject)) if subject == event.subject => of_subject,
            _ => subjects.split(event.subject),
        };
        split = Some((event.subject, of_subject));
        let count = counts.entry(code as u32).or_default();
        if of_subject == Split::Train {
            *count += 1;
            if values.full() {
                values.flush(sort_key)?;
            }
            values.push(Value { code: code as u32, value: event.value });
        }
    }
    values.finish(sort_key)?;
    Cuts::new(&values, &counts, parts)
}
