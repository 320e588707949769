//! Rules about days, counts, ages and values in worlds small enough to write every record of.
//!
//! What a formula means is worked out here from the visits, their days and their values. Every way to
//! write a record is walked: every number of days that rules tell apart, every value, every set of codes
//! proposed. None may end in a violation, and from every beginning some day must do.

use std::sync::Arc;

use consequence_enforce::{Auditor, Enforcer, Moment, RepairPlan, Repaired, Writer, repair};
use consequence_feedback::Unwatched;
use consequence_prng::Draws;
use consequence_record::calendar::{DAY, years_between};
use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Details, EventDetail, Kind, Record, Selection, Vocabulary,
};
use consequence_rules::{
    CompileError, CompileLimits, CompileOptions, Days, Fact, Formula, Plan, Rule, RuleSet,
    ValueRange, Window, WrittenRules, compile,
};
use consequence_testing::every;
use consequence_testing::worlds::Choices;

const MAX_VISITS: u16 = 3;
/// One number of days in every cell that the rules below can tell apart.
const GAPS: [i64; 5] = [0, 1, 2, 3, 4];
const VALUES: [f32; 3] = [1.0, 5.0, 9.0];

/// A visit as it was written.
#[derive(Clone, Debug, Default)]
struct Written {
    codes: Vec<Code>,
    ends: bool,
    day: i64,
    age: u16,
    value: f32,
}

fn has(visit: &Written, codes: &[Code]) -> bool {
    codes.iter().any(|code| visit.codes.contains(code))
}

/// What a formula means at the last of some visits.
fn truth(formula: &Formula, visits: &[Written], end: Code) -> bool {
    let now = visits.len() - 1;
    let here = &visits[now];
    let of = |part: &Formula| truth(part, visits, end);
    match formula {
        Formula::Constant(value) => *value,
        Formula::Now(code) if *code == end => here.ends,
        Formula::Now(code) => here.codes.contains(code),
        Formula::In(code, window) => window.any(now, |then| visits[then].codes.contains(code)),
        Formula::Fact(fact) => match fact {
            Fact::Seen { codes, days: None, count } => {
                visits[..now].iter().filter(|visit| has(visit, codes)).count()
                    >= usize::from(*count)
            }
            Fact::Seen { codes, days: Some(days), count } => {
                let counts =
                    |visit: &&Written| has(visit, codes) && days.holds(here.day - visit.day);
                now > 0 && visits[1..now].iter().filter(counts).count() >= usize::from(*count)
            }
            Fact::Since { codes, mark } => {
                let last = visits[..now].iter().rposition(|visit| has(visit, mark));
                last.is_some_and(|last| visits[last + 1..now].iter().any(|visit| has(visit, codes)))
            }
            Fact::FirstVisit => now == 1,
            Fact::Age { least } => now > 0 && here.age >= *least,
            Fact::Value { code, range } => {
                now > 0 && here.codes.contains(code) && range.holds(here.value)
            }
        },
        Formula::Not(inner) => !of(inner),
        Formula::And(parts) => parts.iter().all(of),
        Formula::Or(parts) => parts.iter().any(of),
        Formula::Implies(left, right) => !of(left) || of(right),
        Formula::Iff(left, right) => of(left) == of(right),
        Formula::AtMostOne(parts) => parts.iter().filter(|part| of(part)).count() <= 1,
        Formula::ExactlyOne(parts) => parts.iter().filter(|part| of(part)).count() == 1,
    }
}

/// A world: two bands of age, three codes, and in some worlds codes that tell the days.
fn vocabulary(tells_days: bool) -> Vocabulary {
    let mut names = vec![
        ("AGE//0-2", Kind::Static),
        ("AGE//2+", Kind::Static),
        ("A", Kind::Encounter),
        ("B", Kind::Encounter),
        ("C", Kind::Encounter),
    ];
    if tells_days {
        names.extend([("GAP//0-2d", Kind::Encounter), ("GAP//2d+", Kind::Encounter)]);
    }
    Vocabulary::new(names).unwrap()
}

struct Maker<'a> {
    choices: &'a mut Choices,
    vocabulary: &'a Vocabulary,
}

impl Maker<'_> {
    fn code(&mut self) -> Code {
        let name = self.choices.pick(&["A", "B", "C"]);
        self.vocabulary.code(name).unwrap()
    }

    fn codes(&mut self) -> Arc<[Code]> {
        let mut codes = vec![self.code()];
        if self.choices.probability(0.3) {
            codes.push(self.code());
        }
        codes.sort_unstable();
        codes.dedup();
        codes.into()
    }

    fn past(&mut self) -> Formula {
        let days = self.choices.pick(&[
            Days::last(0),
            Days::last(1),
            Days::last(3),
            Days { from: 1, to: 3 },
            Days { from: 2, to: 2 },
        ]);
        let count = self.choices.between(1, 3) as u16;
        Formula::Fact(match self.choices.below(10) {
            0..4 => Fact::within(self.code(), days),
            4 => Fact::Seen { codes: self.codes(), days: Some(days), count },
            5 => Fact::Seen { codes: self.codes(), days: None, count },
            6 => Fact::Since { codes: self.codes(), mark: self.codes() },
            7 => Fact::FirstVisit,
            8 => Fact::Age { least: self.choices.below(4) as u16 },
            _ => {
                let previous = self.choices.probability(0.5);
                let window = if previous { Window::previous() } else { Window::past() };
                return Formula::In(self.code(), window);
            }
        })
    }

    fn now(&mut self) -> Formula {
        let a = self.vocabulary.code("A").unwrap();
        let range = self.choices.pick(&[
            ValueRange::above(2.0),
            ValueRange::below(5.0),
            ValueRange::between(4.0, 6.0),
        ]);
        match self.choices.below(12) {
            0 => Formula::Now(self.vocabulary.end()),
            1 => Formula::And(vec![Formula::Now(a), Formula::Fact(Fact::Value { code: a, range })]),
            2 => match self.vocabulary.code("GAP//0-2d") {
                Some(gap) => Formula::Now(gap),
                None => Formula::Now(self.code()),
            },
            _ => Formula::Now(self.code()),
        }
    }

    fn signed(&mut self, formula: Formula) -> Formula {
        if self.choices.probability(0.4) { formula.not() } else { formula }
    }

    fn rule(&mut self, index: usize) -> Rule {
        let mut antecedent = Vec::new();
        for _ in 0..self.choices.between(1, 2) {
            let part = if self.choices.probability(0.75) { self.past() } else { self.now() };
            antecedent.push(self.signed(part));
        }
        let consequent = if self.choices.probability(0.85) { self.now() } else { self.past() };
        let consequent = self.signed(consequent);
        let mut rule =
            Rule::hard(format!("r{index}"), Formula::And(antecedent).implies(consequent));
        rule.visits = Some(consequence_rules::Scope { static_visit: false, encounters: true });
        rule
    }
}

fn world(seed: u64) -> Arc<RuleSet> {
    let mut choices = Choices::new(seed, 0);
    let vocabulary = Arc::new(vocabulary(choices.probability(0.3)));
    let count = choices.between(1, 4);
    let mut maker = Maker { choices: &mut choices, vocabulary: &vocabulary };
    let mut rules: Vec<Rule> = (0..count).map(|index| maker.rule(index)).collect();
    let bands = [0, 1].map(|code| Formula::Now(Code(code)));
    rules.push(Rule::hard("one-band", Formula::ExactlyOne(bands.to_vec())));
    if let [Some(short), Some(long)] =
        ["GAP//0-2d", "GAP//2d+"].map(|name| vocabulary.code(name).map(Formula::Now))
    {
        let rule = Rule::hard("one-gap", Formula::AtMostOne(vec![short, long]));
        rules.push(rule);
    }
    Arc::new(RuleSet::new(vocabulary, rules).unwrap())
}

/// The rules, for a message.
fn shown(rules: &RuleSet) -> String {
    rules.iter().map(|rule| format!("\n{}: {:?}", rule.name, rule.formula())).collect()
}

fn obeys(rules: &RuleSet, visits: &[Written]) -> Option<String> {
    let vocabulary = rules.vocabulary();
    let kind = Kind::of_visit(visits.len() - 1);
    let broken = rules.hard().find(|(_, rule)| {
        let scope = rule.scope(vocabulary);
        let asked = if kind == Kind::Static { scope.static_visit } else { scope.encounters };
        asked && !truth(&rule.formula(), visits, vocabulary.end())
    });
    broken.map(|(_, rule)| rule.name.to_string())
}

/// Every set of codes that a visit could have, with and without the end.
fn proposals(vocabulary: &Vocabulary, visit: usize) -> Vec<Vec<Code>> {
    let sets: Vec<Vec<Code>> = every::visits(vocabulary, visit).collect();
    let ended = sets.iter().map(|set| [set.as_slice(), &[vocabulary.end()]].concat());
    let ended: Vec<Vec<Code>> = if visit == 0 { Vec::new() } else { ended.collect() };
    sets.into_iter().chain(ended).collect()
}

/// Walks every way to write a record.
struct Walk<'a> {
    rules: &'a RuleSet,
    plan: &'a Plan,
    draws: Draws,
    records: u64,
    choose: &'a mut Choices,
}

impl Walk<'_> {
    fn extend(&mut self, writer: &Writer<'_>, visits: &mut Vec<Written>) {
        let visit = visits.len();
        if visit > 0 && visits[visit - 1].ends {
            self.records += 1;
            return;
        }
        assert!(visit <= usize::from(MAX_VISITS), "the last position ends the record");
        let mut began = visit == 0;
        let moments = self.moments(visits);
        for (moment, told) in &moments {
            let mut here = writer.clone();
            if visit > 0 && !here.arrive(moment) {
                continue;
            }
            began = true;
            let mut proposals = proposals(self.rules.vocabulary(), visit);
            if visit > 1 {
                // Every set at the first visits, some of them later: it would be too many records.
                let chosen = (0..3).map(|_| self.choose.below(proposals.len()));
                proposals = chosen.map(|index| proposals[index].clone()).collect();
            }
            for proposal in proposals {
                let mut next = here.clone();
                let codes = next.overridden(&proposal, &self.draws, 0).to_vec();
                let ends = next.record().ended;
                visits.push(Written { codes, ends, ..told.clone() });
                if let Some(rule) = obeys(self.rules, visits) {
                    panic!("{rule} is broken by {visits:?} of {}", shown(self.rules));
                }
                // Codes of days are bound to them only where rules speak of days.
                if visit > 1 && !self.plan.atoms().thresholds().is_empty() {
                    self.tells_its_days(visits);
                }
                self.extend(&next, visits);
                visits.pop();
            }
        }
        assert!(began, "no day will do after {visits:?} by {}", shown(self.rules));
    }

    fn tells_its_days(&self, visits: &[Written]) {
        let [.., before, here] = visits else { return };
        for &code in &here.codes {
            let name = self.rules.vocabulary().name(code);
            let band = consequence_record::DayBand::of_gap(name);
            assert!(
                band.is_none_or(|band| band.holds(here.day - before.day)),
                "{visits:?} {}",
                shown(self.rules)
            );
        }
    }

    /// What the next visit may be like: days, age and value.
    fn moments(&mut self, visits: &[Written]) -> Vec<(Moment, Written)> {
        let Some(last) = visits.last() else { return vec![Default::default()] };
        let a = self.rules.vocabulary().code("A").unwrap();
        let mut moments = Vec::new();
        let first = visits.len() == 1;
        let gaps = if first { &GAPS[..1] } else { &GAPS[..] };
        for &gap in gaps {
            let ages = match (first, last.codes.first()) {
                (true, Some(Code(0))) => vec![0, 1],
                (true, _) => vec![2, 3],
                // A birthday passes or not; never on the same day.
                (false, _) if gap == 0 => vec![last.age],
                (false, _) => vec![last.age, last.age + 1],
            };
            for age in ages {
                let value = self.choose.pick(&VALUES);
                let moment = Moment {
                    day: Some(last.day + gap),
                    age: Some(AgeBand { from: age, to: Some(age + 1) }),
                    values: vec![(a, value)],
                    chosen: true,
                };
                let day = last.day + gap;
                moments.push((moment, Written { day, age, value, ..Written::default() }));
            }
        }
        moments
    }
}

/// Whether some record obeys the rules, looked for in every record of a world without values.
fn some_record(rules: &RuleSet, visits: &mut Vec<Written>) -> bool {
    let visit = visits.len();
    if visit > 1 && visits[visit - 1].ends {
        return true;
    }
    if visit > usize::from(MAX_VISITS) {
        return false;
    }
    let gaps: &[i64] = if visit > 1 { &GAPS } else { &GAPS[..1] };
    let (day, age) = visits.last().map_or((0, 0), |last| (last.day, last.age));
    let proposals = proposals(rules.vocabulary(), visit);
    for &gap in gaps {
        let ages = match visit {
            0 => vec![0],
            1 if visits[0].codes.first() == Some(&Code(0)) => vec![0, 1],
            1 => vec![2, 3],
            _ if gap == 0 => vec![age],
            _ => vec![age, age + 1],
        };
        for age in ages {
            for value in VALUES {
                for codes in &proposals {
                    let ends = codes.contains(&rules.vocabulary().end());
                    let mut codes = codes.clone();
                    codes.retain(|&code| code != rules.vocabulary().end());
                    visits.push(Written { codes, ends, day: day + gap, age, value });
                    let found = obeys(rules, visits).is_none() && some_record(rules, visits);
                    visits.pop();
                    if found {
                        return true;
                    }
                }
            }
        }
    }
    false
}

#[test]
fn every_record_obeys_and_none_is_stuck() {
    let (mut compiled, mut impossible, mut records) = (0, 0, 0);
    let mut beyond = Vec::new();
    let worlds = std::env::var("CONSEQUENCE_WORLDS").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("CONSEQUENCE_FIRST_WORLD").ok().and_then(|text| text.parse().ok());
    for seed in first.unwrap_or(0)..worlds.unwrap_or(150) {
        let rules = world(seed);
        let options = CompileOptions { max_visits: MAX_VISITS, ..CompileOptions::default() };
        let plan = match compile(Arc::clone(&rules), &options) {
            Ok(plan) => plan,
            Err(CompileError::Unsatisfiable { .. }) => {
                assert!(!some_record(&rules, &mut Vec::new()), "{seed}: {}", shown(&rules));
                impossible += 1;
                continue;
            }
            Err(CompileError::Beyond { .. }) => {
                beyond.push(seed);
                continue;
            }
            Err(error) => panic!("{seed}: {error}: {}", shown(&rules)),
        };
        compiled += 1;
        let enforcer = Enforcer::new(&plan);
        let mut choose = Choices::new(seed, 1);
        let mut walk = Walk {
            rules: &rules,
            plan: &plan,
            draws: Draws::new(seed),
            records: 0,
            choose: &mut choose,
        };
        walk.extend(&enforcer.writer(), &mut Vec::new());
        records += walk.records;
    }
    println!(
        "{compiled} sets, {records} records; {impossible} impossible, {} beyond the prover",
        beyond.len()
    );
    assert!(beyond.len() * 20 <= compiled + impossible + beyond.len(), "{beyond:?}");
    assert!(compiled > 100 && records > 10_000);
}

/// Records with dates, births and values, some of which break rules.
fn records(seed: u64, rules: &RuleSet) -> (Cohort, CohortDetails, Vec<Vec<Written>>) {
    let mut choices = Choices::new(seed, 2);
    let (mut cohort, mut details, mut written) =
        (Cohort::default(), CohortDetails::default(), Vec::new());
    let [static_sets, sets] = [0, 1]
        .map(|visit| -> Vec<Vec<Code>> { every::visits(rules.vocabulary(), visit).collect() });
    let a = rules.vocabulary().code("A").unwrap();
    for number in 0..40 {
        let encounters = choices.between(1, usize::from(MAX_VISITS));
        let birthday = choices.between(0, 900) as i64;
        let mut day = birthday + choices.between(0, 1200) as i64;
        let statics = static_sets[choices.below(static_sets.len())].clone();
        let mut visits = vec![Written { codes: statics, ..Written::default() }];
        let (mut times, mut events) = (Vec::new(), Vec::new());
        for visit in 1..=encounters {
            day += GAPS[choices.below(GAPS.len())];
            let codes = sets[choices.below(sets.len())].clone();
            let value = choices.pick(&VALUES);
            if codes.contains(&a) {
                let visit = visit as u32;
                events.push(EventDetail { visit, code: a, time: None, value: Some(value) });
            }
            times.push(day * DAY + 3_600_000_000);
            let age = years_between(birthday * DAY, day * DAY) as u16;
            let ends = visit == encounters;
            visits.push(Written { codes, ends, day, age, value });
        }
        let birth = Some(birthday * DAY);
        details.push(Details { birth, times, events, ..Details::default() }.view());
        let codes = visits.iter().map(|visit| visit.codes.clone()).collect();
        cohort.push(&number.to_string(), &Record::new(codes));
        written.push(visits);
    }
    (cohort, details, written)
}

/// Whether visits of any codes obey where these were, with their days and values.
fn some_codes_obey(rules: &RuleSet, written: &[Written], begun: &mut Vec<Written>) -> bool {
    let Some(given) = written.get(begun.len()) else { return true };
    for codes in every::visits(rules.vocabulary(), begun.len()) {
        begun.push(as_changed(rules, given, codes, given.ends));
        let found = obeys(rules, begun).is_none() && some_codes_obey(rules, written, begun);
        begun.pop();
        if found {
            return true;
        }
    }
    false
}

/// A visit with other codes. What a code measures that was put in is not known.
fn as_changed(rules: &RuleSet, given: &Written, codes: Vec<Code>, ends: bool) -> Written {
    let measured = given.codes.iter().any(|code| rules.vocabulary().name(*code) == "A");
    let value = if measured { given.value } else { f32::NAN };
    Written { codes, ends, value, ..given.clone() }
}

#[test]
fn audits_and_repairs_go_by_dates_and_values() {
    let (mut broken, mut repaired, mut changed, mut refused) = (0, 0, 0, 0);
    let (mut valid, mut missed) = (0, 0);
    for seed in 1_000..1_250 {
        let rules = world(seed);
        let (cohort, details, written) = records(seed, &rules);
        let records = Selection::all(&cohort).detailed(Some(&details));
        let limits = CompileLimits::default();
        let auditor = Auditor::new(&WrittenRules::new(Arc::clone(&rules), &limits).unwrap());
        let mut reader = auditor.reader();
        let mut found = Vec::new();
        for (number, visits) in written.iter().enumerate() {
            reader.violations(records.record(number), &mut found);
            for visit in 0..visits.len() {
                let says = found.iter().any(|violation| violation.visit == visit);
                let is = obeys(&rules, &visits[..=visit]).is_some();
                assert_eq!(says, is, "{:?} of {}", &visits[..=visit], shown(&rules));
            }
            broken += found.len();
        }
        let options = CompileOptions { max_visits: MAX_VISITS, ..CompileOptions::default() };
        let Ok(plan) = RepairPlan::compile(Arc::clone(&rules), &options) else { continue };
        let Repaired { cohort: after, summary, .. } =
            repair(&plan, records, &Draws::new(seed), &Unwatched);
        assert_eq!(summary.refused + after.len() as u64, summary.records);
        refused += summary.refused;
        changed += summary.changed;
        for index in 0..after.len() {
            let number: usize = after.id(index).parse().unwrap();
            let record = after.record(index);
            let mut visits = Vec::new();
            for (visit, codes) in record.visits().enumerate() {
                let given = &written[number][visit];
                visits.push(as_changed(&rules, given, codes.to_vec(), record.ends_at(visit)));
                if let Some(rule) = obeys(&rules, &visits) {
                    panic!("{rule} is broken by {visits:?} of {}", shown(&rules));
                }
            }
            repaired += 1;
        }
        for (number, visits) in written.iter().enumerate() {
            let kept = (0..after.len()).find(|&index| after.id(index) == number.to_string());
            reader.violations(records.record(number), &mut found);
            if found.is_empty() {
                valid += 1;
                let kept = kept.map(|index| after.record(index).to_record());
                assert_eq!(kept, Some(records.record(number).to_record()), "{}", shown(&rules));
            } else if kept.is_none() {
                missed += u64::from(some_codes_obey(&rules, visits, &mut Vec::new()));
            }
        }
    }
    println!(
        "{broken} violations; {valid} valid and as they were; {repaired} repaired, {changed} changed, {refused} left \
         out, {missed} of which other codes would have obeyed"
    );
    assert!(broken > 1_000 && changed > 1_000 && valid > 1_000 && missed * 50 < changed);
}
