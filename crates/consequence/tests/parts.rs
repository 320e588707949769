//! What tasks tell of records in parts is what they tell of them in one place.

use std::sync::Arc;

use consequence::audit::AuditTask;
use consequence::describe::DescribeTask;
use consequence::enforce::{EnforceTask, KeptPlan, Repairs};
use consequence::evaluate::EvaluateTask;
use consequence::generate::{DrawnBy, GenerateTask, Mode, Totals, WrittenPart, add_up};
use consequence::mine::MineTask;
use consequence::train::{ModelChoice, TrainTask};
use consequence::{
    CohortInput, Dataset, Error, HeldCohort, Out, RecordInputs, Report, RuleInput, Split, Task,
    Unwatched,
};
use consequence_pipeline::parts::Outline;
use consequence_record::Selection;
use consequence_simulate::{Preset, Simulation};
use consequence_tally::{Counts, Paused, Rounds};
use consequence_testing::parts::{Parts, in_parts};

struct Cohort {
    dataset: Arc<Dataset>,
    outline: Outline,
}

fn simulated(name: &str, patients: usize, seed: u64) -> Cohort {
    let simulation = Simulation::new(Preset::Inpatient, patients, seed).detailed();
    let (cohort, details) = simulation.cohort();
    let vocabulary = Arc::clone(simulation.vocabulary());
    let title = |code| Some((code, simulation.title(code)?.to_owned()));
    let titles = vocabulary.codes().filter_map(title).collect();
    let dataset = Dataset {
        splits: Split::of_records(&cohort),
        titles,
        scales: simulation.scales(),
        details: Some(details),
        ..Dataset::new(cohort, vocabulary)
    };
    let outline = Outline {
        titles: dataset.titles.clone(),
        scales: dataset.scales.clone(),
        ..Outline::new(name, Arc::clone(&dataset.vocabulary))
    };
    // It travels to where the records are.
    let outline = Outline::from_bytes(&outline.to_bytes()).unwrap();
    Cohort { dataset: Arc::new(dataset), outline }
}

impl Cohort {
    fn input(&self) -> CohortInput {
        HeldCohort::new(&self.outline.name, Arc::clone(&self.dataset)).into()
    }

    fn parts<'a>(&'a self, part_of: &'a dyn Fn(usize) -> usize, parts: usize) -> Parts<'a> {
        let Dataset { cohort, details, splits, .. } = &*self.dataset;
        let records = Selection::all(cohort).detailed(details.as_ref());
        Parts { records, splits, part_of, parts, block: 97 }
    }
}

fn paused(error: Error) -> Paused {
    match error {
        Error::Paused(paused) => *paused,
        other => Paused::Failed(other.into()),
    }
}

/// Three parts, one of them of a single record, and one of none.
fn part_of(number: usize) -> usize {
    match number {
        0 => 0,
        number if number % 3 == 0 => 1,
        _ => 3,
    }
}

const PARTS: usize = 4;

fn same<R: Report>(
    cohort: &Cohort,
    task: &impl Task<Report = R>,
    counted: impl Fn(&Outline, &mut Rounds<'_>) -> Result<R, Error>,
) -> (R, usize) {
    let whole = task.run(&Unwatched).unwrap();
    let (found, rounds) = in_parts(
        &cohort.parts(&part_of, PARTS),
        None,
        |rounds| counted(&cohort.outline, rounds),
        paused,
    );
    assert_eq!(without_seconds(&found), without_seconds(&whole));
    assert_eq!(found.warnings(), whole.warnings());
    (found, rounds)
}

fn without_seconds(report: &impl Report) -> serde_json::Value {
    let mut json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    json.as_object_mut().unwrap().remove("seconds");
    json
}

#[test]
fn describe() {
    let cohort = simulated("inpatients", 700, 1);
    for split in [None, Some(Split::Tuning)] {
        let task = DescribeTask { split, hide_below: 3, ..DescribeTask::new(cohort.input()) };
        let (report, rounds) =
            same(&cohort, &task, |outline, rounds| task.counted(outline, rounds, &Unwatched));
        assert_eq!(rounds, 1);
        assert!(report.described.values > 0);
    }
}

const RULES: &str = "rule one-sex: exactly one of SEX//F, SEX//M\n\
    rule again: DISCHARGE//EXPIRED in past => not DISCHARGE//EXPIRED\n\
    rule rare: DX//neoplasms//prostate-cancer => not DX//genitourinary//prostate-enlargement\n\
    rule no-egfr: not LAB//creatinine > 2\n\
    rule months: RX//insulin-pump in last 200 days => not RX//insulin-pump\n";

#[test]
fn audit() {
    let cohort = simulated("inpatients", 700, 1);
    let rules = [RuleInput::text("a.rules", RULES)];
    for hide_below in [0, 30] {
        let inputs = RecordInputs::new(cohort.input()).with_rules(rules.clone());
        let task = AuditTask { examples: 0, hide_below, referee: true, ..AuditTask::new(inputs) };
        let (report, rounds) =
            same(&cohort, &task, |outline, rounds| task.counted(outline, rounds, &Unwatched));
        assert!(report.violations() > 0 && (report.hidden_rules > 0) == (hide_below > 0));
        // What of days and values is known comes first, and what is hidden last.
        assert_eq!(rounds, 2 + usize::from(hide_below > 0));
    }
    let split = Some(Split::HeldOut);
    let task =
        AuditTask { examples: 0, split, ..AuditTask::new(RecordInputs::new(cohort.input())) };
    let (report, rounds) =
        same(&cohort, &task, |outline, rounds| task.counted(outline, rounds, &Unwatched));
    assert!(report.records > 20 && report.records < 200 && rounds == 1);
}

#[test]
fn mine() {
    let cohort = simulated("inpatients", 1_500, 1);
    let task = MineTask { ages_and_days: true, ..MineTask::in_memory(cohort.input()) };
    let (report, rounds) =
        same(&cohort, &task, |outline, rounds| task.counted(outline, rounds, &Unwatched));
    assert!(report.hard_rules > 5 && rounds > 5, "{rounds}");
}

#[test]
fn evaluate() {
    let [real, synthetic] = [("real", 900, 1), ("synthetic", 500, 2)]
        .map(|(name, patients, seed)| simulated(name, patients, seed));
    let folder = tempfile::tempdir().unwrap();
    let groups =
        "let discharged = DISCHARGE//*  let old = AGE//65+ in static and discharged in past";
    let task = |out: &str| EvaluateTask {
        rules: vec![RuleInput::text("a.rules", RULES)],
        groups: vec![RuleInput::text("groups.rules", groups)],
        strata: vec!["discharged".into(), "old".into()],
        out: Some(Out::new(folder.path().join(out))),
        ..EvaluateTask::new(real.input(), synthetic.input())
    };
    let whole = task("out").run(&Unwatched).unwrap();
    let page = |out: &str| {
        ["report.html", "metrics.json"]
            .map(|name| std::fs::read_to_string(folder.path().join(out).join(name)).unwrap())
    };
    let pages = page("out");
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    let other = |number: usize| number % 2;
    let (found, rounds) = in_parts(
        &real.parts(&part_of, PARTS),
        Some(&synthetic.parts(&other, 2)),
        |rounds| task("out").counted((&real.outline, &synthetic.outline), rounds, &Unwatched),
        paused,
    );
    assert!(found == whole);
    assert!(rounds > 10 && found.deep.is_some() && found.strata[0].agreement.is_some());
    assert!(page("out") == pages, "the page is the same, byte for byte");
}

#[test]
fn enforce() {
    let cohort = simulated("inpatients", 700, 1);
    let rules = format!("{RULES}rule seen: DISCHARGE//FACILITY => any of PROC//*\n");
    let inputs = RecordInputs::new(cohort.input()).with_rules([RuleInput::text("a.rules", rules)]);
    let task = EnforceTask { seed: 5, ..EnforceTask::in_memory(inputs) };
    let plan = KeptPlan::default();
    let (report, rounds) = same(&cohort, &task, |outline, rounds| {
        let mut repairs = Repairs { plan: &plan, take: &mut |_| Ok(()) };
        task.repair(outline, rounds, &mut repairs, &Unwatched)
    });
    assert!(report.changed > 20 && report.added_codes > 10, "{report}");
    assert_eq!(plan.proofs(), 1, "whatever the number of parts and rounds");
    // Days and values, the longest record, choices, shares, the repair.
    assert_eq!(rounds, 5);

    // The records are those of the whole, part by part.
    let (whole, _) = task.repaired(&Unwatched).unwrap();
    let written = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let counted = |rounds: &mut Rounds<'_>| {
        let take = &mut |part: Dataset| {
            for (index, record) in part.cohort.records().enumerate() {
                let details = part.details.as_ref().unwrap().of(index).to_details();
                let id = part.cohort.id(index).to_owned();
                let twice = written.borrow_mut().insert(id, (record.to_record(), details));
                assert!(twice.is_none(), "nothing is written twice");
            }
            Ok(())
        };
        let mut repairs = Repairs { plan: &plan, take };
        task.repair(&cohort.outline, rounds, &mut repairs, &Unwatched)
    };
    let (again, _) = in_parts(&cohort.parts(&part_of, PARTS), None, counted, paused);
    assert_eq!((again, written.borrow().len()), (report, whole.cohort.len()));
    for (index, record) in whole.cohort.records().enumerate() {
        let (there, details) = &written.borrow()[whole.cohort.id(index)];
        assert_eq!(*there, record.to_record());
        assert_eq!(*details, whole.details.as_ref().unwrap().of(index).to_details());
    }
}

#[test]
fn generate() {
    let cohort = simulated("inpatients", 400, 1);
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    let train =
        TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort.input(), &model) };
    train.run(&Unwatched).unwrap();
    for mode in [Mode::Guided, Mode::Exact] {
        let task = GenerateTask { mode, seed: 7, ..GenerateTask::in_memory(&model, 500) };
        let (whole, report) = task.generated(&Unwatched).unwrap();
        let prepared = task.prepared(&Unwatched).unwrap();
        let (mut totals, mut next) = (Totals::default(), 0);
        let mut states = Vec::new();
        for range in [0..1, 1..130, 130..130, 130..315, 315..500] {
            let part = prepared.each_part(&task, (range.clone(), 64), &Unwatched, |part| {
                for (index, record) in part.cohort.records().enumerate() {
                    assert_eq!(part.cohort.id(index), whole.cohort.id(next));
                    assert_eq!(record.to_record(), whole.cohort.record(next).to_record());
                    assert_eq!(part.details_of(index), whole.details_of(next));
                    next += 1;
                }
                Ok(())
            });
            let part = part.unwrap();
            states.push(prepared.state(&task, &part).unwrap());
            Counts::add(&mut totals, part.totals);
        }
        assert_eq!((next, &totals), (500, &report.totals));
        let merged = |parts: &[usize]| {
            let parts = parts.iter().map(|&part| states[part].clone()).collect();
            prepared.merged(&task, parts, 1.0)
        };
        assert_eq!(merged(&[4, 0, 2, 3, 1]).unwrap().totals, report.totals);
        let some = add_up(vec![states[3].clone(), states[0].clone()]).unwrap();
        let others = add_up(states[1..3].to_vec()).unwrap();
        let last = states[4].clone();
        let sum = prepared.merged(&task, vec![others, some.clone(), last], 1.0).unwrap();
        assert_eq!(sum.totals, report.totals);
        // As many records, of which some are there twice and as many others are not.
        let refused = |parts: &[usize]| merged(parts).unwrap_err().to_string();
        assert_eq!(refused(&[0, 1, 3, 3]), "some records were written twice");
        assert_eq!(refused(&[0, 1, 4, 4]), "some records were written twice");
        assert_eq!(refused(&[0, 1, 4]), "315 of 500 records were written");
        let other = GenerateTask { seed: 8, ..task.clone() };
        assert!(
            prepared.merged(&other, vec![some], 1.0).unwrap_err().to_string().contains("differ")
        );
        assert!(add_up(Vec::new()).is_err());
    }
}

#[test]
fn parts_that_devices_of_several_kinds_drew_are_refused() {
    let cohort = simulated("inpatients", 400, 1);
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    let train =
        TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort.input(), &model) };
    train.run(&Unwatched).unwrap();
    let task = GenerateTask::in_memory(&model, 200);
    let prepared = task.prepared(&Unwatched).unwrap();
    let part = |range| prepared.each_part(&task, (range, 64), &Unwatched, |_| Ok(())).unwrap();
    let parts = [part(0..90), part(90..200)];
    let states = |parts: &[WrittenPart]| -> Vec<_> {
        parts.iter().map(|part| prepared.state(&task, part).unwrap()).collect()
    };
    let report = prepared.merged(&task, states(&parts), 1.0).unwrap();
    assert_eq!(report.totals.records, 200);
    let by = DrawnBy::Gpu { name: "H200".into(), precision: "full".into() };
    let [first, second] = parts;
    let mixed = [first, WrittenPart { drawn_by: by, ..second }];
    let refused = prepared.merged(&task, states(&mixed), 1.0).unwrap_err();
    let said = "some parts were drawn by the CPU, and others by a GPU (H200, full precision)";
    assert_eq!(refused.to_string(), said);
}
