//! What names of cohort definitions mean, against a literal reading of the definition, in every small world.

use std::sync::Arc;

use consequence_packs::{CohortDefinition, Concepts, PackLimits};
use consequence_record::calendar::DAY;
use consequence_record::{Code, Details, Kind, Record, Vocabulary};
use consequence_referee::{Detailed, Referee};
use consequence_rules::RuleSet;
use serde_json::{Value, json};

/// The index code and the other one.
const CODES: [&str; 2] = ["V//index", "V//event"];

/// Every record of three encounters over two codes, with gaps of 0 to 3 days.
fn worlds() -> impl Iterator<Item = ([[bool; 2]; 3], [i64; 3])> {
    (0..64u32).flat_map(|codes| {
        (0..16i64).map(move |gaps| {
            let has = |visit: u32| [0, 1].map(|code| codes >> (2 * visit + code) & 1 == 1);
            let second = 10 + gaps % 4;
            ([0, 1, 2].map(has), [10, second, second + gaps / 4])
        })
    })
}

/// The judge of a name, which is broken where the name is true.
fn referee(criterion: Value) -> Referee {
    let item = |id: u64| json!({"items": [{"concept": {"CONCEPT_ID": id}}]});
    let definition = json!({
        "ConceptSets": [{"id": 0, "name": "index", "expression": item(1)},
            {"id": 1, "name": "event", "expression": item(2)}],
        "PrimaryCriteria": {"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}]},
        "InclusionRules": [{"name": "around", "expression": {"Type": "ALL", "CriteriaList": [criterion]}}]
    });
    let (text, limits) = (definition.to_string(), PackLimits::default());
    let definition = CohortDefinition::read("small.json", text.as_bytes(), &limits).unwrap();
    let table = "concept_id,vocabulary_id,concept_code\n1,V,index\n2,V,event\n";
    let wanted = definition.concepts(None);
    let concepts = Concepts::read("CONCEPT.csv", table.as_bytes(), &wanted, &limits).unwrap();
    let named = definition.named(&concepts, None, None).unwrap();
    assert_eq!(named.unsaid, []);
    let vocabulary = Vocabulary::new(CODES.map(|code| (code, Kind::Encounter))).unwrap();
    let text = format!("{}rule outside: not small\n", named.text());
    Referee::new(&RuleSet::parse(&text, Some(Arc::new(vocabulary))).unwrap())
}

fn truths(referee: &Referee, visits: &[[bool; 2]; 3], days: &[i64; 3]) -> [bool; 3] {
    let codes = |visit: &[bool; 2]| -> Vec<Code> {
        [Code(0), Code(1)]
            .into_iter()
            .zip(visit)
            .filter(|(_, has)| **has)
            .map(|(code, _)| code)
            .collect()
    };
    let record = Record::new([vec![]].into_iter().chain(visits.iter().map(codes)).collect());
    let times = days.iter().map(|day| day * DAY).collect();
    let details = Details { times, ..Details::default() };
    let record = Detailed { record: &record, details: details.view() };
    [1, 2, 3].map(|visit| !referee.holds(0, &record, visit))
}

fn criterion([from, to]: [Option<i64>; 2], first: bool, [kind, count]: [i64; 2]) -> Value {
    let side = |days: Option<i64>, end: i64| match days {
        Some(days) => json!({"Days": days.abs(), "Coeff": days.signum().min(0) * 2 + 1}),
        None => json!({"Coeff": end}),
    };
    json!({"Criteria": {"DrugExposure": {"CodesetId": 1, "First": first}},
        "StartWindow": {"Start": side(from, -1), "End": side(to, 1)},
        "Occurrence": {"Type": kind, "Count": count}})
}

fn within([from, to]: [Option<i64>; 2], days: i64) -> bool {
    from.is_none_or(|from| from <= days) && to.is_none_or(|to| days <= to)
}

#[test]
fn windows_before_the_index_event() {
    let windows = [[-2, 0], [-3, -1], [0, 0], [-1, -1], [-6, -2]].map(|ends| ends.map(Some));
    let mut held = 0;
    for window in windows.into_iter().chain([[None, Some(0)], [None, Some(-1)], [None, Some(-2)]]) {
        for occurrence in [[2, 1], [2, 2], [2, 3], [0, 0], [0, 1], [1, 0], [1, 1], [0, 2]] {
            for first in [false, true] {
                if first && !matches!(occurrence, [2, 1] | [0 | 1, 0]) {
                    continue;
                }
                let referee = referee(criterion(window, first, occurrence));
                for (visits, days) in worlds() {
                    let told = truths(&referee, &visits, &days);
                    for (now, &told) in told.iter().enumerate() {
                        let event = |then: &usize| visits[*then][1];
                        let events = (0..=now).filter(event).take(if first { 1 } else { 3 });
                        let count =
                            events.filter(|&then| within(window, days[then] - days[now])).count();
                        let [kind, wanted] = occurrence;
                        let met = match kind {
                            0 => count as i64 == wanted,
                            1 => count as i64 <= wanted,
                            _ => count as i64 >= wanted,
                        };
                        let expected = visits[now][0] && met;
                        held += usize::from(expected);
                        assert_eq!(
                            told, expected,
                            "{window:?} {occurrence:?} {visits:?} {days:?} {now}"
                        );
                    }
                }
            }
        }
    }
    assert!(held > 10_000, "{held}");
}

#[test]
fn windows_after_the_index_event_are_told_at_the_later_event() {
    let windows = [[0, 2], [1, 3], [1, 1], [-1, 2], [-3, 1]].map(|ends| ends.map(Some));
    let open = [[Some(0), None], [Some(2), None], [None, None], [None, Some(1)], [Some(-1), None]];
    let mut held = 0;
    for window in windows.into_iter().chain(open) {
        let referee = referee(criterion(window, false, [2, 1]));
        for (visits, days) in worlds() {
            let told = truths(&referee, &visits, &days);
            for (now, &told) in told.iter().enumerate() {
                let pair = |index: usize, event: usize| {
                    visits[index][0]
                        && visits[event][1]
                        && within(window, days[event] - days[index])
                };
                let expected = (0..=now).any(|then| pair(then, now) || pair(now, then));
                held += usize::from(expected);
                assert_eq!(told, expected, "{window:?} {visits:?} {days:?} {now}");
            }
        }
    }
    assert!(held > 1_000, "{held}");
}
