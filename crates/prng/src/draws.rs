//! Draws by what they are for, and their generator: Philox4x32-10 (Salmon, Moraes, Dror and Shaw,
//! SC 2011).

/// What a draw decides. Draws of different purposes are independent of each other.
///
/// The numbers are part of every key: a new purpose takes a new number, and an old one keeps its
/// own, or the same seed would give other records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Purpose {
    /// Whether a code is in a visit; the index is the code's number.
    Code = 0,
    /// Whether a soft rule applies at a visit; the index is the rule's number.
    Rule = 1,
    /// Which of several proposed records is kept.
    Proposal = 2,
    /// Anything a built-in cohort draws about a patient.
    Simulation = 3,
    /// The order of records: shuffles and splits.
    Order = 4,
    /// The first values of a network's weights.
    Weight = 5,
    /// Which of several codes a rule puts into a visit; the index is the rule's number.
    Alternative = 6,
    /// Births, dates, stays and values of a built-in cohort's patient, so that its codes stay as they are.
    SimulatedDetail = 7,
    /// When a visit is, how long it takes, and when a patient was born.
    Date = 8,
    /// What was measured; the index is the code's number.
    Value = 9,
}

/// All draws of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    key: [u32; 2],
}

impl Draws {
    /// The bits of a record's number that enter the key. Numbers that differ only above them share
    /// their draws; 2^48 is 280 million million records.
    pub const RECORD_BITS: u32 = 48;

    /// The draws of a seed.
    pub fn new(seed: u64) -> Self {
        Self { key: words(seed) }
    }

    /// The number of a record by its id, wherever in a file it is: draws of a record then do not depend
    /// on which others there are.
    ///
    /// ```
    /// use consequence_prng::Draws;
    ///
    /// assert_eq!(Draws::record("p1"), Draws::record("p1"));
    /// assert_ne!(Draws::record("p1"), Draws::record("p2"));
    /// ```
    pub fn record(id: &str) -> u64 {
        // FNV-1a, folded into the bits that count.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        (hash ^ hash >> Self::RECORD_BITS) & ((1 << Self::RECORD_BITS) - 1)
    }

    /// The key of the generator, for kernels that draw on another device.
    pub fn key(&self) -> [u32; 2] {
        self.key
    }

    /// The draws of another attempt at whatever is drawn in several attempts by itself; those of attempt 0 are these.
    ///
    /// ```
    /// use consequence_prng::Draws;
    ///
    /// let draws = Draws::new(1);
    /// assert_eq!(draws.attempt(0), draws);
    /// assert_ne!(draws.attempt(1), draws.attempt(2));
    /// ```
    pub fn attempt(&self, attempt: u16) -> Self {
        if attempt == 0 {
            return *self;
        }
        let [low, high, ..] = philox4x32_10([attempt.into(), u32::MAX, 0, 0], self.key);
        Self { key: [low, high] }
    }

    /// The draws of one visit of one attempt at a record, for one purpose.
    ///
    /// Of the record's number the lowest [`RECORD_BITS`](Self::RECORD_BITS) count.
    pub fn visit(&self, record: u64, attempt: u16, visit: u16, purpose: Purpose) -> VisitDraws {
        let [low, high] = words(record);
        let location = u32::from(purpose as u16) << 16 | u32::from(visit);
        let origin = [0, location, low, high << 16 | u32::from(attempt)];
        VisitDraws { key: self.key, origin, block: philox4x32_10(origin, self.key), number: 0 }
    }
}

/// The low and the high word.
fn words(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// The draws of one visit, by index.
///
/// The generator yields four words at a time, so indices `4i` to `4i + 3` share a block, and the
/// last block is kept: a walk over consecutive codes computes a quarter of a block for each. The
/// value at an index does not depend on which others were asked for before.
///
/// A draw has 32 bits: the word `w` stands for `(w + 0.5) / 2^32`, which is strictly between 0 and
/// 1 and exact in an `f64`. Compared with a probability it is right to within `2^-33`.
#[derive(Clone, Debug)]
pub struct VisitDraws {
    key: [u32; 2],
    origin: [u32; 4],
    block: [u32; 4],
    number: u32,
}

impl VisitDraws {
    /// The counter of the block that holds indices 0 to 3; block `i` has `i` as its first word.
    pub fn origin(&self) -> [u32; 4] {
        self.origin
    }

    /// The random word at an index.
    #[inline]
    pub fn word(&mut self, index: u32) -> u32 {
        let number = index / 4;
        if number != self.number {
            let [_, location, low, high] = self.origin;
            self.block = philox4x32_10([number, location, low, high], self.key);
            self.number = number;
        }
        self.block[(index % 4) as usize]
    }

    /// A uniform number strictly between 0 and 1.
    #[inline]
    pub fn uniform(&mut self, index: u32) -> f64 {
        (f64::from(self.word(index)) + 0.5) / 4_294_967_296.0
    }

    /// True with the given probability: never for 0 or less or not a number, always for 1 or more.
    #[inline]
    pub fn below(&mut self, index: u32, probability: f64) -> bool {
        self.uniform(index) < probability
    }
}

/// The multipliers of the two halves of a block.
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// What the key grows by in each round: the golden ratio and the square root of three, less one.
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

const ROUNDS: usize = 10;

/// Four random words for a counter of four words under a key of two.
///
/// For a fixed key this is a bijection: distinct counters give distinct blocks.
///
/// ```
/// use consequence_prng::philox4x32_10;
///
/// let block = philox4x32_10([0; 4], [0; 2]);
/// assert_eq!(block, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[inline]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let mut block = counter;
    let mut key = key;
    for _ in 0..ROUNDS {
        let (high_a, low_a) = wide_product(MULTIPLIERS[0], block[0]);
        let (high_b, low_b) = wide_product(MULTIPLIERS[1], block[2]);
        block = [high_b ^ block[1] ^ key[0], low_b, high_a ^ block[3] ^ key[1], low_a];
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    block
}

/// The high and the low word of a product.
#[inline]
fn wide_product(left: u32, right: u32) -> (u32, u32) {
    let product = u64::from(left) * u64::from(right);
    ((product >> 32) as u32, product as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_answers() {
        assert_eq!(
            philox4x32_10([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        // Counter and key are the first digits of pi.
        assert_eq!(
            philox4x32_10(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
