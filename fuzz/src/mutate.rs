//! New inputs from old ones.

use consequence_prng::{Draws, Purpose, VisitDraws};

/// Numbers at which something could be wrong.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "-0",
    "1e308",
    "1e400",
];

/// Makes inputs, each of which depends on the seeds and its number alone.
pub(crate) struct Mutator<'a> {
    seeds: &'a [Vec<u8>],
    words: &'a [&'a str],
    draws: Numbered,
    input: Vec<u8>,
}

/// The draws of one input, one after the other.
struct Numbered {
    draws: VisitDraws,
    next: u32,
}

impl Numbered {
    fn of(number: u64) -> Self {
        Self { draws: Draws::new(7).visit(number, 0, 0, Purpose::Simulation), next: 0 }
    }

    fn word(&mut self) -> u32 {
        self.next += 1;
        self.draws.word(self.next - 1)
    }

    /// A number below a bound; 0 where there is none.
    fn below(&mut self, bound: usize) -> usize {
        ((u64::from(self.word()) * bound as u64) >> 32) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> Option<&'a T> {
        from.get(self.below(from.len())).copied()
    }
}

impl<'a> Mutator<'a> {
    pub fn new(seeds: &'a [Vec<u8>], words: &'a [&'a str]) -> Self {
        Self { seeds, words, draws: Numbered::of(0), input: Vec::new() }
    }

    /// The input of a number: random bytes, words in a row, or a seed that was changed in some places.
    pub fn input(&mut self, number: u64) -> &[u8] {
        self.draws = Numbered::of(number);
        self.input.clear();
        match self.draws.below(12) {
            0 => {
                for _ in 0..self.draws.below(200) {
                    let byte = self.draws.word() as u8;
                    self.input.push(byte);
                }
            }
            1 => {
                for _ in 0..self.draws.below(60) {
                    let word = self.word();
                    self.input.extend_from_slice(word);
                    let gap = self.draws.pick(&[b"".as_slice(), b" ", b"\n"]).unwrap_or_default();
                    self.input.extend_from_slice(gap);
                }
            }
            _ => {
                self.input.extend_from_slice(&self.seeds[self.draws.below(self.seeds.len())]);
                let most = self.draws.below(6);
                for _ in 0..1 + self.draws.below(1 + most) {
                    self.change();
                }
            }
        }
        &self.input
    }

    fn word(&mut self) -> &'a [u8] {
        self.draws.pick(self.words).unwrap_or_default().as_bytes()
    }

    /// Changes the input in one place.
    fn change(&mut self) {
        let at = self.draws.below(self.input.len());
        let end = (at + 1 + self.draws.below(40)).min(self.input.len());
        match self.draws.below(9) {
            0 if at < end => self.input[at] = self.draws.word() as u8,
            1 if at < end => self.input[at] ^= 1 << self.draws.below(8),
            2 => {
                self.input.drain(at..end);
            }
            3 if self.draws.below(4) == 0 => self.input.truncate(at),
            4 => {
                let copy = self.input[at..end].to_vec();
                let to = self.draws.below(self.input.len());
                self.input.splice(to..to, copy);
            }
            5 => {
                let number = self.draws.pick(&NUMBERS).unwrap_or_default();
                let digits = self.digits(at);
                self.input.splice(digits, number.bytes());
            }
            6 => {
                let other = &self.seeds[self.draws.below(self.seeds.len())];
                let from = self.draws.below(other.len());
                let to = (from + self.draws.below(120)).min(other.len());
                self.input.splice(at..end, other[from..to].iter().copied());
            }
            7 => {
                let word = self.word();
                self.input.splice(at..end, word.iter().copied());
            }
            _ => {
                let word = self.word();
                self.input.splice(at..at, word.iter().copied());
            }
        }
    }

    /// The number that begins at a position or after it; nothing at the position where there is none.
    fn digits(&self, at: usize) -> std::ops::Range<usize> {
        let digit = |byte: &u8| byte.is_ascii_digit();
        let Some(start) = self.input[at..].iter().position(digit) else { return at..at };
        let start = at + start;
        let length = self.input[start..].iter().position(|byte| !digit(byte));
        start..length.map_or(self.input.len(), |length| start + length)
    }
}
