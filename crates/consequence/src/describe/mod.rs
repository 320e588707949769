//! What a cohort looks like.

mod page;
mod text;

use std::path::PathBuf;

use consequence_evaluate::{DescribeCounts, Describer, Description, Spread};
use consequence_pipeline::parts::Outline;
use consequence_pipeline::{CohortInput, Error, Out, Report, Task, Watch};
use consequence_record::calendar::{DAY, Date};
use consequence_record::{Code, Part, Split, Vocabulary};
use consequence_tally::{Rounds, Whose};
use serde::Serialize;

use crate::look::{Source, Titles};

/// A cohort to be described.
///
/// ```
/// use consequence::describe::DescribeTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let cohort = folder.path().join("a.jsonl");
/// std::fs::write(&cohort, r#"{"id": 1, "static": ["SEX//F"], "visits": [["ICD9CM//250"], []]}"#)?;
/// let report = DescribeTask::new(cohort).run(&Unwatched)?;
/// assert_eq!((report.described.patients, report.described.encounters), (1, 2));
/// assert_eq!(report.commonest[0].code, "ICD9CM//250");
/// assert_eq!(report.described.odd.empty_encounters.count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DescribeTask {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// Lists of codes with titles, for codes that the cohort gives none.
    pub titles: Vec<PathBuf>,
    /// Codes and tests that are told; the rest are counted.
    pub top: usize,
    /// Only records of this split; none: all records.
    pub split: Option<Split>,
    /// What fewer patients than this have is not told, nor the ends of spreads; 0: all is.
    pub hide_below: u64,
    /// A page to write.
    pub html: Option<Out>,
}

impl DescribeTask {
    /// All records, titles of the cohort alone, and no page.
    pub fn new(cohort: impl Into<CohortInput>) -> Self {
        Self {
            cohort: cohort.into(),
            titles: Vec::new(),
            top: 20,
            split: None,
            hide_below: 0,
            html: None,
        }
    }
}

/// What a cohort looks like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DescribeReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The split whose records were looked at; none: all of them.
    pub split: Option<&'static str>,
    /// What fewer patients than this have is not told.
    pub hide_below: u64,
    /// The day on which the first encounter of all began.
    pub first_date: Option<String>,
    /// The day on which the last encounter of all began.
    pub last_date: Option<String>,
    /// The figures.
    #[serde(flatten)]
    pub described: Description,
    /// Codes that have a title.
    pub titled: u64,
    /// Static codes, the commonest first.
    pub statics: Vec<CodeFigures>,
    /// The commonest codes of encounters that tell neither time nor a part of a test's values.
    pub commonest: Vec<CodeFigures>,
    /// Codes of that kind that some patient has, those that are not told included.
    pub commonest_of: u64,
    /// Tests with values, those that are not told included.
    pub tests_of: u64,
    /// Titles of tests, in the order of the tests.
    pub test_titles: Vec<Option<String>>,
    /// The page that was written.
    pub html: Option<String>,
}

/// How often a code was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeFigures {
    /// The code.
    pub code: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// Patients with it.
    pub patients: u64,
    /// Visits with it.
    pub visits: u64,
}

impl CodeFigures {
    pub(crate) fn of(
        code: Code,
        vocabulary: &Vocabulary,
        titles: &Titles,
        described: &Description,
    ) -> Self {
        let seen = described.codes[code.index()];
        Self {
            code: vocabulary.name(code).to_owned(),
            title: titles.of(code).map(str::to_owned),
            patients: seen.patients,
            visits: seen.visits,
        }
    }
}

impl Report for DescribeReport {}

impl Task for DescribeTask {
    type Report = DescribeReport;

    /// Sees every record once.
    fn run(&self, watch: &dyn Watch) -> Result<DescribeReport, Error> {
        let html = self.html.as_ref().map(Out::file).transpose()?;
        let source = Source::open(&self.cohort, &self.titles, watch)?;
        let described = described(&source, self.split, watch)?;
        let mut report =
            DescribeReport::new(self, (source.vocabulary(), &source.titles), described);
        if let Some(html) = html {
            report.html = self.html.as_ref().map(Out::shown);
            let page = report.page().html();
            html.write(|file| file.write_all(page.as_bytes()))?;
        }
        Ok(report)
    }
}

impl DescribeTask {
    /// The same of records that are counted in rounds, in parts or all together. No page is written.
    pub fn counted(
        &self,
        outline: &Outline,
        rounds: &mut Rounds<'_>,
        _watch: &dyn Watch,
    ) -> Result<DescribeReport, Error> {
        let Outline { vocabulary, scales, .. } = outline;
        let counts: DescribeCounts = rounds.count(Whose::Cohort, "describe", |block| {
            let mut describer = Describer::new(vocabulary, scales);
            for (record, index) in block.records.records().zip(block.indices()) {
                let split = block.splits[index];
                if self.split.is_none_or(|wanted| wanted == split) {
                    describer.add(split, record, record.details());
                }
            }
            Ok::<_, Error>(describer.into_counts())
        })?;
        let mut describer = Describer::new(vocabulary, scales);
        describer.add_counts(counts);
        let described = of_split(describer.finish(), self.split)?;
        let titles = Titles::new(vocabulary, &outline.titles, &self.titles)?;
        Ok(DescribeReport::new(self, (vocabulary, &titles), described))
    }
}

/// The figures of a cohort, or of one split of it.
pub(crate) fn described(
    source: &Source,
    split: Option<Split>,
    watch: &dyn Watch,
) -> Result<Description, Error> {
    let mut describer = Describer::new(source.vocabulary(), source.scales());
    source.each(watch, |seen| {
        if split.is_none_or(|split| split == seen.split) {
            describer.add(seen.split, seen.record, seen.details);
        }
        true
    })?;
    of_split(describer.finish(), split)
}

/// Refuses a split without records.
fn of_split(described: Description, split: Option<Split>) -> Result<Description, Error> {
    match split.filter(|_| described.patients == 0) {
        Some(split) => Err(Error::refused(
            format!("no record is in the {split} split"),
            "look at another split, or at all records",
        )),
        None => Ok(described),
    }
}

/// A day as a date.
pub(crate) fn date(day: i64) -> String {
    Date(day * DAY).to_string()
}

impl DescribeReport {
    /// What may be told of a cohort, by its codes and their titles.
    fn new(
        task: &DescribeTask,
        (vocabulary, titles): (&Vocabulary, &Titles),
        mut described: Description,
    ) -> Self {
        let figures = |code| CodeFigures::of(code, vocabulary, titles, &described);
        let ranked = |wanted: &dyn Fn(Code) -> bool| -> Vec<CodeFigures> {
            let codes = vocabulary.codes().filter(|&code| wanted(code));
            let mut found: Vec<CodeFigures> =
                codes.map(figures).filter(|one| one.patients > 0).collect();
            found.sort_by(|one, other| {
                let key = |one: &CodeFigures| std::cmp::Reverse((one.patients, one.visits));
                key(one).cmp(&key(other)).then_with(|| one.code.cmp(&other.code))
            });
            found
        };
        let mut commonest = ranked(&|code| vocabulary.part(code) == Part::Codes);
        let commonest_of = commonest.len() as u64;
        commonest.truncate(task.top);
        let statics = ranked(&|code| vocabulary.part(code) == Part::Static);
        let tests_of = described.tests.len() as u64;
        described.tests.truncate(task.top);
        let test_titles = described.tests.iter().map(|test| {
            let parts = vocabulary
                .codes()
                .filter(|&code| consequence_evaluate::test_name(vocabulary, code) == test.test);
            titles.of_test(parts).map(str::to_owned)
        });
        let mut report = Self {
            cohort: task.cohort.shown(),
            split: task.split.map(Split::name),
            hide_below: task.hide_below,
            first_date: described.first_day.map(date),
            last_date: described.last_day.map(date),
            titled: titles.all().keys().filter(|&&code| code != vocabulary.end()).count() as u64,
            statics,
            commonest,
            commonest_of,
            tests_of,
            test_titles: test_titles.collect(),
            html: None,
            described,
        };
        report.hide();
        report
    }

    /// Takes away what fewer patients have than may be told of.
    fn hide(&mut self) {
        let least = self.hide_below;
        if least == 0 {
            return;
        }
        let spread = |spread: &mut Spread| {
            let whole = std::mem::take(spread);
            *spread = match whole.count < least {
                true => Spread { count: whole.count, ..Spread::default() },
                false => whole.without_ends(),
            };
            // What is told of one number is told of those who have it.
            spread.counts.retain(|&(_, times)| times >= least);
        };
        let described = &mut self.described;
        let lengths = &mut described.lengths;
        spread(&mut lengths.encounters_per_patient);
        spread(&mut lengths.codes_per_encounter);
        spread(&mut lengths.days_between);
        spread(&mut lengths.days_of_record);
        spread(&mut lengths.days_of_stay);
        spread(&mut lengths.age_at_first);
        spread(&mut lengths.age_at_encounters);
        described.years.retain(|year| year.encounters >= least);
        described.families.retain(|family| family.patients >= least);
        let titles = std::mem::take(&mut self.test_titles);
        let tests = std::mem::take(&mut described.tests);
        let told = tests.into_iter().zip(titles).filter(|(test, _)| test.patients >= least);
        (described.tests, self.test_titles) = told.unzip();
        described.tests.iter_mut().for_each(|test| {
            spread(&mut test.values);
            test.far_out = if test.far_out < least { 0 } else { test.far_out };
        });
        described.odd.hide_below(least);
        self.statics.retain(|code| code.patients >= least);
        self.commonest.retain(|code| code.patients >= least);
        // The first and the last date of all are somebody's.
        let month = |date: &mut Option<String>| {
            if let Some(date) = date {
                date.truncate("2000-01".len());
            }
        };
        month(&mut self.first_date);
        month(&mut self.last_date);
    }
}
