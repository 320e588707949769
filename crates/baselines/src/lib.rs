//! The rival methods of the paper: what each makes of the rules, and a network that trains and
//! writes records by it.
//!
//! Each method takes the logits that a network gives the codes of a visit, and does with the rules
//! what it can:
//!
//! | method | type | rules within a visit | temporal rules | always obeyed |
//! |---|---|---|---|---|
//! | SPL | [`Circuit`] | all | none | what it expresses |
//! | MultiPlexNet | [`Mixture`] | all, if the terms are not too many | none | what it expresses |
//! | CCN | [`Layer`] | those that demand a code, not in a cycle | none | what it expresses |
//! | semantic loss | [`SemanticLoss`] | all | all | nothing |
//!
//! All of them list the rules they cannot express. [`Rival`] has a network train by a method, as
//! its [`Objective`](consequence_network::Objective), and its [`RivalGenerator`] writes records by it.
//! All else here knows of rules and probabilities alone.
//!
//! [`Constraint`] holds the hard rules as clauses, apart for the static visit and for encounters
//! ([`World`]). Clauses that share codes form a [`Component`], which becomes a [`Diagram`]: its
//! [`Evaluation`] gives the probability that independent codes obey it, the gradient of that, and a
//! [`Walk`] that decides codes one by one so that they do.
//!
//! ```
//! use std::sync::Arc;
//! use consequence_baselines::{Circuit, Constraint, Layer, Limits, Mixture, Row, SemanticLoss};
//! use consequence_record::{Cohort, Kind, Record};
//! use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
//!
//! let text = "rule lift: A => B  rule lifelong: C in previous => C";
//! let rules = Arc::new(RuleSet::parse(text, None)?);
//! let codes = Order::natural(Arc::clone(rules.vocabulary()));
//! let written = WrittenRules::new(rules, &CompileLimits::default())?;
//! let constraint = Constraint::new(&written, &codes)?;
//! let (world, limits) = (constraint.world(Kind::Encounter), Limits::default());
//!
//! // Codes A, B, C and END, all as likely as not. The visit has A, B and END.
//! let row = Row { logits: &[0.0; 4], present: &[0, 1, 3] };
//!
//! // One of 3 ways to choose A and B, and of 4 to choose C and END.
//! let circuit = Circuit::new(world, &limits)?;
//! assert!((circuit.nats(row).nats - 12f64.ln()).abs() < 1e-9);
//! assert_eq!(circuit.unexpressed()[0].to_string(), "lifelong: looks at earlier visits");
//!
//! // Either no A, or B: the second term allows the visit, in 1 of 2 ways.
//! let mixture = Mixture::new(world, &limits)?;
//! assert_eq!(mixture.term_count(), 2);
//! assert!((mixture.nats(row, &[0.0; 2]).nats - 16f64.ln()).abs() < 1e-9);
//!
//! // The visit before had C: this one must, and A must not be without B.
//! let semantic = SemanticLoss::new(world, &limits);
//! let mut cohort = Cohort::default();
//! let c = codes.vocabulary().code("C").ok_or("no C")?;
//! cohort.push("p", &Record::new(vec![vec![], vec![c], vec![]]));
//! let known = world.known(cohort.record(0), 2);
//! assert!((semantic.loss(&known, row.logits).nats + (0.75f64 * 0.5).ln()).abs() < 1e-9);
//!
//! // B is at least as likely as A.
//! let layer = Layer::new(world);
//! assert_eq!(layer.logits(&[2.0, 1.0, 0.0, 0.0]), [2.0, 2.0, 0.0, 0.0]);
//! assert!(layer.forced(1, |code| (code == 0).then_some(true)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod circuit;
mod constraint;
mod diagram;
mod error;
mod evaluation;
mod generator;
mod layer;
mod lifted;
mod method;
mod mixture;
mod rival;
mod row;
mod semantic;
mod terms;

pub use circuit::{Circuit, CircuitWalk};
pub use constraint::{
    Clause, Component, Constraint, Known, NamedRule, SpannedClause, Variable, World,
};
pub use diagram::Diagram;
pub use error::{BaselineError, Limits, Reason, Unexpressed};
pub use evaluation::{Evaluation, Walk};
pub use generator::RivalGenerator;
pub use layer::Layer;
pub use method::{Method, UnknownMethod};
pub use mixture::{Mixture, MixtureWalk};
pub use rival::Rival;
pub use row::{Coin, Cost, Row};
pub use semantic::{Approximated, SemanticLoss};
pub use terms::{Term, Terms};
