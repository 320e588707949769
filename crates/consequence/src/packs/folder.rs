//! A folder of expert tables: which of them speak of a cohort, and the rules of those that do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

use consequence_packs::{
    Ancestors, CodeList, Dialect, ExpertTable, Level, Over, Pack, PackError, PackOptions, System,
    TableKind,
};
use consequence_pipeline::load::LoadedCohort;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{Error, Report, Watch, watched};
use consequence_record::{Code, Cohort, Concept, Selection, Split, Vocabulary};
use consequence_rules::language::Item;
use consequence_rules::{LanguageLimits, parse};
use consequence_tables::Dataset;
use serde::Serialize;

use super::report::Spoken;
use super::{RuleTable, ancestors, code_list, expert_table, open, refused, why};

/// The most files that are looked at.
const MOST_FILES: usize = 1_000;

/// The cohort that packs are to fit.
#[derive(Clone, Copy, Debug)]
pub struct PackCohort<'a> {
    /// The records.
    pub cohort: &'a Cohort,
    /// Their codes.
    pub vocabulary: &'a Vocabulary,
    /// The split of each record; probabilities come from the train split.
    pub splits: &'a [Split],
    /// The OMOP concepts of codes, where they are known.
    pub concepts: &'a BTreeMap<Code, Concept>,
}

impl<'a> From<&'a Dataset> for PackCohort<'a> {
    fn from(dataset: &'a Dataset) -> Self {
        let Dataset { cohort, vocabulary, splits, concepts, .. } = dataset;
        Self { cohort, vocabulary, splits, concepts }
    }
}

impl<'a> From<&'a LoadedCohort> for PackCohort<'a> {
    fn from(loaded: &'a LoadedCohort) -> Self {
        Self::from(&**loaded)
    }
}

/// What the tables of a folder do not say; the cohort says the rest.
#[derive(Clone, Debug, Default)]
pub struct FolderOptions {
    /// The static codes that mean female; none: what the cohort has for it.
    pub female: Vec<String>,
    /// The static codes that mean male; none: what the cohort has for it.
    pub male: Vec<String>,
    /// Years that a record may go on after its age band was taken.
    pub years: u16,
    /// Whether to leave out soft rules: in place of what a model learns of a code from all else
    /// they put one probability.
    pub hard_only: bool,
    /// How likely a chronic condition is coded again; none: as often as the records show.
    pub stays: Option<f64>,
    /// How likely a code is absent where all codes are that should come before it; none: as often
    /// as the records show.
    pub code_first: Option<f64>,
}

/// The rules of a folder, and what became of each of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FolderPacks {
    /// The folder.
    pub folder: String,
    /// The packs that have rules. No two rules have one name, those of `.rules` files aside.
    pub packs: Vec<FolderPack>,
    /// Every file, by name.
    pub files: Vec<FolderFile>,
}

/// The rules of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FolderPack {
    /// A name for it that no other has: that of the file, without its endings if that is enough.
    pub name: String,
    /// The file, as it lies in the folder.
    pub file: String,
    /// What it is, and its version.
    pub about: String,
    /// The text of a rule file.
    pub text: String,
    /// How many rules it has.
    pub rules: usize,
    /// How many of them are soft.
    pub soft: usize,
    /// How the cohort speaks of its codes.
    pub spoken: Vec<Spoken>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FolderFile {
    /// Its name.
    pub file: String,
    /// What it is; none if that is not known.
    pub about: Option<String>,
    /// What came of it.
    pub outcome: FileOutcome,
}

/// What came of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    /// Rules, as many as these.
    Rules(usize),
    /// No rules of its own, but it was used.
    Used(String),
    /// No rules, and why.
    Nothing(String),
    /// It is no table that is known.
    NotUnderstood(String),
}

/// Looks at every file that lies in a folder, and makes rules of those that speak of a cohort's codes.
///
/// Each is known by what is in it, whatever its name: tables of the Medicare Code Editor, of the
/// Data Quality Dashboard, phecode maps, chronic condition indicators, the tabular list of
/// ICD-10-CM, lists of codes (for categories), CONCEPT_ANCESTOR (for what is below a concept). A file
/// whose name ends in `.rules` is taken as it is. Of several versions of a table the newest that
/// speaks of the cohort's codes is taken. What is not understood is named and left; what is known
/// and damaged is an error.
///
/// ```
/// use consequence::packs::{FileOutcome, FolderOptions, from_folder};
/// use consequence::{Dataset, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let packs = folder.path().join("packs");
/// std::fs::create_dir(&packs)?;
/// std::fs::write(
///     packs.join("edits.txt"),
///     "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
///      32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n",
/// )?;
/// std::fs::write(packs.join("notes.md"), "# Where this is from\n")?;
/// let path = folder.path().join("cohort.jsonl");
/// std::fs::write(&path, r#"{"id": 7, "static": ["SEX//F"], "visits": [["DX//185"], ["DX//250.01"]]}"#)?;
/// let dataset = Dataset::open(&path)?;
///
/// let found = from_folder(&packs, &dataset, &FolderOptions::default(), &Unwatched)?;
/// assert!(found.packs[0].text.contains("SEX//F in static => not DX//185\n"));
/// assert_eq!(found.files[0].outcome, FileOutcome::Rules(1));
/// assert!(matches!(found.files[1].outcome, FileOutcome::NotUnderstood(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder or a file cannot be read, or if a table that is known is damaged.
pub fn from_folder<'a>(
    folder: &Path,
    cohort: impl Into<PackCohort<'a>>,
    options: &FolderOptions,
    watch: &dyn Watch,
) -> Result<FolderPacks, Error> {
    let cohort = cohort.into();
    watched(watch, "making rules of expert tables", None, || {
        let mut opened = Opened::of(folder)?;
        opened.settle(&cohort)?;
        opened.rules(&cohort, options)
    })
}

/// The files of a folder once they are read.
struct Opened {
    folder: String,
    files: BTreeMap<String, FolderFile>,
    packs: Vec<FolderPack>,
    tables: Vec<Read>,
    lists: Vec<(String, CodeList)>,
    ancestors: Vec<PathBuf>,
    /// The names of rules that are taken.
    names: BTreeSet<String>,
}

/// A table of a folder.
struct Read {
    path: PathBuf,
    kind: TableKind,
    table: ExpertTable,
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Opened {
    fn of(folder: &Path) -> Result<Self, Error> {
        let fail = |error: std::io::Error| {
            let what = format!("cannot read the folder of packs: {error}");
            Error::refused_at(folder, what, "name a folder with expert tables that you may read")
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if !name_of(&path).starts_with('.') {
                paths.push(path);
            }
            if paths.len() > MOST_FILES {
                let what = format!("the folder of packs has more than {MOST_FILES} files");
                return Err(Error::refused_at(
                    folder,
                    what,
                    "name a folder with expert tables alone",
                ));
            }
        }
        paths.sort();
        let mut opened = Self {
            folder: folder.display().to_string(),
            files: BTreeMap::new(),
            packs: Vec::new(),
            tables: Vec::new(),
            lists: Vec::new(),
            ancestors: Vec::new(),
            names: BTreeSet::new(),
        };
        for path in paths {
            opened.take(path)?;
        }
        // A list of codes alone is made for this; tables that list all codes serve where there is
        // none.
        let kinds: BTreeSet<String> =
            opened.tables.iter().map(|read| name_of(&read.path)).collect();
        opened.lists.sort_by_key(|(file, _)| kinds.contains(file));
        Ok(opened)
    }

    fn note(&mut self, path: &Path, about: Option<&str>, outcome: FileOutcome) {
        let file = name_of(path);
        let about = about.map(str::to_owned);
        self.files.insert(file.clone(), FolderFile { file, about, outcome });
    }

    /// Takes in a file, as what it is.
    fn take(&mut self, path: PathBuf) -> Result<(), Error> {
        let unknown = |what: &str| FileOutcome::NotUnderstood(what.to_owned());
        if path.is_dir() {
            self.note(&path, None, unknown("a folder, which is not looked into"));
            return Ok(());
        }
        if path.extension().is_some_and(|end| end == "rules") {
            return self.take_rules(&path);
        }
        let kind = match TableKind::of_file(open(&path)?) {
            Ok(Some(kind)) => kind,
            Ok(None) => {
                self.note(&path, None, unknown("no table that is known by its columns"));
                return Ok(());
            }
            Err(error) => {
                self.note(&path, None, unknown(&format!("it cannot be unpacked: {error}")));
                return Ok(());
            }
        };
        let table = match kind {
            TableKind::Mce => RuleTable::Mce,
            TableKind::Dqd => RuleTable::Dqd,
            TableKind::Phecode => RuleTable::Phecode(Over::Icd),
            TableKind::Cci => RuleTable::Cci,
            TableKind::Icd10 => RuleTable::Icd10,
            TableKind::CodeList => {
                self.lists.push((name_of(&path), code_list(&path)?));
                self.note(&path, Some(kind.name()), FileOutcome::Nothing(NO_CATEGORIES.into()));
                return Ok(());
            }
            TableKind::Ancestors => {
                let outcome = FileOutcome::Nothing("no table speaks of concepts".into());
                self.note(&path, Some(kind.name()), outcome);
                self.ancestors.push(path);
                return Ok(());
            }
        };
        let table = expert_table(&path, table)?;
        if let Some(list) = table.codes() {
            self.lists.push((name_of(&path), list.clone()));
        }
        self.tables.push(Read { path, kind, table });
        Ok(())
    }

    /// Takes in a file of rules.
    fn take_rules(&mut self, path: &Path) -> Result<(), Error> {
        let bytes = fs::read(path).map_err(|error| {
            let what = format!("cannot read the rule file: {error}");
            Error::refused_at(path, what, "check that this is a file you may read")
        })?;
        let parsed = parse(&path.display().to_string(), &bytes, &LanguageLimits::default())?;
        let rules = parsed.items().iter().filter_map(|item| match item {
            Item::Rule(rule) => Some(rule),
            _ => None,
        });
        let (mut count, mut soft) = (0, 0);
        for rule in rules {
            count += 1;
            soft += usize::from(rule.probability.is_some());
            self.names.insert(rule.name.text.clone());
        }
        let about = "rules as they are";
        self.note(path, Some(about), FileOutcome::Rules(count));
        let name = self.named(path);
        self.packs.push(FolderPack {
            name,
            file: name_of(path),
            about: about.to_owned(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            rules: count,
            soft,
            spoken: Vec::new(),
        });
        Ok(())
    }

    /// Of several versions of a table keeps the newest that is about codes of the cohort.
    fn settle(&mut self, cohort: &PackCohort<'_>) -> Result<(), Error> {
        let spoken: BTreeSet<System> =
            Dialect::spoken(cohort.vocabulary).iter().map(|dialect| dialect.system).collect();
        for read in &mut self.tables {
            // A cohort that was mapped to phecodes.
            let icd = [System::Icd9, System::Icd10];
            let mapped =
                spoken.contains(&System::Phecode) && icd.iter().all(|of| !spoken.contains(of));
            if read.kind == TableKind::Phecode && mapped {
                read.table = expert_table(&read.path, RuleTable::Phecode(Over::Phecodes))?;
            }
        }
        let mut newest: BTreeMap<(TableKind, BTreeSet<System>), (Option<u32>, String)> =
            BTreeMap::new();
        for Read { path, kind, table } in &self.tables {
            let this = (table.version(), name_of(path));
            let best = newest.entry((*kind, table.systems())).or_insert_with(|| this.clone());
            if this > *best {
                *best = this;
            }
        }
        let mut kept = Vec::new();
        for read in std::mem::take(&mut self.tables) {
            let (_, best) = &newest[&(read.kind, read.table.systems())];
            if *best == name_of(&read.path) {
                kept.push(read);
            } else {
                let outcome = FileOutcome::Nothing(format!("`{best}` is the newest of its kind"));
                self.note(&read.path, Some(read.table.about()), outcome);
            }
        }
        self.tables = kept;
        Ok(())
    }

    /// Makes the rules of the tables that are left.
    fn rules(
        mut self,
        cohort: &PackCohort<'_>,
        options: &FolderOptions,
    ) -> Result<FolderPacks, Error> {
        let train = Split::Train.indices(cohort.splits);
        let below = self.below(cohort)?;
        for Read { path, table, .. } in std::mem::take(&mut self.tables) {
            let list = self.list_for(&table);
            let pack_options = PackOptions {
                vocabulary: Some(cohort.vocabulary),
                records: Some(Selection::new(cohort.cohort, &train)),
                concepts: Some(cohort.concepts),
                ancestors: below.as_ref(),
                codes: list.as_ref().map(|(_, list)| list),
                female: options.female.clone(),
                male: options.male.clone(),
                years: options.years,
                stays: options.stays,
                code_first: options.code_first,
                ..PackOptions::default()
            };
            let mut pack = match table.pack(&pack_options) {
                Ok(pack) => pack,
                // A cohort that does not tell the sexes is no fault of the table.
                Err(error @ PackError::NoSex { .. }) => {
                    let outcome = FileOutcome::Nothing(error.to_string());
                    self.note(&path, Some(table.about()), outcome);
                    continue;
                }
                Err(error) => return Err(refused(error)),
            };
            if options.hard_only && !pack.rules.is_empty() {
                pack.rules.retain(|rule| rule.probability.is_none());
                if pack.rules.is_empty() {
                    let outcome = FileOutcome::Nothing("all its rules are soft".to_owned());
                    self.note(&path, Some(table.about()), outcome);
                    continue;
                }
            }
            let outcome = if pack.rules.is_empty() {
                FileOutcome::Nothing(why::no_rules(&table, &pack, Some(cohort.vocabulary)).0)
            } else {
                if let Some((file, _)) = list.filter(|_| pack.level == Level::Categories) {
                    self.used(&file, "for the categories of codes");
                }
                self.add(&path, &mut pack)
            };
            self.note(&path, Some(table.about()), outcome);
        }
        let Self { folder, packs, files, .. } = self;
        Ok(FolderPacks { folder, packs, files: files.into_values().collect() })
    }

    /// The concepts below those that tables name.
    fn below(&mut self, cohort: &PackCohort<'_>) -> Result<Option<Ancestors>, Error> {
        let wanted: BTreeSet<u64> =
            self.tables.iter().flat_map(|read| read.table.ancestors()).collect();
        let Some(path) = self.ancestors.last().cloned().filter(|_| !wanted.is_empty()) else {
            return Ok(None);
        };
        let known: BTreeSet<u64> = cohort.concepts.values().map(|concept| concept.id).collect();
        let below = ancestors(&path, &wanted, Some(&known))?;
        let what = format!("{} for limits on what is above", count(below.len() as u64, "concept"));
        self.note(&path, Some(TableKind::Ancestors.name()), FileOutcome::Used(what));
        Ok(Some(below))
    }

    /// A list of all codes for a table that lists only some.
    fn list_for(&self, table: &ExpertTable) -> Option<(String, CodeList)> {
        if table.codes().is_some() {
            return None;
        }
        let of = |list: &&(String, CodeList)| table.systems().contains(&list.1.system());
        self.lists.iter().find(of).cloned()
    }

    fn used(&mut self, file: &str, what: &str) {
        if let Some(entry) = self.files.get_mut(file)
            && matches!(entry.outcome, FileOutcome::Nothing(_))
        {
            entry.outcome = FileOutcome::Used(what.to_owned());
        }
    }

    /// A name that no other pack has.
    fn named(&self, path: &Path) -> String {
        let name = stem(path);
        let taken = self.packs.iter().any(|pack| pack.name == name);
        if taken { name_of(path) } else { name }
    }

    /// Adds the rules of a pack whose names no other has.
    fn add(&mut self, path: &Path, pack: &mut Pack) -> FileOutcome {
        pack.rules.retain(|rule| self.names.insert(rule.name.clone()));
        let rules = pack.rules.len();
        if rules == 0 {
            return FileOutcome::Nothing("other packs have all its rules".to_owned());
        }
        let name = self.named(path);
        self.packs.push(FolderPack {
            name,
            file: name_of(path),
            about: pack.about.clone(),
            text: pack.text(),
            rules,
            soft: pack.rules.iter().filter(|rule| rule.probability.is_some()).count(),
            spoken: pack.dialects.iter().map(Spoken::of).collect(),
        });
        FileOutcome::Rules(rules)
    }
}

const NO_CATEGORIES: &str = "no table needs a list for the categories of codes";

/// The name of a file without its endings.
fn stem(path: &Path) -> String {
    let name = name_of(path);
    let unpacked = Path::new(name.strip_suffix(".gz").unwrap_or(&name));
    unpacked.file_stem().map_or(name.clone(), |stem| stem.to_string_lossy().into_owned())
}

impl FolderPacks {
    /// The number of rules of all packs.
    pub fn rules(&self) -> usize {
        self.packs.iter().map(|pack| pack.rules).sum()
    }
}

impl Report for FolderPacks {}

impl Display for FolderPacks {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (rules, packs) = (self.rules() as u64, self.packs.len() as u64);
        let (rules, packs) = (count(rules, "rule"), count(packs, "file"));
        writeln!(
            out,
            "{}: {rules} from {packs} of {}",
            self.folder,
            number(self.files.len() as u64)
        )?;
        for FolderFile { file, about, outcome } in &self.files {
            let about = about.as_ref().map_or(String::new(), |about| format!(" ({about})"));
            match outcome {
                FileOutcome::Rules(rules) => {
                    writeln!(out, "  {file}{about}: {}", count(*rules as u64, "rule"))?;
                }
                FileOutcome::Used(what) => writeln!(out, "  {file}{about}: used {what}")?,
                FileOutcome::Nothing(why) => writeln!(out, "  {file}{about}: no rules: {why}")?,
                FileOutcome::NotUnderstood(why) => {
                    writeln!(out, "  {file}{about}: not understood: {why}")?;
                }
            }
        }
        Ok(())
    }
}
