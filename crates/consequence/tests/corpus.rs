//! The cases of `corpus/*.toml`: rules, records, and which visits break which rule, judged by the
//! referee, the auditor and the enforcer.

use std::path::PathBuf;
use std::sync::Arc;

use consequence::{
    Auditor, Code, Cohort, CompileLimits, CompileOptions, Draws, Enforcer, Kind, Record, Referee,
    RuleSet, Vocabulary, WrittenRules, compile, repair,
};
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

    /// Repairs are valid, leave valid records alone, and are what the case says.
    fn enforce(&self, rules: &Arc<RuleSet>, cohort: &Cohort) {
        let max_visits = cohort.longest() as u16 + 1;
        let options = CompileOptions { max_visits, end_first: true, ..CompileOptions::default() };
        let plan = compile(Arc::clone(rules), &options)
            .unwrap_or_else(|error| panic!("case `{}`: {error}", self.name));
        let (repaired, _) = repair(&Enforcer::new(&plan), cohort, &Draws::new(1), &|_| {});
        let referee = Referee::new(rules);
        let hard = rules.rules.iter().all(|rule| rule.is_hard());
        for (index, record) in repaired.records().enumerate() {
            let number: usize = repaired.id(index).parse().expect("a number");
            let line = &self.record[number];
            let place = format!("case `{}`, record `{}`", self.name, line.visits);
            assert!(referee.is_valid(&record), "enforcer, {place}");
            if line.breaks.is_empty() && hard {
                assert_eq!(record.to_record(), cohort.record(number).to_record(), "{place}");
            }
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
        let plan = compile(Arc::clone(rules), &options)
            .unwrap_or_else(|error| panic!("case `{}`: {error}", self.name));
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

#[test]
fn every_case_holds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let entries = std::fs::read_dir(&folder).expect("the corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut cases = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a corpus file");
        let file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        cases += file.case.len();
        file.case.iter().for_each(Case::run);
    }
    assert!(cases >= 24, "{cases} cases were found");
}
