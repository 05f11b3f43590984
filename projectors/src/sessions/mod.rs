//! The view of the sessions: who joined each, and its log. What never belongs here: who is in, who receives and how far anyone has
//! read, which is the state's and the gateways'; a payload that is an object of its own; a session that has ended.
//!
//! A session is named by its slot, which no two open ones share, and is looked for by its whole key and its id. An account lies
//! once for each time that it was committed to, and entries name it by that commitment: what an entry was vouched for by does not
//! change with its sender.

mod fold;
mod read;
mod shape;

pub use shape::{JOIN_TYPE, LEAVE_TYPE, SessionEntry, SessionPayload, SessionPerson};

use crate::{
    error::Fault,
    projector::{Changes, Projector, Record},
};
use arena_schema::Event;
use rusqlite::Transaction;

/// The view's name.
pub(crate) const NAME: &str = "sessions";

/// The kinds of entries, as rows name them.
const JOIN: u16 = 1;
const LEAVE: u16 = 2;
const PAYLOAD: u16 = 3;

const SCHEMA: &str = "
CREATE TABLE sessions (
    session INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,
    id BLOB NOT NULL UNIQUE,
    entries INTEGER NOT NULL
) STRICT;
CREATE TABLE participants (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    name_commitment BLOB NOT NULL,
    name_sealed BLOB,
    account BLOB,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
    session INTEGER NOT NULL,
    commitment BLOB NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (session, commitment)
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    entry INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    participant INTEGER NOT NULL,
    what INTEGER NOT NULL,
    account BLOB,
    size INTEGER NOT NULL,
    kind_commitment BLOB,
    kind_sealed BLOB,
    filename_commitment BLOB,
    filename_sealed BLOB,
    object BLOB,
    payload_commitment BLOB,
    payload_sealed BLOB,
    UNIQUE (session, n)
) STRICT;
CREATE INDEX entries_objects ON entries (session, object) WHERE object IS NOT NULL;
";

/// The projection.
pub(crate) struct Sessions;

impl Projector for Sessions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn project(&mut self, rows: &Transaction<'_>, record: &Record<'_>, _: &mut Changes) -> Result<(), Fault> {
        for emitted in record.events() {
            match &emitted.event {
                Event::SessionCreated(event) => fold::created(rows, record, event)?,
                Event::SessionJoined(event) => fold::joined(rows, record, event)?,
                Event::SessionRejoined(event) => fold::rejoined(rows, record, event)?,
                Event::EntrySent(event) => fold::sent(rows, record, event)?,
                Event::SessionLeft(event) => fold::left(rows, record, event)?,
                Event::AccountSet(event) => fold::account_set(rows, record, event)?,
                Event::SessionEnded(event) => fold::ended(rows, record, event)?,
                // Whoever had a name before it was taken back is still who sent what it sent: that it was changes nothing here.
                _ => {}
            }
        }
        Ok(())
    }
}
