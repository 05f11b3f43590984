//! The views of one partition: who reads them, the thread that writes them, and how far they are. What never belongs here: another
//! partition, or what a read answers.

use crate::{
    error::{Fault, ViewError, ViewsBehind},
    name::{OfPartition, ViewName},
    projector::Projector,
    readers::Readers,
    store::{Projection, Store},
    thread::{CLOSED, Message, PANICKED, Pace, Progress, QUEUE_RECORDS_MAX, ViewFollower, Writer, lowest},
    views::{Followers, ViewsAt},
};
use arena_journal::Follower;
use arena_schema::id::{MatchId, Partition, RecordNumber};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// The partition that has the registry: the agents and the ratings are folded from its records alone.
pub(crate) const FIRST: Partition = Partition(0);

/// Where the views of a partition lie in a data folder.
pub(crate) fn folder(data: &Path, partition: Partition) -> PathBuf {
    let views = data.join("views");
    if partition == FIRST { views } else { views.join(partition.0.to_string()) }
}

/// Opens the stores of a partition's views, in their order.
pub(crate) fn open_stores(
    at: &ViewsAt,
    partition: Partition,
    projectors: Vec<Box<dyn Projector>>,
) -> Result<Vec<Store>, ViewError> {
    let projections = projectors.into_iter().map(|projector| Projection { partition, projector });
    match at {
        ViewsAt::Memory => projections.map(Store::in_memory).collect(),
        ViewsAt::Data(data) => {
            let folder = folder(data, partition);
            fs::create_dir_all(&folder).map_err(|why| ViewError::File {
                path: folder.clone(),
                action: "made",
                why,
            })?;
            projections.map(|projection| Store::in_folder(&folder, projection)).collect()
        }
    }
}

/// The handle of one partition's views.
pub(crate) struct PartitionViews {
    partition: Partition,
    readers: BTreeMap<&'static str, Arc<Readers>>,
    queue: mpsc::SyncSender<Message>,
    progress: watch::Receiver<Progress>,
    pace: Arc<Pace>,
    thread: Mutex<Option<JoinHandle<()>>>,
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

impl PartitionViews {
    /// Starts the thread that writes these stores, and says in `changed` what it wrote. The followers, one for each store, feed it.
    ///
    /// # Errors
    /// [`ViewError::Stopped`]: there is no thread to be had.
    pub(crate) fn start(
        partition: Partition,
        stores: Vec<Store>,
        changed: broadcast::Sender<Arc<[MatchId]>>,
    ) -> Result<(Self, Followers), ViewError> {
        let (queue, records) = mpsc::sync_channel(QUEUE_RECORDS_MAX);
        let (progress, seen) = watch::channel(Progress { reached: lowest(&stores), ended: None });
        let readers = stores.iter().map(|store| (store.view().name, store.readers())).collect();
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
        let writer = Writer { stores, queue: records, progress, pace: Arc::clone(&pace), changed };
        let name = match partition {
            FIRST => "arena-views".to_owned(),
            Partition(partition) => format!("arena-views-{partition}"),
        };
        let thread = thread::Builder::new()
            .name(name)
            .spawn(move || writer.run())
            .map_err(|why| ViewError::Stopped(format!("their thread cannot be started: {why}")))?;
        let thread = Mutex::new(Some(thread));
        Ok((Self { partition, readers, queue, progress: seen, pace, thread }, followers))
    }

    /// The checkpoint of the view that is furthest behind.
    pub(crate) fn reached(&self) -> RecordNumber {
        self.progress.borrow().reached
    }

    pub(crate) async fn wait_for(&self, record: RecordNumber, timeout: Duration) -> Result<(), ViewsBehind> {
        let mut progress = self.progress.clone();
        if progress.borrow().reached >= record {
            return Ok(());
        }
        let _waits = Waits::begin(&self.pace);
        let there = progress.wait_for(|progress| progress.reached >= record || progress.ended.is_some());
        let outcome = tokio::time::timeout(timeout, there).await.map(|seen| seen.map(|seen| seen.clone()));
        let partition = self.partition;
        let late = |reached| ViewsBehind::Late { partition, wanted: record, reached };
        let stopped = |why| ViewsBehind::Stopped { partition, wanted: record, why };
        match outcome {
            Ok(Ok(progress)) if progress.reached >= record => Ok(()),
            Ok(Ok(progress)) => Err(stopped(progress.ended.unwrap_or_default())),
            Ok(Err(_)) => Err(stopped(PANICKED.to_owned())),
            Err(_) => Err(late(self.reached())),
        }
    }

    /// Why these views go no further; none while they do.
    pub(crate) fn stopped(&self) -> Option<String> {
        // Asked first: a thread that ends in between has said why before it is gone.
        let gone = self.progress.has_changed().is_err();
        let ended = self.progress.borrow().ended.clone();
        let panicked = || format!("the thread of the views{} panicked", OfPartition(self.partition));
        ended.or_else(|| gone.then(panicked))
    }

    /// Takes in what is queued and ends the thread. Blocks.
    ///
    /// # Errors
    /// [`ViewError::Stopped`], where the views had stopped by themselves.
    pub(crate) fn close(&self) -> Result<(), ViewError> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            self.pace.hurry();
            // Where the thread has ended, there is nobody left to close.
            let _ = self.queue.send(Message::Close);
            thread.join().map_err(|_| ViewError::Stopped(PANICKED.to_owned()))?;
        }
        match self.stopped() {
            Some(why) if why != CLOSED => Err(ViewError::Stopped(why)),
            _ => Ok(()),
        }
    }

    /// Reads one state of one view.
    pub(crate) fn read<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, ViewError> {
        let view = ViewName { name, partition: self.partition };
        self.readers.get(name).ok_or(ViewError::Absent { view })?.read(read)
    }
}
