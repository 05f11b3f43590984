//! The servers go: one of three, the one that leads the stream, all of them.

use super::{Load, Site, assert_registered_once, leader::stop_all};
use arena_tests::nats::left_out;
use std::{
    thread,
    time::{Duration, Instant},
};

const STREAM: &str = "ARENA_RECORDS_0_1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_servers_any_one_may_be_killed_and_all_of_them_may_come_back() {
    if left_out() {
        return;
    }
    let mut site = Site::three();
    let [one, two, gateway] = site.serve_all([("e1", "engine"), ("e2", "engine"), ("g1", "gateway")]);
    let load = Load::start(&[&gateway], 4);
    load.more(20).await;
    // Whoever leads the stream, then one that does not.
    for leads in [true, false] {
        let leader = site.servers.leader_of(STREAM);
        let at = if leads { leader } else { (leader + 1) % 3 };
        let killed = Instant::now();
        site.servers.nodes[at].kill();
        report(if leads { "the stream's leader" } else { "another server" }, load.resumed(killed).await);
        load.more(20).await;
        site.servers.nodes[at].start();
        site.servers.wait_ready();
    }
    for node in &mut site.servers.nodes {
        node.kill();
    }
    thread::scope(|scope| {
        for node in &mut site.servers.nodes {
            scope.spawn(|| node.start());
        }
    });
    report("all three, from when they were back", load.resumed(Instant::now()).await);
    load.more(20).await;
    let acknowledged = load.stop().await;
    stop_all(gateway, vec![one, two]);
    assert_registered_once(&site.judge(), &acknowledged);
}

fn report(what: &str, took: Duration) {
    println!("{what}: served on after {} ms", took.as_millis());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_alone_may_be_killed_again_and_again() {
    if left_out() {
        return;
    }
    let mut site = Site::one();
    let [engine, gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let load = Load::start(&[&gateway], 4);
    for _ in 0..3 {
        load.more(20).await;
        site.servers.nodes[0].kill();
        site.servers.nodes[0].start();
        report("the server, from when it was back", load.resumed(Instant::now()).await);
    }
    let acknowledged = load.stop().await;
    assert!(!gateway.log().contains("taken for gone"), "{}", gateway.log());
    stop_all(gateway, vec![engine]);
    assert_registered_once(&site.judge(), &acknowledged);
}
