//! A leader or a gateway's process begins.

use crate::{decide::Context, matches, producers::PRODUCERS_LIVE_MAX, sessions, state::State};
use arena_schema::{
    Event, Rejection,
    command::system::{AnnounceGateway, AnnounceSequencer},
    event::system::{GatewayAnnounced, SequencerAnnounced},
    id::ProducerId,
};

/// The deadlines that are ours to keep move by the outage; the epoch is the record's.
pub(crate) fn sequencer(
    state: &State,
    context: &Context<'_>,
    command: &AnnounceSequencer,
    out: &mut Vec<Event>,
) {
    // It is never longer than the records' times show.
    let outage_us = command.outage_us.min(context.time.us_since(state.head.time));
    out.push(SequencerAnnounced { incarnation: command.incarnation, epoch: context.epoch, outage_us }.into());
}

/// The same incarnation gets the same number; a new one takes over what has no home.
pub(crate) fn gateway(
    state: &State,
    context: &Context<'_>,
    command: &AnnounceGateway,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let known = state.producers.of(&command.incarnation);
    if known.is_none() && state.producers.live_count() >= PRODUCERS_LIVE_MAX {
        return Err(Rejection::LimitReached);
    }
    let live = state.producers.live_count();
    let has_room = |to| state.outbox.takes_gateways(to, 1, live + 1);
    if known.is_none() && state.is_first() && !state.outbox.partitions().all(has_room) {
        return Err(Rejection::OutboxFull);
    }
    let producer = known.unwrap_or(state.producers.next_id());
    out.push(
        GatewayAnnounced { producer, incarnation: command.incarnation, rules_known: command.rules_known }
            .into(),
    );
    if known.is_none() {
        matches::turns::rehome(state, context.time, |home| home == ProducerId::NONE, |_| producer, out);
        sessions::rehome(state, |home| home == ProducerId::NONE, |_| producer, out);
        if state.is_first() {
            state.outbox.send_to_all(&command.clone().into(), out);
        }
    }
    Ok(())
}
