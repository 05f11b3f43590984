//! What the journal was told of a session's receives, and what it is still to be told. When it is told is said in `touch`.

use super::Room;
use arena_schema::{LogTime, id::ProducerId};

/// What it was told.
#[derive(Default)]
pub(super) struct Told {
    /// When this process last told it that somebody received.
    touched: Option<LogTime>,
    /// As which gateway this process told it that a receive waits, until it was told that none does.
    waiting: Option<ProducerId>,
    /// Whether it is to be told later that somebody received.
    owed: bool,
    /// Whether somebody looks later whether none waits any more.
    looked_at: bool,
}

impl Told {
    /// The last one left: the journal knows nothing any more of who waited.
    pub(super) fn forget(&mut self) {
        self.waiting = None;
    }
}

/// Whether the journal is told that somebody received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agentwire) enum Touch {
    No,
    Now,
    Later,
}

impl Room {
    /// Whether the journal is to be told now that somebody received. Where a receive waits it knows; where it was told not long
    /// ago it is to be told later.
    pub(in crate::agentwire) fn touch(&self, now: LogTime, every_us: u64) -> Touch {
        let mut inner = self.inner();
        if inner.told.waiting.is_some() {
            return Touch::No;
        }
        if inner.told.touched.is_none_or(|touched| now.us_since(touched) >= every_us) {
            inner.told.touched = Some(now);
            return Touch::Now;
        }
        if std::mem::replace(&mut inner.told.owed, true) { Touch::No } else { Touch::Later }
    }

    /// What was to be told later is told now, if it is still to be told.
    pub(in crate::agentwire) fn touch_owed(&self, now: LogTime) -> bool {
        let mut inner = self.inner();
        let owed = std::mem::take(&mut inner.told.owed) && inner.told.waiting.is_none();
        if owed {
            inner.told.touched = Some(now);
        }
        owed
    }

    /// Whether the journal is to be told that a receive waits at this gateway. From here on it counts as told.
    pub(in crate::agentwire) fn tell_waiting(&self, by: ProducerId) -> bool {
        self.inner().told.waiting.replace(by) != Some(by)
    }

    /// Whether the journal takes it for waited in, though nobody waits here.
    pub(in crate::agentwire) fn is_told_in_vain(&self) -> bool {
        let inner = self.inner();
        inner.told.waiting.is_some() && !inner.is_received_in()
    }

    /// Whether the caller is the one who looks later whether none waits any more.
    pub(in crate::agentwire) fn looks_later(&self) -> bool {
        !std::mem::replace(&mut self.inner().told.looked_at, true)
    }

    /// Whoever was to look looks now.
    pub(in crate::agentwire) fn looks_now(&self) {
        self.inner().told.looked_at = false;
    }

    /// Whether the journal is to be told that no receive waits here any more. From here on it counts as told.
    pub(in crate::agentwire) fn tell_quiet(&self, now: LogTime) -> bool {
        let mut inner = self.inner();
        if inner.told.waiting.is_none() || inner.is_received_in() {
            return false;
        }
        (inner.told.waiting, inner.told.touched) = (None, Some(now));
        true
    }

    /// What was to be told did not come into the journal.
    pub(in crate::agentwire) fn was_not_told(&self) {
        let mut inner = self.inner();
        (inner.told.waiting, inner.told.touched) = (None, None);
    }
}
