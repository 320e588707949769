//! Every target with what it ever failed on, its seeds, and inputs made from them.

use consequence_fuzz::{
    COHORT_LINES, EXPERT_TABLES, MARKOV_TABLES, MODEL_CARD, NETWORK_WEIGHTS, RULE_JSON, RULE_TEXT,
    RULE_TUPLES,
};

#[test]
fn rule_text() {
    RULE_TEXT.run(20_000);
}

#[test]
fn rule_json() {
    RULE_JSON.run(20_000);
}

#[test]
fn rule_tuples() {
    RULE_TUPLES.run(20_000);
}

#[test]
fn cohort_lines() {
    COHORT_LINES.run(40_000);
}

#[test]
fn expert_tables() {
    EXPERT_TABLES.run(20_000);
}

#[test]
fn model_card() {
    MODEL_CARD.run(2_000);
}

#[test]
fn network_weights() {
    NETWORK_WEIGHTS.run(40_000);
}

#[test]
fn markov_tables() {
    MARKOV_TABLES.run(20_000);
}
