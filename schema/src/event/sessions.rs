//! Events of the family sessions. Joining, leaving and sending are entries of a session's log, numbered from 1 without gaps; an
//! entry's time is its record's.

use crate::{
    codec::wire_enum,
    command::sessions::{Account, DeletionAnswer, Payload, ReadPosition},
    id::{NameTag, ProducerId, SessionId, SessionKey},
    text::{SecretHash, TextRef},
    time::LogTime,
};
use serde::{Deserialize, Serialize};

wire_enum! {
    /// Why a session ends, or is asked about (agentwire.md, *Model*).
    pub enum Vacancy {
        /// Nobody joined it for a day.
        NobodyJoined = 1 => "nobody_joined",
        /// Nobody received in it for a week.
        NobodyReceived = 2 => "nobody_received",
        /// Everyone left.
        EveryoneLeft = 3 => "everyone_left",
    }
}

/// A session began, empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// Its place inside.
    pub session: SessionKey,
    /// Its external id.
    pub id: SessionId,
    /// SHA-256 of the address in its link.
    pub address: SecretHash,
    /// Whether the access service alone decides on it.
    pub owned: bool,
}

/// A new participant joined. Its read position is 0 (CHOICES-agentwire 9, 60).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionJoined {
    /// The session.
    pub session: SessionKey,
    /// Its number in the session, from 1; nobody gets one twice.
    pub participant: u32,
    /// The entry's number.
    pub n: u64,
    /// Its name, by which it is compared.
    pub name: NameTag,
    /// Its name, by which it is shown.
    pub name_text: TextRef,
    /// SHA-256 of the secret in its link.
    pub secret: SecretHash,
    /// What it is vouched for by.
    pub account: Option<Account>,
}

/// A participant joined again after leaving. Its read position is where it was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRejoined {
    /// The session.
    pub session: SessionKey,
    /// Who.
    pub participant: u32,
    /// The entry's number.
    pub n: u64,
    /// What it is vouched for by from here on.
    pub account: Option<Account>,
}

/// A participant sent something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySent {
    /// The session.
    pub session: SessionKey,
    /// Who.
    pub participant: u32,
    /// The entry's number.
    pub n: u64,
    /// The payload's type.
    pub kind: TextRef,
    /// The payload.
    pub payload: Payload,
    /// The payload's file name.
    pub filename: Option<TextRef>,
    /// What its sender is vouched for by.
    pub account: Option<Account>,
}

/// Read positions moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadsMoved {
    /// The session.
    pub session: SessionKey,
    /// Those that moved, by participant, as they are from here on.
    pub reads: Vec<ReadPosition>,
}

/// A participant left. Its name stays taken, and its link joins again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLeft {
    /// The session.
    pub session: SessionKey,
    /// Who.
    pub participant: u32,
    /// The entry's number.
    pub n: u64,
    /// What it was vouched for by.
    pub account: Option<Account>,
}

/// A participant's name was taken back: its link is no participant's any more. Where it was in, its leave entry comes before; the
/// join entry of the new holder comes behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParticipantReplaced {
    /// The session.
    pub session: SessionKey,
    /// Whose name it was.
    pub participant: u32,
}

/// A participant has another account, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountSet {
    /// The session.
    pub session: SessionKey,
    /// Who.
    pub participant: u32,
    /// The account as it is from here on.
    pub account: Option<Account>,
}

/// Somebody receives, or received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTouched {
    /// The session.
    pub session: SessionKey,
    /// The gateway that said so.
    pub by: ProducerId,
    /// Whether a receive still waits there. While one does, and the gateway lives, no week begins.
    pub waiting: bool,
}

/// The access service is to be asked whether an owned session may be deleted, by the gateway that is its home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletionDue {
    /// The session.
    pub session: SessionKey,
    /// Its external id.
    pub id: SessionId,
    /// Who asks; [`ProducerId::NONE`] where no gateway is live.
    pub home: ProducerId,
    /// Which asking of this session it is, from 1.
    pub attempt: u32,
    /// Why it would be deleted.
    pub because: Vacancy,
}

/// An owned session is kept for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletionAnswered {
    /// The session.
    pub session: SessionKey,
    /// Which asking was answered.
    pub attempt: u32,
    /// What the access service said: `keep`, or `silence`.
    pub answer: DeletionAnswer,
    /// When it is asked about again, where nobody comes before.
    pub again: LogTime,
}

/// A session ended and leaves the state. Its key in the vault is destroyed first, then its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session.
    pub session: SessionKey,
    /// Its external id.
    pub id: SessionId,
    /// Why.
    pub because: Vacancy,
    /// Who destroys its key and its objects; where it is none, or goes before it did, whoever sweeps does.
    pub home: ProducerId,
}
