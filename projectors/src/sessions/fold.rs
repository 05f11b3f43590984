//! What events do to the rows of the sessions. An event that does not go on from the rows is damage: no entry is passed over.

use super::{JOIN, LEAVE, PAYLOAD};
use crate::{error::Fault, projector::Record, sealed::columns};
use arena_schema::{
    command::sessions::Account,
    event::sessions::{
        AccountSet, EntrySent, SessionCreated, SessionEnded, SessionJoined, SessionLeft, SessionRejoined,
    },
    id::SessionKey,
};
use rusqlite::{Transaction, params};

pub(super) fn created(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    event: &SessionCreated,
) -> Result<(), Fault> {
    let SessionKey { slot, generation } = event.session;
    let inserted = rows
        .prepare_cached(
            "INSERT INTO sessions (session, generation, id, entries) VALUES (?1, ?2, ?3, 0) ON CONFLICT DO NOTHING",
        )?
        .execute(params![slot, generation, event.id.0])?;
    one(inserted, record, event.session, "began where another has not ended")
}

pub(super) fn joined(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    event: &SessionJoined,
) -> Result<(), Fault> {
    let (name_commitment, name_sealed) = columns(record, Some(&event.name_text));
    keep_account(rows, record, event.session, event.account.as_ref())?;
    rows.prepare_cached(
        "INSERT INTO participants (session, number, name_commitment, name_sealed, account) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        event.session.slot,
        event.participant,
        name_commitment,
        name_sealed,
        commitment(event.account.as_ref()),
    ])?;
    let SessionJoined { session, participant, n, ref account, .. } = *event;
    append(rows, record, &Entry { session, n, participant, account: account.as_ref(), what: What::Join })
}

pub(super) fn rejoined(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    event: &SessionRejoined,
) -> Result<(), Fault> {
    let SessionRejoined { session, participant, n, ref account } = *event;
    vouch(rows, record, session, participant, account.as_ref())?;
    append(rows, record, &Entry { session, n, participant, account: account.as_ref(), what: What::Join })
}

pub(super) fn sent(rows: &Transaction<'_>, record: &Record<'_>, event: &EntrySent) -> Result<(), Fault> {
    let EntrySent { session, participant, n, ref account, .. } = *event;
    append(
        rows,
        record,
        &Entry { session, n, participant, account: account.as_ref(), what: What::Sent(event) },
    )
}

pub(super) fn left(rows: &Transaction<'_>, record: &Record<'_>, event: &SessionLeft) -> Result<(), Fault> {
    let SessionLeft { session, participant, n, ref account } = *event;
    append(rows, record, &Entry { session, n, participant, account: account.as_ref(), what: What::Leave })
}

pub(super) fn account_set(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    event: &AccountSet,
) -> Result<(), Fault> {
    vouch(rows, record, event.session, event.participant, event.account.as_ref())
}

/// Nothing of the session stays.
pub(super) fn ended(rows: &Transaction<'_>, record: &Record<'_>, event: &SessionEnded) -> Result<(), Fault> {
    let SessionKey { slot, generation } = event.session;
    let removed = rows
        .prepare_cached("DELETE FROM sessions WHERE session = ?1 AND generation = ?2 AND id = ?3")?
        .execute(params![slot, generation, event.id.0])?;
    one(removed, record, event.session, "ended, and is not here")?;
    for table in ["participants", "accounts", "entries"] {
        rows.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([slot])?;
    }
    Ok(())
}

/// One more entry of a log.
struct Entry<'a> {
    session: SessionKey,
    n: u64,
    participant: u32,
    account: Option<&'a Account>,
    what: What<'a>,
}

enum What<'a> {
    Join,
    Leave,
    Sent(&'a EntrySent),
}

impl What<'_> {
    fn code(&self) -> u16 {
        match self {
            Self::Join => JOIN,
            Self::Leave => LEAVE,
            Self::Sent(_) => PAYLOAD,
        }
    }
}

fn append(rows: &Transaction<'_>, record: &Record<'_>, entry: &Entry<'_>) -> Result<(), Fault> {
    let SessionKey { slot, generation } = entry.session;
    let n = entry.n.cast_signed();
    let counted = rows
        .prepare_cached(
            "UPDATE sessions SET entries = ?3 WHERE session = ?1 AND generation = ?2 AND entries = ?3 - 1",
        )?
        .execute(params![slot, generation, n])?;
    one(counted, record, entry.session, "has an entry that does not follow its last one")?;
    let sent = match entry.what {
        What::Sent(event) => Some(event),
        What::Join | What::Leave => None,
    };
    let (kind_commitment, kind_sealed) = columns(record, sent.map(|event| &event.kind));
    let (filename_commitment, filename_sealed) =
        columns(record, sent.and_then(|event| event.filename.as_ref()));
    let payload = sent.map(|event| &event.payload);
    rows.prepare_cached(
        "INSERT INTO entries (session, n, at, participant, what, account, size, kind_commitment, kind_sealed,
            filename_commitment, filename_sealed, object, payload_commitment, payload_sealed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        slot,
        n,
        record.time().0.cast_signed(),
        entry.participant,
        entry.what.code(),
        commitment(entry.account),
        payload.map_or(0, |payload| payload.size).cast_signed(),
        kind_commitment,
        kind_sealed,
        filename_commitment,
        filename_sealed,
        payload.and_then(|payload| payload.object).map(|object| object.0),
        payload.map(|payload| payload.commitment.0),
        payload.and_then(|payload| record.sealed(&payload.commitment)),
    ])?;
    Ok(())
}

/// A participant is vouched for by this from here on.
fn vouch(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    session: SessionKey,
    participant: u32,
    account: Option<&Account>,
) -> Result<(), Fault> {
    keep_account(rows, record, session, account)?;
    let SessionKey { slot, generation } = session;
    let changed = rows
        .prepare_cached(
            "UPDATE participants SET account = ?4 WHERE session = ?1 AND number = ?3
                AND EXISTS (SELECT 1 FROM sessions s WHERE s.session = ?1 AND s.generation = ?2)",
        )?
        .execute(params![slot, generation, participant, commitment(account)])?;
    one(changed, record, session, "has another account for a participant who is not here")
}

/// Keeps the text of an account where it rides beside this record. It does where the account was new; where it is as it was before,
/// its text came with an earlier one.
fn keep_account(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    session: SessionKey,
    account: Option<&Account>,
) -> Result<(), Fault> {
    let Some(text) = account.map(|account| &account.text) else { return Ok(()) };
    if let Some(sealed) = record.sealed(&text.commitment) {
        rows.prepare_cached(
            "INSERT INTO accounts (session, commitment, sealed) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![session.slot, text.commitment.0, sealed])?;
    }
    Ok(())
}

fn commitment(account: Option<&Account>) -> Option<[u8; 32]> {
    account.map(|account| account.text.commitment.0)
}

/// One row was changed, or the rows are not those of the records before.
fn one(changed: usize, record: &Record<'_>, session: SessionKey, otherwise: &str) -> Result<(), Fault> {
    match changed {
        1 => Ok(()),
        _ => {
            Err(Fault::Damaged(format!("the session {session:?} of record {} {otherwise}", record.number())))
        }
    }
}
