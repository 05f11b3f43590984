//! The eras of a partition's journal, each a stream of its own. What belongs here: which are there, where each begins, how one
//! ends and the next is made. What never does: appending, or reading in order.

use super::{
    JetStreamJournal,
    connection::{Failure, Nats},
    streams::{State, Stream, insist},
};
use crate::journal::JournalError;
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::{closes_era, record_number},
};
use serde_json::{Value, json};

/// An era that is there and has a record.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) era: Era,
    pub(super) stream: Stream,
    pub(super) first: RecordNumber,
    pub(super) last: RecordNumber,
}

/// The eras that have a stream, in their order; asked once.
pub(super) async fn list(nats: &Nats, partition: Partition) -> Result<Vec<Era>, Failure> {
    let subject = format!("arena.record.{}.*", partition.0);
    let begins = format!("ARENA_RECORDS_{}_", partition.0);
    let mut eras = Vec::new();
    let mut offset = 0;
    loop {
        let page = nats.api("STREAM.NAMES", &json!({"subject": subject, "offset": offset})).await?;
        let names = page.get("streams").and_then(Value::as_array).cloned().unwrap_or_default();
        let total = page.get("total").and_then(Value::as_u64).unwrap_or_default();
        offset += names.len() as u64;
        let era = |name: &Value| name.as_str()?.strip_prefix(&begins)?.parse().ok().map(Era);
        eras.extend(names.iter().filter_map(era));
        if names.is_empty() || offset >= total {
            break;
        }
    }
    eras.sort_unstable();
    eras.dedup();
    Ok(eras)
}

/// The same, asked until it is answered or patience ends.
pub(super) async fn wait_list(nats: &Nats, partition: Partition) -> Result<Vec<Era>, JournalError> {
    let listed = insist(nats, || list(nats, partition)).await;
    listed.map_err(|why| JournalError::Store {
        journal: nats.address(),
        action: "looked for",
        why: why.to_string(),
    })
}

/// Where an era begins; none where it has no record.
async fn first(nats: &Nats, stream: &Stream) -> Result<Option<RecordNumber>, JournalError> {
    let Some(message) = stream.wait_stored(nats, 1).await? else {
        return Ok(None);
    };
    let number = record_number(&message.payload).map_err(|why| JournalError::Format {
        journal: format!("{} on {}", stream.name, nats.address()),
        why: format!("its first message must hold a record: {why}"),
    })?;
    Ok(Some(number))
}

/// An era with what is in it; none where it has no record.
pub(super) async fn part(nats: &Nats, partition: Partition, era: Era) -> Result<Option<Part>, JournalError> {
    let stream = Stream::of_records(partition, era);
    let state = stream.wait_state(nats).await?;
    if state.last == 0 {
        return Ok(None);
    }
    let Some(first) = first(nats, &stream).await? else {
        let why = "its first message is missing".to_owned();
        return Err(JournalError::Format { journal: format!("{} on {}", stream.name, nats.address()), why });
    };
    Ok(Some(Part { era, stream, first, last: RecordNumber(first.0 + state.last - 1) }))
}

/// The eras that have the records from `from` on, in their order.
///
/// # Errors
/// [`JournalError::Archived`], where one of them is missing.
pub(super) async fn parts(
    nats: &Nats,
    partition: Partition,
    from: RecordNumber,
) -> Result<Vec<Part>, JournalError> {
    let mut parts: Vec<Part> = Vec::new();
    for era in wait_list(nats, partition).await?.into_iter().rev() {
        let Some(part) = part(nats, partition, era).await? else { continue };
        if let Some(later) = parts.last().filter(|later| later.era.0 != era.0 + 1) {
            return Err(archived(nats, partition, Era(era.0 + 1), later.first));
        }
        let begins = part.first <= from;
        parts.push(part);
        if begins {
            break;
        }
    }
    parts.reverse();
    match parts.first() {
        Some(part) if part.first > from && part.era != Era(1) => {
            Err(archived(nats, partition, Era(1), part.first))
        }
        _ => Ok(parts),
    }
}

fn archived(nats: &Nats, partition: Partition, era: Era, goes_on: RecordNumber) -> JournalError {
    let journal = format!("the journal of partition {} on {}", partition.0, nats.address());
    JournalError::Archived { journal, era: era.0, goes_on }
}

/// How often a stream is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Once: whoever asks asks again by itself.
    Once,
    /// Until it is answered or patience ends.
    Patiently,
}

impl Asked {
    async fn find(self, nats: &Nats, stream: &Stream) -> Result<Option<State>, JournalError> {
        let found = match self {
            Self::Once => stream.find(nats).await,
            Self::Patiently => insist(nats, || stream.find(nats)).await,
        };
        found.map_err(|why| stream.error(nats, "read", &why))
    }
}

impl JetStreamJournal {
    /// Opens the newest era of a partition, or makes the first where there is none.
    ///
    /// # Errors
    /// As [`JetStreamJournal::open`].
    pub async fn open_newest(nats: &Nats, partition: Partition) -> Result<Self, JournalError> {
        let Some(&era) = wait_list(nats, partition).await?.last() else {
            return Self::open(nats, partition, Era(1), RecordNumber(1)).await;
        };
        Self::open(nats, partition, era, begin_of(nats, partition, era).await?).await
    }

    /// Opens what is there to be read, and neither makes nor checks anything; none where there is nothing.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn find(nats: &Nats, partition: Partition) -> Result<Option<Self>, JournalError> {
        let Some(&era) = wait_list(nats, partition).await?.last() else {
            return Ok(None);
        };
        let first = begin_of(nats, partition, era).await?;
        let mut journal = Self::new(nats, partition, era, first);
        journal.know(journal.records.wait_state(nats).await?);
        Ok(Some(journal))
    }

    /// What the stream says of itself.
    pub(super) fn know(&mut self, state: State) {
        self.known = self.known.max(self.number_at(state.last));
        self.bytes = self.bytes.max(state.bytes);
    }

    /// Goes on to the eras that others have opened meanwhile, also where the one that was open here is gone to an archive.
    pub(super) async fn go_on(&mut self, asked: Asked) -> Result<State, JournalError> {
        let nats = self.nats.clone();
        loop {
            let Some(state) = asked.find(&nats, &self.records).await? else {
                let newest = wait_list(&nats, self.partition).await?.last().copied();
                let Some(newest) = newest.filter(|newest| *newest > self.era) else {
                    return Err(self.records.error(&nats, "read", &"there is no such stream"));
                };
                self.begin_era(newest, begin_of(&nats, self.partition, newest).await?);
                continue;
            };
            let next = Era(self.era.0 + 1);
            let goes_on =
                state.sealed && asked.find(&nats, &Stream::of_records(self.partition, next)).await?.is_some();
            if !goes_on {
                self.know(state);
                return Ok(state);
            }
            self.begin_era(next, self.number_at(state.last).next());
        }
    }

    fn begin_era(&mut self, era: Era, first: RecordNumber) {
        (self.era, self.first, self.bytes) = (era, first, 0);
        self.records = Stream::of_records(self.partition, era);
        self.known = RecordNumber(first.0 - 1);
    }

    /// Seals the open era's stream, so that nobody writes it again, then makes the next one: a stream that follows a sealed
    /// one is made by whoever comes next.
    pub(super) async fn move_on(&mut self, era: Era, first: RecordNumber) -> Result<(), JournalError> {
        let nats = self.nats.clone();
        let last = self.records.wait_stored(&nats, first.0 - self.first.0).await?;
        if !last.is_some_and(|last| closes_era(&last.payload)) {
            let why = format!("record {} does not close it", first.0 - 1);
            return Err(self.records.error(&nats, "closed", &why));
        }
        self.records.seal(&nats).await?;
        let looked = insist(&nats, || self.records.look(&nats)).await;
        let before = looked.map_err(|why| self.records.error(&nats, "read", &why))?.unwrap_or_default();
        let before = before.get("config").cloned().unwrap_or_default();
        Stream::of_records(self.partition, era).open_like(&nats, &before).await?;
        self.begin_era(era, first);
        Ok(())
    }
}

/// The number of an era's first record, also where it has none yet: the era before tells then.
async fn begin_of(nats: &Nats, partition: Partition, era: Era) -> Result<RecordNumber, JournalError> {
    if era <= Era(1) {
        return Ok(RecordNumber(1));
    }
    if let Some(part) = part(nats, partition, era).await? {
        return Ok(part.first);
    }
    let before = Era(era.0 - 1);
    match part(nats, partition, before).await? {
        Some(part) => Ok(part.last.next()),
        None => Err(JournalError::Format {
            journal: format!("{} on {}", Stream::of_records(partition, before).name, nats.address()),
            why: format!("era {} has no record, and the era before it has none either", era.0),
        }),
    }
}
