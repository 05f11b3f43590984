//! Read positions move: forward only, and never beyond the last entry (agentwire.md, *Receive*). Whoever is not in is passed over.

use crate::state::State;
use arena_schema::{
    Event, Rejection,
    command::sessions::{AcknowledgeEntries, READS_MAX, ReadPosition},
    event::sessions::ReadsMoved,
};
use std::collections::BTreeMap;

pub(crate) fn decide(
    state: &State,
    command: &AcknowledgeEntries,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let session = command.session;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    if command.reads.len() > READS_MAX {
        return Err(Rejection::Malformed);
    }
    let mut moved = BTreeMap::new();
    for told in &command.reads {
        let Some(known) = held.participant(told.participant).filter(|known| known.is_in()) else {
            continue;
        };
        let read = told.read.min(held.entries);
        let before = moved.get(&told.participant).copied().unwrap_or(known.read);
        if read > before {
            moved.insert(told.participant, read);
        }
    }
    if !moved.is_empty() {
        let reads = moved.into_iter().map(|(participant, read)| ReadPosition { participant, read }).collect();
        out.push(ReadsMoved { session, reads }.into());
    }
    Ok(())
}
