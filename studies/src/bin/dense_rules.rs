//! Our half of the comparison with the reference's dense rule pass; `dense_rules.py` is the other.
//!
//! `dense_rules rules` prints the published rules as tuples, in an order that is safe to apply.
//! `dense_rules run FILE` repairs the records of a file (a list of records, each a list of visits,
//! each a list of code numbers) and prints seconds per visit and the repaired records.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use consequence_enforce::{Enforcer, Writer};
use consequence_prng::Draws;
use consequence_record::Code;
use consequence_rules::{CompileOptions, Plan, Window, compile};
use consequence_studies::neuron::Neuron;
use consequence_studies::published::Published;
use serde_json::{Value, json};

const REPEATS: usize = 201;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(published) = Published::load() else { return ExitCode::FAILURE };
    let rules = Arc::new(published.rule_set(0..published.neurons.len()));
    let plan = compile(rules, &CompileOptions::default()).expect("the published rules have a plan");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["rules"] => println!("{}", safe_order(&published, &plan)),
        ["run", file] => {
            let text = std::fs::read_to_string(file).expect("the file of records");
            let records: Vec<Vec<Vec<u32>>> = serde_json::from_str(&text).expect("lists of codes");
            println!("{}", run(&plan, &records));
        }
        _ => {
            eprintln!("usage: dense_rules rules | dense_rules run FILE");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The published rules by the plan's order of their outputs, as the tuples they were published as.
fn safe_order(published: &Published, plan: &Plan) -> Value {
    let mut neurons: Vec<&Neuron> = published.neurons.iter().collect();
    neurons.sort_by_key(|neuron| plan.order().position(neuron.output));
    let numbers = |codes: &[Code]| codes.iter().map(|code| code.0).collect::<Vec<_>>();
    let tuple = |neuron: &Neuron| {
        json!([
            visits(neuron.window.as_ref()),
            numbers(&neuron.past_present),
            numbers(&neuron.past_absent),
            numbers(&neuron.present),
            numbers(&neuron.absent),
            neuron.output.0,
            u8::from(neuron.value),
        ])
    };
    neurons.into_iter().map(tuple).collect()
}

/// A window as tuples write it: the label visit is 1 there and 0 here.
fn visits(window: Option<&Window>) -> Value {
    let Some(window) = window else { return json!([]) };
    if window.is_past() {
        return json!(-1);
    }
    let back = window.distances().iter().map(|&distance| -i32::from(distance));
    back.chain(window.visits().iter().map(|&visit| i32::from(visit) + 1)).collect()
}

fn run(plan: &Plan, records: &[Vec<Vec<u32>>]) -> Value {
    let records: Vec<Vec<Vec<Code>>> = records
        .iter()
        .map(|visits| {
            visits.iter().map(|codes| codes.iter().map(|&code| Code(code)).collect()).collect()
        })
        .collect();
    let enforcer = Enforcer::new(plan);
    let mut writer = enforcer.writer();
    let repaired: Vec<Vec<Vec<u32>>> = records
        .iter()
        .map(|record| {
            write(&mut writer, record);
            let visits = writer.take().visits.into_iter();
            visits.map(|visit| visit.into_iter().map(|code| code.0).collect()).collect()
        })
        .collect();
    let count: usize = records.iter().map(Vec::len).sum();
    let mut seconds: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            for record in &records {
                write(&mut writer, record);
                std::hint::black_box(writer.take());
            }
            start.elapsed().as_secs_f64() / count as f64
        })
        .collect();
    seconds.sort_unstable_by(f64::total_cmp);
    json!({"seconds_per_visit": seconds[REPEATS / 2], "fastest": seconds[0], "records": repaired})
}

fn write(writer: &mut Writer<'_>, record: &[Vec<Code>]) {
    let draws = Draws::new(0);
    for visit in record {
        writer.overridden(visit, &draws, 0);
    }
}
