//! A release check as a page to read and to sign.

use consequence_pipeline::pages::{program, today};
use consequence_pipeline::records_digest;
use consequence_pipeline::words::{count, number};
use consequence_report::{
    Block, Caution, CautionKind, Cell, Column, Count, Head, Holds, Report, Row, Section, Signature,
    Source, Statement, Table,
};

use super::{Check, CheckKind, Outcome, ReleaseReport};
use crate::evaluate::Pair;

/// Rare codes that are named.
const NAMED: usize = 50;

/// Makes the page.
pub(super) fn page(report: &ReleaseReport, pair: &Pair) -> Report {
    Report {
        head: head(report, pair),
        summary: summary(report),
        statements: report.checks.iter().map(statement).collect(),
        cautions: cautions(report),
        sections: vec![limits(report), coverage(report), rare(report), sign(report)],
    }
}

fn head(report: &ReleaseReport, pair: &Pair) -> Head {
    let Pair { real, synthetic, base, generated, held_out, .. } = pair;
    let (vocabulary, real, synthetic) = (&pair.vocabulary, &real.cohort, &synthetic.cohort);
    let source = |role: &str, name: &str, counts, sha256| Source {
        role: role.to_owned(),
        name: name.to_owned(),
        counts,
        sha256,
    };
    Head {
        title: "Can these records leave the house?".to_owned(),
        compared: format!("{}, learned from {}", report.synthetic, report.real),
        when: today(),
        program: program(),
        seed: None,
        facts: Vec::new(),
        sources: vec![
            source(
                "real cohort",
                &report.real,
                vec![
                    Count::new(base.len() as u64, "records trained on"),
                    Count::new(held_out.len() as u64, "held out"),
                ],
                records_digest(real, vocabulary, &[base, held_out]),
            ),
            source(
                "synthetic cohort",
                &report.synthetic,
                vec![Count::new(generated.len() as u64, "records")],
                records_digest(synthetic, vocabulary, &[generated]),
            ),
        ],
    }
}

fn summary(report: &ReleaseReport) -> Vec<String> {
    if report.may_leave {
        return vec!["Yes, by these checks: every one was made and passed.".to_owned()];
    }
    let failed = report.checks.iter().filter(|check| check.outcome != Outcome::Passed);
    let advice = failed.clone().map(|check| format!("{}: {}.", check.kind.title(), check.advice));
    let names: Vec<&str> = failed.map(|check| check.kind.title()).collect();
    let verdict = format!("No: {} did not pass. What to do:", names.join(", "));
    [verdict].into_iter().chain(advice).collect()
}

fn statement(check: &Check) -> Statement {
    Statement {
        text: check.claim.clone(),
        figure: check.found.clone(),
        holds: match &check.outcome {
            Outcome::Passed => Holds::Yes,
            Outcome::Failed => Holds::No,
            Outcome::Open(why) => Holds::Unknown(why.clone()),
        },
    }
}

fn cautions(report: &ReleaseReport) -> Vec<Caution> {
    let say = |kind, text: &str| Caution { kind, text: text.to_owned() };
    let mut all: Vec<Caution> =
        report.warnings.iter().map(|text| say(CautionKind::Warning, text)).collect();
    all.push(say(
        CautionKind::Limit,
        "Figures of privacy presume that the generator saw the train split and not the held-out records. They are of attacks that are \
         known and simple, and no proof that nothing else could be learned.",
    ));
    all.push(say(
        CautionKind::Limit,
        "Rules tell what must not be; what no rule looks at is below. That a record breaks no rule does not make it likely.",
    ));
    all.push(say(
        CautionKind::Limit,
        "This page names codes that few patients have. Keep it in the house.",
    ));
    all
}

fn limits(report: &ReleaseReport) -> Section {
    let row = |check: &Check| {
        let digits = match check.kind {
            CheckKind::Patients | CheckKind::Rules => 0,
            _ => 4,
        };
        let figure = match check.figure {
            Some(figure) => Cell::number(figure, digits),
            None => Cell::missing("not measured"),
        };
        Row::new(vec![Cell::text(check.kind.title()), figure, Cell::number(check.limit, digits)])
    };
    let table = Table {
        title: "Each check".to_owned(),
        note: "Shares of records or values, but for patients and violations, which are counts, and for figures of AUROC and F1. Copies \
               and rare values are told as what they are above other real records, guesses as what they are above what can be \
               guessed of anyone."
            .to_owned(),
        columns: vec![Column::new("check"), Column::new("figure"), Column::new("limit")],
        rows: report.checks.iter().map(row).collect(),
    };
    Section::new("limits", "Figures and limits", vec![Block::Table(table)])
}

fn coverage(report: &ReleaseReport) -> Section {
    let found = &report.coverage;
    let mut blocks = vec![Block::Text(format!(
        "{} {} {} of the {} that synthetic records have.",
        count(found.hard_rules as u64, "hard rule"),
        if found.hard_rules == 1 { "names" } else { "name" },
        number(found.ruled as u64),
        count(found.codes as u64, "code"),
    ))];
    if found.soft_rules > 0 {
        let soft = count(found.soft_rules as u64, "soft rule");
        blocks.push(Block::Text(format!("No record can break {soft}; they are not judged here.")));
    }
    if !found.files.is_empty() {
        blocks.push(Block::Text(format!("Rule files: {}.", found.files.join(", "))));
    }
    if !found.commonest_free.is_empty() {
        blocks.push(Block::Text(format!(
            "The commonest codes that no hard rule names: {}.",
            found.commonest_free.join(", ")
        )));
    }
    Section::new("rules", "What rules look at", blocks)
}

fn rare(report: &ReleaseReport) -> Section {
    let found = &report.rarity;
    let mut text = format!(
        "{} of the real cohort are those of fewer than {} patients; synthetic records have {} of them",
        count(found.rare_codes, "code"),
        found.below,
        number(found.written.len() as u64)
    );
    if found.written.is_empty() {
        text.push('.');
    } else {
        let named: Vec<&str> = found.written.iter().take(NAMED).map(String::as_str).collect();
        let more = found.written.len() - named.len();
        let more =
            if more > 0 { format!(", and {} more", number(more as u64)) } else { String::new() };
        text.push_str(&format!(": {}{more}.", named.join(", ")));
    }
    Section::new("rare", "Rare codes", vec![Block::Text(text)])
}

fn sign(report: &ReleaseReport) -> Section {
    let line = |text: &str| text.to_owned();
    let lines = [
        "Decision (released, released with conditions, kept)",
        "To whom, and for what",
        "Conditions",
        "Name",
        "Date",
        "Signature",
    ];
    let signature = Signature {
        title: "Decision".to_owned(),
        note: format!(
            "For {}, whose digest is at the end of this page. The checks are a help; the decision is a person's.",
            report.synthetic
        ),
        lines: lines.map(line).to_vec(),
    };
    Section::new("decision", "To be signed", vec![Block::Signature(signature)])
}
