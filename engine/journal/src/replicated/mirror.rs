//! The local copy of a journal that several processes share: every record that this process followed, byte for byte, in a
//! SQLite file of its own. The process starts from there, backs up from there, and a shortened stream is mended from there.

use crate::{
    journal::{Journal, JournalError, Reader, StoredRecord, Visit},
    sequencer::{Followed, Follower},
    sqlite::{CopiedRow, SqliteJournal},
};
use arena_schema::{id::RecordNumber, record::RecordView};
use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, SyncSender},
    },
    thread::{self, JoinHandle},
};

/// How many records may wait to be written; beyond it the process follows no faster than its disk.
const WAITING_MAX: usize = 1_024;
/// How many of them are made durable at once.
const TOGETHER_MAX: usize = 256;

/// Writes the mirror, on a thread of its own.
pub(crate) struct Mirror {
    records: Option<SyncSender<Arc<Followed>>>,
    thread: Option<JoinHandle<()>>,
    failed: Arc<Mutex<Option<String>>>,
    last: RecordNumber,
}

impl Mirror {
    /// Over this file, which nobody else writes. `behind` follow what it has made durable.
    ///
    /// # Errors
    /// [`JournalError`].
    pub(crate) fn start(
        mut journal: SqliteJournal,
        mut behind: Vec<Box<dyn Follower>>,
    ) -> Result<Self, JournalError> {
        let last = journal.last()?;
        let name = journal.name();
        let failed = Arc::new(Mutex::new(None));
        let (records, waiting) = mpsc::sync_channel::<Arc<Followed>>(WAITING_MAX);
        let said = Arc::clone(&failed);
        let thread = thread::Builder::new()
            .name("arena-mirror".to_owned())
            .spawn(move || {
                while let Ok(first) = waiting.recv() {
                    let mut together = vec![first];
                    together.extend(waiting.try_iter().take(TOGETHER_MAX - 1));
                    let rows: Vec<CopiedRow<'_>> = together.iter().map(CopiedRow::from).collect();
                    let kept = journal.append_copied(&rows).map_err(|why| why.to_string());
                    let told = kept.and_then(|()| {
                        together.iter().try_for_each(|record| {
                            let mut wanting = behind
                                .iter_mut()
                                .filter(|follower| follower.wants(record.header.number, record.live));
                            wanting.try_for_each(|follower| follower.follow(record))
                        })
                    });
                    if let Err(why) = told {
                        *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                        return;
                    }
                }
            })
            .map_err(|why| JournalError::Store { journal: name, action: "written", why: why.to_string() })?;
        Ok(Self { records: Some(records), thread: Some(thread), failed, last })
    }
}

impl Follower for Mirror {
    fn resumes_after(&self) -> RecordNumber {
        self.last
    }

    fn wants(&self, number: RecordNumber, _: bool) -> bool {
        number > self.last
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        self.last = record.header.number;
        let sent = self.records.as_ref().map(|records| records.send(Arc::clone(record)));
        if matches!(sent, Some(Ok(()))) {
            return Ok(());
        }
        let why = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Err(format!("the local copy of the journal cannot be written: {}", why.unwrap_or_default()))
    }
}

impl Drop for Mirror {
    /// What was followed is durable when this returns.
    fn drop(&mut self) {
        self.records.take();
        if let Some(thread) = self.thread.take() {
            // A panic there was a failure, and said so.
            let _ = thread.join();
        }
    }
}

/// A journal read from its local copy first and from where it lives after that.
pub(crate) struct Joined {
    pub(crate) mirror: Box<dyn Reader>,
    pub(crate) journal: Box<dyn Reader>,
}

impl Reader for Joined {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        let mut next = from;
        let mut enough = false;
        self.mirror.read(from, &mut |stored| {
            next = stored.number.next();
            let went = visit(stored);
            enough = went == Visit::Enough;
            went
        })?;
        if enough { Ok(()) } else { self.journal.read(next, visit) }
    }

    fn first(&mut self) -> Result<RecordNumber, JournalError> {
        match self.mirror.last()? {
            Some(last) if last > RecordNumber(0) => self.mirror.first(),
            _ => self.journal.first(),
        }
    }
}

/// The record of this number in a mirror's file, as its bytes.
pub(crate) fn record_in(path: &Path, number: RecordNumber) -> Result<Option<Vec<u8>>, JournalError> {
    let mut found = None;
    SqliteJournal::open_reader(path)?.read(number, &mut |stored| {
        found = (stored.number == number).then(|| stored.bytes.to_vec());
        Visit::Enough
    })?;
    Ok(found)
}

/// Whether a journal has this very record. Where it is the last of an era that was archived, the first behind it names its hash.
pub(crate) fn has_record(
    journal: &mut dyn Reader,
    number: RecordNumber,
    bytes: &[u8],
) -> Result<bool, JournalError> {
    let archived = journal.first()? == number.next();
    let mut has = false;
    journal.read(if archived { number.next() } else { number }, &mut |stored| {
        has = if archived {
            let hashes = (RecordView::parse(stored.bytes), RecordView::parse(bytes));
            matches!(hashes, (Ok(next), Ok(own)) if next.header.previous == own.hash)
        } else {
            stored.bytes == bytes
        };
        Visit::Enough
    })?;
    Ok(has)
}
