//! The cases of `corpus/*.toml`: rules, records, and which visits break which rule, judged by the
//! referee, the auditor and the enforcer; rules that are refused, and what is said of them. Each case is a
//! test by the name of its file and its own: `cargo test --test corpus -- lifelong` runs those whose
//! names hold the word.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence::calendar::DAY;
use consequence::{
    AgeBand, AnalysisLimits, Auditor, Code, Cohort, CohortDetails, CompileError, CompileLimits,
    CompileOptions, Detailed, Details, Draws, Enforcer, EventDetail, Kind, LanguageLimits,
    OrderedPass, PassVerdict, Record, Referee, RepairPlan, ResolveOptions, Resolved, Rule,
    RuleFile, RuleSet, Selection, UnknownCodes, Unwatched, Vocabulary, Why, WrittenRules, compile,
    conflicts, parse, repair, resolve, superfluous,
};
use libtest_mimic::{Arguments, Trial};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// One case of a corpus file; `corpus/README.md` says what the fields are for.
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
    /// Whether a code that the vocabulary lacks is one that no record has.
    #[serde(default)]
    absent: bool,
    /// Rules that are refused: a part of what is said.
    error: Option<String>,
    /// A part of each warning, in order; there are no others.
    #[serde(default)]
    warns: Vec<String>,
    /// The rules that no record obeys together which ends, so that nothing can be generated.
    #[serde(default)]
    blames: Vec<String>,
    /// The rules that could be left out, each with the reason.
    superfluous: Option<Vec<String>>,
    /// Which rule demands a code that which one forbids.
    conflicts: Option<Vec<String>>,
    /// Whether applying the rules once to each visit, in the order written, would do.
    one_pass: Option<bool>,
    /// How often something holds in generated records.
    #[serde(default)]
    drawn: Vec<Drawn>,
    #[serde(default)]
    record: Vec<Line>,
}

/// Of the encounters where `given` holds, the share in which `formula` holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    formula: String,
    given: String,
    probability: f64,
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
    /// The day of each encounter, if there are dates.
    #[serde(default)]
    days: Vec<i64>,
    /// The age in years at each encounter, if it is known.
    #[serde(default)]
    ages: Vec<u16>,
    /// What was measured, as `code@visit=value`.
    #[serde(default)]
    values: Vec<String>,
}

impl Line {
    /// What is known beside the codes.
    fn details(&self, rules: &RuleSet) -> Details {
        let event = |text: &String| {
            let (code, rest) = text.split_once('@').expect("code@visit=value");
            let (visit, value) = rest.split_once('=').expect("visit=value");
            EventDetail {
                visit: visit.parse().expect("a visit"),
                code: rules.vocabulary().code(code).expect("a code"),
                time: None,
                value: Some(value.parse().expect("a value")),
            }
        };
        let mut events: Vec<EventDetail> = self.values.iter().map(event).collect();
        events.sort_by_key(|event| (event.visit, event.code));
        let year = |&from: &u16| Some(AgeBand { from, to: Some(from + 1) });
        Details {
            times: self.days.iter().map(|day| day * DAY).collect(),
            ages: self.ages.iter().map(year).collect(),
            events,
            ..Details::default()
        }
    }
}

fn yes() -> bool {
    true
}

/// Limits under which every component of the rules that derives a clause gets a decision diagram.
const BY_DIAGRAM: CompileLimits =
    CompileLimits { rule_literals: 10_000, derived: 0, growth: 0, nodes: 100_000 };

impl Case {
    fn run(&self) {
        let said = match (self.resolved(), &self.error) {
            (Ok(resolved), None) => return self.judge(resolved),
            (Ok(resolved), Some(_)) => {
                let options = CompileOptions { max_visits: 6, ..CompileOptions::default() };
                compile(Arc::new(resolved.rules), &options).expect_err("an error").to_string()
            }
            (Err(said), _) => said,
        };
        match &self.error {
            Some(part) => assert!(said.contains(part), "said was\n{said}"),
            None => panic!("{said}"),
        }
    }

    fn vocabulary(&self) -> Option<Arc<Vocabulary>> {
        (!self.statics.is_empty() || !self.codes.is_empty()).then(|| {
            let statics = self.statics.iter().map(|name| (name, Kind::Static));
            let codes = self.codes.iter().map(|name| (name, Kind::Encounter));
            Arc::new(Vocabulary::new(statics.chain(codes)).expect("different codes"))
        })
    }

    /// The rules of the case; the same once they were printed, and once they were put into JSON.
    fn resolved(&self) -> Result<Resolved, String> {
        let limits = LanguageLimits::default();
        let unknown_codes = if self.absent { UnknownCodes::Absent } else { UnknownCodes::Refuse };
        let options = ResolveOptions { unknown_codes, ..ResolveOptions::default() };
        let read = |file: RuleFile| {
            resolve(&[file], self.vocabulary(), &options).map_err(|refused| refused.to_string())
        };
        let file = parse("case.rules", &self.rules, &limits).map_err(|said| said.to_string())?;
        let printed = parse("printed.rules", file.to_string(), &limits).expect("printed rules");
        let json = RuleFile::from_json("case.json", file.to_json(), &limits).expect("JSON rules");
        let resolved = read(file)?;
        for other in [printed, json] {
            let same = |one: &Rule, other: &Rule| {
                (&one.name, &one.says, one.visits) == (&other.name, &other.says, other.visits)
            };
            let other = read(other).expect("what was read before").rules;
            assert!(resolved.rules.iter().zip(other.iter()).all(|(one, two)| same(one, two)));
            assert_eq!(resolved.rules.len(), other.len());
        }
        Ok(resolved)
    }

    fn judge(&self, resolved: Resolved) {
        let warnings: Vec<String> =
            resolved.warnings.iter().map(|warning| warning.render()).collect();
        let as_told = |(said, part): (&String, &String)| said.contains(part);
        assert!(
            warnings.len() == self.warns.len() && warnings.iter().zip(&self.warns).all(as_told),
            "warnings were {warnings:#?}"
        );
        let rules = Arc::new(resolved.rules);
        let (cohort, details) = self.cohort(&rules);
        let records = Selection::all(&cohort).detailed(Some(&details));
        let written =
            WrittenRules::new(Arc::clone(&rules), &CompileLimits::default()).expect("small rules");
        self.analyse(&written);
        let auditor = Auditor::new(&written);
        let referee = Referee::new(&rules);
        let mut reader = auditor.reader();
        let mut found = Vec::new();
        let named = |visit: usize, rule: usize| format!("{}@{visit}", rules[rule].name);
        for (line, record) in self.record.iter().zip(records.records()) {
            let judged: Vec<String> =
                referee.violations(&record).iter().map(|one| named(one.visit, one.rule)).collect();
            assert_eq!(judged, line.breaks, "referee, record `{}`", line.visits);
            reader.violations(record, &mut found);
            let audited: Vec<String> = found.iter().map(|one| named(one.visit, one.rule)).collect();
            assert_eq!(audited, line.breaks, "auditor, record `{}`", line.visits);
        }
        for by_diagram in [false, true] {
            self.enforce(&rules, records, by_diagram);
            // Days, ages and values are drawn by a model, and here is none.
            if !self.is_detailed() {
                self.sample(&rules, by_diagram);
            }
        }
    }

    /// Whether days, ages or values are known of a record.
    fn is_detailed(&self) -> bool {
        let known =
            |line: &Line| !line.days.is_empty() || !line.ages.is_empty() || !line.values.is_empty();
        self.record.iter().any(known)
    }

    fn cohort(&self, rules: &RuleSet) -> (Cohort, CohortDetails) {
        let code = |name: &str| {
            rules.vocabulary().code(name).unwrap_or_else(|| panic!("no code `{name}`"))
        };
        let visit = |words: &str| -> Vec<Code> {
            // What stands between single quotes is one name.
            let mut codes = Vec::new();
            for (number, part) in words.split('\'').enumerate() {
                match number % 2 {
                    0 => codes.extend(part.split_whitespace().map(code)),
                    _ => codes.push(code(part)),
                }
            }
            codes
        };
        let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
        for (number, line) in self.record.iter().enumerate() {
            let mut record = Record::new(line.visits.split('|').map(visit).collect());
            record.ended = line.ended;
            cohort.push(&number.to_string(), &record);
            details.push(line.details(rules).view());
        }
        (cohort, details)
    }

    /// What is known of the rules without a record.
    fn analyse(&self, written: &WrittenRules) {
        let rules = written.rules();
        let name = |index: usize| &*rules[index].name;
        let limits = AnalysisLimits::default();
        if let Some(wanted) = &self.superfluous {
            let found = superfluous(written, &limits).0.into_iter().map(|one| match one.why {
                Why::AlwaysTrue => format!("{}: always true", name(one.rule)),
                Why::NeverFires => format!("{}: never fires", name(one.rule)),
                Why::Implied(by) => {
                    let by: Vec<&str> = by.into_iter().map(name).collect();
                    format!("{}: by {}", name(one.rule), by.join(", "))
                }
            });
            assert_eq!(&found.collect::<Vec<String>>(), wanted, "superfluous rules");
        }
        if let Some(wanted) = &self.conflicts {
            let found = conflicts(written, 6, &limits).found.into_iter().map(|one| {
                let code = rules.vocabulary().name(one.code);
                format!("{} demands {code}, {} forbids it", name(one.demands), name(one.forbids))
            });
            assert_eq!(&found.collect::<Vec<String>>(), wanted, "conflicts");
        }
        if let Some(wanted) = self.one_pass {
            let verdict =
                OrderedPass::in_list_order(rules, 1_000).expect("a pass").verdict(rules, 6, 4);
            assert!(!matches!(verdict, PassVerdict::Unknown(_)), "a verdict");
            assert_eq!(verdict == PassVerdict::Safe, wanted, "one pass: {verdict:?}");
        }
    }

    /// The plan; none where the case blames rules for there being none, or where nothing that is
    /// derived can be decided by a diagram.
    fn plan<P>(
        &self,
        compile: impl FnOnce(Arc<RuleSet>, &CompileOptions) -> Result<P, CompileError>,
        (rules, mut options): (&Arc<RuleSet>, CompileOptions),
        by_diagram: bool,
    ) -> Option<P> {
        if by_diagram {
            options.limits = BY_DIAGRAM;
        }
        match compile(Arc::clone(rules), &options) {
            Ok(plan) => Some(plan),
            Err(CompileError::Unsatisfiable { core, .. }) => {
                assert!(by_diagram || core == self.blames, "to blame are {core:?}");
                None
            }
            Err(CompileError::TooDense { .. }) if by_diagram => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Repairs are valid, leave valid records alone, and are what the case says; just the records that
    /// it says are refused. Where a decision diagram decides, visits are not counted, and repairs are
    /// only valid.
    fn enforce(&self, rules: &Arc<RuleSet>, records: Selection<'_>, by_diagram: bool) {
        let cohort = records.cohort();
        let max_visits = cohort.longest() as u16;
        let options = CompileOptions { max_visits, ..CompileOptions::default() };
        let exact = !by_diagram;
        let Some(plan) = self.plan(RepairPlan::compile, (rules, options), by_diagram) else {
            let refused = self.record.iter().all(|line| line.refused);
            assert!(refused || by_diagram, "no record obeys the rules");
            return;
        };
        let repaired = repair(&plan, records, &Draws::new(1), &Unwatched).cohort;
        let referee = Referee::new(rules);
        let hard = rules.iter().all(|rule| rule.is_hard());
        let written: Vec<&str> = (0..repaired.len()).map(|index| repaired.id(index)).collect();
        for (number, line) in self.record.iter().enumerate() {
            let refused = !written.contains(&number.to_string().as_str());
            let as_told = refused == line.refused || !exact;
            assert!(as_told, "refused is {refused}, record `{}`", line.visits);
        }
        for (index, record) in repaired.records().enumerate() {
            let number: usize = repaired.id(index).parse().expect("a number");
            let line = &self.record[number];
            let place = format!("repaired record `{}`", line.visits);
            let has = |visit: usize, code| record.visit(visit).contains(&code);
            let details = line.details(rules).view().kept(record.len() - 1, has);
            let judged = Detailed { record: &record, details: details.view() };
            assert!(referee.is_valid(&judged), "enforcer, {place}");
            if line.breaks.is_empty() && hard && (exact || line.ended) {
                assert_eq!(record.to_record(), cohort.record(number).to_record(), "{place}");
            }
            if !exact {
                continue;
            }
            let ended = line.repaired_ended.unwrap_or(line.ended);
            assert_eq!(record.ended(), ended, "ended, {place}");
            if let Some(wanted) = &line.repaired {
                let visit = |codes: &[Code]| -> String {
                    let names: Vec<&str> =
                        codes.iter().map(|&code| rules.vocabulary().name(code)).collect();
                    names.join(" ")
                };
                let visits: Vec<String> = record.visits().map(visit).collect();
                assert_eq!(&visits.join(" | "), wanted, "enforcer, {place}");
            }
        }
    }

    /// Whatever is proposed, sampled records are valid; soft rules hold as often as they say.
    fn sample(&self, rules: &Arc<RuleSet>, by_diagram: bool) {
        let options = CompileOptions { max_visits: 6, ..CompileOptions::default() };
        let plan = self.plan(compile, (rules, options), by_diagram);
        assert!(by_diagram || plan.is_some() == self.blames.is_empty(), "whether there is a plan");
        let Some(plan) = plan else { return };
        let enforcer = Enforcer::new(&plan);
        let referee = Referee::new(rules);
        let (mut writer, draws) = (enforcer.writer(), Draws::new(5));
        let mut sampled = Vec::new();
        for number in 0..if self.drawn.is_empty() { 100 } else { 4_000 } {
            while !writer.record().ended {
                let probability = f64::from(number as u32 % 10 + 1) / 11.0;
                writer.guided(&draws, number, |_, _| probability).expect("a probability");
            }
            sampled.push(writer.take());
            assert!(referee.is_valid(&sampled[sampled.len() - 1]), "sampler");
        }
        for drawn in &self.drawn {
            drawn.check(rules, &sampled);
        }
    }
}

impl Drawn {
    /// Whether the share is the probability, but for what chance explains: five standard deviations.
    fn check(&self, rules: &RuleSet, records: &[Record]) {
        let formula = |text: &str| {
            let text = format!("rule holds: {text}");
            RuleSet::parse(&text, Some(Arc::clone(rules.vocabulary()))).expect("a formula")
        };
        let (given, holds) = (formula(&self.given), formula(&self.formula));
        let (given, holds) = (Referee::new(&given), Referee::new(&holds));
        let fails = |referee: &Referee, record: &Record| -> BTreeSet<usize> {
            referee.violations(record).iter().map(|violation| violation.visit).collect()
        };
        let (mut looked, mut held) = (0.0, 0.0);
        for record in records {
            let (out, not) = (fails(&given, record), fails(&holds, record));
            let visits = (1..record.visits.len()).filter(|visit| !out.contains(visit));
            for visit in visits {
                looked += 1.0;
                held += f64::from(u8::from(!not.contains(&visit)));
            }
        }
        assert!(looked > 200.0, "`{}` holds in {looked} encounters", self.given);
        let deviation = (self.probability * (1.0 - self.probability) / looked).sqrt();
        let share = held / looked;
        assert!((share - self.probability).abs() <= 5.0 * deviation, "{share} of {looked}");
    }
}

/// The cases of a corpus file.
fn cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("a corpus file");
    let file: File =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.case
}

/// The rows of a table in Markdown: the first cell, and the last.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        Some((cells.split(" | ").next()?, cells.rsplit(" | ").next()?))
    })
}

/// The list in `corpus/README.md` has every row of the tables of `docs/rules.md`, every case that is
/// there, and no other.
fn listed(folder: &Path, names: &BTreeSet<String>) {
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).expect("a text");
    let (list, guide) = (read("README.md"), read("../docs/rules.md"));
    let mut listed = BTreeSet::new();
    let mut subjects = BTreeSet::new();
    for (subject, cases) in rows(&list).filter(|(subject, _)| *subject != "what") {
        subjects.insert(subject);
        listed.extend(cases.split("; ").map(str::to_owned));
    }
    let unlisted: Vec<_> = names.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(names).collect();
    assert!(
        unlisted.is_empty() && unknown.is_empty(),
        "not listed {unlisted:#?}, no case {unknown:#?}"
    );
    let mut of_guide = 0;
    for (subject, _) in rows(&guide).filter(|(subject, _)| *subject != "write") {
        assert!(subjects.contains(subject), "corpus/README.md has no cases for {subject}");
        of_guide += 1;
    }
    assert!(of_guide >= 16, "the tables of docs/rules.md");
}

fn main() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let entries = std::fs::read_dir(&folder).expect("the corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut trials = Vec::new();
    let mut names = BTreeSet::new();
    for path in &files {
        let topic = path.file_stem().map_or_else(String::new, |stem| stem.display().to_string());
        for case in cases(path) {
            assert!(names.insert(case.name.clone()), "two cases are called `{}`", case.name);
            trials.push(Trial::test(format!("{topic}: {}", case.name), move || {
                case.run();
                Ok(())
            }));
        }
    }
    assert!(names.len() >= 150, "a corpus of {} cases", names.len());
    trials.push(Trial::test("README.md: the list of cases", move || {
        listed(&folder, &names);
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
