//! Entries, one thing at a time: when one acts, what comes of it, when it leaves.

use super::{Beside, agent, asked, by, full, match_id, mv, names, open, refused, register, two_of_each};
use crate::testing::{Body, Letter, Network};
use arena_schema::{
    Command, Event, Hash, Rejection,
    command::{
        matches::{Guest, ReturnMatch, TakeMatch},
        system::AcknowledgeOutbox,
    },
    id::{ConnectionMethod, GameCode, Incarnation, Partition, ProducerId, Protocol, Seed},
    record::CommandHead,
};

/// Submits an entry by hand.
fn deliver(
    network: &mut Network,
    from: usize,
    to: usize,
    number: u64,
    command: impl Into<Command>,
) -> Vec<Event> {
    let command = command.into();
    let mut body = Vec::new();
    command.encode_body(&mut body);
    let letter = Letter { from, to, number, kind: command.kind(), body };
    network.append(to, &[letter.command()])
}

#[test]
fn a_match_is_decided_on_in_partition_0_played_where_its_id_says_and_counted_until_it_is_over() {
    let mut network = two_of_each(2);
    let events = by(&mut network, 0, open(match_id(1, 1), [0, 1]));
    assert_eq!(names(&events), ["NumberSeen", "MatchSent", "OutboxSent"]);
    assert_eq!(network.state(0).matches().open_between(agent(0), agent(1)), 1);
    assert!(network.state(0).matches().open().is_empty());

    let letters = network.waiting(0, 1, 2, 9);
    let [letter] = &letters[..] else { panic!("{letters:?}") };
    let events = network.append(1, &[letter.command()]);
    let opened = ["NumberSeen", "GuestArrived", "GuestArrived", "MatchOpened", "TurnOpened"];
    assert_eq!(names(&events), opened);
    assert_eq!(names(&network.append(1, &[letter.command()])), ["duplicate"]);

    for column in [0, 1, 0, 1, 0, 1, 0] {
        let (turn, home) = asked(&network, 1)[0];
        let head = network.by(1, home);
        let events = network.append(1, &[(head, Body::Known(mv(turn, column).into()))]);
        if events.iter().any(|event| matches!(event, Event::MatchEnded(_))) {
            let ended = ["NumberSeen", "MovePlayed", "MatchEnded", "GuestLeft", "GuestLeft", "OutboxSent"];
            assert_eq!(names(&events), ended);
        }
    }
    assert!(network.state(1).matches().open().is_empty());
    assert_eq!(network.state(0).matches().open_of(agent(0)), 1, "0 does not know yet");
    network.settle();
    assert_eq!(network.state(0).matches().open_of(agent(0)), 0);
    assert!(network.kinds.contains_key("MatchReturned"));
    network.replay(1);
}

#[test]
fn an_entry_that_is_refused_uses_up_nothing_and_none_overtakes_it() {
    let mut network = two_of_each(2);
    by(&mut network, 0, open(match_id(1, 1), [0, 1]));
    by(&mut network, 0, open(match_id(1, 2), [2, 3]));
    let letters = network.waiting(0, 1, 2, 9);
    let commands: Vec<_> = letters.iter().map(Letter::command).collect();
    let next = letters[0].number;
    refused(&network.append(1, &commands[1..]), Rejection::OutboxGap);
    // Of a kind that only newer rules know, of another partition's, not this partition's to take.
    let ours = ProducerId::of_partition(Partition(0));
    let head = CommandHead { producer: ours, number: next, ..CommandHead::SEQUENCER };
    refused(&network.append(1, &[(head, Body::Raw(0x03ff, vec![1]))]), Rejection::UnknownKind);
    refused(&network.append(1, &[(head, Body::Raw(0x0305, vec![1]))]), Rejection::Malformed);
    let back = ReturnMatch { id: match_id(1, 1), result: None };
    refused(&deliver(&mut network, 0, 1, next, back.clone()), Rejection::WrongPartition);
    refused(&deliver(&mut network, 5, 1, 1, back.clone()), Rejection::UnknownPartition);
    refused(&deliver(&mut network, 1, 1, 1, back.clone()), Rejection::UnknownPartition);
    // The first, then both at once: one is a repeat, the other acts.
    network.append(1, &commands[..1]);
    refused(&deliver(&mut network, 0, 1, next, back), Rejection::NumberReused);
    let events = network.append(1, &commands);
    assert_eq!(names(&events)[..2], ["duplicate", "NumberSeen"]);
    refused(&network.append(1, &commands[..1]), Rejection::Expired);
    assert_eq!(network.state(1).matches().open().len(), 2);
}

#[test]
fn what_was_acknowledged_leaves_and_nothing_else_does() {
    let mut network = two_of_each(2);
    for at in 0..3 {
        by(&mut network, 0, open(match_id(1, at), [0, 1]));
    }
    let to = Partition(1);
    let sent = network.state(0).outbox().sent(to);
    network.carry(0, 1, 2);
    assert_eq!(network.state(0).outbox().waiting_count(to), 1);
    let chain = network.state(1).outbox().taken_chain(Partition(0));
    let acknowledge =
        |network: &mut Network, through, chain| network.write(0, AcknowledgeOutbox { to, through, chain });
    refused(&acknowledge(&mut network, sent - 1, chain), Rejection::Expired);
    refused(&acknowledge(&mut network, 0, Hash::ZERO), Rejection::Expired);
    // More than was sent; as much, but something else.
    refused(&acknowledge(&mut network, sent + 1, chain), Rejection::OutboxForked);
    refused(&acknowledge(&mut network, u64::MAX, chain), Rejection::OutboxForked);
    refused(&acknowledge(&mut network, sent, chain), Rejection::OutboxForked);
    let unknown = AcknowledgeOutbox { to: Partition(9), through: 1, chain };
    refused(&network.write(0, unknown), Rejection::UnknownPartition);
    let mine = AcknowledgeOutbox { to, through: sent, chain };
    refused(&by(&mut network, 0, mine), Rejection::NotSequencer);
    network.carry(0, 1, 2);
    let outbox = network.state(0).outbox();
    assert_eq!((outbox.waiting_count(to), outbox.sent(to), outbox.acknowledged(to)), (0, sent, sent));
    assert_eq!(outbox.waiting(to, 0).count(), 0);
}

#[test]
fn a_partition_that_was_restored_to_another_history_is_found_out_before_anything_leaves() {
    let sent = |id| {
        let mut network = two_of_each(2);
        by(&mut network, 0, open(match_id(1, id), [0, 1]));
        network
    };
    let (mut one, mut other) = (sent(1), sent(2));
    one.carry(0, 1, 9);
    // The other's partition 0 has sent as many entries, and the last is not the one that was taken.
    let outbox = one.state(1).outbox();
    let (through, chain) = (outbox.taken(Partition(0)), outbox.taken_chain(Partition(0)));
    let to = Partition(1);
    refused(&other.write(0, AcknowledgeOutbox { to, through, chain }), Rejection::OutboxForked);
    assert_eq!(other.state(0).outbox().waiting_count(to), 1);
    let last = other.waiting(0, 1, 0, 9).remove(0);
    refused(&one.append(1, &[last.command()]), Rejection::NumberReused);
}

#[test]
fn a_match_that_cannot_be_played_there_comes_back_at_once() {
    let mut network = full();
    network.settle();
    let next = network.state(1).outbox().taken(Partition(0)) + 1;
    let state = network.state(1).clone();
    let guest = |at: u32, protocol| Guest {
        agent: agent(at),
        id: register(at as u8, protocol, ConnectionMethod::House).id,
        handle: register(at as u8, protocol, ConnectionMethod::House).handle,
        protocol,
        method: ConnectionMethod::House,
        home: None,
    };
    let take = TakeMatch {
        id: match_id(1, 1),
        game: GameCode(1),
        seats: [guest(0, Protocol::House), guest(1, Protocol::House)],
        rated: false,
        deadline_ms: 500,
        seed: Seed([0; 32]),
    };
    let journal = Beside(state);
    let ludux = [guest(0, Protocol::House), guest(1, Protocol::Ludux)];
    for wrong in
        [TakeMatch { game: GameCode(77), ..take.clone() }, TakeMatch { seats: ludux, ..take.clone() }]
    {
        assert_eq!(journal.take(next, wrong), ["NumberSeen", "OutboxSent"]);
    }
    let elsewhere = TakeMatch { id: match_id(2, 1), ..take.clone() };
    assert_eq!(journal.take(next, elsewhere), ["wrong_partition"]);
    // A home that nobody has here: rendezvous, as for an agent that has none.
    let mut homeless = take;
    homeless.seats[0].home = Some(Incarnation([200; 16]));
    let opened = ["NumberSeen", "GuestArrived", "GuestArrived", "MatchOpened", "TurnOpened"];
    assert_eq!(journal.take(next, homeless), opened);
}
