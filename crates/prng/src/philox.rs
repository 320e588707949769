//! The generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011).

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
