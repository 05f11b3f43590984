//! The journal's time. What belongs here: one instant and its arithmetic. What never does: a clock, a calendar, a text form.

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00Z, as a record's header has it. Strictly increasing from record to record.
///
/// What a protocol shows in milliseconds is reckoned in milliseconds: [`LogTime::cut_to_ms`] before a duration is added and
/// before two are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct LogTime(pub u64);

/// Microseconds in `ms` milliseconds.
pub const fn micros_of_ms(ms: u32) -> u64 {
    ms as u64 * 1_000
}

impl LogTime {
    /// Before every record.
    pub const ZERO: Self = Self(0);

    /// The same instant without the part below a millisecond.
    #[must_use]
    pub const fn cut_to_ms(self) -> Self {
        Self(self.0 - self.0 % 1_000)
    }

    /// The same instant without the part below a second.
    #[must_use]
    pub const fn cut_to_s(self) -> Self {
        Self(self.0 - self.0 % 1_000_000)
    }

    /// Later by `micros`; stays at the end of time rather than wrap.
    #[must_use]
    pub const fn plus_us(self, micros: u64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Microseconds from `earlier` to here; zero where `earlier` is later.
    pub const fn us_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
