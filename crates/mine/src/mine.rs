//! From a cohort to rules.

use std::sync::Arc;

use consequence_record::{Cohort, Split, Vocabulary};
use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::claim::Claim;
use crate::found::{Class, Mined};
use crate::groups::{Known, Search};
use crate::options::{Cutoffs, MineOptions};
use crate::outcome::Outcome;
use crate::pool::{Candidate, Settled};
use crate::profile::{Pairs, Profile};
use crate::records::Columns;
use crate::soon::soon_after;
use crate::survey::{Sample, Survey};
use crate::templates::{PairTemplates, never_for, one_of, stays};
use crate::verify::verify;

/// Why a cohort cannot be mined.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MineError {
    /// Every record needs a split.
    #[error("{records} records and {splits} splits: give each record its split, in order")]
    Splits {
        /// Records of the cohort.
        records: usize,
        /// Splits that were given.
        splits: usize,
    },
    /// There is nothing to train on.
    #[error("no record is in the train split: rules are mined there only")]
    NoTrain,
    /// More visits than counts can hold.
    #[error(
        "the cohort has {visits} visits, more than {most} that can be counted: mine a part of it"
    )]
    TooLarge {
        /// Visits of the cohort.
        visits: usize,
        /// The most that are counted.
        most: u32,
    },
}

/// Finds rules in the train split of a cohort and holds them against its tuning split. The held-out
/// split is not looked at.
///
/// ```
/// use std::sync::Arc;
/// use consequence_mine::{MineOptions, mine};
/// use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
///
/// let vocabulary = Arc::new(Vocabulary::new([("A", Kind::Encounter), ("B", Kind::Encounter)])?);
/// let (a, b) = (vocabulary.code("A").unwrap(), vocabulary.code("B").unwrap());
/// let mut cohort = Cohort::default();
/// for number in 0..400 {
///     let visit = match number % 8 { 0 => vec![a, b], 1 => vec![b], _ => vec![] };
///     cohort.push(&number.to_string(), &Record::new(vec![vec![], visit]));
/// }
/// let splits = vec![Split::Train; cohort.len()];
///
/// let mined = mine(&cohort, &vocabulary, &splits, &MineOptions::default())?;
/// assert_eq!(mined.rules.len(), 1);
/// assert_eq!(mined.rules[0].statement, "rule A-with-B: A => B");
/// assert_eq!(mined.rules[0].train.support, 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mine(
    cohort: &Cohort,
    vocabulary: &Arc<Vocabulary>,
    splits: &[Split],
    options: &MineOptions,
) -> Result<Mined, MineError> {
    mine_knowing(cohort, vocabulary, splits, &Known::NOTHING, options)
}

/// As [`mine`], with what is known of codes beside the records: codes that are alike share what
/// they show.
///
/// ```
/// use std::sync::Arc;
/// use consequence_mine::{Known, MineOptions, mine_knowing};
/// use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
///
/// // Forty codes of pregnancy, each in eight women.
/// let codes = (0..40).map(|number| (format!("ICD9CM//{}", 640 + number), Kind::Encounter));
/// let sexes = ["SEX//F", "SEX//M"].map(|sex| (sex.to_owned(), Kind::Static));
/// let vocabulary = Arc::new(Vocabulary::new(sexes.into_iter().chain(codes))?);
/// let code = |name: String| vocabulary.code(&name).unwrap();
/// let mut cohort = Cohort::default();
/// for number in 0..640 {
///     let sex = if number % 2 == 0 { "SEX//F" } else { "SEX//M" };
///     let pregnancy = code(format!("ICD9CM//{}", 640 + number / 2 % 40));
///     let visit = if number % 2 == 0 { vec![pregnancy] } else { vec![] };
///     cohort.push(&number.to_string(), &Record::new(vec![vec![code(sex.into())], visit]));
/// }
/// let splits = vec![Split::Train; cohort.len()];
///
/// let titles = |code: &str| code.starts_with("ICD9CM").then(|| "Of pregnancy".to_owned());
/// let known = Known { titles: &titles, groups: &[] };
/// let options = MineOptions::default();
/// let mined = mine_knowing(&cohort, &vocabulary, &splits, &known, &options)?;
/// assert!(mined.rules.iter().any(|rule| rule.name == "no-pregnancy-for-SEX//M"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mine_knowing(
    cohort: &Cohort,
    vocabulary: &Arc<Vocabulary>,
    splits: &[Split],
    known: &Known<'_>,
    options: &MineOptions,
) -> Result<Mined, MineError> {
    if splits.len() != cohort.len() {
        return Err(MineError::Splits { records: cohort.len(), splits: splits.len() });
    }
    if u32::try_from(cohort.visit_count()).is_err() {
        return Err(MineError::TooLarge { visits: cohort.visit_count(), most: u32::MAX });
    }
    let cutoffs = options.cutoffs_for(cohort);
    let mut columns = Columns::of_events(vocabulary, options.end);
    let workers = rayon::current_num_threads();
    let profile = Profile::of(cohort, splits, &columns, workers);
    if profile.records == 0 {
        return Err(MineError::NoTrain);
    }
    let [mut together, last, only_after] =
        pairs(cohort, splits, &columns, &profile, cutoffs, options);
    together.exact = join_equivalences(&together.exact);
    let mut parts = Parts {
        one_of: one_of(&profile, &columns, options).settle(),
        never_for: never_for(&profile, &columns, &cutoffs, options).settle(),
        stays: stays(&profile, &columns, &cutoffs, options).settle(),
        together,
        last,
        only_after,
    };
    let mut exactly = Vec::new();
    let mut others = Vec::new();
    if options.beyond {
        let sample = Sample::of(splits);
        let search = Search {
            cohort,
            columns: &columns,
            vocabulary,
            known,
            sample: &sample,
            options,
            workers,
            rates: parts.never_for.rates.as_ref(),
        };
        let found = search.run(&parts.certain_absences());
        parts.never_for.take_groups(&found);
        let mut records = sample.all();
        let survey = Survey::of(cohort, &records, &columns, workers);
        let families = survey.one_in_visit(&columns, options).settle();
        let claims = parts.one_of.exact.iter().chain(&families.exact).map(|one| one.claim);
        let upgrade = |claim| Some((claim, survey.exactly(claim, options.evidence)?));
        exactly = claims.filter_map(upgrade).collect();
        let once = survey.once(&columns, &cutoffs, options, &parts.ends()).settle();
        records.truncate(FOR_DISTANCES);
        let pairs = parts.successions();
        let soon = soon_after(cohort, &records, &columns, &pairs, options, workers);
        others = vec![families, soon, once];
        columns.sets = found.sets;
    }
    let settled: Vec<Settled> = parts.all().into_iter().chain(others).collect();
    let claims: Vec<Claim> = settled
        .iter()
        .flat_map(|part| part.exact.iter().chain(&part.almost))
        .map(|candidate| candidate.claim)
        .chain(exactly.iter().map(|&(_, exactly)| exactly))
        .collect();
    let train = verify(cohort, splits, Split::Train, &columns, &claims, workers);
    let tuning = verify(cohort, splits, Split::Tuning, &columns, &claims, workers);
    Ok(Outcome::new(vocabulary, &columns, &profile, options)
        .finish(settled, &exactly, &train, &tuning))
}

/// Records in which distances between visits are looked at.
const FOR_DISTANCES: usize = 30_000;

/// What the pools of the paper's templates came to, and that of codes that end a record.
struct Parts {
    one_of: Settled,
    together: Settled,
    last: Settled,
    never_for: Settled,
    only_after: Settled,
    stays: Settled,
}

impl Parts {
    fn all(self) -> [Settled; 6] {
        [self.one_of, self.together, self.last, self.never_for, self.only_after, self.stays]
    }

    /// Demographic groups and codes that they certainly never have.
    fn certain_absences(&self) -> FxHashSet<(usize, usize)> {
        let certain = self.never_for.exact.iter().filter(|one| one.class == Class::Certain);
        let absence = |one: &Candidate| match one.claim {
            Claim::NeverFor { code, group } => Some((group, code)),
            _ => None,
        };
        certain.filter_map(absence).collect()
    }

    /// Codes that nothing comes after.
    fn ends(&self) -> Vec<usize> {
        let sure = self.last.exact.iter().filter(|one| one.class != Class::Doubted);
        let code = |one: &Candidate| match one.claim {
            Claim::Last { code } => Some(code),
            _ => None,
        };
        sure.filter_map(code).collect()
    }

    /// Codes that only come after another, and that other.
    fn successions(&self) -> Vec<(usize, usize)> {
        let sure = self.only_after.exact.iter().filter(|one| one.class != Class::Doubted);
        let pair = |one: &Candidate| match one.claim {
            Claim::OnlyAfter { code, other } => Some((code, other)),
            _ => None,
        };
        sure.filter_map(pair).collect()
    }
}

/// The templates about pairs, as many rows at a time as the memory allows.
fn pairs(
    cohort: &Cohort,
    splits: &[Split],
    columns: &Columns,
    profile: &Profile,
    cutoffs: Cutoffs,
    options: &MineOptions,
) -> [Settled; 3] {
    let mut templates = PairTemplates::new(profile, columns, cutoffs, options);
    let (rows, ordered) = templates.rows(options);
    let row_bytes = Pairs::row_bytes(columns.len()).max(1);
    let all_bytes = row_bytes.saturating_mul(rows.len()).max(1);
    let workers = rayon::current_num_threads().min((options.memory / all_bytes).max(1));
    let block = (options.memory / row_bytes / workers).max(1);
    for (rows, ordered) in rows.chunks(block).zip(ordered.chunks(block)) {
        let pairs = Pairs::of(cohort, splits, columns, rows, ordered, workers);
        for (row, (&code, &ordered)) in rows.iter().zip(ordered).enumerate() {
            templates.row(code, row, ordered, &pairs);
        }
    }
    [templates.together.settle(), templates.last.settle(), templates.only_after.settle()]
}

/// Makes one claim of two that go both ways and are as sure as each other.
fn join_equivalences(exact: &[Candidate]) -> Vec<Candidate> {
    let pair = |candidate: &Candidate| match candidate.claim {
        Claim::Together { code, with } if candidate.class != Class::Doubted => {
            Some((code, with, candidate.class))
        }
        _ => None,
    };
    let ways: FxHashSet<(usize, usize, Class)> = exact.iter().filter_map(pair).collect();
    let joined = exact.iter().filter_map(|candidate| match pair(candidate) {
        Some((code, with, class)) if ways.contains(&(with, code, class)) => {
            let claim = Claim::Same { one: code, other: with };
            (code < with).then_some(Candidate { claim, ..*candidate })
        }
        _ => Some(*candidate),
    });
    joined.collect()
}
