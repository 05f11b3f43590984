//! The leader goes: killed, stopped in order, or only asleep.

use super::{Load, Site, assert_registered_once, last_lead, leader_of, wait_until};
use arena_tests::{Served, nats::left_out};
use std::time::{Duration, Instant};

/// A bound for a busy machine; the figure is printed.
const TAKEOVER_MAX: Duration = Duration::from_secs(15);
/// Longer than a lease.
const ASLEEP: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_is_killed_another_takes_over_and_what_was_acknowledged_is_there_once() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [one, two, gateway] = site.serve_all([("e1", "engine"), ("e2", "engine"), ("g1", "gateway")]);
    let mut engines = vec![one, two];
    let load = Load::start(&[&gateway], 4);
    load.more(30).await;
    for round in 0..3 {
        let leader = leader_of(&engines);
        let name = engines[leader].data.file_name().unwrap().to_str().unwrap().to_owned();
        let killed = Instant::now();
        engines.remove(leader).kill();
        let takeover = load.resumed(killed).await;
        println!("round {round}: takeover after {} ms", takeover.as_millis());
        assert!(takeover < TAKEOVER_MAX, "{takeover:?}");
        load.more(20).await;
        engines.push(site.serve(&name, "engine"));
    }
    let acknowledged = load.stop().await;
    stop_all(gateway, engines);
    assert_registered_once(&site.judge(), &acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_wakes_after_another_took_over_writes_nothing_more() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [one, two, gateway] = site.serve_all([("e1", "engine"), ("e2", "engine"), ("g1", "gateway")]);
    let engines = vec![one, two];
    let load = Load::start(&[&gateway], 4);
    load.more(30).await;
    for _ in 0..2 {
        let leader = leader_of(&engines);
        let (asleep, other) = (&engines[leader], &engines[1 - leader]);
        let before = last_lead(other);
        let paused = Instant::now();
        asleep.signal("STOP");
        let takeover = load.resumed(paused).await;
        println!("takeover after {} ms", takeover.as_millis());
        wait_until("the other's lead", || last_lead(other) > before);
        wait_until("the end of the nap", || paused.elapsed() > ASLEEP);
        asleep.signal("CONT");
        load.more(40).await;
        assert_eq!(leader_of(&engines), 1 - leader, "whoever took over leads on");
    }
    let acknowledged = load.stop().await;
    stop_all(gateway, engines);
    assert_registered_once(&site.judge(), &acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_only_engine_that_slept_longer_than_a_gateways_lease_takes_no_gateway_for_gone() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let load = Load::start(&[&gateway], 2);
    load.more(10).await;
    let paused = Instant::now();
    engine.signal("STOP");
    wait_until("the end of the nap", || paused.elapsed() > Duration::from_secs(8));
    engine.signal("CONT");
    load.resumed(Instant::now()).await;
    load.more(10).await;
    let acknowledged = load.stop().await;
    assert!(!gateway.log().contains("taken for gone"), "{}", gateway.log());
    assert!(!engine.log().contains("silent for too long"), "{}", engine.log());
    stop_all(gateway, vec![engine]);
    assert_registered_once(&site.judge(), &acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_asked_to_stop_loses_nothing_and_hands_over_at_once() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [one, two, first] = site.serve_all([("e1", "engine"), ("e2", "engine"), ("g1", "gateway")]);
    let mut engines = vec![one, two];
    let second = site.serve("g2", "gateway");
    let load = Load::start(&[&first], 3);
    let ending = Load::start(&[&second], 3);
    load.more(20).await;
    ending.more(20).await;
    // A gateway, under load.
    let stopping = tokio::task::spawn_blocking(move || second.stop());
    stopping.await.unwrap();
    let mut acknowledged = ending.stop().await;
    for _ in 0..2 {
        let leader = engines.remove(leader_of(&engines));
        let name = leader.data.file_name().unwrap().to_str().unwrap().to_owned();
        let asked = Instant::now();
        let stopping = tokio::task::spawn_blocking(move || leader.stop());
        stopping.await.unwrap();
        let ended = asked.elapsed();
        let resumed = load.resumed(Instant::now()).await;
        println!("ended after {} ms, served on after {} ms", ended.as_millis(), resumed.as_millis());
        assert!(ended + resumed < Duration::from_secs(5), "{ended:?} and {resumed:?}");
        engines.push(site.serve(&name, "engine"));
    }
    // All of them at once, under load.
    let stopping = Instant::now();
    engines.push(first);
    let stops: Vec<_> =
        engines.into_iter().map(|served| tokio::task::spawn_blocking(move || served.stop())).collect();
    for stop in stops {
        stop.await.unwrap();
    }
    println!("all ended after {} ms", stopping.elapsed().as_millis());
    acknowledged.extend(load.stop().await);
    let records = site.judge();
    assert_registered_once(&records, &acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_each_process_does_everything_the_one_that_is_left_goes_on_alone() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [one, two] = site.serve_all([("a1", "all"), ("a2", "all")]);
    let mut processes = vec![one, two];
    for _ in 0..2 {
        let loads = processes.iter().map(|process| Load::start(&[process], 2)).collect::<Vec<_>>();
        for load in &loads {
            load.more(20).await;
        }
        let leader = leader_of(&processes);
        let name = processes[leader].data.file_name().unwrap().to_str().unwrap().to_owned();
        let killed = Instant::now();
        processes.remove(leader).kill();
        let takeover = loads[1 - leader].resumed(killed).await;
        println!("takeover after {} ms", takeover.as_millis());
        assert!(takeover < TAKEOVER_MAX, "{takeover:?}");
        let mut acknowledged = Vec::new();
        for load in loads {
            acknowledged.extend(load.stop().await);
        }
        processes.push(site.serve(&name, "all"));
        for slug in acknowledged {
            // Whichever of them is asked.
            for process in &processes {
                assert_eq!(process.get(&format!("/api/v1/agents/{slug}"), None).await.0, 200, "{slug}");
            }
        }
    }
    for process in processes {
        process.stop();
    }
    assert_registered_once(&site.judge(), &[]);
}

/// In order: nobody has to wait for a leader.
pub(super) fn stop_all(gateway: Served, engines: Vec<Served>) {
    gateway.stop();
    for engine in engines {
        engine.stop();
    }
}
