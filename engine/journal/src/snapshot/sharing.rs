//! How makers of several processes go beside each other with one store. What belongs here: who of them writes. What never does:
//! what is written.
//!
//! Every engine replays its own copy of the records, and all come to be due at the same record, with the same bytes. One of them
//! is enough. It is not the leader that makes it: who leads has the most to do, and a maker would have to know. So each waits a
//! time of its own by chance and then looks whether another was quicker; the first one writes, and the others go on from
//! its record, so that the next time they are due at the same record again. Two that are at it at the same moment put the same
//! bytes under the same name, which does no harm; and where the quickest dies, another comes a moment later.

use crate::vault::random;
use std::time::Duration;

/// How a maker goes beside those of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// The longest wait, of which each draws its own.
    pub turn: Duration,
    /// How long nothing is tried after the store failed.
    pub again: Duration,
}

impl Default for Sharing {
    fn default() -> Self {
        Self { turn: Duration::from_secs(10), again: Duration::from_secs(60) }
    }
}

impl Sharing {
    /// How long this maker waits this time.
    pub(super) fn draw(self) -> Duration {
        self.turn.mul_f64(f64::from(u32::from_le_bytes(random())) / f64::from(u32::MAX))
    }
}
