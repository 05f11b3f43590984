//! Partition 0 learns of another, and what another has taken leaves the outbox.

use crate::{outbox::PARTITIONS_MAX, producers::Producer, state::State};
use arena_schema::{
    Command, Event, Rejection,
    command::system::{AcknowledgeOutbox, AnnounceGateway, OpenPartition},
    event::system::{OutboxTrimmed, PartitionOpened},
};

/// All live gateways are sent to it, also where it was open: after a restore it may have lost them.
pub(crate) fn open(state: &State, command: &OpenPartition, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let to = command.partition;
    if !state.is_first() || to == state.partition {
        return Err(Rejection::WrongPartition);
    }
    if !state.outbox.knows(to) && state.outbox.partition_count() >= PARTITIONS_MAX {
        return Err(Rejection::LimitReached);
    }
    let live = state.producers.live_count();
    if !state.outbox.takes_gateways(to, live, live) {
        return Err(Rejection::OutboxFull);
    }
    out.push(PartitionOpened { partition: to }.into());
    let announce = |one: &Producer| {
        Command::from(AnnounceGateway { incarnation: one.incarnation, rules_known: one.rules_known })
    };
    state.outbox.send(to, state.producers.live().map(|(_, one)| announce(one)), out);
    Ok(())
}

/// What the other side has taken is a fact from the leader, which read it in the other side's state.
pub(crate) fn acknowledge(
    state: &State,
    command: &AcknowledgeOutbox,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let AcknowledgeOutbox { to, through, chain } = *command;
    if !state.outbox.knows(to) {
        return Err(Rejection::UnknownPartition);
    }
    if through <= state.outbox.acknowledged(to) {
        return Err(Rejection::Expired);
    }
    if !state.outbox.sent_so(to, through, &chain) {
        return Err(Rejection::OutboxForked);
    }
    out.push(OutboxTrimmed { to, through }.into());
    Ok(())
}
