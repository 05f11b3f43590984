//! Rules, eras and lineages: the commands that change what the next record is.

use crate::{decide::Context, matches, producers::Producer, rules::RULES_PARTITIONS, sessions, state::State};
use arena_schema::{
    Command, Event, Rejection,
    command::system::{ActivateRules, BeginLineage, GatewayGone},
    event::system::{EraClosed, LineageBegun, RulesActivated},
    id::ProducerId,
};

/// The next rules, once every live process knows them. What this build knows is not asked: the same record must come to the
/// same events everywhere, and a build that lacks the rules halts at the record after.
pub(crate) fn activate_rules(
    state: &State,
    command: &ActivateRules,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let next = command.version.0 == state.rules.0.saturating_add(1);
    let known = state.producers.live().all(|(_, producer)| producer.rules_known >= command.version);
    if !next || !known {
        return Err(Rejection::RulesUnknown);
    }
    // Keys and homes are partition 0's there: nothing of its own may stand beside them.
    if command.version == RULES_PARTITIONS && !state.is_first() && !state.is_bare() {
        return Err(Rejection::WrongPartition);
    }
    out.push(RulesActivated { version: command.version }.into());
    Ok(())
}

pub(crate) fn close_era(state: &State, out: &mut Vec<Event>) {
    out.push(EraClosed { era: state.era }.into());
}

/// Every producer is gone, so everything open is without a home until the next is announced.
pub(crate) fn begin_lineage(
    state: &State,
    context: &Context<'_>,
    command: &BeginLineage,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    if command.number != state.head.number || command.hash != state.head.hash {
        return Err(Rejection::LineageMismatch);
    }
    out.push(LineageBegun { lineage: command.lineage, number: command.number, hash: command.hash }.into());
    matches::turns::rehome(state, context.time, |home| home != ProducerId::NONE, |_| ProducerId::NONE, out);
    sessions::rehome(state, |home| home != ProducerId::NONE, |_| ProducerId::NONE, out);
    if state.is_first() {
        for to in state.outbox.partitions() {
            let gone = |one: &Producer| Command::from(GatewayGone { incarnation: one.incarnation });
            state.outbox.send(to, state.producers.live().map(|(_, one)| gone(one)), out);
        }
    }
    Ok(())
}
