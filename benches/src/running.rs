//! What enforcement costs visit by visit, on one thread.

use std::hint::black_box;

use consequence_enforce::{Auditor, Enforcer, Reader, Writer};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Kind, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, Plan, WrittenRules};

use crate::planted::ENCOUNTERS;
use crate::preparation::without_rules;
use crate::timing::{Times, interleaved};
use crate::workload::Workload;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Records of eight encounters in one repeat.
    pub records: usize,
    /// Repeats.
    pub repeats: usize,
    /// Records of each mode that the referee judges.
    pub judged: usize,
}

/// Seconds for each encounter, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Repairing a visit of 14 codes.
    pub overridden: Times,
    /// Checking a visit of 14 codes that knows nothing of the rules.
    pub audit_proposed: Times,
    /// Checking a repaired visit.
    pub audit_repaired: Times,
    /// Sampling a visit with the rules.
    pub guided: Times,
    /// What the rules add to a walk over the codes in the order of the vocabulary.
    pub guided_adds: Times,
    /// The same walk without rules, in the order that the rules ask for.
    pub walk_same_order: Times,
    /// The same walk without rules, in the order of the vocabulary.
    pub walk_own_order: Times,
    /// A loop over the codes that only draws.
    pub bare_loop: Times,
    /// Judging a guided visit, as every generated record is judged.
    pub referee: Times,
    /// The same, asking every rule at every visit.
    pub every_rule: Times,
    /// Encounters in one repeat: proposed, written by override, written by guided. A record that a
    /// rule ends is shorter than it was proposed.
    pub encounters: [usize; 3],
    /// Codes of a repaired encounter, on average.
    pub codes_overridden: f64,
    /// Codes of a guided encounter, on average.
    pub codes_guided: f64,
    /// Violations before enforcement, for each proposed encounter.
    pub violations_before: f64,
    /// Visits of enforced records that the referee judged.
    pub judged: usize,
    /// Violations it found in them.
    pub violations: usize,
}

/// Measures one workload with its plan.
pub fn run(workload: &Workload, plan: &Plan, effort: Effort) -> Running {
    let proposals = workload.proposals(effort.records, 3);
    let table = workload.probabilities();
    let enforcer = Enforcer::new(plan);
    let repaired = written(effort.records, |number, cohort| {
        let mut writer = enforcer.writer();
        repair(&mut writer, &proposals, number);
        cohort.push(&number.to_string(), &writer.take());
    });
    let sampled = written(effort.records, |number, cohort| {
        let mut writer = enforcer.writer();
        sample(&mut writer, &table, number, ENCOUNTERS);
        cohort.push(&number.to_string(), &writer.take());
    });

    // A rule may end a record before its eighth encounter; each walk then does the same visits.
    let lengths: Vec<usize> = sampled.records().map(|record| record.len() - 1).collect();

    let mut writer = enforcer.writer();
    let [overridden] = interleaved(
        effort.repeats,
        [&mut || {
            for number in 0..effort.records {
                repair(&mut writer, &proposals, number);
                black_box(writer.take());
            }
        }],
    );

    let (same, own) = (
        Enforcer::new(&without_rules(&workload.rules, Some(plan.order().clone()))),
        Enforcer::new(&without_rules(&workload.rules, None)),
    );
    let mut walkers = [&enforcer, &same, &own].map(Enforcer::writer);
    let [with_rules, same_order, own_order] = &mut walkers;
    let walk = |writer: &mut Writer<'_>| {
        for (number, &length) in lengths.iter().enumerate() {
            sample(writer, &table, number, length);
            black_box(writer.take());
        }
    };
    let vocabulary = workload.rules.vocabulary();
    let [guided, walk_own_order, walk_same_order, bare_loop] = interleaved(
        effort.repeats,
        [&mut || walk(with_rules), &mut || walk(own_order), &mut || walk(same_order), &mut || {
            for (number, &length) in lengths.iter().enumerate() {
                black_box(draw_only(vocabulary, &table, number, length));
            }
        }],
    );

    let (audit_proposed, audit_repaired, found) = audits(workload, effort, &proposals, &repaired);
    let referee = Referee::new(&workload.rules);
    let (mut judged, mut violations) = (0, 0);
    for record in
        repaired.records().take(effort.judged).chain(sampled.records().take(effort.judged))
    {
        judged += record.len();
        violations += referee.violations(&record).len();
    }
    let (judgement, every_rule) = judgements(&referee, effort, &sampled);
    let [proposed, mended, drawn] = [&proposals, &repaired, &sampled].map(encounters);
    Running {
        overridden: overridden.times().per(mended),
        audit_proposed: audit_proposed.per(proposed),
        audit_repaired: audit_repaired.per(mended),
        guided: guided.times().per(drawn),
        guided_adds: guided.beyond(&walk_own_order).per(drawn),
        walk_same_order: walk_same_order.times().per(drawn),
        walk_own_order: walk_own_order.times().per(drawn),
        bare_loop: bare_loop.times().per(drawn),
        referee: judgement,
        every_rule,
        encounters: [proposed, mended, drawn],
        codes_overridden: codes_per_encounter(&repaired),
        codes_guided: codes_per_encounter(&sampled),
        violations_before: found as f64 / proposed as f64,
        judged,
        violations,
    }
}

/// Times the referee on a few records, and one that passes over no rule.
fn judgements(referee: &Referee, effort: Effort, sampled: &Cohort) -> (Times, Times) {
    let judged = || sampled.records().take(effort.judged);
    let encounters = judged().map(|record| record.len() - 1).sum();
    let [quick, slow] = interleaved(
        effort.repeats.min(15),
        [
            &mut || {
                for record in judged() {
                    assert!(referee.is_valid(&record), "a guided record breaks no rule");
                }
            },
            &mut || {
                for record in judged() {
                    for visit in 0..record.len() {
                        let broken = |&rule: &usize| {
                            referee.required(rule, visit) && !referee.holds(rule, &record, visit)
                        };
                        black_box((0..referee.rule_count()).find(broken));
                    }
                }
            },
        ],
    );
    (quick.times().per(encounters), slow.times().per(encounters))
}

/// Times the auditor on records as proposed and as repaired, and counts what it found before.
fn audits(
    workload: &Workload,
    effort: Effort,
    proposals: &Cohort,
    repaired: &Cohort,
) -> (Times, Times, usize) {
    let limits = CompileLimits::default();
    let clauses =
        WrittenRules::new(workload.rules.clone(), &limits).expect("rules with a plan have clauses");
    let auditor = Auditor::new(&clauses);
    let (mut before, mut after) = (auditor.reader(), auditor.reader());
    let found = count_violations(&mut before, proposals);
    assert_eq!(count_violations(&mut after, repaired), 0, "a repaired record breaks no rule");
    let [proposed, repaired] = interleaved(
        effort.repeats,
        [
            &mut || {
                black_box(count_violations(&mut before, proposals));
            },
            &mut || {
                black_box(count_violations(&mut after, repaired));
            },
        ],
    );
    (proposed.times(), repaired.times(), found)
}

fn count_violations(reader: &mut Reader<'_>, cohort: &Cohort) -> usize {
    let mut violations = Vec::new();
    let mut count = 0;
    for record in cohort.records() {
        reader.violations(record, &mut violations);
        count += violations.len();
    }
    count
}

pub(crate) fn repair(writer: &mut Writer<'_>, proposals: &Cohort, number: usize) {
    let draws = Draws::new(5);
    for visit in proposals.record(number).visits() {
        writer.overridden(visit, &draws, number as u64);
        if writer.record().ended {
            break;
        }
    }
}

pub(crate) fn sample(writer: &mut Writer<'_>, table: &[f64], number: usize, encounters: usize) {
    let draws = Draws::new(5);
    while writer.visit() <= encounters && !writer.record().ended {
        writer
            .guided(&draws, number as u64, |code, _| table[code.index()])
            .expect("the table holds probabilities");
    }
}

/// A record by nothing but draws, codes in the order of the vocabulary.
fn draw_only(
    vocabulary: &Vocabulary,
    table: &[f64],
    number: usize,
    encounters: usize,
) -> Vec<Vec<Code>> {
    let draws = Draws::new(5);
    (0..=encounters)
        .map(|visit| {
            let mut codes = draws.visit(number as u64, 0, visit as u16, Purpose::Code);
            let kind = Kind::of_visit(visit);
            let of_kind = vocabulary.codes().filter(|&code| vocabulary.kind(code) == kind);
            of_kind.filter(|&code| codes.below(code.0, table[code.index()])).collect()
        })
        .collect()
}

fn written(records: usize, mut write: impl FnMut(usize, &mut Cohort)) -> Cohort {
    let mut cohort = Cohort::default();
    (0..records).for_each(|number| write(number, &mut cohort));
    cohort
}

fn encounters(cohort: &Cohort) -> usize {
    cohort.visit_count() - cohort.len()
}

fn codes_per_encounter(cohort: &Cohort) -> f64 {
    let visits = cohort.records().flat_map(|record| record.visits().skip(1));
    visits.map(<[Code]>::len).sum::<usize>() as f64 / encounters(cohort).max(1) as f64
}
