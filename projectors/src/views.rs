//! The views as the rest of the process knows them: a cheap handle to read them by, and the followers that feed them. The reads
//! themselves stand with their projections.

use crate::{
    error::{Fault, ViewError, ViewsBehind},
    name::ViewName,
    partition::{FIRST, PartitionViews, open_stores},
    projector::Projector,
    thread::CLOSED,
};
use arena_journal::{Follower, Texts};
use arena_schema::id::{MatchId, Partition, RecordNumber};
use rusqlite::Connection;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::broadcast;

/// How many notices of changes are kept for who listens slowly; beyond them it is told that it missed some.
pub const CHANGES_KEPT_MAX: usize = 1_024;
/// How many rows a list has at most, whatever is asked for.
pub const LIST_ROWS_MAX: u32 = 1_000;

/// Where the views lie.
#[derive(Debug, Clone)]
pub enum ViewsAt {
    /// In the folder `views` of this data folder, whose lock the caller holds; made where there is none. Those of partition 0 are
    /// in it, those of partition p in its folder `p`.
    Data(PathBuf),
    /// In memory: gone with the process.
    Memory,
}

/// Those of one partition's views, one for each.
pub type Followers = Vec<Box<dyn Follower>>;

/// Reads the views. A clone is the same. Every read blocks for as long as SQLite takes: call it where a thread may wait.
#[derive(Clone)]
pub struct Views {
    shared: Arc<Shared>,
}

struct Shared {
    texts: Texts,
    /// Those of partition p at p.
    partitions: Vec<PartitionViews>,
    changed: broadcast::Sender<Arc<[MatchId]>>,
}

impl std::fmt::Debug for Views {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let checkpoints: Vec<_> = self.each_partition().map(PartitionViews::reached).collect();
        f.debug_struct("Views").field("checkpoints", &checkpoints).finish_non_exhaustive()
    }
}

impl Views {
    /// Opens every view of the partitions from 0 on, so many (at least partition 0), and starts their threads. The followers of
    /// partition p, one for each of its views, stand at p and belong into the
    /// [`StartOptions`](arena_journal::StartOptions) of its sequencer: each brings its view's mark, so that a journal which lacks
    /// what a view has seen is refused by name.
    ///
    /// # Errors
    /// [`ViewError`]: the folder cannot be used. A file that is damaged, of another version or of another partition is no error:
    /// it is built again.
    pub fn open(at: &ViewsAt, texts: Texts, partitions: u16) -> Result<(Self, Vec<Followers>), ViewError> {
        let projectors = (0..partitions.max(1)).map(|partition| crate::projectors(Partition(partition)));
        Self::open_with(at, texts, projectors.collect())
    }

    /// The same with these projections alone, those of partition p at p; the reads of the others answer [`ViewError::Absent`].
    ///
    /// # Errors
    /// As [`Views::open`].
    pub fn open_with(
        at: &ViewsAt,
        texts: Texts,
        projectors: Vec<Vec<Box<dyn Projector>>>,
    ) -> Result<(Self, Vec<Followers>), ViewError> {
        let (changed, _) = broadcast::channel(CHANGES_KEPT_MAX);
        // No thread is started before every file is known to be of use.
        let stores: Vec<_> = (0..)
            .map(Partition)
            .zip(projectors)
            .map(|(partition, projectors)| Ok((partition, open_stores(at, partition, projectors)?)))
            .collect::<Result<_, ViewError>>()?;
        let started: Vec<_> = stores
            .into_iter()
            .map(|(partition, stores)| PartitionViews::start(partition, stores, changed.clone()))
            .collect::<Result<_, _>>()?;
        let (partitions, followers) = started.into_iter().unzip();
        Ok((Self { shared: Arc::new(Shared { texts, partitions, changed }) }, followers))
    }

    /// How many partitions these are the views of, from partition 0 on.
    pub fn partitions(&self) -> u16 {
        self.shared.partitions.len() as u16
    }

    /// The last record of a partition that every view of it has; 0 where it is none of these.
    pub fn checkpoint(&self, partition: Partition) -> RecordNumber {
        self.of(partition).map(PartitionViews::reached).unwrap_or_default()
    }

    /// Waits until every view of a partition has this record of it: a caller reads its own writes.
    ///
    /// # Errors
    /// [`ViewsBehind`]: not within `timeout`, or never.
    pub async fn wait_for(
        &self,
        partition: Partition,
        record: RecordNumber,
        timeout: Duration,
    ) -> Result<(), ViewsBehind> {
        match self.of(partition) {
            Some(views) => views.wait_for(record, timeout).await,
            None => {
                let why = "there are none in this process".to_owned();
                Err(ViewsBehind::Stopped { partition, wanted: record, why })
            }
        }
    }

    /// Which matches show something new, of whichever partition, told after each commit. Who is told of a lag asks for everything
    /// anew.
    pub fn changes(&self) -> broadcast::Receiver<Arc<[MatchId]>> {
        self.shared.changed.subscribe()
    }

    /// Why the views of some partition go no further; none while all do. What went wrong goes before an orderly end.
    pub fn stopped(&self) -> Option<String> {
        self.each_partition().filter_map(PartitionViews::stopped).max_by_key(|why| why != CLOSED)
    }

    /// Takes in what is queued and ends the threads; what is there can still be read. Belongs behind the stop of every sequencer:
    /// one whose views are closed stops with that as its reason. Blocks.
    ///
    /// # Errors
    /// [`ViewError::Stopped`], where the views of some partition had stopped by themselves. The others are closed all the same.
    pub fn close(&self) -> Result<(), ViewError> {
        let closed: Vec<_> = self.each_partition().map(PartitionViews::close).collect();
        closed.into_iter().collect()
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.shared.texts
    }

    pub(crate) fn each_partition(&self) -> impl Iterator<Item = &PartitionViews> {
        self.shared.partitions.iter()
    }

    /// The views of this partition, where they are here.
    pub(crate) fn of(&self, partition: Partition) -> Option<&PartitionViews> {
        self.shared.partitions.get(usize::from(partition.0))
    }

    /// Reads one state of a view that partition 0 alone has.
    pub(crate) fn read<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, ViewError> {
        let view = ViewName { name, partition: FIRST };
        self.of(FIRST).ok_or(ViewError::Absent { view })?.read(name, read)
    }
}
