//! Rules from notes on ranges of codes.

use std::collections::{BTreeMap, BTreeSet};

use consequence_record::{Code, Vocabulary};

use crate::codes::System;
use crate::error::PackError;
use crate::expert::{Entry, ExpertTable, Limit};
use crate::maker::{Maker, Names, rule};
use crate::observed::{self, Beside, Share, Sides};
use crate::pack::{Pack, PackOptions, Rules};
use crate::spans::{Span, covered};
use crate::tabular::{Note, Says};

/// The most pairs of codes that are remembered, so that none is told twice.
const MOST_PAIRS: usize = 1 << 22;

/// A note with the codes of the vocabulary that it is about, and those it names.
struct Met<'n, 'a> {
    note: &'n Note,
    sides: [Vec<&'a str>; 2],
}

/// Adds the rules of all notes, and gives how many limits of age no rule was made of.
pub(crate) fn add(
    table: &ExpertTable,
    names: &Names<'_>,
    maker: &mut Maker<'_>,
    options: &PackOptions<'_>,
    pack: &mut Pack,
    rules: &mut Rules,
) -> Result<usize, PackError> {
    let Some(vocabulary) = options.vocabulary else {
        return Err(PackError::NoVocabulary { file: table.file.clone() });
    };
    let known: Vec<(&str, &str)> = names.all(System::Icd10).collect();
    let inside = |spans: &[Span]| -> Vec<&str> {
        let covered = known.iter().filter(|(plain, _)| covered(spans, plain));
        covered.map(|&(_, name)| name).collect()
    };
    let (mut excluding, mut first) = (Vec::new(), Vec::new());
    let mut ages_left_out = 0;
    for note in &table.notes {
        let about = inside(&note.about);
        match &note.says {
            _ if about.is_empty() => pack.unknown += 1,
            Says::Limit(limit) => {
                let about = known.iter().filter(|(plain, _)| covered(&note.about, plain));
                ages_left_out += limited(table, note, *limit, about, maker, rules)?;
            }
            Says::Excludes(others) => match apart(about, inside(others)) {
                Some(sides) => excluding.push(Met { note, sides }),
                None => pack.unknown += 1,
            },
            Says::First(others) => {
                let mut others = inside(others);
                others.retain(|other| !about.contains(other));
                if others.is_empty() {
                    pack.unknown += 1;
                } else {
                    first.push(Met { note, sides: [about, others] });
                }
            }
        }
    }
    let mut depends = Depends::default();
    exclude(excluding, vocabulary, maker, options, pack, rules, &mut depends);
    put_first(&first, vocabulary, maker, options, pack, rules, &mut depends);
    Ok(ages_left_out)
}

/// Rules for a limit on all codes that a note is about.
fn limited<'k>(
    table: &ExpertTable,
    note: &Note,
    limit: Limit,
    about: impl Iterator<Item = &'k (&'k str, &'k str)>,
    maker: &mut Maker<'_>,
    rules: &mut Rules,
) -> Result<usize, PackError> {
    let titles = table.codes();
    let mut ages_left_out = 0;
    for &(plain, name) in about {
        let key = (limit, name.to_owned());
        if rules.contains_key(&key) {
            continue;
        }
        let title = titles.and_then(|list| list.titles.get(plain)).unwrap_or(&note.text).clone();
        let code = plain.to_owned();
        let entry = Entry { system: System::Icd10, code, title, limit, below: false };
        match maker.limited(&entry, name)? {
            Some(rule) => {
                rules.insert(key, rule);
            }
            None => ages_left_out = 1,
        }
    }
    Ok(ages_left_out)
}

/// Two sets of codes without one in common: what is in both goes with the side that keeps some.
fn apart<'a>(about: Vec<&'a str>, others: Vec<&'a str>) -> Option<[Vec<&'a str>; 2]> {
    let without = |codes: &[&'a str], taken: &[&'a str]| -> Vec<&'a str> {
        codes.iter().filter(|code| !taken.contains(code)).copied().collect()
    };
    let alone = without(&about, &others);
    let sides =
        if alone.is_empty() { [about.clone(), without(&others, &about)] } else { [alone, others] };
    sides.iter().all(|side| !side.is_empty()).then_some(sides)
}

/// Codes as the vocabulary numbers them.
fn numbered(vocabulary: &Vocabulary, names: &[&str]) -> Vec<Code> {
    names.iter().filter_map(|name| vocabulary.code(name)).collect()
}

/// How many visits have codes of each side; none without records.
fn counted(
    sides: &[Sides],
    vocabulary: &Vocabulary,
    options: &PackOptions<'_>,
) -> Option<(Vec<Beside>, u64)> {
    options.records.map(|records| observed::beside(records, vocabulary.len(), sides))
}

fn exclude(
    met: Vec<Met<'_, '_>>,
    vocabulary: &Vocabulary,
    maker: &mut Maker<'_>,
    options: &PackOptions<'_>,
    pack: &mut Pack,
    rules: &mut Rules,
    depends: &mut Depends,
) {
    let mut told: BTreeSet<(Code, Code)> = BTreeSet::new();
    let mut kept: Vec<(Met<'_, '_>, Sides)> = Vec::new();
    for met in met {
        let sides = met.sides.each_ref().map(|side| numbered(vocabulary, side));
        let pairs = sides[0].len().saturating_mul(sides[1].len());
        let mut news = told.len().saturating_add(pairs) > MOST_PAIRS;
        if !news {
            for &one in &sides[0] {
                for &other in &sides[1] {
                    news |= told.insert((one.min(other), one.max(other)));
                }
            }
        }
        if news {
            kept.push((met, sides));
        } else {
            pack.repeated += 1;
        }
    }
    let sides: Vec<Sides> = kept.iter().map(|(_, sides)| sides.clone()).collect();
    let counts = counted(&sides, vocabulary, options);
    for (index, (Met { note, sides }, codes)) in kept.iter().enumerate() {
        let beside = counts.as_ref().map(|(counts, _)| counts[index]);
        let evidence = beside.map(|Beside { first, second, both }| {
            format!(
                "visits of the records with the one: {first}, with the other: {second}, with both: \
                 {both}"
            )
        });
        let item = maker.excludes(&note.at, [&sides[0], &sides[1]]);
        let title = format!("{} Excludes1: {}", note.at, note.text);
        let rule = rule(item, &note.at, &title, Limit::Excludes, evidence);
        if beside.is_some_and(|beside| beside.both > 0) {
            pack.broken.push(rule);
        } else {
            depends.add(&codes[0], &codes[1]);
            rules.insert((Limit::Excludes, rule.name.clone()), rule);
        }
    }
}

fn put_first(
    met: &[Met<'_, '_>],
    vocabulary: &Vocabulary,
    maker: &mut Maker<'_>,
    options: &PackOptions<'_>,
    pack: &mut Pack,
    rules: &mut Rules,
    depends: &mut Depends,
) {
    let mut sides: Vec<Sides> = Vec::new();
    let mut of: Vec<(&Met<'_, '_>, &str)> = Vec::new();
    for met in met {
        let before = numbered(vocabulary, &met.sides[1]);
        for &code in &met.sides[0] {
            sides.push([numbered(vocabulary, &[code]), before.clone()]);
            of.push((met, code));
        }
    }
    let counts = counted(&sides, vocabulary, options);
    let share = |beside: &Beside| Share { so: beside.both, of: beside.first };
    let pooled =
        counts.as_ref().and_then(|(counts, _)| Share::pooled(counts.iter().map(share)).rate());
    let mut without: BTreeSet<&str> = BTreeSet::new();
    for (index, (met, code)) in of.into_iter().enumerate() {
        let Met { note, sides: names } = met;
        let shown = counts.as_ref().zip(pooled).map(|((counts, visits), pooled)| {
            let beside = &counts[index];
            // Of the visits that lack all codes to put first, those that have this code all the
            // same.
            let alone = beside.first as f64 * (1.0 - share(beside).shrunk(pooled));
            let lacking = (visits - beside.second).max(1) as f64;
            let evidence = format!(
                "in the records {} of {} visits with it have one of them; {pooled:.4} over all \
                 such codes",
                beside.both, beside.first
            );
            (observed::soft(1.0 - alone / lacking), evidence)
        });
        let (probability, evidence) = match (options.code_first, shown) {
            (Some(given), _) => (given, None),
            (None, Some((probability, evidence))) => (probability, Some(evidence)),
            (None, None) => {
                without.insert(&note.at);
                continue;
            }
        };
        let [code_number, before] = &sides[index];
        // The draw of a soft rule cannot depend on itself.
        if depends.reaches(code_number, before) {
            pack.cyclic += 1;
            continue;
        }
        depends.add(before, code_number);
        let item = maker.first(code, &names[1], probability);
        let title = format!("{} Code first: {}", note.at, note.text);
        let rule = rule(item, code, &title, Limit::CodeFirst, evidence);
        rules.insert((Limit::CodeFirst, rule.name.clone()), rule);
    }
    pack.without_probability += without.len();
}

/// Which codes are decided after which.
#[derive(Default)]
struct Depends {
    after: BTreeMap<Code, BTreeSet<Code>>,
}

impl Depends {
    fn add(&mut self, from: &[Code], to: &[Code]) {
        for &code in from {
            self.after.entry(code).or_default().extend(to);
        }
    }

    /// Whether one of some codes comes after another of some.
    fn reaches(&self, from: &[Code], to: &[Code]) -> bool {
        let mut met: BTreeSet<Code> = from.iter().copied().collect();
        let mut waiting: Vec<Code> = from.to_vec();
        while let Some(code) = waiting.pop() {
            if to.contains(&code) {
                return true;
            }
            let next = self.after.get(&code).into_iter().flatten();
            waiting.extend(next.filter(|next| met.insert(**next)));
        }
        false
    }
}
