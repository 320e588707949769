//! What differs between two cohorts.

mod records;
mod text;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use consequence_evaluate::{Description, SplitCounts, Spread};
use consequence_pipeline::{CohortInput, Error, Report, Task, Watch};
use consequence_record::{Code, Vocabulary};
use serde::Serialize;

use crate::describe::{date, described};
use crate::look::Source;

pub use self::records::RecordCounts;

/// Two cohorts to be held against each other.
///
/// ```
/// use consequence::diff::DiffTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [a, b] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
/// std::fs::write(&a, r#"{"id": 1, "static": [], "visits": [["A"], ["B"]]}"#)?;
/// std::fs::write(&b, r#"{"id": 1, "static": [], "visits": [["A"], ["C"]]}"#)?;
/// let report = DiffTask::new(&a, &b).run(&Unwatched)?;
/// assert!(!report.same && report.records.changed == 1);
/// assert_eq!(report.vocabulary.only_b.codes[0].code, "C");
/// assert!(DiffTask::new(&a, &a).run(&Unwatched)?.same);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiffTask {
    /// One cohort: JSON lines, or a MEDS dataset.
    pub a: CohortInput,
    /// The other.
    pub b: CohortInput,
    /// Lists of codes with titles, for codes that the cohorts give none.
    pub titles: Vec<PathBuf>,
    /// Codes and tests that are told of each kind; the rest are counted.
    pub top: usize,
}

impl DiffTask {
    /// With the titles of the cohorts alone.
    pub fn new(a: impl Into<CohortInput>, b: impl Into<CohortInput>) -> Self {
        Self { a: a.into(), b: b.into(), titles: Vec::new(), top: 20 }
    }
}

/// What differs between two cohorts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffReport {
    /// Whether nothing differs: the same codes with the same titles, and the same records of the same
    /// patients. The order of codes and of records does not count.
    pub same: bool,
    /// One cohort.
    pub a: Side,
    /// The other.
    pub b: Side,
    /// Records, by the ids of their patients.
    pub records: RecordCounts,
    /// Codes.
    pub vocabulary: VocabularyDifference,
    /// Lengths and ages in both.
    pub lengths: Vec<LengthsOfBoth>,
    /// Codes of both whose shares of patients differ most for their number, by z.
    pub frequencies: Vec<Frequency>,
    /// Codes that some patient of either has.
    pub frequencies_of: u64,
    /// Values of tests in both.
    pub tests: Vec<TestOfBoth>,
    /// Tests of either.
    pub tests_of: u64,
}

/// How large a cohort is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// Records.
    pub patients: u64,
    /// Encounters of all records.
    pub encounters: u64,
    /// Codes of all encounters, each once a visit.
    pub events: u64,
    /// Values of codes.
    pub values: u64,
    /// Records with a birth.
    pub births: u64,
    /// Static codes of the vocabulary.
    pub static_vocabulary: u64,
    /// Codes of encounters in the vocabulary.
    pub codes: u64,
    /// Those of them that some patient has.
    pub codes_seen: u64,
    /// The day on which the first encounter of all began.
    pub first_date: Option<String>,
    /// The day on which the last one began.
    pub last_date: Option<String>,
    /// Records of each split.
    pub splits: SplitCounts,
}

/// How two vocabularies differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VocabularyDifference {
    /// Codes of both.
    pub in_both: u64,
    /// Codes of the first alone.
    pub only_a: OnlyCodes,
    /// Codes of the second alone.
    pub only_b: OnlyCodes,
    /// Codes that are static in one and of encounters in the other.
    pub other_kind: Vec<String>,
    /// Codes with a title in both, and not the same.
    pub other_title: u64,
    /// Codes with another unit or other cut points.
    pub other_scale: u64,
}

/// Codes of one cohort alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OnlyCodes {
    /// How many.
    pub count: u64,
    /// Those that most patients have.
    pub codes: Vec<OnlyCode>,
}

/// A code of one cohort alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyCode {
    /// The code.
    pub code: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// Patients with it.
    pub patients: u64,
}

/// The same lengths in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LengthsOfBoth {
    /// What is measured.
    pub name: &'static str,
    /// In the first.
    pub a: Spread,
    /// In the second.
    pub b: Spread,
}

/// How many patients have a code in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frequency {
    /// The code.
    pub code: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// Patients of the first with it.
    pub a: u64,
    /// Patients of the second with it.
    pub b: u64,
    /// How many standard errors the second share is above the first.
    pub z: f64,
}

/// The values of a test in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestOfBoth {
    /// The test.
    pub test: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// The unit in the first.
    pub unit_a: Option<String>,
    /// The unit in the second.
    pub unit_b: Option<String>,
    /// In the first.
    pub a: Spread,
    /// In the second.
    pub b: Spread,
}

impl Report for DiffReport {
    fn found(&self) -> bool {
        !self.same
    }
}

/// A cohort that was seen.
struct Looked {
    name: String,
    source: Source,
    described: Description,
}

impl Task for DiffTask {
    type Report = DiffReport;

    /// Sees every record of both.
    fn run(&self, watch: &dyn Watch) -> Result<DiffReport, Error> {
        let look = |cohort: &CohortInput| -> Result<Looked, Error> {
            let source = Source::open(cohort, &self.titles, watch)?;
            let described = described(&source, None, watch)?;
            Ok(Looked { name: cohort.shown(), source, described })
        };
        let [a, b] = [look(&self.a)?, look(&self.b)?];
        let records = RecordCounts::of(&a.source, &b.source, watch)?;
        let vocabulary = vocabularies(&a, &b, self.top);
        let (frequencies, frequencies_of) = frequencies(&a, &b, self.top);
        let (tests, tests_of) = tests(&a, &b, self.top);
        let lengths = a.described.lengths.named().into_iter().zip(b.described.lengths.named());
        let lengths = lengths.filter(|(one, other)| one.1.count + other.1.count > 0);
        Ok(DiffReport {
            same: records.same() && vocabulary.same(),
            records,
            vocabulary,
            lengths: lengths
                .map(|((name, a), (_, b))| LengthsOfBoth { name, a: a.clone(), b: b.clone() })
                .collect(),
            frequencies,
            frequencies_of,
            tests,
            tests_of,
            a: side(&a),
            b: side(&b),
        })
    }
}

fn side(looked: &Looked) -> Side {
    let Looked { name, described, .. } = looked;
    Side {
        cohort: name.clone(),
        patients: described.patients,
        encounters: described.encounters,
        events: described.events,
        values: described.values,
        births: described.births,
        static_vocabulary: described.static_vocabulary,
        codes: described.vocabulary,
        codes_seen: described.codes_seen,
        first_date: described.first_day.map(date),
        last_date: described.last_day.map(date),
        splits: described.splits,
    }
}

impl VocabularyDifference {
    fn same(&self) -> bool {
        let different = self.only_a.count + self.only_b.count + self.other_title + self.other_scale;
        different == 0 && self.other_kind.is_empty()
    }
}

/// The codes of a vocabulary but `END`.
fn real_codes(vocabulary: &Vocabulary) -> impl Iterator<Item = Code> + use<> {
    let end = vocabulary.end();
    vocabulary.codes().filter(move |&code| code != end)
}

fn vocabularies(a: &Looked, b: &Looked, top: usize) -> VocabularyDifference {
    let [of_a, of_b] = [a, b].map(|one| one.source.vocabulary());
    let only = |one: &Looked, other: &Vocabulary| {
        let vocabulary = one.source.vocabulary();
        let mut codes: Vec<OnlyCode> = real_codes(vocabulary)
            .filter(|&code| other.code(vocabulary.name(code)).is_none())
            .map(|code| OnlyCode {
                code: vocabulary.name(code).to_owned(),
                title: one.source.titles.of(code).map(str::to_owned),
                patients: one.described.codes[code.index()].patients,
            })
            .collect();
        codes.sort_by(|one, other| {
            (Reverse(one.patients), &one.code).cmp(&(Reverse(other.patients), &other.code))
        });
        let count = codes.len() as u64;
        codes.truncate(top);
        OnlyCodes { count, codes }
    };
    let mut found = VocabularyDifference {
        only_a: only(a, of_b),
        only_b: only(b, of_a),
        ..VocabularyDifference::default()
    };
    for code in real_codes(of_a) {
        let name = of_a.name(code);
        let Some(other) = of_b.code(name) else { continue };
        found.in_both += 1;
        if of_a.kind(code) != of_b.kind(other) {
            found.other_kind.push(name.to_owned());
        }
        let titles = (a.source.titles.of(code), b.source.titles.of(other));
        found.other_title += u64::from(matches!(titles, (Some(one), Some(other)) if one != other));
        let scale = |looked: &Looked, code: Code| {
            let scale = looked.source.scales().get(&code);
            scale.map(|scale| (scale.unit.clone(), scale.above, scale.up_to))
        };
        found.other_scale += u64::from(scale(a, code) != scale(b, other));
    }
    found
}

/// Codes that some patient has in either cohort and that both know, those that differ most first.
fn frequencies(a: &Looked, b: &Looked, top: usize) -> (Vec<Frequency>, u64) {
    let [of_a, of_b] = [a, b].map(|one| one.source.vocabulary());
    let all = [a, b].map(|one| one.described.patients as f64);
    let mut found: Vec<Frequency> = real_codes(of_a)
        .filter_map(|code| {
            let other = of_b.code(of_a.name(code))?;
            let patients = a.described.codes[code.index()].patients;
            let others = b.described.codes[other.index()].patients;
            let title = a.source.titles.of(code).or_else(|| b.source.titles.of(other));
            (patients + others > 0).then(|| Frequency {
                code: of_a.name(code).to_owned(),
                title: title.map(str::to_owned),
                a: patients,
                b: others,
                z: standard_errors([patients as f64, others as f64], all),
            })
        })
        .collect();
    found.sort_by(|one, other| {
        other.z.abs().total_cmp(&one.z.abs()).then_with(|| one.code.cmp(&other.code))
    });
    let count = found.len() as u64;
    found.retain(|one| one.z != 0.0);
    found.truncate(top);
    (found, count)
}

/// How many standard errors the second of two shares is above the first, if both were of one kind.
fn standard_errors(with: [f64; 2], all: [f64; 2]) -> f64 {
    let [one, other] = [with[0] / all[0].max(1.0), with[1] / all[1].max(1.0)];
    let pooled = (with[0] + with[1]) / (all[0] + all[1]).max(1.0);
    let error = (pooled * (1.0 - pooled) * (1.0 / all[0].max(1.0) + 1.0 / all[1].max(1.0))).sqrt();
    if error > 0.0 { (other - one) / error } else { 0.0 }
}

fn tests(a: &Looked, b: &Looked, top: usize) -> (Vec<TestOfBoth>, u64) {
    let by_name = |one: &Looked| -> BTreeMap<String, usize> {
        let tests = one.described.tests.iter().enumerate();
        tests.map(|(number, test)| (test.test.clone(), number)).collect()
    };
    let [of_a, of_b] = [by_name(a), by_name(b)];
    let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    let count = names.len() as u64;
    let values = |looked: &Looked, of: &BTreeMap<String, usize>, name: &String| {
        of.get(name).map_or(0, |&number| looked.described.tests[number].values.count)
    };
    let mut names: Vec<&String> = names.into_iter().collect();
    names.sort_by_key(|name| Reverse(values(a, &of_a, name) + values(b, &of_b, name)));
    let found = names
        .into_iter()
        .take(top)
        .map(|name| {
            let one = of_a.get(name).map(|&number| &a.described.tests[number]);
            let other = of_b.get(name).map(|&number| &b.described.tests[number]);
            let title = |looked: &Looked| {
                let vocabulary = looked.source.vocabulary();
                let parts = real_codes(vocabulary)
                    .filter(|&code| consequence_evaluate::test_name(vocabulary, code) == name);
                looked.source.titles.of_test(parts).map(str::to_owned)
            };
            TestOfBoth {
                test: name.clone(),
                title: title(a).or_else(|| title(b)),
                unit_a: one.and_then(|test| test.unit.clone()),
                unit_b: other.and_then(|test| test.unit.clone()),
                a: one.map_or_else(Spread::default, |test| test.values.clone()),
                b: other.map_or_else(Spread::default, |test| test.values.clone()),
            }
        })
        .collect();
    (found, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_errors_by_hand() {
        assert_eq!(standard_errors([5.0, 5.0], [10.0, 10.0]), 0.0);
        // (0.5 - 0.25) / sqrt(0.375 * 0.625 * 2 / 100).
        let z = standard_errors([25.0, 50.0], [100.0, 100.0]);
        assert!((z - 0.25 / (0.375_f64 * 0.625 * 0.02).sqrt()).abs() < 1e-12);
        assert_eq!(standard_errors([10.0, 10.0], [10.0, 10.0]), 0.0);
    }
}
