//! Where a process has its snapshots, and whether it makes any: files beside an embedded journal, the object store that all share
//! where the journal is on NATS. What never belongs here: what a snapshot is.

use crate::{place::Place, settings::Role};
use anyhow::Result;
use arena_journal::{
    FolderSnapshots, Nats, ObjectSnapshots, Sharing, SnapshotMaker, SnapshotMakerOptions, SnapshotPace,
    Snapshots, SqliteJournal, replicated::mirror_in,
};
use arena_schema::id::{Era, Partition};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where a process begins from, and what makes more of each partition; none where there are none yet, or none are made here.
type Open = (Option<Arc<dyn Snapshots>>, Vec<Option<SnapshotMaker>>);

/// Opens the store, and begins to make snapshots of each partition where that is this process's.
///
/// # Errors
/// As [`store`].
pub(crate) fn open(place: &Place, folder: &Path) -> impl Future<Output = Result<Open>> + use<> {
    let makes: Vec<_> = (0..place.partitions()).map(|p| making(place, folder, Partition(p))).collect();
    let store = store(place, folder);
    async move {
        let store = store.await?;
        let start = |making: Option<Making>| {
            store.as_ref().zip(making).and_then(|(store, making)| making.start(store))
        };
        let makers = makes.into_iter().map(start).collect();
        Ok((store, makers))
    }
}

/// Where this process has them, of all partitions; none where there are none yet and others make them.
///
/// # Errors
/// The store on NATS is not set up as it must be, or does not answer.
fn store(place: &Place, folder: &Path) -> impl Future<Output = Result<Option<Arc<dyn Snapshots>>>> + use<> {
    let shared = match place {
        Place::Own(_) => None,
        Place::Shared { nats, role, .. } => Some((nats.clone(), *role)),
    };
    let own = FolderSnapshots::in_data(folder);
    async move {
        let store: Arc<dyn Snapshots> = match shared {
            None => Arc::new(own),
            Some((nats, Role::Gateway)) => return Ok(find(&nats).await),
            Some((nats, Role::All | Role::Engine)) => Arc::new(ObjectSnapshots::open(&nats).await?),
        };
        Ok(Some(store))
    }
}

/// A gateway only reads, and its account may do no more: it neither makes the store nor checks it.
async fn find(nats: &Nats) -> Option<Arc<dyn Snapshots>> {
    let found = ObjectSnapshots::find(nats).await.unwrap_or_else(|why| {
        tracing::warn!(%why, "no snapshot is begun from");
        None
    });
    found.map(|store| Arc::new(store) as Arc<dyn Snapshots>)
}

/// What a maker works on.
struct Making {
    partition: Partition,
    records: PathBuf,
    sharing: Option<Sharing>,
}

/// None where this process makes none: a gateway.
fn making(place: &Place, folder: &Path, partition: Partition) -> Option<Making> {
    let (records, sharing) = match place {
        Place::Shared { role: Role::Gateway, .. } => return None,
        Place::Shared { data, .. } => (mirror_in(data, partition), Some(Sharing::default())),
        Place::Own(_) => (SqliteJournal::path_in(folder, partition, Era(1)), None),
    };
    Some(Making { partition, records, sharing })
}

impl Making {
    /// Begins. Without snapshots a start takes longer, no more; only where eras were archived it needs one.
    fn start(self, store: &Arc<dyn Snapshots>) -> Option<SnapshotMaker> {
        let Self { partition, records, sharing } = self;
        let options = SnapshotMakerOptions {
            partition,
            store: Arc::clone(store),
            readers: Box::new(move || SqliteJournal::open_reader(&records)),
            pace: SnapshotPace::default(),
            sharing,
        };
        SnapshotMaker::start(options)
            .inspect_err(|why| tracing::warn!(%why, "no snapshots are made: their thread cannot be started"))
            .ok()
    }
}
