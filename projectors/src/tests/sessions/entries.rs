//! What a log and its people read like.

use super::{
    ALL, PLAIN,
    door::{Door, Session},
    entries, line, log, people, run,
};
use crate::{JOIN_TYPE, LEAVE_TYPE, Views, tests::partitions::network::Network};
use arena_schema::{
    LogTime,
    command::sessions::GoneBecause,
    id::{ObjectId, Partition, SessionId, SessionKey},
};

#[test]
fn a_log_has_every_entry_in_order_as_it_was_sent() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let luis = network.join(session, "luis", None);
    let claude = network.join(session, "luis/claude", Some("luis"));
    network.send(session, luis, PLAIN, b"Hello.", None);
    network.send(session, claude, "image/png", &[0xff, 0x00, 0xfe], Some("gr\u{fc}n.png"));
    network.send(session, luis, "text/plain", b"", None);
    network.leave(session, claude);
    network.send_object(session, luis, ObjectId([7; 16]), 65_537);
    network.rejoin(session, claude, Some("luis"));
    let run = run(&network);
    assert_eq!(
        log(&run.views, session),
        [
            format!("1 luis@1 [{JOIN_TYPE}] 0 '' - -"),
            format!("2 luis/claude@2 [{JOIN_TYPE}] 0 '' - luis"),
            format!("3 luis@1 [{PLAIN}] 6 'Hello.' - -"),
            "4 luis/claude@2 [image/png] 3 '\\xff\\x00\\xfe' gr\u{fc}n.png luis".to_owned(),
            "5 luis@1 [text/plain] 0 '' - -".to_owned(),
            format!("6 luis/claude@2 [{LEAVE_TYPE}] 0 '' - luis"),
            "7 luis@1 [image/png] 65537 '-' plot.png -".to_owned(),
            format!("8 luis/claude@2 [{JOIN_TYPE}] 0 '' - luis"),
        ]
    );
    assert_eq!(people(&run.views, session), ["1 luis -", "2 luis/claude luis"]);
}

#[test]
fn an_entrys_time_is_its_records() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let mut times = Vec::new();
    for (name, second) in [("one", 100), ("two", 101), ("three", 190)] {
        let time = LogTime(1_700_000_000_000_000 + second * 1_000_000 + 7);
        network.at(0, time);
        network.join(session, name, None);
        times.push(time);
    }
    let found: Vec<_> = entries(&run(&network).views, session).into_iter().map(|entry| entry.at).collect();
    assert_eq!(found, times);
}

/// The numbers of the entries that a read gives.
#[track_caller]
fn read(views: &Views, session: Session, after: u64, rows_max: u32, bytes_max: u64) -> Vec<u64> {
    let entries =
        views.session_entries(Partition(0), session.key, session.id, after, rows_max, bytes_max).unwrap();
    entries.into_iter().map(|entry| entry.n).collect()
}

#[test]
fn a_read_begins_behind_its_place_and_stops_at_either_bound() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let luis = network.join(session, "luis", None);
    for _ in 0..3 {
        network.send(session, luis, PLAIN, &[b'x'; 100], None);
    }
    network.send_object(session, luis, ObjectId([7; 16]), 1_000_000);
    network.send(session, luis, PLAIN, &[b'x'; 50], None);
    let run = run(&network);
    for (after, rows_max, bytes_max, expected) in [
        (0, ALL, u64::MAX, &[1, 2, 3, 4, 5, 6][..]),
        (0, 2, u64::MAX, &[1, 2]),
        (2, 3, u64::MAX, &[3, 4, 5]),
        (5, ALL, u64::MAX, &[6]),
        (6, ALL, u64::MAX, &[]),
        (0, 0, u64::MAX, &[]),
        // A join has no bytes; the first with some is there whatever it has when it is the first of all.
        (0, ALL, 0, &[1]),
        (1, ALL, 0, &[2]),
        (1, ALL, 99, &[2]),
        (1, ALL, 199, &[2]),
        (1, ALL, 200, &[2, 3]),
        (1, ALL, 299, &[2, 3]),
        // What an object has does not count.
        (3, ALL, 100, &[4, 5]),
        (3, ALL, 149, &[4, 5]),
        (3, ALL, 150, &[4, 5, 6]),
        // Beyond every number, also where a row's number has no room for it.
        (i64::MAX.unsigned_abs(), ALL, u64::MAX, &[]),
        (1 << 63, ALL, u64::MAX, &[]),
        (u64::MAX, ALL, u64::MAX, &[]),
    ] {
        assert_eq!(
            read(&run.views, session, after, rows_max, bytes_max),
            expected,
            "{after} {rows_max} {bytes_max}"
        );
    }
}

#[test]
fn an_entry_has_the_account_that_its_sender_had_then() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let luis = network.join(session, "luis", Some("first"));
    network.send(session, luis, PLAIN, b"a", None);
    network.set_account(session, luis, Some("second"));
    network.send(session, luis, PLAIN, b"b", None);
    // The same one again stays as it was committed to before.
    network.set_account(session, luis, Some("second"));
    network.send(session, luis, PLAIN, b"c", None);
    network.set_account(session, luis, None);
    network.send(session, luis, PLAIN, b"d", None);
    let other = network.join(session, "other", Some("second"));
    network.leave(session, luis);
    network.rejoin(session, luis, Some("third"));
    // While it is in, joining again changes the account alone.
    network.rejoin(session, luis, Some("first"));
    network.send(session, luis, PLAIN, b"e", None);
    network.leave(session, other);
    let run = run(&network);
    let accounts: Vec<_> = entries(&run.views, session)
        .into_iter()
        .map(|entry| format!("{} {}", entry.n, entry.account.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        accounts,
        [
            "1 first",
            "2 first",
            "3 second",
            "4 second",
            "5 -",
            "6 second",
            "7 -",
            "8 third",
            "9 first",
            "10 second",
        ]
    );
    assert_eq!(people(&run.views, session), ["1 luis first", "2 other second"]);
}

#[test]
fn whoever_lost_a_name_is_still_who_sent_under_it() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let squatter = network.join(session, "luis", None);
    network.send(session, squatter, PLAIN, b"I am luis.", None);
    let luis = network.take(session, "luis", "luis", None);
    network.send(session, luis, PLAIN, b"I am.", None);
    let again = network.take(session, "luis", "luis", Some(GoneBecause::Silent));
    assert_eq!((squatter, luis, again), (1, 2, 3));
    let run = run(&network);
    assert_eq!(
        log(&run.views, session),
        [
            format!("1 luis@1 [{JOIN_TYPE}] 0 '' - -"),
            format!("2 luis@1 [{PLAIN}] 10 'I am luis.' - -"),
            format!("3 luis@1 [{LEAVE_TYPE}] 0 '' - -"),
            format!("4 luis@2 [{JOIN_TYPE}] 0 '' - luis"),
            format!("5 luis@2 [{PLAIN}] 5 'I am.' - luis"),
            format!("6 luis@2 [{LEAVE_TYPE}] 0 '' - luis"),
            format!("7 luis@3 [{JOIN_TYPE}] 0 '' - luis"),
        ]
    );
    assert_eq!(people(&run.views, session), ["1 luis -", "2 luis luis", "3 luis luis"]);
}

#[test]
fn sessions_side_by_side_have_nothing_of_each_other() {
    let mut network = Network::of(1);
    let [one, other] = [(); 2].map(|()| network.create(0, false));
    for (session, name) in [(one, "a"), (other, "b"), (one, "c"), (other, "d")] {
        let number = network.join(session, name, Some(name));
        network.send(session, number, PLAIN, name.as_bytes(), None);
    }
    let run = run(&network);
    let said = |session| {
        let entries = entries(&run.views, session);
        entries.iter().filter(|entry| entry.size > 0).map(line).collect::<Vec<_>>()
    };
    assert_eq!(said(one), [format!("2 a@1 [{PLAIN}] 1 'a' - a"), format!("4 c@2 [{PLAIN}] 1 'c' - c")]);
    assert_eq!(said(other), [format!("2 b@1 [{PLAIN}] 1 'b' - b"), format!("4 d@2 [{PLAIN}] 1 'd' - d")]);
    assert_eq!(people(&run.views, other), ["1 b b", "2 d d"]);
}

#[test]
fn only_the_whole_key_with_its_own_id_finds_a_session() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    network.join(session, "luis", None);
    let run = run(&network);
    let SessionKey { slot, generation } = session.key;
    let id = SessionId::from_random(Partition(0), [1; 14]);
    for wrong in [
        Session { key: SessionKey { slot: slot + 1, generation }, ..session },
        Session { key: SessionKey { slot, generation: generation + 1 }, ..session },
        Session { id, ..session },
    ] {
        assert!(log(&run.views, wrong).is_empty(), "{wrong:?}");
        assert!(people(&run.views, wrong).is_empty(), "{wrong:?}");
        let payload = run.views.session_payload(Partition(0), wrong.key, wrong.id, 1).unwrap();
        assert!(payload.is_none(), "{wrong:?}");
    }
    assert_eq!(log(&run.views, session).len(), 1);
}
