//! Records that a GPU draws are those of the CPU. Says `SKIPPED` where there is none.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_engine::cuda::{Gpu, GpuError, Precision, WalkRoom};
use consequence_feedback::Unwatched;
use consequence_model::{EndCell, EndsByDays, HaloSizes, Network, NetworkGenerator, NetworkSizes};
use consequence_network::Weights;
use consequence_network::gpu::DeckSize;
use consequence_record::{Kind, Record, Vocabulary};
use consequence_rules::RuleSet;
use consequence_sample::{
    DatasetOptions, DrawnBy, Mode, NotOnGpu, Request, SampleError, Sampler, Totals, write_dataset,
};

use consequence_testing::worlds::{Choices, Size, World};

use common::*;

fn gpu() -> Option<Gpu> {
    match Gpu::open(0, Precision::Full) {
        Ok(gpu) => Some(gpu),
        Err(error @ GpuError::Failed(_)) => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

/// HALO with so many units in its head for each code.
fn halo(vocabulary: &Arc<Vocabulary>, max_visits: usize, seed: u64, head_units: usize) -> Network {
    let sizes = match head_units {
        1 => HaloSizes { width: 12, layers: 3, heads: 4, head_units },
        _ => HaloSizes { width: 10, layers: 2, heads: 1, head_units },
    };
    drawn_of(vocabulary, max_visits, NetworkSizes::Halo(sizes), seed)
}

/// A network of each kind, and HALO of two sizes.
fn networks(vocabulary: &Arc<Vocabulary>, max_visits: usize, seed: u64) -> [Network; 3] {
    let halo = |head_units| halo(vocabulary, max_visits, seed, head_units);
    [drawn(vocabulary, max_visits, seed), halo(1), halo(3)]
}

/// So many slots, of which not all are worked on at a time.
fn deck(slots: usize) -> DeckSize {
    DeckSize { slots, rows: slots / 2 - 1, ..DeckSize::default() }
}

/// How many of so many records are the same from both, and how many the GPU left to the CPU; all obey, since the referee
/// sees them.
fn same(
    network: &Network,
    rules: &RuleSet,
    request: &Request<'_>,
    (count, size): (u64, DeckSize),
) -> Option<(u64, u64)> {
    let generator = NetworkGenerator::new(network);
    let here = Sampler::new(&generator, rules, request.clone()).unwrap();
    let mut there = Sampler::new(&generator, rules, request.clone()).unwrap();
    there.draw_on(vec![gpu()?], network, size).unwrap();
    let (expected, totals) = records(&here, count);
    let (found, found_totals) = records(&there, count);
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(&expected);
    let same = pairs.filter(|(found, expected)| found == expected).count() as u64;
    if same == count {
        assert_eq!(found_totals, totals);
    }
    Some((same, there.left_by_gpu()))
}

fn all_same(network: &Network, text: &str, request: &Request<'_>, count: u64) {
    let rules = rules(text, network.codes().vocabulary());
    if let Some(found) = same(network, &rules, request, (count, deck(12))) {
        assert_eq!(found, (count, 0), "of {count} records:\n{text}");
    }
}

#[test]
fn without_rules() {
    for (statics, encounters) in [(0, 40), (130, 260)] {
        for network in networks(&vocabulary(statics, encounters), 8, 4) {
            for mode in [Mode::Off, Mode::Guided] {
                all_same(&network, "", &Request { mode, ..Request::default() }, 30);
            }
            let request = Request { temperature: 0.7, seed: 1 << 40, ..Request::default() };
            all_same(&network, "", &request, 20);
        }
    }
}

#[test]
fn with_rules_of_every_form() {
    let networks = networks(&vocabulary(3, 90), 8, 4);
    for text in [
        "rule one: exactly one of S0, S1, S2",
        "rule lasts: E3 in previous => E3",
        "rule bars: S1 in static and E5 => not E4  rule never: not E6",
        "rule asks: E7 in past and E8 => any of E10, E11",
        "rule ends: E20 and E21 => END  rule long: not END => E30",
        "rule seldom: E1 => E2 with probability 0.1  rule often: not E1 => E50 with probability 0.9",
        "rule twice: E1 => E2 with probability 0.1  rule later: E0 => E2 with probability 0.7",
        "rule a: E1 in last 3 visits => E40  rule b: E2 in 2 visits ago => not E41
         rule c: E3 in visit 2 => E42  rule d: not E4 in past => any of E43, E44, E45",
        "rule some: any of E10, E20, E30, E40, E50  rule nor: E10 => not E20",
        "rule few: at most one of E1, E2, E3, E4, E5, E6, E7, E8, E9, E10",
        "rule first: E80 => E81  rule then: E81 => E82  rule last: E82 and E83 => END",
        "rule both: E1 <=> E2  rule other: E3 and not E4 => E5 and E6",
    ] {
        for network in &networks {
            all_same(network, text, &Request::default(), 36);
        }
    }
}

#[test]
fn with_rules_that_the_model_was_trained_with() {
    let text = "rule one: exactly one of S0, S1, S2
                rule asks: E7 => any of E10, E11, E60  rule more: E9 and E8 => any of E12, E70";
    for network in networks(&vocabulary(3, 90), 8, 4) {
        let known = rules(text, network.codes().vocabulary());
        let request = Request { trained_with: Some(&known), ..Request::default() };
        all_same(&network, text, &request, 36);
        let more = format!("{text}  rule new: E2 => any of E50, E51");
        all_same(&network, &more, &request, 36);
    }
}

#[test]
fn random_rules() {
    follow_random_rules(300, 150, drawn);
}

#[test]
fn random_rules_of_halo() {
    follow_random_rules(80, 40, |vocabulary, max_visits, seed| {
        halo(vocabulary, max_visits, seed, if seed % 2 == 0 { 1 } else { 3 })
    });
}

/// That rules of so many worlds are followed as on the CPU, and those of more than some are followed at all.
fn follow_random_rules(
    worlds: u64,
    at_least: usize,
    drawn: impl Fn(&Arc<Vocabulary>, usize, u64) -> Network,
) {
    let size = Size { codes: 7, visits: 4, rules: 5 };
    let (mut tried, mut followed) = (0, 0);
    for case in 0..worlds {
        let world = World::random(size, &mut Choices::new(8, case));
        let network = drawn(world.rules.vocabulary(), world.max_visits.into(), case);
        let generator = NetworkGenerator::new(&network);
        let Some(gpu) = gpu() else { return };
        let request = Request { seed: case, ..Request::default() };
        // Rules that no record can obey, or that this order of codes is no good for.
        let Ok(mut there) = Sampler::new(&generator, &world.rules, request.clone()) else {
            continue;
        };
        tried += 1;
        match there.draw_on(vec![gpu], &network, deck(6)) {
            Ok(()) => followed += 1,
            Err(error) => {
                assert_eq!(error, NotOnGpu::Rules, "case {case}");
                continue;
            }
        }
        let (expected, totals) = sample(&generator, &world.rules, request, 12);
        assert_eq!(
            records(&there, 12),
            (expected, totals),
            "case {case}: {:?}",
            world.rules.iter().map(|rule| rule.origin.text.clone()).collect::<Vec<_>>()
        );
    }
    eprintln!("{tried} sets of rules, {followed} followed");
    assert!(followed > at_least, "{tried} sets of rules, {followed} followed");
}

#[test]
fn with_conditions() {
    for network in networks(&vocabulary(3, 90), 8, 4) {
        let text = "rule one: exactly one of S0, S1, S2";
        let rules = rules(text, network.codes().vocabulary());
        let given = consequence_sample::Condition::parse_list("S1", &rules).unwrap();
        let request = Request { given, ..Request::default() };
        if let Some(found) = same(&network, &rules, &request, (36, deck(5))) {
            assert_eq!(found, (36, 0));
        }
    }
}

#[test]
fn records_end_with_the_days() {
    let mut names: Vec<(String, Kind)> = (0..3).map(|n| (format!("S{n}"), Kind::Static)).collect();
    names.extend(["GAP//0d", "GAP//7-14d", "GAP//60d"].map(|name| (name.into(), Kind::Encounter)));
    names.extend((0..50).map(|n| (format!("E{n}"), Kind::Encounter)));
    let vocabulary = Arc::new(Vocabulary::new(names).unwrap());
    let days = [("GAP//0d", 0.0), ("GAP//7-14d", 9.5), ("GAP//60d", 70.0)];
    let days = BTreeMap::from(days.map(|(name, days)| (name.to_owned(), days)));
    let cell = |from_days, level, by_pace| EndCell { from_days, level, by_pace };
    let cells = vec![cell(0, -1.0, 0.2), cell(10, 0.5, -0.1), cell(80, 9.0, 0.0)];
    let ends = EndsByDays::new(days, cells);
    for network in networks(&vocabulary, 12, 4) {
        let network = network.with_ends(ends.clone());
        for text in ["", "rule gap: at most one of GAP//*", "rule must: any of E7, END, E9"] {
            all_same(&network, text, &Request::default(), 36);
        }
    }
}

#[test]
fn what_finds_no_room_is_drawn_on_the_cpu() {
    let text = "rule some: any of E10, E20, E30, E40, E50  rule one: E3 in past => E4";
    let full = WalkRoom::default();
    for network in networks(&vocabulary(3, 90), 8, 4) {
        let rules = rules(text, network.codes().vocabulary());
        let remembers = matches!(network.weights(), Weights::Recurrent(_));
        for (room, enough) in [
            (WalkRoom { codes: 12, ..full }, false),
            (WalkRoom { visits: 2, ..full }, false),
            // HALO does not ask for codes that were held before.
            (WalkRoom { held: 5, ..full }, !remembers),
            (WalkRoom { pending: 0, ..full }, false),
            (WalkRoom { due: 0, ..full }, false),
        ] {
            let size = DeckSize { room, ..deck(10) };
            if let Some((same, left)) = same(&network, &rules, &Request::default(), (30, size)) {
                assert_eq!(same, 30, "{room:?}");
                assert_eq!(left == 0, enough, "{room:?}");
            }
        }
    }
}

#[test]
fn what_a_gpu_cannot_do_is_told() {
    let Some(first) = gpu() else { return };
    let network = drawn(&vocabulary(3, 90), 8, 4);
    let generator = NetworkGenerator::new(&network);
    let rules = rules("rule r: E1 => E2", network.codes().vocabulary());
    let request = Request { mode: Mode::Exact, ..Request::default() };
    let mut sampler = Sampler::new(&generator, &rules, request).unwrap();
    let refused = sampler.draw_on(vec![first], &network, deck(8)).unwrap_err();
    assert_eq!(refused, NotOnGpu::Mode("exact"));
    assert_eq!(records(&sampler, 5).0.len(), 5, "the CPU goes on");

    let Some(again) = gpu() else { return };
    let sizes = HaloSizes { width: 257, layers: 1, heads: 1, head_units: 1 };
    let network = drawn_of(&vocabulary(3, 90), 8, NetworkSizes::Halo(sizes), 4);
    let generator = NetworkGenerator::new(&network);
    let mut sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let refused = sampler.draw_on(vec![again], &network, deck(8)).unwrap_err();
    assert_eq!(refused, NotOnGpu::WideHeads);
}

#[test]
fn whoever_takes_records_can_stop() {
    let Some(gpu) = gpu() else { return };
    let network = drawn(&vocabulary(3, 90), 8, 4);
    let generator = NetworkGenerator::new(&network);
    let rules = rules("", network.codes().vocabulary());
    let mut sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    sampler.draw_on(vec![gpu], &network, deck(8)).unwrap();
    for stop in [0, 1, 40] {
        let mut seen = 0;
        let take = |number, _: Record| {
            assert_eq!(number, seen);
            seen += 1;
            if number == stop { Err(SampleError::Stopped) } else { Ok(()) }
        };
        let stopped = sampler.records(0..u64::MAX, &mut Totals::default(), take);
        assert!(matches!(stopped, Err(SampleError::Stopped)));
        assert_eq!(seen, stop + 1);
    }
}

#[test]
fn on_two_gpus() {
    let Some(one) = gpu() else { return };
    // Where there is but one, it stands for both.
    let second = usize::from(Gpu::count().unwrap() > 1);
    let other = Gpu::open(second, Precision::Full).unwrap();
    let network = drawn(&vocabulary(3, 40), 8, 4);
    let generator = NetworkGenerator::new(&network);
    let rules = rules("rule one: E3 in past => E4", network.codes().vocabulary());
    let here = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let mut there = Sampler::new(&generator, &rules, Request::default()).unwrap();
    there.draw_on(vec![one, other], &network, deck(4)).unwrap();
    assert_eq!(records(&there, 60), records(&here, 60));
}

/// A dataset that was begun with fast products, and is gone on with otherwise.
#[test]
fn devices_do_not_mix_in_a_dataset() {
    let network = drawn(&vocabulary(3, 40), 8, 4);
    let generator = NetworkGenerator::new(&network);
    let rules = rules("rule one: E3 in past => E4", network.codes().vocabulary());
    let sampler = |precision: Option<Precision>| {
        let mut sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
        if let Some(precision) = precision {
            sampler.draw_on(vec![Gpu::open(0, precision).unwrap()], &network, deck(8)).unwrap();
        }
        sampler
    };
    if gpu().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |precision, name: &str| {
        let options = DatasetOptions {
            records: 60,
            shard_records: 20,
            resume: true,
            ..DatasetOptions::default()
        };
        write_dataset(&sampler(precision), folder.path().join(name), &options, &Unwatched)
    };
    let second = |name: &str| folder.path().join(name).join("data/000001.parquet");
    write(Some(Precision::Fast), "fast").unwrap();
    let before = std::fs::read(second("fast")).unwrap();
    std::fs::remove_file(second("fast")).unwrap();
    for other in [None, Some(Precision::Full)] {
        let refused = write(other, "fast").unwrap_err();
        let SampleError::OtherDevice { there, ours, .. } = refused else { panic!("{refused}") };
        assert!(matches!(there, DrawnBy::Gpu { precision, .. } if precision == "fast"));
        assert_eq!(ours == DrawnBy::Cpu, other.is_none());
    }
    assert_eq!(write(Some(Precision::Fast), "fast").unwrap().totals.records, 20);
    assert!(std::fs::read(second("fast")).unwrap() == before, "as it was written at first");
}

/// Whether this runs on the emulated GPU with such a variable; see `make gpu-test`.
fn emulated(variable: &str) -> bool {
    let is_set = std::env::var_os(variable).is_some();
    if !is_set {
        eprintln!("SKIPPED: {variable} is not set");
    }
    is_set
}

/// 600 MB are enough for 1,024 slots of this network with nothing to spare, and not for 2,048.
#[test]
fn memory_that_keeps_its_size_takes_no_more_than_that() {
    if !emulated("EMULATED_MEMORY") {
        return;
    }
    let sizes = HaloSizes { width: 64, layers: 4, heads: 4, head_units: 1 };
    let network = drawn_of(&vocabulary(3, 40), 240, NetworkSizes::Halo(sizes), 4);
    let generator = NetworkGenerator::new(&network);
    let rules = rules("rule one: E3 in past => E4", network.codes().vocabulary());
    let here = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let mut there = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let size = DeckSize { slots: 2_048, rows: 16, ..DeckSize::default() };
    there.draw_on(vec![gpu().unwrap()], &network, size).unwrap();
    assert_eq!(there.drawing().slots, Some(1_024));
    assert_eq!(records(&there, 12), records(&here, 12));
}

/// A launch amid the records fails for want of memory: the GPU goes on with fewer slots, and the records are the same.
#[test]
fn out_of_memory_amid_records() {
    if !emulated("EMULATED_FAILS") {
        return;
    }
    let halo = std::env::var("EMULATED_NETWORK").is_ok_and(|name| name == "halo");
    let networks = networks(&vocabulary(3, 90), 8, 4);
    let network = &networks[if halo { 2 } else { 0 }];
    let rules = rules("rule one: E3 in past => E4", network.codes().vocabulary());
    let generator = NetworkGenerator::new(network);
    let here = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let mut there = Sampler::new(&generator, &rules, Request::default()).unwrap();
    there.draw_on(vec![gpu().unwrap()], network, deck(12)).unwrap();
    assert_eq!(there.drawing().slots, Some(12));
    assert_eq!(records(&there, 60), records(&here, 60));
    assert_eq!(there.drawing().slots, Some(6));
}
