//! A task that is counted, in parts or all together.

use std::path::PathBuf;

use consequence_pipeline::parts::Outline;
use consequence_pipeline::{Error, ModelInput, Out, RecordInputs, Report, RuleInput, Watch};
use consequence_record::Split;
use consequence_rules::UnknownCodes;
use consequence_tally::{Rounds, State, Wanted};
use serde::{Deserialize, Serialize};

use crate::audit::AuditTask;
use crate::describe::DescribeTask;
use crate::enforce::{EnforceTask, Repairs};
use crate::evaluate::EvaluateTask;
use crate::mine::{MineTask, SearchOptions};

/// Texts of rules, each with what messages call it.
pub type RuleTexts = Vec<(String, String)>;

/// The texts of rules that are in files or in memory.
pub fn rule_texts(rules: &[RuleInput]) -> Result<RuleTexts, Error> {
    let read = |rules: &RuleInput| rules.read().map(|(name, text)| (name, text.to_string()));
    rules.iter().map(read).collect()
}

/// A task over records in many places: what to find out, by which rules. Nothing of it is on one machine alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Work {
    /// What a cohort looks like.
    Describe {
        /// Codes and tests that are told.
        top: usize,
        /// Only records of this split.
        split: Option<String>,
        /// What fewer patients than this have is not told.
        hide_below: u64,
    },
    /// How well a cohort obeys rules.
    Audit {
        /// The rules.
        rules: RuleTexts,
        /// Whether codes that only the rules name are never present, rather than mistakes.
        allow_unknown: bool,
        /// Whether to leave out the rules that the cohort brings along.
        no_own_rules: bool,
        /// Rules listed in the text.
        top: usize,
        /// Only records of this split.
        split: Option<String>,
        /// Rules that fewer records break are counted, and nothing else is told of them.
        hide_below: u64,
        /// Whether the referee judges every record again.
        referee: bool,
    },
    /// The rules that a cohort shows.
    Mine {
        /// Whether to look for ages and days.
        ages_and_days: bool,
        /// What counts as enough evidence.
        search: SearchOptions,
    },
    /// How close a generated cohort, the second outline, comes to a real one, the first.
    Evaluate {
        /// Rules that the generated records are audited by.
        rules: RuleTexts,
        /// Names of groups.
        groups: RuleTexts,
        /// The groups to compare.
        strata: Vec<String>,
        /// Whether codes that only the rules name are never present, rather than mistakes.
        allow_unknown: bool,
        /// Whether to leave out the rules that the real cohort brings along.
        no_own_rules: bool,
        /// The folder for a report to read, where counts are added up; with it, utility and privacy are measured too.
        out: Option<PathBuf>,
        /// Whether a report that is there is replaced.
        force: bool,
    },
    /// What a repair does to a cohort.
    Enforce {
        /// The rules.
        rules: RuleTexts,
        /// Whether codes that only the rules name are never present, rather than mistakes.
        allow_unknown: bool,
        /// Whether to leave out the rules that the cohort brings along.
        no_own_rules: bool,
        /// Whether soft rules draw their outputs anew.
        soft: bool,
        /// What draws depend on.
        seed: u64,
        /// The folder of a model that choices go by; it must be there on every machine.
        model: Option<PathBuf>,
        /// The [digest](consequence_model::Model::digest_at) of that model: any other is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_digest: Option<String>,
    },
}

/// The report of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct PartReport {
    /// For programs.
    pub json: String,
    /// For people.
    pub text: String,
    /// Whether something was found.
    pub found: bool,
    /// What looked odd.
    pub warnings: Vec<String>,
    /// The rules that were mined, as the text of a rule file.
    pub rules: Option<String>,
}

impl PartReport {
    fn of<R: Report>(report: &R) -> Result<Self, Error> {
        Ok(Self {
            json: report.json()?,
            text: report.to_string(),
            found: report.found(),
            warnings: report.warnings().to_vec(),
            rules: None,
        })
    }
}

/// What came of counts that were added up.
#[derive(Debug)]
pub enum Merged {
    /// Records are to be counted again.
    Wanted {
        /// The sum, to be known to all from now on; none where there was nothing to add up.
        sum: Option<State>,
        /// What is to be counted.
        wanted: Wanted,
    },
    /// All is counted.
    Finished {
        /// The sum of the last round; none where there was nothing to add up.
        sum: Option<State>,
        /// What was found.
        report: Box<PartReport>,
    },
}

impl Work {
    /// The name of the verb.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Describe { .. } => "describe",
            Self::Audit { .. } => "audit",
            Self::Mine { .. } => "mine",
            Self::Evaluate { .. } => "evaluate",
            Self::Enforce { .. } => "enforce",
        }
    }

    /// Does the task with what is known and what is at hand, and ends where there is more to count. Repaired records
    /// are handed on.
    pub(super) fn report(
        &self,
        outlines: &[Outline],
        rounds: &mut Rounds<'_>,
        repairs: &mut Repairs<'_>,
        watch: &dyn Watch,
    ) -> Result<PartReport, Error> {
        let outline = first(outlines)?;
        match self {
            Self::Describe { top, split, hide_below } => {
                let task = DescribeTask {
                    top: *top,
                    split: named(split)?,
                    hide_below: *hide_below,
                    ..DescribeTask::new(outline.name.as_str())
                };
                PartReport::of(&task.counted(outline, rounds, watch)?)
            }
            Self::Audit { rules, allow_unknown, no_own_rules, top, split, hide_below, referee } => {
                let task = AuditTask {
                    top: *top,
                    split: named(split)?,
                    hide_below: *hide_below,
                    referee: *referee,
                    ..AuditTask::new(inputs(outline, rules, *allow_unknown, *no_own_rules))
                };
                PartReport::of(&task.counted(outline, rounds, watch)?)
            }
            Self::Mine { ages_and_days, search } => {
                let (ages_and_days, search) = (*ages_and_days, *search);
                let task = MineTask {
                    ages_and_days,
                    search,
                    ..MineTask::in_memory(outline.name.as_str())
                };
                let report = task.counted(outline, rounds, watch)?;
                Ok(PartReport { rules: Some(report.text.clone()), ..PartReport::of(&report)? })
            }
            Self::Evaluate { rules, groups, strata, allow_unknown, no_own_rules, out, force } => {
                let Some(synthetic) = outlines.get(1) else { return Err(one_missing()) };
                let task = EvaluateTask {
                    rules: texts(rules),
                    groups: texts(groups),
                    strata: strata.clone(),
                    unknown_codes: unknown(*allow_unknown),
                    no_own_rules: *no_own_rules,
                    out: out.as_ref().map(|path| Out::new(path).replacing(*force)),
                    ..EvaluateTask::new(outline.name.as_str(), synthetic.name.as_str())
                };
                PartReport::of(&task.counted((outline, synthetic), rounds, watch)?)
            }
            Self::Enforce { .. } => {
                PartReport::of(&self.enforce(outline).repair(outline, rounds, repairs, watch)?)
            }
        }
    }

    fn enforce(&self, outline: &Outline) -> EnforceTask {
        let Self::Enforce { rules, allow_unknown, no_own_rules, soft, seed, model, model_digest } =
            self
        else {
            return EnforceTask::in_memory(RecordInputs::new(outline.name.as_str()));
        };
        let model = model.clone().map(|folder| match model_digest.clone() {
            Some(digest) => ModelInput::Same { folder, digest },
            None => ModelInput::Path(folder),
        });
        EnforceTask {
            soft: *soft,
            seed: *seed,
            model,
            ..EnforceTask::in_memory(inputs(outline, rules, *allow_unknown, *no_own_rules))
        }
    }
}

pub(super) fn first(outlines: &[Outline]) -> Result<&Outline, Error> {
    outlines.first().ok_or_else(one_missing)
}

fn one_missing() -> Error {
    Error::refused("it is not said what is known of the cohort", "give the outline of each cohort")
}

fn named(split: &Option<String>) -> Result<Option<Split>, Error> {
    let unknown = |_| Error::refused("there is no such split", "give train, tuning or held_out");
    split.as_deref().map(|name| name.parse().map_err(unknown)).transpose()
}

fn texts(rules: &RuleTexts) -> Vec<RuleInput> {
    rules.iter().map(|(name, text)| RuleInput::text(name, text.as_str())).collect()
}

fn unknown(allowed: bool) -> UnknownCodes {
    if allowed { UnknownCodes::Absent } else { UnknownCodes::Refuse }
}

fn inputs(
    outline: &Outline,
    rules: &RuleTexts,
    allow_unknown: bool,
    no_own_rules: bool,
) -> RecordInputs {
    RecordInputs {
        rules: texts(rules),
        unknown_codes: unknown(allow_unknown),
        no_own_rules,
        ..RecordInputs::new(outline.name.as_str())
    }
}
