//! Rules in a form that says everything: implications between codes, each with the visits it looks
//! at.

use std::error::Error;
use std::sync::Arc;

use consequence_record::{Code, Cohort, Vocabulary};
use consequence_rules::{
    CompileLimits, Formula, Implication, Literal, Rule, RuleSet, Says, Window, clausal_form,
    implicative_form,
};
use serde_json::{Value, json};

/// Rules, and some soft ones about codes that are frequent in a cohort.
pub fn with_soft(rules: &RuleSet, cohort: &Cohort) -> RuleSet {
    let mut counts = vec![0; rules.vocabulary().len()];
    let encounters = cohort.records().flat_map(|record| record.visits().skip(1));
    encounters.flatten().for_each(|code| counts[code.index()] += 1);
    let mut codes: Vec<Code> = rules.vocabulary().codes().collect();
    codes.sort_by_key(|code| std::cmp::Reverse(counts[code.index()]));
    let [a, b, c, d] = [codes[0], codes[1], codes[2], codes[3]];
    let past = Formula::And(vec![Formula::In(a, Window::past()), Formula::Now(b)]);
    let soft = [
        ("soft-now", Formula::Now(a).implies(Formula::Now(b)), 0.25),
        ("soft-past", past.implies(Formula::Now(c)), 0.5),
        ("soft-absent", Formula::In(d, Window::previous()).implies(Formula::Now(a).not()), 0.75),
        ("soft-always", Formula::Now(d), 0.1),
    ];
    let soft = soft.map(|(name, formula, probability)| {
        Rule::new(name, Says::soft(formula, probability).expect("each concludes one code"))
    });
    let rules_of = rules.iter().cloned().chain(soft);
    RuleSet::new(Arc::clone(rules.vocabulary()), rules_of.collect())
        .expect("the codes are of the vocabulary")
}

/// Each rule with the visits it is required of. A hard rule is a list of implications; a soft rule
/// has a condition, as a conjunction of disjunctions, and an output.
pub fn as_json(rules: &RuleSet) -> Result<Value, Box<dyn Error>> {
    let vocabulary = rules.vocabulary();
    let clauses = |formula: &Formula| {
        clausal_form(formula, CompileLimits::default().rule_literals)
            .map_err(|_| "a rule is too large")
    };
    let mut list = Vec::new();
    for rule in rules {
        let scope = rule.scope(vocabulary);
        let mut entry = json!({
            "rule": &*rule.name,
            "static_visit": scope.static_visit,
            "encounters": scope.encounters,
        });
        match &rule.says {
            Says::Hard(formula) => {
                let forms = implicative_form(&clauses(formula)?);
                let forms: Value = forms.iter().map(|form| implication(form, vocabulary)).collect();
                entry["implications"] = forms;
            }
            Says::Soft { when, code, present, probability } => {
                let condition = when.as_ref().map_or(Ok(Vec::new()), clauses)?;
                let literals = |clause: &Vec<Literal>| -> Value {
                    clause.iter().map(|part| literal(part, vocabulary)).collect()
                };
                entry["probability"] = (*probability).into();
                entry["condition"] = condition.iter().map(literals).collect();
                let output = Literal::now(*code, *present);
                entry["output"] = literal(&output, vocabulary);
            }
        }
        list.push(entry);
    }
    Ok(list.into())
}

fn implication(form: &Implication, vocabulary: &Vocabulary) -> Value {
    json!({
        "conditions": form.antecedent.iter().map(|part| literal(part, vocabulary)).collect::<Value>(),
        "output": form.consequent.as_ref().map(|part| literal(part, vocabulary)),
    })
}

fn literal(literal: &Literal, vocabulary: &Vocabulary) -> Value {
    // The rules of this example name codes and nothing else.
    let (code, window) = literal.code().unzip();
    let window = window.flatten().map(|window| {
        json!({
            "past": window.is_past(),
            "visits": window.visits(),
            "distances": window.distances(),
        })
    });
    json!({
        "code": code.map(|code| vocabulary.name(code)),
        "window": window,
        "present": literal.present,
    })
}
