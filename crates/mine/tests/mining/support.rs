//! Small cohorts, and mined rules read back as any rule file is.

use std::sync::Arc;

use consequence_mine::{Cutoffs, MineOptions, Mined, mine};
use consequence_record::{Code, Cohort, Kind, Record, Split, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};

/// A vocabulary of static codes, which have `//` in their names, and encounter codes.
pub fn vocabulary(names: &[&str]) -> Arc<Vocabulary> {
    let kind = |name: &str| if name.contains("//") { Kind::Static } else { Kind::Encounter };
    Arc::new(Vocabulary::new(names.iter().map(|name| (*name, kind(name)))).unwrap())
}

/// Codes of names between blanks.
pub fn codes(vocabulary: &Vocabulary, names: &str) -> Vec<Code> {
    names.split_whitespace().map(|name| vocabulary.code(name).unwrap()).collect()
}

/// A record from text: visits between bars, the static visit first.
pub fn record(vocabulary: &Vocabulary, text: &str) -> Record {
    Record::new(text.split('|').map(|visit| codes(vocabulary, visit)).collect())
}

/// A cohort of records with a number of copies each.
pub fn cohort(vocabulary: &Vocabulary, records: &[(usize, &str)]) -> Cohort {
    let mut cohort = Cohort::default();
    for &(copies, text) in records {
        for _ in 0..copies {
            cohort.push(&cohort.len().to_string(), &record(vocabulary, text));
        }
    }
    cohort
}

/// Cut-offs that let everything through.
pub fn lowest() -> Cutoffs {
    Cutoffs { together: 1, never_for: 1, group_records: 1, only_after: 1, stays: 1, repeats: 1 }
}

/// Counts alone, with the lowest cut-offs.
pub fn all_counts() -> MineOptions {
    MineOptions { cutoffs: Some(lowest()), ..MineOptions::counts_alone() }
}

/// Mines, all in the train split.
pub fn mine_all(cohort: &Cohort, vocabulary: &Arc<Vocabulary>, options: &MineOptions) -> Mined {
    mine(cohort, vocabulary, &vec![Split::Train; cohort.len()], options).unwrap()
}

/// What the rules say, without their names.
pub fn said(mined: &Mined) -> Vec<String> {
    let formula = |statement: &str| statement.split_once(": ").unwrap().1.to_owned();
    mined.rules.iter().map(|rule| formula(&rule.statement)).collect()
}

/// Reads the text of mined rules back: it says the same, resolves and compiles.
pub fn reread(mined: &Mined, vocabulary: &Arc<Vocabulary>) -> RuleSet {
    let text = mined.text(&|code| Some(format!("title of\n{code}")));
    let rules = RuleSet::parse(&text, Some(Arc::clone(vocabulary))).expect(&text);
    assert_eq!(rules.len(), mined.rules.len());
    for (read, found) in rules.iter().zip(&mined.rules) {
        assert_eq!((&*read.name, &*read.formula()), (found.name.as_str(), &found.formula));
    }
    compile(Arc::new(rules.clone()), &CompileOptions::default()).expect(&text);
    rules
}
