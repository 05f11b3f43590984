//! What may be open, who may join, and how much one command may say.

use super::made_by;
use crate::{
    Context, State, decide, evolve,
    sessions::{PARTICIPANTS_MAX, SESSIONS_OPEN_MAX},
};
use arena_schema::{
    Command, Commitment, Event, LogTime, SecretHash, TextRef,
    command::sessions::{
        Account, AcknowledgeEntries, CreateSession, JoinSession, READS_MAX, ReadPosition, TakeBack,
    },
    event::sessions::{EntrySent, SessionCreated, SessionEnded, SessionJoined, Vacancy},
    id::{AccountTag, NameTag, Partition, ProducerId, SessionId, SessionKey},
    record::{CommandHead, Commands, encode_command},
};

const NOW: LogTime = LogTime(1_800_000_000_000_000);

/// What a command comes to with this state, which stays as it is.
fn decided(state: &State, command: impl Into<Command>) -> Vec<&'static str> {
    let mut bytes = Vec::new();
    encode_command(&CommandHead::SEQUENCER, &command.into(), &mut bytes);
    let view = Commands::of(&bytes).next().unwrap().unwrap();
    let crate::Head { number, epoch, .. } = *state.head();
    let context = Context { record: number.next(), time: NOW, epoch, alone: true, view: &view };
    let mut out = Vec::new();
    decide(state, &context, &mut out);
    let name = |event: &Event| match event {
        Event::Rejected(rejection) => rejection.as_str(),
        event => event.name(),
    };
    out.iter().map(name).collect()
}

fn bytes<const N: usize>(at: u32) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[N - 4..].copy_from_slice(&at.to_be_bytes());
    bytes
}

fn create(at: u32) -> CreateSession {
    let id = SessionId::from_random(Partition(0), bytes(at));
    CreateSession { id, address: SecretHash(bytes(at)), owned: false }
}

fn text(size: u32) -> TextRef {
    TextRef { commitment: Commitment([1; 32]), size }
}

const SESSION: SessionKey = SessionKey { slot: 0, generation: 1 };

fn join(at: u32, name: u32) -> JoinSession {
    JoinSession {
        session: SESSION,
        name: NameTag(bytes(name)),
        name_text: text(4),
        secret: SecretHash(bytes(at)),
        account: Some(Account { tag: AccountTag([1; 16]), text: text(5) }),
        takes: Some(TakeBack { gone: None }),
    }
}

/// One session with so many participants, none of whom the access service vouches for.
fn full_of(participants: u32) -> State {
    let mut state = made_by("10:00:00 a create s1");
    for at in 1..=participants {
        let JoinSession { session, name, name_text, secret, .. } = join(at, at);
        let (participant, n, account) = (at, u64::from(at), None);
        evolve(
            &mut state,
            NOW,
            &SessionJoined { session, participant, n, name, name_text, secret, account }.into(),
        );
    }
    state
}

#[test]
fn a_partition_has_so_many_sessions_open_and_one_that_ended_makes_room() {
    let mut state = made_by("");
    for slot in 0..SESSIONS_OPEN_MAX as u32 {
        let CreateSession { id, address, owned } = create(slot);
        let session = SessionKey { slot, generation: 1 };
        evolve(&mut state, NOW, &SessionCreated { session, id, address, owned }.into());
    }
    assert_eq!(decided(&state, create(u32::MAX)), ["limit_reached"]);
    assert_eq!(decided(&state, create(7)), ["session_id_taken"]);
    let (id, because, home) = (create(7).id, Vacancy::NobodyJoined, ProducerId::NONE);
    let session = SessionKey { slot: 7, generation: 1 };
    evolve(&mut state, NOW, &SessionEnded { session, id, because, home }.into());
    assert_eq!(decided(&state, create(u32::MAX)), ["SessionCreated"]);
}

#[test]
fn a_session_has_so_many_participants_and_a_name_is_taken_back_also_then() {
    let most = PARTICIPANTS_MAX as u32;
    assert_eq!(decided(&full_of(most - 1), join(most, most)), ["SessionJoined"]);
    let full = full_of(most);
    assert_eq!(decided(&full, join(most + 1, most + 1)), ["limit_reached"]);
    let takes_back = ["SessionLeft", "ParticipantReplaced", "SessionJoined"];
    assert_eq!(decided(&full, join(most + 1, 9)), takes_back);
}

#[test]
fn the_last_number_is_given_once() {
    let mut state = full_of(1);
    let held = state.sessions.open.get_mut(0, 1).unwrap();
    held.numbered = u32::MAX - 1;
    assert_eq!(decided(&state, join(2, 2)), ["SessionJoined"]);
    state.sessions.open.get_mut(0, 1).unwrap().numbered = u32::MAX;
    assert_eq!(decided(&state, join(2, 2)), ["limit_reached"]);
    assert_eq!(decided(&state, join(2, 1)), ["limit_reached"], "a name that is taken back has a new one too");
}

#[test]
fn so_many_positions_move_at_once() {
    let mut state = full_of(PARTICIPANTS_MAX as u32);
    let n = PARTICIPANTS_MAX as u64 + 1;
    let payload =
        arena_schema::command::sessions::Payload { commitment: Commitment([3; 32]), size: 1, object: None };
    let (kind, filename, account) = (text(4), None, None);
    let sent = EntrySent { session: SESSION, participant: 1, n, kind, payload, filename, account };
    evolve(&mut state, NOW, &sent.into());
    let reads = |count: usize| {
        let read = |at: usize| ReadPosition { participant: 1 + at as u32 % PARTICIPANTS_MAX as u32, read: n };
        AcknowledgeEntries { session: SESSION, reads: (0..count).map(read).collect() }
    };
    assert_eq!(decided(&state, reads(READS_MAX)), ["ReadsMoved"]);
    assert_eq!(decided(&state, reads(READS_MAX + 1)), ["malformed"]);
}
