//! What expert tables say of codes, and the readers of four published ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;

use crate::codes::{CodeList, System};
use crate::error::PackError;
use crate::table::{PackLimits, Table, read_text};
use crate::tabular::Note;

/// What an expert table says of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Only women have it.
    Female,
    /// Only men have it.
    Male,
    /// Only people of these ages have it, in years, both ends included.
    Ages {
        /// The youngest.
        from: u16,
        /// The oldest.
        to: u16,
    },
    /// It is chronic: it stays.
    Chronic,
    /// It never stands in one visit with some others.
    Excludes,
    /// One of some others stands in the visit with it.
    CodeFirst,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Female => out.write_str("female only"),
            Self::Male => out.write_str("male only"),
            Self::Ages { from: 0, to: 0 } => out.write_str("newborn only"),
            Self::Ages { from, to } => write!(out, "age {from} to {to}"),
            Self::Chronic => out.write_str("chronic"),
            Self::Excludes => out.write_str("excludes another code"),
            Self::CodeFirst => out.write_str("needs another code first"),
        }
    }
}

/// One line of an expert table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The system of the code.
    pub system: System,
    /// The code, plain.
    pub code: String,
    /// Its title.
    pub title: String,
    /// What the table says of it.
    pub limit: Limit,
    /// Whether the same holds for all concepts below it.
    pub below: bool,
}

/// An expert table that was read.
#[derive(Clone, Debug)]
pub struct ExpertTable {
    pub(crate) file: String,
    /// What the table is, and its version.
    pub(crate) about: String,
    /// Its version, where it states one.
    pub(crate) version: Option<u32>,
    pub(crate) entries: Vec<Entry>,
    /// What is said of ranges of codes.
    pub(crate) notes: Vec<Note>,
    /// Notes that no rule can be made of: they name no codes, or examples, or exceptions.
    pub(crate) passed_over: usize,
    /// All codes of the table's system, if the table lists them.
    pub(crate) complete: Option<CodeList>,
}

impl ExpertTable {
    /// What the table is, with its version where it states one.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Its version, where it states one as a number: the greater, the newer.
    pub fn version(&self) -> Option<u32> {
        self.version
    }

    /// What it says of single codes, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How much it says: of single codes, and in notes on ranges of codes.
    pub fn statements(&self) -> usize {
        self.entries.len() + self.notes.len()
    }

    /// Notes that no rule can be made of: they name no codes, or examples, or exceptions.
    pub fn passed_over(&self) -> usize {
        self.passed_over
    }

    /// The systems of the codes that it speaks of.
    pub fn systems(&self) -> BTreeSet<System> {
        let notes = self.notes.first().map(|_| System::Icd10);
        self.entries.iter().map(|entry| entry.system).chain(notes).collect()
    }

    /// All codes of its system, if it lists them.
    pub fn codes(&self) -> Option<&CodeList> {
        self.complete.as_ref()
    }

    /// The concepts whose limits hold for all below them too.
    pub fn ancestors(&self) -> BTreeSet<u64> {
        let below = self.entries.iter().filter(|entry| entry.below);
        below.filter_map(|entry| entry.code.parse().ok()).collect()
    }

    fn of(table: Table, about: String, entries: Vec<Entry>, complete: Option<CodeList>) -> Self {
        let (notes, passed_over) = (Vec::new(), 0);
        Self { file: table.file, about, version: None, entries, notes, passed_over, complete }
    }
}

const MCE_COLUMNS: [&str; 6] =
    ["MCE_Version", "ICD_Version", "MCE_Edit_Type", "ICD_Code_Type", "ICD_Code", "ICD_Desc"];
const MCE_HELP: &str = "expected a list of simple code edits of the Medicare Code Editor";

/// The ages that the editor allows, as its manual words them.
fn limit(edit: &str) -> Option<Limit> {
    Some(match edit {
        "Female_Only" => Limit::Female,
        "Male_Only" => Limit::Male,
        "Newborn_Only" => Limit::Ages { from: 0, to: 0 },
        "Pediatric_Only" => Limit::Ages { from: 0, to: 17 },
        "Maternity_Only" => Limit::Ages { from: 12, to: 55 },
        "Adult_Only" => Limit::Ages { from: 15, to: 124 },
        _ => return None,
    })
}

const DQD_COLUMNS: [&str; 4] =
    ["conceptId", "conceptName", "plausibleGender", "plausibleGenderUseDescendants"];
const DQD_HELP: &str = "expected the concept level checks of the Data Quality Dashboard";

const PHECODE_HELP: &str = "expected a phecode map, version 1.2, for ICD-9 or ICD-10";

/// What the rules of a phecode map are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Over {
    /// The ICD codes that are mapped.
    #[default]
    Icd,
    /// The phecodes they are mapped to, for cohorts that were mapped.
    Phecodes,
}

const CCI_HELP: &str = "expected a table of HCUP chronic condition indicators (CCI or CCIR)";

impl ExpertTable {
    /// Reads the simple code edits of the CMS Medicare Code Editor: diagnoses and procedures of one
    /// sex, diagnoses of some ages. Versions 26 to 37: tab-separated, gzip or plain. Edits that
    /// are about billing are passed over.
    ///
    /// ```
    /// use consequence_packs::{ExpertTable, Limit, PackLimits};
    ///
    /// let text = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
    ///             32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n";
    /// let table = ExpertTable::read_mce("edits.txt", text.as_bytes(), &PackLimits::default())?;
    /// assert_eq!(table.entries()[0].limit, Limit::Male);
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn read_mce(file: &str, input: impl Read, limits: &PackLimits) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let table = Table::read(file, &text, &MCE_COLUMNS, MCE_HELP)?;
        let mut entries = Vec::new();
        let mut version = String::new();
        for (line, cells) in &table.rows {
            let [editor, icd, edit, kind, code, title] = cells.as_slice() else { continue };
            let system = match (icd.as_str(), kind.as_str()) {
                ("9", "D") => System::Icd9,
                ("9", "P") => System::Icd9Procedure,
                ("10", "D") => System::Icd10,
                ("10", "P") => System::Icd10Procedure,
                ("9" | "10", kind) => return Err(table.fault(*line, 3, kind, "`D` or `P`")),
                (icd, _) => return Err(table.fault(*line, 1, icd, "`9` or `10`")),
            };
            if code.is_empty() {
                return Err(table.fault(*line, 4, code, "a code"));
            }
            if version.is_empty() {
                version.clone_from(editor);
            }
            if let Some(limit) = limit(edit) {
                let code = system.plain(code);
                entries.push(Entry { system, code, title: title.clone(), limit, below: false });
            }
        }
        let about = format!("CMS Medicare Code Editor, version {version}");
        let version = version.split('.').next().and_then(|version| version.parse().ok());
        Ok(Self { version, ..Self::of(table, about, entries, None) })
    }

    /// Reads the concept level checks of the OHDSI Data Quality Dashboard, the plausible genders
    /// among them; gzip or plain. Some checks are meant for a concept and all below it: what is
    /// below, [`PackOptions::concepts`](crate::PackOptions::concepts) says.
    ///
    /// ```
    /// use consequence_packs::{ExpertTable, PackLimits};
    ///
    /// let text = "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n\
    ///             26662,Testicular hypofunction,Male,\n";
    /// let table = ExpertTable::read_dqd("checks.csv", text.as_bytes(), &PackLimits::default())?;
    /// assert_eq!(table.entries()[0].code, "26662");
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn read_dqd(file: &str, input: impl Read, limits: &PackLimits) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let table = Table::read(file, &text, &DQD_COLUMNS, DQD_HELP)?;
        let mut entries: Vec<Entry> = Vec::new();
        for (line, cells) in &table.rows {
            let [concept, title, own, below] = cells.as_slice() else { continue };
            let (column, sex) = if own.is_empty() { (3, below) } else { (2, own) };
            let below = !below.is_empty();
            let limit = match sex.as_str() {
                "" => continue,
                "Female" => Limit::Female,
                "Male" => Limit::Male,
                other => {
                    return Err(table.fault(*line, column, other, "`Female`, `Male` or nothing"));
                }
            };
            // A check may be for several concepts at once, with the names of all of them.
            let concepts: Vec<&str> = concept.split(',').map(str::trim).collect();
            let names: Vec<&str> = title.split(',').map(str::trim).collect();
            for (index, &concept) in concepts.iter().enumerate() {
                if concept.is_empty() || !concept.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(table.fault(*line, 0, concept, "the number of a concept"));
                }
                let own = if names.len() == concepts.len() { names[index] } else { title };
                let (code, title) = (concept.to_owned(), own.to_owned());
                entries.push(Entry { system: System::Omop, code, title, limit, below });
            }
        }
        let about = "OHDSI Data Quality Dashboard, plausible gender of concepts".to_owned();
        Ok(Self::of(table, about, entries, None))
    }

    /// Reads a phecode map of ICD-9 or ICD-10 codes, version 1.2: phenotypes that only one sex has;
    /// gzip or plain.
    ///
    /// ```
    /// use consequence_packs::{ExpertTable, Over, PackLimits};
    ///
    /// let text = "ICD9,ICD9 String,PheCode,Phenotype,sex\n\
    ///             185,Malignant neoplasm of prostate,185,Cancer of prostate,Male\n";
    /// let limits = PackLimits::default();
    /// let table = ExpertTable::read_phecodes("map.csv", text.as_bytes(), Over::Icd, &limits)?;
    /// assert_eq!(table.entries().len(), 1);
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn read_phecodes(
        file: &str,
        input: impl Read,
        over: Over,
        limits: &PackLimits,
    ) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let nine = ["ICD9", "ICD9 String", "PheCode", "Phenotype", "sex"];
        let ten = ["ICD10", "ICD10 String", "PheCode", "Phenotype", "sex"];
        let (system, table) = match Table::read(file, &text, &nine, PHECODE_HELP) {
            Err(PackError::MissingColumn { .. })
                if text.get(..200).unwrap_or(&text).contains("ICD10") =>
            {
                (System::Icd10, Table::read(file, &text, &ten, PHECODE_HELP)?)
            }
            outcome => (System::Icd9, outcome?),
        };
        let target = if over == Over::Icd { system } else { System::Phecode };
        // A code is limited to a sex only where all its lines are: an ICD code may map to several
        // phenotypes, and many codes map to one phenotype.
        let mut limits_of: BTreeMap<String, (String, Vec<Option<Limit>>)> = BTreeMap::new();
        for (line, cells) in &table.rows {
            let [icd, icd_title, phecode, phenotype, sex] = cells.as_slice() else { continue };
            let limit = match sex.as_str() {
                "" | "Both" => None,
                "Female" => Some(Limit::Female),
                "Male" => Some(Limit::Male),
                other => {
                    return Err(table.fault(
                        *line,
                        4,
                        other,
                        "`Female`, `Male`, `Both` or nothing",
                    ));
                }
            };
            let (code, title) = match over {
                Over::Icd => (icd, icd_title),
                Over::Phecodes => (phecode, phenotype),
            };
            if !code.is_empty() {
                let of_code = limits_of.entry(target.plain(code));
                of_code.or_insert_with(|| (title.clone(), Vec::new())).1.push(limit);
            }
        }
        let mut entries = Vec::new();
        for (code, (title, limits)) in &limits_of {
            if let Some(&Some(limit)) = limits.first()
                && limits.iter().all(|&other| other == Some(limit))
            {
                let (code, title) = (code.clone(), title.clone());
                entries.push(Entry { system: target, code, title, limit, below: false });
            }
        }
        let titles = limits_of.into_iter().map(|(code, (title, _))| (code, title)).collect();
        let complete = CodeList { system: target, titles };
        let about = format!("phecode map 1.2 for {}, sex of phenotypes", system.name());
        Ok(Self::of(table, about, entries, Some(complete)))
    }

    /// Reads the HCUP chronic condition indicator for ICD-9, or the refined one for ICD-10:
    /// diagnoses that stay; gzip or plain.
    ///
    /// ```
    /// use consequence_packs::{ExpertTable, PackLimits};
    ///
    /// let text = "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n\
    ///             '4019 ',\"HYPERTENSION NOS\",'1'\n";
    /// let table = ExpertTable::read_cci("cci.csv", text.as_bytes(), &PackLimits::default())?;
    /// assert_eq!(table.entries()[0].code, "4019");
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn read_cci(file: &str, input: impl Read, limits: &PackLimits) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let nine = ["ICD-9-CM CODE", "ICD-9-CM CODE DESCRIPTION", "CATEGORY DESCRIPTION"];
        let ten = ["ICD-10-CM CODE", "ICD-10-CM CODE DESCRIPTION", "CHRONIC INDICATOR"];
        let (system, table) = match Table::read(file, &text, &nine, CCI_HELP) {
            Err(PackError::MissingColumn { .. })
                if text.get(..400).unwrap_or(&text).contains("ICD-10") =>
            {
                (System::Icd10, Table::read(file, &text, &ten, CCI_HELP)?)
            }
            outcome => (System::Icd9, outcome?),
        };
        let (mut entries, mut titles) = (Vec::new(), BTreeMap::new());
        for (line, cells) in &table.rows {
            let [code, title, chronic] = cells.as_slice() else { continue };
            let chronic = match chronic.as_str() {
                "1" => true,
                "0" | "9" => false,
                other => return Err(table.fault(*line, 2, other, "`0`, `1` or `9`")),
            };
            let code = system.plain(code);
            if code.is_empty() {
                return Err(table.fault(*line, 0, &code, "a code"));
            }
            if chronic {
                let (code, title) = (code.clone(), title.clone());
                let limit = Limit::Chronic;
                entries.push(Entry { system, code, title, limit, below: false });
            }
            titles.insert(code, title.clone());
        }
        let about = match system {
            System::Icd10 => "HCUP chronic condition indicator refined, ICD-10-CM",
            _ => "HCUP chronic condition indicator, ICD-9-CM",
        };
        let complete = CodeList { system, titles };
        Ok(Self::of(table, about.to_owned(), entries, Some(complete)))
    }
}
