//! Days, counts, `since`, ages and values: what the referee says against every visit looked at anew.

use std::sync::Arc;

use consequence_record::calendar::{DAY, day};
use consequence_record::{AgeBand, Code, Details, EventDetail, Kind, Record, Vocabulary};
use consequence_referee::{Detailed, Referee};
use consequence_rules::{Days, Fact, Formula, Rule, RuleSet, ValueRange};

const YOUNG: Code = Code(0);
const OLD: Code = Code(1);
const A: Code = Code(2);
const B: Code = Code(3);

fn referee(fact: Fact) -> Referee {
    let kinds = [
        ("AGE//0-40", Kind::Static),
        ("AGE//40+", Kind::Static),
        ("A", Kind::Encounter),
        ("B", Kind::Encounter),
    ];
    let vocabulary = Arc::new(Vocabulary::new(kinds).unwrap());
    let rule = Rule::hard("rule", Formula::Fact(fact));
    Referee::new(&RuleSet::new(vocabulary, vec![rule]).unwrap())
}

/// The truth of a fact at each visit in turn.
fn truths(fact: &Fact, record: &Record, details: &Details) -> Vec<bool> {
    let referee = referee(fact.clone());
    let detailed = Detailed { record, details: details.view() };
    (0..record.visits.len()).map(|visit| referee.holds(0, &detailed, visit)).collect()
}

/// Every record of three encounters over two codes, with gaps of 0 to 3 days.
fn worlds() -> impl Iterator<Item = (Vec<[bool; 2]>, Vec<i64>)> {
    (0..64u32).flat_map(|codes| {
        (0..16i64).map(move |gaps| {
            let visits = (0..3)
                .map(|visit| [codes >> (2 * visit) & 1 == 1, codes >> (2 * visit + 1) & 1 == 1]);
            // The last hour of a day and the first of the next are a day apart.
            let hours = [23, 1, 12];
            let days = [10, 10 + gaps % 4, 10 + gaps % 4 + gaps / 4];
            let times = days.iter().zip(hours).map(|(day, hour)| day * DAY + hour * DAY / 24);
            (visits.collect(), times.collect())
        })
    })
}

fn record(visits: &[[bool; 2]]) -> Record {
    let codes = |visit: &[bool; 2]| -> Vec<Code> {
        let present = [A, B].into_iter().zip(visit).filter(|(_, present)| **present);
        present.map(|(code, _)| code).collect()
    };
    let encounters = visits.iter().map(codes);
    Record::new([vec![]].into_iter().chain(encounters).collect())
}

#[test]
fn counts_and_days_are_those_of_every_visit_before() {
    let mut held = 0;
    for (visits, times) in worlds() {
        let (record, details) =
            (record(&visits), Details { times: times.clone(), ..Details::default() });
        for count in 1..=3u16 {
            for (from, to) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 3), (2, 6)] {
                for set in [vec![A], vec![B], vec![A, B]] {
                    let seen = |days| Fact::Seen { codes: set.clone().into(), days, count };
                    let dated = truths(&seen(Some(Days { from, to })), &record, &details);
                    let ever = truths(&seen(None), &record, &details);
                    for now in 0..=3usize {
                        // Encounter `n` is visit `n`; index `n - 1` in the world.
                        let (mut near, mut all) = (0, 0);
                        for then in 1..now {
                            let has = set.contains(&A) && visits[then - 1][0]
                                || set.contains(&B) && visits[then - 1][1];
                            let apart = times[now - 1] / DAY - times[then - 1] / DAY;
                            near += u16::from(has && apart >= from.into() && apart <= to.into());
                            all += u16::from(has);
                        }
                        assert_eq!(
                            dated[now],
                            near >= count,
                            "{visits:?} {times:?} {from} {to} {now}"
                        );
                        assert_eq!(ever[now], all >= count, "{visits:?} {now}");
                        held += usize::from(dated[now]);
                    }
                }
            }
        }
        // Without dates nothing is some days ago, and what counts visits is as before.
        let seen = Fact::within(A, Days::last(Days::MAX));
        assert_eq!(truths(&seen, &record, &Details::default()), [false; 4]);
    }
    assert!(held > 1_000, "{held}");
}

#[test]
fn since_looks_after_the_last_mark() {
    for (visits, _) in worlds() {
        let fact = Fact::Since { codes: [B].into(), mark: [A].into() };
        let held = truths(&fact, &record(&visits), &Details::default());
        for (now, held) in held.into_iter().enumerate() {
            let mut expected = false;
            let mut marked = false;
            for visit in &visits[..now.saturating_sub(1)] {
                expected |= marked && visit[1];
                if visit[0] {
                    (marked, expected) = (true, false);
                }
            }
            assert_eq!(held, expected, "{visits:?} at {now}");
        }
    }
    let both = Fact::Since { codes: [B].into(), mark: [A].into() };
    let visits = [[true, false], [true, true], [false, true], [false, false]];
    let held = truths(&both, &record(&visits), &Details::default());
    assert_eq!(
        held,
        [false, false, false, false, true],
        "in the visit of the mark is not after it"
    );
}

#[test]
fn the_first_visit_is_encounter_one() {
    let record = record(&[[true, false], [false, false]]);
    assert_eq!(truths(&Fact::FirstVisit, &record, &Details::default()), [false, true, false]);
}

#[test]
fn ages_are_completed_years_or_the_beginning_of_a_band() {
    let at = |y, m, d| day(y, m, d).unwrap() * DAY;
    let mut record = record(&[[true, false], [false, false]]);
    record.visits[0] = vec![OLD];
    let born = Details {
        birth: Some(at(2000, 3, 1)),
        times: vec![at(2018, 2, 28), at(2018, 3, 1)],
        ..Details::default()
    };
    let adult = Fact::Age { least: 18 };
    assert_eq!(truths(&adult, &record, &born), [false, false, true], "dates go before codes");
    let told = [Some(AgeBand { from: 10, to: Some(20) }), Some(AgeBand { from: 18, to: Some(30) })];
    let banded = Details { ages: told.to_vec(), ..Details::default() };
    assert_eq!(truths(&adult, &record, &banded), [false, false, true]);
    assert_eq!(truths(&adult, &record, &Details::default()), [false, true, true]);
    record.visits[0] = vec![YOUNG];
    assert_eq!(truths(&adult, &record, &Details::default()), [false, false, false]);
    assert_eq!(truths(&Fact::Age { least: 0 }, &record, &Details::default()), [false, true, true]);
    record.visits[0] = vec![];
    assert_eq!(truths(&Fact::Age { least: 0 }, &record, &Details::default()), [false; 3]);
}

#[test]
fn values_are_those_of_the_code_in_the_visit() {
    let record = record(&[[true, true], [true, false], [false, true]]);
    let event = |visit, code, value| EventDetail { visit, code, time: None, value };
    let events = vec![
        event(0, A, Some(9.0)),
        event(1, A, Some(6.5)),
        event(1, B, Some(9.0)),
        event(2, A, None),
        event(3, B, Some(7.0)),
    ];
    let details = Details { events, ..Details::default() };
    let held = |code, range| truths(&Fact::Value { code, range }, &record, &details);
    assert_eq!(held(A, ValueRange::above(6.5)), [false; 4]);
    assert_eq!(held(A, ValueRange::at_least(6.5)), [false, true, false, false]);
    assert_eq!(held(A, ValueRange::below(6.6)), [false, true, false, false]);
    assert_eq!(held(B, ValueRange::at_most(7.0)), [false, false, false, true]);
    assert_eq!(held(B, ValueRange::between(7.0, 9.0)), [false, true, false, true]);
    assert_eq!(held(B, ValueRange::between(7.1, 8.9)), [false; 4]);
    // Stored in 32 bits, compared in 32 bits.
    assert_eq!(
        held(A, ValueRange::at_most("6.4999999".parse().unwrap())),
        [false, true, false, false]
    );
}
