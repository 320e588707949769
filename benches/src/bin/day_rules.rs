//! Prints what rules about days cost a visit, beside as many rules about the visit before, and beside none.
//!
//! `cargo run --release -p consequence-benches --bin day_rules -- [--short]`. Every encounter is repaired: 14 codes of
//! 2,000, eight encounters a record, one to sixty days apart. It fails if the referee finds a rule broken.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use consequence_benches::timing::in_turn;
use consequence_enforce::{Enforcer, Moment};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Details, Kind, Record, Vocabulary, calendar::DAY};
use consequence_referee::{Detailed, Referee};
use consequence_rules::{
    CompileOptions, Days, Fact, Formula, Plan, Rule, RuleSet, Window, compile,
};

const CODES: u32 = 2_000;
const RULES: u32 = 1_000;
const ENCOUNTERS: usize = 8;
const PRESENT: usize = 14;
const MOST: f64 = 2e-6;

/// Rules that keep a code off after another one was there.
fn rules(vocabulary: &Arc<Vocabulary>, count: u32, then: impl Fn(Code, u32) -> Formula) -> RuleSet {
    let rule = |number: u32| {
        let (before, after) = (Code(number), Code((number * 7 + 1_000) % CODES));
        let formula = then(before, number).implies(Formula::Now(after).not());
        Rule::hard(format!("r{number}"), formula)
    };
    RuleSet::new(Arc::clone(vocabulary), (0..count).map(rule).collect()).expect("codes are known")
}

/// Codes and days of one record.
fn proposal(number: u64) -> (Vec<Vec<Code>>, Vec<i64>) {
    let mut draws = Draws::new(5).visit(number, 0, 0, Purpose::Simulation);
    let mut at = 0;
    let mut below = |most: u32| {
        at += 1;
        (draws.uniform(at) * f64::from(most)) as u32
    };
    let mut day = 10_000;
    let (mut visits, mut days) = (Vec::new(), Vec::new());
    for _ in 0..ENCOUNTERS {
        day += i64::from(1 + below(60));
        let mut codes: Vec<Code> = (0..PRESENT).map(|_| Code(below(CODES))).collect();
        codes.sort_unstable();
        codes.dedup();
        visits.push(codes);
        days.push(day);
    }
    (visits, days)
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let (records, repeats) = if short { (20, 3) } else { (500, 31) };
    let names: Vec<String> = (0..CODES).map(|code| format!("C{code}")).collect();
    let named = names.iter().map(|name| (name.as_str(), Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(named).expect("names differ"));
    let in_days =
        |code, number: u32| Formula::Fact(Fact::within(code, Days::last(10 + number % 80)));
    let sets = [
        rules(&vocabulary, 0, in_days),
        rules(&vocabulary, RULES, |code, _| Formula::In(code, Window::previous())),
        rules(&vocabulary, RULES, in_days),
    ];
    let began = Instant::now();
    let plans: Vec<Plan> = sets
        .into_iter()
        .map(|set| compile(Arc::new(set), &CompileOptions::default()).expect("they can be kept"))
        .collect();
    println!("three plans compiled and proved in {:.2} s", began.elapsed().as_secs_f64());
    let enforcers: Vec<Enforcer> = plans.iter().map(Enforcer::new).collect();
    let proposals: Vec<_> = (0..records).map(proposal).collect();
    let draws = Draws::new(1);
    let walk = |enforcer: &Enforcer, each: &mut dyn FnMut(Record, &[i64])| {
        let mut writer = enforcer.writer();
        for (number, (visits, days)) in proposals.iter().enumerate() {
            writer.overridden(&[], &draws, number as u64);
            for (codes, &day) in visits.iter().zip(days) {
                if writer.asks_facts() {
                    writer.arrive(&Moment { day: Some(day), chosen: true, ..Moment::default() });
                }
                writer.overridden(black_box(codes), &draws, number as u64);
            }
            each(writer.take(), days);
        }
    };
    let mut broken = 0;
    for (plan, enforcer) in plans.iter().zip(&enforcers) {
        let referee = Referee::new(plan.rules());
        walk(enforcer, &mut |record, days| {
            let times = days.iter().map(|day| day * DAY).collect();
            let details = Details { times, ..Details::default() };
            broken +=
                referee.violations(&Detailed { record: &record, details: details.view() }).len();
        });
    }
    let mut ways: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    for enforcer in &enforcers {
        ways.push(Box::new(move || walk(enforcer, &mut |record, _| drop(black_box(record)))));
    }
    let mut ways: Vec<&mut dyn FnMut()> = ways.iter_mut().map(|way| way.as_mut() as _).collect();
    let times = in_turn(repeats, &mut ways);
    let visits = (records as usize * ENCOUNTERS) as f64;
    let a_visit: Vec<f64> = times.iter().map(|time| time.times().median / visits).collect();
    for (name, seconds) in
        ["no rules", "1,000 of the visit before", "1,000 of days"].iter().zip(&a_visit)
    {
        println!("{name:>26}: {:.3} microseconds a visit", seconds * 1e6);
    }
    let added = a_visit[2] - a_visit[0];
    println!("rules of days add {:.3} microseconds a visit; {broken} violations", added * 1e6);
    if broken > 0 || (!short && added > MOST) {
        std::process::exit(1);
    }
}
