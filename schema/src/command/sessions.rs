//! Commands of the family sessions (agentwire.md). A name and an account are in them as keyed tags, by which they are compared, and
//! as commitments; a payload, its type and its file name as commitments. What the access service said is a fact from the door.

use crate::{
    codec::wire_enum,
    id::{AccountTag, NameTag, ObjectId, SessionId, SessionKey},
    text::{Commitment, SecretHash, TEXT_BYTES_MAX, TextRef},
};
use serde::{Deserialize, Serialize};

/// The largest payload in bytes (agentwire.md, *Limits*: 10 MB; CHOICES-agentwire 27).
pub const PAYLOAD_BYTES_MAX: u64 = 10_000_000;
/// The largest payload that is no object of its own: it rides beside its record (DESIGN, *Records*).
pub const PAYLOAD_INLINE_BYTES_MAX: u64 = TEXT_BYTES_MAX as u64;
/// The longest type of a payload, and the longest file name, in bytes (agentwire.md, *Limits*; CHOICES, *types*).
pub const ENTRY_NAME_BYTES_MAX: u32 = 256;
/// How many read positions one command moves.
pub const READS_MAX: usize = 4_096;

wire_enum! {
    /// Why the holder of a name is gone though it did not leave (agentwire.md, *Access*).
    pub enum GoneBecause {
        /// The access service refuses its own token now.
        Refused = 1 => "refused",
        /// It has not received for an hour.
        Silent = 2 => "silent",
    }
}

wire_enum! {
    /// What the access service says of an owned session that would be deleted (agentwire.md, *Access*).
    pub enum DeletionAnswer {
        /// 200: it is kept.
        Keep = 1 => "keep",
        /// 404: it may be deleted.
        Delete = 2 => "delete",
        /// Anything else, or nothing: it is kept, and asked about again.
        Silence = 3 => "silence",
    }
}

/// An account that the access service vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// By which it is compared.
    pub tag: AccountTag,
    /// By which it is shown.
    pub text: TextRef,
}

/// The door's word that a name is the account's own, so that it may be taken back from whoever holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeBack {
    /// Why its holder is gone, where it is one of the same account that did not leave.
    pub gone: Option<GoneBecause>,
}

/// What an entry carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// SHA-256 over 32 random bytes and the payload.
    pub commitment: Commitment,
    /// Its length in bytes, at most [`PAYLOAD_BYTES_MAX`].
    pub size: u64,
    /// The object that it is, where it is longer than [`PAYLOAD_INLINE_BYTES_MAX`].
    pub object: Option<ObjectId>,
}

/// How far a participant has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPosition {
    /// Who, by its number in the session.
    pub participant: u32,
    /// The last entry that it has read.
    pub read: u64,
}

/// A session begins, empty (agentwire.md, *Create a session*).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateSession {
    /// Drawn at the door; also the owner of its texts and objects. It names the partition that the session lives in.
    pub id: SessionId,
    /// SHA-256 of the address in its link.
    pub address: SecretHash,
    /// Whether the access service alone decides on it.
    pub owned: bool,
}

/// Somebody joins under a name (agentwire.md, *Join*).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinSession {
    /// The session.
    pub session: SessionKey,
    /// The name, by which it is compared.
    pub name: NameTag,
    /// The name, by which it is shown.
    pub name_text: TextRef,
    /// SHA-256 of the secret in the participant's own link.
    pub secret: SecretHash,
    /// What the access service vouches for it by, if at all.
    pub account: Option<Account>,
    /// That the name is the account's own: it may be taken back where it is taken.
    pub takes: Option<TakeBack>,
}

/// A participant joins again (agentwire.md, *Join*); while it is in nothing changes but its account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejoinSession {
    /// The session.
    pub session: SessionKey,
    /// Who, by its number in the session.
    pub participant: u32,
    /// What the access service vouches for it by now, if at all.
    pub account: Option<Account>,
    /// Whether the account stays as it was, whatever is said above: an open session's service gave no answer.
    pub keeps_account: bool,
}

/// A participant sends (agentwire.md, *Send*).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendEntry {
    /// The session.
    pub session: SessionKey,
    /// Who, by its number in the session.
    pub participant: u32,
    /// The payload's type.
    pub kind: TextRef,
    /// The payload.
    pub payload: Payload,
    /// The payload's file name.
    pub filename: Option<TextRef>,
}

/// Participants have read up to somewhere (agentwire.md, *Receive*). A position moves forward only, and never beyond the last entry;
/// whoever is not in is passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgeEntries {
    /// The session.
    pub session: SessionKey,
    /// At most [`READS_MAX`] positions.
    pub reads: Vec<ReadPosition>,
}

/// A participant leaves (agentwire.md, *Leave*). Leaving twice does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveSession {
    /// The session.
    pub session: SessionKey,
    /// Who, by its number in the session.
    pub participant: u32,
}

/// Somebody receives, or received: the week counts anew (agentwire.md, *Model*; CHOICES, *expiry*).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchSession {
    /// The session.
    pub session: SessionKey,
    /// Whether a receive still waits at the gateway that says so: while the gateway lives it counts.
    pub waiting: bool,
}

/// What the access service says of an owned session that would be deleted; a fact of the gateway that was to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDeletion {
    /// The session.
    pub session: SessionKey,
    /// Which asking of the session it answers, from 1.
    pub attempt: u32,
    /// What it says.
    pub answer: DeletionAnswer,
}

/// The access service vouches for a participant by another account, or by none (agentwire.md, *Access*).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAccount {
    /// The session.
    pub session: SessionKey,
    /// Who, by its number in the session.
    pub participant: u32,
    /// The account as it is from here on.
    pub account: Option<Account>,
}
