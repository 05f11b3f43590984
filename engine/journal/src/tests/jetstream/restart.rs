//! Servers that die and come back in the middle of appends, while a tail reads.

use super::{
    Bench,
    setup::{FIRST, PATIENCE, wait_until},
};
use crate::{
    Journal,
    nats_servers::{NatsServers, left_out},
    testing::{Rows, played, rows, rows_of},
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Appends so many records while a tail reads; `happens` is handed the servers and may wait until the tail has shown so many.
fn check(mut bench: Bench, count: usize, happens: impl FnOnce(&mut NatsServers, &dyn Fn(usize))) {
    let written = played(count, 8);
    let (mut journal, reading) = (bench.journal(0), bench.journal(0));
    let seen = Mutex::new(Rows::new());
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for (record, texts) in &written {
                let appended = journal.append(record, texts);
                failed.fetch_or(appended.is_err(), Ordering::SeqCst);
                appended.unwrap();
            }
        });
        scope.spawn(|| {
            let mut tail = reading.tail();
            tail.begin(FIRST);
            let begun = Instant::now();
            while seen.lock().unwrap().len() < count && !failed.load(Ordering::SeqCst) {
                assert!(begun.elapsed() < PATIENCE, "the tail stopped at {}", seen.lock().unwrap().len());
                if let Some(record) = tail.next(Duration::from_millis(50)).unwrap() {
                    seen.lock().unwrap().push((record.number.0, record.bytes, record.texts));
                }
            }
        });
        happens(&mut bench.servers, &|many| {
            wait_until("the tail", || failed.load(Ordering::SeqCst) || seen.lock().unwrap().len() >= many);
        });
    });
    assert_eq!(seen.into_inner().unwrap(), rows_of(&written));
    assert_eq!(rows(&journal), rows_of(&written));
}

#[test]
fn a_server_killed_and_started_again_has_all_and_the_tail_goes_on() {
    if left_out() {
        return;
    }
    check(Bench::one(), 400, |servers, wait_tail| {
        for many in [40, 120, 300] {
            wait_tail(many);
            servers.nodes[0].kill();
            servers.nodes[0].start();
        }
    });
}

#[test]
fn of_three_servers_one_may_die_and_come_back() {
    if left_out() {
        return;
    }
    check(Bench::three(), 300, |servers, wait_tail| {
        wait_tail(50);
        let leader = servers.leader_of("ARENA_RECORDS_0_1");
        servers.nodes[leader].kill();
        wait_tail(200);
        servers.nodes[leader].start();
        servers.wait_ready();
    });
}
