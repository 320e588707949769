//! What holds of vocabularies, cohorts, lists and splits, whatever is put into them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use consequence_record::{
    Code, Cohort, END_NAME, Kind, Lists, Record, Split, Vocabulary, VocabularyError,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Names that come twice now and then, are empty, or are `END`.
fn names() -> impl Strategy<Value = Vec<(String, Kind)>> {
    let name = prop_oneof![
        8 => "[a-zA-Z/]{1,3}",
        1 => "\\PC{1,8}",
        1 => prop::sample::select(vec!["END".to_owned(), String::new(), "end".to_owned()]),
    ];
    let kind = prop::bool::ANY.prop_map(|flag| if flag { Kind::Static } else { Kind::Encounter });
    vec((name, kind), 0..12)
}

/// Visits as anybody might write them: codes in any order, some twice.
fn visits() -> impl Strategy<Value = Vec<Vec<Code>>> {
    vec(vec((0u32..9).prop_map(Code), 0..7), 1..6)
}

proptest! {
    /// Names and numbers are two ways to say the same, and the first fault is the one that is told.
    #[test]
    fn a_vocabulary_is_a_bijection_or_is_refused_for_its_first_fault(names in names()) {
        let mut seen = HashSet::new();
        let fault = names.iter().find_map(|(name, _)| match name.as_str() {
            "" => Some(VocabularyError::Empty),
            END_NAME => Some(VocabularyError::Reserved),
            name if !seen.insert(name) => Some(VocabularyError::Duplicate(name.into())),
            _ => None,
        });
        let vocabulary = match Vocabulary::new(names.iter().map(|(name, kind)| (name, *kind))) {
            Ok(vocabulary) => vocabulary,
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                prop_assert_eq!(Some(error), fault);
                return Ok(());
            }
        };
        prop_assert_eq!(fault, None);
        prop_assert_eq!(vocabulary.len(), names.len() + 1);
        let codes: Vec<Code> = vocabulary.codes().collect();
        prop_assert_eq!(codes.len(), vocabulary.len());
        for (code, (name, kind)) in codes.iter().zip(&names) {
            prop_assert_eq!(vocabulary.name(*code), name);
            prop_assert_eq!(vocabulary.kind(*code), *kind);
            prop_assert_eq!(vocabulary.code(name), Some(*code));
            prop_assert_eq!(vocabulary.code(&format!("{name} ")), None, "names are whole");
        }
        let end = vocabulary.end();
        prop_assert_eq!(codes.last(), Some(&end));
        prop_assert_eq!((vocabulary.code(END_NAME), vocabulary.kind(end)), (Some(end), Kind::Encounter));
    }

    /// A record is a list of sets.
    #[test]
    fn a_record_is_what_its_visits_are_as_sets(written in visits()) {
        let record = Record::new(written.clone());
        prop_assert!(record.ended && !record.clone().cut().ended);
        prop_assert_eq!(&record.clone().cut().visits, &record.visits);
        let sets: Vec<Vec<Code>> = written
            .iter()
            .map(|visit| visit.iter().copied().collect::<BTreeSet<_>>().into_iter().collect())
            .collect();
        prop_assert_eq!(&record.visits, &sets);
        prop_assert_eq!(&Record::new(record.visits.clone()), &record, "once is enough");
    }

    /// A cohort gives back every record, wherever it stands and however it was put in.
    #[test]
    fn a_cohort_gives_back_what_was_put_in(
        records in vec((".{0,5}", visits(), prop::bool::ANY), 0..12),
    ) {
        let records: Vec<(String, Record)> = records
            .into_iter()
            .map(|(id, visits, ended)| (id, Record { ended, ..Record::new(visits) }))
            .collect();
        let (mut owned, mut borrowed) = (Cohort::default(), Cohort::default());
        for (number, (id, record)) in records.iter().enumerate() {
            prop_assert_eq!((owned.len(), owned.is_empty()), (number, number == 0));
            owned.push(id, record);
            borrowed.push_visits(id, record.visits.iter().map(Vec::as_slice), record.ended);
        }
        prop_assert_eq!(&owned, &borrowed);
        prop_assert_eq!(owned.records().len(), records.len());
        for (index, (view, (id, record))) in owned.records().zip(&records).enumerate() {
            prop_assert_eq!(owned.id(index), id);
            prop_assert_eq!(&view.to_record(), record);
            prop_assert_eq!(&owned.record(index).to_record(), record);
            prop_assert_eq!((view.len(), view.ended()), (record.visits.len(), record.ended));
            prop_assert_eq!(view.visits().len(), record.visits.len());
            for (visit, codes) in record.visits.iter().enumerate() {
                prop_assert_eq!(view.visit(visit), codes.as_slice());
                let last = visit > 0 && visit + 1 == record.visits.len();
                prop_assert_eq!(view.ends_at(visit), last && record.ended);
            }
        }
        let visits = records.iter().map(|(_, record)| record.visits.len());
        prop_assert_eq!(owned.visit_count(), visits.clone().sum::<usize>());
        prop_assert_eq!(owned.longest(), visits.max().map_or(0, |most| most - 1));
        // Two cohorts are the same only if every id, end and visit is.
        for changed in 0..3 * records.len() {
            let mut other = Cohort::default();
            for (at, (id, record)) in records.iter().enumerate() {
                let (mut id, mut record) = (id.clone(), record.clone());
                match changed.checked_sub(3 * at) {
                    Some(0) => id.push('x'),
                    Some(1) => record.ended ^= true,
                    Some(2) => record.visits.push(Vec::new()),
                    _ => {}
                }
                other.push(&id, &record);
            }
            prop_assert_ne!(&owned, &other);
        }
    }

    /// Lists that are filed are those that would be pushed, and hold each value once.
    #[test]
    fn lists_hold_what_was_put_in(
        lists in vec(vec(0u16..50, 0..5), 0..8),
        values in vec((0u32..8, 0u16..50), 0..30),
    ) {
        let mut pushed = Lists::default();
        for (number, list) in lists.iter().enumerate() {
            prop_assert_eq!((pushed.len(), pushed.is_empty()), (number, number == 0));
            pushed.push(list.iter().copied());
            prop_assert_eq!(pushed.list(number), list.as_slice());
        }
        let all: Vec<&[u16]> = pushed.iter().collect();
        prop_assert_eq!(&all, &lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let held = lists.iter().map(Vec::len).sum::<usize>() * size_of::<u16>();
        prop_assert_eq!(pushed.memory(), held + lists.len() * size_of::<usize>());

        let filed = Lists::filed(8, &values);
        let mut by_number: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
        values.iter().for_each(|&(list, value)| by_number.entry(list).or_default().push(value));
        prop_assert_eq!(filed.len(), 8);
        for number in 0..8 {
            let expected = by_number.get(&number).map_or(&[][..], Vec::as_slice);
            prop_assert_eq!(filed.list(number as usize), expected);
        }
        let mut again = Lists::default();
        filed.iter().for_each(|list| again.push(list.iter().copied()));
        prop_assert_eq!(&again, &filed);
        again.clear();
        prop_assert_eq!(&again, &Lists::default());
    }

    /// The split of a subject is its own affair.
    #[test]
    fn a_split_goes_by_the_subject_alone(subject in "\\PC{0,12}") {
        let split = Split::of(&subject);
        prop_assert_eq!(Split::of(&subject), split);
        prop_assert_eq!(split.to_string().parse::<Split>(), Ok(split));
        prop_assert_eq!(split.name().to_uppercase().parse::<Split>(), Err(()));
    }
}

/// Whatever the subjects are called, eight in ten are for training and one in ten for each of the others,
/// within five standard deviations.
#[test]
fn splits_have_their_shares_whatever_the_names_look_like() {
    let subjects: u32 = 20_000;
    let ways: [fn(u32) -> String; 4] = [
        |number| number.to_string(),
        |number| format!("patient-{number:08}"),
        |number| format!("{:x}", number.wrapping_mul(0x9e37_79b9)),
        |number| "x".repeat(1 + number as usize % 7) + &(number / 7).to_string(),
    ];
    for (way, name) in ways.iter().enumerate() {
        let mut counts: BTreeMap<Split, u32> = BTreeMap::new();
        let names: BTreeSet<String> = (0..subjects).map(name).collect();
        names.iter().for_each(|name| *counts.entry(Split::of(name)).or_default() += 1);
        let all = names.len() as f64;
        for (split, share) in [(Split::Train, 0.8), (Split::Tuning, 0.1), (Split::HeldOut, 0.1)] {
            let deviation = (all * share * (1.0 - share)).sqrt();
            let off = (f64::from(counts[&split]) - all * share).abs() / deviation;
            assert!(off < 5.0, "way {way}: {split} is {off} deviations off");
        }
    }
}
