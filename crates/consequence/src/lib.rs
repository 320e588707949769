//! Patient records that obey medical rules, and the proof that they do.
//!
//! A rule is what a person writes: `SEX//M in static => not ICD9CM//650`. This crate reads rules,
//! proves that they can always be kept, finds the records that break them, repairs those, and lets
//! any sampler write records that cannot break them.
//!
//! # Words
//! A *code* is a string such as `ICD9CM//250`. A *visit* is a set of codes. A *record* is visit 0,
//! the static visit with sex and age, and then encounters in time order. `END` holds at the last
//! encounter. Rules look at the current visit and, through *windows* (`in static`, `in previous`,
//! `in past`, `in last 3 visits`), at earlier ones.
//!
//! # Cohorts
//! [`SimulateTask`](simulate::SimulateTask) makes one of any size, with the rules that it obeys; [`ImportTask`](import::ImportTask) makes
//! one of the tables that people have; [`ExportTask`](export::ExportTask) hands one on to other programs.
//! [`Dataset::open`] reads it, whatever its format. [`DescribeTask`](describe::DescribeTask) tells what it looks
//! like, [`HeadTask`](head::HeadTask) shows its first records, [`CodesTask`](codes::CodesTask) searches its codes,
//! [`DiffTask`](diff::DiffTask) tells two apart, and [`Titles`] what codes mean.
//!
//! # Rules from text
//! ```
//! use consequence::RuleSet;
//!
//! let rules = RuleSet::parse(
//!     "rule no-delivery-in-men:    SEX//M in static => not ICD9CM//650
//!      rule diabetes-is-lifelong:  ICD9CM//250 in previous => ICD9CM//250
//!      rule insulin-for-diabetes:  RX//insulin => ICD9CM//250",
//!     None,
//! )?;
//! assert_eq!(rules.len(), 3);
//! assert!(rules.vocabulary().code("RX//insulin").is_some());
//!
//! // What cannot be read is pointed at.
//! let refused = RuleSet::parse("rule a: SEX//M in tomorrow => X", None).unwrap_err();
//! assert!(refused.to_string().contains("rules:1:19"));
//! # Ok::<(), consequence::Diagnostics>(())
//! ```
//! [`parse`] and [`resolve`] do the same for many files, over a given vocabulary, with warnings.
//!
//! # Check
//! [`conflicts`] finds rules with opposite demands and a record for each in which they meet;
//! [`superfluous`] finds rules that could be left out; [`OrderedPass`] tells whether applying the rules
//! once, in the order written, would do. [`CheckTask`](check::CheckTask) asks all of it of rule files at once.
//! ```
//! use std::sync::Arc;
//! use consequence::{AnalysisLimits, CompileLimits, RuleSet, WrittenRules, conflicts};
//!
//! let rules = RuleSet::parse(
//!     "rule treat:  DIABETES => INSULIN
//!      rule spare:  ALLERGY => not INSULIN",
//!     None,
//! )?;
//! let written = WrittenRules::new(Arc::new(rules), &CompileLimits::default())?;
//! let found = conflicts(&written, 100, &AnalysisLimits::default()).found;
//! assert_eq!((found[0].demands, found[0].forbids), (0, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules from data and from experts
//! [`MineTask`](mine::MineTask) finds rules in a cohort and writes them with the evidence for each, and as a page
//! on which an expert chooses from them; [`CommonSenseTask`](common_sense::CommonSenseTask) writes those that nobody
//! needs to be told;
//! [`RulesFromTask`](packs::RulesFromTask) makes rules of the tables that experts publish, and
//! [`packs::from_folder`] of all that lie in a folder. Rule files are to
//! be read, checked and corrected like any other. [`mine::search`] works on records in memory.
//! ```
//! use std::sync::Arc;
//! use consequence::mine::{SearchOptions, search};
//! use consequence::{Cohort, Kind, Record, Split, Vocabulary};
//!
//! let vocabulary = Vocabulary::new([("DIABETES", Kind::Encounter), ("FEVER", Kind::Encounter)])?;
//! let [diabetes, fever] = ["DIABETES", "FEVER"].map(|name| vocabulary.code(name).unwrap());
//! let mut cohort = Cohort::default();
//! for number in 0..400 {
//!     let visits = match number % 8 {
//!         0 => vec![vec![], vec![diabetes], vec![diabetes]],
//!         1 => vec![vec![], vec![fever], vec![]],
//!         _ => vec![vec![], vec![], vec![]],
//!     };
//!     cohort.push(&number.to_string(), &Record::new(visits));
//! }
//! let splits = vec![Split::Train; cohort.len()];
//! let mined = search(&cohort, &Arc::new(vocabulary), &splits, &SearchOptions::default())?;
//! assert!(mined.rules[0].statement.ends_with(": DIABETES in previous => DIABETES"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Compile
//! [`compile()`] closes the rules under their consequences, within a visit and across visits, and
//! proves the result with a SAT solver. No [`Plan`] leaves it unproved; rules that no record can
//! obey are refused with the smallest set of them that is to blame.
//! ```
//! use std::sync::Arc;
//! use consequence::{CompileError, CompileOptions, RuleSet, compile};
//!
//! let rules = RuleSet::parse("rule a: A => B  rule b: B => not A", None)?;
//! let plan = compile(Arc::new(rules), &CompileOptions::default())?;
//! assert!(plan.proof().goals > 0);
//!
//! let rules = RuleSet::parse("rule always: A  rule never: not A  rule other: B => C", None)?;
//! let error = compile(Arc::new(rules), &CompileOptions::default()).unwrap_err();
//! assert!(matches!(error, CompileError::Unsatisfiable { core, .. } if core == ["always", "never"]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Audit
//! [`Auditor`] counts violations in any cohort, on all threads. [`Referee`] judges the same
//! naively, and shares no code with it. [`AuditTask`](audit::AuditTask) does it for files.
//! ```
//! use std::sync::Arc;
//! use consequence::{
//!     Auditor, Cohort, CompileLimits, Record, Referee, RuleSet, Unwatched, WrittenRules,
//! };
//!
//! let rules = Arc::new(RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?);
//! let diabetes = rules.vocabulary().code("DIABETES").unwrap();
//! let mut cohort = Cohort::default();
//! cohort.push("one", &Record::new(vec![vec![], vec![diabetes], vec![]]));
//! cohort.push("two", &Record::new(vec![vec![], vec![], vec![diabetes]]));
//!
//! let written = WrittenRules::new(Arc::clone(&rules), &CompileLimits::default())?;
//! let audit = Auditor::new(&written).audit(&cohort, 3, &Unwatched);
//! assert_eq!((audit.temporal_violations, audit.valid_records), (1, 1));
//! assert!(!Referee::new(&rules).is_valid(&cohort.record(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Repair
//! A [`RepairPlan`] takes where records end as given. Codes keep their value unless a rule forces
//! another. [`EnforceTask`](enforce::EnforceTask) does it for files.
//! ```
//! use std::sync::Arc;
//! use consequence::{
//!     Cohort, CompileOptions, Draws, Record, RepairPlan, RuleSet, Unwatched, repair,
//! };
//!
//! let rules = Arc::new(RuleSet::parse("rule lifelong: DIABETES in previous => DIABETES", None)?);
//! let diabetes = rules.vocabulary().code("DIABETES").unwrap();
//! let mut cohort = Cohort::default();
//! cohort.push("one", &Record::new(vec![vec![], vec![diabetes], vec![]]));
//!
//! let max_visits = cohort.longest() as u16;
//! let plan = RepairPlan::compile(rules, &CompileOptions { max_visits, ..Default::default() })?;
//! let consequence_enforce::Repaired { cohort: repaired, summary: done, .. } = repair(&plan, &cohort, &Draws::new(0), &Unwatched);
//! assert_eq!(repaired.record(0).visit(2), [diabetes]);
//! assert_eq!((done.changed, done.added), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Train and generate
//! [`train`] trains a model on a cohort, with rules; [`generate`] writes new records with it, each
//! obeying every hard rule; [`evaluate`] measures the model and what it wrote. [`synthesize`] does all
//! of it. Each is a [`Task`] that is run and ends in a [`Report`].
//!
//! # Sample
//! A model of your own needs no more than probabilities. [`Writer::guided`] samples a visit code by code. The caller gives each code's probability,
//! knowing what was decided before; the rules decide where they must. Records depend on the seed
//! and their number alone.
//! ```
//! use std::sync::Arc;
//! use consequence::{CompileOptions, Draws, Enforcer, Referee, RuleSet, compile};
//!
//! let rules = Arc::new(RuleSet::parse(
//!     "rule insulin:   RX//insulin => ICD9CM//250
//!      rule lifelong:  ICD9CM//250 in previous => ICD9CM//250
//!      rule death:     EXPIRED => END",
//!     None,
//! )?);
//! let plan = compile(Arc::clone(&rules), &CompileOptions { max_visits: 8, ..Default::default() })?;
//! let enforcer = Enforcer::for_model(&plan, None);
//! let (mut writer, draws) = (enforcer.writer(), Draws::new(7));
//! let referee = Referee::new(&rules);
//! for record in 0..100 {
//!     while !writer.record().ended {
//!         writer.guided(&draws, record, |_code, _decided| 0.3)?;
//!     }
//!     assert!(referee.is_valid(&writer.take()));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod audit;
mod broken;
pub mod check;
pub mod codes;
pub mod common_sense;
pub mod convert;
pub mod demo;
pub mod describe;
pub mod diff;
pub mod enforce;
pub mod evaluate;
pub mod export;
pub mod generate;
pub mod head;
pub mod import;
mod look;
pub mod mine;
pub mod packs;
pub mod parts;
pub mod release;
pub mod simulate;
pub mod synthesize;
pub mod train;

pub use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Concept, DayBand, Details, DetailsView, Domain,
    EventDetail, Kind, Part, Record, RecordView, Scale, Selection, Split, Vocabulary,
    VocabularyError, calendar,
};

pub use consequence_rules::language::{Ages, Item, Knows, RuleItem, closest};
pub use consequence_rules::{
    Days, Diagnostic, Diagnostics, Fact, Formula, LanguageLimits, Origin, ResolveOptions, Resolved,
    Rule, RuleFile, RuleSet, Says, Severity, TupleError, TupleFile, UnknownCodes, ValueRange,
    Window, parse, resolve, write_tuples,
};

pub use consequence_rules::{
    AnalysisLimits, Conflict, Conflicts, Form, OrderedPass, PassCounterexample, PassVerdict,
    Superfluous, Why, WrittenRules, conflicts, form, superfluous,
};

pub use consequence_rules::{
    ClosedRules, CompileError, CompileLimits, CompileOptions, Derivation, Order, Plan, Proof,
    Stage, Stages, compile,
};

pub use consequence_enforce::{
    Audit, Auditor, BadProbability, Enforcer, Program, Reader, Repair, RepairPlan, Ruling,
    Violation, Writer, repair,
};
pub use consequence_prng::{Draws, Purpose};
pub use consequence_referee::{Defect, Detailed, Referee};

pub use consequence_model::{Model, keep_kernels};
pub use consequence_tables::{Dataset, TableError, arrow, jsonl, meds, vocabulary};
pub use consequence_tally::{Block, Blocks, Paused, State, Wanted, Whose};

pub use consequence_pipeline::{
    Advice, CodeSource, CodeSummary, CohortFigures, CohortInput, CountError, Error, HeldCohort,
    Inputs, ModelInput, Out, REPORT_FORMAT, RecordInputs, Report, RuleInput, RuleReference,
    Setting, Task, Unwatched, Watch, load, parse_count, use_threads,
};

pub use broken::{BrokenBy, BrokenRecords};
pub use look::{ReadCode, ReadRecord, ReadVisit, Titles, given_titles};

/// Crash-safe files.
pub use consequence_store as store;
