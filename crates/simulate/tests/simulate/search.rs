//! A plain search for rules of the paper's kinds, with the paper's cut-offs.

use std::collections::BTreeSet;

use consequence_record::{Code, Cohort, Kind, RecordView, Vocabulary};
use consequence_simulate::{Preset, RuleKind};

/// A rule that no record breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    Together(Code, Code),
    NeverInGroup(Code, Code),
    OnlyAfter(Code, Code),
    Lifelong(Code),
}

impl Found {
    pub fn kind(self) -> RuleKind {
        match self {
            Self::Together(..) => RuleKind::Together,
            Self::NeverInGroup(..) => RuleKind::NeverInGroup,
            Self::OnlyAfter(..) => RuleKind::OnlyAfter,
            Self::Lifelong(..) => RuleKind::Lifelong,
        }
    }

    pub fn text(self, vocabulary: &Vocabulary) -> String {
        let name = |code| vocabulary.name(code);
        match self {
            Self::Together(code, other) => format!("{} => {}", name(code), name(other)),
            Self::NeverInGroup(group, code) => format!("no {} in {}", name(code), name(group)),
            Self::OnlyAfter(first, code) => format!("{} only after {}", name(code), name(first)),
            Self::Lifelong(code) => format!("{} stays", name(code)),
        }
    }
}

/// What is known of one code.
#[derive(Clone, Default)]
pub struct Evidence {
    /// Encounters with the code.
    pub occurrences: u64,
    /// Those whose encounter before had it too.
    pub repeats: u64,
    /// Encounters without it after one with it.
    lapses: u64,
    /// The codes that were there each time; `None` before the first time.
    companions: Option<Vec<Code>>,
    /// The codes that had been there before each time.
    forerunners: Option<Vec<Code>>,
    /// The static codes of its patients.
    groups: BTreeSet<Code>,
}

fn narrow(
    kept: &mut Option<Vec<Code>>,
    allows: impl Fn(Code) -> bool,
    all: impl FnOnce() -> Vec<Code>,
) {
    match kept {
        Some(codes) => codes.retain(|&code| allows(code)),
        None => *kept = Some(all()),
    }
}

/// Counts every code of a cohort.
pub fn evidence(cohort: &Cohort, vocabulary: &Vocabulary) -> Vec<Evidence> {
    let mut all = vec![Evidence::default(); vocabulary.len()];
    for record in cohort.records() {
        count(&record, &mut all);
    }
    all
}

fn count(record: &RecordView<'_>, all: &mut [Evidence]) {
    let mut past: BTreeSet<Code> = BTreeSet::new();
    let mut before: &[Code] = &[];
    for visit in record.visits().skip(1) {
        for &code in visit {
            let known = &mut all[code.index()];
            known.occurrences += 1;
            known.repeats += u64::from(before.contains(&code));
            known.groups.extend(record.visit(0));
            let others = || visit.iter().copied().filter(|&other| other != code).collect();
            narrow(&mut known.companions, |other| visit.contains(&other), others);
            let earlier = || past.iter().copied().filter(|&other| other != code).collect();
            narrow(&mut known.forerunners, |other| past.contains(&other), earlier);
        }
        for code in before.iter().filter(|code| !visit.contains(code)) {
            all[code.index()].lapses += 1;
        }
        past.extend(visit);
        before = visit;
    }
}

/// Every rule of the paper's kinds that the cohort has enough of, and never breaks.
pub fn search(cohort: &Cohort, vocabulary: &Vocabulary, preset: Preset) -> Vec<Found> {
    let statics: Vec<Code> =
        vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static).collect();
    let mut found = Vec::new();
    for (code, known) in vocabulary.codes().zip(evidence(cohort, vocabulary)) {
        let enough = |kind: RuleKind| {
            kind.cut_off(preset).is_some_and(|(occurrences, repeats)| {
                known.occurrences >= occurrences && known.repeats >= repeats
            })
        };
        if enough(RuleKind::Together) {
            found.extend(known.companions.iter().flatten().map(|&o| Found::Together(code, o)));
        }
        if enough(RuleKind::OnlyAfter) {
            found.extend(known.forerunners.iter().flatten().map(|&o| Found::OnlyAfter(o, code)));
        }
        if enough(RuleKind::NeverInGroup) {
            let absent = statics.iter().filter(|group| !known.groups.contains(group));
            found.extend(absent.map(|&group| Found::NeverInGroup(group, code)));
        }
        if enough(RuleKind::Lifelong) && known.lapses == 0 {
            found.push(Found::Lifelong(code));
        }
    }
    found
}
