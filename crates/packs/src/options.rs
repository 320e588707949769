//! How rules are made of an expert table.

use consequence_record::Vocabulary;

use crate::codes::CodeList;

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
