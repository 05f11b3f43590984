//! The audit of a whole journal: every record is read again, its hash and the chain are checked, its commands are reduced
//! again, and each header's running digest is compared with the one that comes of it here.

use crate::{
    journal::{JournalError, Reader, Visit},
    texts::{SealedText, TextOwner, decode_texts},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    Command, Hash, LogTime,
    event::Event,
    id::{AgentId, Partition, RecordNumber, SessionId},
    record::RecordView,
};
use std::collections::BTreeSet;

/// Someone's memory of a record: a view's checkpoint, a signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Who remembers it.
    pub who: String,
    /// Which record.
    pub number: RecordNumber,
    /// Its hash.
    pub hash: Hash,
}

impl Mark {
    /// Compares a record with this memory of it.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub fn check(&self, number: RecordNumber, hash: Hash) -> Result<(), String> {
        if number == self.number && hash != self.hash {
            return Err(format!(
                "{} remembers record {number} with the hash {}, the journal has it with the hash {hash}",
                self.who, self.hash
            ));
        }
        Ok(())
    }

    /// Compares a journal's end with this memory.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn check_end(&self, last: RecordNumber) -> Result<(), String> {
        if last < self.number {
            return Err(format!(
                "{} remembers record {} (hash {}), the journal ends at record {last}: it was cut short",
                self.who, self.number, self.hash
            ));
        }
        Ok(())
    }
}

/// What an audit looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// Records read, hashed and chained.
    pub records: u64,
    /// Commands reduced.
    pub commands: u64,
    /// Events that came of them.
    pub events: u64,
    /// Commands that came to a refusal.
    pub rejections: u64,
    /// Sealed texts checked against their hashes.
    pub texts: u64,
    /// Headers whose running digest was compared.
    pub digests: u64,
    /// Bytes of records.
    pub bytes: u64,
    /// The last record's hash.
    pub head: Hash,
    /// The running digest after the last record.
    pub digest: Hash,
    /// The last record's time.
    pub time: LogTime,
}

/// What an audit found: the first thing that does not hold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// A record.
    #[error("record {record} does not hold: {why}")]
    Record {
        /// Which.
        record: RecordNumber,
        /// What is wrong with it.
        why: String,
    },
    /// A text beside a record, or the store.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The store's own check of itself.
    #[error("the store reports damage of its own: {0}")]
    Store(String),
    /// Someone remembers what the journal does not have.
    #[error("the journal is not the one that was seen: {0}")]
    Forgotten(String),
}

/// The kind of `RegisterAgent`, which makes an owner of texts.
const REGISTER_AGENT: u16 = 0x0101;
/// The kind of `CreateSession`, which makes one too.
const CREATE_SESSION: u16 = 0x0701;

/// Who may own a text. A text's own hash is over its sealed bytes alone: whose it is and what it is the record must vouch for.
#[derive(Default)]
struct Owners {
    agents: BTreeSet<AgentId>,
    sessions: BTreeSet<SessionId>,
}

impl Owners {
    /// Takes in whoever this record registers or creates, also where the engine refuses it: the texts were sealed before.
    fn learn(&mut self, record: &RecordView<'_>) {
        let makes = |kind| matches!(kind, REGISTER_AGENT | CREATE_SESSION);
        for command in record.commands().flatten().filter(|command| makes(command.kind)) {
            match command.decode() {
                Ok(Command::RegisterAgent(command)) => {
                    self.agents.insert(command.id);
                }
                Ok(Command::CreateSession(command)) => {
                    self.sessions.insert(command.id);
                }
                _ => {}
            }
        }
    }

    /// Each text's commitment stands in its record, and its owner is somebody.
    fn check(&self, record: RecordNumber, bytes: &[u8], texts: &[SealedText]) -> Result<(), JournalError> {
        let mut missing: BTreeSet<&[u8]> = texts.iter().map(|text| text.commitment.0.as_slice()).collect();
        for part in bytes.windows(32) {
            if missing.is_empty() {
                break;
            }
            missing.remove(part);
        }
        for (text, at) in texts.iter().zip(1..) {
            let unknown = match text.owner {
                TextOwner::Agent(agent) if self.agents.contains(&agent) => None,
                TextOwner::Agent(_) => Some("an agent that was never registered"),
                TextOwner::Session(session) if self.sessions.contains(&session) => None,
                TextOwner::Session(_) => Some("a session that was never opened"),
            };
            let why = if missing.contains(text.commitment.0.as_slice()) {
                format!("text {at} ({}) is none that the record commits to", text.commitment)
            } else if let Some(owner) = unknown {
                format!("text {at} ({}) is of {owner}", text.commitment)
            } else {
                continue;
            };
            return Err(JournalError::Texts { record, why });
        }
        Ok(())
    }
}

/// Audits a journal from its first record to its last, against what others remember of it.
///
/// # Errors
/// The first [`Finding`].
pub fn audit(reader: &mut dyn Reader, partition: Partition, marks: &[Mark]) -> Result<AuditReport, Finding> {
    let mut report = AuditReport::default();
    let mut state = State::new(partition);
    let mut reduction = Reduction::default();
    let mut owners = Owners::default();
    let mut found = None;
    reader.read(RecordNumber(1), &mut |stored| {
        let record = state.head().number.next();
        let broken = |why: String| Finding::Record { record, why };
        let mut step = || -> Result<(), Finding> {
            if stored.number != record {
                return Err(broken(format!(
                    "it is missing; the next one stored is record {}",
                    stored.number
                )));
            }
            let view = RecordView::parse(stored.bytes).map_err(|why| broken(why.to_string()))?;
            reduce(&mut state, &view, &mut reduction).map_err(|halt| broken(halt.to_string()))?;
            let texts = decode_texts(record, stored.texts)?;
            owners.learn(&view);
            owners.check(record, stored.bytes, &texts)?;
            report.texts += texts.len() as u64;
            for mark in marks {
                mark.check(record, view.hash).map_err(Finding::Forgotten)?;
            }
            report.records += 1;
            report.digests += 1;
            report.commands += view.commands().count() as u64;
            report.events += reduction.events.len() as u64;
            report.rejections +=
                reduction.events.iter().filter(|emitted| matches!(emitted.event, Event::Rejected(_))).count()
                    as u64;
            report.bytes += stored.bytes.len() as u64;
            Ok(())
        };
        match step() {
            Ok(()) => Visit::Next,
            Err(finding) => {
                found = Some(finding);
                Visit::Enough
            }
        }
    })?;
    if let Some(finding) = found {
        return Err(finding);
    }
    let head = state.head();
    for mark in marks {
        mark.check_end(head.number).map_err(Finding::Forgotten)?;
    }
    let damage = reader.self_check()?;
    if let Some(first) = damage.first() {
        return Err(Finding::Store(first.clone()));
    }
    (report.head, report.digest, report.time) = (head.hash, head.digest, head.time);
    Ok(report)
}
