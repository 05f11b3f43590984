//! Partition 0 sends a match that is to be played here. What 0 decided (who may, and how many) is not asked again.

use crate::{
    decide::Context,
    games::Position,
    homes,
    matches::{MATCHES_OPEN_MAX, close, policy::SeatPolicy, turns::Asked},
    state::State,
};
use arena_schema::{
    Event, Hash, Rejection,
    command::matches::{Guest, TakeMatch},
    event::{matches::MatchOpened, registry::GuestArrived},
    id::{MatchKey, Partition, ProducerId},
};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &TakeMatch,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    if command.id.partition() != state.partition {
        return Err(Rejection::WrongPartition);
    }
    // For each match that is open there is room for the word that it is over.
    if state.outbox.waiting_count(Partition(0)) + state.matches.open.len() >= MATCHES_OPEN_MAX {
        return Err(Rejection::OutboxFull);
    }
    if state.matches.by_id(&command.id).is_some() {
        return Ok(());
    }
    // A guest is who it was when it arrived.
    let known = |guest: &Guest| match state.guests.get(guest.agent) {
        Some(here) => (here.protocol, here.method),
        None => (guest.protocol, guest.method),
    };
    let plays = |guest: &Guest| SeatPolicy::of(known(guest).0, command.game).is_some();
    let position = Position::start(command.game.0, &command.seed.0);
    let [one, other] = &command.seats;
    let Some(position) = position.filter(|_| one.agent != other.agent && plays(one) && plays(other)) else {
        close::give_back(state, command.id, None, out);
        return Ok(());
    };

    let homes = [one, other].map(|guest| home(state, guest));
    for (guest, home) in command.seats.iter().zip(homes) {
        if state.guests.get(guest.agent).is_none() {
            let Guest { agent, id, handle, protocol, method, home: _ } = guest.clone();
            out.push(GuestArrived { agent, id, handle, protocol, method, home }.into());
        }
    }
    let (slot, generation) = state.matches.open.next_key();
    let key = MatchKey { slot, generation };
    out.push(
        MatchOpened {
            key,
            id: command.id,
            game: command.game,
            seats: [one.agent, other.agent],
            rated: command.rated,
            deadline_ms: command.deadline_ms,
            seed: command.seed,
            accepted: context.accepted_after(&Hash::ZERO),
        }
        .into(),
    );
    for (seat, attempt) in position.to_act().iter().zip(1..) {
        let pushed = known(&command.seats[seat.index()]).1.is_pushed();
        let asked = Asked { key, seat, deadline_ms: command.deadline_ms, pushed };
        out.push(asked.open(1, attempt, homes[seat.index()], context.time));
    }
    Ok(())
}

/// The home of a guest: the one that it has here, else the one that partition 0 named, by the number that it has here.
fn home(state: &State, guest: &Guest) -> ProducerId {
    let named = || guest.home.and_then(|incarnation| state.producers.of(&incarnation));
    let kept = state.guests.home(&state.producers, guest.agent);
    kept.or_else(named).unwrap_or_else(|| homes::rendezvous(&state.producers, &guest.id.0, ProducerId::NONE))
}
