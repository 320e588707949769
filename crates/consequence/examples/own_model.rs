//! A model of your own that cannot break a rule: it gives probabilities, the rules decide where they must.
//!
//! `cargo run -p consequence --example own_model`

use std::sync::Arc;

use consequence::{Code, CompileOptions, Draws, Enforcer, Referee, RuleSet, compile};

/// The simplest model there is: every code with a probability of its own.
struct Frequencies(Vec<f64>);

impl Frequencies {
    fn probability(&self, code: Code) -> f64 {
        self.0[code.index()]
    }
}

/// Writes a thousand records and counts the codes in them.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = Arc::new(RuleSet::parse(
        "rule insulin:  RX//insulin => ICD9CM//250
         rule lifelong: ICD9CM//250 in previous => ICD9CM//250
         rule death:    EXPIRED => END",
        None,
    )?);
    let model = Frequencies(vec![0.2; rules.vocabulary().len()]);
    let plan = compile(Arc::clone(&rules), &CompileOptions::default())?;
    let enforcer = Enforcer::for_model(&plan, None);
    let (mut writer, draws) = (enforcer.writer(), Draws::new(7));
    let referee = Referee::new(&rules);
    let mut counts = vec![0; rules.vocabulary().len()];
    for record in 0..1_000 {
        while !writer.record().ended {
            writer.guided(&draws, record, |code, _decided| model.probability(code))?;
        }
        let record = writer.take();
        assert!(referee.is_valid(&record));
        record.visits.iter().flatten().for_each(|code| counts[code.index()] += 1);
    }
    for code in rules.vocabulary().codes().filter(|&code| code != rules.vocabulary().end()) {
        println!("{:12} {}", rules.vocabulary().name(code), counts[code.index()]);
    }
    Ok(())
}
