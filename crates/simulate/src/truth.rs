//! The planted rules over a preset's vocabulary, each with its kind.

use std::fmt::Write;
use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{Formula, Origin, Rule, RuleSet, Says, Window};

use crate::catalogue::{Catalogue, SEXES};
use crate::planted::{
    AFTER_DISEASE, EQUIVALENT, EXCLUSIVE, Group, LIFELONG, NEVER, ONLY_AFTER, SCARCE, TOGETHER,
};
use crate::preset::Preset;

/// What a planted rule says. The first five are the kinds of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleKind {
    /// At most one code of a demographic category.
    OneOfCategory,
    /// A code that only ever comes with another in the same visit.
    Together,
    /// A code that never comes in a demographic group.
    NeverInGroup,
    /// A code that only comes after another.
    OnlyAfter,
    /// A code that stays once it has come.
    Lifelong,
    /// A sign that, after a disease, has a consequence.
    PastAndPresent,
    /// Codes of which a visit has at most one.
    Exclusive,
    /// Codes that come both or neither.
    Equivalent,
    /// A code that ends the record.
    EndsRecord,
}

impl RuleKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::OneOfCategory,
        Self::Together,
        Self::NeverInGroup,
        Self::OnlyAfter,
        Self::Lifelong,
        Self::PastAndPresent,
        Self::Exclusive,
        Self::Equivalent,
        Self::EndsRecord,
    ];

    /// The kind in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::OneOfCategory => "At most one of each demographic category, none if unknown.",
            Self::Together => "Codes that only come with another in the same visit.",
            Self::NeverInGroup => "Codes that never come in a demographic group.",
            Self::OnlyAfter => "Codes that only come after another.",
            Self::Lifelong => "Codes that stay once they have come.",
            Self::PastAndPresent => "Signs that have a consequence after a disease.",
            Self::Exclusive => "Codes of which a visit has at most one.",
            Self::Equivalent => "Codes that come both or neither.",
            Self::EndsRecord => "Nothing comes after death.",
        }
    }

    /// The occurrences of the code, and the repeats from one visit to the next, that the paper asks
    /// for before it takes such a rule from a dataset. None where it looks for no such rule, or
    /// takes it from the format of the data.
    ///
    /// ```
    /// use consequence_simulate::{Preset, RuleKind};
    ///
    /// assert_eq!(RuleKind::Lifelong.cut_off(Preset::Inpatient), Some((10, 5)));
    /// assert_eq!(RuleKind::Exclusive.cut_off(Preset::Inpatient), None);
    /// ```
    pub fn cut_off(self, preset: Preset) -> Option<(u64, u64)> {
        let inpatient = preset == Preset::Inpatient;
        match self {
            Self::Together => Some((10, 0)),
            Self::NeverInGroup => Some((500, 0)),
            Self::OnlyAfter => Some((if inpatient { 10 } else { 100 }, 0)),
            Self::Lifelong => Some(if inpatient { (10, 5) } else { (500, 250) }),
            _ => None,
        }
    }
}

/// What is known of a planted rule beyond what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted {
    /// Its kind.
    pub kind: RuleKind,
    /// The code that it binds, whose occurrences are the evidence for it.
    pub code: Code,
    /// Whether a cohort of the preset's full size has the evidence that the paper asks for. A few
    /// rules are planted on codes that are too rare for that.
    pub ample: bool,
}

/// The rules that every record of a simulation obeys.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The rules.
    pub rules: Arc<RuleSet>,
    /// What is known of each rule, in the same order.
    pub planted: Vec<Planted>,
    /// The rules as a file, grouped by kind, to be written as `truth.rules`.
    pub text: String,
}

impl Truth {
    pub(crate) fn new(preset: Preset, catalogue: &Catalogue) -> Self {
        let mut list = List { preset, catalogue, found: Vec::new() };
        list.categories();
        list.within_visits();
        list.over_time();
        list.outcomes();
        list.found.sort_by_key(|(_, planted, _)| planted.kind);
        list.finish()
    }
}

/// The rules as they are gathered.
struct List<'a> {
    preset: Preset,
    catalogue: &'a Catalogue,
    found: Vec<(String, Planted, Formula)>,
}

impl List<'_> {
    fn add(&mut self, kind: RuleKind, name: String, code: Code, formula: Formula) {
        let rare = SCARCE[self.preset.settings().column];
        let ample = !rare.contains(&self.catalogue.vocabulary.name(code));
        self.found.push((name, Planted { kind, code, ample }, formula));
    }

    fn now(&self, names: &[&str]) -> Vec<Formula> {
        names.iter().filter_map(|name| self.catalogue.code(name)).map(Formula::Now).collect()
    }

    fn one_of(&mut self, kind: RuleKind, name: &str, names: &[&str]) {
        if let Some(first) = names.first().and_then(|name| self.catalogue.code(name)) {
            let formula = Formula::AtMostOne(self.now(names));
            self.add(kind, name.to_owned(), first, formula);
        }
    }

    fn categories(&mut self) {
        let bands = self.preset.settings().bands;
        let ages: Vec<&str> = bands.iter().map(|band| band.name).collect();
        self.one_of(RuleKind::OneOfCategory, "one-sex", &SEXES.map(|(name, _)| name));
        self.one_of(RuleKind::OneOfCategory, "one-age-band", &ages);
    }

    fn within_visits(&mut self) {
        for &(name, companion) in TOGETHER {
            if let [Some(code), Some(other)] = [name, companion].map(|n| self.catalogue.code(n)) {
                let title = format!("{}-with-{}", short(name), short(companion));
                let formula = Formula::Now(code).implies(Formula::Now(other));
                self.add(RuleKind::Together, title, code, formula);
            }
        }
        for (title, names) in EXCLUSIVE {
            self.one_of(RuleKind::Exclusive, title, names);
        }
        for &(name, other) in EQUIVALENT {
            if let [Some(left), Some(right)] = [name, other].map(|n| self.catalogue.code(n)) {
                let sides = [left, right].map(|code| Box::new(Formula::Now(code)));
                let [left_side, right_side] = sides;
                let title = format!("{}-is-{}", short(name), short(other));
                let formula = Formula::Iff(left_side, right_side);
                self.add(RuleKind::Equivalent, title, left, formula);
            }
        }
    }

    fn over_time(&mut self) {
        for &(group, name) in NEVER {
            for (word, member) in group_codes(self.preset, group) {
                if let [Some(member), Some(code)] = [member, name].map(|n| self.catalogue.code(n)) {
                    let title = format!("no-{}-in-{word}", short(name));
                    let formula = Formula::In(member, Window::static_visit())
                        .implies(Formula::Now(code).not());
                    self.add(RuleKind::NeverInGroup, title, code, formula);
                }
            }
        }
        for pair in ONLY_AFTER {
            if let [Some(code), Some(first)] =
                [pair.later, pair.first].map(|n| self.catalogue.code(n))
            {
                let title = format!("{}-only-after-{}", short(pair.later), short(pair.first));
                let formula =
                    Formula::In(first, Window::past()).not().implies(Formula::Now(code).not());
                self.add(RuleKind::OnlyAfter, title, code, formula);
            }
        }
        for name in LIFELONG {
            if let Some(code) = self.catalogue.code(name) {
                let title = format!("{}-is-lifelong", short(name));
                let formula = Formula::In(code, Window::previous()).implies(Formula::Now(code));
                self.add(RuleKind::Lifelong, title, code, formula);
            }
        }
        for case in AFTER_DISEASE {
            let names = [case.disease, case.sign, case.consequence];
            if let [Some(disease), Some(sign), Some(then)] = names.map(|n| self.catalogue.code(n)) {
                let title = format!("{}-after-{}", short(case.sign), short(case.disease));
                let window = case.within.map_or(Window::past(), Window::last);
                let formula = Formula::And(vec![Formula::In(disease, window), Formula::Now(sign)])
                    .implies(Formula::Now(then));
                self.add(RuleKind::PastAndPresent, title, sign, formula);
            }
        }
    }

    fn outcomes(&mut self) {
        let outcomes = self.preset.settings().outcomes;
        let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.name).collect();
        self.one_of(RuleKind::Exclusive, "one-outcome", &names);
        if let Some(death) = names.first().and_then(|name| self.catalogue.code(name)) {
            let end = Formula::Now(self.catalogue.vocabulary.end());
            let formula = Formula::Now(death).implies(end);
            self.add(RuleKind::EndsRecord, "death-ends-the-record".into(), death, formula);
        }
    }

    fn finish(self) -> Truth {
        let vocabulary = &self.catalogue.vocabulary;
        let file: Arc<str> = "truth.rules".into();
        let mut text = heading(self.preset, vocabulary);
        let mut rules = Vec::new();
        let mut planted: Vec<Planted> = Vec::new();
        for (name, what, formula) in self.found {
            if planted.last().is_none_or(|last| last.kind != what.kind) {
                let _ = writeln!(text, "\n# {}", what.kind.sentence());
            }
            let line = format!("rule {name}: {}", formula.text(vocabulary));
            let number = 1 + text.lines().count() as u32;
            let _ = writeln!(text, "{line}");
            rules.push(Rule {
                name: name.into(),
                says: Says::Hard(formula),
                visits: None,
                origin: Origin { file: Arc::clone(&file), line: number, text: line.into() },
            });
            planted.push(what);
        }
        let rules = RuleSet::new(Arc::clone(vocabulary), rules)
            .expect("the planted rules name the codes of the simulation");
        Truth { rules: Arc::new(rules), planted, text }
    }
}

fn heading(preset: Preset, vocabulary: &Vocabulary) -> String {
    let statics: Vec<&str> = vocabulary
        .codes()
        .filter(|&code| vocabulary.kind(code) == Kind::Static)
        .map(|code| vocabulary.name(code))
        .collect();
    format!(
        "# What every record of the simulated {preset} cohort obeys.\n\nstatic {}\n",
        statics.join(", ")
    )
}

/// The demographic codes of a group, each with a word for a rule's name.
pub(crate) fn group_codes(preset: Preset, group: Group) -> Vec<(String, &'static str)> {
    let bands = preset.settings().bands;
    let ages = match group {
        Group::Women => return vec![("women".to_owned(), SEXES[0].0)],
        Group::Men => return vec![("men".to_owned(), SEXES[1].0)],
        Group::Children => bands.get(..1),
        Group::Young => bands.get(1..2),
        Group::Seniors => bands.get(bands.len() - 1..),
        Group::Grown => bands.get(1..),
    };
    let word = |name: &str| name.replace("AGE//", "ages-").replace('+', "-and-over");
    ages.into_iter().flatten().map(|band| (word(band.name), band.name)).collect()
}

/// A code's name without its first parts, as a part of a rule's name.
fn short(name: &str) -> String {
    let parts: Vec<&str> = name.split("//").collect();
    let skipped = if parts.len() > 2 { 2 } else { 1 };
    parts.get(skipped..).map_or(String::new(), |rest| rest.join("-")).to_lowercase()
}
