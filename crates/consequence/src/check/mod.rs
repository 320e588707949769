//! What a rule set says, and the proof that it can always be kept.

mod explain;
mod pass;
mod report;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use consequence_rules::{
    AnalysisLimits, CompileError, CompileLimits, CompileOptions, Derivation, Form, Plan, RuleSet,
    Why, WrittenRules, compile, conflicts, form, superfluous,
};

pub use explain::Explanation;
pub use report::{
    CheckReport, ConflictReport, DerivedKind, DerivedRule, FormCount, NamedVisits, OnePass,
    RuleCounts, SharedOutput, SoftRule, SuperfluousRule, Verdict, WhySuperfluous,
};

use consequence_record::Code;

use crate::broken::BrokenRecords;
use crate::look::Titles;
use consequence_pipeline::{Error, Inputs, Opened, RuleReference, Task, Watch, watched};

/// The rules to be analysed, and how.
///
/// ```
/// use consequence::{Inputs, Task, Unwatched};
/// use consequence::check::{CheckTask, Verdict};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("clinic.rules");
/// std::fs::write(&path, "rule a: INSULIN => DIABETES\nrule b: DIABETES in previous => DIABETES")?;
/// let inputs = Inputs { rules: vec![path.into()], ..Inputs::default() };
/// let report = CheckTask { inputs, ..CheckTask::default() }.run(&Unwatched)?;
/// assert!(matches!(report.verdict, Verdict::Proved { .. }));
/// assert!(report.to_string().contains("proved: no input can end in a violation"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CheckTask {
    /// The rules, and where their codes come from.
    pub inputs: Inputs,
    /// The most encounters a record may have. Without it 100, or the length of the cohort's
    /// longest record if that is more.
    pub max_visits: Option<u16>,
    /// A rule to explain, by name.
    pub explain: Option<String>,
    /// How far the analysis looks.
    pub analysis: AnalysisLimits,
    /// Lists of codes with titles, for codes that the cohort gives none.
    pub titles: Vec<PathBuf>,
}

impl Task for CheckTask {
    type Report = CheckReport;

    /// Analyses the rules and proves that whoever follows them never ends in a violation.
    fn run(&self, watch: &dyn Watch) -> Result<CheckReport, Error> {
        let Opened { rules: loaded, cohort, codes } = self.inputs.open(watch)?;
        let set = &loaded.rules;
        let longest = cohort.as_ref().map_or(0, |loaded| loaded.cohort.longest());
        let max_visits =
            self.max_visits.unwrap_or_else(|| u16::try_from(longest.max(100)).unwrap_or(u16::MAX));
        let broken = match &cohort {
            Some(loaded) if !set.is_empty() => {
                let find = || BrokenRecords::find(set, loaded.records());
                Some(watched(watch, "auditing", None, find)?)
            }
            _ => None,
        };
        let limits = CompileLimits::default();
        let failed = |error| Error::compile(set, error);
        let written = WrittenRules::new(Arc::clone(set), &limits).map_err(failed)?;
        let compile_options = CompileOptions { max_visits, limits, ..CompileOptions::default() };
        let compiled = watched(watch, "compiling and proving", None, || {
            compile(Arc::clone(set), &compile_options)
        });
        let (plan, verdict) = match compiled {
            Ok(plan) => {
                let verdict = proved(&plan);
                (Some(plan), verdict)
            }
            Err(CompileError::Unsatisfiable { rules, cut_obeys, .. }) => {
                let core = rules.iter().map(|&rule| RuleReference::new(&set[rule])).collect();
                (None, Verdict::Impossible { core, cut_obeys })
            }
            Err(error) => return Err(failed(error)),
        };
        let plan = plan.as_ref();
        let explanation = match &self.explain {
            Some(name) => Some(explain::explain(name, &written, plan)?),
            None => None,
        };
        let analysis = &self.analysis;
        let found = watched(watch, "looking for conflicts", None, || {
            conflicts(&written, max_visits.into(), analysis)
        });
        let (unneeded, compared_all) =
            watched(watch, "looking for superfluous rules", None, || {
                superfluous(&written, analysis)
            });
        let one_pass = watched(watch, "trying one ordered pass", None, || {
            pass::one_pass(&written, max_visits.into(), limits.rule_literals)
        });
        let mut named: BTreeSet<Code> = BTreeSet::new();
        for conflict in &found.found {
            named.insert(conflict.code);
            named.extend(conflict.witness.visits.iter().flatten());
        }
        named.extend(plan.map_or(&[][..], |plan| plan.cycles()).iter().flatten());
        if let Some(asked) = &self.explain {
            let of_rule = written.clauses().filter(|one| *set[one.rule as usize].name == **asked);
            let literals = of_rule.flat_map(|clause| clause.literals.iter().copied());
            for literal in literals.filter_map(|literal| written.decode(literal)) {
                literal.formula().for_each_code(&mut |code, _| {
                    named.insert(code);
                });
            }
        }
        let titles = match &cohort {
            Some(loaded) => Titles::new(set.vocabulary(), &loaded.titles, &self.titles)?,
            None if self.titles.is_empty() => Titles::default(),
            None => Titles::new(set.vocabulary(), &BTreeMap::new(), &self.titles)?,
        };
        let reference = |rule: usize| RuleReference::new(&set[rule]);
        let name = |code| set.vocabulary().name(code).to_owned();
        Ok(CheckReport {
            files: loaded.files.clone(),
            rules: counts(set),
            forms: forms(&written),
            codes,
            broken,
            max_visits,
            verdict,
            conflicts: found
                .found
                .iter()
                .map(|conflict| ConflictReport {
                    demands: reference(conflict.demands),
                    forbids: reference(conflict.forbids),
                    code: name(conflict.code),
                    witness: NamedVisits::of_record(set.vocabulary(), &conflict.witness),
                })
                .collect(),
            pairs_not_examined: found.unexamined,
            cycles: plan
                .map_or(&[][..], |plan| plan.cycles())
                .iter()
                .map(|cycle| cycle.iter().copied().map(name).collect())
                .collect(),
            superfluous: unneeded
                .into_iter()
                .map(|one| SuperfluousRule {
                    rule: reference(one.rule),
                    why: match one.why {
                        Why::AlwaysTrue => WhySuperfluous::AlwaysTrue,
                        Why::NeverFires => WhySuperfluous::NeverFires,
                        Why::Implied(by) => WhySuperfluous::ImpliedBy(
                            by.into_iter().map(|rule| set[rule].name.to_string()).collect(),
                        ),
                    },
                })
                .collect(),
            all_rules_compared: compared_all,
            derived: plan.map_or_else(Vec::new, |plan| explain::derived(plan, |_| true)),
            one_pass,
            soft: soft(set),
            shared_outputs: shared_outputs(set),
            warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
            explanation,
            titles: (named.into_iter())
                .filter_map(|code| Some((name(code), titles.of(code)?.to_owned())))
                .collect(),
        })
    }
}

fn proved(plan: &Plan) -> Verdict {
    let proof = plan.proof();
    // That the last position ends a record comes from no rule.
    let clauses = || plan.clauses().filter(|clause| !clause.rules.is_empty());
    let derived = clauses().filter(|clause| clause.derivation != Derivation::Written).count();
    Verdict::Proved {
        stages: proof.stages,
        statements: proof.goals,
        clauses: clauses().count(),
        derived_clauses: derived,
        diagram_nodes: plan.diagram().map_or(0, |diagram| diagram.len()),
    }
}

fn counts(set: &RuleSet) -> RuleCounts {
    let count = |wanted: &dyn Fn(&consequence_rules::Rule) -> bool| {
        set.iter().filter(|rule| wanted(rule)).count()
    };
    let temporal = count(&|rule| rule.is_temporal());
    let hard = count(&|rule| rule.is_hard());
    let total = set.len();
    RuleCounts { total, hard, soft: total - hard, within_a_visit: total - temporal, temporal }
}

fn forms(written: &WrittenRules) -> Vec<FormCount> {
    let found = form(written);
    Form::ALL
        .into_iter()
        .map(|form| FormCount {
            form: form.name(),
            rules: found.iter().filter(|&&other| other == form).count(),
        })
        .filter(|count| count.rules > 0)
        .collect()
}

fn soft(set: &RuleSet) -> Vec<SoftRule> {
    let soft =
        |rule| Some(SoftRule { rule: RuleReference::new(rule), probability: rule.probability()? });
    set.iter().filter_map(soft).collect()
}

/// Codes that several soft rules draw: the later rule wins where both fire.
fn shared_outputs(set: &RuleSet) -> Vec<SharedOutput> {
    let mut found: Vec<SharedOutput> = Vec::new();
    for (_, rule) in set.soft() {
        for code in rule.outputs() {
            let code = set.vocabulary().name(code);
            match found.iter_mut().find(|output| output.code == code) {
                Some(output) => output.rules.push(rule.name.to_string()),
                None => found.push(SharedOutput {
                    code: code.to_owned(),
                    rules: vec![rule.name.to_string()],
                }),
            }
        }
    }
    found.retain(|output| output.rules.len() > 1);
    found
}
