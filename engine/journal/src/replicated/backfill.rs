//! Brings the local copy up to the snapshot that a start begins from, without reducing what lies before it. What belongs here:
//! which snapshot that is, and copying the records up to it. What never does: the records behind it, which the start replays.
//!
//! A process on an empty folder needs no record before the snapshot for its state, but its copy has them as far as they are there:
//! it begins with the first era that was not archived. That they are the journal's, the snapshot's hash proves: each record
//! names the hash of the one before, and the last of them has the one that the snapshot is of.

use super::mirror::record_in;
use crate::{
    jetstream::JetStreamJournal,
    journal::{Journal, JournalError, Reader, Visit},
    sequencer::{Follower, StartError},
    snapshot::{Snapshot, Snapshots, confirm, passed_over, whole},
    sqlite::{CopiedRow, SqliteJournal},
};
use arena_schema::{
    Hash,
    id::{Era, Partition, RecordNumber},
    record::RecordView,
};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// So many records are made durable at once, of so many bytes together.
const TOGETHER_MAX: usize = 256;
const TOGETHER_BYTES: usize = 8 * 1024 * 1024;
/// How long a journal that ends before a snapshot is waited for: a server that leads its stream no more may say so for a moment.
const SHORT_FOR: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(200);

/// Copies what lies between the local copy's end and the newest snapshot that no follower needs records before, where that goes.
/// Gives the copy, which begins with a later era where it was empty and the first ones are in an archive.
///
/// # Errors
/// [`StartError`]: the records that are there do not hold, or cannot be read or kept.
pub(super) fn backfill(
    mirror: SqliteJournal,
    mirror_at: &Path,
    journal: &mut JetStreamJournal,
    store: Option<&dyn Snapshots>,
    partition: Partition,
    followers: &[Box<dyn Follower>],
) -> Result<SqliteJournal, StartError> {
    let mut mirror = mirror;
    let last = mirror.last()?;
    let until = followers.iter().map(|follower| follower.resumes_after()).min();
    let until = until.unwrap_or(RecordNumber(u64::MAX));
    let snapshots = store.map_or_else(Vec::new, |store| whole(store, partition));
    if let Some(newest) = snapshots.first() {
        wait_for(journal, newest.number)?;
    }
    let mut wanted = snapshots
        .into_iter()
        .filter(|snapshot| last < snapshot.number && snapshot.number <= until)
        .peekable();
    if wanted.peek().is_none() {
        return Ok(mirror);
    }
    let mut reader = journal.reader()?;
    let first = reader.first()?;
    if last > RecordNumber(0) && first > last.next() {
        // What the copy would go on with is in an archive: the start says so.
        return Ok(mirror);
    }
    for snapshot in wanted {
        let usable = snapshot.restore().map_err(|why| why.to_string());
        if let Err(why) = usable.and_then(|_| confirm(reader.as_mut(), &snapshot)) {
            passed_over(partition, snapshot.number, &why);
            continue;
        }
        let from = last.next().max(first);
        if from > snapshot.number {
            return Ok(mirror);
        }
        tracing::info!("the local copy takes records {from} to {} as they are", snapshot.number);
        let previous = if last == RecordNumber(0) { None } else { hash_of(mirror_at, last)? };
        if from > RecordNumber(1) && last == RecordNumber(0) {
            let era = era_of(reader.as_mut(), from)?;
            drop(mirror);
            mirror = SqliteJournal::begin_at(mirror_at, era, from)?;
        }
        let copying =
            Copying { journal: journal.name(), partition, next: from, previous, mirror: &mut mirror };
        copying.run(reader.as_mut(), &snapshot)?;
        return Ok(mirror);
    }
    Ok(mirror)
}

/// Waits until the journal goes to a record, or has been seen without it for long enough.
fn wait_for(journal: &mut JetStreamJournal, number: RecordNumber) -> Result<(), JournalError> {
    let begun = Instant::now();
    while journal.last()? < number && begun.elapsed() < SHORT_FOR {
        thread::sleep(PAUSE);
    }
    Ok(())
}

fn hash_of(mirror_at: &Path, number: RecordNumber) -> Result<Option<Hash>, JournalError> {
    let record = record_in(mirror_at, number)?;
    Ok(record.and_then(|bytes| RecordView::parse(&bytes).map(|view| view.hash).ok()))
}

fn era_of(reader: &mut dyn Reader, number: RecordNumber) -> Result<Era, JournalError> {
    let mut era = Era(1);
    reader.read(number, &mut |stored| {
        era = RecordView::parse(stored.bytes).map_or(era, |view| view.header.era);
        Visit::Enough
    })?;
    Ok(era)
}

/// A record on its way.
struct Copied {
    era: Era,
    number: RecordNumber,
    bytes: Vec<u8>,
    texts: Vec<u8>,
}

struct Copying<'a> {
    journal: String,
    partition: Partition,
    next: RecordNumber,
    /// The hash of the record before; none where that one is in an archive.
    previous: Option<Hash>,
    mirror: &'a mut SqliteJournal,
}

impl Copying<'_> {
    fn run(mut self, reader: &mut dyn Reader, snapshot: &Snapshot) -> Result<(), StartError> {
        let (mut together, mut bytes, mut failed) = (Vec::new(), 0, None);
        reader.read(self.next, &mut |stored| {
            if stored.number > snapshot.number {
                return Visit::Enough;
            }
            let mut step = || -> Result<(), StartError> {
                let era = self.check(stored.number, stored.bytes)?;
                bytes += stored.bytes.len() + stored.texts.len();
                together.push(Copied {
                    era,
                    number: stored.number,
                    bytes: stored.bytes.to_vec(),
                    texts: stored.texts.to_vec(),
                });
                if together.len() >= TOGETHER_MAX || bytes >= TOGETHER_BYTES {
                    bytes = 0;
                    self.keep(&std::mem::take(&mut together))?;
                }
                Ok(())
            };
            match step() {
                Ok(()) if stored.number < snapshot.number => Visit::Next,
                Ok(()) => Visit::Enough,
                Err(why) => {
                    failed = Some(why);
                    Visit::Enough
                }
            }
        })?;
        if let Some(why) = failed {
            return Err(why);
        }
        if self.next != snapshot.number.next() || self.previous != Some(snapshot.hash) {
            return Err(self.broken(format!("the records before do not lead to {}", snapshot.mark().who)));
        }
        Ok(self.keep(&together)?)
    }

    /// That a record is whole and goes on behind the one before; gives its era.
    fn check(&mut self, number: RecordNumber, bytes: &[u8]) -> Result<Era, StartError> {
        if number != self.next {
            return Err(self.broken(format!("it is missing; the next one stored is record {number}")));
        }
        let view = RecordView::parse(bytes).map_err(|why| self.broken(why.to_string()))?;
        let header = &view.header;
        if header.number != number || header.partition != self.partition {
            let why = format!("record {} of partition {} stands there", header.number, header.partition.0);
            return Err(self.broken(why));
        }
        if self.previous.is_some_and(|previous| previous != header.previous) {
            return Err(self.broken("it does not go on behind the record before".to_owned()));
        }
        self.previous = Some(view.hash);
        self.next = number.next();
        Ok(header.era)
    }

    fn broken(&self, why: String) -> StartError {
        StartError::Broken { journal: self.journal.clone(), record: self.next, why }
    }

    fn keep(&mut self, together: &[Copied]) -> Result<(), JournalError> {
        let rows = together.iter().map(|record| CopiedRow {
            era: record.era,
            number: record.number,
            bytes: &record.bytes,
            texts: (!record.texts.is_empty()).then(|| record.texts.clone()),
        });
        self.mirror.append_copied(&rows.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        MemoryJournal, SealedText,
        testing::{PARTITION, Rows, played, rows, rows_of},
    };
    use arena_engine::{Reduction, State, reduce};
    use arena_schema::record::EncodedRecord;

    type Records = [(EncodedRecord, Vec<SealedText>)];

    /// Copies what is stored up to the snapshot of the 20th of these records into an empty journal; what it said, and what the
    /// journal has.
    fn copied(records: &Records, stored: &Records, partition: Partition) -> (Result<(), StartError>, Rows) {
        let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
        for (record, _) in &records[..20] {
            reduce(&mut state, &RecordView::parse(record.as_bytes()).unwrap(), &mut reduction).unwrap();
        }
        let mut journal = MemoryJournal::default();
        for (record, texts) in stored {
            journal.append(record, texts).unwrap();
        }
        let folder = tempfile::TempDir::new().unwrap();
        let mut mirror = SqliteJournal::open(&folder.path().join("records-0-1.db")).unwrap();
        let copying = Copying {
            journal: "memory".to_owned(),
            partition,
            next: RecordNumber(1),
            previous: None,
            mirror: &mut mirror,
        };
        let went = copying.run(journal.reader().unwrap().as_mut(), &Snapshot::of(&state));
        (went, rows(&mirror))
    }

    #[test]
    fn what_is_copied_is_what_the_snapshot_is_of_and_no_more() {
        let records = played(30, 1);
        let (went, kept) = copied(&records, &records, PARTITION);
        went.unwrap();
        assert_eq!(kept, rows_of(&records[..20]));
    }

    #[test]
    fn a_record_that_does_not_go_on_behind_the_one_before_is_named_and_nothing_is_kept() {
        let (records, others) = (played(30, 1), played(30, 2));
        let refused = |stored: &Records, partition, words: &str| {
            let (went, kept) = copied(&records, stored, partition);
            let why = went.unwrap_err().to_string();
            assert!(why.contains(words), "{words}: {why}");
            assert_eq!(kept, Rows::new());
        };
        let mut mixed = records.clone();
        mixed[9] = others[9].clone();
        refused(&mixed, PARTITION, "refused at record 10: it does not go on");
        refused(&others, PARTITION, "do not lead to the snapshot 0-20");
        refused(&records[..19], PARTITION, "refused at record 20: the records before do not lead");
        refused(&records, Partition(1), "record 1 of partition 0 stands there");
    }
}
