//! The referee passes over rules that a visit cannot break. It must find what asking every rule at
//! every visit finds.

use std::sync::Arc;

use consequence_record::calendar::DAY;
use consequence_record::{Code, Details, EventDetail, Kind, Record, Vocabulary};
use consequence_referee::{Detailed, Referee, Violation};
use consequence_rules::{Days, Fact, Formula, Rule, RuleSet, Says, ValueRange, Window};
use proptest::collection::vec;
use proptest::prelude::*;

/// Two static codes, four of encounters, `END`, and a number that is no code.
const CODES: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 77];

/// Codes that rules may name.
fn known() -> impl Strategy<Value = Code> {
    prop::sample::select(&CODES[..7]).prop_map(Code)
}

/// Codes that a record may hold, though not all should be there.
fn code() -> impl Strategy<Value = Code> {
    prop::sample::select(CODES.as_slice()).prop_map(Code)
}

fn window() -> impl Strategy<Value = Window> {
    prop_oneof![
        Just(Window::past()),
        Just(Window::static_visit()),
        Just(Window::previous()),
        Just(Window::default()),
        (0u16..6).prop_map(|visit| Window::at([visit])),
        (1u16..6).prop_map(|distance| Window::ago([distance])),
        (1u16..4).prop_map(Window::last),
        (vec(0u16..6, 0..3), vec(1u16..6, 0..3)).prop_map(|(at, ago)| Window::set(at, ago)),
    ]
}

fn fact() -> impl Strategy<Value = Fact> {
    let codes = || {
        vec(known(), 1..3).prop_map(|mut codes| {
            codes.sort_unstable();
            codes.dedup();
            codes
        })
    };
    let days = (0u32..4, 0u32..4).prop_map(|(from, more)| Days { from, to: from + more });
    let range = prop_oneof![
        (0u8..4).prop_map(|number| ValueRange::above(number.into())),
        (0u8..4).prop_map(|number| ValueRange::at_most(number.into())),
    ];
    prop_oneof![
        4 => (codes(), proptest::option::of(days), 1u16..4)
            .prop_map(|(codes, days, count)| Fact::Seen { codes: codes.into(), days, count }),
        2 => (codes(), codes())
            .prop_map(|(codes, mark)| Fact::Since { codes: codes.into(), mark: mark.into() }),
        1 => Just(Fact::FirstVisit),
        1 => (0u16..4).prop_map(|least| Fact::Age { least }),
        2 => (known(), range).prop_map(|(code, range)| Fact::Value { code, range }),
    ]
}

/// Days, a birth and values of any visits and codes, as many as there are or not.
fn details() -> impl Strategy<Value = Details> {
    let event = (0u32..6, code(), proptest::option::of(0u8..5));
    let event = event.prop_map(|(visit, code, value)| EventDetail {
        visit,
        code,
        time: None,
        value: value.map(f32::from),
    });
    let times = prop_oneof![vec(0i64..5, 0..8), vec(0i64..5, 7)];
    (proptest::option::of(-4i64..1), times, vec(event, 0..9)).prop_map(
        |(birth, mut days, mut events)| {
            days.sort_unstable();
            events.sort_by_key(|event| (event.visit, event.code));
            events.dedup_by_key(|event| (event.visit, event.code));
            let times = days.into_iter().map(|day| day * DAY / 2).collect();
            Details {
                birth: birth.map(|years| years * 366 * DAY),
                times,
                events,
                ..Details::default()
            }
        },
    )
}

fn formula() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Formula::Constant),
        8 => known().prop_map(Formula::Now),
        6 => (known(), window()).prop_map(|(code, window)| Formula::In(code, window)),
        6 => fact().prop_map(Formula::Fact),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let parts = || vec(inner.clone(), 0..5);
        let pair = || (inner.clone(), inner.clone());
        prop_oneof![
            2 => inner.clone().prop_map(Formula::not),
            1 => parts().prop_map(Formula::And),
            1 => parts().prop_map(Formula::Or),
            2 => pair().prop_map(|(left, right)| left.implies(right)),
            1 => pair().prop_map(|(left, right)| Formula::Iff(left.into(), right.into())),
            1 => parts().prop_map(Formula::AtMostOne),
            1 => parts().prop_map(Formula::ExactlyOne),
        ]
    })
}

fn rules() -> impl Strategy<Value = RuleSet> {
    let names =
        |code: u32| (format!("c{code}"), if code < 2 { Kind::Static } else { Kind::Encounter });
    let vocabulary = Arc::new(Vocabulary::new((0..6).map(names)).unwrap());
    assert_eq!(vocabulary.end(), Code(6));
    let soft = (proptest::option::of(formula()), known(), any::<bool>())
        .prop_map(|(when, code, present)| Says::Soft { when, code, present, probability: 0.5 });
    let says = prop_oneof![5 => formula().prop_map(Says::Hard), 1 => soft];
    vec(says, 1..12).prop_map(move |rules| {
        let rules = rules.into_iter().enumerate();
        let rules = rules.map(|(number, says)| Rule::new(format!("r{number}"), says));
        RuleSet::new(Arc::clone(&vocabulary), rules.collect()).unwrap()
    })
}

/// Visits of any codes in any order: misplaced, unknown and repeated ones come up.
fn record() -> impl Strategy<Value = Record> {
    let any_visits = vec(vec(code(), 0..5), 0..7);
    let proper = (vec(any::<[bool; 2]>(), 1), vec(any::<[bool; 4]>(), 0..7));
    let proper = proper.prop_map(|(statics, encounters)| {
        let present = |first: u32, flags: &[bool]| {
            let numbered = flags.iter().enumerate().filter(|(_, present)| **present);
            numbered.map(|(code, _)| Code(first + code as u32)).collect::<Vec<_>>()
        };
        let encounters = encounters.iter().map(|flags| present(2, flags));
        statics.iter().map(|flags| present(0, flags)).chain(encounters).collect::<Vec<_>>()
    });
    let visits = prop_oneof![1 => any_visits, 3 => proper];
    (visits, any::<bool>()).prop_map(|(visits, ended)| Record { visits, ended })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    #[test]
    fn all_violations_are_found(
        rules in rules(),
        records in vec((record(), details()), 1..6),
    ) {
        let referee = Referee::new(&rules);
        for (record, details) in records {
            let mut expected = Vec::new();
            let visits = record.visits.len();
            let record = Detailed { record: &record, details: details.view() };
            for visit in 0..visits {
                for (rule, of) in rules.iter().enumerate() {
                    let judged = of.is_hard() && referee.required(rule, visit);
                    if judged && !referee.holds(rule, &record, visit) {
                        expected.push(Violation { rule, visit });
                    }
                }
            }
            prop_assert_eq!(&referee.violations(&record), &expected);
            let valid = expected.is_empty() && referee.defects(&record).is_empty();
            prop_assert_eq!(referee.is_valid(&record), valid);
        }
    }
}
