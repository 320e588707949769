//! Soft rules hold as often as they say.

use std::sync::Arc;

use consequence_enforce::{Enforcer, Writer};
use consequence_prng::Draws;
use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{CompileOptions, Formula, Rule, RuleSet, Says, Window, compile};

/// Static codes 0 and 1, encounter codes 2 to 5.
const CODES: u32 = 6;
const GROUP: Code = Code(0);
const MARK: Code = Code(1);
const CAUSE: Code = Code(2);
const OTHER: Code = Code(3);
const OUTPUT: Code = Code(4);

/// How often an output was present where it was drawn.
#[derive(Clone, Debug)]
pub struct Frequency {
    /// What was tried.
    pub name: String,
    /// The probability that the output is present.
    pub expected: f64,
    /// Draws.
    pub draws: u64,
    /// Draws that gave the output.
    pub present: u64,
}

impl Frequency {
    /// The observed share.
    pub fn observed(&self) -> f64 {
        self.present as f64 / self.draws as f64
    }

    /// The distance from the expected share in standard errors; where the expected share is
    /// certain, zero if it was met and infinite if not.
    pub fn score(&self) -> f64 {
        let error = (self.expected * (1.0 - self.expected) / self.draws as f64).sqrt();
        let distance = self.observed() - self.expected;
        if distance == 0.0 { 0.0 } else { distance / error }
    }
}

struct Trial {
    name: &'static str,
    rules: Vec<Says>,
    /// The visits written; the output is looked at in the last of them.
    visits: Vec<Vec<Code>>,
    output: Code,
    expected: f64,
}

/// Tries every kind of soft rule in both modes, with `draws` draws each.
pub fn frequencies(draws: u64, seed: u64) -> Vec<Frequency> {
    let mut found = Vec::new();
    for (number, trial) in trials().into_iter().enumerate() {
        for guided in [false, true] {
            let seed = seed.wrapping_add(2 * number as u64 + u64::from(guided));
            found.push(run(&trial, guided, draws, seed));
        }
    }
    found
}

fn run(trial: &Trial, guided: bool, draws: u64, seed: u64) -> Frequency {
    let kind = |code: u32| if code < 2 { Kind::Static } else { Kind::Encounter };
    let names = (0..CODES).map(|code| (format!("c{code}"), kind(code)));
    let vocabulary = Arc::new(Vocabulary::new(names).expect("the names differ"));
    let rules = trial.rules.iter().enumerate();
    let rules = rules.map(|(index, says)| Rule::new(format!("r{index}"), says.clone()));
    let rules = Arc::new(
        RuleSet::new(vocabulary, rules.collect()).expect("the codes are of the vocabulary"),
    );
    let plan = compile(rules, &CompileOptions::default()).expect("the rules can be kept");
    let enforcer = Enforcer::new(&plan);
    let mut writer = enforcer.writer();
    let random = Draws::new(seed);
    let mut present = 0;
    for record in 0..draws {
        for visit in &trial.visits {
            write(&mut writer, visit, guided, &random, record);
        }
        let written = writer.take();
        present += u64::from(written.visits[trial.visits.len() - 1].contains(&trial.output));
    }
    let mode = if guided { "guided" } else { "override" };
    Frequency { name: format!("{}, {mode}", trial.name), expected: trial.expected, draws, present }
}

fn write(writer: &mut Writer<'_>, visit: &[Code], guided: bool, draws: &Draws, record: u64) {
    if guided {
        let certain = |code: Code, _: &[Code]| f64::from(u8::from(visit.contains(&code)));
        writer.guided(draws, record, certain).expect("zero and one are probabilities");
    } else {
        writer.overridden(visit, draws, record);
    }
}

fn soft(formula: Formula, probability: f64) -> Says {
    Says::soft(formula, probability).expect("it concludes one code")
}

fn trials() -> Vec<Trial> {
    let now = Formula::Now;
    let one = |name, formula: Formula, alpha, visits, output, expected| Trial {
        name,
        rules: vec![soft(formula, alpha)],
        visits,
        output,
        expected,
    };
    let mut trials = Vec::new();
    for alpha in [0.01, 0.25, 0.5, 0.9] {
        let plain = || vec![vec![], vec![CAUSE]];
        trials.push(one("no antecedent", now(OUTPUT), alpha, plain(), OUTPUT, alpha));
        trials.push(one(
            "antecedent now",
            now(CAUSE).implies(now(OUTPUT)),
            alpha,
            vec![vec![], vec![CAUSE, OUTPUT]],
            OUTPUT,
            alpha,
        ));
        trials.push(one(
            "negated consequent",
            now(CAUSE).implies(now(OUTPUT).not()),
            alpha,
            plain(),
            OUTPUT,
            1.0 - alpha,
        ));
        trials.push(one(
            "static output",
            now(GROUP).implies(now(MARK)),
            alpha,
            vec![vec![GROUP]],
            MARK,
            alpha,
        ));
        trials.push(one(
            "static output, no antecedent",
            now(MARK),
            alpha,
            vec![vec![]],
            MARK,
            alpha,
        ));
        trials.push(one(
            "static antecedent",
            Formula::In(GROUP, Window::static_visit()).implies(now(OUTPUT)),
            alpha,
            vec![vec![GROUP], vec![]],
            OUTPUT,
            alpha,
        ));
        trials.push(one(
            "in past",
            Formula::In(CAUSE, Window::past()).implies(now(OUTPUT)),
            alpha,
            vec![vec![], vec![CAUSE], vec![], vec![]],
            OUTPUT,
            alpha,
        ));
        trials.push(one(
            "absent from past",
            Formula::In(CAUSE, Window::past()).not().implies(now(OUTPUT)),
            alpha,
            vec![vec![], vec![], vec![CAUSE]],
            OUTPUT,
            alpha,
        ));
    }
    trials.extend(precedence());
    trials
}

/// Hard rules win over soft ones; of two soft rules on one output the later wins.
fn precedence() -> Vec<Trial> {
    let now = Formula::Now;
    let with_hard = |name, hard: Formula, visit, expected| Trial {
        name,
        rules: vec![
            soft(now(CAUSE).implies(now(OUTPUT)), 0.3),
            Says::Hard(now(OTHER).implies(hard)),
        ],
        visits: vec![vec![], visit],
        output: OUTPUT,
        expected,
    };
    let two_soft = |name, visit, expected| Trial {
        name,
        rules: vec![
            soft(now(CAUSE).implies(now(OUTPUT)), 0.2),
            soft(now(OTHER).implies(now(OUTPUT)), 0.7),
        ],
        visits: vec![vec![], visit],
        output: OUTPUT,
        expected,
    };
    let both = || vec![CAUSE, OTHER];
    vec![
        with_hard("hard demand over soft", now(OUTPUT), both(), 1.0),
        with_hard("hard bar over soft", now(OUTPUT).not(), both(), 0.0),
        with_hard("hard bar asleep", now(OUTPUT).not(), vec![CAUSE], 0.3),
        two_soft("the later of two soft", both(), 0.7),
        two_soft("the earlier alone", vec![CAUSE], 0.2),
    ]
}
