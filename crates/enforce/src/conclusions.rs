//! What rules, as they are written, say of single codes of a visit.

use std::sync::Arc;

use consequence_record::{Code, Kind, RecordView, Vocabulary};
use consequence_rules::{Derivation, Literal, Plan, VisitRange};

/// What a rule says of a code of a visit, from the other codes of the visit and the visits before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conclusion {
    /// The rule, by index.
    pub rule: usize,
    /// The code it speaks of.
    pub code: Code,
    /// The probability that the code is present: 0 or 1 for a hard rule.
    pub probability: f64,
}

/// The rules as written, each read as implications with one code as the consequent.
///
/// Derived clauses play no part: this is what an expert would say, not what enforcement runs on.
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::Conclusions;
/// use consequence_record::{Cohort, Record};
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = Arc::new(RuleSet::parse("static F  rule r: F in static => not PROSTATE", None)?);
/// let code = |name: &str| rules.vocabulary().code(name).unwrap();
/// let plan = compile(Arc::clone(&rules), &CompileOptions::default()).unwrap();
/// let mut cohort = Cohort::default();
/// cohort.push("one", &Record::new(vec![vec![code("F")], vec![]]));
/// let found = Conclusions::new(&plan).of(cohort.record(0), 1);
/// assert_eq!((found.len(), found[0].code, found[0].probability), (1, code("PROSTATE"), 0.0));
/// # Ok::<(), consequence_rules::Diagnostics>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conclusions {
    vocabulary: Arc<Vocabulary>,
    readings: Vec<Reading>,
}

/// A clause read as an implication with one code as the consequent.
#[derive(Clone, Debug)]
struct Reading {
    conditions: Vec<Literal>,
    conclusion: Conclusion,
    visits: VisitRange,
}

impl Conclusions {
    /// The rules of a plan, as they were written, each in every way that it can be read: `at most
    /// one of A, B` says that A excludes B, and that B excludes A.
    pub fn new(plan: &Plan) -> Self {
        Self::read(plan, |outputs| outputs)
    }

    /// The same, but each clause is read in one way only, as the paper writes rules: it concludes
    /// the last of its outputs in the order of the vocabulary. So `at most one of A, B` says that A
    /// excludes B, and no more.
    pub fn one_way(plan: &Plan) -> Self {
        Self::read(plan, |outputs| {
            let last = outputs.into_iter().max_by_key(|(_, literal)| literal.code_now());
            last.into_iter().collect()
        })
    }

    /// The same, without what is said with a probability only.
    #[must_use]
    pub fn certain(mut self) -> Self {
        let certain = |one: &Reading| matches!(one.conclusion.probability, 0.0 | 1.0);
        self.readings.retain(certain);
        self
    }

    /// Reads every clause as implications that conclude the outputs chosen, each with its index in
    /// the clause.
    fn read(plan: &Plan, choose: impl Fn(Vec<(usize, Literal)>) -> Vec<(usize, Literal)>) -> Self {
        let mut readings: Vec<Reading> = Vec::new();
        for clause in plan.clauses().filter(|clause| clause.derivation == Derivation::Written) {
            let Some(&rule) = clause.rules.first() else { continue };
            let outputs = plan.rule(rule).outputs();
            let literals: Vec<Literal> =
                clause.literals.iter().filter_map(|&literal| plan.decode(literal)).collect();
            let concluded = literals.iter().cloned().enumerate().filter(|(_, literal)| {
                literal.code_now().is_some_and(|code| outputs.contains(&code))
            });
            for (at, literal) in choose(concluded.collect()) {
                let Some(code) = literal.code_now() else { continue };
                let others = literals.iter().enumerate().filter(|&(other, _)| other != at);
                let negated = |(_, other): (usize, &Literal)| Literal {
                    present: !other.present,
                    ..other.clone()
                };
                readings.push(Reading {
                    conditions: others.map(negated).collect(),
                    conclusion: Conclusion {
                        rule: rule as usize,
                        code,
                        probability: f64::from(u8::from(literal.present)),
                    },
                    visits: clause.visits,
                });
            }
        }
        for soft in plan.soft() {
            let conditions = soft.conditions.iter().filter_map(|&literal| plan.decode(literal));
            readings.push(Reading {
                conditions: conditions.collect(),
                conclusion: Conclusion {
                    rule: soft.rule as usize,
                    code: plan.order().code(soft.output),
                    probability: soft.probability,
                },
                visits: soft.visits,
            });
        }
        readings.sort_by_key(|reading| reading.conclusion.rule);
        Self { vocabulary: Arc::clone(plan.rules().vocabulary()), readings }
    }

    /// What the rules say of the codes of a visit, in the order of the rules.
    pub fn of(&self, record: RecordView<'_>, visit: usize) -> Vec<Conclusion> {
        let has = |then: usize, code: Code| {
            if code == self.vocabulary.end() {
                then > 0 && record.ends_at(then)
            } else {
                record.visit(then).binary_search(&code).is_ok()
            }
        };
        // Codes do not tell facts: what depends on one is not concluded here.
        let holds = |literal: &Literal| literal.holds(visit, has) == Some(true);
        let speaks = |one: &&Reading| {
            one.visits.contains(visit)
                && self.vocabulary.kind(one.conclusion.code) == Kind::of_visit(visit)
                && one.conditions.iter().all(holds)
        };
        self.readings.iter().filter(speaks).map(|one| one.conclusion).collect()
    }
}
