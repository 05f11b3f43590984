//! Texts that no record names are deleted, and no others.

use super::{
    Bench,
    setup::{append_all, ask},
};
use crate::{
    Journal, JournalError, Visit,
    journal::AppendError,
    nats_servers::left_out,
    testing::{Dice, agent_id, played, rows, rows_of, sealed_text},
};
use arena_schema::id::RecordNumber;
use serde_json::json;

#[test]
fn texts_of_records_that_were_never_stored_are_swept() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (mut one, nats) = (bench.journal(0), bench.connect());
    let mut dice = Dice(3);
    let mut text = || vec![sealed_text(agent_id(1), 400, &mut dice).1];
    let records: Vec<_> = played(4, 14).into_iter().map(|(record, _)| (record, text())).collect();
    let orphans = [text(), text()];
    let stored =
        || ask(&nats, "STREAM.INFO.ARENA_TEXTS_0", &json!({}))["state"]["messages"].as_u64().unwrap();
    let fenced = |error: Result<(), AppendError>| assert!(matches!(error, Err(AppendError::Fenced { .. })));
    append_all(&mut one, &records[..2]);
    // Each of the late ones believes that its record is the next, so its texts go first.
    let mut late = bench.journal(0);
    append_all(&mut one, &records[2..3]);
    fenced(late.append(&played(4, 15)[2].0, &orphans[0]));
    append_all(&mut one, &records[3..]);
    let mut later = bench.journal(0);
    let more = played(6, 14);
    append_all(&mut one, &more[4..5]);
    fenced(later.append(&played(6, 15)[4].0, &orphans[1]));
    let before = stored();
    assert!(bench.servers.hold(&orphans[0][0].sealed));
    let swept = one.sweep_texts().unwrap();
    assert_eq!(swept, 1);
    assert_eq!(stored(), before - 1, "what lies above the last that is named may be on its way");
    assert!(!bench.servers.hold(&orphans[0][0].sealed), "its bytes are overwritten");
    assert!(bench.servers.hold(&orphans[1][0].sealed));
    assert_eq!(one.sweep_texts().unwrap(), 0);
    let mut written = records;
    written.push(more[4].clone());
    assert_eq!(rows(&one), rows_of(&written));
}

#[test]
fn a_record_whose_text_is_gone_is_an_error_that_names_it() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (mut journal, nats) = (bench.journal(0), bench.connect());
    let mut dice = Dice(4);
    let mut text = || vec![sealed_text(agent_id(1), 40, &mut dice).1];
    let records: Vec<_> = played(6, 16).into_iter().map(|(record, _)| (record, text())).collect();
    append_all(&mut journal, &records);
    // The newest record's is asked of the leader, one of a long row is read with it.
    for gone in [6, 3] {
        ask(&nats, "STREAM.MSG.DELETE.ARENA_TEXTS_0", &json!({"seq": gone}));
        let mut count = 0;
        let read = journal.reader().unwrap().read(RecordNumber(1), &mut |_| {
            count += 1;
            Visit::Next
        });
        match read {
            Err(JournalError::Texts { record, why }) => {
                assert_eq!((record.0, count), (gone, gone - 1));
                assert!(why.contains(&format!("message {gone} of ARENA_TEXTS_0")), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
