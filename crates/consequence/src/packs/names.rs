//! Names for groups that other tools define, as a file to write rules in.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_packs::{CohortDefinition, Concepts, NamedGroups, PackLimits};
use consequence_pipeline::load;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CohortInput, Error, Out, Report, Task, Watch, watched};
use serde::Serialize;

use super::{ancestors, open, refused};

/// Whose definitions are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameSource {
    /// Predicates of an ACES task configuration.
    Aces,
    /// A cohort definition of OHDSI.
    Circe {
        /// The table CONCEPT of OMOP.
        concepts: PathBuf,
        /// The table CONCEPT_ANCESTOR of OMOP; none: concepts below others are left out, and named.
        ancestors: Option<PathBuf>,
    },
}

/// Which definition, and where the names go.
///
/// ```
/// use consequence::packs::{NameSource, NamesFromTask};
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [file, out] = ["task.yaml", "task.rules"].map(|name| folder.path().join(name));
/// std::fs::write(&file, "predicates:\n  icu: {code: {regex: ^ICU//.*}}\ntrigger: icu\n")?;
/// let report = NamesFromTask::new(NameSource::Aces, file, &out).run(&Unwatched)?;
/// assert_eq!((report.names.len(), report.unsaid.len()), (1, 1));
/// assert!(std::fs::read_to_string(out)?.ends_with("let icu = ICU//*\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NamesFromTask {
    /// Whose definition it is.
    pub source: NameSource,
    /// The file of the definition, plain or gzip.
    pub file: PathBuf,
    /// The rule file to write; none: the names are in the report alone.
    pub out: Option<Out>,
    /// Concept sets have only codes of this cohort.
    pub cohort: Option<CohortInput>,
    /// Concept sets have only codes of this vocabulary file.
    pub vocabulary: Option<PathBuf>,
}

impl NamesFromTask {
    /// The names of a definition.
    pub fn new(source: NameSource, file: impl Into<PathBuf>, out: impl Into<Out>) -> Self {
        let (file, out) = (file.into(), Some(out.into()));
        Self { source, file, out, cohort: None, vocabulary: None }
    }

    fn named(&self, watch: &dyn Watch) -> Result<NamedGroups, Error> {
        let (name, limits) = (self.file.display().to_string(), PackLimits::default());
        let input = open(&self.file)?;
        let NameSource::Circe { concepts, ancestors: below } = &self.source else {
            return NamedGroups::read_aces(&name, input, &limits).map_err(refused);
        };
        let definition = CohortDefinition::read(&name, input, &limits).map_err(refused)?;
        let known = match (&self.vocabulary, &self.cohort) {
            (Some(path), _) => Some(load::vocabulary_file(path)?),
            (None, Some(input)) => Some(load::cohort(input, None, watch)?.vocabulary.clone()),
            (None, None) => None,
        };
        let below = below.as_ref().map(|path| {
            watched(watch, "reading what is below", None, || {
                ancestors(path, &definition.ancestors(), None)
            })
        });
        let below = below.transpose()?;
        let wanted = definition.concepts(below.as_ref());
        let table = watched(watch, "reading concepts", None, || {
            let (name, input) = (concepts.display().to_string(), open(concepts)?);
            Concepts::read(&name, input, &wanted, &limits).map_err(refused)
        })?;
        definition.named(&table, below.as_ref(), known.as_deref()).map_err(refused)
    }
}

impl Task for NamesFromTask {
    type Report = NamesFromReport;

    /// Reads the definition and writes its names.
    fn run(&self, watch: &dyn Watch) -> Result<NamesFromReport, Error> {
        let out = self.out.as_ref().map(Out::file).transpose()?;
        let named = self.named(watch)?;
        if named.groups.is_empty() {
            let what = "nothing that the file defines can be said in rules";
            let reasons = named.unsaid.iter().take(3);
            let reasons: Vec<String> =
                reasons.map(|part| format!("{}: {}", part.what, part.why)).collect();
            let what = format!("{what} ({})", reasons.join("; "));
            return Err(Error::refused_at(&self.file, what, "write the names by hand, as `let`s"));
        }
        let report = NamesFromReport::new(&named, self.out.as_ref().map(Out::shown));
        if let Some(out) = out {
            out.write(|file| file.write_all(report.text.as_bytes()))?;
        }
        Ok(report)
    }
}

/// What became of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamesFromReport {
    /// What the file is.
    pub about: String,
    /// The file, as the user named it.
    pub file: String,
    /// The rule file that was written, if one was.
    pub out: Option<String>,
    /// The names as text.
    #[serde(skip)]
    pub text: String,
    /// The names, each with what it is in the definition.
    pub names: Vec<NameMade>,
    /// What is not said.
    pub unsaid: Vec<PartUnsaid>,
}

/// A name that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameMade {
    /// The name.
    pub name: String,
    /// What it is in the definition.
    pub title: String,
    /// Where it says less or more than the definition.
    pub remarks: Vec<String>,
}

/// A part of a definition that is not said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartUnsaid {
    /// The part.
    pub what: String,
    /// Why, and what became of it.
    pub why: String,
}

impl NamesFromReport {
    fn new(named: &NamedGroups, out: Option<String>) -> Self {
        let names = named.groups.iter().map(|group| NameMade {
            name: group.name.clone(),
            title: group.title.clone(),
            remarks: group.remarks.clone(),
        });
        let unsaid = named
            .unsaid
            .iter()
            .map(|part| PartUnsaid { what: part.what.clone(), why: part.why.clone() });
        Self {
            about: named.about.clone(),
            file: named.file.clone(),
            out,
            text: named.text(),
            names: names.collect(),
            unsaid: unsaid.collect(),
        }
    }
}

impl Report for NamesFromReport {}

impl Display for NamesFromReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.out {
            write!(out, "{file}: ")?;
        }
        let names = count(self.names.len() as u64, "name");
        writeln!(out, "{names} from {} ({})", self.file, self.about)?;
        for name in &self.names {
            writeln!(out, "  {}", name.name)?;
            for remark in &name.remarks {
                writeln!(out, "    {remark}")?;
            }
        }
        match self.unsaid.len() {
            0 => writeln!(out, "\nall of it is said")?,
            some => writeln!(out, "\n{} not said", number(some as u64))?,
        }
        for part in &self.unsaid {
            writeln!(out, "  {}: {}", part.what, part.why)?;
        }
        writeln!(out, "\na name is known in its own file: write rules that use them below them")
    }
}
