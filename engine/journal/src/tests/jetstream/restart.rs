//! Servers that die and come back in the middle of appends, while a tail reads.

use super::{
    Bench,
    setup::{FIRST, PATIENCE, open, wait_until},
};
use crate::{
    Journal,
    jetstream::NatsOptions,
    nats_servers::{NatsServers, left_out},
    testing::{Rows, played, rows, rows_of},
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// More than are appended while servers come and go.
const RECORDS: usize = 20_000;

/// Appends without a pause while a tail reads, over connections to `url`. `happens` is handed the servers, and a wait until
/// the tail has shown so many more; when it is over the appends end.
fn check(mut bench: Bench, url: &str, happens: impl FnOnce(&mut NatsServers, &dyn Fn(usize))) {
    let written = played(RECORDS, 8);
    let nats = || bench.connect_with(&NatsOptions { url: url.to_owned(), ..bench.options() });
    let (mut journal, reading) = (open(&nats(), 0), open(&nats(), 0));
    let seen = Mutex::new(Rows::new());
    let [over, failed, finished] = [const { AtomicBool::new(false) }; 3];
    let appended = AtomicUsize::new(0);
    let ended = || over.load(Ordering::SeqCst) || failed.load(Ordering::SeqCst);
    thread::scope(|scope| {
        scope.spawn(|| {
            for (record, texts) in written.iter().take_while(|_| !ended()) {
                let outcome = journal.append(record, texts);
                failed.fetch_or(outcome.is_err(), Ordering::SeqCst);
                outcome.unwrap();
                appended.fetch_add(1, Ordering::SeqCst);
            }
            finished.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            let mut tail = reading.tail();
            tail.begin(FIRST);
            let mut moved = Instant::now();
            while !finished.load(Ordering::SeqCst)
                || seen.lock().unwrap().len() < appended.load(Ordering::SeqCst)
            {
                let at = seen.lock().unwrap().len();
                assert!(
                    moved.elapsed() < PATIENCE && !failed.load(Ordering::SeqCst),
                    "the tail stopped at {at}"
                );
                if let Some(record) = tail.next(Duration::from_millis(50)).unwrap() {
                    seen.lock().unwrap().push((record.number.0, record.bytes, record.texts));
                    moved = Instant::now();
                }
            }
        });
        happens(&mut bench.servers, &|more| {
            let until = seen.lock().unwrap().len() + more;
            wait_until("the tail", || failed.load(Ordering::SeqCst) || seen.lock().unwrap().len() >= until);
        });
        over.store(true, Ordering::SeqCst);
    });
    let count = appended.load(Ordering::SeqCst);
    assert!(count < RECORDS, "the appends were over before the servers were back");
    assert!(
        seen.into_inner().unwrap()[..count] == rows_of(&written[..count]),
        "the tail showed something else"
    );
    assert!(rows(&journal)[..count] == rows_of(&written[..count]), "the journal holds something else");
}

#[test]
fn a_server_killed_and_started_again_has_all_and_the_tail_goes_on() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let url = bench.servers.url();
    check(bench, &url, |servers, wait_tail| {
        for more in [40, 100, 300] {
            wait_tail(more);
            servers.nodes[0].kill();
            servers.nodes[0].start();
        }
        wait_tail(50);
    });
}

#[test]
fn of_three_servers_one_may_die_and_come_back() {
    if left_out() {
        return;
    }
    let bench = Bench::three();
    let url = bench.servers.url();
    check(bench, &url, |servers, wait_tail| {
        wait_tail(50);
        let leader = servers.leader_of("ARENA_RECORDS_0_1");
        servers.nodes[leader].kill();
        wait_tail(100);
        servers.nodes[leader].start();
        servers.wait_ready();
        wait_tail(100);
    });
}

#[test]
fn a_leader_that_sleeps_and_wakes_deposed_confuses_nobody() {
    if left_out() {
        return;
    }
    let bench = Bench::three();
    bench.journal(0);
    let leader = bench.servers.leader_of("ARENA_RECORDS_0_1");
    // Connected to another one, which goes on answering.
    let url = bench.servers.nodes[(leader + 1) % 3].url();
    check(bench, &url, |servers, wait_tail| {
        wait_tail(50);
        servers.nodes[leader].pause();
        wait_tail(100);
        servers.nodes[leader].resume();
        wait_tail(300);
    });
}
