//! The sequencer's clock: it starts from the wall clock or the last record, whichever is later, and goes on by the monotonic
//! clock. When the two clocks part by more than a second, the sequencer announces itself anew.

use arena_schema::LogTime;
#[cfg(test)]
use std::sync::atomic::AtomicI64;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// By how much the wall clock and the monotonic clock may part.
const PART_US_MAX: u64 = 1_000_000;

/// Which clock stamps records.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The system's.
    #[default]
    System,
    /// One that stands still until it is moved (`--test-clock`).
    Still(StillClock),
    /// The system's, but for a wall clock that is off by so many microseconds.
    #[cfg(test)]
    Parting(Arc<AtomicI64>),
}

impl Clock {
    /// What the wall clock shows.
    fn wall_us(&self) -> u64 {
        match self {
            Self::System => wall_us(),
            Self::Still(still) => still.time().0,
            #[cfg(test)]
            Self::Parting(by) => wall_us().saturating_add_signed(by.load(Ordering::SeqCst)),
        }
    }
}

/// A clock whose wall clock goes its own way.
#[cfg(test)]
pub(crate) fn parting_clock() -> (Clock, Arc<AtomicI64>) {
    let by = Arc::default();
    (Clock::Parting(Arc::clone(&by)), by)
}

/// A clock that stands still until it is moved. A clone is the same clock.
#[derive(Debug, Clone)]
pub struct StillClock(Arc<AtomicU64>);

impl StillClock {
    /// Standing at `time`.
    pub fn at(time: LogTime) -> Self {
        Self(Arc::new(AtomicU64::new(time.0)))
    }

    /// Standing at the wall clock's time now.
    pub fn now() -> Self {
        Self::at(LogTime(wall_us()))
    }

    /// The time that it shows.
    pub fn time(&self) -> LogTime {
        LogTime(self.0.load(Ordering::SeqCst))
    }

    /// Moves it to a time, where it shows an earlier one.
    fn reach(&self, time: LogTime) {
        self.0.fetch_max(time.0, Ordering::SeqCst);
    }

    /// Moves it on.
    pub(crate) fn advance(&self, micros: u64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

fn wall_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// A running reading of a [`Clock`].
#[derive(Debug)]
pub(crate) struct Running {
    clock: Clock,
    base: LogTime,
    wall_at_base: u64,
    monotonic_at_base: Instant,
}

impl Running {
    pub(crate) fn start(clock: Clock, last: LogTime) -> Self {
        if let Clock::Still(still) = &clock {
            // It may have been moved in another process, or before a restart: it goes on from there.
            still.reach(last);
        }
        let wall = clock.wall_us();
        Self { clock, base: LogTime(wall).max(last), wall_at_base: wall, monotonic_at_base: Instant::now() }
    }

    fn elapsed_us(&self) -> u64 {
        self.monotonic_at_base.elapsed().as_micros() as u64
    }

    /// The time now; the stamp of a record is later than the last one's in any case.
    pub(crate) fn now(&self) -> LogTime {
        if let Clock::Still(still) = &self.clock {
            return still.time().max(self.base);
        }
        self.base.plus_us(self.elapsed_us())
    }

    /// Whether the wall clock went another way than the monotonic one since the start of this reading.
    pub(crate) fn parted(&self) -> bool {
        if let Clock::Still(_) = &self.clock {
            return false;
        }
        let expected = self.wall_at_base.saturating_add(self.elapsed_us());
        self.clock.wall_us().abs_diff(expected) > PART_US_MAX
    }

    /// How long until `due`, for waiting; none where this clock does not come to it by itself.
    pub(crate) fn wait_for(&self, due: LogTime) -> Option<Duration> {
        let wait = Duration::from_micros(due.us_since(self.now()));
        let moves = !matches!(self.clock, Clock::Still(_));
        (moves || wait.is_zero()).then_some(wait)
    }
}
