//! What a caller may repeat through another door, kept for 24 hours with the place and the code of its outcome.

mod snapshot;

use crate::agenda::{Agenda, Clock, Due, Entry};
use arena_schema::{
    LogTime, Rejection,
    event::system::{KeyTag, Place, SecondKeyExpired, SecondKeyKept},
    hash::BodyDigest,
    id::AgentKey,
    record::SecondKey,
};
use std::collections::BTreeMap;

/// How long a second key is kept.
pub const SECOND_KEY_HOURS: u64 = 24;
/// How many are kept at once; beyond it a command that carries one is refused.
pub const SECOND_KEYS_MAX: usize = 1 << 20;

const SPAN_US: u64 = SECOND_KEY_HOURS * 3_600 * 1_000_000;

/// A key as it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kept {
    route: u16,
    caller: AgentKey,
    key: KeyTag,
}

impl Kept {
    pub(crate) fn expired(&self) -> SecondKeyExpired {
        SecondKeyExpired { route: self.route, caller: self.caller, key: self.key }
    }
}

#[derive(Debug, Clone)]
struct Answer {
    body: KeyTag,
    place: Place,
    code: u16,
    command: Option<BodyDigest>,
    entry: Entry,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct SecondKeys {
    kept: BTreeMap<Kept, Answer>,
}

impl SecondKeys {
    /// Whether a command with this key may act now.
    pub(crate) fn admit(&self, second: &SecondKey) -> Result<(), Rejection> {
        match self.kept.get(&Kept { route: second.route, caller: second.caller, key: second.key }) {
            Some(answer) if answer.body == second.body => Err(Rejection::SecondKeyReplayed),
            Some(_) => Err(Rejection::SecondKeyConflict),
            None if self.kept.len() >= SECOND_KEYS_MAX => Err(Rejection::LimitReached),
            None => Ok(()),
        }
    }

    /// Where the outcome of a key stands: the body's tag, the place and the outcome's code (0: accepted).
    pub(crate) fn outcome(&self, route: u16, caller: AgentKey, key: KeyTag) -> Option<(KeyTag, Place, u16)> {
        self.kept.get(&Kept { route, caller, key }).map(|answer| (answer.body, answer.place, answer.code))
    }

    /// The digest of the command that was the first under a key.
    pub(crate) fn command(&self, route: u16, caller: AgentKey, key: KeyTag) -> Option<BodyDigest> {
        self.kept.get(&Kept { route, caller, key })?.command
    }

    pub(crate) fn keep(
        &mut self,
        agenda: &mut Agenda,
        now: LogTime,
        event: &SecondKeyKept,
        command: Option<BodyDigest>,
    ) {
        let kept = Kept { route: event.route, caller: event.caller, key: event.key };
        let entry = agenda.schedule(Clock::Shown, SPAN_US, now.plus_us(SPAN_US), Due::SecondKey(kept));
        let SecondKeyKept { body, place, code, .. } = *event;
        self.kept.insert(kept, Answer { body, place, code, command, entry });
    }

    pub(crate) fn expire(&mut self, agenda: &mut Agenda, event: &SecondKeyExpired) {
        let kept = Kept { route: event.route, caller: event.caller, key: event.key };
        if let Some(answer) = self.kept.remove(&kept) {
            agenda.cancel(answer.entry);
        }
    }
}
