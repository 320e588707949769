//! Rules from expert tables, as a file to read and to check: of one table, or of a folder of them.

mod folder;
mod names;
mod report;
mod why;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use consequence_packs::{Ancestors, ExpertTable, PackError, PackLimits, PackOptions};
use consequence_pipeline::load::{self, LoadedCohort};
use consequence_pipeline::{CodeSource, CohortInput, Error, Out, Task, Watch, watched};
use consequence_record::{Selection, Split};

pub use consequence_packs::{CodeList, Level, Over, System};
pub use folder::{
    FileOutcome, FolderFile, FolderOptions, FolderPack, FolderPacks, PackCohort, from_folder,
};
pub use names::{NameMade, NameSource, NamesFromReport, NamesFromTask, PartUnsaid};
pub use report::{LimitCount, RulesFromReport, Spoken};

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
    /// The tabular list of ICD-10-CM: what excludes what, what comes first, whose records.
    Icd10,
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
    /// The rule file to write; none: the rules are in the report alone.
    pub out: Option<Out>,
    /// Only codes of this cohort, as it spells them.
    pub cohort: Option<CohortInput>,
    /// Only codes of this vocabulary file, as it spells them.
    pub vocabulary: Option<PathBuf>,
    /// Single codes or categories; none: as the cohort or vocabulary has them.
    pub level: Option<Level>,
    /// A list of all codes, for categories of tables that list only some.
    pub codes: Option<PathBuf>,
    /// Which OMOP concepts are below which: the table CONCEPT_ANCESTOR.
    pub ancestors: Option<PathBuf>,
    /// What stands before diagnoses, phecodes and concepts; none: as the cohort or vocabulary has
    /// them.
    pub prefix: Option<String>,
    /// What stands before procedures; none: the same.
    pub procedure_prefix: Option<String>,
    /// The static codes that mean female; none: `SEX//F`, or what the cohort has for it.
    pub female: Vec<String>,
    /// The static codes that mean male; none: `SEX//M`, or what the cohort has for it.
    pub male: Vec<String>,
    /// What stands before age bands.
    pub ages: String,
    /// Years that a record may go on after its age band was taken.
    pub years: u16,
    /// How likely a chronic condition is coded again in the next visit; none: as often as the
    /// train split of the cohort shows.
    pub stays: Option<f64>,
    /// How likely a code is absent from a visit that lacks all codes to put before it; none: as
    /// often as the train split of the cohort shows.
    pub code_first: Option<f64>,
}

impl RulesFromTask {
    /// Rules of a table of the Medicare Code Editor.
    pub fn new(file: impl Into<PathBuf>, out: impl Into<Out>) -> Self {
        let PackOptions { level, female, male, ages, years, stays, code_first, .. } =
            PackOptions::default();
        Self {
            table: RuleTable::default(),
            file: file.into(),
            out: Some(out.into()),
            cohort: None,
            vocabulary: None,
            level,
            codes: None,
            ancestors: None,
            prefix: None,
            procedure_prefix: None,
            female,
            male,
            ages: ages.to_owned(),
            years,
            stays,
            code_first,
        }
    }
}

impl Task for RulesFromTask {
    type Report = RulesFromReport;

    /// Makes rules of an expert table and writes them.
    fn run(&self, watch: &dyn Watch) -> Result<RulesFromReport, Error> {
        let out = self.out.as_ref().map(Out::file).transpose()?;
        let table = expert_table(&self.file, self.table)?;
        let list = self.codes.as_deref().map(code_list).transpose()?;
        let mut cohort: Option<LoadedCohort> = None;
        let (vocabulary, source) = match (&self.vocabulary, &self.cohort) {
            (Some(path), _) => {
                let source = CodeSource::Vocabulary(path.display().to_string());
                (Some(load::vocabulary_file(path)?), Some(source))
            }
            (None, Some(input)) => {
                let source = CodeSource::Cohort(input.shown());
                let loaded = cohort.insert(load::cohort(input, None, watch)?);
                (Some(loaded.vocabulary.clone()), Some(source))
            }
            (None, None) => (None, None),
        };
        let concepts = cohort.as_ref().map(|cohort| &cohort.concepts);
        let ancestors = match &self.ancestors {
            Some(path) => {
                let known =
                    concepts.map(|concepts| concepts.values().map(|known| known.id).collect());
                Some(watched(watch, "reading what is below", None, || {
                    ancestors(path, &table.ancestors(), known.as_ref())
                })?)
            }
            None => None,
        };
        let train = cohort.as_ref().map(|cohort| Split::Train.indices(&cohort.splits));
        let records = cohort.as_ref().zip(train.as_ref());
        let pack_options = PackOptions {
            level: self.level,
            vocabulary: vocabulary.as_deref(),
            records: records.map(|(cohort, train)| Selection::new(&cohort.cohort, train)),
            concepts,
            ancestors: ancestors.as_ref(),
            codes: list.as_ref(),
            prefix: self.prefix.as_deref(),
            procedure_prefix: self.procedure_prefix.as_deref(),
            female: self.female.clone(),
            male: self.male.clone(),
            ages: &self.ages,
            years: self.years,
            stays: self.stays,
            code_first: self.code_first,
        };
        let pack =
            watched(watch, "making rules", None, || table.pack(&pack_options)).map_err(refused)?;
        if pack.rules.is_empty() {
            let (what, help) = why::no_rules(&table, &pack, vocabulary.as_deref());
            return Err(Error::refused_at(&self.file, what, help));
        }
        let report = RulesFromReport::new(&table, &pack, self.out.as_ref().map(Out::shown), source);
        if let Some(out) = out {
            out.write(|file| file.write_all(report.text.as_bytes()))?;
        }
        Ok(report)
    }
}

/// Reads a list of codes with titles, plain or gzip.
fn code_list(path: &Path) -> Result<CodeList, Error> {
    let name = path.display().to_string();
    CodeList::read(&name, open(path)?, &PackLimits::default()).map_err(refused)
}

/// The same; none where the file is a table of another kind.
pub(crate) fn known_code_list(path: &Path) -> Result<Option<CodeList>, Error> {
    let name = path.display().to_string();
    match CodeList::read(&name, open(path)?, &PackLimits::default()) {
        Err(PackError::MissingColumn { .. }) => Ok(None),
        list => list.map(Some).map_err(refused),
    }
}

/// Reads an expert table, plain or gzip.
fn expert_table(path: &Path, kind: RuleTable) -> Result<ExpertTable, Error> {
    let (file, limits) = (open(path)?, PackLimits::default());
    let name = path.display().to_string();
    let table = match kind {
        RuleTable::Mce => ExpertTable::read_mce(&name, file, &limits),
        RuleTable::Dqd => ExpertTable::read_dqd(&name, file, &limits),
        RuleTable::Phecode(over) => ExpertTable::read_phecodes(&name, file, over, &limits),
        RuleTable::Cci => ExpertTable::read_cci(&name, file, &limits),
        RuleTable::Icd10 => ExpertTable::read_icd10(&name, file, &limits),
    };
    table.map_err(refused)
}

/// Reads which concepts are below some.
fn ancestors(
    path: &Path,
    wanted: &BTreeSet<u64>,
    known: Option<&BTreeSet<u64>>,
) -> Result<Ancestors, Error> {
    let name = path.display().to_string();
    let limits = PackLimits::default();
    // Concepts that stand in a cohort by number have no list to be looked up in.
    let known = known.filter(|known| !known.is_empty());
    Ancestors::read(&name, open(path)?, wanted, known, &limits).map_err(refused)
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

/// The error of a table, with the settings that could help.
fn refused(error: PackError) -> Error {
    let help = match error {
        PackError::NoCodeList { .. } | PackError::OtherSystem { .. } => {
            "the list goes with {codes}; {level=codes} makes rules for single codes"
        }
        PackError::NoCategories { .. } => "leave out {level}, or give {level=codes}",
        PackError::NoSex { .. } => "name the codes with {female} and {male}",
        PackError::NoVocabulary { .. } => "name the codes with {cohort} or {vocabulary}",
        PackError::Probability(_) => "give {stays} and {code_first} numbers such as 0.9",
        PackError::MissingColumn { .. } | PackError::Xml { .. } => {
            "check that the kind of table before the name of the file is the right one, and the file whole"
        }
        PackError::Definition { .. } | PackError::Part { .. } => {
            "correct the definition there, or check that the kind before the name of the file is the right one"
        }
        _ => "check the file, or fetch it again",
    };
    Error::refused(error.to_string(), help)
}
