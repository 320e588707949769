//! Rules that every record of an import obeys by the way it was made.

use std::fmt::Write;

use consequence_record::{Code, Vocabulary};
use consequence_rules::language::Expression;

use crate::Import;
use crate::codes::Role;

impl Import {
    /// Rules that every record obeys by the way it was made, as the text of a rule file; none where
    /// there are none: exactly one sex and one age band where subjects without are left out, at most
    /// one of each other kind of static code of which the first holds, and one code for the time
    /// since the encounter before.
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
        let kinds = self.exclusive_kinds();
        let gaps = self.kept_codes(self.finals.gaps());
        if kinds.is_empty() && gaps.is_empty() {
            return None;
        }
        let mut text =
            String::from("# Rules that every record obeys by the way it was imported.\n");
        // Writing to a string cannot fail.
        let _ = self.write_own_rules(&mut text, &kinds, &gaps);
        Some(text)
    }

    fn write_own_rules(
        &self,
        out: &mut String,
        kinds: &[ExclusiveKind],
        gaps: &[Code],
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
        if gaps.is_empty() {
            return Ok(());
        }
        let gaps = listed(gaps);
        match kinds.iter().find(|kind| kind.needed) {
            // The visit before the first encounter is the static one.
            Some(kind) => {
                let first = format!("(any of {}) in previous", listed(&kind.codes));
                writeln!(out, "rule own-no-gap-at-first: {first} => none of {gaps}")?;
                writeln!(out, "rule own-one-gap-later: not {first} => exactly one of {gaps}")
            }
            None => writeln!(out, "rule own-one-gap: at most one of {gaps}"),
        }
    }

    /// Kinds of static codes of which a record has one.
    fn exclusive_kinds(&self) -> Vec<ExclusiveKind> {
        let mut kinds: Vec<ExclusiveKind> = Vec::new();
        for (raw, code) in self.codes.entries().iter().enumerate() {
            if !code.is(Role::Exclusive) {
                continue;
            }
            let targets = self.finals.of(raw, f32::NAN, &self.cuts).unwrap_or_default();
            let codes = self.kept_codes(targets);
            let name = code.name.split_once("//").map_or(&*code.name, |(system, _)| system);
            let needed = name == "SEX" && self.profile.sex && self.options.sex;
            match kinds.iter_mut().find(|kind| kind.name == name) {
                Some(kind) => kind.codes.extend(codes),
                None => kinds.push(ExclusiveKind { name: name.to_owned(), codes, needed }),
            }
        }
        if self.profile.age {
            let codes = self.kept_codes(self.finals.ages());
            kinds.push(ExclusiveKind { name: "AGE".to_owned(), codes, needed: true });
        }
        for kind in &mut kinds {
            kind.codes.sort_unstable();
            kind.codes.dedup();
        }
        // A name that a rule cannot have is no reason to lose the others.
        kinds.retain(|kind| !kind.codes.is_empty() && is_plain(&kind.name));
        kinds
    }

    fn kept_codes(&self, finals: &[u32]) -> Vec<Code> {
        finals.iter().filter_map(|&number| self.kept.get(number as usize).copied()?).collect()
    }
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

fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter))
}
