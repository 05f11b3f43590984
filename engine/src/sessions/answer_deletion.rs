//! What the access service says of an owned session that would be deleted: it is kept, or it ends.

use crate::{
    decide::Context,
    sessions::expiry::{self, KEPT_FOR_S, SILENCE_FOR_S},
    state::State,
};
use arena_schema::{
    Event, Rejection,
    command::sessions::{AnswerDeletion, DeletionAnswer},
    event::sessions::{DeletionAnswered, SessionEnded},
    id::ProducerId,
};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &AnswerDeletion,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let AnswerDeletion { session, attempt, answer } = *command;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    let asked = held.question().ok_or(Rejection::StaleAttempt)?;
    // No home and the sequencer are the same number: where nobody asks, nobody answers.
    let by_home = asked.home != ProducerId::NONE && asked.home == context.view.head.producer;
    if asked.attempt != attempt || !by_home {
        return Err(Rejection::StaleAttempt);
    }
    match kept_for_s(answer) {
        Some(span_s) => {
            let again = expiry::after(context.time, span_s);
            out.push(DeletionAnswered { session, attempt, answer, again }.into());
        }
        None => {
            let (because, home) = (held.vacancy(), asked.home);
            out.push(SessionEnded { session, id: held.id, because, home }.into());
        }
    }
    Ok(())
}

/// How long a session is not asked about after an answer; none where it ends.
pub(super) fn kept_for_s(answer: DeletionAnswer) -> Option<u64> {
    match answer {
        DeletionAnswer::Delete => None,
        DeletionAnswer::Keep => Some(KEPT_FOR_S),
        _ => Some(SILENCE_FOR_S),
    }
}
