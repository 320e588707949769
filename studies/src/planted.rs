//! A vocabulary in classes, and a few records that every generated rule must leave alone.

use std::sync::Arc;

use consequence_record::{Code, Kind, Record, Vocabulary};
use consequence_testing::worlds::Choices;

use crate::popularity::Popularity;

/// Codes of a visit, as a hospital's tables have on average.
pub const CODES_PER_VISIT: usize = 14;
/// Codes of a static visit.
pub const CODES_PER_STATIC: usize = 3;
/// Encounters of a record.
pub const ENCOUNTERS: usize = 8;

const PLANTED: u64 = 6;
const UNIVERSAL: usize = 4;

/// Codes by the part they play in real rule tables.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The codes of all classes.
    pub vocabulary: Arc<Vocabulary>,
    /// Static codes, popular ones first.
    pub statics: Vec<Code>,
    /// Codes that every planted visit has, as a code for the kind of visit would be.
    pub universal: Vec<Code>,
    /// The upper level of the hierarchy, about a twentieth of the codes.
    pub chapters: Vec<Code>,
    /// All other encounter codes, popular ones first.
    pub leaves: Vec<Code>,
    /// Rare leaves that stay once they have come.
    pub chronic: Vec<Code>,
    /// Rare leaves that only some patients may have; none of them chronic.
    pub restricted: Vec<Code>,
}

impl Classes {
    /// Splits a vocabulary of the given size, `END` not counted.
    pub fn new(codes: usize, statics: usize) -> Self {
        let encounters = codes - statics;
        let chapters = encounters / 20;
        let name = |code: usize| match code.checked_sub(statics) {
            None => (format!("STATIC//{code}"), Kind::Static),
            Some(code) if code < UNIVERSAL => (format!("ANY//{code}"), Kind::Encounter),
            Some(code) if code < UNIVERSAL + chapters => {
                (format!("CHAPTER//{code}"), Kind::Encounter)
            }
            Some(code) => (format!("LEAF//{code}"), Kind::Encounter),
        };
        let vocabulary = Arc::new(Vocabulary::new((0..codes).map(name)).expect("the names differ"));
        let range = |from: usize, to: usize| (from..to).map(|code| Code(code as u32)).collect();
        let first_leaf = statics + UNIVERSAL + chapters;
        let leaves: Vec<Code> = range(first_leaf, codes);
        let rare = &leaves[leaves.len() / 2..];
        Self {
            vocabulary,
            statics: range(0, statics),
            universal: range(statics, statics + UNIVERSAL),
            chapters: range(statics + UNIVERSAL, first_leaf),
            chronic: rare.iter().copied().step_by(5).collect(),
            restricted: rare.iter().copied().skip(1).step_by(10).collect(),
            leaves,
        }
    }

    /// How popular encounter codes are: universal ones, then leaves with a chapter after every
    /// twentieth of them.
    pub fn encounters(&self) -> Popularity {
        let mut ranked = self.universal.clone();
        let mut chapters = self.chapters.iter().copied();
        for twenty in self.leaves.chunks(20) {
            ranked.extend_from_slice(twenty);
            ranked.extend(chapters.next());
        }
        ranked.extend(chapters);
        Popularity::zipf(ranked)
    }

    /// How popular static codes are.
    pub fn static_popularity(&self) -> Popularity {
        Popularity::zipf(self.statics.clone())
    }

    /// The records that every rule must hold for.
    pub fn planted(&self, seed: u64) -> Vec<Record> {
        let (statics, encounters) = (self.static_popularity(), self.encounters());
        (0..PLANTED)
            .map(|number| {
                let mut choices = Choices::new(seed ^ 0x1107, number);
                let mut visits = vec![statics.pick_set(CODES_PER_STATIC, &mut choices)];
                visits.extend((0..ENCOUNTERS).map(|_| {
                    let mut visit =
                        encounters.pick_set(CODES_PER_VISIT - UNIVERSAL / 2, &mut choices);
                    visit.extend(&self.universal);
                    visit
                }));
                Record::new(visits)
            })
            .collect()
    }
}
