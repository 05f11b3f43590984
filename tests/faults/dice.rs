//! Randomness that a printed seed brings back.

use std::time::{SystemTime, UNIX_EPOCH};

/// Sets the seed of every test that throws dice.
const VARIABLE: &str = "ARENA_TESTS_SEED";

/// SplitMix64: enough to be unpredictable to the code under test, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// From the seed of the environment or a fresh one, which is printed: a failed test shows what it printed.
    pub(crate) fn new() -> Self {
        let given = std::env::var(VARIABLE).ok().map(|text| text.parse().expect("a seed is a number"));
        let seed = given.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_nanos() as u64
        });
        println!("{VARIABLE}={seed}");
        Self(seed)
    }

    /// Others, which this one's seed decides too.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
