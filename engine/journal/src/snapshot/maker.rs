//! Who makes snapshots: a thread that replays what is durable with a reader and a state of its own, so that it proves what it
//! writes. It is told how far the journal is and sleeps in between. Whatever goes wrong in it ends it alone, with a log line;
//! only a store that processes share is tried again.

use super::{
    SNAPSHOTS_KEPT, Snapshot, SnapshotStoreError, Snapshots,
    beginning::{confirm, whole},
    called,
    sharing::Sharing,
};
use crate::{
    journal::{JournalError, Reader, Visit},
    sequencer::{Followed, Follower},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    id::{Partition, RecordNumber},
    record::RecordView,
};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A snapshot is made after so many records,
pub const SNAPSHOT_RECORDS: u64 = 100_000;
/// or after so many bytes of them.
pub const SNAPSHOT_BYTES: u64 = 64 * 1024 * 1024;
/// So many records wait for the thread before it is woken for them.
const RECORDS_WAITING: u64 = 1_024;

/// How often a snapshot is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPace {
    /// After so many records, at the latest.
    pub records: u64,
    /// After so many bytes of records, at the latest.
    pub bytes: u64,
}

impl Default for SnapshotPace {
    fn default() -> Self {
        Self { records: SNAPSHOT_RECORDS, bytes: SNAPSHOT_BYTES }
    }
}

/// What a maker works with.
pub struct SnapshotMakerOptions {
    /// Whose journal it is.
    pub partition: Partition,
    /// Where the snapshots are kept.
    pub store: Arc<dyn Snapshots>,
    /// Opens a reader of the journal, on the maker's own thread.
    pub readers: Box<dyn Fn() -> Result<Box<dyn Reader>, JournalError> + Send>,
    /// How often.
    pub pace: SnapshotPace,
    /// How it goes beside makers of other processes; none where the store is this process's own.
    pub sharing: Option<Sharing>,
}

/// Makes snapshots until it is dropped, which waits for a snapshot that is being written.
#[derive(Debug)]
pub struct SnapshotMaker {
    growth: Arc<Growth>,
    thread: Option<JoinHandle<()>>,
}

/// How far the journal is and how far the maker.
#[derive(Debug, Default)]
struct Growth {
    known: Mutex<Known>,
    grown: Condvar,
    #[cfg(test)]
    went_on: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    durable: RecordNumber,
    /// From which record on the thread is to be woken; none while it is awake.
    wake_at: Option<RecordNumber>,
    ending: bool,
    proved: RecordNumber,
    ended: Option<String>,
}

impl Growth {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, number: RecordNumber) {
        let mut known = self.lock();
        known.durable = known.durable.max(number);
        if known.wake_at.is_some_and(|at| at <= known.durable) {
            known.wake_at = None;
            self.grown.notify_one();
        }
    }

    /// Waits until the journal goes to record `at`, and gives its last one; none where the end comes first.
    fn wait_for(&self, at: RecordNumber) -> Option<RecordNumber> {
        let mut known = self.lock();
        known.wake_at = Some(at);
        let sleeps = |known: &mut Known| !known.ending && known.durable < at;
        let mut known = self.grown.wait_while(known, sleeps).unwrap_or_else(PoisonError::into_inner);
        known.wake_at = None;
        (!known.ending).then_some(known.durable)
    }

    /// Lets so much time pass. False where the end comes first.
    fn pause(&self, time: Duration) -> bool {
        let known = self.lock();
        let waited = self.grown.wait_timeout_while(known, time, |known| !known.ending);
        !waited.unwrap_or_else(PoisonError::into_inner).0.ending
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.lock());
        #[cfg(test)]
        self.went_on.notify_all();
    }
}

impl SnapshotMaker {
    /// Begins. Nothing is read before the first notice.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(options: SnapshotMakerOptions) -> io::Result<Self> {
        let growth = Arc::new(Growth::default());
        let own = Arc::clone(&growth);
        let thread = thread::Builder::new().name("arena-snapshots".to_owned()).spawn(move || {
            let worked = catch_unwind(AssertUnwindSafe(|| Work::new(options, &own).run()));
            let ended = worked.unwrap_or_else(|_| Err("its thread panicked".to_owned()));
            if let Err(why) = &ended {
                tracing::error!(%why, "no snapshot is made any more; everything else goes on");
            }
            own.change(|known| known.ended = ended.err());
        })?;
        Ok(Self { growth, thread: Some(thread) })
    }

    /// The journal is durable up to this record.
    pub fn notify(&self, number: RecordNumber) {
        self.growth.notify(number);
    }

    /// Tells the maker of what the sequencer writes.
    pub fn follower(&self) -> SnapshotFollower {
        SnapshotFollower { growth: Arc::clone(&self.growth) }
    }

    /// Up to which record the maker has replayed the journal and found that it holds.
    pub fn proved(&self) -> RecordNumber {
        self.growth.lock().proved
    }

    /// Why it makes no more; none while it does.
    pub fn ended(&self) -> Option<String> {
        self.growth.lock().ended.clone()
    }

    /// Waits until it has replayed this record and written what was due, or has ended.
    #[cfg(test)]
    pub(crate) fn wait_until_proved(&self, number: RecordNumber) {
        let known = self.growth.lock();
        let waits = |known: &mut Known| known.proved < number && known.ended.is_none();
        drop(self.growth.went_on.wait_while(known, waits).unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for SnapshotMaker {
    fn drop(&mut self) {
        self.growth.lock().ending = true;
        self.growth.grown.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has said by itself what went wrong.
            let _ = thread.join();
        }
    }
}

/// Follows the sequencer for a [`SnapshotMaker`]. It takes nothing of a record but its number.
#[derive(Debug)]
pub struct SnapshotFollower {
    growth: Arc<Growth>,
}

impl Follower for SnapshotFollower {
    fn wants(&self, _: RecordNumber, live: bool) -> bool {
        live
    }

    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(u64::MAX)
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        self.growth.notify(record.header.number);
        Ok(())
    }
}

/// The thread's own.
struct Work<'a> {
    options: SnapshotMakerOptions,
    growth: &'a Growth,
    state: State,
    reduction: Reduction,
    /// Which snapshots are known to be good, the newest last.
    held: Vec<RecordNumber>,
    records_since: u64,
    bytes_since: u64,
    /// Nothing is tried before; there where the store failed.
    again_at: Option<Instant>,
}

impl<'a> Work<'a> {
    fn new(options: SnapshotMakerOptions, growth: &'a Growth) -> Self {
        let state = State::new(options.partition);
        let reduction = Reduction::default();
        let held = Vec::new();
        Self { options, growth, state, reduction, held, records_since: 0, bytes_since: 0, again_at: None }
    }

    fn run(mut self) -> Result<(), String> {
        let waiting = RECORDS_WAITING.min(self.options.pace.records).max(1);
        let Some(mut durable) = self.growth.wait_for(RecordNumber(1)) else {
            return Ok(());
        };
        let mut reader = (self.options.readers)().map_err(|why| why.to_string())?;
        self.begin(reader.as_mut());
        loop {
            self.replay(reader.as_mut(), durable)?;
            if self.is_due() {
                match self.options.sharing {
                    Some(sharing) => self.make_in_turn(reader.as_mut(), sharing),
                    None => self.make()?,
                }
            }
            let number = self.state.head().number;
            self.growth.change(|known| known.proved = number);
            if self.growth.lock().ending {
                return Ok(());
            }
            if number < durable {
                continue;
            }
            match self.growth.wait_for(RecordNumber(number.0 + waiting)) {
                Some(grown) => durable = grown,
                None => return Ok(()),
            }
        }
    }

    /// From the newest snapshot that the journal bears out, or the first record.
    fn begin(&mut self, reader: &mut dyn Reader) {
        for snapshot in whole(self.options.store.as_ref(), self.options.partition) {
            let state = snapshot.restore().map_err(|why| why.to_string());
            match state.and_then(|state| confirm(reader, &snapshot).map(|()| state)) {
                Ok(state) => {
                    (self.state, self.held) = (state, vec![snapshot.number]);
                    return;
                }
                Err(why) => tracing::warn!("no snapshot is made from {}: {why}", snapshot.mark().who),
            }
        }
    }

    fn is_due(&self) -> bool {
        let SnapshotPace { records, bytes } = self.options.pace;
        let due = self.records_since >= records.max(1) || self.bytes_since >= bytes.max(1);
        due && self.again_at.is_none_or(|at| Instant::now() >= at)
    }

    /// Up to this record, or to the next snapshot.
    fn replay(&mut self, reader: &mut dyn Reader, durable: RecordNumber) -> Result<(), String> {
        let mut failed = Ok(());
        reader
            .read(self.state.head().number.next(), &mut |stored| {
                if stored.number > durable {
                    return Visit::Enough;
                }
                failed = RecordView::parse(stored.bytes).map_err(|why| why.to_string()).and_then(|view| {
                    reduce(&mut self.state, &view, &mut self.reduction).map_err(|halt| halt.to_string())
                });
                if let Err(why) = &mut failed {
                    *why = format!("record {} does not hold: {why}", stored.number);
                    return Visit::Enough;
                }
                self.records_since += 1;
                self.bytes_since += stored.bytes.len() as u64;
                let enough = stored.number == durable || self.is_due() || self.growth.lock().ending;
                if enough { Visit::Enough } else { Visit::Next }
            })
            .map_err(|why| why.to_string())?;
        failed?;
        let (number, ending) = (self.state.head().number, self.growth.lock().ending);
        if number < durable && !self.is_due() && !ending {
            return Err(format!("the journal was to go to record {durable}, it ends at record {number}"));
        }
        Ok(())
    }

    /// Writes a snapshot, reads it back, and goes on from what was read: the records that follow prove that too.
    fn make(&mut self) -> Result<(), String> {
        let (store, partition) = (self.options.store.as_ref(), self.options.partition);
        let number = self.state.head().number;
        let bytes = Snapshot::of(&self.state).to_bytes();
        store.put(partition, number, &bytes).map_err(|why| why.to_string())?;
        let read = store.get(partition, number).map_err(|why| why.to_string())?.unwrap_or_default();
        let state = Snapshot::parse(&read).and_then(|snapshot| snapshot.restore());
        let state = state.map_err(|why| why.to_string()).and_then(|state| {
            if read == bytes { Ok(state) } else { Err("other bytes were read than were written".to_owned()) }
        });
        match state {
            Ok(state) => self.state = state,
            Err(why) => {
                store.remove(partition, number).map_err(|why| why.to_string())?;
                return Err(format!("{} was not kept as it was written: {why}", called(partition, number)));
            }
        }
        tracing::info!(record = number.0, bytes = bytes.len(), "a snapshot was made");
        self.hold(number, 0);
        self.throw_away(number).map_err(|why| why.to_string())
    }

    /// One more is known to be good; so many records were replayed since.
    fn hold(&mut self, number: RecordNumber, records_since: u64) {
        (self.records_since, self.bytes_since) = (records_since, 0);
        self.held.push(number);
        if self.held.len() > SNAPSHOTS_KEPT {
            self.held.remove(0);
        }
    }

    /// Writes a snapshot, but where another process has made one meanwhile. A store that fails is tried again later: it is
    /// elsewhere, and may be away for a while.
    fn make_in_turn(&mut self, reader: &mut dyn Reader, sharing: Sharing) {
        self.again_at = None;
        if !self.growth.pause(sharing.draw()) {
            return;
        }
        let number = self.state.head().number;
        let made = match self.made_by_others(reader) {
            Ok(Some(other)) => {
                tracing::debug!(record = other.0, "another process made the snapshot");
                self.hold(other, number.0 - other.0);
                Ok(())
            }
            Ok(None) => self.make(),
            Err(why) => Err(why.to_string()),
        };
        if let Err(why) = made {
            tracing::warn!(record = number.0, why, "no snapshot was made; it is tried again later");
            self.again_at = Some(Instant::now() + sharing.again);
        }
    }

    /// The newest that another process made since the last one that is known here, if it is as good as one of our own: whole, of
    /// a record that the journal has here, and, where it is of the very record that this state is after, the same bytes.
    fn made_by_others(&self, reader: &mut dyn Reader) -> Result<Option<RecordNumber>, SnapshotStoreError> {
        let (store, partition) = (self.options.store.as_ref(), self.options.partition);
        let (here, known) = (self.state.head().number, self.held.last().copied().unwrap_or_default());
        for number in
            store.list(partition)?.into_iter().rev().filter(|number| (known.next()..=here).contains(number))
        {
            let Some(bytes) = store.get(partition, number)? else { continue };
            let good = Snapshot::parse(&bytes).map_err(|why| why.to_string()).and_then(|snapshot| {
                let state = snapshot.restore().map_err(|why| why.to_string())?;
                if (state.partition(), state.head().number) != (partition, number) {
                    return Err("it is kept under another's name".to_owned());
                }
                if number == here && snapshot != Snapshot::of(&self.state) {
                    return Err("the records come to another state here".to_owned());
                }
                confirm(reader, &snapshot)
            });
            match good {
                Ok(()) => return Ok(Some(number)),
                Err(why) => tracing::warn!("{} is not counted on: {why}", called(partition, number)),
            }
        }
        Ok(None)
    }

    /// Keeps those that held. One of a record that the journal does not have yet is not this thread's to forget.
    fn throw_away(&self, newest: RecordNumber) -> Result<(), SnapshotStoreError> {
        let (store, partition) = (self.options.store.as_ref(), self.options.partition);
        for number in store.list(partition)? {
            if number < newest && !self.held.contains(&number) {
                store.remove(partition, number)?;
            }
        }
        Ok(())
    }
}
