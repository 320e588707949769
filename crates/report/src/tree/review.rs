//! Rules to choose from, as plain data.

use serde::{Deserialize, Serialize};

/// Rules for an expert to choose from, as one page: what each says, what speaks for it, a box to
/// tick and room for a note; and a button that saves the chosen ones as a rule file.
///
/// ```
/// use consequence_report::{Review, ReviewClass, ReviewRule};
///
/// let rule = ReviewRule {
///     heading: "Codes that stay".to_owned(),
///     name: "741-stays".to_owned(),
///     statement: "rule 741-stays: 741 in previous => 741".to_owned(),
///     sentence: "<Spina bifida> stays".to_owned(),
///     ticked: true,
///     ..ReviewRule::default()
/// };
/// let certain = ReviewClass { name: "certain".to_owned(), rules: vec![rule], ..ReviewClass::default() };
/// let page = Review { classes: vec![certain], ..Review::default() }.html();
/// assert_eq!(page.matches("rule 741-stays:").count(), 1);
/// assert!(!page.contains("<Spina"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Review {
    /// The title of the page.
    pub title: String,
    /// What there is to choose from, in one sentence.
    pub about: String,
    /// What to do, in a sentence or two.
    pub lead: String,
    /// Facts as (label, value), such as the cohort and its number of records.
    pub facts: Vec<(String, String)>,
    /// The lines that a saved file begins with: comments, and declarations that the rules need.
    pub opening: String,
    /// The rules, by how sure they are.
    pub classes: Vec<ReviewClass>,
}

/// Rules that are alike in how sure they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewClass {
    /// One word, such as `certain`.
    pub name: String,
    /// What the word means, in a sentence or two.
    pub explanation: String,
    /// The rules. Those under one heading are shown together.
    pub rules: Vec<ReviewRule>,
}

/// A rule to choose or to leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRule {
    /// The kind of rule.
    pub heading: String,
    /// Its name.
    pub name: String,
    /// The rule as a line of a rule file, which is saved as it stands.
    pub statement: String,
    /// What it says, in words.
    pub sentence: String,
    /// What speaks for it, in words.
    pub evidence: String,
    /// The codes that it speaks of.
    pub codes: Vec<ReviewCode>,
    /// Whether it is chosen until the expert says otherwise.
    pub ticked: bool,
}

/// A code that a rule speaks of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewCode {
    /// Its name.
    pub code: String,
    /// Its title; empty where none is known.
    pub title: String,
    /// How often it was seen, in words; empty where nobody counted.
    pub seen: String,
}
