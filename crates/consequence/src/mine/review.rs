//! The page on which an expert chooses from mined rules.

use consequence_mine::{Mined, MinedRule, Reason, static_codes};
use consequence_pipeline::CohortInput;
use consequence_pipeline::pages::{program, today};
use consequence_pipeline::words::{count, number};
use consequence_record::{Cohort, Split, Vocabulary};
use consequence_report::{Review, ReviewClass, ReviewCode, ReviewRule};
use consequence_tables::Dataset;

/// The classes of the page in their order: what each is called, what that means, and whether its
/// rules are chosen until the expert says otherwise.
const CLASSES: [(&str, &str, bool); 4] = [
    (
        "certain",
        "Without an exception, and seen too often for exceptions that are merely rare. A saved rule \
         must hold in every record.",
        true,
    ),
    (
        "likely",
        "Without an exception, on evidence that is short of certain. A saved rule holds as its text \
         says.",
        true,
    ),
    (
        "frequent",
        "With a few exceptions. A saved rule holds with the probability that it states.",
        true,
    ),
    (
        "doubted",
        "Without an exception where they were found, but seen so seldom that rare exceptions are \
         likely. These are not in the rule file; choose those that are true. A saved rule must hold \
         in every record.",
        false,
    ),
];

/// The page, for rules mined in this cohort. It tells how often codes were seen, and nothing else of
/// a record.
pub(super) fn page(
    path: &CohortInput,
    dataset: &Dataset,
    mined: &Mined,
    titles: &dyn Fn(&str) -> Option<String>,
) -> Review {
    let Dataset { cohort, vocabulary, splits, .. } = dataset;
    let seen = records_with_codes(cohort, vocabulary, splits);
    let rules = listed(mined);
    let drawn = |rule: &MinedRule, ticked: bool| ReviewRule {
        heading: rule.template.heading().to_owned(),
        name: rule.name.clone(),
        statement: rule.statement.clone(),
        sentence: rule.sentence(titles),
        evidence: with_doubt(rule),
        codes: (rule.codes.iter())
            .map(|name| {
                let times = vocabulary.code(name).map(|code| seen[code.index()]);
                // The end of a record is written in none.
                let times = times.filter(|&times| times > 0);
                ReviewCode {
                    code: name.clone(),
                    title: titles(name).unwrap_or_default(),
                    seen: times.map_or_else(String::new, |times| count(times, "record")),
                }
            })
            .collect(),
        ticked,
    };
    let classes = CLASSES.map(|(name, explanation, ticked)| ReviewClass {
        name: name.to_owned(),
        explanation: explanation.to_owned(),
        rules: (rules.iter().filter(|(class, _)| *class == name))
            .map(|(_, rule)| drawn(rule, ticked))
            .collect(),
    });
    let (cohort, listed) = (path.shown(), count(rules.len() as u64, "rule"));
    let facts = [
        ("Cohort", cohort.clone()),
        ("Found in the train split", count(mined.train_records, "record")),
        ("Held against the tuning split", count(mined.tuning_records, "record")),
        ("When", today()),
        ("Program", program()),
    ];
    Review {
        title: "Which of these rules are true?".to_owned(),
        about: format!("{listed} found in {cohort}, to be chosen by someone who knows the field"),
        lead: "Records show what was written down, not what must be. Tick the rules that hold in \
               medicine, leave out those that are a habit of this place, and save the chosen ones as \
               a rule file. The rate given with each rule is the most that exceptions may come to, \
               with 95% confidence; after it stands how often the tuning split broke the rule. The \
               arrow keys go from rule to rule, and the space bar ticks."
            .to_owned(),
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        opening: opening(&cohort, mined, &rules),
        classes: classes.into(),
    }
}

/// The rules of the page with their classes. What the tuning split contradicts is no rule, and what
/// another soft rule decides cannot be one beside it.
fn listed(mined: &Mined) -> Vec<(&'static str, &MinedRule)> {
    let found = mined.rules.iter().map(|rule| (rule.class.name(), rule));
    let doubted = mined.dropped.iter().filter(|dropped| dropped.reason == Reason::Doubted);
    found.chain(doubted.map(|dropped| ("doubted", &dropped.rule))).collect()
}

/// What the saved file begins with.
fn opening(cohort: &str, mined: &Mined, rules: &[(&str, &MinedRule)]) -> String {
    let clean = |letter: char| if letter.is_control() { ' ' } else { letter };
    let cohort: String = cohort.chars().map(clean).collect();
    let statics = static_codes(rules.iter().map(|(_, rule)| *rule));
    let (train, tuning) = (number(mined.train_records), number(mined.tuning_records));
    format!(
        "# Rules found in {cohort}: in the {train} records of the train split,\n\
         # held against the {tuning} records of the tuning split, and chosen by an expert.\n\
         # The rate given with each rule is the most that exceptions may come to,\n\
         # with 95% confidence, judged by the records that show the rule.\n\
         {statics}\n"
    )
}

/// What was seen, and how far that leaves a doubt.
fn with_doubt(rule: &MinedRule) -> String {
    let seen = rule.evidence();
    match rule.doubt {
        None => seen,
        Some(doubt) if doubt < 0.001 => format!("{seen}; rare exceptions are below 0.1% likely"),
        Some(doubt) => format!("{seen}; rare exceptions are {:.1}% likely", doubt * 100.0),
    }
}

/// For each code, the records of the train split that have it.
fn records_with_codes(cohort: &Cohort, vocabulary: &Vocabulary, splits: &[Split]) -> Vec<u64> {
    let mut counts = vec![0; vocabulary.len()];
    let mut last = vec![None; vocabulary.len()];
    for (number, record) in cohort.records().enumerate() {
        if splits.get(number) != Some(&Split::Train) {
            continue;
        }
        for code in record.visits().flatten() {
            let index = code.index();
            if last[index].replace(number) != Some(number) {
                counts[index] += 1;
            }
        }
    }
    counts
}
