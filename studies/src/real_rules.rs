//! Mined and expert rules held against cohorts that others published.

use std::fs::File;
use std::sync::Arc;

use consequence_enforce::Auditor;
use consequence_feedback::Unwatched;
use consequence_mine::{MineOptions, Mined, mine};
use consequence_packs::{CodeList, ExpertTable, Level, Limit, PackLimits, PackOptions};
use consequence_record::{Selection, Split, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use consequence_tables::Dataset;
use consequence_testing::shared;
use rayon::prelude::*;

use crate::real_cohorts::{synpuf, uci_diabetes};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const EDITOR: &str = "data/rules/mce/MCE_Simple_Code_Edits_v32.txt";
const CODES: &str = "data/rules/icd/icd9dx2015.csv.gz";

/// What one part of a cohort makes of a set of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the rules are from.
    pub rules_from: &'static str,
    /// The cohort.
    pub cohort: &'static str,
    /// The part of it; none for all of it.
    pub split: Option<Split>,
    /// Hard rules.
    pub rules: usize,
    /// Records.
    pub records: u64,
    /// Rules that some record breaks.
    pub broken: usize,
    /// Violations: a rule and a visit each.
    pub violations: u64,
    /// Records with a violation.
    pub invalid: u64,
}

/// Every set of rules on every cohort; `None` where the data are not there.
///
/// The audit and the referee must agree on every line.
///
/// # Errors
/// If a file cannot be read or is not what it is said to be, or if the two disagree.
pub fn lines() -> Option<Fallible<Vec<Line>>> {
    let found = [
        "data/inpatient/uci_diabetes130/dataset_diabetes.zip",
        "reference/uci/uci_split.json",
        "data/outpatient/synpuf_claims500",
    ]
    .map(shared);
    let expert = [EDITOR, CODES].map(shared);
    let [Some(archive), Some(split), Some(claims)] = found else { return None };
    let [Some(_), Some(_)] = expert else { return None };
    Some((|| {
        let uci = uci_diabetes(&archive, &split)?;
        let mut lines = Vec::new();
        let ways = [("mined", MineOptions::default()), ("counts", MineOptions::counts_alone())];
        for (name, options) in ways {
            let mined = mine(&uci.cohort, &uci.vocabulary, &uci.splits, &options)?;
            by_split(name, "UCI diabetes", &uci, hard_rules(&mined, &uci.vocabulary)?, &mut lines)?;
        }
        let pack = sex_rules(Level::Categories, &uci.vocabulary)?;
        by_split("CMS sex", "UCI diabetes", &uci, pack, &mut lines)?;
        for (name, level, truncate) in [
            ("SynPUF, categories", Level::Categories, Some(3)),
            ("SynPUF, codes", Level::Codes, None),
        ] {
            let synpuf = synpuf(&claims, truncate)?;
            let pack = sex_rules(level, &synpuf.vocabulary)?;
            lines.push(line("CMS sex", name, None, pack, Selection::all(&synpuf.cohort))?);
        }
        Ok(lines)
    })())
}

fn hard_rules(mined: &Mined, vocabulary: &Arc<Vocabulary>) -> Fallible<RuleSet> {
    let rules = RuleSet::parse(&mined.text(&|_| None), Some(Arc::clone(vocabulary)))?;
    Ok(rules.filtered(|rule| rule.is_hard()))
}

/// The diagnoses of one sex that the Medicare Code Editor lists, as far as a cohort has them.
pub fn sex_rules(level: Level, vocabulary: &Arc<Vocabulary>) -> Fallible<RuleSet> {
    let open = |path: &str| -> Fallible<File> {
        Ok(File::open(shared(path).ok_or_else(|| format!("no {path}"))?)?)
    };
    let limits = PackLimits::default();
    let codes = CodeList::read(CODES, open(CODES)?, &limits)?;
    let options = PackOptions {
        level: Some(level),
        vocabulary: Some(vocabulary),
        codes: Some(&codes),
        ..PackOptions::default()
    };
    let mut pack = ExpertTable::read_mce(EDITOR, open(EDITOR)?, &limits)?.pack(&options)?;
    pack.rules.retain(|rule| matches!(rule.limit, Limit::Female | Limit::Male));
    Ok(RuleSet::parse(&pack.text(), Some(Arc::clone(vocabulary)))?)
}

fn by_split(
    rules_from: &'static str,
    cohort: &'static str,
    dataset: &Dataset,
    rules: RuleSet,
    lines: &mut Vec<Line>,
) -> Fallible<()> {
    for split in Split::ALL {
        let part = split.indices(&dataset.splits);
        let part = Selection::new(&dataset.cohort, &part);
        lines.push(line(rules_from, cohort, Some(split), rules.clone(), part)?);
    }
    Ok(())
}

fn line(
    rules_from: &'static str,
    cohort: &'static str,
    split: Option<Split>,
    rules: RuleSet,
    part: Selection<'_>,
) -> Fallible<Line> {
    let referee = Referee::new(&rules);
    let rule_count = rules.len();
    let written = WrittenRules::new(Arc::new(rules), &CompileLimits::default())?;
    let audit = Auditor::new(&written).audit(part, 0, &Unwatched);
    let found = Line {
        rules_from,
        cohort,
        split,
        rules: rule_count,
        records: audit.records,
        broken: audit.rules.iter().filter(|rule| rule.violations > 0).count(),
        violations: audit.violations(),
        invalid: audit.records - audit.valid_records,
    };
    let judged: Vec<u64> = (0..part.len())
        .into_par_iter()
        .map(|at| referee.violations(&part.record(at).to_record()).len() as u64)
        .collect();
    let invalid = judged.iter().filter(|&&violations| violations > 0).count() as u64;
    if (judged.iter().sum::<u64>(), invalid) != (found.violations, found.invalid) {
        return Err(format!("the audit and the referee disagree: {found:?}").into());
    }
    Ok(found)
}
