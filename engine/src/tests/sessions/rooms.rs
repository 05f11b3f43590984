//! The room of the sessions in a snapshot: what does not hold together is refused.

use super::made_by;
use crate::{
    SnapshotError, State,
    agenda::Agenda,
    producers::Producers,
    sessions::{Left, Question, Session, Sessions, Standing},
    testing::{decoded, encoded},
};
use arena_schema::{LogTime, SecretHash, id::ProducerId};

/// A session for each thing that one can wait for, and participants of every kind.
fn rich() -> State {
    made_by(
        "
        10:00:00 a create s1
        10:00:01 a create s2 owned
        10:00:02 a create s3
        10:00:03 a create s4
        10:00:04 a join s2 luis account=luis
        10:00:05 a leave s2 luis
        10:00:06 a join s3 luis account=luis
        10:00:07 a join s3 anna
        10:00:08 a send s3 anna
        10:00:09 a leave s3 anna
        10:00:10 a read s3 luis:3
        10:00:11 a touch s3 waiting
        10:00:12 a join s3 luis secret=2 account=other takes
        10:00:13 a touch s3 waiting
        10:00:14 a join s4 eva
        10:00:15 a create s5
        10:00:16 a join s5 eva
        10:00:17 a leave s5 eva
        10:00:18 a join s3 eva account=eva
        ",
    )
}

fn session<'a>(state: &'a mut State, name: &str) -> &'a mut Session {
    let key = state.sessions.by_address(&SecretHash::of(name)).expect("it is open");
    state.sessions.open.get_mut(key.slot, key.generation).expect("it is open")
}

#[test]
fn a_room_comes_back_as_it_was() {
    let state = rich();
    let back = decoded(&encoded(&state));
    let known = |state: &State| format!("{:?} {:?}", state.sessions.ids, state.sessions.addresses);
    assert_eq!(known(&back), known(&state));
    for (slot, generation, held) in state.sessions().open().iter() {
        let there = back.sessions().open().get(slot, generation).expect("it is open");
        assert_eq!(
            (&there.participants, &there.names, &there.secrets),
            (&held.participants, &held.names, &held.secrets)
        );
        assert_eq!(
            (there.present, &there.waiting, there.received),
            (held.present, &held.waiting, held.received)
        );
        assert_eq!((there.question(), there.vacancy()), (held.question(), held.vacancy()));
    }
    assert_eq!(back.next_due(), state.next_due());
}

#[test]
fn what_does_not_hold_together_is_refused_by_the_room() {
    let check = |room: &str, what: &str, spoil: &dyn Fn(&mut State)| {
        let mut state = rich();
        spoil(&mut state);
        let found = State::decode_snapshot(&encoded(&state)).map(drop).expect_err(what);
        let of_room = matches!(&found, SnapshotError::Misfit { room: found, .. } if *found == room);
        assert!(of_room && found.to_string().contains(what), "{room}, {what}: {found}");
    };
    let one = "sessions";
    let of = |what: &str, name: &'static str, spoil: &dyn Fn(&mut Session)| {
        check("the sessions", what, &|state| spoil(session(state, name)));
    };
    check("the agenda", "nobody knows of", &|state| state.sessions = Sessions::default());
    check("the sessions", "and the agenda part", &|state| state.agenda = Agenda::default());
    check("the sessions", "nobody's to ask", &|state| state.producers = Producers::default());
    let twice = format!("two {one} have one id");
    check("the sessions", &twice, &|state| session(state, "s1").address = SecretHash::of("s4"));
    check("the sessions", &twice, &|state| session(state, "s1").id = session(&mut rich(), "s4").id);

    let apart = "and the agenda part";
    of(apart, "s1", &|held| held.standing = Standing::Received);
    of(apart, "s3", &|held| held.standing = session(&mut rich(), "s1").standing.clone());
    let people = "comes twice, or before";
    of(people, "s3", &|held| held.numbered = 3);
    of(people, "s3", &|held| {
        let name = held.participants[&3].name;
        held.participants.get_mut(&4).unwrap().name = name;
    });
    of(people, "s3", &|held| {
        let secret = held.participants[&3].secret;
        held.participants.get_mut(&4).unwrap().secret = secret;
    });
    let ahead = "ahead of the log";
    of(ahead, "s3", &|held| held.participants.get_mut(&3).unwrap().read = held.entries + 1);
    of(ahead, "s3", &|held| held.participants.get_mut(&3).unwrap().joined_n = held.entries + 1);
    of(ahead, "s3", &|held| held.participants.get_mut(&3).unwrap().joined_n = 0);
    of(ahead, "s3", &|held| {
        let known = held.participants.get_mut(&2).unwrap();
        known.left = Some(Left { n: known.joined_n, at: known.joined_at });
    });
    of(ahead, "s3", &|held| {
        let known = held.participants.get_mut(&2).unwrap();
        known.left = Some(Left { n: held.entries, at: LogTime(known.joined_at.0 - 1) });
    });
    of("nobody received", "s4", &|held| held.participants.clear());
    of("nobody received", "s1", &|held| held.received = true);
    of("nobody received", "s1", &|held| held.entries = 1);
    of("receives, or nobody does", "s3", &|held| held.waiting.clear());
    of("receives, or nobody does", "s3", &|held| held.received = false);
    of("receives, or nobody does", "s4", &|held| held.waiting.extend([ProducerId(1)]));
    of("gone, or twice", "s3", &|held| held.waiting.extend([ProducerId(2)]));
    of("did not end", "s4", &|held| {
        let known = held.participants.get_mut(&1).unwrap();
        known.left = Some(Left { n: 2, at: known.joined_at });
        held.entries = 2;
    });
    let asked =
        |home, attempt| move |held: &mut Session| held.standing = Standing::Asked(Question { home, attempt });
    let nobody = "nobody's to ask";
    of(nobody, "s2", &asked(ProducerId(2), 1));
    of(nobody, "s2", &asked(ProducerId::NONE, 1));
    of(nobody, "s2", &asked(ProducerId(1), 2));
    of(nobody, "s2", &|held| {
        (held.attempts, held.standing) = (0, Standing::Asked(Question { home: ProducerId(1), attempt: 0 }));
    });
    of("everyone left", "s2", &|held| held.owned = false);
}
