//! An append whose outcome is unknown finds it out: stored once, fenced, or unknown because it was told to give up.

use super::{
    Bench,
    proxy::Proxy,
    setup::{alter, append_all, ask, open, rows_once, wait_until},
};
use crate::{
    JetStreamJournal, Journal, SealedText,
    jetstream::{Nats, NatsOptions},
    journal::AppendError,
    nats_servers::left_out,
    testing::{played, played_with_texts, rows, rows_of},
};
use arena_schema::{
    id::RecordNumber,
    record::{EncodedRecord, HEADER_BYTES, RECORD_BYTES_MAX, RecordView, TRAILER_BYTES},
};
use serde_json::json;
use std::thread;

type Written = (EncodedRecord, Vec<SealedText>);

/// A journal behind a proxy, and another straight on the server.
struct Parted {
    bench: Bench,
    proxy: Proxy,
    near: JetStreamJournal,
    far: JetStreamJournal,
}

impl Parted {
    fn new() -> Self {
        let bench = Bench::one();
        let proxy = Proxy::before(bench.servers.nodes[0].address());
        let options = NatsOptions::new(proxy.url());
        let nats: Nats = bench.connect_with(&options);
        let far = open(&nats, 0);
        let near = bench.journal(0);
        Self { bench, proxy, near, far }
    }

    /// Appends the records over the proxy, while something happens to it.
    fn append(
        &mut self,
        written: &[Written],
        happens: impl FnOnce(&Proxy, &mut JetStreamJournal),
    ) -> Result<(), AppendError> {
        let Self { proxy, near, far, .. } = self;
        thread::scope(|scope| {
            let appending =
                scope.spawn(move || written.iter().try_for_each(|(record, texts)| far.append(record, texts)));
            happens(proxy, near);
            appending.join().unwrap()
        })
    }
}

#[test]
fn a_record_whose_ack_is_lost_is_stored_once_and_accepted() {
    if left_out() {
        return;
    }
    let mut parted = Parted::new();
    let mut written = played(7, 1);
    written[5].0 = other_record(&written[5].0, RECORD_BYTES_MAX - HEADER_BYTES - TRAILER_BYTES);
    append_all(&mut parted.far, &written[..5]);
    for at in [5, 6] {
        parted.proxy.swallow(true);
        let appended = parted.append(&written[at..=at], |proxy, near| {
            wait_until("the record", || rows(near).len() == at + 1);
            proxy.cut(false);
            proxy.swallow(false);
        });
        appended.unwrap();
    }
    assert_eq!(parted.far.last().unwrap(), RecordNumber(7));
    assert!(rows(&parted.far) == rows_of(&written));
    assert!(rows_once(&parted.far, 7) == rows_of(&written));
}

#[test]
fn a_connection_cut_at_any_byte_of_an_append_changes_nothing() {
    if left_out() {
        return;
    }
    let mut parted = Parted::new();
    let written = played_with_texts(12, 2, 60_000);
    // Within the texts, within the record, and right behind it.
    for (at, cut) in written.iter().enumerate() {
        let texts: usize = cut.1.iter().map(|text| text.sealed.len()).sum();
        let whole = texts + cut.0.as_bytes().len();
        parted.proxy.cut_after([1, whole / 3, whole - 10, whole + 200][at % 4]);
        let appended = parted.append(std::slice::from_ref(cut), |proxy, near| {
            wait_until("the cut, or the record", || proxy.has_cut() || rows(near).len() > at);
            proxy.open();
        });
        appended.unwrap();
    }
    assert_eq!(rows(&parted.near), rows_of(&written));
}

#[test]
fn whoever_comes_back_and_finds_anothers_record_is_fenced() {
    if left_out() {
        return;
    }
    let mut parted = Parted::new();
    let (ours, theirs) = (played(3, 3), played(4, 4));
    let mut theirs_first = theirs[0].clone();
    theirs_first.0 = other_record(&theirs[0].0, 0);
    parted.proxy.cut_after(1);
    let appended = parted.append(&ours[..1], |proxy, near| {
        wait_until("the cut", || proxy.has_cut());
        near.append(&theirs_first.0, &theirs_first.1).unwrap();
        near.append(&theirs[1].0, &theirs[1].1).unwrap();
        proxy.open();
    });
    match appended {
        Err(AppendError::Fenced { number: RecordNumber(1), last: RecordNumber(2) }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(rows(&parted.near), rows_of(&[theirs_first, theirs[1].clone()]));
}

/// A record of the same number and other bytes, so many of them commands.
fn other_record(record: &EncodedRecord, command_bytes: usize) -> EncodedRecord {
    let mut header = RecordView::parse(record.as_bytes()).unwrap().header;
    header.salt = [0xee; 32];
    EncodedRecord::seal(&header, &vec![7; command_bytes])
}

#[test]
fn an_append_that_hangs_gives_up_when_told_and_the_next_opening_knows() {
    if left_out() {
        return;
    }
    let mut parted = Parted::new();
    let written = played(2, 5);
    let give_up = parted.far.give_up();
    parted.proxy.swallow(true);
    let appended = parted.append(&written[..1], |_, near| {
        wait_until("the record", || rows(near).len() == 1);
        give_up.now();
    });
    assert!(matches!(appended, Err(AppendError::Unknown { number: RecordNumber(1), .. })), "{appended:?}");
    let again = parted.far.append(&written[1].0, &[]);
    assert!(matches!(again, Err(AppendError::Unknown { number: RecordNumber(2), .. })), "{again:?}");
    let mut journal = parted.bench.journal(0);
    assert_eq!(journal.last().unwrap(), RecordNumber(1));
    journal.append(&written[1].0, &written[1].1).unwrap();
    assert_eq!(rows(&journal), rows_of(&written[..2]));
}

#[test]
fn a_full_stream_says_which_limit_and_stores_nothing() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let mut journal = bench.journal(0);
    let written = played(300, 6);
    let nats = bench.connect();
    for stream in ["ARENA_RECORDS_0_1", "ARENA_TEXTS_0"] {
        let before = rows(&journal).len();
        let bytes =
            ask(&nats, &format!("STREAM.INFO.{stream}"), &json!({}))["state"]["bytes"].as_u64().unwrap();
        alter(&nats, stream, "max_bytes", json!(bytes + 3_000));
        let stopped =
            written[before..].iter().find_map(|(record, texts)| journal.append(record, texts).err());
        let Some(AppendError::Unknown { number, why }) = stopped else {
            panic!("{stopped:?}");
        };
        assert!(why.contains(stream) && why.contains("maximum bytes exceeded"), "{why}");
        assert_eq!(rows(&journal), rows_of(&written[..number.0 as usize - 1]));
        // With room again it goes on, over the same connection.
        alter(&nats, stream, "max_bytes", json!(-1));
        let next = &written[number.0 as usize - 1];
        journal.append(&next.0, &next.1).unwrap();
    }
}
