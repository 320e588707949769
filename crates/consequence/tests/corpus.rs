//! The cases of `corpus/*.toml`: rules, records, and which visits break which rule, judged by the
//! referee, the auditor and the enforcer. Each case is a test by the name of its file and its own:
//! `cargo test --test corpus -- lifelong` runs those whose names hold the word.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence::{
    Auditor, Code, Cohort, CompileError, CompileLimits, CompileOptions, Draws, Enforcer, Kind,
    Record, Referee, RuleSet, Vocabulary, WrittenRules, compile, repair,
};
use libtest_mimic::{Arguments, Trial};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// One case of a corpus file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// The rules, in the rule language.
    rules: String,
    /// Static codes; `codes` are those of encounters. Without both, the codes are those the rules
    /// name.
    #[serde(default)]
    statics: Vec<String>,
    #[serde(default)]
    codes: Vec<String>,
    /// False for rules that no record obeys which ends, so that nothing can be generated.
    #[serde(default = "yes")]
    generates: bool,
    record: Vec<Line>,
}

/// One record of a case: visits as words, the static visit first, `|` between visits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    visits: String,
    /// What breaks, as `rule@visit`; nothing: the record is valid.
    #[serde(default)]
    breaks: Vec<String>,
    /// The visits after repair, where the case says.
    repaired: Option<String>,
    /// Whether the record ended or was cut after repair, where that is another than before.
    repaired_ended: Option<bool>,
    /// True for a record that repair leaves out: no record of its length obeys the rules.
    #[serde(default)]
    refused: bool,
    /// False for a record that was cut before its real end.
    #[serde(default = "yes")]
    ended: bool,
}

fn yes() -> bool {
    true
}

impl Case {
    fn rule_set(&self) -> Arc<RuleSet> {
        let vocabulary = (!self.statics.is_empty() || !self.codes.is_empty()).then(|| {
            let statics = self.statics.iter().map(|name| (name, Kind::Static));
            let codes = self.codes.iter().map(|name| (name, Kind::Encounter));
            Arc::new(Vocabulary::new(statics.chain(codes)).expect("different codes"))
        });
        match RuleSet::parse(&self.rules, vocabulary) {
            Ok(rules) => Arc::new(rules),
            Err(error) => panic!("case `{}`: {error}", self.name),
        }
    }

    fn cohort(&self, rules: &RuleSet) -> Cohort {
        let mut cohort = Cohort::default();
        for (number, line) in self.record.iter().enumerate() {
            let visit = |words: &str| -> Vec<Code> {
                let code = |name: &str| {
                    let found = rules.vocabulary.code(name);
                    found.unwrap_or_else(|| panic!("case `{}`: no code `{name}`", self.name))
                };
                words.split_whitespace().map(code).collect()
            };
            let mut record = Record::new(line.visits.split('|').map(visit).collect());
            record.ended = line.ended;
            cohort.push(&number.to_string(), &record);
        }
        cohort
    }

    fn run(&self) {
        let rules = self.rule_set();
        let cohort = self.cohort(&rules);
        let written =
            WrittenRules::new(Arc::clone(&rules), &CompileLimits::default()).expect("small rules");
        let auditor = Auditor::new(&written);
        let referee = Referee::new(&rules);
        let mut reader = auditor.reader();
        let mut found = Vec::new();
        let named = |visit: usize, rule: usize| format!("{}@{visit}", rules.rules[rule].name);
        for (line, record) in self.record.iter().zip(cohort.records()) {
            let place = format!("case `{}`, record `{}`", self.name, line.visits);
            let judged: Vec<String> =
                referee.violations(&record).iter().map(|one| named(one.visit, one.rule)).collect();
            assert_eq!(judged, line.breaks, "referee, {place}");
            reader.violations(record, &mut found);
            let audited: Vec<String> = found.iter().map(|one| named(one.visit, one.rule)).collect();
            assert_eq!(audited, line.breaks, "auditor, {place}");
        }
        self.enforce(&rules, &cohort);
        self.sample(&rules);
    }

    /// Repairs are valid, leave valid records alone, and are what the case says; just the records that
    /// it says are refused.
    fn enforce(&self, rules: &Arc<RuleSet>, cohort: &Cohort) {
        let max_visits = cohort.longest() as u16 + 1;
        let options = CompileOptions { max_visits, end_first: true, ..CompileOptions::default() };
        let plan = compile(Arc::clone(rules), &options)
            .unwrap_or_else(|error| panic!("case `{}`: {error}", self.name));
        let (repaired, _) = repair(&Enforcer::new(&plan), cohort, &Draws::new(1), &|_| {});
        let referee = Referee::new(rules);
        let hard = rules.rules.iter().all(|rule| rule.is_hard());
        let written: Vec<&str> = (0..repaired.len()).map(|index| repaired.id(index)).collect();
        for (number, line) in self.record.iter().enumerate() {
            let refused = !written.contains(&number.to_string().as_str());
            assert_eq!(refused, line.refused, "refused, case `{}`, `{}`", self.name, line.visits);
        }
        for (index, record) in repaired.records().enumerate() {
            let number: usize = repaired.id(index).parse().expect("a number");
            let line = &self.record[number];
            let place = format!("case `{}`, record `{}`", self.name, line.visits);
            assert!(referee.is_valid(&record), "enforcer, {place}");
            if line.breaks.is_empty() && hard {
                assert_eq!(record.to_record(), cohort.record(number).to_record(), "{place}");
            }
            let ended = line.repaired_ended.unwrap_or(line.ended);
            assert_eq!(record.ended(), ended, "ended, {place}");
            if let Some(wanted) = &line.repaired {
                let visit = |codes: &[Code]| -> String {
                    let names: Vec<&str> =
                        codes.iter().map(|&code| rules.vocabulary.name(code)).collect();
                    names.join(" ")
                };
                let visits: Vec<String> = record.visits().map(visit).collect();
                assert_eq!(&visits.join(" | "), wanted, "enforcer, {place}");
            }
        }
    }

    /// Whatever is proposed, sampled records are valid.
    fn sample(&self, rules: &Arc<RuleSet>) {
        let options = CompileOptions { max_visits: 6, ..CompileOptions::default() };
        let plan = match (compile(Arc::clone(rules), &options), self.generates) {
            (Ok(plan), true) => plan,
            (Err(CompileError::Unsatisfiable { .. }), false) => return,
            (Ok(_), false) => panic!("case `{}`: a plan, where there should be none", self.name),
            (Err(error), _) => panic!("case `{}`: {error}", self.name),
        };
        let enforcer = Enforcer::new(&plan);
        let referee = Referee::new(rules);
        let (mut writer, draws) = (enforcer.writer(), Draws::new(5));
        for number in 0..100 {
            while !writer.record().ended {
                let probability = f64::from(number as u32 % 10 + 1) / 11.0;
                writer.guided(&draws, number, |_, _| probability).expect("a probability");
            }
            assert!(referee.is_valid(&writer.take()), "sampler, case `{}`", self.name);
        }
    }
}

/// The tests of a corpus file, one for each case.
fn trials(path: &Path) -> Vec<Trial> {
    let text = std::fs::read_to_string(path).expect("a corpus file");
    let file: File =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let topic = path.file_stem().map_or_else(String::new, |stem| stem.display().to_string());
    let trial = |case: Case| {
        Trial::test(format!("{topic}: {}", case.name), move || {
            case.run();
            Ok(())
        })
    };
    file.case.into_iter().map(trial).collect()
}

fn main() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let entries = std::fs::read_dir(&folder).expect("the corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let trials: Vec<Trial> = files.iter().flat_map(|path| trials(path)).collect();
    let mut names: Vec<&str> = trials.iter().map(Trial::name).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == trials.len() && names.len() >= 24, "cases have names of their own");
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
