//! Reading a source, and what is known once it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use consequence_feedback::Watch;
use consequence_record::{
    Code, Cohort, CohortDetails, Concept, DEATH, DayBand, Details, Kind, Scale, Split, Vocabulary,
};
use consequence_tables::Dataset;
use rustc_hash::FxHashMap;

use crate::build::Profile;
use crate::codes::{Codes, Role, test_of_part};
use crate::collector::{Collector, Subjects, scratch};
use crate::event::{Event, Fact, Value};
use crate::finals::{Cuts, Finals, Made, Seen, sort_key};
use crate::records::Records;
use crate::runs::Runs;
use crate::sources::{self, Gathered};
use crate::summary::{ImportSummary, Reason};
use crate::tally::{Habits, Tally};
use crate::units::Measures;
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
    let mut options = options.clone();
    let bands = options.age_bands.get_or_insert_with(|| source.age_bands().to_vec());
    if !bands.is_sorted_by(|one, next| one < next) {
        let rising = ImportProblem::Option("the bounds of the age bands do not rise".into());
        return Err(ImportError::whole(file, rising));
    }
    check(&options).map_err(|problem| ImportError::whole(Arc::clone(&file), problem))?;
    let mut collector = Collector::new(&options, watch);
    let gathered = sources::gather(source, path, &mut collector)?;
    Import::settle(collector, gathered, file, watch)
}

/// Refuses options that make no sense.
fn check(options: &ImportOptions) -> Result<(), ImportProblem> {
    let refuse = |text: &str| Err(ImportProblem::Option(text.into()));
    if options.quantiles != 0 && !(2..=1000).contains(&options.quantiles) {
        return refuse("values can be put into 2 to 1000 parts, or left out with 0");
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
    pub(crate) measures: Measures,
    pub(crate) finals: Finals,
    /// The code of death, where it was told of any subject.
    pub(crate) death: Option<usize>,
    pub(crate) habits: Habits,
    /// The code of each of the finals; none for those that are left out.
    pub(crate) kept: Vec<Option<Code>>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) titles: BTreeMap<Code, String>,
    pub(crate) concepts: BTreeMap<Code, Concept>,
    pub(crate) scales: BTreeMap<Code, Scale>,
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
        let Gathered { mut profile, truncate, told } = gathered;
        let whole = |problem: ImportProblem| ImportError::whole(Arc::clone(&file), problem);
        let dated = profile.dated && !profile.own;
        let given: Vec<DayBand> = bands(&codes, DayBand::of_gap).collect();
        profile.gaps = dated && options.gaps && given.is_empty();
        profile.stays = dated && bands(&codes, DayBand::of_stay).next().is_none();
        // Where a source has gaps of the same bands, encounters that are left out may call for others.
        let usual = DayBand::gaps();
        let known = !given.is_empty() && given.iter().all(|band| usual.contains(band));
        let made = Made {
            gaps: profile.gaps || known,
            stays: profile.stays,
            ages: profile.age || profile.births,
        };
        let mut finals = Finals::new(&codes, truncate, made, options).map_err(whole)?;
        let measures = Measures::new(&units, &codes, &finals, options.units.as_ref());
        let ranks = subjects.ranks();
        subjects.settle();
        let rank = |event: &Event| ranks.get(event.subject as usize).copied();
        runs.finish(rank).map_err(|error| scratch(options, error))?;
        // One that was mapped or cut is not what was told of.
        let told_of = |finals: &Finals, raw: usize| {
            let whole = |&code: &u32| finals.names[code as usize] == *codes.entries()[raw].name;
            finals.test(raw).filter(whole)
        };
        for (raw, scale) in told.scales {
            if let Some(code) = told_of(&finals, raw) {
                finals.scales.insert(code, scale);
            }
        }
        finals.unused = told.unused.into_iter().filter_map(|raw| told_of(&finals, raw)).collect();
        if options.quantiles > 0 && !profile.own {
            let sources = Measured { codes: &codes, finals: &finals, measures: &measures };
            let (cuts, placed) = cut(&runs, &ranks, &subjects, &sources, options)
                .map_err(|error| scratch(options, error))?;
            for code in placed {
                finals.add_scale(code, measures.unit(code));
            }
            finals.add_parts(cuts, &measures).map_err(whole)?;
        }
        let is_death = |fact: &Fact| {
            fact.code().is_some_and(|number| codes.entries()[number].is(Role::Encounter))
        };
        let death = codes.find(DEATH).filter(is_death).and_then(Fact::code);
        let mut import = Self {
            file: Arc::clone(&file),
            options: options.clone(),
            profile,
            subjects,
            ranks,
            codes,
            runs,
            measures,
            kept: vec![None; finals.names.len()],
            finals,
            death,
            habits: Habits::default(),
            vocabulary: Arc::new(Vocabulary::new::<&str>([]).map_err(|error| whole(error.into()))?),
            titles: BTreeMap::new(),
            concepts: BTreeMap::new(),
            scales: BTreeMap::new(),
            summary,
        };
        watch.begin("counting", None);
        import.number_codes()?;
        watch.finish();
        Ok(import)
    }

    /// Numbers the codes that occur in enough records.
    fn number_codes(&mut self) -> Result<(), ImportError> {
        let (mut tally, summary) = Tally::of(self, None)?;
        if tally.records == 0 {
            let dropped: Vec<String> = summary
                .dropped
                .iter()
                .chain(&self.summary.dropped)
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            let why = if dropped.is_empty() { "it is empty".into() } else { dropped.join(", ") };
            return Err(self.fail(ImportProblem::NoRecords(why)));
        }
        if self.profile.gaps {
            let old: Vec<u32> = self.finals.gaps().collect();
            let bands = DayBand::gaps_with(&tally.days_of_their_own());
            let set = self.finals.set_gaps(bands);
            set.map_err(|problem| self.fail(problem))?;
            self.kept.resize(self.finals.names.len(), None);
            tally.renew_gaps(&old, &self.finals);
        }
        let finals = &self.finals;
        let is_rare = |(number, &patients): (usize, &u64)| {
            !finals.always_kept(number) && patients > 0 && patients < self.options.min_patients
        };
        let rare: Vec<bool> = tally.patients.iter().enumerate().map(is_rare).collect();
        self.summary.drop_many(Reason::RareCodes, rare.iter().filter(|rare| **rare).count() as u64);
        if self.options.drop_empty && rare.contains(&true) {
            // Without the encounters that they leave empty, others are the next to each other.
            tally = Tally::of(self, Some(&rare))?.0;
        }
        let Tally { mut patients, values, habits, .. } = tally;
        if self.profile.stays {
            // Where every stay is of no day, saying so says nothing.
            let longer = |code: u32| patients[code as usize] > 0 && finals.stay(0) != Some(code);
            if !finals.stays().any(longer) {
                self.profile.stays = false;
                finals.stays().for_each(|code| patients[code as usize] = 0);
            }
        }
        self.habits = habits;
        // A code that no record has is one that too few patients have, where that is asked.
        let is_told = |number: usize| {
            self.options.min_patients == 0 && finals.unused.contains(&(number as u32))
        };
        let mut kept: Vec<usize> = (0..patients.len())
            .filter(|&number| patients[number] > 0 && !rare[number] || is_told(number))
            .collect();
        let is_encounter = |number: usize| finals.kinds[number] == Kind::Encounter;
        kept.sort_by_key(|&number| (is_encounter(number), &finals.names[number]));
        let names = kept.iter().map(|&number| (&finals.names[number], finals.kinds[number]));
        let vocabulary = Vocabulary::new(names).map_err(|error| self.fail(error.into()))?;
        let mut tests: BTreeSet<&str> = BTreeSet::new();
        for (index, &number) in kept.iter().enumerate() {
            let code = Code(index as u32);
            self.kept[number] = Some(code);
            let given = self.options.titles.as_ref().and_then(|all| all.of(&finals.names[number]));
            if let Some(title) = given.or(finals.titles[number].as_deref()) {
                self.titles.insert(code, title.to_owned());
            }
            if let Some(concept) = finals.concepts.get(&(number as u32)) {
                self.concepts.insert(code, concept.clone());
            }
            if let Some(scale) = finals.scales.get(&(number as u32)) {
                tests.insert(&scale.test);
                let mut scale = scale.clone();
                if !self.profile.own {
                    scale.count = values.get(&(number as u32)).copied().unwrap_or(0);
                }
                self.scales.insert(code, scale);
            }
            match finals.kinds[number] {
                Kind::Static => self.summary.static_vocabulary += 1,
                Kind::Encounter => self.summary.vocabulary += 1,
            }
        }
        self.summary.tests = tests.len() as u64;
        self.summary.texts = finals.texts(|code| self.kept[code as usize].is_some());
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

    /// What the values of codes are, for those that have any.
    pub fn scales(&self) -> &BTreeMap<Code, Scale> {
        &self.scales
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
        let mut known = self.profile.dated;
        for record in &mut records {
            let record = record?;
            known |= record.details != Details::default();
            cohort.push(&record.id, &record.record);
            splits.push(record.split);
            details.push(record.details.view());
        }
        let mut dataset = Dataset::new(cohort, self.vocabulary());
        dataset.splits = splits;
        dataset.titles = self.titles.clone();
        dataset.concepts = self.concepts.clone();
        dataset.scales = self.scales.clone();
        dataset.details = known.then_some(details);
        Ok((dataset, records.summary().clone()))
    }

    pub(crate) fn fail(&self, problem: ImportProblem) -> ImportError {
        ImportError::whole(Arc::clone(&self.file), problem)
    }
}

/// The bands of days that codes of a source tell.
fn bands(codes: &Codes, band: fn(&str) -> Option<DayBand>) -> impl Iterator<Item = DayBand> {
    codes.entries().iter().filter_map(move |code| band(&code.name))
}

/// What is known of the values of a source.
struct Measured<'a> {
    codes: &'a Codes,
    finals: &'a Finals,
    measures: &'a Measures,
}

/// Finds where the values of tests are cut, from those of the train split; and the codes that are
/// parts of values already.
fn cut(
    runs: &Runs<Event>,
    ranks: &[u32],
    subjects: &Subjects,
    sources: &Measured<'_>,
    options: &ImportOptions,
) -> io::Result<(Cuts, BTreeSet<u32>)> {
    let mut values = Runs::new(options.limits.batch_events, options.scratch.as_deref());
    let mut seen: FxHashMap<u32, Seen> = FxHashMap::default();
    let mut placed = BTreeSet::new();
    let mut split = None;
    for event in runs.merged(|event| ranks.get(event.subject as usize).copied()) {
        let event = event?;
        let Some(raw) = event.fact.code().filter(|_| !event.value.is_nan()) else { continue };
        let Some(test) = sources.finals.test(raw) else { continue };
        let Ok(value) = sources.measures.value(event.fact.0, event.unit, event.value) else {
            continue;
        };
        if test_of_part(&sources.codes.entries()[raw].name).is_some() {
            placed.insert(test);
            continue;
        }
        let of_subject = match split {
            Some((subject, of_subject)) if subject == event.subject => of_subject,
            _ => subjects.split(event.subject),
        };
        split = Some((event.subject, of_subject));
        let seen = seen.entry(test).or_insert(Seen { train: 0, largest: f32::NEG_INFINITY });
        seen.largest = seen.largest.max(value);
        if of_subject == Split::Train {
            seen.train += 1;
            if values.full() {
                values.flush(sort_key)?;
            }
            values.push(Value { code: test, value });
        }
    }
    values.finish(sort_key)?;
    Ok((Cuts::new(&values, &seen, options.quantiles)?, placed))
}
