//! What the family's events do to its room and the agenda.

use crate::{
    sessions::{
        answer_deletion,
        expiry::{self, SILENCE_FOR_S, UNJOINED_FOR_S},
        state::{Left, Participant, Question, Session, Standing},
    },
    state::State,
};
use arena_schema::{
    LogTime,
    event::sessions::{
        AccountSet, DeletionAnswered, DeletionDue, EntrySent, ParticipantReplaced, ReadsMoved,
        SessionCreated, SessionEnded, SessionJoined, SessionLeft, SessionRejoined, SessionTouched,
    },
    id::{ProducerId, SessionKey},
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn created(state: &mut State, now: LogTime, event: &SessionCreated) {
    let SessionCreated { session, id, address, owned } = *event;
    let standing = expiry::schedule(&mut state.agenda, now, UNJOINED_FOR_S, session);
    let sessions = &mut state.sessions;
    sessions.open.insert(Session {
        id,
        address,
        owned,
        entries: 0,
        participants: BTreeMap::new(),
        names: BTreeMap::new(),
        secrets: BTreeMap::new(),
        numbered: 0,
        present: 0,
        received: false,
        waiting: BTreeSet::new(),
        attempts: 0,
        standing,
    });
    sessions.ids.insert(id, session);
    sessions.addresses.insert(address, session);
}

pub(crate) fn joined(state: &mut State, now: LogTime, event: &SessionJoined) {
    let SessionJoined { session, participant, n, name, name_text, secret, account } = *event;
    let Some(held) = of(state, session) else { return };
    let (read, joined_n, joined_at, left) = (0, n, now, None);
    let new = Participant { name, name_text, secret, account, read, joined_n, joined_at, left };
    held.participants.insert(participant, new);
    held.names.insert(name, participant);
    held.secrets.insert(secret, participant);
    held.numbered = participant;
    came_in(state, now, session, n);
}

pub(crate) fn rejoined(state: &mut State, now: LogTime, event: &SessionRejoined) {
    let known = of(state, event.session).and_then(|held| held.participants.get_mut(&event.participant));
    if let Some(known) = known {
        known.account = event.account;
        (known.joined_n, known.joined_at, known.left) = (event.n, now, None);
        came_in(state, now, event.session, event.n);
    }
}

/// One more is in. The count begins with whoever comes into an empty session, and while nobody received with whoever came last
/// (CHOICES-agentwire 47, 48); with that, whatever was asked because nobody was there is withdrawn (51).
fn came_in(state: &mut State, now: LogTime, key: SessionKey, n: u64) {
    let State { agenda, sessions, .. } = state;
    if let Some(held) = sessions.open.get_mut(key.slot, key.generation) {
        held.entries = n;
        held.present += 1;
        // Where nobody was in, nobody has received since.
        if !held.received {
            expiry::count_anew(agenda, now, key, held);
        }
    }
}

pub(crate) fn sent(state: &mut State, event: &EntrySent) {
    if let Some(held) = of(state, event.session) {
        held.entries = event.n;
    }
}

pub(crate) fn reads_moved(state: &mut State, event: &ReadsMoved) {
    let Some(held) = of(state, event.session) else { return };
    for moved in &event.reads {
        if let Some(known) = held.participants.get_mut(&moved.participant) {
            known.read = moved.read;
        }
    }
}

/// What comes of the last one's leaving, the event behind this one says: the end, a question, or who took its name back.
pub(crate) fn left(state: &mut State, now: LogTime, event: &SessionLeft) {
    let Some(held) = of(state, event.session) else { return };
    held.entries = event.n;
    if let Some(known) = held.participants.get_mut(&event.participant) {
        known.left = Some(Left { n: event.n, at: now });
        held.present = held.present.saturating_sub(1);
    }
    if held.present == 0 {
        held.received = false;
        held.waiting.clear();
    }
}

pub(crate) fn replaced(state: &mut State, event: &ParticipantReplaced) {
    let Some(held) = of(state, event.session) else { return };
    if let Some(gone) = held.participants.remove(&event.participant) {
        held.names.remove(&gone.name);
        held.secrets.remove(&gone.secret);
    }
}

pub(crate) fn account_set(state: &mut State, event: &AccountSet) {
    let known = of(state, event.session).and_then(|held| held.participants.get_mut(&event.participant));
    if let Some(known) = known {
        known.account = event.account;
    }
}

pub(crate) fn touched(state: &mut State, now: LogTime, event: &SessionTouched) {
    let State { agenda, sessions, .. } = state;
    if let Some(held) = sessions.open.get_mut(event.session.slot, event.session.generation) {
        held.received = true;
        if event.waiting {
            held.waiting.insert(event.by);
        } else {
            held.waiting.remove(&event.by);
        }
        expiry::count_anew(agenda, now, event.session, held);
    }
}

/// Gateways are gone: what waited there has ended now.
pub(crate) fn gone(state: &mut State, now: LogTime, is_gone: impl Fn(ProducerId) -> bool) {
    let State { agenda, sessions, .. } = state;
    sessions.open.for_each_mut(|slot, generation, held| {
        let before = held.waiting.len();
        held.waiting.retain(|by| !is_gone(*by));
        if held.waiting.len() < before {
            expiry::count_anew(agenda, now, SessionKey { slot, generation }, held);
        }
    });
}

pub(crate) fn deletion_due(state: &mut State, event: &DeletionDue) {
    let question = Question { home: event.home, attempt: event.attempt };
    let State { agenda, sessions, .. } = state;
    if let Some(held) = sessions.open.get_mut(event.session.slot, event.session.generation) {
        expiry::withdraw(agenda, held);
        held.attempts = event.attempt;
        held.standing = Standing::Asked(question);
    }
}

pub(crate) fn deletion_answered(state: &mut State, now: LogTime, event: &DeletionAnswered) {
    let span_s = answer_deletion::kept_for_s(event.answer).unwrap_or(SILENCE_FOR_S);
    let State { agenda, sessions, .. } = state;
    if let Some(held) = sessions.open.get_mut(event.session.slot, event.session.generation) {
        expiry::withdraw(agenda, held);
        held.standing = expiry::schedule(agenda, now, span_s, event.session);
    }
}

pub(crate) fn ended(state: &mut State, event: &SessionEnded) {
    let State { agenda, sessions, .. } = state;
    if let Some(held) = sessions.open.remove(event.session.slot, event.session.generation) {
        expiry::withdraw(agenda, &held);
        sessions.ids.remove(&held.id);
        sessions.addresses.remove(&held.address);
    }
}

fn of(state: &mut State, session: SessionKey) -> Option<&mut Session> {
    state.sessions.open.get_mut(session.slot, session.generation)
}
