//! What the planted rules ask of a code, ready to be looked up when it is written down.

use consequence_record::Code;

use crate::catalogue::Catalogue;
use crate::planted::{AFTER_DISEASE, EQUIVALENT, EXCLUSIVE, LIFELONG, NEVER, ONLY_AFTER, TOGETHER};
use crate::preset::Preset;
use crate::truth::group_codes;

/// A code whose past matters, by number.
pub(crate) type Watch = usize;

/// The most codes whose past is watched.
pub(crate) const WATCHES: usize = 16;

/// What the rules ask of one code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bond {
    /// Bits of the demographic codes it never comes with.
    pub barred: u32,
    /// What must have been seen before.
    pub needs: Option<Watch>,
    /// Bits of the lists of which a visit has at most one code.
    pub lists: u32,
    /// What comes with it.
    pub brings: Vec<Code>,
    /// What comes with it after a disease.
    pub after: Option<After>,
    /// Whether it stays.
    pub lifelong: bool,
    /// Its number, if its past matters.
    pub watch: Option<Watch>,
}

/// What a code brings after a disease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    pub disease: Watch,
    /// So many visits back at most.
    pub within: u16,
    pub consequence: Code,
}

/// A code that becomes possible once another has been seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later {
    pub code: Code,
    pub probability: f64,
}

/// The bonds of all codes.
#[derive(Clone, Debug)]
pub(crate) struct Bonds {
    /// For each code 0, or the index of its bond counted from 1.
    numbers: Vec<u16>,
    bonds: Vec<Bond>,
    watched: Vec<Code>,
    /// For each watched code, what it makes possible.
    pub later: Vec<Vec<Later>>,
}

impl Bonds {
    pub fn new(preset: Preset, catalogue: &Catalogue) -> Self {
        let mut bonds = Self {
            numbers: vec![0; catalogue.vocabulary.len()],
            bonds: Vec::new(),
            watched: Vec::new(),
            later: Vec::new(),
        };
        bonds.within_visits(preset, catalogue);
        bonds.over_time(preset, catalogue);
        bonds
    }

    /// The bond of a code, if the rules speak of it.
    #[inline]
    pub fn of(&self, code: Code) -> Option<&Bond> {
        match self.numbers[code.index()] {
            0 => None,
            number => self.bonds.get(usize::from(number) - 1),
        }
    }

    fn bond(&mut self, code: Code) -> &mut Bond {
        let number = &mut self.numbers[code.index()];
        if *number == 0 {
            self.bonds.push(Bond::default());
            *number = self.bonds.len() as u16;
        }
        &mut self.bonds[usize::from(*number) - 1]
    }

    fn watch(&mut self, code: Code) -> Watch {
        if let Some(known) = self.watched.iter().position(|&watched| watched == code) {
            return known;
        }
        let watch = self.watched.len();
        self.watched.push(code);
        self.later.push(Vec::new());
        self.bond(code).watch = Some(watch);
        watch
    }

    fn within_visits(&mut self, preset: Preset, catalogue: &Catalogue) {
        let pairs = TOGETHER.iter().map(|&(code, other)| (code, other, false));
        let twins = EQUIVALENT.iter().map(|&(code, other)| (code, other, true));
        for (code, other, both) in pairs.chain(twins) {
            if let [Some(code), Some(other)] = [code, other].map(|name| catalogue.code(name)) {
                self.bond(code).brings.push(other);
                if both {
                    self.bond(other).brings.push(code);
                }
            }
        }
        let outcomes: Vec<&str> =
            preset.settings().outcomes.iter().map(|outcome| outcome.name).collect();
        let lists = EXCLUSIVE.iter().map(|&(_, names)| names).chain([outcomes.as_slice()]);
        for (list, names) in lists.enumerate() {
            for code in names.iter().filter_map(|name| catalogue.code(name)) {
                self.bond(code).lists |= 1 << list;
            }
        }
    }

    fn over_time(&mut self, preset: Preset, catalogue: &Catalogue) {
        for &(group, name) in NEVER {
            for (_, member) in group_codes(preset, group) {
                if let [Some(member), Some(code)] = [member, name].map(|n| catalogue.code(n)) {
                    self.bond(code).barred |= demographic_bit(member);
                }
            }
        }
        for pair in ONLY_AFTER {
            if let [Some(code), Some(first)] = [pair.later, pair.first].map(|n| catalogue.code(n)) {
                let first = self.watch(first);
                self.bond(code).needs = Some(first);
                let probability = pair.probabilities[preset.settings().column];
                self.later[first].push(Later { code, probability });
            }
        }
        for code in LIFELONG.iter().filter_map(|name| catalogue.code(name)) {
            self.bond(code).lifelong = true;
        }
        for case in AFTER_DISEASE {
            let names = [case.disease, case.sign, case.consequence];
            if let [Some(disease), Some(sign), Some(consequence)] = names.map(|n| catalogue.code(n))
            {
                let disease = self.watch(disease);
                let within = case.within.unwrap_or(u16::MAX);
                self.bond(sign).after = Some(After { disease, within, consequence });
            }
        }
    }
}

/// The bit of a demographic code in a set of them. These codes come first in the vocabulary.
pub(crate) fn demographic_bit(code: Code) -> u32 {
    1u32.checked_shl(code.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_all_that_is_watched() {
        for preset in Preset::ALL {
            let bonds = Bonds::new(preset, &Catalogue::new(preset));
            assert!(bonds.watched.len() <= WATCHES);
        }
    }
}
