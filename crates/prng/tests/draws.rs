//! Draws look random, and depend on their key alone.

use consequence_prng::{Draws, Purpose, VisitDraws, philox4x32_10};

fn values(mut draws: VisitDraws, count: u32) -> Vec<u32> {
    (0..count).map(|index| draws.word(index)).collect()
}

/// The chi-square statistic of counts that should all be equal.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

#[test]
fn uniforms_fill_the_unit_interval_evenly() {
    let draws = Draws::new(20_240_229);
    let (mut by_code, mut by_record) = (vec![0_u64; 256], vec![0_u64; 256]);
    let mut along_codes = draws.visit(5, 0, 1, Purpose::Code);
    for number in 0..1_000_000 {
        by_code[(along_codes.uniform(number) * 256.0) as usize] += 1;
        let one = draws.visit(u64::from(number), 0, 1, Purpose::Code).uniform(17);
        by_record[(one * 256.0) as usize] += 1;
    }
    // 255 degrees of freedom: mean 255, standard deviation 22.6; the bounds are four of them away.
    for statistic in [chi_square(&by_code), chi_square(&by_record)] {
        assert!((165.0..345.0).contains(&statistic), "chi-square is {statistic}");
    }
}

#[test]
fn neighbours_in_every_part_of_the_key_are_uncorrelated() {
    let draws = Draws::new(3);
    let at = |record: u64, attempt: u16, visit: u16, purpose, index| {
        draws.visit(record, attempt, visit, purpose).uniform(index) - 0.5
    };
    let mut sums = [0.0; 5];
    let count = 100_000;
    for number in 0..count {
        let (record, visit) = (number / 100, (number % 100) as u16);
        let here = at(record, 0, visit, Purpose::Code, 8);
        sums[0] += here * at(record + 1, 0, visit, Purpose::Code, 8);
        sums[1] += here * at(record, 1, visit, Purpose::Code, 8);
        sums[2] += here * at(record, 0, visit + 1, Purpose::Code, 8);
        sums[3] += here * at(record, 0, visit, Purpose::Rule, 8);
        sums[4] += here * at(record, 0, visit, Purpose::Code, 9);
    }
    for sum in sums {
        // The variance of a uniform is 1/12; the bound is five standard errors.
        let correlation = sum / count as f64 * 12.0;
        assert!(correlation.abs() < 5.0 / (count as f64).sqrt(), "correlation is {correlation}");
    }
}

#[test]
fn order_does_not_matter() {
    let draws = Draws::new(11);
    let forward = values(draws.visit(9, 2, 4, Purpose::Code), 1_000);
    let mut backward = draws.visit(9, 2, 4, Purpose::Code);
    for index in (0..1_000).rev() {
        assert_eq!(backward.word(index), forward[index as usize]);
    }
    let mut jumping = draws.visit(9, 2, 4, Purpose::Code);
    for step in 0..1_000 {
        let index = step * 617 % 1_000;
        assert_eq!(jumping.word(index), forward[index as usize]);
    }
    assert_eq!(jumping.word(u32::MAX), backward.word(u32::MAX));
}

#[test]
fn every_part_of_the_key_counts() {
    let plain = values(Draws::new(1).visit(1, 1, 1, Purpose::Code), 8);
    let others = [
        Draws::new(2).visit(1, 1, 1, Purpose::Code),
        Draws::new(1 | 1 << 63).visit(1, 1, 1, Purpose::Code),
        Draws::new(1).visit(2, 1, 1, Purpose::Code),
        Draws::new(1).visit(1 | 1 << 47, 1, 1, Purpose::Code),
        Draws::new(1).visit(1, 2, 1, Purpose::Code),
        Draws::new(1).visit(1, 1, 2, Purpose::Code),
        Draws::new(1).visit(1, 1, 1, Purpose::Rule),
        Draws::new(1).visit(1, 1, 1, Purpose::Proposal),
    ];
    let mut all: Vec<Vec<u32>> = others.into_iter().map(|draws| values(draws, 8)).collect();
    all.push(plain);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 9, "no two keys share their draws");
}

#[test]
fn a_kernel_can_repeat_the_draws_from_key_and_origin() {
    let draws = Draws::new(0x0123_4567_89ab_cdef);
    let mut visit = draws.visit(0xffff_0000_0001, 0xabcd, 0x1234, Purpose::Rule);
    let origin = visit.origin();
    assert_eq!(origin, [0, 0x0001_1234, 0x0000_0001, 0xffff_abcd]);
    let block = philox4x32_10([6, origin[1], origin[2], origin[3]], draws.key());
    assert_eq!(visit.word(26), block[2]);
}

#[test]
fn probabilities_at_and_past_the_ends_are_certain() {
    let mut draws = Draws::new(5).visit(0, 0, 1, Purpose::Rule);
    for index in 0..10_000 {
        let drawn = draws.uniform(index);
        assert!(drawn > 0.0 && drawn < 1.0);
        assert!(!draws.below(index, 0.0) && !draws.below(index, -1.0));
        assert!(!draws.below(index, f64::NAN));
        assert!(draws.below(index, 1.0) && draws.below(index, 2.0));
    }
}

#[test]
fn below_comes_true_as_often_as_it_says() {
    let mut draws = Draws::new(6).visit(0, 0, 1, Purpose::Rule);
    let hits = (0..1_000_000).filter(|&index| draws.below(index, 0.01)).count();
    assert!((9_500..10_500).contains(&hits), "{hits} of a million at one in a hundred");
}
