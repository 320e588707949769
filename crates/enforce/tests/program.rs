//! The tables of a plan say all there is to know: a small backend that reads nothing else, and that
//! decides whole levels of codes at once, writes what the writer writes.

use std::sync::Arc;

use consequence_enforce::{Conjunctions, Enforcer, KeptOff, Program, Ruling, Wait};
use consequence_prng::{Draws, Purpose};
use consequence_record::Code;
use consequence_rules::{CompileOptions, Order, Plan, RuleSet, compile};
use consequence_testing::worlds::{Choices, Size, World};

const SEED: u64 = 5;

/// One visit at work.
struct Visit<'a> {
    program: &'a Program,
    number: usize,
    /// The variables: codes of the visit as far as they are decided, and the past.
    values: Vec<bool>,
    /// Which codes rules did not decide.
    weighed: Vec<bool>,
    /// For each clause that keeps what it found, how many codes were on and what it cost then.
    found: Vec<Option<(usize, Vec<f64>)>>,
}

impl Visit<'_> {
    fn holds(&self, conjunctions: &Conjunctions, number: usize) -> bool {
        conjunctions.visits[number].contains(self.number)
            && conjunctions
                .conditions
                .list(number)
                .iter()
                .all(|one| self.values[(one >> 1) as usize] == (one & 1 == 1))
    }

    /// What the rules say of a code.
    fn ruling(&self, position: u32) -> Ruling {
        let forcing = |value: bool| {
            let mut of = self.program.forced().iter().enumerate();
            of.any(|(number, forced)| {
                (forced.output, forced.present) == (position, value)
                    && self.holds(self.program.forcing(), number)
            })
        };
        if forcing(true) {
            return Ruling::Forced(true);
        }
        if forcing(false) {
            return Ruling::Forced(false);
        }
        let drawn = self.program.drawn().iter().enumerate().rev();
        let mut drawn = drawn.filter(|(_, drawn)| drawn.output == position);
        let drawn = drawn.find(|&(number, _)| self.holds(self.program.drawing(), number));
        drawn.map_or(Ruling::Free, |(_, drawn)| Ruling::Soft {
            rule: drawn.rule,
            probability: drawn.probability,
        })
    }

    /// The probability that clauses which are due at a code are met after it.
    fn met_later(&mut self, position: u32, probabilities: &[f64]) -> f64 {
        let program = self.program;
        let (order, plan) = (program.plan().order(), program.plan());
        let mut met = 1.0;
        for (number, &Wait { clause, code }) in program.waits().iter().enumerate() {
            let codes = program.due_codes().list(clause as usize);
            let before = &codes[..code as usize];
            if codes[code as usize] != position
                || !self.holds(program.due(), clause as usize)
                || before.iter().any(|&at| self.values[at as usize])
            {
                continue;
            }
            let mut costs: Vec<f64> = codes
                .iter()
                .enumerate()
                .map(|(later, &at)| {
                    let off = |one: &&KeptOff| {
                        (one.wait as usize, one.code as usize) == (number, later)
                            && self.holds(program.forcing(), one.by as usize)
                    };
                    if at == order.end() && self.number == plan.max_visits() && !plan.end_given() {
                        f64::INFINITY
                    } else if program.kept_off().iter().any(|one| off(&one)) {
                        0.0
                    } else {
                        -(-probabilities[at as usize]).ln_1p()
                    }
                })
                .collect();
            if program.lasting()[clause as usize] {
                let seen = self.values[codes[0] as usize..position as usize].iter();
                let seen = seen.filter(|&&on| on).count();
                match &self.found[clause as usize] {
                    Some((then, found)) if *then == seen => costs.clone_from(found),
                    _ => self.found[clause as usize] = Some((seen, costs.clone())),
                }
            }
            let miss: f64 = costs[code as usize + 1..].iter().rev().sum();
            met *= -(-miss).exp_m1();
        }
        met
    }

    fn decide(&mut self, level: u32, probabilities: &[f64], record: u64) {
        let visit = self.number as u16;
        let draw = |purpose| Draws::new(SEED).visit(record, 0, visit, purpose);
        let order = self.program.plan().order();
        let mut decided = Vec::new();
        for position in order.range(self.number) {
            if self.program.levels()[position as usize] != level {
                continue;
            }
            let ruling = self.ruling(position);
            let (own, mut drawn, index) = match ruling {
                Ruling::Forced(present) => {
                    decided.push((position, present));
                    continue;
                }
                Ruling::Soft { rule, probability } => (probability, draw(Purpose::Rule), rule),
                Ruling::Free => (probabilities[position as usize], draw(Purpose::Code), position),
            };
            self.weighed[position as usize] = true;
            let absent = self.met_later(position, probabilities);
            let total = own + (1.0 - own) * absent;
            let own = if absent == 1.0 || total <= 0.0 { own } else { own / total };
            decided.push((position, drawn.below(index, own)));
        }
        for (position, present) in decided {
            self.values[position as usize] = present;
        }
    }
}

/// Writes records by the tables and by the writer. Gives how many visits had to be weighed, and how
/// many clauses kept what they found.
fn compare(plan: &Plan, record: u64, choices: &mut Choices) -> (usize, usize) {
    let (program, enforcer) = (Program::new(plan).unwrap(), Enforcer::new(plan));
    let (mut writer, mut reader) = (enforcer.writer(), program.reader());
    let order = plan.order();
    let highest = program.levels().iter().copied().max().unwrap_or(0);
    let mut weighed = 0;
    while !writer.record().ended {
        let number = writer.visit();
        let scale = choices.pick(&[0.1, 0.5, 1.0]);
        let probabilities: Vec<f64> = order
            .codes()
            .iter()
            .map(|_| match choices.below(12) {
                0 => 0.0,
                1 => 1.0,
                _ => scale * choices.below(1000) as f64 / 1000.0,
            })
            .collect();
        let mut values = vec![false; program.codes()];
        values.extend(reader.past());
        for (past, &holds) in program.past().iter().zip(&values[program.codes()..]) {
            let code = order.code(past.position);
            let had = |then: usize| writer.record().visits[then].contains(&code);
            let window = &program.windows()[past.window as usize];
            assert_eq!(holds, window.any(number, had), "the past is read as windows say");
        }
        let mut visit = Visit {
            program: &program,
            number,
            values,
            weighed: vec![false; program.codes()],
            found: vec![None; program.due().len()],
        };
        for level in 0..=highest {
            visit.decide(level, &probabilities, record);
        }
        let draws = Draws::new(SEED);
        let ask = |code: Code, _: &[Code]| probabilities[order.position(code) as usize];
        let written = writer.guided(&draws, record, ask).expect("probabilities").to_vec();
        let ended = writer.record().ended;
        let on: Vec<u32> =
            (0..program.codes() as u32).filter(|&at| visit.values[at as usize]).collect();
        let mut by_tables: Vec<Code> =
            on.iter().filter(|&&at| at != order.end()).map(|&at| order.code(at)).collect();
        by_tables.sort_unstable();
        assert_eq!((by_tables, on.contains(&order.end())), (written, ended), "record {record}");
        weighed += program
            .waits()
            .iter()
            .filter(|wait| {
                let codes = program.due_codes().list(wait.clause as usize);
                visit.weighed[codes[wait.code as usize] as usize]
            })
            .count();
        reader.advance(&on);
    }
    (weighed, program.lasting().iter().filter(|&&lasting| lasting).count())
}

#[test]
fn the_tables_say_what_the_writer_does() {
    let (mut records, mut weighed, mut lasting, mut soft) = (0, 0, 0, 0);
    for case in 0..4_000 {
        let mut choices = Choices::new(17, case);
        let size = Size { codes: 7, visits: 4, rules: 7 };
        let world = World::random(size, &mut choices);
        let options = CompileOptions { max_visits: world.max_visits, ..CompileOptions::default() };
        let Ok(plan) = compile(Arc::clone(&world.rules), &options) else { continue };
        assert!(!Program::new(&plan).unwrap().diagram(), "small rules need none");
        let found = compare(&plan, case, &mut choices);
        records += 1;
        weighed += found.0;
        lasting += found.1;
        soft += plan.soft().len();
    }
    assert!(
        records > 2_000 && weighed > 500 && lasting > 0 && soft > 200,
        "{records} {weighed} {lasting} {soft}"
    );
}

#[test]
fn what_was_found_lasts_until_a_code_comes_on() {
    let text = "rule some: any of A, B, C, D, E  rule x: not X => not D
        rule y: not Y and not B => not C  rule z: X and not A => any of C, E, Y";
    let rules = Arc::new(RuleSet::parse(text, None).expect("rules"));
    let (mut lasting, mut weighed) = (0, 0);
    for case in 0..200 {
        let mut choices = Choices::new(18, case);
        let vocabulary = Arc::clone(rules.vocabulary());
        let mut codes: Vec<Code> = vocabulary.codes().collect();
        (1..codes.len()).for_each(|at| codes.swap(at, choices.below(at + 1)));
        let order = Order::new(codes, vocabulary);
        let options = CompileOptions { max_visits: 3, order, ..CompileOptions::default() };
        let plan = compile(Arc::clone(&rules), &options).expect("they can be obeyed");
        for record in 0..50 {
            let found = compare(&plan, record, &mut choices);
            weighed += found.0;
            lasting += found.1;
        }
    }
    assert!(lasting > 2_000 && weighed > 10_000, "{lasting} {weighed}");
}

#[test]
fn free_codes_are_of_level_zero() {
    let rules = RuleSet::parse("rule r: A => B  rule s: B => C  rule t: D in past => not D", None);
    let plan =
        compile(Arc::new(rules.expect("rules")), &CompileOptions::default()).expect("a plan");
    let program = Program::new(&plan).unwrap();
    let level = |name: &str| {
        let code = plan.rules().vocabulary().code(name).expect("a code");
        program.levels()[plan.order().position(code) as usize]
    };
    assert_eq!(["A", "B", "C", "D", "END"].map(level), [0, 1, 2, 0, 0]);
    assert!(program.due().is_empty() && program.waits().is_empty());
}
