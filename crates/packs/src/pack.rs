//! Rules made of an expert table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use consequence_record::{Kind, Vocabulary};
use consequence_rules::Window;
use consequence_rules::language::{Expression, ExpressionKind, Quantifier, RuleItem};

use crate::codes::{Band, CodeList, System, band};
use crate::error::{PackError, shown};
use crate::expert::{Entry, ExpertTable, Limit};

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
    /// Single codes or categories.
    pub level: Level,
    /// Only codes that this vocabulary has, spelt as it spells them; none: all codes.
    pub vocabulary: Option<&'a Vocabulary>,
    /// All codes of the system, for categories. Tables that list all codes do not need it.
    pub codes: Option<&'a CodeList>,
    /// What stands before diagnoses, phecodes and concepts, instead of the prefix of their system.
    pub prefix: Option<&'a str>,
    /// What stands before procedures, instead of the prefix of their system.
    pub procedure_prefix: Option<&'a str>,
    /// The static codes that mean female. Default `SEX//F`.
    pub female: Vec<String>,
    /// The static codes that mean male. Default `SEX//M`.
    pub male: Vec<String>,
    /// What stands before age bands in the vocabulary. Default `AGE//`. Rules about ages need a
    /// vocabulary with age bands.
    pub ages: &'a str,
    /// Years that a record may go on after its age band was taken: whoever is too young for a code
    /// may grow into it by then. Default 0: the band holds for all of the record.
    pub years: u16,
    /// How likely a chronic condition is coded again in the next visit. Default 0.9: an assumption,
    /// which the table does not state, and data differ.
    pub stays: f64,
}

impl Default for PackOptions<'_> {
    fn default() -> Self {
        Self {
            level: Level::Codes,
            vocabulary: None,
            codes: None,
            prefix: None,
            procedure_prefix: None,
            female: vec!["SEX//F".to_owned()],
            male: vec!["SEX//M".to_owned()],
            ages: "AGE//",
            years: 0,
            stays: 0.9,
        }
    }
}

/// One rule of a pack.
#[derive(Clone, Debug, PartialEq)]
pub struct PackRule {
    /// The code it is about, as the vocabulary or the system spells it.
    pub code: String,
    /// What the code stands for.
    pub title: String,
    /// What the table says of it.
    pub limit: Limit,
    /// The rule as a statement of the language.
    pub statement: String,
}

/// Rules made of an expert table.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// What the table is, and its version.
    pub about: String,
    /// The file it was read from.
    pub file: String,
    /// The rules: by limit, then by code.
    pub rules: Vec<PackRule>,
    /// How many limits the rules were made of: entries of the table, or categories that share one.
    pub limits: usize,
    /// How many of them are about codes that the vocabulary does not have.
    pub unknown: usize,
    /// How many limits of age no rule could be made of, because there are no age bands.
    pub without_ages: usize,
    /// How many limits of age no rule was made of, because no age band lies outside them.
    pub within_bands: usize,
    /// What every rule assumes.
    notes: Vec<String>,
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
        if !(options.stays > 0.0 && options.stays < 1.0) {
            return Err(PackError::Probability(options.stays));
        }
        let entries = match options.level {
            Level::Codes => self.entries.clone(),
            Level::Categories => self.categories(options)?,
        };
        let spellings = options.vocabulary.map(|vocabulary| spellings(vocabulary, options));
        let maker = Maker::new(options);
        let mut rules = BTreeMap::new();
        let (mut unknown, mut ages_left_out) = (0, 0);
        for entry in &entries {
            let code = match &spellings {
                None => format!("{}{}", prefix(entry.system, options), entry.code),
                Some(known) => match known.get(&(entry.system, entry.code.clone())) {
                    Some(name) => name.clone(),
                    None => {
                        unknown += 1;
                        continue;
                    }
                },
            };
            match maker.statement(entry, &code)? {
                Some(statement) => {
                    let (title, limit) = (entry.title.clone(), entry.limit);
                    let rule = PackRule { code: code.clone(), title, limit, statement };
                    rules.entry((limit, code)).or_insert(rule);
                }
                None => ages_left_out += 1,
            }
        }
        let rules: Vec<PackRule> = rules.into_values().collect();
        let notes = maker.notes(&rules, options);
        let (without_ages, within_bands) =
            if maker.bands.is_empty() { (ages_left_out, 0) } else { (0, ages_left_out) };
        let (about, file) = (self.about.clone(), self.file.clone());
        let limits = entries.len();
        Ok(Pack { about, file, rules, limits, unknown, without_ages, within_bands, notes })
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
                    entries.push(Entry { system, code: (*category).to_owned(), title, limit });
                }
            }
        }
        Ok(entries)
    }
}

fn prefix<'a>(system: System, options: &PackOptions<'a>) -> &'a str {
    let given = match system {
        System::Icd9Procedure | System::Icd10Procedure => options.procedure_prefix,
        _ => options.prefix,
    };
    given.unwrap_or(system.prefix())
}

/// How the vocabulary spells the codes of each system.
fn spellings(
    vocabulary: &Vocabulary,
    options: &PackOptions<'_>,
) -> BTreeMap<(System, String), String> {
    const SYSTEMS: [System; 6] = [
        System::Icd9,
        System::Icd9Procedure,
        System::Icd10,
        System::Icd10Procedure,
        System::Phecode,
        System::Omop,
    ];
    let mut known = BTreeMap::new();
    for code in vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Encounter) {
        let name = vocabulary.name(code);
        for system in SYSTEMS {
            if let Some(bare) = name.strip_prefix(prefix(system, options)) {
                known.entry((system, system.plain(bare))).or_insert_with(|| name.to_owned());
            }
        }
    }
    known
}

/// Writes rules, and remembers what they need.
struct Maker {
    female: Vec<String>,
    male: Vec<String>,
    bands: Vec<(String, Band)>,
    years: u16,
    stays: f64,
    wanted_female: String,
    wanted_male: String,
}

impl Maker {
    fn new(options: &PackOptions<'_>) -> Self {
        let is_static = |name: &String| {
            options.vocabulary.is_none_or(|vocabulary| {
                let code = vocabulary.code(name);
                code.is_some_and(|code| vocabulary.kind(code) == Kind::Static)
            })
        };
        let present =
            |names: &[String]| names.iter().filter(|name| is_static(name)).cloned().collect();
        let names = options.vocabulary.into_iter().flat_map(|vocabulary| {
            let statics = vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static);
            statics.map(|code| vocabulary.name(code))
        });
        let bands = names
            .filter_map(|name| Some((name.to_owned(), band(name.strip_prefix(options.ages)?)?)));
        Self {
            female: present(&options.female),
            male: present(&options.male),
            bands: bands.collect(),
            years: options.years,
            stays: options.stays,
            wanted_female: options.female.join(", "),
            wanted_male: options.male.join(", "),
        }
    }

    /// The rule for an entry; none if it is about ages and no age band is excluded.
    fn statement(&self, entry: &Entry, code: &str) -> Result<Option<String>, PackError> {
        let now = Expression::literal(code);
        let excluded: Vec<&str> = match entry.limit {
            Limit::Chronic => {
                let formula = now.clone().within(Window::previous()).implies(now);
                let mut rule = RuleItem::new(name("chronic", code), formula);
                rule.probability = Some(self.stays);
                return Ok(Some(rule.to_string()));
            }
            Limit::Female if self.male.is_empty() => {
                return Err(PackError::NoSex { sex: "male", names: self.wanted_male.clone() });
            }
            Limit::Male if self.female.is_empty() => {
                return Err(PackError::NoSex { sex: "female", names: self.wanted_female.clone() });
            }
            Limit::Female => self.male.iter().map(String::as_str).collect(),
            Limit::Male => self.female.iter().map(String::as_str).collect(),
            Limit::Ages { from, to } => {
                let bands = self.bands.iter();
                let excluded = bands.filter(|(_, band)| band.excludes(from, to, self.years));
                excluded.map(|(name, _)| name.as_str()).collect()
            }
        };
        if excluded.is_empty() {
            return Ok(None);
        }
        let mut statics: Vec<Expression> = excluded.into_iter().map(Expression::literal).collect();
        let who: Expression = match statics.len() {
            1 => statics.remove(0),
            _ => ExpressionKind::Group(Quantifier::Any, statics).into(),
        };
        let kind = entry.limit.to_string().replace(' ', "-");
        let formula = who.within(Window::static_visit()).implies(now.not());
        Ok(Some(RuleItem::new(name(&kind, code), formula).to_string()))
    }

    fn notes(&self, rules: &[PackRule], options: &PackOptions<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        if options.level == Level::Categories {
            notes.push("A category has a rule where all codes below it are listed.".to_owned());
        }
        if rules.iter().any(|rule| matches!(rule.limit, Limit::Ages { .. })) {
            notes.push(match self.years {
                0 => "The age band is taken to hold for all of a record.".to_owned(),
                years => {
                    format!("Records may go on for {years} years after the age band was taken.")
                }
            });
        }
        if rules.iter().any(|rule| rule.limit == Limit::Chronic) {
            let stays = self.stays;
            notes.push(format!(
                "The table says that these conditions stay, not how often they are coded again: \
                 {stays} is an assumption."
            ));
        }
        notes
    }
}

/// A name for a rule that needs no quotes.
fn name(kind: &str, code: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '.' | '_' | '-' => character,
        _ => '-',
    };
    format!("{kind}-{}", code.chars().map(plain).collect::<String>())
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
            writeln!(out, "\n# {}\n{}", shown_line(&rule.title), rule.statement)?;
        }
        Ok(())
    }
}

fn shown_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let line: String = text.chars().take(LONGEST).collect();
    line.split_whitespace().map(shown).collect::<Vec<_>>().join(" ")
}
