//! Payloads by the numbers of their entries, and the objects that some of them are.

use super::{
    PLAIN,
    door::{Door, Session},
    run,
};
use crate::{JOIN_TYPE, LEAVE_TYPE, SessionPayload, Views, tests::partitions::network::Network};
use arena_schema::{
    Commitment,
    command::sessions::PAYLOAD_INLINE_BYTES_MAX,
    id::{ObjectId, Partition},
};

fn payload(views: &Views, session: Session, n: u64) -> Option<SessionPayload> {
    views.session_payload(Partition(0), session.key, session.id, n).unwrap()
}

fn objects(views: &Views, session: Session) -> Vec<ObjectId> {
    views.session_objects(session.id.partition(), session.id).unwrap()
}

#[test]
fn a_payload_is_found_by_its_entrys_number_as_it_was_sent() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let luis = network.join(session, "luis", None);
    let other = network.join(session, "other", None);
    let whole: Vec<u8> = (0..PAYLOAD_INLINE_BYTES_MAX).map(|at| (at * 31 % 251) as u8).collect();
    network.send(session, luis, "application/octet-stream", &whole, Some("all"));
    let commitment = network.send_object(session, luis, ObjectId([7; 16]), 10_000_000);
    network.leave(session, other);
    let run = run(&network);
    let found = payload(&run.views, session, 3).unwrap();
    assert_eq!(found.payload.as_deref(), Some(&whole[..]));
    assert_eq!((found.kind.as_str(), found.size), ("application/octet-stream", PAYLOAD_INLINE_BYTES_MAX));
    assert_eq!((found.filename.as_deref(), found.object), (Some("all"), None));
    assert_ne!(found.commitment, None);
    assert_eq!(
        payload(&run.views, session, 4),
        Some(SessionPayload {
            kind: "image/png".to_owned(),
            filename: Some("plot.png".to_owned()),
            size: 10_000_000,
            payload: None,
            object: Some(ObjectId([7; 16])),
            commitment: Some(commitment),
        })
    );
    for (n, kind) in [(1, JOIN_TYPE), (2, JOIN_TYPE), (5, LEAVE_TYPE)] {
        let expected = SessionPayload {
            kind: kind.to_owned(),
            filename: None,
            size: 0,
            payload: Some(Vec::new()),
            object: None,
            commitment: None,
        };
        assert_eq!(payload(&run.views, session, n), Some(expected));
    }
    for n in [0, 6, i64::MAX.unsigned_abs(), 1 << 63, u64::MAX] {
        assert_eq!(payload(&run.views, session, n), None, "{n}");
    }
}

#[test]
fn a_commitment_is_the_records() {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let luis = network.join(session, "luis", None);
    network.send(session, luis, PLAIN, b"Hello.", None);
    let sent = network.head(0).events.iter().find_map(|emitted| match &emitted.event {
        arena_schema::Event::EntrySent(sent) => Some(sent.payload.commitment),
        _ => None,
    });
    let found: Option<Commitment> = payload(&run(&network).views, session, 2).unwrap().commitment;
    assert!(found.is_some());
    assert_eq!(found, sent);
}

#[test]
fn a_sessions_objects_are_those_that_its_own_entries_name_each_once() {
    let mut network = Network::of(1);
    let [session, other] = [(); 2].map(|()| network.create(0, false));
    let [one, two, three] = [1, 2, 3].map(|byte| ObjectId([byte; 16]));
    for (session, named) in [(session, &[two, one, two][..]), (other, &[three, one])] {
        let who = network.join(session, "luis", None);
        network.send(session, who, PLAIN, b"none", None);
        for &object in named {
            network.send_object(session, who, object, 70_000);
        }
    }
    let run = run(&network);
    assert_eq!(objects(&run.views, session), [one, two]);
    assert_eq!(objects(&run.views, other), [one, three]);
    for (session, object, has) in [
        (session, one, true),
        (session, two, true),
        (session, three, false),
        (other, two, false),
        (other, three, true),
    ] {
        assert_eq!(run.views.has_object(Partition(0), session.id, object).unwrap(), has);
    }
}
