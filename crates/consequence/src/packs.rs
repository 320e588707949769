//! Rules from expert tables, as a file to read and to check.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_packs::{ExpertTable, Limit, Pack, PackError, PackLimits, PackOptions};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CodeSource, Error, Out, Report, Task, Watch, load, watched};
use consequence_record::{Kind, Vocabulary};
use serde::Serialize;

pub use consequence_packs::{CodeList, Level, Over};

/// The expert tables that rules are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RuleTable {
    /// The simple code edits of the CMS Medicare Code Editor: sexes and ages.
    #[default]
    Mce,
    /// The concept level checks of the OHDSI Data Quality Dashboard: sexes.
    Dqd,
    /// A phecode map: sexes.
    Phecode(Over),
    /// HCUP chronic condition indicators: what stays.
    Cci,
}

/// Which table, for which codes, and where the rules go.
///
/// ```
/// use consequence::packs::RulesFromTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [file, out] = ["edits.txt", "sex.rules"].map(|name| folder.path().join(name));
/// std::fs::write(
///     &file,
///     "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
///      32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n",
/// )?;
/// assert_eq!(RulesFromTask::new(file, &out).run(&Unwatched)?.rules, 1);
/// assert!(std::fs::read_to_string(out)?.contains("SEX//F in static => not ICD9CM//185\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RulesFromTask {
    /// What the table is.
    pub table: RuleTable,
    /// The table's file, plain or gzip.
    pub file: PathBuf,
    /// The rule file to write.
    pub out: Out,
    /// Only codes of this cohort, as it spells them.
    pub cohort: Option<PathBuf>,
    /// Only codes of this vocabulary file, as it spells them.
    pub vocabulary: Option<PathBuf>,
    /// Single codes or categories.
    pub level: Level,
    /// A list of all codes, for categories of tables that list only some.
    pub codes: Option<PathBuf>,
    /// What stands before diagnoses, phecodes and concepts.
    pub prefix: Option<String>,
    /// What stands before procedures.
    pub procedure_prefix: Option<String>,
    /// The static codes that mean female.
    pub female: Vec<String>,
    /// The static codes that mean male.
    pub male: Vec<String>,
    /// What stands before age bands.
    pub ages: String,
    /// Years that a record may go on after its age band was taken.
    pub years: u16,
    /// How likely a chronic condition is coded again in the next visit.
    pub stays: f64,
}

impl RulesFromTask {
    /// Rules of a table of the Medicare Code Editor, for single codes.
    pub fn new(file: impl Into<PathBuf>, out: impl Into<Out>) -> Self {
        let PackOptions { level, female, male, ages, years, stays, .. } = PackOptions::default();
        Self {
            table: RuleTable::default(),
            file: file.into(),
            out: out.into(),
            cohort: None,
            vocabulary: None,
            level,
            codes: None,
            prefix: None,
            procedure_prefix: None,
            female,
            male,
            ages: ages.to_owned(),
            years,
            stays,
        }
    }
}

/// What became of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RulesFromReport {
    /// What the table is, and its version.
    pub about: String,
    /// Its file, as the user named it.
    pub file: String,
    /// The rule file that was written.
    pub out: String,
    /// Entries of the table that limit a code.
    pub entries: usize,
    /// Limits that all codes of a category share; none where the rules are for single codes.
    pub categories: Option<usize>,
    /// Where the codes come from that the rules were restricted to; none: not restricted.
    pub codes: Option<CodeSource>,
    /// Limits left out because those codes lack theirs.
    pub unknown: usize,
    /// Limits of age left out because no age bands are known.
    pub without_ages: usize,
    /// Limits of age left out because no age band lies outside them.
    pub within_bands: usize,
    /// Limits that the table states again.
    pub repeated: usize,
    /// Rules written.
    pub rules: usize,
    /// How many of each limit.
    pub kinds: Vec<LimitCount>,
}

/// How many rules state a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitCount {
    /// The limit in words.
    pub limit: String,
    /// The rules.
    pub rules: usize,
}

impl Task for RulesFromTask {
    type Report = RulesFromReport;

    /// Makes rules of an expert table and writes them.
    fn run(&self, watch: &dyn Watch) -> Result<RulesFromReport, Error> {
        let out = self.out.file()?;
        let table = expert_table(self)?;
        let list = self.codes.as_deref().map(code_list).transpose()?;
        let (vocabulary, source) = match (&self.vocabulary, &self.cohort) {
            (Some(path), _) => {
                let source = CodeSource::Vocabulary(path.display().to_string());
                (Some(load::vocabulary_file(path)?), Some(source))
            }
            (None, Some(path)) => {
                let source = CodeSource::Cohort(path.display().to_string());
                (Some(load::cohort(path, None, watch)?.vocabulary), Some(source))
            }
            (None, None) => (None, None),
        };
        let pack_options = PackOptions {
            level: self.level,
            vocabulary: vocabulary.as_deref(),
            codes: list.as_ref(),
            prefix: self.prefix.as_deref(),
            procedure_prefix: self.procedure_prefix.as_deref(),
            female: self.female.clone(),
            male: self.male.clone(),
            ages: &self.ages,
            years: self.years,
            stays: self.stays,
        };
        let pack =
            watched(watch, "making rules", None, || table.pack(&pack_options)).map_err(refused)?;
        if pack.rules.is_empty() {
            return Err(no_rules(self, &table, &pack, vocabulary.as_ref()));
        }
        out.write(|file| file.write_all(pack.text().as_bytes()))?;
        Ok(report(self, &table, &pack, source))
    }
}

impl Report for RulesFromReport {}

/// Reads a list of codes with titles, plain or gzip.
pub(crate) fn code_list(path: &Path) -> Result<CodeList, Error> {
    let name = path.display().to_string();
    CodeList::read(&name, open(path)?, &PackLimits::default()).map_err(refused)
}

fn expert_table(task: &RulesFromTask) -> Result<ExpertTable, Error> {
    let (file, limits) = (open(&task.file)?, PackLimits::default());
    let name = task.file.display().to_string();
    let table = match task.table {
        RuleTable::Mce => ExpertTable::read_mce(&name, file, &limits),
        RuleTable::Dqd => ExpertTable::read_dqd(&name, file, &limits),
        RuleTable::Phecode(over) => ExpertTable::read_phecodes(&name, file, over, &limits),
        RuleTable::Cci => ExpertTable::read_cci(&name, file, &limits),
    };
    table.map_err(refused)
}

fn open(path: &Path) -> Result<File, Error> {
    let refused = |what: String, help| Error::refused_at(path, what, help);
    if path.is_dir() {
        let help = "name the file of the table inside it";
        return Err(refused("the table is a folder".into(), help));
    }
    File::open(path).map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::NotFound => {
                "check the name; the path is relative to the current directory"
            }
            _ => "check that this is a file you may read",
        };
        refused(format!("cannot read the table: {error}"), help)
    })
}

/// Why a table that could be read gave no rule.
fn no_rules(
    task: &RulesFromTask,
    table: &ExpertTable,
    pack: &Pack,
    vocabulary: Option<&Arc<Vocabulary>>,
) -> Error {
    let refused = |what: String, help| Error::refused_at(&task.file, what, help);
    let Some(first) = table.entries().first() else {
        let what = "the table limits no code, so there is nothing to make a rule of";
        return refused(what.into(), "check that this is the whole table");
    };
    if pack.limits == 0 {
        let what = "no category has a limit that all codes below it share";
        return refused(what.into(), "make rules for single codes: {level=codes}");
    }
    match vocabulary {
        Some(vocabulary) if pack.unknown == pack.limits => {
            let prefix = task.prefix.as_deref().unwrap_or(first.system.prefix());
            let what = format!(
                "none of the {} limits of the table is about a known code; they are looked for as `{prefix}{}`, \
                 and the known codes are such as {}",
                number(pack.limits as u64),
                first.code,
                examples(vocabulary)
            );
            let help = "say with {prefix} what stands before the codes, and with {level} whether \
                        they are whole codes or categories; or leave out {cohort} and {vocabulary}";
            refused(what, help)
        }
        _ if pack.within_bands > 0 => {
            let what = "the table limits ages only, and no age band lies outside them";
            refused(what.into(), "give a cohort or a vocabulary with narrower age bands")
        }
        _ => {
            let what = "the table limits ages only, and no age bands are known";
            let help = "give {cohort} or {vocabulary} with age bands, and {ages} for what stands \
                        before them";
            refused(what.into(), help)
        }
    }
}

/// One code for each of the most common beginnings.
fn examples(vocabulary: &Vocabulary) -> String {
    const SHOWN: usize = 3;
    let mut beginnings: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for code in vocabulary.codes() {
        if vocabulary.kind(code) == Kind::Encounter && code != vocabulary.end() {
            let name = vocabulary.name(code);
            let beginning = name.split_once("//").map_or("", |(beginning, _)| beginning);
            beginnings.entry(beginning).or_insert((0, name)).0 += 1;
        }
    }
    let mut beginnings: Vec<(usize, &str)> = beginnings.into_values().collect();
    beginnings.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
    let shown: Vec<String> = beginnings
        .iter()
        .take(SHOWN)
        .map(|(_, name)| format!("`{}`", name.chars().take(60).collect::<String>().escape_debug()))
        .collect();
    if shown.is_empty() { "none at all".to_owned() } else { shown.join(", ") }
}

fn report(
    task: &RulesFromTask,
    table: &ExpertTable,
    pack: &Pack,
    codes: Option<CodeSource>,
) -> RulesFromReport {
    let mut kinds: BTreeMap<Limit, usize> = BTreeMap::new();
    for rule in &pack.rules {
        *kinds.entry(rule.limit).or_default() += 1;
    }
    let kinds =
        kinds.into_iter().map(|(limit, rules)| LimitCount { limit: limit.to_string(), rules });
    RulesFromReport {
        about: pack.about.clone(),
        file: pack.file.clone(),
        out: task.out.shown(),
        entries: table.entries().len(),
        categories: (task.level == Level::Categories).then_some(pack.limits),
        codes,
        unknown: pack.unknown,
        without_ages: pack.without_ages,
        within_bands: pack.within_bands,
        repeated: pack.limits.saturating_sub(
            pack.unknown + pack.without_ages + pack.within_bands + pack.rules.len(),
        ),
        rules: pack.rules.len(),
        kinds: kinds.collect(),
    }
}

/// The error of a table, with the settings that could help.
fn refused(error: PackError) -> Error {
    let help = match error {
        PackError::NoCodeList { .. } | PackError::OtherSystem { .. } => {
            "the list goes with {codes}; {level=codes} makes rules for single codes"
        }
        PackError::NoCategories { .. } => "leave out {level}, or give {level=codes}",
        PackError::NoSex { .. } => "name the codes with {female} and {male}",
        PackError::Probability(_) => "give {stays} a number such as 0.9",
        PackError::MissingColumn { .. } => {
            "check that the kind of table before the name of the file is the right one"
        }
        _ => "check the file, or fetch it again",
    };
    Error::refused(error.to_string(), help)
}

impl Display for RulesFromReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}: {} from {} ({})",
            self.out,
            count(self.rules as u64, "rule"),
            self.file,
            self.about
        )?;
        for kind in &self.kinds {
            writeln!(out, "  {:>6}  {}", number(kind.rules as u64), kind.limit)?;
        }
        writeln!(out, "\nthe table has {} on codes", count(self.entries as u64, "limit"))?;
        if let Some(shared) = self.categories {
            let shared = count(shared as u64, "limit");
            writeln!(out, "  {shared} shared by all codes of a category")?;
        }
        if let Some(source) = &self.codes {
            let file = match source {
                CodeSource::Cohort(file)
                | CodeSource::Vocabulary(file)
                | CodeSource::Model(file) => file,
                CodeSource::Rules => "the rules",
            };
            writeln!(out, "  {} left out: {file} has no such code", number(self.unknown as u64))?;
        }
        if self.without_ages > 0 {
            let left_out = number(self.without_ages as u64);
            writeln!(out, "  {left_out} left out: they limit ages, and no age bands are known")?;
        }
        if self.within_bands > 0 {
            let left_out = number(self.within_bands as u64);
            writeln!(
                out,
                "  {left_out} left out: no age band lies outside the ages that they allow"
            )?;
        }
        if self.repeated > 0 {
            writeln!(out, "  {} stated more than once", number(self.repeated as u64))?;
        }
        Ok(())
    }
}
