//! The ICD-10-CM tabular list: which codes exclude each other, which need another one first, and
//! which are for records of mothers or of newborns alone.

use std::collections::BTreeMap;
use std::io::Read;

use crate::codes::{CodeList, System};
use crate::error::{PackError, shown};
use crate::expert::{ExpertTable, Limit};
use crate::spans::{self, Span};
use crate::table::{PackLimits, read_text};
use crate::xml::{Event, Reader, attribute};

/// A note of the list.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// Where it stands: `E11`, `I20-I25`, `chapter 15`.
    pub at: String,
    /// The codes that it is about.
    pub about: Vec<Span>,
    /// Its words.
    pub text: String,
    pub says: Says,
}

/// What a note says of its codes.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// They never stand beside these.
    Excludes(Vec<Span>),
    /// One of these stands beside them.
    First(Vec<Span>),
    /// They have a limit.
    Limit(Limit),
}

/// What a part of the list holds.
#[derive(Default)]
struct Part {
    name: String,
    title: String,
    codes: Vec<Span>,
    /// What may stand as seventh character; nothing: codes are as they are.
    seventh: Vec<char>,
    /// Whether there are codes below it.
    divided: bool,
    /// The lines of the note that is being read.
    lines: Vec<String>,
}

/// A list that is being read.
struct Tabular<'a> {
    file: &'a str,
    most: usize,
    version: String,
    parts: Vec<Part>,
    titles: BTreeMap<String, String>,
    notes: Vec<Note>,
    passed_over: usize,
}

impl ExpertTable {
    /// Reads the tabular list of ICD-10-CM as XML, gzip or plain. Of its notes it takes
    ///
    /// - Excludes1: codes that never stand in one visit;
    /// - Code first, where the codes to put first are all listed, and not examples;
    /// - those that say whose records codes are for, mothers' or newborns'.
    ///
    /// A note of a chapter, a block or a category holds for all codes below it.
    ///
    /// ```
    /// use consequence_packs::{ExpertTable, PackLimits, PackOptions};
    /// use consequence_record::{Kind, Vocabulary};
    ///
    /// let text = "<ICD10CM.tabular><version>2026</version><chapter><name>4</name>\
    ///             <desc>Endocrine diseases (E00-E89)</desc><section id='E08-E13'><diag>\
    ///             <name>E10</name><desc>Type 1 diabetes mellitus</desc><excludes1>\
    ///             <note>type 2 diabetes mellitus (E11.-)</note></excludes1><diag><name>E10.9</name>\
    ///             <desc>Type 1 diabetes without complications</desc></diag></diag></section>\
    ///             </chapter></ICD10CM.tabular>";
    /// let table = ExpertTable::read_icd10("list.xml", text.as_bytes(), &PackLimits::default())?;
    /// let codes = ["ICD10CM//E109", "ICD10CM//E119"].map(|name| (name, Kind::Encounter));
    /// let known = Vocabulary::new(codes).unwrap();
    /// let pack = table.pack(&PackOptions { vocabulary: Some(&known), ..PackOptions::default() })?;
    /// assert_eq!(
    ///     pack.rules[0].statement,
    ///     "rule excludes1-E10: ICD10CM//E109 => not ICD10CM//E119"
    /// );
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    pub fn read_icd10(
        file: &str,
        input: impl Read,
        limits: &PackLimits,
    ) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let Whole { version, codes, notes, passed_over } = read(file, &text, limits)?;
        Ok(Self {
            file: file.to_owned(),
            about: format!("ICD-10-CM tabular list, {version}"),
            version: version.parse().ok(),
            entries: Vec::new(),
            notes,
            passed_over,
            complete: Some(codes),
        })
    }
}

/// All codes of a tabular list, with their titles.
pub(crate) fn code_list(
    file: &str,
    text: &str,
    limits: &PackLimits,
) -> Result<CodeList, PackError> {
    Ok(read(file, text, limits)?.codes)
}

/// A list that was read.
struct Whole {
    version: String,
    codes: CodeList,
    notes: Vec<Note>,
    passed_over: usize,
}

fn read(file: &str, text: &str, limits: &PackLimits) -> Result<Whole, PackError> {
    let mut tabular = Tabular {
        file,
        most: limits.codes,
        version: String::new(),
        parts: Vec::new(),
        titles: BTreeMap::new(),
        notes: Vec::new(),
        passed_over: 0,
    };
    let mut reader = Reader::new(file, text);
    // The elements that are open, with the text of the innermost.
    let mut open: Vec<&str> = Vec::new();
    let mut words = String::new();
    while let Some(event) = reader.next()? {
        match event {
            Event::Open { name, attributes } => {
                if open.is_empty() && name != "ICD10CM.tabular" {
                    let name = shown(name);
                    let what = format!("`{name}` is no tabular list of ICD-10-CM");
                    return Err(reader.fault(what));
                }
                words.clear();
                tabular.begin(name, attributes).map_err(|what| reader.fault(what.to_owned()))?;
                open.push(name);
            }
            Event::Text(more) => words.push_str(&more),
            Event::Close(name) => {
                open.pop();
                let inside = open.last().copied().unwrap_or_default();
                match tabular.end(name, inside, &words) {
                    Ok(()) => {}
                    Err(Fault::Words(what)) => return Err(reader.fault(what)),
                    Err(Fault::Pack(error)) => return Err(error),
                }
                words.clear();
            }
        }
    }
    let Tabular { version, titles, notes, passed_over, .. } = tabular;
    if titles.is_empty() {
        return Err(PackError::Empty { file: file.to_owned() });
    }
    let codes = CodeList { system: System::Icd10, titles };
    Ok(Whole { version, codes, notes, passed_over })
}

/// What is wrong: at the place that is read, or with the whole.
enum Fault {
    Words(String),
    Pack(PackError),
}

impl Tabular<'_> {
    fn begin(&mut self, name: &str, attributes: &str) -> Result<(), &'static str> {
        match name {
            "chapter" | "section" | "diag" => {
                let mut part = Part::default();
                if let Some(above) = self.parts.last_mut() {
                    above.divided = true;
                    part.seventh.clone_from(&above.seventh);
                }
                if name == "section" {
                    let id = attribute(attributes, "id").ok_or("a section without its codes")?;
                    part.name = id.to_owned();
                    part.codes = spans::list(id).ok_or("a section without its codes")?;
                }
                self.parts.push(part);
            }
            "sevenChrDef" => {
                if let Some(part) = self.parts.last_mut() {
                    part.seventh.clear();
                }
            }
            "extension" => {
                let sign = attribute(attributes, "char").and_then(|text| text.chars().next());
                if let (Some(part), Some(sign)) = (self.parts.last_mut(), sign) {
                    part.seventh.push(sign.to_ascii_uppercase());
                }
            }
            "excludes1" | "codeFirst" | "notes" => {
                if let Some(part) = self.parts.last_mut() {
                    part.lines.clear();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes in an element that ends, with its text.
    fn end(&mut self, name: &str, inside: &str, words: &str) -> Result<(), Fault> {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(part) = self.parts.last_mut() else {
            if name == "version" {
                self.version = shown(&words);
            }
            return Ok(());
        };
        match (name, inside) {
            ("name", "chapter") => part.name = format!("chapter {}", shown(&words)),
            ("name", "diag") => {
                part.codes = spans::list(&words).unwrap_or_default();
                if part.codes.len() != 1 {
                    let words = shown(&words);
                    return Err(Fault::Words(format!("`{words}` is no code of ICD-10-CM")));
                }
                part.name = words;
            }
            ("desc", "chapter") => {
                part.codes = spans::of_note(&words).unwrap_or_default();
                part.title = words;
            }
            ("desc", "section" | "diag") => part.title = words,
            ("note", "excludes1" | "codeFirst" | "notes") => part.lines.push(words),
            ("excludes1" | "codeFirst" | "notes", _) => return self.note(name),
            ("chapter" | "section" | "diag", _) => {
                let part = self.parts.pop().unwrap_or_default();
                if name == "diag" && !part.divided {
                    return self.code(part);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes in a code, with each of its seventh characters.
    fn code(&mut self, part: Part) -> Result<(), Fault> {
        let code = System::Icd10.plain(&part.name);
        if part.seventh.is_empty() || code.len() > 6 {
            self.titles.insert(code, part.title);
        } else {
            for sign in part.seventh {
                self.titles.insert(format!("{code:X<6}{sign}"), part.title.clone());
            }
        }
        if self.titles.len() > self.most {
            let (file, what) = (self.file.to_owned(), "codes");
            return Err(Fault::Pack(PackError::TooMany { file, what, most: self.most }));
        }
        Ok(())
    }

    /// Takes in a note that ends.
    fn note(&mut self, kind: &str) -> Result<(), Fault> {
        let Some(part) = self.parts.last_mut() else { return Ok(()) };
        let lines = std::mem::take(&mut part.lines);
        let mut says = Vec::new();
        match kind {
            "excludes1" => {
                for line in lines {
                    match spans::of_note(&line) {
                        Some(spans) => says.push((line, Says::Excludes(spans))),
                        None => self.passed_over += 1,
                    }
                }
            }
            "codeFirst" => match all_listed(&lines) {
                Some(spans) => says.push((lines.join("; "), Says::First(spans))),
                None => self.passed_over += 1,
            },
            _ => {
                for line in lines {
                    says.extend(whose_records(&line).map(|limit| (line, Says::Limit(limit))));
                }
            }
        }
        if part.codes.is_empty() && !says.is_empty() {
            let what = "a note stands before the codes that it is about".to_owned();
            return Err(Fault::Words(what));
        }
        let (at, about) = (&part.name, &part.codes);
        self.notes.extend(says.into_iter().map(|(text, says)| Note {
            at: at.clone(),
            about: about.clone(),
            text,
            says,
        }));
        Ok(())
    }
}

/// The codes to put first; none if they are examples, or asked for in some cases only.
fn all_listed(lines: &[String]) -> Option<Vec<Span>> {
    const OPEN: [&str; 4] = ["such as", "if ", "any ", "when "];
    let mut spans = Vec::new();
    for line in lines {
        let words = line.to_lowercase();
        if OPEN.iter().any(|open| words.contains(open)) {
            return None;
        }
        spans.extend(spans::of_note(line)?);
    }
    (!spans.is_empty()).then_some(spans)
}

/// Whose records a note says that codes are for.
fn whose_records(note: &str) -> Option<Limit> {
    let note = note.to_lowercase();
    let says = |clause: &str, words: &[&str]| words.iter().any(|word| clause.contains(word));
    for clause in note.split([',', '.', ';']) {
        if says(clause, &["not ", "never "]) {
            continue;
        }
        if says(clause, &["maternal record", "mother's record"]) {
            return Some(Limit::Female);
        }
        if says(clause, &["newborn record", "record of a newborn"]) {
            return Some(Limit::Ages { from: 0, to: 0 });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_on_whose_records() {
        let newborn = Some(Limit::Ages { from: 0, to: 0 });
        for (note, limit) in [
            ("CODES ARE FOR USE ONLY ON MATERNAL RECORDS, NEVER ON NEWBORN RECORDS", {
                Some(Limit::Female)
            }),
            ("Codes are for use on newborn records only, never on maternal records", newborn),
            ("Codes from this chapter are not for use on maternal records", None),
            ("Codes are for use, only on the maternal record, to indicate the weeks", {
                Some(Limit::Female)
            }),
            (
                "To identify the outcome on the mother's record.  Not for use on the newborn record.",
                { Some(Limit::Female) },
            ),
            (
                "The principal code on the initial record of a newborn baby.  It is not to be used on \
              the mother's record.",
                newborn,
            ),
            ("When both birth weight and gestational age of the newborn are available", None),
        ] {
            assert_eq!(whose_records(note), limit, "{note}");
        }
    }

    #[test]
    fn lists_of_what_comes_first() {
        let listed = |lines: &[&str]| {
            all_listed(&lines.iter().map(|line| line.to_string()).collect::<Vec<_>>()).is_some()
        };
        assert!(listed(&["underlying disease (N18.-)", "neoplasm (C00-D49)"]));
        assert!(!listed(&["underlying disease, such as:", "neoplasm (C00-D49)"]));
        assert!(!listed(&[", if applicable, postprocedural sepsis (T81.44-)"]));
        assert!(!listed(&["underlying disease"]) && !listed(&[]));
    }
}
