//! How much space is left where records go. Near a limit the door takes only what ends or frees things (see
//! [`Command::adds`](arena_schema::Command::adds)), so that what is open comes to its end before nothing can be written any more.
//! What belongs here: limits, when one is near, who is told. What never does: how a store is asked, and any word of it in a
//! record: it is a refusal at the door, and a replay knows nothing of it.

use crate::sequencer::Stopped;
use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// Of a limit, in percent: from here on only what ends or frees things is accepted.
pub const NEARLY_FULL_PERCENT: u64 = 90;
/// How often a store is asked. What comes in between is far less than the rest of a sane limit.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// A limit on where records go, and how near it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Whose limit it is, in words.
    pub of: String,
    /// How near it is.
    pub measure: Measure,
}

/// How near a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// So many of so many are used.
    Used {
        /// How many.
        used: u64,
        /// Of how many.
        most: u64,
        /// What is counted: bytes, messages.
        unit: &'static str,
    },
    /// So many bytes are free, of what many programs share.
    Free {
        /// How many.
        free: u64,
        /// Below so many it is near.
        least: u64,
    },
}

impl Limit {
    /// Whether only what ends or frees things is to be accepted.
    pub fn is_near(&self) -> bool {
        match self.measure {
            Measure::Used { used, most, .. } => {
                u128::from(used) * 100 >= u128::from(most) * u128::from(NEARLY_FULL_PERCENT)
            }
            Measure::Free { free, least } => free < least,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.of;
        match self.measure {
            Measure::Used { used, most, unit } => write!(f, "{of} has {used} of {most} {unit}"),
            Measure::Free { free, least } => {
                write!(f, "{of} has {free} bytes free, and should have {least}")
            }
        }
    }
}

/// A limit is near: what opens or adds something is refused. It may be sent again once there is more space.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal is short of space, and takes only what ends or frees things: {0}")]
pub struct Shortage(pub String);

/// Tells how near the limits of a store are.
pub trait Gauge: Send {
    /// All of them, as they are now. It may be slow.
    ///
    /// # Errors
    /// Why they cannot be told, in words; what was known before stays so.
    fn look(&mut self) -> Result<Vec<Limit>, String>;
}

/// What is known of the space where records go. A clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Space(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// For those who need no more.
    short: AtomicBool,
    limits: Mutex<Vec<Limit>>,
    #[cfg(test)]
    sees_nothing: AtomicBool,
}

impl Space {
    /// The limits as they were last seen.
    pub fn limits(&self) -> Vec<Limit> {
        self.0.limits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which limits are near, where one is.
    pub fn shortage(&self) -> Option<Shortage> {
        #[cfg(test)]
        if self.0.sees_nothing.load(Ordering::SeqCst) {
            return None;
        }
        if !self.0.short.load(Ordering::SeqCst) {
            return None;
        }
        let near: Vec<String> =
            self.limits().iter().filter(|limit| limit.is_near()).map(ToString::to_string).collect();
        (!near.is_empty()).then(|| Shortage(near.join("; ")))
    }

    /// No limit is seen to be near any more, as by a process whose look comes too late.
    #[cfg(test)]
    pub(crate) fn see_nothing(&self) {
        self.0.sees_nothing.store(true, Ordering::SeqCst);
    }

    /// They are so now.
    pub(crate) fn set(&self, limits: Vec<Limit>) {
        let short = limits.iter().any(Limit::is_near);
        *self.0.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
        if self.0.short.swap(short, Ordering::SeqCst) == short {
            return;
        }
        match self.shortage() {
            Some(shortage) => tracing::warn!("{shortage}"),
            None => tracing::info!("the journal has enough space again: what opens or adds is taken again"),
        }
    }

    /// The same, unless it cannot be told now.
    pub(crate) fn set_where_told(&self, told: Result<Vec<Limit>, impl fmt::Display>) {
        match told {
            Ok(limits) => self.set(limits),
            Err(why) => tracing::debug!(%why, "how much space the journal has cannot be told"),
        }
    }

    /// Looks at once, and then at its pace on a thread of its own, until what is returned is dropped.
    ///
    /// # Errors
    /// [`Stopped`], where the system has no thread.
    pub(crate) fn watch(&self, mut gauge: Box<dyn Gauge>) -> Result<SpaceWatch, Stopped> {
        let (ends, ending) = mpsc::channel::<()>();
        let space = self.clone();
        space.set_where_told(gauge.look());
        thread::Builder::new()
            .name("arena-space".to_owned())
            .spawn(move || {
                while ending.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Timeout) {
                    space.set_where_told(gauge.look());
                }
            })
            .map_err(|why| Stopped(format!("a thread cannot be started: {why}")))?;
        Ok(SpaceWatch { _ends: ends })
    }
}

/// Ends the looks when it is dropped.
pub(crate) struct SpaceWatch {
    _ends: mpsc::Sender<()>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(used: u64, most: u64) -> Limit {
        Limit { of: "the stream".to_owned(), measure: Measure::Used { used, most, unit: "bytes" } }
    }

    #[test]
    fn a_limit_is_near_from_nine_tenths_of_it_on_or_below_its_least() {
        for (at, near) in [(used(0, 1_000), false), (used(899, 1_000), false), (used(900, 1_000), true)] {
            assert_eq!(at.is_near(), near, "{at}");
        }
        assert!(!used(u64::MAX / 2, u64::MAX).is_near() && used(u64::MAX, u64::MAX).is_near());
        let free = |free| Limit { of: "the disk".to_owned(), measure: Measure::Free { free, least: 100 } };
        assert!(free(99).is_near() && !free(100).is_near());
        assert_eq!(free(99).to_string(), "the disk has 99 bytes free, and should have 100");
    }

    #[test]
    fn those_that_are_near_are_named_and_what_cannot_be_told_changes_nothing() {
        let space = Space::default();
        assert_eq!(space.shortage(), None);
        space.set(vec![used(5, 100), used(95, 100)]);
        let words = space.shortage().unwrap().to_string();
        assert!(words.ends_with("the stream has 95 of 100 bytes"), "{words}");
        space.set_where_told(Err::<Vec<Limit>, _>("no answer"));
        assert!(space.shortage().is_some());
        space.set_where_told(Ok::<_, String>(vec![used(5, 100)]));
        assert_eq!(space.shortage(), None);
    }
}
