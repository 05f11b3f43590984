//! The views as the rest of the process knows them: a cheap handle to read them by, and the followers that feed them. The reads
//! themselves stand with their projections.

use crate::{
    error::{Fault, ViewError, ViewsBehind},
    projector::Projector,
    readers::Readers,
    store::Store,
    thread::{CLOSED, Message, PANICKED, Pace, Progress, QUEUE_RECORDS_MAX, ViewFollower, Writer, lowest},
};
use arena_journal::{Follower, Texts};
use arena_schema::id::{MatchId, RecordNumber};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// How many notices of changes are kept for who listens slowly; beyond them it is told that it missed some.
pub const CHANGES_KEPT_MAX: usize = 1_024;
/// How many rows a list has at most, whatever is asked for.
pub const LIST_ROWS_MAX: u32 = 1_000;

/// Where the views lie.
#[derive(Debug, Clone)]
pub enum ViewsAt {
    /// In the folder `views` of this data folder, whose lock the caller holds; made where there is none.
    Data(PathBuf),
    /// In memory: gone with the process.
    Memory,
}

/// Reads the views. A clone is the same. Every read blocks for as long as SQLite takes: call it where a thread may wait.
#[derive(Clone)]
pub struct Views {
    shared: Arc<Shared>,
}

struct Shared {
    texts: Texts,
    readers: BTreeMap<&'static str, Arc<Readers>>,
    queue: mpsc::SyncSender<Message>,
    progress: watch::Receiver<Progress>,
    pace: Arc<Pace>,
    changed: broadcast::Sender<Arc<[MatchId]>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Views {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Views").field("checkpoint", &self.checkpoint()).finish_non_exhaustive()
    }
}

/// One who waits hurries the thread, while it does.
struct Waits<'a>(&'a Pace);

impl<'a> Waits<'a> {
    fn begin(pace: &'a Pace) -> Self {
        pace.hurry();
        Self(pace)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.relax();
    }
}

impl Views {
    /// Opens every view and starts their thread. The followers, one for each view, belong into the sequencer's
    /// [`StartOptions`](arena_journal::StartOptions): each brings its view's mark, so that a journal which lacks what a view has
    /// seen is refused by name.
    ///
    /// # Errors
    /// [`ViewError`]: the folder cannot be used. A file that is damaged or of another version is no error: it is built again.
    pub fn open(at: &ViewsAt, texts: Texts) -> Result<(Self, Vec<Box<dyn Follower>>), ViewError> {
        Self::open_with(at, texts, crate::projectors())
    }

    /// The same with these projections alone; the reads of the others answer [`ViewError::Absent`].
    ///
    /// # Errors
    /// As [`Views::open`].
    pub fn open_with(
        at: &ViewsAt,
        texts: Texts,
        projectors: Vec<Box<dyn Projector>>,
    ) -> Result<(Self, Vec<Box<dyn Follower>>), ViewError> {
        let stores = match at {
            ViewsAt::Memory => projectors.into_iter().map(Store::in_memory).collect::<Result<Vec<_>, _>>()?,
            ViewsAt::Data(data) => {
                let folder = data.join("views");
                fs::create_dir_all(&folder).map_err(|why| ViewError::File {
                    path: folder.clone(),
                    action: "made",
                    why,
                })?;
                let open = |projector| Store::in_folder(&folder, projector);
                projectors.into_iter().map(open).collect::<Result<Vec<_>, _>>()?
            }
        };
        let (queue, records) = mpsc::sync_channel(QUEUE_RECORDS_MAX);
        let (progress, seen) = watch::channel(Progress { reached: lowest(&stores), ended: None });
        let (changed, _) = broadcast::channel(CHANGES_KEPT_MAX);
        let readers = stores.iter().map(|store| (store.view(), store.readers())).collect();
        let followers = stores
            .iter()
            .enumerate()
            .map(|(view, store)| {
                let (after, mark) = (store.checkpoint().number, store.mark());
                let (queue, progress) = (queue.clone(), seen.clone());
                Box::new(ViewFollower { view, after, mark, queue, progress }) as Box<dyn Follower>
            })
            .collect();
        let pace = Arc::new(Pace::default());
        let writer =
            Writer { stores, queue: records, progress, pace: Arc::clone(&pace), changed: changed.clone() };
        let thread = thread::Builder::new()
            .name("arena-views".to_owned())
            .spawn(move || writer.run())
            .map_err(|why| ViewError::Stopped(format!("their thread cannot be started: {why}")))?;
        let thread = Mutex::new(Some(thread));
        let shared = Arc::new(Shared { texts, readers, queue, progress: seen, pace, changed, thread });
        Ok((Self { shared }, followers))
    }

    /// The last record that every view has.
    pub fn checkpoint(&self) -> RecordNumber {
        self.shared.progress.borrow().reached
    }

    /// Waits until every view has this record: a caller reads its own writes.
    ///
    /// # Errors
    /// [`ViewsBehind`]: not within `timeout`, or never.
    pub async fn wait_for(&self, record: RecordNumber, timeout: Duration) -> Result<(), ViewsBehind> {
        let mut progress = self.shared.progress.clone();
        if progress.borrow().reached >= record {
            return Ok(());
        }
        let _waits = Waits::begin(&self.shared.pace);
        let there = progress.wait_for(|progress| progress.reached >= record || progress.ended.is_some());
        let outcome = tokio::time::timeout(timeout, there).await.map(|seen| seen.map(|seen| seen.clone()));
        let late = |reached| ViewsBehind::Late { wanted: record, reached };
        let stopped = |why| ViewsBehind::Stopped { wanted: record, why };
        match outcome {
            Ok(Ok(progress)) if progress.reached >= record => Ok(()),
            Ok(Ok(progress)) => Err(stopped(progress.ended.unwrap_or_default())),
            Ok(Err(_)) => Err(stopped(PANICKED.to_owned())),
            Err(_) => Err(late(self.checkpoint())),
        }
    }

    /// Which matches show something new, told after each commit. Who is told of a lag asks for everything anew.
    pub fn changes(&self) -> broadcast::Receiver<Arc<[MatchId]>> {
        self.shared.changed.subscribe()
    }

    /// Why the views go no further; none while they do.
    pub fn stopped(&self) -> Option<String> {
        let ended = self.shared.progress.borrow().ended.clone();
        ended.or_else(|| self.shared.progress.has_changed().is_err().then(|| PANICKED.to_owned()))
    }

    /// Takes in what is queued and ends the thread; what is there can still be read. Belongs behind the sequencer's stop: a
    /// sequencer whose views are closed stops with that as its reason. Blocks.
    ///
    /// # Errors
    /// [`ViewError::Stopped`], where the views had stopped by themselves.
    pub fn close(&self) -> Result<(), ViewError> {
        let thread = self.shared.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            self.shared.pace.hurry();
            // Where the thread has ended, there is nobody left to close.
            let _ = self.shared.queue.send(Message::Close);
            thread.join().map_err(|_| ViewError::Stopped(PANICKED.to_owned()))?;
        }
        match self.stopped() {
            Some(why) if why != CLOSED => Err(ViewError::Stopped(why)),
            _ => Ok(()),
        }
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.shared.texts
    }

    /// Reads one state of one view.
    pub(crate) fn read<T>(
        &self,
        view: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, ViewError> {
        self.shared.readers.get(view).ok_or(ViewError::Absent { view })?.read(read)
    }
}
