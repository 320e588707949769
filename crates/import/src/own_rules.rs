//! Rules that every record of an import obeys by the way it was made.

use std::fmt::Write;

use consequence_record::{Code, EDITION_PREFIX, Kind, Vocabulary, edition};
use consequence_rules::language::Expression;

use crate::Import;
use crate::codes::Role;
use crate::known::Known;

impl Import {
    /// Rules that every record obeys by the way it was made, as the text of a rule file; none where
    /// there are none: exactly one sex and one age band where subjects without are left out, at most
    /// one of each other kind of static code of which the first holds, one code for the time since the
    /// encounter before and none in the first, one for the length of each stay, and one for the edition of a classification
    /// that an encounter is coded in.
    ///
    /// ```
    /// use consequence_feedback::Unwatched;
    /// use consequence_import::{CsvColumns, ImportOptions, Source, open};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("events.csv");
    /// std::fs::write(&path, "subject_id,time,code,SEX\n7,2024-03-01,B,F\n2,2024-02-01,A,M\n")?;
    /// let columns = CsvColumns { statics: vec!["SEX".into()], ..CsvColumns::default() };
    /// let import = open(&Source::Csv(columns), &path, &ImportOptions::default(), &Unwatched)?;
    /// assert!(import.own_rules().unwrap().contains("rule own-one-SEX: at most one of SEX//F, SEX//M\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn own_rules(&self) -> Option<String> {
        self.known.own_rules()
    }
}

impl Known {
    /// Rules that every record obeys by the way it was made; see [`Import::own_rules`].
    pub fn own_rules(&self) -> Option<String> {
        let times = Times { gaps: self.gap_codes(), stays: self.kept_codes(self.finals.stays()) };
        let kinds = self.exclusive_kinds();
        let editions = self.kept_codes(self.finals.editions());
        let timeless = times.gaps.is_empty() && times.stays.is_empty();
        if kinds.is_empty() && timeless && editions.is_empty() {
            return None;
        }
        let mut text =
            String::from("# Rules that every record obeys by the way it was imported.\n");
        // Writing to a string cannot fail.
        let _ = self.write_own_rules(&mut text, &kinds, &times);
        let _ = self.write_editions(&mut text, &editions);
        Some(text)
    }

    fn write_own_rules(
        &self,
        out: &mut String,
        kinds: &[ExclusiveKind],
        times: &Times,
    ) -> std::fmt::Result {
        let listed = |codes: &[Code]| listed(&self.vocabulary, codes);
        let statics: Vec<Code> = kinds.iter().flat_map(|kind| kind.codes.iter().copied()).collect();
        if !statics.is_empty() {
            writeln!(out, "\nstatic {}\n", listed(&statics))?;
        }
        for ExclusiveKind { name, codes, needed } in kinds {
            let how_many = if *needed { "exactly" } else { "at most" };
            writeln!(out, "rule own-one-{name}: {how_many} one of {}", listed(codes))?;
        }
        let (gaps, stays) = (listed(&times.gaps), listed(&times.stays));
        if !times.gaps.is_empty() {
            // The visit before the first encounter is the static one, and that has no stay.
            let first = match kinds.iter().find(|kind| kind.needed) {
                Some(kind) => Some((format!("(any of {}) in previous", listed(&kind.codes)), true)),
                None if self.habits.all_stay && !times.stays.is_empty() => {
                    Some((format!("(any of {stays}) in previous"), false))
                }
                None => None,
            };
            match first {
                Some((known, at_first)) => {
                    let other = format!("not {known}");
                    let (first, later) = if at_first { (known, other) } else { (other, known) };
                    writeln!(out, "rule own-no-gap-at-first: {first} => none of {gaps}")?;
                    writeln!(out, "rule own-one-gap-later: {later} => exactly one of {gaps}")?;
                }
                None => writeln!(out, "rule own-one-gap: at most one of {gaps}")?,
            }
        }
        if !times.stays.is_empty() && self.habits.one_stay {
            let how_many = if self.habits.all_stay { "exactly" } else { "at most" };
            writeln!(out, "rule own-one-stay: {how_many} one of {stays}")?;
        }
        Ok(())
    }

    /// A code of a classification comes only with that of its edition; where every record shows it, an encounter has
    /// one edition, and none is older than one before it.
    fn write_editions(&self, out: &mut String, editions: &[Code]) -> std::fmt::Result {
        let name = |code: &Code| self.vocabulary.name(*code);
        let word = |code: &Code| name(code).trim_start_matches(EDITION_PREFIX);
        for code in editions {
            let number = |name: &str| edition(name).map(|(number, _)| number);
            let this = number(&format!("{}//", word(code)));
            let codes: Vec<Code> =
                self.vocabulary.codes().filter(|code| number(name(code)) == this).collect();
            let codes = patterns(&self.vocabulary, &codes);
            writeln!(
                out,
                "rule own-edition-{}: not {} => none of {codes}",
                word(code),
                name(code)
            )?;
        }
        if editions.len() < 2 {
            return Ok(());
        }
        if self.habits.one_edition {
            let all = listed(&self.vocabulary, editions);
            writeln!(out, "rule own-one-edition: at most one of {all}")?;
        }
        for (at, newer) in
            editions.iter().enumerate().skip(1).filter(|_| self.habits.newer_editions)
        {
            let older = listed(&self.vocabulary, &editions[..at]);
            let (word, newer) = (word(newer), name(newer));
            writeln!(out, "rule own-none-before-{word}: {newer} in past => none of {older}")?;
        }
        Ok(())
    }

    /// The codes of times since the encounter before, where every encounter but the first has one. What
    /// encounters left out later make of them is not known without dates.
    fn gap_codes(&self) -> Vec<Code> {
        let known = self.profile.dated || !self.options.drop_empty;
        if self.habits.gaps && known { self.kept_codes(self.finals.gaps()) } else { Vec::new() }
    }

    /// Kinds of static codes of which a record has one.
    fn exclusive_kinds(&self) -> Vec<ExclusiveKind> {
        let mut kinds: Vec<ExclusiveKind> = Vec::new();
        for (raw, code) in self.codes.entries().iter().enumerate() {
            if !code.is(Role::Exclusive) {
                continue;
            }
            let targets = self.finals.of(raw, f32::NAN).unwrap_or_default();
            let codes = self.kept_codes(targets.iter().copied());
            let name = code.name.split_once("//").map_or(&*code.name, |(system, _)| system);
            let needed = name == "SEX" && self.profile.sex && self.options.sex;
            match kinds.iter_mut().find(|kind| kind.name == name) {
                Some(kind) => kind.codes.extend(codes),
                None => kinds.push(ExclusiveKind { name: name.to_owned(), codes, needed }),
            }
        }
        let codes = self.kept_codes(self.finals.ages());
        match kinds.iter_mut().find(|kind| kind.name == "AGE") {
            Some(kind) => kind.codes.extend(codes),
            None => {
                let (name, needed) = ("AGE".to_owned(), self.profile.age);
                kinds.push(ExclusiveKind { name, codes, needed });
            }
        }
        for kind in &mut kinds {
            kind.codes.sort_unstable();
            kind.codes.dedup();
        }
        // A name that a rule cannot have is no reason to lose the others.
        kinds.retain(|kind| !kind.codes.is_empty() && is_plain(&kind.name));
        kinds
    }

    fn kept_codes(&self, finals: impl IntoIterator<Item = u32>) -> Vec<Code> {
        let kept = |number: u32| self.kept.get(number as usize).copied()?;
        finals.into_iter().filter_map(kept).collect()
    }
}

/// The codes that tell the time.
struct Times {
    gaps: Vec<Code>,
    stays: Vec<Code>,
}

/// A kind of static code of which a record has one.
struct ExclusiveKind {
    name: String,
    codes: Vec<Code>,
    /// Whether a record without is left out.
    needed: bool,
}

fn listed(vocabulary: &Vocabulary, codes: &[Code]) -> String {
    Expression::literals(codes.iter().map(|&code| vocabulary.name(code)))
}

/// Codes of an edition by patterns of what they begin with, as far as those stand for codes of encounters alone.
fn patterns(vocabulary: &Vocabulary, codes: &[Code]) -> String {
    let begin = |code: &Code| edition(vocabulary.name(*code)).map_or("", |(_, begin)| begin);
    let is_static = |code: &Code| vocabulary.kind(*code) == Kind::Static;
    let with_statics: Vec<&str> = codes.iter().filter(|code| is_static(code)).map(begin).collect();
    let encounters: Vec<Code> = codes.iter().copied().filter(|code| !is_static(code)).collect();
    let alike = encounters.chunk_by(|one, other| begin(one) == begin(other));
    let parts = alike.map(|alike| {
        let begin = begin(&alike[0]);
        match begin.split("//").all(is_plain) && !with_statics.contains(&begin) {
            true => format!("{begin}//*"),
            false => listed(vocabulary, alike),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter))
}
