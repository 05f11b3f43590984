//! Gateways that come and go, in all partitions: an agent has one home.

use super::{asked, by, gateway, match_id, open, two_of_each};
use arena_schema::{
    command::system::{GatewayGone, OpenPartition},
    id::{Incarnation, Partition, ProducerId},
};

#[test]
fn a_gateway_that_goes_is_gone_everywhere_and_an_agent_has_one_home_in_all_partitions() {
    let mut network = two_of_each(3);
    for at in 3..9 {
        network.write(0, gateway(at));
    }
    let sent = network.state(0).outbox().sent(Partition(1));
    network.write(0, gateway(3));
    assert_eq!(network.state(0).outbox().sent(Partition(1)), sent, "one that is known is no news");
    for at in 0..3u64 {
        by(&mut network, 0, open(match_id(at as u16, at), [0, 1]));
    }
    network.settle();
    for _ in 0..7 {
        let homes: Vec<Incarnation> = (0..3)
            .map(|at| {
                let home = asked(&network, at)[0].1;
                network.state(at).producers.incarnation(home).expect("a home is live")
            })
            .collect();
        assert!(homes.iter().all(|home| *home == homes[0]), "{homes:?}");
        network.write(0, GatewayGone { incarnation: homes[0] });
        assert!(network.state(1).producers().of(&homes[0]).is_some(), "until the word comes");
        network.settle();
        assert!(network.state(1).producers().of(&homes[0]).is_none());
    }
    // The last one goes too: nobody asks, until the next one comes.
    let last = network.state(0).producers().live().next().unwrap().1.incarnation;
    network.write(0, GatewayGone { incarnation: last });
    network.settle();
    assert!((0..3).all(|at| asked(&network, at)[0].1 == ProducerId::NONE));
    network.write(0, gateway(77));
    network.settle();
    assert!((0..3).all(|at| asked(&network, at)[0].1 != ProducerId::NONE));
    network.replay(1);
}

#[test]
fn after_a_restore_of_all_partitions_the_next_gateway_takes_what_is_open_in_all() {
    let mut network = two_of_each(2);
    by(&mut network, 0, open(match_id(1, 1), [0, 1]));
    network.settle();
    network.begin_lineage(1);
    network.begin_lineage(0);
    network.settle();
    assert_eq!(network.state(1).producers().live_count(), 0);
    assert_eq!(asked(&network, 1)[0].1, ProducerId::NONE);
    network.write(0, gateway(5));
    network.settle();
    network.rejoined(1);
    assert_ne!(asked(&network, 1)[0].1, ProducerId::NONE);
}

#[test]
fn a_partition_that_alone_lost_its_gateways_gets_them_anew() {
    let mut network = two_of_each(2);
    by(&mut network, 0, open(match_id(1, 1), [0, 1]));
    network.settle();
    network.begin_lineage(1);
    assert_eq!(asked(&network, 1)[0].1, ProducerId::NONE);
    for _ in 0..2 {
        network.write(0, OpenPartition { partition: Partition(1) });
        network.settle();
        assert_eq!(network.state(1).producers().live_count(), 2, "once, however often it is told");
    }
    assert_ne!(asked(&network, 1)[0].1, ProducerId::NONE);
}
