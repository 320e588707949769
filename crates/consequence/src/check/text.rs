//! A check as a person reads it.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::CodeSource;
use consequence_pipeline::words::{count, list, number};

use super::report::{
    CheckReport, ConflictReport, DerivedKind, DerivedRule, NamedVisits, OnePass, Verdict,
    WhySuperfluous,
};

use crate::look::{Grid, shortened};

/// Findings of a kind listed in the text; the rest are counted.
const SHOWN: usize = 20;

impl Display for CheckReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(explanation) = &self.explanation {
            explanation.fmt(out)?;
            return self.titles(out);
        }
        self.head(out)?;
        if self.rules.total == 0 {
            return writeln!(out, "\nno rules: every record is allowed");
        }
        if let Some(broken) = self.broken.as_ref().filter(|broken| broken.records > 0) {
            write!(out, "\n{broken}")?;
        }
        self.verdict(out)?;
        self.conflicts(out)?;
        self.cycles(out)?;
        self.superfluous(out)?;
        self.derived(out)?;
        self.soft(out)?;
        self.one_pass(out)?;
        self.titles(out)
    }
}

impl CheckReport {
    /// What the codes above mean.
    fn titles(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.titles.is_empty() {
            return Ok(());
        }
        let mut grid = Grid::new(&["<codes named above", "<title"]);
        for (code, title) in self.titles.iter().take(SHOWN) {
            grid.row(vec![code.clone(), shortened(Some(title))]);
        }
        write!(out, "\n{grid}")?;
        match self.titles.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "  and {}", count(more as u64, "more code")),
        }
    }

    fn head(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let rules = &self.rules;
        writeln!(
            out,
            "{}: {} ({} hard, {} soft; {} within a visit, {} looking back)",
            list(&self.files),
            count(rules.total as u64, "rule"),
            number(rules.hard as u64),
            number(rules.soft as u64),
            number(rules.within_a_visit as u64),
            number(rules.temporal as u64),
        )?;
        let forms: Vec<String> = self
            .forms
            .iter()
            .map(|form| format!("{} {}", number(form.rules as u64), form.form))
            .collect();
        if !forms.is_empty() {
            writeln!(out, "  forms: {}", forms.join(", "))?;
        }
        let source = match &self.codes.source {
            CodeSource::Rules => "as the rules name them",
            CodeSource::Cohort(file) | CodeSource::Vocabulary(file) | CodeSource::Model(file) => {
                &format!("from {file}")
            }
        };
        let (statics, encounters) = (self.codes.statics as u64, self.codes.encounters as u64);
        writeln!(
            out,
            "  codes: {} static and {} of encounters, {source}",
            number(statics),
            number(encounters)
        )
    }

    fn verdict(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Proved { stages, statements, clauses, derived_clauses, diagram_nodes } => {
                writeln!(out, "\nproved: no input can end in a violation")?;
                writeln!(
                    out,
                    "  for every record of up to {}, whatever is proposed for its visits",
                    count(self.max_visits.into(), "encounter")
                )?;
                write!(
                    out,
                    "  {} shown for {} of visits; {}, {} of them derived",
                    count(*statements as u64, "statement"),
                    count(*stages as u64, "kind"),
                    count(*clauses as u64, "clause"),
                    number(*derived_clauses as u64)
                )?;
                if *diagram_nodes > 0 {
                    let nodes = count(*diagram_nodes as u64, "node");
                    write!(out, "; a decision diagram of {nodes}")?;
                }
                writeln!(out)
            }
            Verdict::Impossible { core, cut_obeys } => {
                let obeys = match cut_obeys {
                    true => "only a record that was cut before its end",
                    false => "no record",
                };
                writeln!(out, "\nimpossible: {obeys} can obey these rules together")?;
                for rule in core {
                    writeln!(out, "  {}:{}: {}", rule.file, rule.line, rule.text)?;
                }
                if *cut_obeys {
                    writeln!(
                        out,
                        "  nothing can be generated, since every new record ends; audits and repairs go by the records"
                    )?;
                }
                match core.as_slice() {
                    [_] => writeln!(out, "  change it, or leave it out"),
                    _ => writeln!(
                        out,
                        "  change one of them, or leave one out: each is needed for the contradiction"
                    ),
                }
            }
        }
    }

    fn conflicts(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if !self.conflicts.is_empty() {
            let resolved =
                if self.is_proved() { ", which the derived rules keep from meeting" } else { "" };
            let found = count(self.conflicts.len() as u64, "pair");
            writeln!(out, "\nconflicts: {found} of rules with opposite demands{resolved}")?;
            shown(out, &self.conflicts, |out, conflict| conflict.fmt(out))?;
        }
        if self.pairs_not_examined > 0 {
            writeln!(
                out,
                "  {} with opposite demands not examined",
                count(self.pairs_not_examined as u64, "more pair")
            )?;
        }
        Ok(())
    }

    fn cycles(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.cycles.is_empty() {
            return Ok(());
        }
        writeln!(out, "\ncycles: codes that depend on each other")?;
        shown(out, &self.cycles, |out, cycle| writeln!(out, "  {}", cycle.join(", ")))
    }

    fn superfluous(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if !self.superfluous.is_empty() {
            writeln!(out, "\nsuperfluous: rules that could be left out")?;
            shown(out, &self.superfluous, |out, one| {
                let why = match &one.why {
                    WhySuperfluous::AlwaysTrue => "holds of every visit".to_owned(),
                    WhySuperfluous::NeverFires => "never fires, given the other rules".to_owned(),
                    WhySuperfluous::ImpliedBy(by) => {
                        let by: Vec<String> = by.iter().map(|rule| format!("`{rule}`")).collect();
                        format!("follows from {}", list(&by))
                    }
                };
                let rule = &one.rule;
                writeln!(out, "  `{}` ({}:{}) {why}", rule.name, rule.file, rule.line)
            })?;
        }
        if !self.all_rules_compared {
            writeln!(
                out,
                "\nonly repeated and narrower rules were looked for: there are too many rules to compare each with all others"
            )?;
        }
        Ok(())
    }

    fn derived(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let of_kind = |kind: DerivedKind| -> Vec<&DerivedRule> {
            self.derived.iter().filter(|derived| derived.kind == kind).collect()
        };
        let implied = of_kind(DerivedKind::Implied);
        if !implied.is_empty() {
            writeln!(out, "\nderived within a visit: {}", number(implied.len() as u64))?;
            shown(out, &implied, |out, derived| writeln!(out, "  {derived}"))?;
        }
        let ahead = of_kind(DerivedKind::LookAhead);
        if !ahead.is_empty() {
            writeln!(
                out,
                "\nderived for the sake of later visits: {}",
                number(ahead.len() as u64)
            )?;
            shown(out, &ahead, |out, derived| writeln!(out, "  {derived}"))?;
        }
        Ok(())
    }

    fn soft(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if !self.soft.is_empty() {
            writeln!(out, "\nsoft: drawn where they fire, unless a hard rule decides")?;
            shown(out, &self.soft, |out, soft| {
                writeln!(out, "  `{}` with probability {}", soft.rule.name, soft.probability)
            })?;
        }
        for output in &self.shared_outputs {
            let rules: Vec<String> = output.rules.iter().map(|rule| format!("`{rule}`")).collect();
            writeln!(
                out,
                "  {} all draw {}: where several fire, the last of them wins",
                list(&rules),
                output.code
            )?;
        }
        Ok(())
    }

    fn one_pass(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if !self.is_proved() {
            return Ok(());
        }
        write!(out, "\none ordered pass over the rules as listed: ")?;
        match &self.one_pass {
            OnePass::Safe => writeln!(out, "safe here too"),
            OnePass::Unsafe { breaks, proposed } => {
                writeln!(out, "unsafe")?;
                writeln!(
                    out,
                    "  it leaves `{}` broken when these visits are proposed:",
                    breaks.name
                )?;
                proposed.fmt(out)
            }
            OnePass::Unknown { encounters } => writeln!(
                out,
                "not known\n  nothing went wrong in records of up to {}; longer ones were not searched",
                count(*encounters as u64, "encounter")
            ),
            OnePass::NotExamined { reason } => writeln!(out, "not examined, since {reason}"),
        }
    }
}

impl Display for ConflictReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { demands, forbids, code, witness } = self;
        writeln!(out, "  {code} is demanded and forbidden:")?;
        for rule in [demands, forbids] {
            writeln!(out, "    {}:{}: {}", rule.file, rule.line, rule.text)?;
        }
        writeln!(out, "    as in the last visit of:")?;
        witness.fmt(out)
    }
}

impl Display for DerivedRule {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.text)?;
        match self.visits {
            Some([first, last]) if first == last => write!(out, "  (visit {first})")?,
            Some([first, last]) => write!(out, "  (visits {first} to {last})")?,
            None => {}
        }
        write!(out, "\n    from {}", list(&self.from))
    }
}

impl Display for NamedVisits {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let width = format!("visit {}", self.0.len().saturating_sub(1)).len();
        for (number, visit) in self.0.iter().enumerate() {
            let name = if number == 0 { "static".to_owned() } else { format!("visit {number}") };
            let codes = if visit.is_empty() { "-".to_owned() } else { visit.join(", ") };
            writeln!(out, "      {name:width$}  {codes}")?;
        }
        Ok(())
    }
}

/// The first items, and how many more there are.
fn shown<T>(
    out: &mut Formatter<'_>,
    items: &[T],
    mut show: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for item in items.iter().take(SHOWN) {
        show(out, item)?;
    }
    match items.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more (all in the report as JSON)", number(more as u64)),
    }
}
