//! The reads of a session, in the partition that its id names. Rows are read sealed, in one state of the view, and opened after.

use super::{JOIN, JOIN_TYPE, LEAVE, LEAVE_TYPE, NAME, PAYLOAD, SessionEntry, SessionPayload, SessionPerson};
use crate::{
    error::{Fault, ViewError},
    name::ViewName,
    sealed::SealedColumns,
    views::Views,
};
use arena_journal::{TextOwner, Texts};
use arena_schema::{
    Commitment, LogTime,
    id::{ObjectId, Partition, SessionId, SessionKey},
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::HashMap;

/// Each condition on a session: its whole key, and its id.
const OF_SESSION: &str = "s.session = ?1 AND s.generation = ?2 AND s.id = ?3";

impl Views {
    /// Everyone who ever joined a session, by number, which is the order of joining; nobody where there is no such session, or it
    /// has ended.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn session_people(
        &self,
        partition: Partition,
        session: SessionKey,
        id: SessionId,
    ) -> Result<Vec<SessionPerson>, ViewError> {
        let rows = self.read_sessions(partition, |rows| {
            let mut select = rows.prepare_cached(&format!(
                "SELECT p.number, p.name_commitment, p.name_sealed, a.commitment, a.sealed
                 FROM sessions s JOIN participants p ON p.session = s.session
                 LEFT JOIN accounts a ON a.session = s.session AND a.commitment = p.account
                 WHERE {OF_SESSION} ORDER BY p.number"
            ))?;
            let mut found = select.query(params![session.slot, session.generation, id.0])?;
            let mut people = Vec::new();
            while let Some(row) = found.next()? {
                let number: u32 = row.get(0)?;
                people.push((number, SealedColumns::read(row, 1)?, SealedColumns::read(row, 3)?));
            }
            Ok(people)
        })?;
        let clear = self.clear(partition, id);
        rows.into_iter()
            .map(|(number, name, account)| {
                let (name, account) = (clear.text(name.as_ref())?, clear.text(account.as_ref())?);
                Ok(SessionPerson { number, name, account })
            })
            .collect()
    }

    /// The entries of a session after the one with the number `after`, in order, with the payloads that ride beside their records:
    /// at most `rows_max` of them, and no more than have `bytes_max` bytes of such payloads together, but the first one always.
    /// None where there is no such session, or it has ended.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn session_entries(
        &self,
        partition: Partition,
        session: SessionKey,
        id: SessionId,
        after: u64,
        rows_max: u32,
        bytes_max: u64,
    ) -> Result<Vec<SessionEntry>, ViewError> {
        // No entry is numbered beyond the half of these.
        let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
        let rows = self.read_sessions(partition, |rows| {
            let mut select = rows.prepare_cached(&format!(
                "SELECT {ENTRY_COLUMNS}, p.name_commitment, p.name_sealed, a.commitment, a.sealed
                 FROM sessions s JOIN entries e ON e.session = s.session
                 LEFT JOIN participants p ON p.session = e.session AND p.number = e.participant
                 LEFT JOIN accounts a ON a.session = e.session AND a.commitment = e.account
                 WHERE {OF_SESSION} AND e.n > ?4 ORDER BY e.n LIMIT ?5"
            ))?;
            let parameters = params![session.slot, session.generation, id.0, after, rows_max];
            let mut found = select.query(parameters)?;
            let (mut entries, mut bytes) = (Vec::new(), 0_u64);
            while let Some(row) = found.next()? {
                let entry = EntryRow::read(row)?;
                bytes = bytes.saturating_add(if entry.object.is_none() { entry.size } else { 0 });
                if bytes > bytes_max && !entries.is_empty() {
                    break;
                }
                entries.push((entry, SealedColumns::read(row, 12)?, SealedColumns::read(row, 14)?));
            }
            Ok(entries)
        })?;
        let clear = self.clear(partition, id);
        // Few people send many entries.
        let mut known: HashMap<Commitment, Option<String>> = HashMap::new();
        let mut again = |sealed: Option<SealedColumns>| -> Result<Option<String>, ViewError> {
            let Some(sealed) = sealed else { return Ok(None) };
            if let Some(text) = known.get(&sealed.commitment()) {
                return Ok(text.clone());
            }
            let text = clear.text(Some(&sealed))?;
            known.insert(sealed.commitment(), text.clone());
            Ok(text)
        };
        let mut entries = Vec::with_capacity(rows.len());
        for (row, name, account) in rows {
            entries.push(SessionEntry {
                n: row.n,
                at: row.at,
                participant: row.participant,
                from: again(name)?.unwrap_or_default(),
                kind: row.kind(&clear)?,
                size: row.size,
                filename: clear.text(row.filename.as_ref())?,
                payload: row.payload(&clear)?,
                account: again(account)?,
            });
        }
        Ok(entries)
    }

    /// The payload of one entry of a session; none where there is no such entry, or the session has ended.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn session_payload(
        &self,
        partition: Partition,
        session: SessionKey,
        id: SessionId,
        n: u64,
    ) -> Result<Option<SessionPayload>, ViewError> {
        let Ok(n) = i64::try_from(n) else { return Ok(None) };
        let row = self.read_sessions(partition, |rows| {
            let mut select = rows.prepare_cached(&format!(
                "SELECT {ENTRY_COLUMNS} FROM sessions s JOIN entries e ON e.session = s.session
                 WHERE {OF_SESSION} AND e.n = ?4"
            ))?;
            let mut found = select.query(params![session.slot, session.generation, id.0, n])?;
            found.next()?.map(EntryRow::read).transpose()
        })?;
        let Some(row) = row else { return Ok(None) };
        let clear = self.clear(partition, id);
        Ok(Some(SessionPayload {
            kind: row.kind(&clear)?,
            filename: clear.text(row.filename.as_ref())?,
            size: row.size,
            payload: row.payload(&clear)?,
            object: row.object,
            commitment: row.commitment,
        }))
    }

    /// The objects that entries of an open session name, each once: whatever else its owner has in the store of payloads was never
    /// sent, or is named by a record that is not here yet. None where there is no such session, or it has ended.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn session_objects(&self, partition: Partition, id: SessionId) -> Result<Vec<ObjectId>, ViewError> {
        self.read_sessions(partition, |rows| {
            let mut select = rows.prepare_cached(
                "SELECT DISTINCT e.object FROM sessions s JOIN entries e ON e.session = s.session
                 WHERE s.id = ?1 AND e.object IS NOT NULL ORDER BY e.object",
            )?;
            let objects = select.query_map([id.0], |row| Ok(ObjectId(row.get(0)?)))?;
            Ok(objects.collect::<Result<_, _>>()?)
        })
    }

    /// Whether an entry of an open session names this object.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn has_object(
        &self,
        partition: Partition,
        id: SessionId,
        object: ObjectId,
    ) -> Result<bool, ViewError> {
        self.read_sessions(partition, |rows| {
            let mut select = rows.prepare_cached(
                "SELECT 1 FROM sessions s JOIN entries e ON e.session = s.session
                 WHERE s.id = ?1 AND e.object = ?2 LIMIT 1",
            )?;
            Ok(select.query_row(params![id.0, object.0], |_| Ok(())).optional()?.is_some())
        })
    }

    fn read_sessions<T>(
        &self,
        partition: Partition,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, ViewError> {
        let view = ViewName { name: NAME, partition };
        self.of(partition).ok_or(ViewError::Absent { view })?.read(NAME, read)
    }

    fn clear(&self, partition: Partition, id: SessionId) -> Clear<'_> {
        let view = ViewName { name: NAME, partition };
        Clear { texts: self.texts(), owner: TextOwner::Session(id), view }
    }
}

/// Opens the texts of one session.
struct Clear<'a> {
    texts: &'a Texts,
    owner: TextOwner,
    view: ViewName,
}

impl Clear<'_> {
    /// None where there is none, or it does not open.
    fn text(&self, sealed: Option<&SealedColumns>) -> Result<Option<String>, ViewError> {
        let opened = sealed.map(|sealed| sealed.open(self.texts, self.owner)).transpose();
        self.named(opened.map(|opened| opened.flatten().map(|opened| opened.text)))
    }

    fn bytes(&self, sealed: Option<&SealedColumns>) -> Result<Option<Vec<u8>>, ViewError> {
        let opened = sealed.map(|sealed| sealed.open_bytes(self.texts, self.owner)).transpose();
        self.named(opened.map(Option::flatten))
    }

    fn named<T>(&self, opened: Result<T, Fault>) -> Result<T, ViewError> {
        opened.map_err(|why| ViewError::View { view: self.view, action: "read", why })
    }
}

const ENTRY_COLUMNS: &str =
    "e.n, e.at, e.participant, e.what, e.size, e.object, e.kind_commitment, e.kind_sealed,
    e.filename_commitment, e.filename_sealed, e.payload_commitment, e.payload_sealed";

/// An entry as its row has it, still sealed.
struct EntryRow {
    n: u64,
    at: LogTime,
    participant: u32,
    what: What,
    size: u64,
    object: Option<ObjectId>,
    filename: Option<SealedColumns>,
    commitment: Option<Commitment>,
}

/// What an entry says.
enum What {
    Join,
    Leave,
    Sent { kind: Option<SealedColumns>, payload: Option<SealedColumns> },
}

impl EntryRow {
    fn read(row: &Row<'_>) -> Result<Self, Fault> {
        let what = match row.get(3)? {
            JOIN => What::Join,
            LEAVE => What::Leave,
            PAYLOAD => {
                What::Sent { kind: SealedColumns::read(row, 6)?, payload: SealedColumns::read(row, 10)? }
            }
            other => {
                return Err(Fault::Damaged(format!(
                    "an entry of the kind {other} is none that this build knows"
                )));
            }
        };
        let object: Option<[u8; 16]> = row.get(5)?;
        let commitment: Option<[u8; 32]> = row.get(10)?;
        Ok(Self {
            n: row.get::<_, i64>(0)?.cast_unsigned(),
            at: LogTime(row.get::<_, i64>(1)?.cast_unsigned()),
            participant: row.get(2)?,
            what,
            size: row.get::<_, i64>(4)?.cast_unsigned(),
            object: object.map(ObjectId),
            filename: SealedColumns::read(row, 8)?,
            commitment: commitment.map(Commitment),
        })
    }

    fn kind(&self, clear: &Clear<'_>) -> Result<String, ViewError> {
        Ok(match &self.what {
            What::Join => JOIN_TYPE.to_owned(),
            What::Leave => LEAVE_TYPE.to_owned(),
            What::Sent { kind, .. } => clear.text(kind.as_ref())?.unwrap_or_default(),
        })
    }

    fn payload(&self, clear: &Clear<'_>) -> Result<Option<Vec<u8>>, ViewError> {
        match &self.what {
            What::Join | What::Leave => Ok(Some(Vec::new())),
            What::Sent { payload, .. } => clear.bytes(payload.as_ref()),
        }
    }
}
