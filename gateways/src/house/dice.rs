//! Seeded choice among equals. What belongs here: a small generator whose numbers depend on its seed alone. What never does:
//! the system's randomness, a secret.

/// A generator (SplitMix64) over the agent's seed and what it looks at, so that one seed falls anew at each position.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: &[u8; 32], facts: impl IntoIterator<Item = u64>) -> Self {
        let mut dice = Self(0);
        let words =
            seed.chunks(8).map(|bytes| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        for word in words.chain(facts) {
            dice.0 ^= word;
            dice.0 = dice.next();
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// One of them; none of none.
    pub(super) fn pick<T: Copy>(&mut self, among: &[T]) -> Option<T> {
        let count = among.len() as u64;
        // The high half of the product is below `count`.
        let at = (u128::from(self.next()) * u128::from(count)) >> 64;
        among.get(at as usize).copied()
    }
}
