//! How long a session lasts by itself, and what its count begins with. The instants are the journal's (CHOICES, *expiry*), cut to
//! seconds, in which the protocol shows its times.
//!
//! They stand through an outage of ours ([`Clock::Shown`]): the text tells everyone the instant (a day after it was created, a week
//! after the last receive, whose end the presence shows), and it is counted in the world's days, not in ours. So the test clock, whose
//! advance is an outage, moves them too (SURFACE, `--test-clock`). A receive that waits as we go away counts until its gateway is
//! found to be gone.

use crate::{
    agenda::{Agenda, Clock, Due},
    sessions::state::{Session, Standing},
};
use arena_schema::{LogTime, id::SessionKey};

/// How long a session lasts that nobody joined (agentwire.md, *Model*: a day after it was created).
pub const UNJOINED_FOR_S: u64 = 24 * 3_600;
/// How long one lasts that nobody received in (agentwire.md, *Model*: a week).
pub const UNRECEIVED_FOR_S: u64 = 7 * UNJOINED_FOR_S;
/// How long an owned session that its service keeps is not asked about (CHOICES-agentwire 50: a day).
pub const KEPT_FOR_S: u64 = 24 * 3_600;
/// How long one is not asked about after its service did not answer (agentwire.md, *Access*: asked about again later).
pub const SILENCE_FOR_S: u64 = 3_600;

/// When a span that begins now is over.
pub(super) fn after(now: LogTime, span_s: u64) -> LogTime {
    now.cut_to_s().plus_us(span_s * 1_000_000)
}

/// Puts a session on the agenda for the end of a span that begins now.
pub(super) fn schedule(agenda: &mut Agenda, now: LogTime, span_s: u64, key: SessionKey) -> Standing {
    let span_us = span_s * 1_000_000;
    Standing::Due(agenda.schedule(Clock::Shown, span_us, after(now, span_s), Due::Session(key)))
}

/// Whatever was to come of a session does not.
pub(super) fn withdraw(agenda: &mut Agenda, session: &Session) {
    if let Standing::Due(entry) = session.standing {
        agenda.cancel(entry);
    }
}

/// The week counts anew, or not at all while somebody receives.
pub(super) fn count_anew(agenda: &mut Agenda, now: LogTime, key: SessionKey, session: &mut Session) {
    withdraw(agenda, session);
    session.standing = if session.waiting.is_empty() {
        schedule(agenda, now, UNRECEIVED_FOR_S, key)
    } else {
        Standing::Received
    };
}
