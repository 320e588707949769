//! Rules made of an expert table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use consequence_record::{Code, Concept, Selection, Vocabulary};

use crate::ancestors::Ancestors;
use crate::codes::CodeList;
use crate::dialect::Dialect;
use crate::error::{PackError, shown};
use crate::expert::{Entry, ExpertTable, Limit};
use crate::maker::{Maker, Names};
use crate::notes;

/// What the rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Level {
    /// Single codes, as the table has them.
    #[default]
    Codes,
    /// Categories of three characters: a category has a limit where all codes below it do.
    Categories,
}

/// How to make rules of an expert table.
#[derive(Clone, Debug)]
pub struct PackOptions<'a> {
    /// Single codes or categories; none: as the vocabulary has them, or else single codes.
    pub level: Option<Level>,
    /// Only codes that this vocabulary has, spelt as it spells them; none: all codes.
    pub vocabulary: Option<&'a Vocabulary>,
    /// Records over the vocabulary, from which soft rules take their probabilities.
    pub records: Option<Selection<'a>>,
    /// The OMOP concepts of the vocabulary's codes, where they are known.
    pub concepts: Option<&'a BTreeMap<Code, Concept>>,
    /// Which concepts are below others, beside what `concepts` says.
    pub ancestors: Option<&'a Ancestors>,
    /// All codes of the system, for categories. Tables that list all codes do not need it.
    pub codes: Option<&'a CodeList>,
    /// What stands before diagnoses, phecodes and concepts; none: what stands before most codes of
    /// their system in the vocabulary, or else the prefix of the system.
    pub prefix: Option<&'a str>,
    /// What stands before procedures; none: the same.
    pub procedure_prefix: Option<&'a str>,
    /// The static codes that mean female; none: `SEX//F`, or what the vocabulary has for it.
    pub female: Vec<String>,
    /// The static codes that mean male; none: `SEX//M`, or what the vocabulary has for it.
    pub male: Vec<String>,
    /// What stands before age bands in the vocabulary. Default `AGE//`. Rules about ages need a
    /// vocabulary with age bands.
    pub ages: &'a str,
    /// Years that a record may go on after its age band was taken: whoever is too young for a code
    /// may grow into it by then. Default 0: the band holds for all of the record.
    pub years: u16,
    /// How likely a chronic condition is coded again in the next visit; none: as often as the
    /// records show, or without any 0.9, an assumption.
    pub stays: Option<f64>,
    /// How likely a code is absent from a visit that lacks all codes to put before it; none: as
    /// often as the records show. Without either, notes on such codes are left out.
    pub code_first: Option<f64>,
}

impl Default for PackOptions<'_> {
    fn default() -> Self {
        Self {
            level: None,
            vocabulary: None,
            records: None,
            concepts: None,
            ancestors: None,
            codes: None,
            prefix: None,
            procedure_prefix: None,
            female: Vec::new(),
            male: Vec::new(),
            ages: "AGE//",
            years: 0,
            stays: None,
            code_first: None,
        }
    }
}

/// One rule of a pack.
#[derive(Clone, Debug, PartialEq)]
pub struct PackRule {
    /// Its name.
    pub name: String,
    /// The code it is about, as the vocabulary or the system spells it, or where its note stands.
    pub code: String,
    /// What the code stands for, or what the note says.
    pub title: String,
    /// What the table says of it.
    pub limit: Limit,
    /// Its probability, if it is soft.
    pub probability: Option<f64>,
    /// What the records show of it.
    pub evidence: Option<String>,
    /// The rule as a statement of the language.
    pub statement: String,
}

/// Rules by what they say, and by what they are about.
pub(crate) type Rules = BTreeMap<(Limit, String), PackRule>;

/// Rules made of an expert table.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// What the table is, and its version.
    pub about: String,
    /// The file it was read from.
    pub file: String,
    /// The rules: by limit, then by code.
    pub rules: Vec<PackRule>,
    /// How the vocabulary speaks of the codes of the table.
    pub dialects: Vec<Dialect>,
    /// The codes of the vocabulary whose concepts are known, if the table is about concepts.
    pub concepts: usize,
    /// Single codes or categories.
    pub level: Level,
    /// Of how many statements the rules were made: entries and notes of the table, or categories
    /// that share a limit.
    pub limits: usize,
    /// How many of them are about codes that the vocabulary does not have.
    pub unknown: usize,
    /// How many limits of age no rule could be made of, because there are no age bands.
    pub without_ages: usize,
    /// How many limits of age no rule was made of, because no age band lies outside them.
    pub within_bands: usize,
    /// How many say what others said before.
    pub repeated: usize,
    /// How many would be soft rules whose probability nobody knows.
    pub without_probability: usize,
    /// How many would be soft rules that depend on themselves.
    pub cyclic: usize,
    /// Rules left out since the records break them, of notes on codes that exclude each other.
    pub broken: Vec<PackRule>,
    /// What every rule assumes.
    notes: Vec<String>,
}

impl Pack {
    /// A pack without rules yet.
    fn new(table: &ExpertTable, names: &Names<'_>, level: Level, limits: usize) -> Self {
        Self {
            about: table.about.clone(),
            file: table.file.clone(),
            rules: Vec::new(),
            dialects: names.dialects().to_vec(),
            concepts: names.concepts(),
            level,
            limits,
            unknown: 0,
            without_ages: 0,
            within_bands: 0,
            repeated: 0,
            without_probability: 0,
            cyclic: 0,
            broken: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl ExpertTable {
    /// Makes rules of the table.
    ///
    /// ```
    /// use consequence_packs::{ExpertTable, PackLimits, PackOptions};
    ///
    /// let text = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
    ///             32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n";
    /// let table = ExpertTable::read_mce("edits.txt", text.as_bytes(), &PackLimits::default())?;
    /// let pack = table.pack(&PackOptions::default())?;
    /// assert!(pack.text().ends_with(
    ///     "# Malign neopl prostate\n\
    ///      rule male-only-ICD9CM//185: SEX//F in static => not ICD9CM//185\n"
    /// ));
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn pack(&self, options: &PackOptions<'_>) -> Result<Pack, PackError> {
        for probability in options.stays.into_iter().chain(options.code_first) {
            if !(probability > 0.0 && probability < 1.0) {
                return Err(PackError::Probability(probability));
            }
        }
        let names = Names::new(self, options);
        let level = options.level.unwrap_or_else(|| names.level());
        let entries = match level {
            Level::Categories if !self.entries.is_empty() => self.categories(options)?,
            _ => self.entries.clone(),
        };
        let mut pack = Pack::new(self, &names, level, entries.len() + self.notes.len());
        let mut maker = Maker::new(options);
        let mut rules = Rules::new();
        let (mut ages_left_out, mut chronic) = (0, BTreeMap::new());
        for entry in &entries {
            let codes = names.of(entry);
            if codes.is_empty() {
                pack.unknown += 1;
                continue;
            }
            let (mut made, mut outside_bands) = (false, false);
            for code in codes {
                let key = (entry.limit, code);
                if rules.contains_key(&key) || chronic.contains_key(&key.1) {
                    continue;
                }
                if entry.limit == Limit::Chronic {
                    chronic.insert(key.1, entry.title.clone());
                    made = true;
                } else if let Some(rule) = maker.limited(entry, &key.1)? {
                    rules.insert(key, rule);
                    made = true;
                } else {
                    outside_bands = true;
                }
            }
            ages_left_out += usize::from(outside_bands);
            pack.repeated += usize::from(!made && !outside_bands);
        }
        for rule in maker.chronic(chronic) {
            rules.insert((rule.limit, rule.code.clone()), rule);
        }
        if !self.notes.is_empty() {
            ages_left_out += notes::add(self, &names, &mut maker, options, &mut pack, &mut rules)?;
        }
        pack.rules = rules.into_values().collect();
        pack.notes = maker.notes(&pack.rules, level);
        (pack.without_ages, pack.within_bands) =
            if maker.knows_ages() { (0, ages_left_out) } else { (ages_left_out, 0) };
        Ok(pack)
    }

    /// The limits of categories: of those that all codes of a category share.
    fn categories(&self, options: &PackOptions<'_>) -> Result<Vec<Entry>, PackError> {
        let list = match options.codes.or(self.complete.as_ref()) {
            Some(list) => list,
            None => return Err(PackError::NoCodeList { file: self.file.clone() }),
        };
        let system = list.system;
        if system.category("0000").is_none() {
            let system = system.name();
            return Err(PackError::NoCategories { file: self.file.clone(), system });
        }
        let foreign =
            |entry: &&Entry| entry.system != system && entry.system.category("0000").is_some();
        if let Some(entry) = self.entries.iter().find(foreign) {
            let system = entry.system.name();
            return Err(PackError::OtherSystem { file: self.file.clone(), system });
        }
        let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for code in list.titles.keys() {
            if let Some(category) = system.category(code) {
                below.entry(category).or_default().push(code);
            }
        }
        let mut limited: BTreeMap<Limit, BTreeSet<&str>> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.system == system) {
            limited.entry(entry.limit).or_default().insert(&entry.code);
        }
        let mut entries = Vec::new();
        for (category, codes) in &below {
            for (&limit, limited) in &limited {
                if codes.iter().all(|code| limited.contains(code)) {
                    let example = codes.first().and_then(|&code| list.titles.get(code));
                    let title = match (codes.as_slice(), example) {
                        ([only], Some(title)) if only == category => title.clone(),
                        (codes, title) => format!(
                            "{category}: all {} codes, such as {}",
                            codes.len(),
                            title.map_or("", String::as_str)
                        ),
                    };
                    entries.push(Entry {
                        system,
                        code: (*category).to_owned(),
                        title,
                        limit,
                        below: false,
                    });
                }
            }
        }
        Ok(entries)
    }
}

impl Pack {
    /// The text of a rule file: where the rules come from, then each with its title above it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "# {}", shown_line(&self.about))?;
        writeln!(out, "# from {}: {} rules", shown_line(&self.file), self.rules.len())?;
        for note in &self.notes {
            writeln!(out, "# {note}")?;
        }
        if self.without_ages > 0 {
            let count = self.without_ages;
            writeln!(out, "# {count} limits of age are left out: no age bands are known.")?;
        }
        let mut limit = None;
        for rule in &self.rules {
            if limit.replace(rule.limit) != Some(rule.limit) {
                writeln!(out, "\n\n# ---- {} ----", rule.limit)?;
            }
            writeln!(out, "\n# {}", shown_line(&rule.title))?;
            if let Some(evidence) = &rule.evidence {
                writeln!(out, "# {evidence}")?;
            }
            writeln!(out, "{}", rule.statement)?;
        }
        if !self.broken.is_empty() {
            writeln!(out, "\n\n# ---- left out, since the records break them ----")?;
        }
        for rule in &self.broken {
            writeln!(out, "\n# {}", shown_line(&rule.title))?;
            if let Some(evidence) = &rule.evidence {
                writeln!(out, "# {evidence}")?;
            }
            for line in rule.statement.lines() {
                writeln!(out, "# {line}")?;
            }
        }
        Ok(())
    }
}

fn shown_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let line: String = text.chars().take(LONGEST).collect();
    line.split_whitespace().map(shown).collect::<Vec<_>>().join(" ")
}
