//! Where a publisher has its records from: handed over by the reducer, or reduced once more from the local copy. What belongs
//! here: the buffer between the two threads, and the way from the one source to the other and back. What never does: an event.
//!
//! The reducer never waits here. What finds no room is not handed over, and is read from the local copy later.

use super::{
    Trouble,
    row::{Aligned, Row},
};
use crate::{
    journal::{Reader, StoredRecord, Visit},
    sequencer::{Followed, Follower},
    snapshot::{Snapshots, restore_newest},
    sqlite::SqliteJournal,
};
use arena_engine::{Emitted, Reduction, State, reduce};
use arena_schema::{
    id::{Lineage, Partition, RecordNumber},
    record::{Header, RecordView},
};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread,
    time::Duration,
};

/// How many records may lie in the buffer; few in tests, so that one overflows soon.
const BUFFER_RECORDS: usize = if cfg!(test) { 16 } else { 4_096 };
/// How many events of theirs.
const BUFFER_EVENTS: usize = 262_144;
/// How many records are taken from the local copy before the other duties are looked at.
const STEP_RECORDS: usize = 256;
/// The same where so many events have come of them.
const STEP_EVENTS: usize = 4_096;
/// Before a local copy is read again that is not as far as the state.
const PAUSE: Duration = Duration::from_millis(5);

/// A reduced record.
struct Handed {
    header: Header,
    events: Arc<Vec<Emitted>>,
}

/// What both threads see.
#[derive(Debug, Default)]
struct Buffer {
    /// The last record that was reduced, handed over or not.
    reduced: AtomicU64,
    /// How many events lie there.
    events: AtomicUsize,
}

/// The reducer's side.
pub(crate) struct Feed {
    records: SyncSender<Handed>,
    buffer: Arc<Buffer>,
}

#[cfg(test)]
impl Feed {
    /// The records up to this one are there, and none of them was handed over.
    pub(crate) fn skip_to(&self, record: RecordNumber) {
        self.buffer.reduced.store(record.0, Ordering::SeqCst);
    }
}

impl Follower for Feed {
    fn wants(&self, _: RecordNumber, _: bool) -> bool {
        true
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        let count = record.events.len();
        if self.buffer.events.load(Ordering::SeqCst) + count <= BUFFER_EVENTS {
            let handed = Handed { header: record.header.clone(), events: Arc::clone(&record.events) };
            self.buffer.events.fetch_add(count, Ordering::SeqCst);
            if self.records.try_send(handed).is_err() {
                self.buffer.events.fetch_sub(count, Ordering::SeqCst);
            }
        }
        // Only now: whoever sees it and finds the buffer empty knows that the record will not come.
        self.buffer.reduced.store(record.header.number.0, Ordering::SeqCst);
        Ok(())
    }
}

/// The last record that this process has reduced.
#[derive(Debug, Clone)]
pub(super) struct Reduced(Arc<Buffer>);

impl Reduced {
    pub(super) fn last(&self) -> RecordNumber {
        RecordNumber(self.0.reduced.load(Ordering::SeqCst))
    }
}

/// What the publisher reads records from that the reducer did not hand over.
pub(crate) struct LocalCopy {
    /// The mirror's file.
    pub(crate) mirror_at: PathBuf,
    /// States to begin from.
    pub(crate) snapshots: Option<Arc<dyn Snapshots>>,
}

/// The records once more, from the local copy.
struct Replay {
    state: State,
    /// Whether it began with a snapshot.
    from_snapshot: bool,
    reduction: Reduction,
    reader: Box<dyn Reader>,
}

/// The publisher's side.
pub(super) struct Source {
    partition: Partition,
    copy: LocalCopy,
    /// A snapshot did not go with the local copy.
    distrusts: bool,
    records: Receiver<Handed>,
    buffer: Arc<Buffer>,
    /// Taken from the buffer, and later than what comes next.
    ahead: Option<Handed>,
    /// There while the records come from the local copy.
    replay: Option<Replay>,
}

/// A buffer, and both its sides, for the records behind this state's.
pub(super) fn buffer(state: &State, copy: LocalCopy) -> (Feed, Source) {
    let (sender, records) = mpsc::sync_channel(BUFFER_RECORDS);
    let buffer = Arc::new(Buffer::default());
    buffer.reduced.store(state.head().number.0, Ordering::SeqCst);
    let source = Source {
        partition: state.partition(),
        copy,
        distrusts: false,
        records,
        buffer: Arc::clone(&buffer),
        ahead: None,
        replay: None,
    };
    (Feed { records: sender, buffer }, source)
}

impl Source {
    pub(super) fn reduced(&self) -> Reduced {
        Reduced(Arc::clone(&self.buffer))
    }

    /// A state before this record, of this history where it must be one, that the local copy can be followed from.
    fn base(&self, before: RecordNumber, lineage: Option<Lineage>) -> Option<State> {
        let store = self.copy.snapshots.as_ref().filter(|_| !self.distrusts)?;
        let until = RecordNumber(before.0.checked_sub(1)?);
        let state = restore_newest(store.as_ref(), self.partition, until)?;
        (lineage.is_none() || state.lineage() == lineage).then_some(state)
    }

    /// The records come from the local copy, from this one or an earlier one on, until the buffer goes on where that ends.
    /// Gives the state that the first of them follows on.
    ///
    /// # Errors
    /// [`Trouble::Records`]: the local copy cannot be opened.
    pub(super) fn begin_again(
        &mut self,
        record: RecordNumber,
        lineage: Option<Lineage>,
    ) -> Result<&State, Trouble> {
        let reader = SqliteJournal::open_reader(&self.copy.mirror_at);
        let reader = reader.map_err(|why| Trouble::Records(why.to_string()))?;
        let base = self.base(record, lineage);
        let from_snapshot = base.is_some();
        let state = base.unwrap_or_else(|| State::new(self.partition));
        let replay = Replay { state, from_snapshot, reduction: Reduction::default(), reader };
        Ok(&self.replay.insert(replay).state)
    }

    /// Gives the row what comes next of the records: some of them, or none where there is none within `wait`.
    ///
    /// # Errors
    /// [`Trouble`]; then the row goes on no more.
    pub(super) fn step(&mut self, row: &mut Row, wait: Duration) -> Result<Aligned, Trouble> {
        if self.replay.is_none() {
            match self.take(row.next(), wait) {
                Some(handed) => return row.follow(&handed.header, &handed.events),
                None if self.misses(row.next()) => {
                    tracing::info!(record = row.next().0, "public events: going on from the local copy");
                    self.begin_again(row.next(), None)?;
                }
                None => return Ok(Aligned::Here),
            }
        }
        if let Some(handed) = self.take(row.next(), Duration::ZERO) {
            self.replay = None;
            return row.follow(&handed.header, &handed.events);
        }
        if !self.misses(row.next()) {
            self.replay = None;
            return Ok(Aligned::Here);
        }
        let read = self.read(row);
        if read.is_err() {
            let replay = self.replay.take();
            self.distrusts |= replay.is_some_and(|replay| replay.from_snapshot);
        }
        read
    }

    /// Whether the records come from the local copy.
    pub(super) fn reads_again(&self) -> bool {
        self.replay.is_some()
    }

    /// Whether everything that was reduced was followed.
    pub(super) fn is_through(&self, row: &Row) -> bool {
        !self.misses(row.next())
    }

    /// Whether this record was reduced. Asked when the buffer does not have it: it will not come from there.
    fn misses(&self, next: RecordNumber) -> bool {
        self.ahead.is_some() || self.reduced().last() >= next
    }

    /// This record from the buffer, where it is there; what is before it goes.
    fn take(&mut self, next: RecordNumber, wait: Duration) -> Option<Handed> {
        let reduced = self.reduced().last();
        loop {
            let handed = match self.ahead.take() {
                Some(handed) => handed,
                None => {
                    // Where it was reduced it is there now, or never.
                    let wait = if reduced >= next { Duration::ZERO } else { wait };
                    let handed = match self.records.recv_timeout(wait) {
                        Ok(handed) => handed,
                        Err(RecvTimeoutError::Timeout) => return None,
                        Err(RecvTimeoutError::Disconnected) => {
                            // The process ends, and this thread with it.
                            thread::sleep(wait);
                            return None;
                        }
                    };
                    self.buffer.events.fetch_sub(handed.events.len(), Ordering::SeqCst);
                    handed
                }
            };
            match handed.header.number.cmp(&next) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(handed),
                std::cmp::Ordering::Greater => {
                    self.ahead = Some(handed);
                    return None;
                }
            }
        }
    }

    /// Some records from the local copy.
    fn read(&mut self, row: &mut Row) -> Result<Aligned, Trouble> {
        let Some(replay) = &mut self.replay else { return Ok(Aligned::Here) };
        let Replay { state, reduction, reader, .. } = replay;
        let mut left = STEP_RECORDS;
        let mut followed = Ok(Aligned::Here);
        let read = reader.read(state.head().number.next(), &mut |stored| {
            followed = follow(state, reduction, row, stored);
            left -= 1;
            let enough = left == 0 || row.waiting().len() >= STEP_EVENTS || followed != Ok(Aligned::Here);
            if enough { Visit::Enough } else { Visit::Next }
        });
        read.map_err(|why| Trouble::Records(why.to_string()))?;
        if left == STEP_RECORDS {
            // The local copy is written behind the state.
            thread::sleep(PAUSE);
        }
        followed
    }
}

/// Reduces a record of the local copy, and gives it to a row that does not have it yet.
fn follow(
    state: &mut State,
    reduction: &mut Reduction,
    row: &mut Row,
    stored: StoredRecord<'_>,
) -> Result<Aligned, Trouble> {
    let expected = state.head().number.next();
    let broken = |why: String| Trouble::Records(format!("record {expected} of the local copy: {why}"));
    if stored.number != expected {
        return Err(broken(format!("it is missing; the next one there is record {}", stored.number)));
    }
    let view = RecordView::parse(stored.bytes).map_err(|why| broken(why.to_string()))?;
    reduce(state, &view, reduction).map_err(|why| broken(why.to_string()))?;
    if stored.number < row.next() {
        return Ok(Aligned::Here);
    }
    row.follow(&view.header, &reduction.events)
}
