//! What is left of a session that ended: nothing; and of one whose key is destroyed: what nobody wrote.

use super::{
    PLAIN, after_s,
    door::{Door, Session},
    entries, log, people, run, tick_at,
};
use crate::{ViewsAt, tests::partitions::Run, tests::partitions::network::Network, tests::rows};
use arena_engine::sessions::{UNJOINED_FOR_S, UNRECEIVED_FOR_S};
use arena_journal::TextOwner;
use arena_schema::{
    Event,
    command::sessions::{AnswerDeletion, DeletionAnswer},
    id::{ObjectId, Partition},
};
use rusqlite::Connection;

/// Two people, an account, a payload, a file, an object.
fn lively(network: &mut Network, owned: bool) -> (Session, [u32; 2]) {
    let session = network.create(0, owned);
    let people = [network.join(session, "luis", Some("luis")), network.join(session, "claude", None)];
    network.send(session, people[0], PLAIN, b"Hello.", Some("hello.txt"));
    network.send_object(session, people[1], ObjectId([7; 16]), 100_000);
    network.set_account(session, people[1], Some("claude"));
    (session, people)
}

/// The rows of the view, but for its checkpoint.
fn kept(network: &Network) -> Vec<String> {
    let data = tempfile::tempdir().unwrap();
    let mut run = Run::open(network, &ViewsAt::Data(data.path().to_owned()), 1);
    run.feed_all(network);
    run.views.close().unwrap();
    let mut rows = rows(&data.path().join("views/sessions.db"));
    rows.retain(|row| !row.starts_with("checkpoint"));
    rows
}

#[track_caller]
fn assert_ended(events: &[Event], session: Session) {
    assert!(events.iter().any(|event| matches!(event, Event::SessionEnded(ended) if ended.id == session.id)));
}

fn answered(network: &mut Network, session: Session, answer: DeletionAnswer) -> Vec<Event> {
    let command = AnswerDeletion { session: session.key, attempt: 1, answer };
    network.submit(Partition(0), command.into(), Vec::new())
}

#[test]
fn nothing_is_left_of_a_session_whichever_way_it_ends() {
    let mut network = Network::of(1);
    let (session, [luis, claude]) = lively(&mut network, false);
    network.leave(session, luis);
    assert_eq!(kept(&network).len(), 1 + 2 + 2 + 5);
    network.leave(session, claude);
    assert_ended(&events_of_head(&network), session);
    assert_eq!(kept(&network), Vec::<String>::new());

    let session = network.create(0, false);
    assert_eq!(kept(&network).len(), 1);
    let time = after_s(&network, 0, UNJOINED_FOR_S);
    assert_ended(&tick_at(&mut network, 0, time), session);
    assert_eq!(kept(&network), Vec::<String>::new());

    let (session, _) = lively(&mut network, false);
    let time = after_s(&network, 0, UNRECEIVED_FOR_S);
    assert_ended(&tick_at(&mut network, 0, time), session);
    assert_eq!(kept(&network), Vec::<String>::new());

    let (session, people) = lively(&mut network, true);
    for who in people {
        network.leave(session, who);
    }
    assert_eq!(kept(&network).len(), 1 + 2 + 2 + 6, "an owned session is asked about first");
    assert_ended(&answered(&mut network, session, DeletionAnswer::Delete), session);
    assert_eq!(kept(&network), Vec::<String>::new());
}

fn events_of_head(network: &Network) -> Vec<Event> {
    network.head(0).events.iter().map(|emitted| emitted.event.clone()).collect()
}

#[test]
fn an_owned_session_that_its_service_keeps_goes_on_where_it_was() {
    let mut network = Network::of(1);
    let (session, people) = lively(&mut network, true);
    for who in people {
        network.leave(session, who);
    }
    answered(&mut network, session, DeletionAnswer::Keep);
    network.rejoin(session, people[0], Some("luis"));
    let run = run(&network);
    let numbers: Vec<_> = entries(&run.views, session).into_iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn the_end_of_one_session_takes_nothing_of_another_and_its_place_begins_anew() {
    let mut network = Network::of(1);
    let (ended, people) = lively(&mut network, false);
    let (other, _) = lively(&mut network, false);
    let before = log(&run(&network).views, other);
    assert_eq!(before.len(), 4);
    for who in people {
        network.leave(ended, who);
    }
    let next = network.create(0, false);
    assert_eq!(next.key.slot, ended.key.slot, "the place is used again");
    network.join(next, "next", None);
    let run = run(&network);
    assert_eq!(log(&run.views, other), before);
    assert!(log(&run.views, ended).is_empty() && super::people(&run.views, ended).is_empty());
    assert_eq!(super::people(&run.views, next), ["1 next -"]);
    assert_eq!(log(&run.views, next).len(), 1);
    let object = ObjectId([7; 16]);
    for (session, has) in [(ended, false), (other, true), (next, false)] {
        assert_eq!(run.views.has_object(Partition(0), session.id, object).unwrap(), has);
        let objects = run.views.session_objects(Partition(0), session.id).unwrap();
        assert_eq!(objects, if has { vec![object] } else { Vec::new() });
    }
}

#[test]
fn a_destroyed_key_takes_the_texts_of_its_session_and_hides_no_row() {
    let mut network = Network::of(1);
    let (session, _) = lively(&mut network, false);
    let (other, _) = lively(&mut network, false);
    let run = run(&network);
    let whole = log(&run.views, other);
    network.texts.forget_owner(TextOwner::Session(session.id)).unwrap();
    assert_eq!(
        log(&run.views, session),
        [
            "1 @1 [application/vnd.agentwire.join] 0 '' - -",
            "2 @2 [application/vnd.agentwire.join] 0 '' - -",
            "3 @1 [] 6 '-' - -",
            "4 @2 [] 100000 '-' - -",
        ]
    );
    assert_eq!(people(&run.views, session), ["1 - -", "2 - -"]);
    let payload = run.views.session_payload(Partition(0), session.key, session.id, 3).unwrap().unwrap();
    assert_eq!((payload.kind.as_str(), payload.size, payload.payload), ("", 6, None));
    assert!(run.views.has_object(Partition(0), session.id, ObjectId([7; 16])).unwrap());
    assert_eq!(log(&run.views, other), whole);
}

#[test]
fn a_damaged_text_hides_neither_its_row_nor_another() {
    let mut network = Network::of(1);
    let (session, _) = lively(&mut network, false);
    let data = tempfile::tempdir().unwrap();
    let mut run = Run::open(&network, &ViewsAt::Data(data.path().to_owned()), 1);
    run.feed_all(&network);
    let whole = log(&run.views, session);
    let meddler = Connection::open(data.path().join("views/sessions.db")).unwrap();
    let changed =
        meddler.execute("UPDATE entries SET payload_sealed = zeroblob(86) WHERE n = 3", []).unwrap();
    assert_eq!(changed, 1);
    let mut damaged = log(&run.views, session);
    assert_eq!(damaged[2], format!("3 luis@1 [{PLAIN}] 6 '-' hello.txt luis"));
    damaged[2].clone_from(&whole[2]);
    assert_eq!(damaged, whole);
    run.views.close().unwrap();
}
