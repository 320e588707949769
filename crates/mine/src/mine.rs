//! From a cohort to rules.

use std::sync::Arc;

use consequence_record::{Cohort, Selection, Split, Vocabulary};
use consequence_tally::{Block, Paused, Rounds, Span, Whose, counts};
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
use crate::soon::Near;
use crate::survey::{Sample, Survey};
use crate::templates::{PairTemplates, never_for, one_of, stays};
use crate::times::Times;
use crate::verify::{Verdicts, verify};

/// Why a cohort cannot be mined.
#[derive(Debug, Error)]
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
        visits: u64,
        /// The most that are counted.
        most: u32,
    },
    /// Every record needs its dates.
    #[error("{records} records, and details of {details}: give those of each record, in order")]
    Details {
        /// Records of the cohort.
        records: usize,
        /// Records whose details were given.
        details: usize,
    },
    /// Some of the records were counted, or are to be.
    #[error(transparent)]
    Paused(#[from] Paused),
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
/// let known = Known { titles: &titles, ..Known::NOTHING };
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
    if let Some(details) = known.details.filter(|details| details.len() != cohort.len()) {
        return Err(MineError::Details { records: cohort.len(), details: details.len() });
    }
    let records = Selection::all(cohort).detailed(known.details);
    let mut rounds = Rounds::whole(Block { records, splits });
    let dated = known.details.is_some();
    mine_in_rounds(&mut rounds, vocabulary, known, dated, options)
}

/// How large a cohort is.
#[derive(Clone, Copy, Debug)]
struct Size {
    records: u64,
    visits: u64,
    train: u64,
    /// The most encounters of a record.
    longest: Span<i64>,
}

counts!(Size { records, visits, train, longest });

impl Size {
    fn of(block: &Block<'_>) -> Self {
        let mut size = Self { records: 0, visits: 0, train: 0, longest: Span::default() };
        let mut longest = 0;
        for (record, index) in block.records.records().zip(block.indices()) {
            size.records += 1;
            size.visits += record.len() as u64;
            size.train += u64::from(block.splits[index] == Split::Train);
            longest = longest.max(record.len() as i64 - 1);
        }
        size.longest = Span::of(longest);
        size
    }
}

/// As [`mine_knowing`], over records that are counted in rounds, in parts or all together. With `ages_and_days` the
/// records tell when they were, and rules about that are looked for too; the details of `known` have no part in
/// it.
pub fn mine_in_rounds(
    rounds: &mut Rounds<'_>,
    vocabulary: &Arc<Vocabulary>,
    known: &Known<'_>,
    ages_and_days: bool,
    options: &MineOptions,
) -> Result<Mined, MineError> {
    let mut columns = Columns::of_events(vocabulary, options.end);
    let (size, profile): (Size, Profile) =
        rounds.count(Whose::Cohort, "size and codes", |block: &Block<'_>| {
            Ok::<_, MineError>((Size::of(block), Profile::of(block, &columns)))
        })?;
    if u32::try_from(size.visits).is_err() {
        return Err(MineError::TooLarge { visits: size.visits, most: u32::MAX });
    }
    let cutoffs = options.cutoffs_for(size.visits.saturating_sub(size.records));
    if size.train == 0 {
        return Err(MineError::NoTrain);
    }
    let [mut together, last, only_after] = pairs(rounds, &columns, &profile, cutoffs, options)?;
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
        let sample = Sample::of(size.train);
        let search = Search {
            columns: &columns,
            vocabulary,
            known,
            sample: &sample,
            options,
            rates: parts.never_for.rates.as_ref(),
        };
        let near = Near::new(&columns, parts.successions());
        let looked_at = "groups formed, survey and codes soon after others";
        let (forming, (survey, soon)) = rounds.count(Whose::Cohort, looked_at, |block| {
            let (cohort, records) = (block.records.cohort(), sample.all(block));
            let survey = Survey::of(cohort, &records, &columns);
            Ok::<_, MineError>((search.forming(block), (survey, near.of(block, &sample))))
        })?;
        let found = search.run(rounds, &forming, &parts.certain_absences())?;
        parts.never_for.take_groups(&found);
        let families = survey.one_in_visit(&columns, options).settle();
        let claims = parts.one_of.exact.iter().chain(&families.exact).map(|one| one.claim);
        let upgrade = |claim| Some((claim, survey.exactly(claim, options.evidence)?));
        exactly = claims.filter_map(upgrade).collect();
        let once = survey.once(&columns, &cutoffs, options, &parts.ends()).settle();
        let soon = near.settled(&soon, options);
        others = vec![families, soon, once];
        if ages_and_days {
            let times = Times { columns: &columns, profile: &profile, cutoffs: &cutoffs, options };
            others.extend(times.of(rounds, &sample)?);
        }
        columns.sets = found.sets;
    }
    let settled: Vec<Settled> = parts.all().into_iter().chain(others).collect();
    let claims: Vec<Claim> = settled
        .iter()
        .flat_map(|part| part.exact.iter().chain(&part.almost))
        .map(|candidate| candidate.claim)
        .chain(exactly.iter().map(|&(_, exactly)| exactly))
        .collect();
    let [train, tuning]: [Verdicts; 2] = rounds.count(Whose::Cohort, "claims", |block| {
        let held = |split| verify(block, split, &columns, &claims);
        Ok::<_, MineError>([Split::Train, Split::Tuning].map(held))
    })?;
    let longest = size.longest.ends().map_or(0, |(_, longest)| longest);
    let mined = Outcome::new(vocabulary, &columns, &profile, options)
        .finish(settled, &exactly, &train, &tuning);
    Ok(Mined { longest: longest.max(0) as usize, ..mined })
}

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

/// The templates about pairs, as many rows in a round as the memory allows.
fn pairs(
    rounds: &mut Rounds<'_>,
    columns: &Columns,
    profile: &Profile,
    cutoffs: Cutoffs,
    options: &MineOptions,
) -> Result<[Settled; 3], Paused> {
    let mut templates = PairTemplates::new(profile, columns, cutoffs, options);
    let (rows, ordered) = templates.rows(options);
    // One half for what is counted in the round, and one for threads to count in.
    let memory = options.memory / 2;
    let in_a_round = (memory / Pairs::row_bytes(columns.len()).max(1)).max(1);
    for (rows, ordered) in rows.chunks(in_a_round).zip(ordered.chunks(in_a_round)) {
        let pairs: Pairs = rounds.count(Whose::Cohort, "pairs", |block| {
            Ok::<_, Paused>(Pairs::of(block, columns, rows, ordered, memory))
        })?;
        for (row, (&code, &ordered)) in rows.iter().zip(ordered).enumerate() {
            templates.row(code, ordered, pairs.row(row, columns.len()));
        }
    }
    Ok([templates.together.settle(), templates.last.settle(), templates.only_after.settle()])
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
