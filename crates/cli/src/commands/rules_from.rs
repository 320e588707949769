//! `consequence rules from`: one subcommand a table or a definition, each with the options that mean something.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use consequence::packs::{self, NameSource, NamesFromTask, RuleTable, RulesFromTask};
use consequence::{Error, Out};

use super::Outcome;

#[derive(Debug, Subcommand)]
pub enum FromCommand {
    /// The CMS Medicare Code Editor: diagnoses and procedures of one sex, diagnoses of some ages
    #[command(after_help = "Example:\n  consequence rules from mce MCE_Simple_Code_Edits_v32.txt \
                            --cohort cohort --out sex-and-age.rules")]
    Mce(MceArguments),
    /// The OHDSI Data Quality Dashboard, concept level: concepts of one sex
    #[command(after_help = "Example:\n  consequence rules from dqd \
                            OMOP_CDMv5.4_Concept_Level.csv --cohort cohort --out sex.rules")]
    Dqd(DqdArguments),
    /// A phecode map, version 1.2: codes or phecodes of one sex
    #[command(after_help = "Example:\n  consequence rules from phecode \
                            phecode_map_v1_2_icd9.csv.gz --level categories --out sex.rules")]
    Phecode(PhecodeArguments),
    /// HCUP chronic condition indicators: soft rules that what is chronic stays
    #[command(after_help = "Example:\n  consequence rules from cci cci2015.csv.gz --cohort \
                            cohort --out chronic.rules")]
    Cci(CciArguments),
    /// The tabular list of ICD-10-CM: codes that exclude each other or need another one first, and
    /// whose records they are for
    #[command(after_help = "Example:\n  consequence rules from icd10 \
                            icd10cm-tabular-2026.xml --cohort cohort --out visits.rules")]
    Icd10(Icd10Arguments),
    /// Predicates of an ACES task configuration, as names for rules
    #[command(after_help = "Example:\n  consequence rules from aces mortality.yaml --out \
                            mortality.rules")]
    Aces(AcesArguments),
    /// An OHDSI cohort definition (Circe JSON): concept sets, inclusion rules and the cohort, as
    /// names for rules
    #[command(after_help = "Example:\n  consequence rules from circe diabetes.json --concepts \
                            CONCEPT.csv --ancestors CONCEPT_ANCESTOR.csv --cohort cohort \
                            --out diabetes.rules")]
    Circe(CirceArguments),
}

#[derive(Debug, Args)]
pub struct MceArguments {
    #[command(flatten)]
    shared: TableArguments,
    #[command(flatten)]
    level: LevelArguments,
    #[command(flatten)]
    sexes: SexArguments,
    /// A list of all codes, which categories need
    #[arg(long, visible_alias = "titles", value_name = "FILE")]
    codes: Option<PathBuf>,
    /// What stands before procedures [default: as for the codes, or else ICD9PROC// or ICD10PCS//]
    #[arg(long, value_name = "TEXT")]
    procedure_prefix: Option<String>,
    #[command(flatten)]
    ages: AgeArguments,
}

#[derive(Debug, Args)]
pub struct DqdArguments {
    #[command(flatten)]
    shared: TableArguments,
    #[command(flatten)]
    sexes: SexArguments,
    /// The table CONCEPT_ANCESTOR of OMOP: limits on a concept hold for those below it
    #[arg(long, value_name = "FILE")]
    ancestors: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PhecodeArguments {
    #[command(flatten)]
    shared: TableArguments,
    #[command(flatten)]
    level: LevelArguments,
    #[command(flatten)]
    sexes: SexArguments,
    /// What the rules are about: the ICD codes of the map, or the phecodes
    #[arg(long, value_name = "CODES", default_value = "icd")]
    over: Over,
}

#[derive(Debug, Args)]
pub struct CciArguments {
    #[command(flatten)]
    shared: TableArguments,
    #[command(flatten)]
    level: LevelArguments,
    /// How likely a chronic condition is coded again in the next visit [default: as often as the
    /// train split of the cohort shows, or 0.9]
    #[arg(long, value_name = "PROBABILITY")]
    stays: Option<f64>,
}

#[derive(Debug, Args)]
pub struct Icd10Arguments {
    #[command(flatten)]
    shared: TableArguments,
    #[command(flatten)]
    sexes: SexArguments,
    #[command(flatten)]
    ages: AgeArguments,
    /// How likely a code is absent from a visit that lacks all codes to put before it [default: as
    /// often as the train split of the cohort shows; without a cohort there are no such rules]
    #[arg(long, value_name = "PROBABILITY")]
    code_first: Option<f64>,
}

#[derive(Debug, Args)]
pub struct AcesArguments {
    #[command(flatten)]
    shared: DefinitionArguments,
}

#[derive(Debug, Args)]
pub struct CirceArguments {
    #[command(flatten)]
    shared: DefinitionArguments,
    /// The table CONCEPT of OMOP, plain or gzip: what concepts are called
    #[arg(long, value_name = "FILE")]
    concepts: PathBuf,
    /// The table CONCEPT_ANCESTOR of OMOP: sets of concepts have those below them too
    #[arg(long, value_name = "FILE")]
    ancestors: Option<PathBuf>,
    /// Only codes of this cohort (JSON lines, or a MEDS dataset) in sets of concepts
    #[arg(long)]
    cohort: Option<PathBuf>,
    /// Only codes of this file in sets of concepts: {"static": [...], "encounter": [...]}
    #[arg(long, conflicts_with = "cohort")]
    vocabulary: Option<PathBuf>,
}

/// What every definition takes.
#[derive(Debug, Args)]
struct DefinitionArguments {
    /// The definition, plain or gzip
    file: PathBuf,
    /// The rule file to write
    #[arg(long)]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

/// What every table takes.
#[derive(Debug, Args)]
struct TableArguments {
    /// The table, plain or gzip
    file: PathBuf,
    /// The rule file to write
    #[arg(long)]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Only codes of this cohort (JSON lines, or a MEDS dataset), as it spells them
    #[arg(long)]
    cohort: Option<PathBuf>,
    /// Only codes of this file: {"static": [...], "encounter": [...]}
    #[arg(long, conflicts_with = "cohort")]
    vocabulary: Option<PathBuf>,
    /// What stands before the codes [default: what stands before most of the known codes of their
    /// system, or else the system's own, such as ICD9CM//]
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct LevelArguments {
    /// Single codes, or categories of three characters whose codes all agree [default: as the
    /// known codes are, or else codes]
    #[arg(long)]
    level: Option<Level>,
}

#[derive(Debug, Args)]
struct SexArguments {
    /// A static code that means female; may be given again [default: SEX//F, or what the known
    /// codes have for it]
    #[arg(long, value_name = "CODE")]
    female: Vec<String>,
    /// A static code that means male; may be given again [default: SEX//M, or what the known codes
    /// have for it]
    #[arg(long, value_name = "CODE")]
    male: Vec<String>,
}

#[derive(Debug, Args)]
struct AgeArguments {
    /// What stands before age bands
    #[arg(long, value_name = "TEXT", default_value = "AGE//")]
    ages: String,
    /// Years that a record may go on after its age band was taken
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    years: u16,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    Codes,
    Categories,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Over {
    Icd,
    Phecodes,
}

pub fn run(command: &FromCommand) -> Result<Outcome, Error> {
    let (task, json) = match command {
        FromCommand::Mce(given) => (
            RulesFromTask {
                table: RuleTable::Mce,
                level: given.level.chosen(),
                codes: given.codes.clone(),
                procedure_prefix: given.procedure_prefix.clone(),
                female: given.sexes.female.clone(),
                male: given.sexes.male.clone(),
                ages: given.ages.ages.clone(),
                years: given.ages.years,
                ..given.shared.options()
            },
            given.shared.json,
        ),
        FromCommand::Dqd(given) => (
            RulesFromTask {
                table: RuleTable::Dqd,
                ancestors: given.ancestors.clone(),
                female: given.sexes.female.clone(),
                male: given.sexes.male.clone(),
                ..given.shared.options()
            },
            given.shared.json,
        ),
        FromCommand::Phecode(given) => (
            RulesFromTask {
                table: RuleTable::Phecode(match given.over {
                    Over::Icd => packs::Over::Icd,
                    Over::Phecodes => packs::Over::Phecodes,
                }),
                level: given.level.chosen(),
                female: given.sexes.female.clone(),
                male: given.sexes.male.clone(),
                ..given.shared.options()
            },
            given.shared.json,
        ),
        FromCommand::Cci(given) => (
            RulesFromTask {
                table: RuleTable::Cci,
                level: given.level.chosen(),
                stays: given.stays,
                ..given.shared.options()
            },
            given.shared.json,
        ),
        FromCommand::Icd10(given) => (
            RulesFromTask {
                table: RuleTable::Icd10,
                female: given.sexes.female.clone(),
                male: given.sexes.male.clone(),
                ages: given.ages.ages.clone(),
                years: given.ages.years,
                code_first: given.code_first,
                ..given.shared.options()
            },
            given.shared.json,
        ),
        FromCommand::Aces(given) => {
            return super::run(&given.shared.task(NameSource::Aces), given.shared.json);
        }
        FromCommand::Circe(given) => {
            let (concepts, ancestors) = (given.concepts.clone(), given.ancestors.clone());
            let task = NamesFromTask {
                cohort: given.cohort.as_ref().map(Into::into),
                vocabulary: given.vocabulary.clone(),
                ..given.shared.task(NameSource::Circe { concepts, ancestors })
            };
            return super::run(&task, given.shared.json);
        }
    };
    super::run(&task, json)
}

impl DefinitionArguments {
    fn task(&self, source: NameSource) -> NamesFromTask {
        NamesFromTask::new(source, &self.file, Out::new(&self.out).replacing(self.force))
    }
}

impl LevelArguments {
    fn chosen(&self) -> Option<packs::Level> {
        self.level.map(|level| match level {
            Level::Codes => packs::Level::Codes,
            Level::Categories => packs::Level::Categories,
        })
    }
}

impl TableArguments {
    /// What the arguments say, and nothing that belongs to one table alone.
    fn options(&self) -> RulesFromTask {
        RulesFromTask {
            cohort: self.cohort.as_ref().map(Into::into),
            vocabulary: self.vocabulary.clone(),
            prefix: self.prefix.clone(),
            ..RulesFromTask::new(&self.file, Out::new(&self.out).replacing(self.force))
        }
    }
}
