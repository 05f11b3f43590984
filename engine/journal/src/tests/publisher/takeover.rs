//! One process after the other, and two at once.

use super::{Play, arena, assert_told, engine, folded, gateway, published, wait_published};
use crate::{
    jetstream::{EventStream, NatsOptions},
    nats_servers::left_out,
    replicated::{Lag, LocalCopy, Publisher},
    testing::PARTITION,
    tests::jetstream::{
        proxy::Proxy,
        setup::{Bench, wait_until},
    },
};
use arena_engine::State;
use arena_schema::id::RecordNumber;
use std::time::Duration;
use tempfile::TempDir;

#[test]
fn a_node_publishes_what_a_fold_over_its_records_gives_and_goes_on_after_a_stop() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let mut play = Play::begin(&bench, &node);
    play.play(&bench, 5);
    wait_published(&node);
    assert_eq!(node.lagging().unwrap().lag(), Some(Lag { records: 0, events: 0 }));
    node.stop().unwrap();
    let first = assert_told(&bench, data.path());
    assert_eq!(first.iter().filter(|(subject, _)| subject.contains("match_ended")).count(), 5);
    assert!(first[0].0.starts_with("arena.event.0.system.sequencer_announced."), "{}", first[0].0);

    for _ in 0..2 {
        let node = arena(bench.connect(), data.path());
        let mut again = Play { producer: node.producer().unwrap(), ..play };
        again.play(&bench, 3);
        play = again;
        // Also what is told last is told before the end.
        node.stop().unwrap();
        let all = assert_told(&bench, data.path());
        assert_eq!(all[..first.len()], first[..]);
    }
}

#[test]
fn whoever_leads_next_goes_on_where_a_leader_stopped() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let mut engines = vec![engine(bench.connect(), folders[0].path())];
    let gateway = gateway(bench.connect(), folders[2].path());
    let mut play = Play::begin(&bench, &gateway);
    engines.push(engine(bench.connect(), folders[1].path()));
    for round in 0..3 {
        play.play(&bench, 2);
        // In the middle of a match, and of publishing it.
        let turn = play.open(&bench);
        let turn = play.answer(&bench, turn).unwrap();
        engines.remove(0).stop().unwrap();
        play.answer(&bench, turn).unwrap();
        engines.push(engine(bench.connect(), folders[round % 2].path()));
    }
    play.play(&bench, 1);
    gateway.stop().unwrap();
    wait_until("a leader that published all", || {
        engines.iter().any(|engine| engine.lagging().unwrap().lag().is_some_and(|lag| lag.is_none()))
    });
    for engine in engines {
        engine.stop().unwrap();
    }
    let data = (0..2).max_by_key(|at| folded(folders[*at].path()).len()).unwrap();
    assert_told(&bench, folders[data].path());
}

#[test]
fn what_a_dead_leader_did_not_publish_the_next_one_does_and_a_woken_one_disturbs_nothing() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let proxy = Proxy::before(bench.servers.nodes[0].address());
    let behind = NatsOptions { url: proxy.url(), ..bench.options() };
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let dies = engine(bench.connect_with(&behind), folders[0].path());
    let gateway = gateway(bench.connect(), folders[1].path());
    let mut play = Play::begin(&bench, &gateway);
    let next = engine(bench.connect(), folders[2].path());
    play.play(&bench, 3);
    // It leads, and publishes nothing more; then nobody hears of it.
    dies.hold_events(true);
    let before = published(&bench).len();
    play.play(&bench, 3);
    assert!(dies.lagging().unwrap().lag().is_some());
    proxy.cut(true);
    dies.hold_events(false);
    play.play(&bench, 2);
    wait_published(&next);
    assert!(folded(folders[2].path()).len() > before + 45);
    assert_told(&bench, folders[2].path());

    proxy.open();
    play.play(&bench, 3);
    wait_until("the woken one's copy", || dies.handle().position() >= gateway.handle().position());
    wait_published(&next);
    dies.stop().unwrap();
    next.stop().unwrap();
    assert_told(&bench, folders[2].path());
    gateway.stop().unwrap();
}

#[test]
fn two_publishers_at_once_put_every_event_there_once() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let copy = super::copied(&data, 1_500);
    let expected = super::folded_file(&copy.mirror_at);
    let publishers: Vec<_> = (0..2)
        .map(|_| {
            let copy = LocalCopy { mirror_at: copy.mirror_at.clone(), snapshots: None };
            let (feed, publisher) = Publisher::start(&bench.connect(), &State::new(PARTITION), copy).unwrap();
            feed.skip_to(RecordNumber(1_500));
            publisher.lead(RecordNumber(1));
            (feed, publisher)
        })
        .collect();
    for (_, publisher) in &publishers {
        wait_until("all events", || publisher.lagging().lag().is_some_and(|lag| lag.is_none()));
    }
    drop(publishers);
    assert_eq!(published(&bench), expected);
}

#[test]
fn who_expects_another_end_of_the_stream_is_refused() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let copy = super::copied(&data, 60);
    let mut row = Vec::new();
    super::each_event(PARTITION, &copy.mirror_at, |event| row.push(event));
    let nats = [bench.connect(), bench.connect()];
    bench.runtime.block_on(async {
        let mut one = EventStream::open(&nats[0], PARTITION).await.unwrap();
        let mut other = EventStream::open(&nats[1], PARTITION).await.unwrap();
        assert_eq!(one.publish(0, row[..20].iter()).await, (20, Ok(())));
        // Deposed, it believes that less is there than is, or more.
        for (last, events) in [(10, &row[10..18]), (19, &row[19..20]), (25, &row[25..])] {
            let (stored, done) = other.publish(last, events.iter()).await;
            assert!(stored == 0 && done.is_err(), "behind {last}: {stored} {done:?}");
        }
        assert_eq!(other.stands().await.unwrap().last, 20);
        assert_eq!(other.publish(20, row[20..].iter()).await, (row.len() - 20, Ok(())));
        let (stored, done) = one.publish(20, row[20..30].iter()).await;
        assert!(stored == 0 && done.is_err(), "{stored} {done:?}");
    });
    let told: Vec<_> = row.into_iter().map(|event| (event.subject, event.json)).collect();
    assert_eq!(published(&bench), told);
}

/// Such as the beginning of a lineage, where a restore is not yet as old as the window for ids.
#[test]
fn an_event_with_an_id_that_was_used_before_is_stored_all_the_same() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let mut row = Vec::new();
    super::each_event(PARTITION, &super::copied(&data, 20).mirror_at, |event| row.push(event));
    row[5].id = row[2].id;
    let nats = bench.connect();
    bench.runtime.block_on(async {
        let mut stream = EventStream::open(&nats, PARTITION).await.unwrap();
        let (stored, done) = stream.publish(0, row[..10].iter()).await;
        assert!(stored == 5 && done.is_err(), "{stored} {done:?}");
        assert_eq!(stream.stands().await.unwrap().last, 5);
        assert_eq!(stream.publish(5, row[5..10].iter()).await, (5, Ok(())));
    });
}

#[test]
fn the_lag_grows_while_nothing_is_published_and_goes() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let mut play = Play::begin(&bench, &node);
    wait_published(&node);
    node.hold_events(true);
    std::thread::sleep(Duration::from_millis(100));
    play.play(&bench, 2);
    // Who waits for an outcome may have it a moment before.
    wait_until("a lag of all that was played", || {
        node.lagging().unwrap().lag().is_some_and(|lag| lag.records >= 16 && !lag.is_none())
    });
    node.hold_events(false);
    wait_published(&node);
    node.stop().unwrap();
    assert_told(&bench, data.path());
}
