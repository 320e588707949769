//! The codes of a preset: their names, titles and categories.

mod chapters;
mod notable;

use std::sync::Arc;

use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Kind, Vocabulary};

use chapters::{CHAPTERS, Joint};
pub(crate) use chapters::{CLUSTERS, Chapter, Profile, Stage};
pub(crate) use notable::{INPATIENT_OUTCOMES, NOTABLE, OUTPATIENT_OUTCOMES, Outcome};

use crate::preset::Preset;

/// The demographic codes of sex.
pub(crate) const SEXES: [(&str, &str); 2] = [("SEX//F", "Female"), ("SEX//M", "Male")];

/// Sets the order of the ordinary codes. Any other number would do as well.
const ORDER_SEED: u64 = 0xc0de5;

/// The codes of a preset.
pub(crate) struct Catalogue {
    pub vocabulary: Arc<Vocabulary>,
    titles: Vec<String>,
    /// The ordinary codes, the most frequent first.
    pub ordinary: Vec<Ordinary>,
}

/// A code of which nothing is known but its chapter and its rank by frequency.
pub(crate) struct Ordinary {
    pub code: Code,
    pub chapter: &'static Chapter,
    /// The category's own code, for a code below one.
    pub category: Option<Code>,
}

/// An ordinary code before it has a number.
struct Entry {
    chapter: &'static Chapter,
    site: &'static str,
    finding: Option<&'static str>,
}

impl Entry {
    fn name(&self) -> String {
        let category = format!("DX//{}//{}", self.chapter.name, self.site);
        self.finding.map_or(category.clone(), |finding| format!("{category}//{finding}"))
    }

    fn title(&self) -> String {
        let site = self.site.replace('-', " ");
        let finding = self.finding.map(|finding| finding.replace('-', " "));
        match (self.chapter.joint, finding) {
            (Joint::Of, Some(finding)) => capital(&format!("{finding} of {site}")),
            (Joint::Of, None) => capital(&format!("disorder of {site}")),
            (Joint::After, Some(finding)) => capital(&format!("{site} {finding}")),
            (Joint::After, None) => capital(&format!("{site} disease")),
        }
    }
}

impl Catalogue {
    pub fn new(preset: Preset) -> Self {
        let settings = preset.settings();
        let demographic = SEXES
            .iter()
            .map(|&(name, title)| (name.to_owned(), title.to_owned(), Kind::Static))
            .chain(settings.bands.iter().map(|band| {
                let ages = band.name.trim_start_matches("AGE//");
                (band.name.to_owned(), format!("Age {ages}"), Kind::Static)
            }));
        let outcomes = settings.outcomes.iter().map(|outcome| (outcome.name, outcome.title));
        let notable = NOTABLE.iter().map(|notable| (notable.name, notable.title));
        let by_hand = outcomes
            .chain(notable)
            .map(|(name, title)| (name.to_owned(), title.to_owned(), Kind::Encounter));
        let mut codes: Vec<(String, String, Kind)> = demographic.chain(by_hand).collect();

        let first = codes.len();
        let figures = preset.figures();
        let room = (figures.codes + figures.demographic).saturating_sub(first);
        let entries = entries(room);
        codes.extend(entries.iter().map(|entry| (entry.name(), entry.title(), Kind::Encounter)));
        let names = codes.iter().map(|(name, _, kind)| (name, *kind));
        let vocabulary = Vocabulary::new(names).expect("the built-in names are distinct");
        let ordinary = entries
            .iter()
            .enumerate()
            .map(|(rank, entry)| Ordinary {
                code: Code((first + rank) as u32),
                chapter: entry.chapter,
                category: entry
                    .finding
                    .and_then(|_| vocabulary.code(&Entry { finding: None, ..*entry }.name())),
            })
            .collect();
        let titles = codes.into_iter().map(|(_, title, _)| title).collect();
        Self { vocabulary: Arc::new(vocabulary), titles, ordinary }
    }

    /// The same codes, and others of encounters after them, each with its title.
    pub fn with(self, further: Vec<(String, String)>) -> Self {
        let known = self.vocabulary.codes().take(self.titles.len());
        let known = known.map(|code| (self.vocabulary.name(code), self.vocabulary.kind(code)));
        let new = further.iter().map(|(name, _)| (name.as_str(), Kind::Encounter));
        let vocabulary = Vocabulary::new(known.chain(new)).expect("the added names are distinct");
        let titles = self.titles.into_iter().chain(further.into_iter().map(|(_, title)| title));
        Self { vocabulary: Arc::new(vocabulary), titles: titles.collect(), ordinary: self.ordinary }
    }

    pub fn title(&self, code: Code) -> Option<&str> {
        self.titles.get(code.index()).map(String::as_str)
    }

    /// The codes of these names, as far as the preset has them.
    pub fn code(&self, name: &str) -> Option<Code> {
        self.vocabulary.code(name)
    }
}

/// So many ordinary codes, in a fixed order that mixes the chapters. All categories are among them.
fn entries(count: usize) -> Vec<Entry> {
    let sites = || {
        CHAPTERS.iter().flat_map(|chapter| chapter.sites.iter().map(move |&site| (chapter, site)))
    };
    let categories = sites().map(|(chapter, site)| Entry { chapter, site, finding: None });
    let findings = (0..10).flat_map(|number| {
        sites().map(move |(chapter, site)| Entry {
            chapter,
            site,
            finding: chapter.findings.get(number).copied(),
        })
    });
    let mut entries: Vec<Entry> = categories.chain(findings).take(count).collect();
    let mut words = Draws::new(ORDER_SEED).visit(0, 0, 0, Purpose::Order);
    for end in (1..entries.len()).rev() {
        let other = (u64::from(words.word(end as u32)) * (end as u64 + 1)) >> 32;
        entries.swap(other as usize, end);
    }
    entries
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_the_codes_it_promises() {
        for preset in Preset::ALL {
            let catalogue = Catalogue::new(preset);
            let vocabulary = &catalogue.vocabulary;
            let count =
                |kind| vocabulary.codes().filter(|&code| vocabulary.kind(code) == kind).count();
            let figures = preset.figures();
            assert_eq!(count(Kind::Static), figures.demographic);
            assert_eq!(count(Kind::Encounter), figures.codes + 1, "and END");
            assert!(catalogue.title(vocabulary.end()).is_none());
            for code in vocabulary.codes().filter(|&code| code != vocabulary.end()) {
                assert!(catalogue.title(code).is_some_and(|title| !title.is_empty()));
            }
        }
    }

    #[test]
    fn clusters_name_codes_and_chapters_that_exist() {
        let catalogue = Catalogue::new(Preset::Inpatient);
        for cluster in &CLUSTERS {
            assert!(cluster.cores.iter().all(|core| catalogue.code(core).is_some()));
            assert!(CHAPTERS.iter().any(|chapter| chapter.name == cluster.chapter));
        }
    }
}
