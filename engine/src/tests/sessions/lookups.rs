//! What a gateway reads of the state.

use super::made_by;
use crate::sessions::{Left, Question};
use arena_schema::{
    SecretHash,
    event::sessions::Vacancy,
    id::{NameTag, ProducerId},
};

fn name(text: &str) -> NameTag {
    let mut tag = [0; 16];
    tag[..text.len()].copy_from_slice(text.as_bytes());
    NameTag(tag)
}

#[test]
fn a_session_and_its_participants_are_found_by_what_links_and_names_say() {
    let state = made_by(
        "
        10:00:00 a create s1 owned
        10:00:01 a join s1 luis secret=one
        10:00:02 a join s1 anna secret=two account=anna
        10:00:03 a send s1 luis
        10:00:04 a read s1 anna:3
        10:00:05.5 a leave s1 anna
        10:00:06 a join s1 luis secret=three account=luis takes
        ",
    );
    let key = state.sessions().by_address(&SecretHash::of("s1")).expect("it is open");
    assert_eq!(state.sessions().by_address(&SecretHash::of("s2")), None);
    let session = state.sessions().get(key).expect("it is open");
    assert_eq!(state.sessions().by_id(&session.id), Some(key));
    assert_eq!((session.owned, session.entries, session.present()), (true, 6, 1));
    assert!(session.anyone_is_in());
    let numbers: Vec<_> = session.participants().map(|(number, known)| (number, known.name)).collect();
    assert_eq!(numbers, [(2, name("anna")), (3, name("luis"))], "in the order of joining");

    let (number, anna) = session.participant_by_secret(&SecretHash::of("two")).expect("she joined");
    assert_eq!((number, anna.read, anna.joined_n, anna.is_in()), (2, 3, 2, false));
    let Left { n, at } = anna.left.expect("she left");
    assert_eq!((n, at.0 - anna.joined_at.0), (4, 3_500_000));
    assert_eq!(anna.account.map(|account| account.tag.0), Some(name("anna").0));
    let (number, luis) = session.by_name(&name("luis")).expect("he joined");
    assert_eq!((number, luis.read, luis.joined_n, luis.is_in()), (3, 0, 6, true));
    assert_eq!(luis.secret, SecretHash::of("three"));
    assert!(session.participant_by_secret(&SecretHash::of("one")).is_none(), "its link is nobody's");
    assert!(session.participant(1).is_none() && session.by_name(&name("eva")).is_none());
}

#[test]
fn what_is_to_be_asked_and_by_whom_is_found_too() {
    let state = made_by(
        "
        10:00:00 a create s1 owned
        10:00:01 a create s2 owned
        10:00:02 a join s2 luis
        10:00:03 a leave s2 luis
        ",
    );
    let asked: Vec<_> = state.sessions().questions().collect();
    let [(key, session, question)] = asked[..] else { panic!("one is asked about: {asked:?}") };
    assert_eq!(state.sessions().by_address(&SecretHash::of("s2")), Some(key));
    assert_eq!(question, Question { home: ProducerId(1), attempt: 1 });
    assert_eq!((session.question(), session.vacancy()), (Some(question), Vacancy::EveryoneLeft));
    assert_eq!(state.home_of_session(&session.id), ProducerId(1));
}
