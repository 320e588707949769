//! Why a table that could be read gave no rule.

use std::collections::BTreeMap;

use consequence_packs::{Dialect, ExpertTable, Pack, System};
use consequence_pipeline::words::number;
use consequence_record::{Kind, Vocabulary};

/// What is missing, and what to do about it.
pub(super) fn no_rules(
    table: &ExpertTable,
    pack: &Pack,
    vocabulary: Option<&Vocabulary>,
) -> (String, &'static str) {
    if table.statements() == 0 {
        let what = "the table limits no code, so there is nothing to make a rule of";
        return (what.into(), "check that this is the whole table");
    }
    if pack.limits == 0 {
        let what = "no category has a limit that all codes below it share";
        return (what.into(), "make rules for single codes: {level=codes}");
    }
    match vocabulary {
        Some(vocabulary) if pack.unknown == pack.limits => unknown(table, pack, vocabulary),
        _ if pack.within_bands > 0 => {
            let what = "the table limits ages only, and no age band lies outside them";
            (what.into(), "give a cohort or a vocabulary with narrower age bands")
        }
        _ if pack.without_ages > 0 => {
            let what = "the table limits ages only, and no age bands are known";
            let help = "give {cohort} or {vocabulary} with age bands, and {ages} for what stands \
                        before them";
            (what.into(), help)
        }
        _ => {
            let what = "what the table says of known codes, the records contradict, or they do not \
                        tell how likely it is";
            (what.into(), "give {cohort}, or the probability with {code_first}")
        }
    }
}

/// None of the codes that the table is about is known.
fn unknown(table: &ExpertTable, pack: &Pack, vocabulary: &Vocabulary) -> (String, &'static str) {
    let about: Vec<&str> = table.systems().into_iter().map(System::name).collect();
    let about = about.join(" and ");
    if pack.concepts > 0 {
        let (limits, concepts) = (number(pack.limits as u64), number(pack.concepts as u64));
        let what = format!(
            "none of the {limits} limits of the table is about one of the {concepts} known concepts"
        );
        return (what, "say with {ancestors} which concepts are below others");
    }
    if let Some(dialect) = pack.dialects.first() {
        let first = table.entries().iter().find(|entry| entry.system == dialect.system);
        let looked_for = first.map_or(dialect.example.as_str(), |entry| entry.code.as_str());
        let prefix = if first.is_some() { dialect.prefix.as_str() } else { "" };
        let what = format!(
            "none of the {} limits of the table is about a known code; they are looked for as \
             `{prefix}{looked_for}`, and the known codes are such as {}",
            number(pack.limits as u64),
            examples(vocabulary)
        );
        let help = "say with {prefix} what stands before the codes, and with {level} whether \
                    they are whole codes or categories; or leave out {cohort} and {vocabulary}";
        return (what, help);
    }
    let spoken = Dialect::spoken(vocabulary);
    let versions = [System::Icd9, System::Icd10];
    let version = spoken.iter().find(|dialect| versions.contains(&dialect.system));
    match version.filter(|_| table.systems().iter().any(|system| versions.contains(system))) {
        Some(other) => {
            let what = format!(
                "the versions do not match: the table is about {about} codes, and the known codes \
                 are {}, such as `{}`",
                other.system.name(),
                other.example
            );
            (
                what,
                "take the table of the other version, or say with {prefix} what stands before the codes",
            )
        }
        None => {
            let what = format!(
                "the table is about {about} codes, and none of the known codes is one; they are \
                 such as {}",
                examples(vocabulary)
            );
            (
                what,
                "say with {prefix} what stands before the codes; or leave out {cohort} and {vocabulary}",
            )
        }
    }
}

/// One code for each of the most common beginnings.
fn examples(vocabulary: &Vocabulary) -> String {
    const SHOWN: usize = 3;
    let mut beginnings: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for code in vocabulary.codes() {
        if vocabulary.kind(code) == Kind::Encounter && code != vocabulary.end() {
            let name = vocabulary.name(code);
            let beginning = name.split_once("//").map_or("", |(beginning, _)| beginning);
            beginnings.entry(beginning).or_insert((0, name)).0 += 1;
        }
    }
    let mut beginnings: Vec<(usize, &str)> = beginnings.into_values().collect();
    beginnings.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
    let shown: Vec<String> = beginnings
        .iter()
        .take(SHOWN)
        .map(|(_, name)| format!("`{}`", name.chars().take(60).collect::<String>().escape_debug()))
        .collect();
    if shown.is_empty() { "none at all".to_owned() } else { shown.join(", ") }
}
