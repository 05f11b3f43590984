//! What the reads of a session answer, its texts in clear.

use arena_schema::{Commitment, LogTime, id::ObjectId};

/// The type of an entry that says that somebody joined (agentwire.md, *Entries*).
pub const JOIN_TYPE: &str = "application/vnd.agentwire.join";
/// The same of leaving.
pub const LEAVE_TYPE: &str = "application/vnd.agentwire.leave";

/// Whoever joined a session, in it or not, also where its name was taken back since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPerson {
    /// Its number in the session, from 1.
    pub number: u32,
    /// Its name; none where the session's key is destroyed.
    pub name: Option<String>,
    /// What it was vouched for by last; none where it is by nothing, or the key is destroyed.
    pub account: Option<String>,
}

/// An entry of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// Its number.
    pub n: u64,
    /// When it was appended.
    pub at: LogTime,
    /// Who sent it, by its number in the session.
    pub participant: u32,
    /// The same by its name; empty where the session's key is destroyed.
    pub from: String,
    /// The payload's type: [`JOIN_TYPE`], [`LEAVE_TYPE`] or what the sender said; empty where the key is destroyed.
    pub kind: String,
    /// The payload's length in bytes.
    pub size: u64,
    /// The payload's file name.
    pub filename: Option<String>,
    /// The payload, that of joining and leaving too, which is empty; none where it is an object of its own, or the key is
    /// destroyed.
    pub payload: Option<Vec<u8>>,
    /// What its sender was vouched for by as it was appended.
    pub account: Option<String>,
}

/// The payload of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPayload {
    /// Its type: [`JOIN_TYPE`], [`LEAVE_TYPE`] or what the sender said; empty where the session's key is destroyed.
    pub kind: String,
    /// Its file name.
    pub filename: Option<String>,
    /// Its length in bytes.
    pub size: u64,
    /// Itself, that of joining and leaving too, which is empty; none where it is an object of its own, or the key is destroyed.
    pub payload: Option<Vec<u8>>,
    /// The object that it is.
    pub object: Option<ObjectId>,
    /// What the record commits to; none for joining and leaving.
    pub commitment: Option<Commitment>,
}
