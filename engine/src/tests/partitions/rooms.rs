//! The rooms that partitions brought, as bytes.

use super::{agent, by, gateway, match_id, open, register, two_of_each};
use crate::{
    SNAPSHOT_LAYOUT, SnapshotError, State,
    testing::{Network, encoded},
};
use arena_schema::{
    Hash,
    command::matches::{AbortMatch, VoidReason},
    event::system::OutboxSent,
    hash::BodyDigest,
    id::{ConnectionMethod, MatchKey, Partition, ProducerId, Protocol},
};

/// Something in every room that partitions brought.
fn rich() -> Network {
    let mut network = two_of_each(2);
    for at in 0..3 {
        by(&mut network, 0, open(match_id(1, at), [at as u32, 3]));
    }
    network.carry(0, 1, 9);
    by(&mut network, 0, open(match_id(1, 9), [0, 1]));
    network.write(0, gateway(3));
    let key = MatchKey { slot: 1, generation: 1 };
    by(&mut network, 1, AbortMatch { key, reason: VoidReason::Operator });
    network
}

#[test]
fn the_bytes_of_both_sides_are_frozen_under_their_layout() {
    // Where this fails the layout is another one: raise SNAPSHOT_LAYOUT, or older snapshots are read as what they are not.
    let network = rich();
    let hashes = [0, 1].map(|at| Hash::of(&encoded(network.state(at))).to_string()[..32].to_owned());
    assert_eq!(
        (SNAPSHOT_LAYOUT, hashes.each_ref().map(String::as_str)),
        (3, ["cdc6d75d61a439ddd05596c3be27d920", "6eebbb9c5e39d7dcc0e83a3e2c548371"])
    );
}

#[test]
fn rooms_of_partitions_that_do_not_fit_together_are_refused_by_the_room() {
    let network = rich();
    let check = |at: usize, room: &str, spoil: &dyn Fn(&mut State)| {
        let mut state = network.state(at).clone();
        spoil(&mut state);
        let found = State::decode_snapshot(&encoded(&state)).map(drop).unwrap_err();
        assert!(
            matches!(&found, SnapshotError::Misfit { room: found, .. } if *found == room),
            "{room}: {found}"
        );
    };
    check(0, "the homes", &|state| state.matches.away.clear());
    check(0, "the matches", &|state| {
        state.matches.away.values_mut().for_each(|away| away.seats[0].slot = 99);
    });
    check(1, "the matches", &|state| state.guests = crate::registry::Guests::default());
    check(1, "the guests", &|state| {
        state.guests.arrive(&arena_schema::event::registry::GuestArrived {
            agent: agent(77),
            id: register(77, Protocol::House, ConnectionMethod::House).id,
            handle: register(77, Protocol::House, ConnectionMethod::House).handle,
            protocol: Protocol::House,
            method: ConnectionMethod::House,
            home: ProducerId::NONE,
        });
    });
    check(1, "the outbox", &|state| {
        state.outbox.took(ProducerId::of_partition(Partition(0)), 0, BodyDigest([0; 16]));
    });
    check(1, "the outbox", &|state| {
        let number = state.outbox.sent(Partition(0)) + 1;
        state.outbox.sent_one(&OutboxSent { to: Partition(0), number, kind: 0x0fff, body: Vec::new() });
    });
}
