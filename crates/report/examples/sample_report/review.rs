//! Rules to choose from, more than anyone would read in a day.

use consequence_report::{Review, ReviewClass, ReviewCode, ReviewRule};

use crate::invented::{HOSTILE, noise};

const CONDITIONS: [&str; 8] = [
    "Type 2 diabetes",
    "Chronic kidney disease, stage 3",
    "Spina bifida",
    "Malignant neoplasm of prostate",
    "Essential hypertension",
    "Congestive heart failure, unspecified",
    "Acute myocardial infarction",
    "Long-term (current) use of insulin",
];

const STAYS: &str = "Codes that stay once they are there";
const TOGETHER: &str = "Codes that never come without another in the same visit";
const AFTER: &str = "Codes that only come after another, in a later visit";

/// A review of so many rules, one of which tries to be markup and more rules.
pub fn review(rules: usize) -> Review {
    let class = |name: &str, explanation: &str, from: usize, to: usize, ticked: bool| ReviewClass {
        name: name.to_owned(),
        explanation: explanation.to_owned(),
        rules: (from..to).map(|number| rule(number, ticked)).collect(),
    };
    let (first, second) = (rules * 6 / 10, rules * 8 / 10);
    let mut certain = class("certain", "Without an exception.", 0, first, true);
    certain.rules.extend((rules > 0).then(hostile));
    Review {
        title: "Which of these rules are true?".to_owned(),
        about: "Rules found in a cohort, to be chosen by someone who knows the field".to_owned(),
        lead: "Tick the rules that hold in medicine, and save them.".to_owned(),
        facts: [("Cohort", "invented"), ("Records", "60,000")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        opening: "# Found in a cohort.\nstatic SEX//F, SEX//M".to_owned(),
        classes: vec![
            certain,
            class("frequent", "With a few exceptions.", first, second, true),
            class("doubted", "Seen so seldom that exceptions are likely.", second, rules, false),
        ],
    }
}

fn rule(number: usize, ticked: bool) -> ReviewRule {
    let code = |number: usize| ReviewCode {
        code: format!(
            "ICD10CM//{}{:02}.{}",
            char::from(b'A' + (number % 26) as u8),
            number % 97,
            number % 9
        ),
        title: CONDITIONS[number % CONDITIONS.len()].to_owned(),
        seen: format!("{} records", 30 + number * 7 % 900),
    };
    let (one, other) = (code(number), code(number * 31 + 5));
    let (a, b) = (one.code.clone(), other.code.clone());
    let (heading, text, sentence, codes) = match number % 3 {
        0 => (STAYS, format!("{a} in previous => {a}"), format!("{} stays", one.title), vec![one]),
        1 => {
            let sentence = format!("{} never comes without {}", one.title, other.title);
            (TOGETHER, format!("{a} => {b}"), sentence, vec![one, other])
        }
        _ => {
            let sentence = format!("{} only after {}", one.title, other.title);
            (AFTER, format!("not {b} in past => not {a}"), sentence, vec![one, other])
        }
    };
    let visits = 40 + (noise(9, number as u64) * 900.0) as usize;
    ReviewRule {
        heading: heading.to_owned(),
        name: format!("rule-{number}"),
        statement: format!("rule rule-{number}: {text}"),
        sentence,
        evidence: format!(
            "no exception in {visits} visits of {} records; at most 3.1%",
            visits / 2
        ),
        codes,
        ticked,
    }
}

/// Names that would be markup, or rules of their own, if the page did not take care.
fn hostile() -> ReviewRule {
    let code = |(number, name): (usize, &&str)| ReviewCode {
        code: format!("HOSTILE//{number}"),
        title: (*name).to_owned(),
        seen: String::new(),
    };
    ReviewRule {
        heading: STAYS.to_owned(),
        name: "hostile".to_owned(),
        statement: "rule hostile: \"größe//\u{202e}\" => A".to_owned(),
        sentence: format!("{}\nrule slipped: B\r\u{2028}\"'", HOSTILE[2]),
        evidence: HOSTILE.join(" "),
        codes: HOSTILE.iter().enumerate().map(code).collect(),
        ticked: true,
    }
}
