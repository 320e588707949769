//! What it is in a record that breaks a rule.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs;

use consequence_enforce::{BrokenClause, Reader};
use consequence_pipeline::words::list;
use consequence_record::{Code, RecordView, Vocabulary};
use consequence_rules::{Asked, Formula, Literal, Origin, WrittenRules};
use serde::Serialize;

use crate::look::{Seen, Titles, moment};

/// Codes named in a sentence; the rest are counted.
const NAMED: usize = 5;
/// Bytes of a rule file that are looked through for comments.
const MOST_TEXT: u64 = 64 << 20;

/// A visit that breaks a rule, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedViolation {
    /// The record, counted from 1.
    pub record: usize,
    /// The patient, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The visit; 0 is the static visit.
    pub visit: usize,
    /// When the visit began, where that is known.
    pub date: Option<String>,
    /// The name of the rule.
    pub rule: String,
    /// The file that it was written in.
    pub file: String,
    /// The line it starts at.
    pub line: u32,
    /// Codes that are there, and without one of which the rule would hold.
    pub has: Vec<PresentCode>,
    /// Codes that are missing, and with one of which the rule would hold.
    pub lacks: Vec<MissingCode>,
}

/// A code that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PresentCode {
    /// The code.
    pub code: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// The visit that has it.
    pub visit: usize,
}

/// A code that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingCode {
    /// The code.
    pub code: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// Where it was looked for; none: in the visit itself.
    pub window: Option<String>,
}

/// Finds what breaks rules.
pub(super) struct Causes<'a> {
    written: &'a WrittenRules,
    titles: &'a Titles,
    /// The clauses as literals.
    clauses: Vec<Vec<Literal>>,
    show_ids: bool,
}

impl<'a> Causes<'a> {
    pub fn new(written: &'a WrittenRules, titles: &'a Titles, show_ids: bool) -> Self {
        let decode =
            |literals: &[_]| literals.iter().filter_map(|&one| written.decode(one)).collect();
        let clauses = written.clauses().map(|clause| decode(clause.literals)).collect();
        Self { written, titles, clauses, show_ids }
    }

    /// The violations of a record, in the order of its visits.
    pub fn of(&self, reader: &mut Reader<'_>, seen: &Seen<'_>) -> Vec<ExplainedViolation> {
        let mut broken = Vec::new();
        reader.broken_clauses(seen.record, &mut broken);
        broken.sort_by_key(|one| (one.visit, one.rule, one.clause));
        let same = |one: &BrokenClause, other: &BrokenClause| {
            (one.visit, one.rule) == (other.visit, other.rule)
        };
        broken.chunk_by(same).map(|clauses| self.violation(clauses, seen)).collect()
    }

    fn violation(&self, clauses: &[BrokenClause], seen: &Seen<'_>) -> ExplainedViolation {
        let rules = self.written.rules();
        let (visit, rule) = (clauses[0].visit, &rules[clauses[0].rule]);
        let vocabulary: &Vocabulary = rules.vocabulary();
        let title = |code: Code| self.titles.of(code).map(str::to_owned);
        let (mut has, mut lacks) = (Vec::new(), Vec::new());
        for literal in clauses.iter().flat_map(|one| &self.clauses[one.clause]) {
            let (code, title, window) = match &literal.asked {
                Asked::Now(code) => (vocabulary.name(*code).to_owned(), title(*code), None),
                Asked::In(window, code) => {
                    (vocabulary.name(*code).to_owned(), title(*code), Some(window.to_string()))
                }
                Asked::Fact(fact) => (Formula::Fact(fact.clone()).text(vocabulary), None, None),
            };
            if literal.present {
                let missing = MissingCode { code, title, window };
                if !lacks.contains(&missing) {
                    lacks.push(missing);
                }
            } else {
                let visit = latest(literal, visit, seen.record, vocabulary.end());
                let present = PresentCode { code, title, visit };
                if !has.contains(&present) {
                    has.push(present);
                }
            }
        }
        let Origin { file, line, .. } = &rule.origin;
        ExplainedViolation {
            record: seen.index + 1,
            id: self.show_ids.then(|| seen.id.to_owned()),
            visit,
            date: seen.details.time(visit).map(moment),
            rule: rule.name.to_string(),
            file: file.to_string(),
            line: *line,
            has,
            lacks,
        }
    }
}

/// The last visit in which the code of a literal is found.
fn latest(literal: &Literal, now: usize, record: RecordView<'_>, end: Code) -> usize {
    let Asked::In(window, code) = &literal.asked else { return now };
    let mut found = None;
    window.any(now, |then| {
        let has = match *code == end {
            true => record.ends_at(then),
            false => then < record.len() && record.visit(then).binary_search(code).is_ok(),
        };
        if has {
            found = found.max(Some(then));
        }
        false
    });
    found.unwrap_or(now)
}

/// What breaks the rule, as a sentence without its subject.
impl Display for ExplainedViolation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let titled = |code: &str, title: &Option<String>| match title {
            Some(title) => format!("{code} ({title})"),
            None => code.to_owned(),
        };
        let present = |one: &PresentCode| {
            let place = match one.visit {
                visit if visit == self.visit => String::new(),
                0 => " in the static visit".to_owned(),
                visit => format!(" in visit {visit}"),
            };
            format!("{}{place}", titled(&one.code, &one.title))
        };
        let missing = |one: &MissingCode| {
            let place = match one.window.as_deref() {
                None => String::new(),
                Some("static") => " in the static visit".to_owned(),
                Some("previous") => " in the previous visit".to_owned(),
                Some("past") => " in any earlier visit".to_owned(),
                Some(window) => format!(" in {window}"),
            };
            format!("{}{place}", titled(&one.code, &one.title))
        };
        let has: Vec<String> = self.has.iter().map(present).collect();
        let lacks: Vec<String> = self.lacks.iter().map(missing).collect();
        let [has, lacks] = [has, lacks].map(shortened);
        match (has.is_empty(), lacks.is_empty()) {
            (false, true) => write!(out, "has {}", list(&has)),
            (true, false) => write!(out, "lacks {}", list(&lacks)),
            (false, false) => write!(out, "has {}, and lacks {}", list(&has), list(&lacks)),
            (true, true) => out.write_str("lacks what the rule asks for: codes that no record has"),
        }
    }
}

fn shortened(mut names: Vec<String>) -> Vec<String> {
    if names.len() > NAMED + 1 {
        let others = names.len() - NAMED;
        names.truncate(NAMED);
        names.push(format!("{others} others"));
    }
    names
}

/// Why rules are there: the comments right above them in their files.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    files: BTreeMap<String, Vec<String>>,
}

impl Reasons {
    /// The comment above a rule, if it has one. A file that cannot be read again tells none.
    pub fn of(&mut self, origin: &Origin) -> Option<String> {
        let lines = self.files.entry(origin.file.to_string()).or_insert_with_key(|file| {
            let small =
                fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() < MOST_TEXT);
            let text =
                if small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let above = lines.get(..(origin.line as usize).checked_sub(1)?)?;
        let comments = above.iter().rev().map_while(|line| line.strip_prefix('#'));
        let mut reason: Vec<&str> = comments.map(str::trim).collect();
        reason.reverse();
        Some(reason.join(" ").trim().to_owned()).filter(|reason| !reason.is_empty())
    }
}
