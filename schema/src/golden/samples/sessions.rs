//! The words of the family sessions.

use super::{Sample, named, run, text};
use crate::{
    Command, Event, LogTime, SecretHash,
    command::sessions::{self as cs, Account, DeletionAnswer, GoneBecause, Payload, ReadPosition, TakeBack},
    event::sessions::{self as es, Vacancy},
    id::{AccountTag, NameTag, ObjectId, Partition, ProducerId, SessionId, SessionKey},
    text::Commitment,
};

const SESSION: SessionKey = SessionKey { slot: 0x0506_0708, generation: 9 };

fn id() -> SessionId {
    SessionId::from_random(Partition(0x1112), run(0x15))
}

fn account(first: u8) -> Account {
    Account { tag: AccountTag(run(first)), text: text(first + 0x10, 11) }
}

fn payload(first: u8, size: u64, object: Option<ObjectId>) -> Payload {
    Payload { commitment: Commitment(run(first)), size, object }
}

fn read(participant: u32, read: u64) -> ReadPosition {
    ReadPosition { participant, read }
}

pub(super) fn commands() -> Vec<Sample<Command>> {
    let join = cs::JoinSession {
        session: SESSION,
        name: NameTag(run(0x16)),
        name_text: text(0x26, 13),
        secret: SecretHash(run(0x36)),
        account: Some(account(0x46)),
        takes: Some(TakeBack { gone: Some(GoneBecause::Silent) }),
    };
    let send = cs::SendEntry {
        session: SESSION,
        participant: 28,
        kind: text(0x17, 25),
        payload: payload(0x27, 10_000_000, Some(ObjectId(run(0x37)))),
        filename: Some(text(0x47, 8)),
    };
    vec![
        named("CreateSession", cs::CreateSession { id: id(), address: SecretHash(run(0x18)), owned: true }),
        named("JoinSession", join.clone()),
        named("JoinSession/other", cs::JoinSession { takes: Some(TakeBack { gone: None }), ..join.clone() }),
        named("JoinSession/bare", cs::JoinSession { account: None, takes: None, ..join }),
        named(
            "RejoinSession",
            cs::RejoinSession {
                session: SESSION,
                participant: 29,
                account: Some(account(0x19)),
                keeps_account: false,
            },
        ),
        named(
            "RejoinSession/bare",
            cs::RejoinSession { session: SESSION, participant: 30, account: None, keeps_account: true },
        ),
        named("SendEntry", send.clone()),
        named("SendEntry/bare", cs::SendEntry { payload: payload(0x57, 0, None), filename: None, ..send }),
        named(
            "AcknowledgeEntries",
            cs::AcknowledgeEntries { session: SESSION, reads: vec![read(31, 1 << 36), read(32, 33)] },
        ),
        named("LeaveSession", cs::LeaveSession { session: SESSION, participant: 34 }),
        named("TouchSession", cs::TouchSession { session: SESSION, waiting: true }),
        named(
            "AnswerDeletion",
            cs::AnswerDeletion { session: SESSION, attempt: 35, answer: DeletionAnswer::Silence },
        ),
        named(
            "SetAccount",
            cs::SetAccount { session: SESSION, participant: 36, account: Some(account(0x1a)) },
        ),
        named("SetAccount/bare", cs::SetAccount { session: SESSION, participant: 37, account: None }),
    ]
}

pub(super) fn events() -> Vec<Sample<Event>> {
    let joined = es::SessionJoined {
        session: SESSION,
        participant: 38,
        n: 1 << 37,
        name: NameTag(run(0x1b)),
        name_text: text(0x2b, 14),
        secret: SecretHash(run(0x3b)),
        account: Some(account(0x4b)),
    };
    let sent = es::EntrySent {
        session: SESSION,
        participant: 39,
        n: 1 << 38,
        kind: text(0x1c, 26),
        payload: payload(0x2c, 65_537, Some(ObjectId(run(0x3c)))),
        filename: Some(text(0x4c, 9)),
        account: Some(account(0x5c)),
    };
    vec![
        named(
            "SessionCreated",
            es::SessionCreated { session: SESSION, id: id(), address: SecretHash(run(0x1d)), owned: true },
        ),
        named("SessionJoined", joined.clone()),
        named("SessionJoined/bare", es::SessionJoined { account: None, ..joined }),
        named(
            "SessionRejoined",
            es::SessionRejoined { session: SESSION, participant: 40, n: 41, account: Some(account(0x1e)) },
        ),
        named("EntrySent", sent.clone()),
        named(
            "EntrySent/bare",
            es::EntrySent { payload: payload(0x6c, 65_536, None), filename: None, account: None, ..sent },
        ),
        named(
            "ReadsMoved",
            es::ReadsMoved { session: SESSION, reads: vec![read(42, 43), read(44, 1 << 39)] },
        ),
        named(
            "SessionLeft",
            es::SessionLeft { session: SESSION, participant: 45, n: 46, account: Some(account(0x1f)) },
        ),
        named("ParticipantReplaced", es::ParticipantReplaced { session: SESSION, participant: 47 }),
        named(
            "AccountSet",
            es::AccountSet { session: SESSION, participant: 48, account: Some(account(0x20)) },
        ),
        named("AccountSet/bare", es::AccountSet { session: SESSION, participant: 49, account: None }),
        named("SessionTouched", es::SessionTouched { session: SESSION, by: ProducerId(50), waiting: true }),
        named(
            "DeletionDue",
            es::DeletionDue {
                session: SESSION,
                id: id(),
                home: ProducerId(51),
                attempt: 52,
                because: Vacancy::EveryoneLeft,
            },
        ),
        named(
            "DeletionAnswered",
            es::DeletionAnswered {
                session: SESSION,
                attempt: 53,
                answer: DeletionAnswer::Keep,
                again: LogTime(1_767_261_627_000_000),
            },
        ),
        named(
            "SessionEnded",
            es::SessionEnded {
                session: SESSION,
                id: id(),
                because: Vacancy::NobodyReceived,
                home: ProducerId(54),
            },
        ),
    ]
}
