//! What may be open, and what may wait: the caps of agents and pairs hold over all partitions, and at those of an outbox nothing is
//! lost.

use super::{Beside, agent, by, full, gateway, match_id, names, open, refused, register, two_of_each};
use crate::{
    GATEWAYS_WAITING_MAX, OPENINGS_WAITING_MAX, State,
    matches::{MATCHES_OPEN_MAX, OPEN_PER_AGENT_MAX, OPEN_PER_PAIR_MAX},
    testing::{Body, Journal},
};
use arena_schema::{
    Command, Event, Hash, LogTime, Rejection,
    command::{
        matches::{Guest, TakeMatch},
        system::{AcknowledgeOutbox, ActivateRules, AnnounceGateway, GatewayGone, OpenPartition},
    },
    event::system::OutboxSent,
    hash::BodyDigest,
    id::{ConnectionMethod, GameCode, Incarnation, Partition, ProducerId, Protocol, RulesVersion, Seed},
    record::CommandHead,
};

#[test]
fn caps_hold_over_all_partitions_together() {
    let mut network = two_of_each(3);
    for at in 0..u64::from(OPEN_PER_PAIR_MAX) {
        by(&mut network, 0, open(match_id(at as u16 % 3, at), [0, 1]));
    }
    refused(&by(&mut network, 0, open(match_id(2, 100), [1, 0])), Rejection::PairLimit);
    for at in 4..10 {
        by(&mut network, 0, register(at, Protocol::AgentArena, ConnectionMethod::Polling));
    }
    for at in 3..u64::from(OPEN_PER_AGENT_MAX) {
        let other = 2 + (at as u32 / 3);
        let events = by(&mut network, 0, open(match_id(at as u16 % 3, at), [0, other]));
        assert!(!matches!(events.last(), Some(Event::Rejected(_))), "{at}: {events:?}");
    }
    refused(&by(&mut network, 0, open(match_id(1, 101), [9, 0])), Rejection::AgentLimit);
    refused(&by(&mut network, 0, open(match_id(1, 4), [8, 9])), Rejection::MatchIdTaken);
    refused(&by(&mut network, 0, open(match_id(3, 102), [8, 9])), Rejection::UnknownPartition);
    network.settle();
    refused(&by(&mut network, 0, open(match_id(1, 4), [8, 9])), Rejection::MatchIdTaken);
}

#[test]
fn a_full_outbox_refuses_openings_and_loses_nothing() {
    // By a journal of its own: what holds for all partitions is not checked for so many.
    let mut journal = Journal::new();
    let mut time = LogTime(1_800_000_000_000_000);
    let mut append = |commands: Vec<(u64, Command)>| {
        time.0 += 1;
        let record: Vec<_> = commands
            .into_iter()
            .map(|(number, command)| {
                let producer = ProducerId(u64::from(number > 0));
                (CommandHead { producer, number, ..CommandHead::SEQUENCER }, Body::Known(command))
            })
            .collect();
        let emitted = journal.append(time, &record, |_| ()).expect("it is the next one");
        let events: Vec<Event> = emitted.iter().map(|one| one.event.clone()).collect();
        (events, journal.state().clone())
    };
    append(vec![(0, ActivateRules { version: RulesVersion(2) }.into())]);
    append(vec![(0, gateway(1).into())]);
    append(vec![(0, OpenPartition { partition: Partition(1) }.into())]);
    let house = |at| Command::from(register(at, Protocol::House, ConnectionMethod::House));
    append(vec![(1, house(0)), (2, house(1))]);
    let one = |at: u64| (at + 3, Command::from(open(match_id(1, at), [0, 1])));
    // The gateway is the first entry.
    let opens: Vec<_> = (1..OPENINGS_WAITING_MAX as u64).map(one).collect();
    for record in opens.chunks(1 << 12) {
        append(record.to_vec());
    }
    let (events, _) = append(vec![one(0), one(1 << 20)]);
    assert_eq!(names(&events)[..2], ["NumberSeen", "outbox_full"]);

    // Gateways come and go yet while there is room, and each one that came may go.
    let incarnation = |at: u32| Incarnation(std::array::from_fn(|byte| at.to_le_bytes()[byte % 4]));
    let come = |at| {
        let (incarnation, rules_known) = (incarnation(at), RulesVersion(2));
        (0, Command::from(AnnounceGateway { incarnation, rules_known }))
    };
    let go = |at| (0, Command::from(GatewayGone { incarnation: incarnation(at) }));
    let mut first = 1 << 8;
    let (events, state) = loop {
        let (events, state) = append((first..first + 400).flat_map(|at| [come(at), go(at - 9)]).collect());
        first += 400;
        assert!((first as usize) < GATEWAYS_WAITING_MAX, "there is an end to it");
        if names(&events).contains(&"outbox_full") {
            break (events, state);
        }
    };
    let behind: Vec<_> = names(&events).into_iter().skip_while(|name| *name != "outbox_full").collect();
    assert_eq!(behind.iter().filter(|name| **name == "GatewayRemoved").count(), 9, "who had come went");
    assert_eq!(state.producers().live_count(), 1);
    let waiting = state.outbox().waiting_count(Partition(1));
    assert!((GATEWAYS_WAITING_MAX - 2..GATEWAYS_WAITING_MAX).contains(&waiting), "{waiting}");
    let numbers = state.outbox().waiting(Partition(1), 0).map(|(number, _)| number);
    assert!(numbers.eq(1..=waiting as u64));

    // What is acknowledged makes room.
    let through = 1 << 14;
    let chain = state
        .outbox()
        .waiting(Partition(1), 0)
        .take(through as usize)
        .fold(Hash::ZERO, |chain, one| chain.then(&BodyDigest::of(one.1.kind, &one.1.body).0));
    append(vec![(0, AcknowledgeOutbox { to: Partition(1), through, chain }.into())]);
    let (events, state) = append(vec![one(1 << 21)]);
    assert_eq!(names(&events), ["NumberSeen", "MatchSent", "OutboxSent"]);
    assert_eq!(state.outbox().waiting(Partition(1), 0).next().map(|(number, _)| number), Some(through + 1));
}

#[test]
fn a_partition_takes_nothing_whose_end_it_would_have_no_room_for() {
    let network = full();
    let mut state = network.state(1).clone();
    let number = state.outbox.taken(Partition(0)) + 1;
    let take = TakeMatch {
        id: match_id(1, 1),
        game: GameCode(1),
        seats: [0, 1].map(|at| {
            let house = register(at, Protocol::House, ConnectionMethod::House);
            let (id, handle, protocol, method) = (house.id, house.handle, house.protocol, house.method);
            Guest { agent: agent(at.into()), id, handle, protocol, method, home: None }
        }),
        rated: false,
        deadline_ms: 500,
        seed: Seed([0; 32]),
    };
    let waits = |state: &mut State, number| {
        let (to, kind, body) = (Partition(0), 0x0306, Vec::new());
        state.outbox.sent_one(&OutboxSent { to, number, kind, body });
    };
    for sent in 1..MATCHES_OPEN_MAX as u64 {
        waits(&mut state, sent);
    }
    let opened = ["NumberSeen", "GuestArrived", "GuestArrived", "MatchOpened", "TurnOpened"];
    assert_eq!(Beside(state.clone()).take(number, take.clone()), opened);
    waits(&mut state, MATCHES_OPEN_MAX as u64);
    assert_eq!(Beside(state).take(number, take), ["outbox_full"], "and 0 keeps it");
}
