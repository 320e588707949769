//! Counts are the same however records are divided and parts are added, and are read as they were written.

use std::collections::BTreeMap;

use consequence_record::{AgeBand, Code, Cohort, Details, EventDetail, Record, Selection, Split};
use consequence_tally::{
    Block, Coded, Counts, Lowest, Paused, Ranges, Reader, Repeats, Rounds, SampledRecord, Shards,
    Span, State, StateError, Whose, Writer, key,
};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

#[derive(Clone, Debug, PartialEq)]
struct All {
    number: u64,
    list: Vec<u64>,
    small: Vec<u32>,
    rows: Vec<[u64; 2]>,
    pairs: FxHashMap<(Code, Code), u64>,
    days: BTreeMap<i64, u64>,
    any: bool,
    span: Span<i64>,
    lowest: Lowest<u64>,
    repeats: Repeats,
    numbers: Ranges,
}
consequence_tally::counts!(All {
    number,
    list,
    small,
    rows,
    pairs,
    days,
    any,
    span,
    lowest,
    repeats,
    numbers
});

/// What is counted of one thing.
fn of(thing: u64) -> All {
    let mut lowest = Lowest::new(5);
    lowest.offer(key(&thing.to_string(), 0), 1 + thing % 3, || thing);
    let mut repeats = Repeats::default();
    repeats.push(key(&(thing % 4).to_string(), 1));
    let mut list = vec![0; (thing % 7) as usize];
    list.push(thing);
    All {
        number: thing,
        small: list.iter().map(|&one| one as u32).collect(),
        list,
        rows: vec![[thing, 1]],
        pairs: [((Code(thing as u32 % 3), Code(1)), thing)].into_iter().collect(),
        days: [(-(thing as i64), 1)].into(),
        any: thing == 5,
        span: Span::of(thing as i64 - 10),
        lowest,
        repeats,
        numbers: Ranges::of(thing..thing + 1 + thing % 3),
    }
}

fn sum(parts: impl IntoIterator<Item = All>) -> Option<All> {
    parts.into_iter().reduce(|mut sum, more| {
        sum.add(more);
        sum
    })
}

fn bytes(counts: &impl Coded) -> Vec<u8> {
    let mut out = Writer::default();
    counts.write(&mut out);
    out.finish()
}

proptest! {
    #[test]
    fn it_does_not_matter_how_things_are_divided(
        things in prop::collection::vec(0_u64..1000, 1..40),
        cuts in prop::collection::vec(0_usize..40, 0..5),
        turned in any::<bool>(),
    ) {
        let whole = sum(things.iter().map(|&thing| of(thing))).unwrap();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % things.len()).collect();
        cuts.extend([0, things.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        let mut parts: Vec<All> = cuts
            .windows(2)
            .filter_map(|ends| sum(things[ends[0]..ends[1]].iter().map(|&thing| of(thing))))
            .map(|part| All::read(&mut Reader::new(&bytes(&part))).unwrap())
            .collect();
        if turned {
            parts.reverse();
        }
        let added = sum(parts).unwrap();
        prop_assert_eq!(&added, &whole);
        prop_assert_eq!(bytes(&added), bytes(&whole));
    }

    #[test]
    fn damage_is_told(
        things in prop::collection::vec(0_u64..1000, 1..10),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut written = bytes(&sum(things.into_iter().map(of)).unwrap());
        let at = at.index(written.len());
        prop_assert!(All::read(&mut Reader::new(&written[..at])).is_err());
        written[at] = byte;
        // Another number may make sense; nothing panics, and nothing takes all memory.
        let _ = All::read(&mut Reader::new(&written));
    }
}

#[test]
fn records_on_their_way_are_as_they_were() {
    let event = EventDetail { visit: 1, code: Code(3), time: Some(-5), value: Some(1.5) };
    let details = Details {
        birth: Some(-100),
        times: vec![0, 7],
        ends: vec![None, Some(9)],
        ages: vec![Some(AgeBand { from: 0, to: None }), Some(AgeBand { from: 5, to: Some(12) })],
        events: vec![event],
    };
    let record = Record::new(vec![vec![Code(0)], vec![Code(3), Code(4)], vec![]]).cut();
    let sampled = SampledRecord { id: "é".into(), record, details };
    let read = SampledRecord::read(&mut Reader::new(&bytes(&sampled))).unwrap();
    assert_eq!(read, sampled);
    assert_eq!(u64::read(&mut Reader::new(&bytes(&u64::MAX))), Ok(u64::MAX));
    assert_eq!(i64::read(&mut Reader::new(&bytes(&i64::MIN))), Ok(i64::MIN));
}

fn cohort() -> (Cohort, Vec<Split>) {
    let mut cohort = Cohort::default();
    for number in 0..9 {
        cohort.push(&number.to_string(), &Record::new(vec![vec![]; 2 + number % 4]));
    }
    (cohort, vec![Split::Train; 9])
}

/// The longest record, then how many are as long.
fn longest(rounds: &mut Rounds<'_>) -> Result<(u64, u64), Paused> {
    let most: Span<i64> = rounds.count(Whose::Cohort, "longest", |block: &Block<'_>| {
        let mut span = Span::default();
        block.records.records().for_each(|record| span.add(Span::of(record.len() as i64)));
        Ok::<_, Paused>(span)
    })?;
    let most = most.ends().map_or(0, |(_, most)| most);
    let many = rounds.count(Whose::Cohort, "as long", |block: &Block<'_>| {
        let many = block.records.records().filter(|record| record.len() as i64 == most);
        Ok::<_, Paused>(many.count() as u64)
    })?;
    Ok((most as u64, many))
}

fn counted(
    known: &[State],
    records: Selection<'_>,
    splits: &[Split],
    [number, count]: [u32; 2],
    of: &str,
) -> State {
    let mut blocks = records.chunks(2).into_iter().map(|records| Block { records, splits });
    let mut rounds = Rounds::part(known, Whose::Cohort, &mut blocks).of(of).shard(number, count);
    match longest(&mut rounds) {
        Err(Paused::Counted(state)) => state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rounds_are_gone_through_and_parts_are_held_apart() {
    let (cohort, splits) = cohort();
    let all = Selection::all(&cohort);
    let whole = longest(&mut Rounds::whole(Block { records: all, splits: &splits })).unwrap();
    assert_eq!(whole, (5, 2));
    let mut known: Vec<State> = Vec::new();
    let parts = [all.part(0..4), all.part(4..4), all.part(4..9)];
    for round in 0..2 {
        let states: Vec<State> = (1..)
            .zip(parts)
            .map(|(number, part)| counted(&known, part, &splits, [number, 3], "a"))
            .map(|state| State::from_bytes(&state.to_bytes()).unwrap())
            .collect();
        let mut merging = Rounds::merging(&known, states).of("a");
        let outcome = longest(&mut merging);
        let merged = merging.merged().unwrap();
        assert_eq!((merged.records, merged.shards.missing()), (9, vec![]));
        match (round, outcome) {
            (0, Err(Paused::Wanted(wanted))) => {
                assert_eq!((wanted.round, wanted.name), (1, "as long"))
            }
            (1, Ok(found)) => assert_eq!(found, whole),
            (_, other) => panic!("{other:?}"),
        }
        known.push(merged);
    }
    // In two steps: some parts, and then the rest.
    let first = known[..1].to_vec();
    let [one, none, other] = [1, 2, 3]
        .map(|number| counted(&first, parts[number as usize - 1], &splits, [number, 3], "a"));
    let mut merging = Rounds::merging(&first, vec![none, other.clone()]).of("a");
    assert!(longest(&mut merging).is_ok());
    let some = merging.merged().unwrap();
    assert_eq!(some.shards.missing(), [1]);
    assert_eq!(
        longest(&mut Rounds::merging(&first, vec![some, one.clone()]).of("a")).unwrap(),
        whole
    );

    // Some parts added up by whoever does not go on.
    let [one, none] =
        [1, 2].map(|number| counted(&first, parts[number as usize - 1], &splits, [number, 3], "a"));
    let added = longest(&mut Rounds::adding(&first, vec![one.clone(), none]).of("a"));
    let Err(Paused::Counted(added)) = added else { panic!("{added:?}") };
    let all = vec![other.clone(), added];
    assert_eq!(longest(&mut Rounds::merging(&first, all).of("a")).unwrap(), whole);

    let refused = |known: &[State], parts: Vec<State>, of: &str| match longest(
        &mut Rounds::merging(known, parts).of(of),
    ) {
        Err(Paused::Refused(error)) => error,
        other => panic!("{other:?}"),
    };
    let twice = refused(&first, vec![one.clone(), one.clone()], "a");
    assert_eq!(twice, StateError::Twice { shard: 1, of: 3 });
    let task = refused(&first, vec![one.clone()], "b");
    assert!(task.to_string().contains("differ in the task, its rules or the codes"), "{task}");
    let round = refused(&[], vec![one.clone()], "a");
    assert!(round.to_string().contains("differ in the round"), "{round}");
    let parts = State { shards: Shards::one(3, 4), ..other.clone() };
    assert_eq!(refused(&first, vec![one, parts], "a"), StateError::OtherParts { of: 3, other: 4 });
    let damaged = State { counts: vec![0x80], ..other };
    assert!(matches!(refused(&first, vec![damaged], "a"), StateError::Damaged(_)));
    assert!(matches!(
        longest(&mut Rounds::merging(&first, Vec::new()).of("a")),
        Err(Paused::Wanted(wanted)) if wanted.round == 1
    ));
    let other_format = StateError::Format { format: 2, known: 3 };
    assert_eq!(State::from_bytes(b"conseq-counts\n\x02").unwrap_err(), other_format);
    assert_eq!(
        other_format.to_string(),
        "the counts have format 2, and this program adds up format 3"
    );
    assert!(State::from_bytes(b"PAR1").is_err());
}

/// How many records there are, which nothing depends on, then how many encounters.
fn sizes(rounds: &mut Rounds<'_>) -> Result<(u64, u64), Paused> {
    let records = rounds.count_for_later(Whose::Cohort, "records", |block: &Block<'_>| {
        Ok::<_, Paused>(block.records.len() as u64)
    })?;
    let encounters = rounds.count(Whose::Cohort, "encounters", |block: &Block<'_>| {
        let lengths = block.records.records().map(|record| record.len() as u64 - 1);
        Ok::<_, Paused>(lengths.sum::<u64>())
    })?;
    Ok((records.read()?, encounters))
}

#[test]
fn counts_for_later_are_not_told_to_whoever_counts() {
    let (cohort, splits) = cohort();
    let block = Block { records: Selection::all(&cohort), splits: &splits };
    let whole = sizes(&mut Rounds::whole(block)).unwrap();
    assert_eq!(whole, (9, 21));
    let counted = |known: &[State]| {
        let mut blocks = [block].into_iter();
        match sizes(&mut Rounds::part(known, Whose::Cohort, &mut blocks)) {
            Err(Paused::Counted(state)) => State::from_bytes(&state.to_bytes()).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let first = counted(&[]);
    let told = first.told();
    assert!(first.for_later && !first.counts.is_empty() && told.counts.is_empty());
    let second = counted(std::slice::from_ref(&told));
    assert!(!second.for_later && second.told() == second);
    assert_eq!(sizes(&mut Rounds::merging(&[first], vec![second.clone()])).unwrap(), whole);
    // Whoever goes on to the end needs all of them.
    let lacking = sizes(&mut Rounds::merging(&[told], vec![second]));
    assert!(matches!(lacking, Err(Paused::Refused(StateError::Nothing))), "{lacking:?}");
}
