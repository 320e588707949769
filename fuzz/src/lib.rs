//! Damaged and hostile inputs for everything that is read from outside.
//!
//! A [`Target`] takes any bytes: it must not panic, what it refuses it refuses with a text, and what it
//! takes it must give back the same. [`Target::run`] first hands it the inputs that ever made it fail
//! (`fuzz/kept`), then its seeds as they are, then so many inputs made from them. An input depends on the
//! seeds and its number alone. One that fails is written into `fuzz/kept`, and stays there.
//!
//! `CONSEQUENCE_FUZZ_INPUTS` asks for another number of inputs than a test makes by itself. If an
//! input aborts such a run, the next one keeps it.
#![forbid(unsafe_code)]

mod cohorts;
mod models;
mod mutate;
mod packs;
mod rules;
mod seeds;

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use consequence_store::{create_directory, digest, write_atomically};

pub use cohorts::COHORT_LINES;
pub use models::{MARKOV_TABLES, MODEL_CARD, NETWORK_WEIGHTS};
pub use packs::EXPERT_TABLES;
pub use rules::{RULE_JSON, RULE_TEXT, RULE_TUPLES};

use mutate::Mutator;

/// The variable that asks for another number of inputs.
pub const INPUTS: &str = "CONSEQUENCE_FUZZ_INPUTS";

/// Something that reads bytes from outside.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `fuzz/kept`.
    pub name: &'static str,
    /// Reads the bytes; panics where something is wrong with how they are read.
    pub read: fn(&[u8]),
    /// Inputs that are taken, or nearly.
    seeds: fn() -> Vec<Vec<u8>>,
    /// Words that mean something in such inputs.
    words: &'static [&'static str],
}

impl Target {
    /// Hands the target what it failed on before, its seeds, and so many inputs made from them.
    ///
    /// # Panics
    /// If the target does, once the input is kept.
    pub fn run(&self, inputs: u64) {
        for path in self.kept() {
            let input =
                fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (self.read)(&input);
        }
        let seeds = (self.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", self.name);
        seeds.iter().for_each(|seed| self.hand(seed));
        let asked: Option<u64> = std::env::var(INPUTS).ok().and_then(|asked| asked.parse().ok());
        let mut mutator = Mutator::new(&seeds, self.words);
        // What aborts the program cannot be kept by it: the next long run does that.
        let at_hand = asked.map(|_| std::env::temp_dir().join(format!("fuzz-{}", self.name)));
        if let Some(number) = at_hand.as_ref().and_then(|path| fs::read(path).ok()) {
            let number = number.try_into().map_or(0, u64::from_le_bytes);
            self.keep(mutator.input(number));
        }
        let mut file = at_hand.as_ref().map(|path| File::create(path).expect("a folder for it"));
        for number in 0..asked.unwrap_or(inputs) {
            if let Some(file) = &mut file {
                let written = file.rewind().and_then(|()| file.write_all(&number.to_le_bytes()));
                written.expect("eight bytes");
            }
            self.hand(mutator.input(number));
        }
        if let Some(path) = at_hand {
            let _ = fs::remove_file(path);
        }
    }

    /// The inputs that are kept.
    pub fn kept(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(kept_folder().join(self.name)).into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }

    /// Hands the target an input, and keeps it if that fails.
    fn hand(&self, input: &[u8]) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.read)(input)));
        if let Err(panic) = outcome {
            self.keep(input);
            resume_unwind(panic);
        }
    }

    fn keep(&self, input: &[u8]) {
        let folder = kept_folder().join(self.name);
        let path = folder.join(&digest(input)[..16]);
        let kept = create_directory(&folder)
            .and_then(|()| write_atomically(&path, |file| file.write_all(input)));
        match kept {
            Ok(()) => eprintln!("{} fails on {}", self.name, path.display()),
            Err(error) => eprintln!("{} fails on {input:?}, and {error}", self.name),
        }
    }
}

/// Where inputs are kept that ever failed.
fn kept_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kept")
}

/// Asserts that an error says something, on lines that can be read.
fn says_something(error: &dyn std::fmt::Display) {
    let said = error.to_string();
    assert!(!said.trim().is_empty(), "an error without a text");
    assert!(
        said.lines().all(|line| line.chars().count() < 2_000),
        "a line of {} bytes",
        said.len()
    );
}
