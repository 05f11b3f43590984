//! What rules 2 brought is theirs, and what partition 0 decides is its own.

use super::{by, gateway, match_id, names, open, refused, register, two_of_each};
use crate::testing::{Body, Journal, printed};
use arena_schema::{
    Command, Hash, LogTime, Rejection,
    command::{
        matches::ReturnMatch,
        system::{AcknowledgeOutbox, ActivateRules, GatewayGone, OpenPartition},
    },
    id::{ConnectionMethod, Incarnation, Partition, ProducerId, Protocol, RulesVersion},
    record::CommandHead,
};

#[test]
fn what_partition_0_decides_is_refused_in_every_other() {
    let mut network = two_of_each(2);
    refused(&network.write(1, gateway(9)), Rejection::WrongPartition);
    let gone = GatewayGone { incarnation: Incarnation([1; 16]) };
    refused(&network.write(1, gone), Rejection::WrongPartition);
    refused(&network.write(1, OpenPartition { partition: Partition(2) }), Rejection::WrongPartition);
    refused(&network.write(0, OpenPartition { partition: Partition(0) }), Rejection::WrongPartition);
    let agent = register(50, Protocol::House, ConnectionMethod::House);
    refused(&by(&mut network, 1, agent), Rejection::WrongPartition);
    refused(&by(&mut network, 1, open(match_id(1, 1), [0, 1])), Rejection::WrongPartition);
    refused(
        &by(&mut network, 1, ReturnMatch { id: match_id(1, 1), result: None }),
        Rejection::WrongPartition,
    );
    refused(
        &by(&mut network, 0, ReturnMatch { id: match_id(1, 1), result: None }),
        Rejection::WrongPartition,
    );
}

#[test]
fn under_rules_1_nothing_of_it_is_known_and_an_id_says_nothing() {
    let mut journal = Journal::new();
    let mut time = LogTime(1_800_000_000_000_000);
    let mut append = |producer, number, body: Body| {
        time.0 += 1;
        let head = CommandHead { producer: ProducerId(producer), number, ..CommandHead::SEQUENCER };
        let emitted = journal.append(time, &[(head, body)], |_| ()).expect("the next one");
        names(&emitted.iter().map(|one| one.event.clone()).collect::<Vec<_>>())
    };
    append(0, 0, Body::Known(gateway(1).into()));
    for at in 0..2 {
        let house = register(at, Protocol::House, ConnectionMethod::House);
        append(1, 1 + u64::from(at), Body::Known(house.into()));
    }
    let opened = ["NumberSeen", "MatchOpened", "TurnOpened"];
    assert_eq!(append(1, 3, Body::Known(open(match_id(5, 1), [0, 1]).into())), opened);
    for body in [
        Body::Known(OpenPartition { partition: Partition(1) }.into()),
        Body::Known(AcknowledgeOutbox { to: Partition(1), through: 1, chain: Hash::ZERO }.into()),
        Body::Known(ReturnMatch { id: match_id(1, 1), result: None }.into()),
        Body::Raw(0x0305, vec![1, 2, 3]),
    ] {
        assert_eq!(append(0, 0, body), ["unknown_kind"]);
    }
    let partition = ProducerId::of_partition(Partition(1)).0;
    let back = Body::Known(ReturnMatch { id: match_id(1, 1), result: None }.into());
    assert_eq!(append(partition, 1, back), ["expired"]);
}

#[test]
fn an_arena_of_one_partition_does_under_rules_2_what_it_did_before() {
    let history = "
        10:00:01 gateway g rules=2
        10:00:02 g register alpha beta secrets=api_key,endpoint_secret
        10:00:03 g register gamma delta method=polling secrets=api_key
        10:00:05 g rotate alpha api_key secret=another
        10:00:06 g open m1 alpha beta with=alpha key=one/two
        10:00:07 g open m2 gamma delta
        10:00:08 g open m3 alpha delta unrated
        10:00:09 g play m1 dcdcdcd
        10:00:10 g strike m2 ? timeout
        10:00:11 gateway h rules=2
        10:00:12 g open m4 beta gamma
        10:00:13 gone g
        10:00:14 h play m2 ab
        10:00:15 sequencer outage_us=700000
        10:00:16 h abort m3
        10:02:17 tick
        10:02:18 gone h
        10:02:19 gateway i rules=2
        10:04:20 tick
    ";
    let under = |first: &str| {
        let printed = printed(&format!("10:00:00 {first}\n{history}"));
        printed.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let (before, now) = (under("tick"), under("rules 2"));
    assert!(before.len() > 40, "{before:#?}");
    assert_eq!(before, now);
}

#[test]
fn a_partition_goes_over_to_the_rules_of_partitions_with_nothing_of_its_own() {
    let mut journal = Journal::of(Partition(3));
    let mut time = LogTime(1_800_000_000_000_000);
    let mut append = |command: Command| {
        time.0 += 1;
        let emitted = journal.append(time, &[(CommandHead::SEQUENCER, Body::Known(command))], |_| ());
        names(&emitted.expect("the next one").iter().map(|one| one.event.clone()).collect::<Vec<_>>())
    };
    append(gateway(1).into());
    let rules = || Command::from(ActivateRules { version: RulesVersion(2) });
    assert_eq!(append(rules()), ["wrong_partition"]);
    append(GatewayGone { incarnation: Incarnation([1; 16]) }.into());
    assert_eq!(append(rules()), ["RulesActivated"]);
}
