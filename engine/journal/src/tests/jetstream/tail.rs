//! A tail goes on where its consumer is gone, paused or passed something over, and stops at what is no record.

use super::{
    Bench,
    proxy::Proxy,
    setup::{FIRST, append_all, ask, open, remake, rows_of_tail, wait_until},
};
use crate::{
    Journal, JournalError,
    jetstream::{JetStreamJournal, NatsOptions, Tail},
    nats_servers::left_out,
    testing::{played, rows_of},
};
use arena_schema::id::{Era, Partition, RecordNumber};
use serde_json::json;
use std::{cell::RefCell, time::Duration};

const STREAM: &str = "ARENA_RECORDS_0_1";

/// The names of the consumers that read the records.
fn consumers(nats: &crate::Nats) -> Vec<String> {
    let answer = ask(nats, &format!("CONSUMER.NAMES.{STREAM}"), &json!({}));
    let names = answer["consumers"].as_array().cloned().unwrap_or_default();
    names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[test]
fn a_tail_goes_on_without_its_consumer_and_when_it_is_held_back() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (mut journal, nats) = (bench.journal(0), bench.connect());
    let written = played(35, 9);
    append_all(&mut journal, &written[..10]);
    let mut tail = journal.tail();
    tail.begin(RecordNumber(3));
    assert_eq!(rows_of_tail(&mut tail, 8), rows_of(&written[2..10]));
    assert!(tail.next(Duration::ZERO).unwrap().is_none());
    // Gone: the server says so.
    let names = consumers(&nats);
    assert_eq!(names.len(), 1, "{names:?}");
    ask(&nats, &format!("CONSUMER.DELETE.{STREAM}.{}", names[0]), &json!({}));
    append_all(&mut journal, &written[10..20]);
    assert_eq!(rows_of_tail(&mut tail, 10), rows_of(&written[10..20]));
    // Paused: it says that it is there, and nothing comes.
    let names = consumers(&nats);
    assert_eq!(names.len(), 1, "{names:?}");
    let pause = json!({"pause_until": "2999-01-01T00:00:00Z"});
    let paused = ask(&nats, &format!("CONSUMER.PAUSE.{STREAM}.{}", names[0]), &pause);
    assert_eq!(paused["paused"], true, "{paused}");
    append_all(&mut journal, &written[20..30]);
    assert_eq!(rows_of_tail(&mut tail, 10), rows_of(&written[20..30]));
    // From beyond the end: nothing comes before it.
    tail.begin(RecordNumber(33));
    assert!(tail.next(Duration::from_millis(20)).unwrap().is_none());
    append_all(&mut journal, &written[30..]);
    assert_eq!(rows_of_tail(&mut tail, 3), rows_of(&written[32..]));
    // Backwards, as often as one likes, and by waits that are shorter than any answer.
    tail.begin(FIRST);
    assert_eq!(rows_of_tail(&mut tail, 35), rows_of(&written));
    tail.begin(FIRST);
    let at_once = RefCell::new((&mut tail, 0));
    wait_until("all records without waiting", || {
        let (tail, shown) = &mut *at_once.borrow_mut();
        *shown +=
            u64::from(tail.next(Duration::ZERO).unwrap().is_some_and(|record| record.number.0 == *shown + 1));
        *shown == 35
    });
    drop(tail);
    wait_until("the end of its consumers", || consumers(&nats).len() <= 1);
}

#[test]
fn a_tail_that_was_not_told_of_records_asks_for_them() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let proxy = Proxy::before(bench.servers.nodes[0].address());
    let far = open(&bench.connect_with(&NatsOptions::new(proxy.url())), 0);
    let mut journal = bench.journal(0);
    let written = played(30, 10);
    append_all(&mut journal, &written[..10]);
    let mut tail = far.tail();
    assert_eq!(rows_of_tail(&mut tail, 10), rows_of(&written[..10]));
    proxy.swallow(true);
    append_all(&mut journal, &written[10..20]);
    assert!(tail.next(Duration::from_millis(10)).unwrap().is_none());
    proxy.swallow(false);
    append_all(&mut journal, &written[20..]);
    assert_eq!(rows_of_tail(&mut tail, 20), rows_of(&written[10..]));
}

#[track_caller]
fn check_stops(tail: &mut Tail, words: &[&str]) {
    // Asked again, it says so again.
    for _ in 0..2 {
        let error = loop {
            match tail.next(Duration::from_secs(1)) {
                Ok(None) => {}
                Ok(Some(record)) => panic!("record {} is shown", record.number),
                Err(error) => break error.to_string(),
            }
        };
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    }
}

#[test]
fn what_is_no_record_or_not_the_next_is_never_shown() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (mut journal, nats) = (bench.journal(0), bench.connect());
    let written = played(5, 11);
    append_all(&mut journal, &written[..2]);
    let say = |subject: &str, bytes: &[u8]| {
        let answer = nats.client().request(subject.to_owned(), bytes.to_vec().into());
        bench.runtime.block_on(answer).unwrap();
    };
    say("arena.record.0.1", written[1].0.as_bytes());
    let mut tail = journal.tail();
    assert_eq!(rows_of_tail(&mut tail, 2), rows_of(&written[..2]));
    check_stops(&mut tail, &["message 3", "record 3", "record 2"]);
    say("arena.record.0.1", b"hello");
    tail.begin(RecordNumber(4));
    check_stops(&mut tail, &["message 4", "record 4", "this one has 5"]);
    let mut count = 0;
    let read = journal.reader().unwrap().read(FIRST, &mut |_| {
        count += 1;
        crate::Visit::Next
    });
    assert!(matches!(read, Err(JournalError::Format { .. })), "{read:?}");
    assert_eq!(count, 2);
    assert!(journal.append(&written[2].0, &[]).is_err(), "another's message stands there");
}

#[test]
fn a_stream_that_lacks_a_record_is_an_error_that_names_it() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (journal, nats) = (bench.journal(0), bench.connect());
    let written = played(5, 12);
    remake(&nats, STREAM, "deny_delete", json!(false)).unwrap();
    for (record, _) in &written {
        let bytes = record.as_bytes().to_vec();
        bench.runtime.block_on(nats.client().request("arena.record.0.1", bytes.into())).unwrap();
    }
    ask(&nats, &format!("STREAM.MSG.DELETE.{STREAM}"), &json!({"seq": 3}));
    let mut tail = journal.tail();
    assert_eq!(tail.next(Duration::from_secs(9)).unwrap().unwrap().number, RecordNumber(1));
    assert_eq!(tail.next(Duration::from_secs(9)).unwrap().unwrap().number, RecordNumber(2));
    check_stops(&mut tail, &["message 3 is missing", STREAM]);
}

#[test]
fn a_later_era_goes_on_with_the_numbers() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let written = played(20, 13);
    let nats = bench.connect();
    let era = |era: u32, first: u64| {
        let opened = JetStreamJournal::open(&nats, Partition(0), Era(era), RecordNumber(first));
        bench.runtime.block_on(opened).unwrap()
    };
    append_all(&mut era(1, 1), &written[..12]);
    let wrong = bench.runtime.block_on(JetStreamJournal::open(&nats, Partition(0), Era(1), RecordNumber(2)));
    let wrong = wrong.unwrap_err().to_string();
    assert!(wrong.contains("must hold record 2, and holds record 1"), "{wrong}");
    let mut later = era(2, 13);
    assert_eq!(later.last().unwrap(), RecordNumber(12));
    append_all(&mut later, &written[12..]);
    assert_eq!(later.last().unwrap(), RecordNumber(20));
    assert_eq!(crate::testing::rows(&later), rows_of(&written[12..]));
    let mut tail = later.tail();
    tail.begin(RecordNumber(15));
    assert_eq!(rows_of_tail(&mut tail, 6), rows_of(&written[14..]));
    assert_eq!(later.sweep_texts().unwrap(), 0, "the first era's texts are not the second's");
    assert_eq!(crate::testing::rows(&era(1, 1)), rows_of(&written[..12]));
}
