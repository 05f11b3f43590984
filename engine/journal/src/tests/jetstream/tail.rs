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
fn a_tail_goes_on_into_the_next_era_as_soon_as_it_is_there() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let journal = bench.journal(0);
    let mut early = journal.tail();
    let memory = crate::MemoryJournal::default().with_era_bytes(3_000);
    let sequencer =
        crate::testing::start(memory.clone(), 1, crate::Clock::System, &crate::testing::Witness::default());
    let sequencer = sequencer.unwrap();
    for at in 0..40 {
        let submission = crate::Submission::new(crate::testing::register(at));
        let pending = sequencer.producer().try_submit(vec![submission]).unwrap();
        crate::testing::run(pending.outcome()).unwrap();
    }
    sequencer.stop().unwrap();
    let written = crate::testing::rows(&memory);
    let closed = |bytes: &[u8]| arena_schema::record::closes_era(bytes);
    let first_closed = written.iter().position(|(_, bytes, _)| closed(bytes)).unwrap();

    let mut writer = journal.another();
    for (at, (_, bytes, _)) in written.iter().enumerate() {
        let record = arena_schema::record::EncodedRecord::stored(bytes).unwrap();
        if record.era() != writer.era() {
            if writer.era() == Era(1) {
                assert_eq!(rows_of_tail(&mut early, at), written[..at]);
                assert!(early.next(Duration::from_millis(20)).unwrap().is_none(), "nothing is there yet");
            }
            writer.next_era(record.era(), record.number()).unwrap();
        }
        writer.append(&record, &[]).unwrap();
    }
    assert!(writer.era() > Era(3), "{:?}", writer.era());
    assert_eq!(rows_of_tail(&mut early, written.len() - first_closed - 1), written[first_closed + 1..]);

    // From anywhere: the first behind the boundary, the last before it, the first of all, an open end.
    for from in [first_closed + 2, first_closed + 1, 1, written.len()] {
        early.begin(RecordNumber(from as u64));
        assert_eq!(rows_of_tail(&mut early, written.len() + 1 - from), written[from - 1..], "from {from}");
        assert!(early.next(Duration::from_millis(20)).unwrap().is_none());
    }
    let mut later = bench.runtime.block_on(JetStreamJournal::find(&nats, Partition(0))).unwrap().unwrap();
    assert_eq!((later.era(), later.last().unwrap().0), (writer.era(), written.len() as u64));
    assert_eq!(crate::testing::rows(&later), written);
    let mut behind = journal;
    assert_eq!(
        behind.last().unwrap().0,
        written.len() as u64,
        "who opened the first era goes on to the last"
    );
    assert_eq!(behind.era(), writer.era());

    // An era that was archived and its stream deleted is missed where it is wanted, and nowhere else.
    let mut stale =
        bench.runtime.block_on(JetStreamJournal::open(&nats, Partition(0), Era(1), FIRST)).unwrap();
    bench.runtime.block_on(later.remove_eras(&[Era(1)])).unwrap();
    assert_eq!(
        bench.runtime.block_on(stale.end()).unwrap().0,
        written.len() as u64,
        "whoever had it open goes on"
    );
    assert!(
        bench.runtime.block_on(later.remove_eras(&[writer.era()])).is_err(),
        "the open era is no archive"
    );
    early.begin(RecordNumber(first_closed as u64 + 2));
    assert_eq!(early.next(Duration::from_secs(9)).unwrap().unwrap().number.0, first_closed as u64 + 2);
    early.begin(RecordNumber(1));
    let words = format!("goes on with record {}", first_closed + 2);
    let missed = early.next(Duration::from_secs(9)).unwrap_err().to_string();
    assert!(missed.contains(&words) && missed.contains("era 1"), "{missed}");
    assert_eq!(later.reader().unwrap().first().unwrap().0, first_closed as u64 + 2);
    let missed = later.reader().unwrap().read(RecordNumber(3), &mut |_| crate::Visit::Next).unwrap_err();
    assert!(missed.to_string().contains(&words), "{missed}");
}

#[test]
fn a_crash_between_sealing_an_era_and_making_the_next_is_mended_and_a_strange_seal_is_refused() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let memory = crate::MemoryJournal::default().with_era_bytes(1_500);
    let sequencer =
        crate::testing::start(memory.clone(), 1, crate::Clock::System, &crate::testing::Witness::default());
    let sequencer = sequencer.unwrap();
    for at in 0..10 {
        let submission = crate::Submission::new(crate::testing::register(at));
        let pending = sequencer.producer().try_submit(vec![submission]).unwrap();
        crate::testing::run(pending.outcome()).unwrap();
    }
    sequencer.stop().unwrap();
    let records: Vec<_> = crate::testing::rows(&memory)
        .iter()
        .map(|(_, bytes, _)| arena_schema::record::EncodedRecord::stored(bytes).unwrap())
        .collect();
    let first: Vec<_> = records.iter().filter(|record| record.era() == Era(1)).collect();
    let behind = &records[first.len()];
    let mut journal = bench.journal(0);
    for record in &first {
        journal.append(record, &[]).unwrap();
    }
    super::setup::alter(&nats, STREAM, "max_bytes", json!(77_000_000));
    super::setup::alter(&nats, STREAM, "sealed", json!(true));
    let refused = journal.append(behind, &[]);
    assert!(matches!(refused, Err(crate::AppendError::Era { .. })), "{refused:?}");
    let mut journal = bench.journal(0);
    assert_eq!((journal.era(), journal.last().unwrap().0), (Era(1), first.len() as u64));
    journal.next_era(Era(2), behind.number()).unwrap();
    journal.append(behind, &[]).unwrap();
    assert_eq!(crate::testing::rows(&journal).len(), first.len() + 1);

    let info = ask(&nats, "STREAM.INFO.ARENA_RECORDS_0_2", &json!({}));
    assert_eq!(info["config"]["max_bytes"], 77_000_000, "the operator's limit goes on from era to era");

    // Sealed in the middle of an era, by whomever.
    super::setup::alter(&nats, "ARENA_RECORDS_0_2", "sealed", json!(true));
    let why =
        bench.runtime.block_on(JetStreamJournal::open_newest(&nats, Partition(0))).unwrap_err().to_string();
    assert!(why.contains("sealed") && why.contains("ARENA_RECORDS_0_2"), "{why}");
}
