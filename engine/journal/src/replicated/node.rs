//! One process of an arena whose journal several share: it follows the records, and where it may, leads: it takes the lease,
//! announces itself, and appends until it is deposed. Then it follows again.

use super::{
    asker::Asker,
    backfill::backfill,
    following::Following,
    gateway::Gateway,
    keeper::{Kept, Leadership, Short, watch_end},
    lease::Lease,
    mirror::{Joined, Mirror, record_in},
    peers::{Peer, Peers},
    publisher::{Lagging, LocalCopy, Publisher},
    submitter::{self, Submitter},
};
use crate::{
    clock::Clock,
    jetstream::{JetStreamJournal, Nats},
    journal::{Journal, JournalError, Reader, Visit},
    sequencer::{Follower, Handle, Mover, Producer, Replica, Source, StartError, Stopped, replay},
    snapshot::{Snapshots, beginning},
    sqlite::SqliteJournal,
    vault::random,
};
use arena_schema::{
    id::{Era, Incarnation, Partition, RecordNumber},
    record::RecordView,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Before a journal that cannot be read is read again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a stop waits for what was submitted.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// How a process takes part.
pub struct NodeOptions {
    /// Where the journal lives.
    pub nats: Nats,
    /// Whose journal it is.
    pub partition: Partition,
    /// Which clock stamps the records that this process writes.
    pub clock: Clock,
    /// Where the local copy is kept; this process alone has it.
    pub data: PathBuf,
    /// Where its snapshots lie.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// Who follows.
    pub followers: Vec<Box<dyn Follower>>,
    /// Who follows what the local copy has.
    pub behind: Vec<Box<dyn Follower>>,
    /// Whether it may lead.
    pub may_lead: bool,
    /// As which gateway it submits, in all partitions; none where it is none.
    pub gateway: Option<Gateway>,
    /// The partitions that this process follows.
    pub peers: Peers,
    /// After how many bytes it closes an era where it leads: [`ERA_BYTES`](crate::ERA_BYTES), but in tests.
    pub era_bytes_max: u64,
}

/// A process that takes part.
pub struct Node {
    partition: Partition,
    handle: Handle,
    submitter: Option<Submitter>,
    asker: Asker,
    lagging: Option<Lagging>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), Stopped>>,
    #[cfg(test)]
    stiller: Option<Box<dyn Fn(bool) + Send + Sync>>,
}

impl Node {
    /// Replays the local copy and what the journal has beyond it, follows, and takes part. It blocks: call it off the event
    /// loop. A gateway has its number when this returns.
    ///
    /// # Errors
    /// [`StartError`], naming the record where the journal does not hold or lacks what this process remembers.
    pub fn start(options: NodeOptions) -> Result<Self, StartError> {
        let NodeOptions { nats, partition, clock, data, snapshots, behind, may_lead, gateway, peers, .. } =
            options;
        let (mut followers, era_bytes_max) = (options.followers, options.era_bytes_max);
        let runtime = nats.runtime().clone();
        let prepared = gateway.map(|gateway| {
            let (outcomes, prepared) = submitter::prepare(nats.client(), partition, gateway);
            followers.insert(0, Box::new(outcomes));
            prepared
        });
        if partition == Partition(0) {
            followers.push(Box::new(peers.watch()));
        }
        let mirror_at = mirror_path(&data, partition)?;
        let mut mirror = SqliteJournal::open(&mirror_at)?;
        let remembered = mirror.last()?;
        let mut journal =
            runtime.block_on(JetStreamJournal::open_newest(&nats, partition))?.with_era_bytes(era_bytes_max);
        check_remembered(&mirror_at, remembered, &mut journal)?;
        mirror = backfill(mirror, &mirror_at, &mut journal, snapshots.as_deref(), partition, &followers)?;
        followers.push(Box::new(Mirror::start(mirror, behind)?));
        let readers = || -> Result<Box<dyn Reader>, JournalError> {
            let mirror = SqliteJournal::open_reader(&mirror_at)?;
            Ok(Box::new(Joined { mirror, journal: journal.reader()? }))
        };
        let source = Source { name: journal.name(), readers: &readers };
        let beginning = beginning(&source, snapshots.as_deref(), partition, &followers);
        let state = replay(&source, beginning, &mut followers)?;
        peers.check_opened(&state).map_err(Stopped)?;
        let publisher = if may_lead {
            let copy = LocalCopy { mirror_at: mirror_at.clone(), snapshots };
            let (feed, publisher) = Publisher::start(&nats, &state, copy)?;
            followers.push(Box::new(feed));
            Some(publisher)
        } else {
            None
        };
        let lagging = publisher.as_ref().map(Publisher::lagging);
        #[cfg(test)]
        let stiller = publisher.as_ref().map(|publisher| Box::new(publisher.stiller()) as Box<_>);

        let replica = Replica::start(state, followers)?;
        let asker = Asker::start(&nats, partition, replica.position.clone());
        let handle = Handle::new(&replica, Mover::Asks(Box::new(asker.clone())));
        let peer = Peer::new(Arc::clone(&replica.state), replica.position.clone(), asker.clone());
        peers.join(partition, peer);
        let stopping = Arc::new(AtomicBool::new(false));
        let leadership = if may_lead {
            let incarnation = Incarnation(random());
            let lease = runtime.block_on(Lease::open(
                nats.jetstream(),
                nats.options().replicas,
                partition,
                incarnation,
            ));
            let lease = lease.map_err(|why| Stopped(why.to_string()))?;
            let kept = Kept {
                state: Arc::clone(&replica.state),
                stopped: Arc::clone(&replica.stopped),
                journal: journal.another(),
                mirror_at,
                short: Short::default(),
            };
            Some(Leadership::start(&runtime, lease, kept, incarnation))
        } else {
            None
        };
        runtime.spawn(watch_end(journal.another(), Arc::clone(&replica.state), Arc::clone(&replica.stopped)));
        let follower = Following {
            tail: journal.tail(),
            journal,
            replica,
            nats,
            partition,
            clock,
            leadership,
            publisher,
            peers,
            stopping: Arc::clone(&stopping),
            fed: RecordNumber(0),
        };
        let stopped = handle.stopped();
        let thread = thread::Builder::new()
            .name("arena-node".to_owned())
            .spawn(move || follower.live())
            .map_err(|why| Stopped(format!("a thread cannot be started: {why}")))?;
        let mut node = Self {
            partition,
            handle,
            submitter: None,
            asker,
            lagging,
            stopping,
            thread,
            #[cfg(test)]
            stiller,
        };
        if let Some(prepared) = prepared {
            match prepared.start(&runtime, stopped) {
                Ok(submitter) => node.submitter = Some(submitter),
                Err(why) => {
                    node.stop()?;
                    return Err(Stopped(why).into());
                }
            }
        }
        Ok(node)
    }

    /// Which partition it follows.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// To read the state.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// To ask the leader.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// To see how far the public events are behind; none where this process never leads.
    pub fn lagging(&self) -> Option<Lagging> {
        self.lagging.clone()
    }

    /// Has the public events stand still, or go on.
    #[cfg(test)]
    pub(crate) fn hold_events(&self, still: bool) {
        if let Some(stiller) = &self.stiller {
            stiller(still);
        }
    }

    /// To submit as this process's gateway; none where it is none.
    pub fn producer(&self) -> Option<Producer> {
        self.submitter.as_ref().map(Submitter::producer)
    }

    /// Submits nothing more, lets go of what it was home to, gives up the lead, and ends.
    ///
    /// # Errors
    /// [`Stopped`], where it had ended by itself before.
    pub fn stop(mut self) -> Result<(), Stopped> {
        self.stop_submitting();
        self.stopping.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| Stopped("a thread panicked".to_owned()))?
    }

    fn stop_submitting(&mut self) {
        if let Some(submitter) = self.submitter.take() {
            submitter.stop(STOP_WAIT);
        }
    }

    /// Stops all nodes of a process: none is a gateway any more where the first partition is told that the process ends.
    ///
    /// # Errors
    /// [`Stopped`] of the first that had ended by itself before.
    pub fn stop_all(mut nodes: Vec<Self>) -> Result<(), Stopped> {
        let (first, others): (Vec<_>, Vec<_>) =
            nodes.iter_mut().partition(|node| node.partition == Partition(0));
        for some in [others, first] {
            thread::scope(|scope| {
                for node in some {
                    scope.spawn(|| node.stop_submitting());
                }
            });
        }
        let panicked = |_| Err(Stopped("a thread panicked".to_owned()));
        thread::scope(|scope| {
            let stopping: Vec<_> = nodes.into_iter().map(|node| scope.spawn(|| node.stop())).collect();
            stopping
                .into_iter()
                .map(|stopping| stopping.join().unwrap_or_else(panicked))
                .fold(Ok(()), Result::and)
        })
    }
}

/// Where the local copy of a journal that is shared lies in a data folder: apart from where an embedded journal would.
pub fn mirror_in(data: &Path, partition: Partition) -> PathBuf {
    SqliteJournal::path_in(&data.join("mirror"), partition, Era(1))
}

/// The same, in a folder that is there.
fn mirror_path(data: &Path, partition: Partition) -> Result<PathBuf, StartError> {
    let path = mirror_in(data, partition);
    let folder = path.parent().unwrap_or(data);
    fs::create_dir_all(folder).map_err(|why| {
        StartError::Journal(JournalError::Store {
            journal: folder.display().to_string(),
            action: "made",
            why: why.to_string(),
        })
    })?;
    Ok(path)
}

/// What the local copy has, the journal must have.
fn check_remembered(
    mirror_at: &Path,
    last: RecordNumber,
    journal: &mut JetStreamJournal,
) -> Result<(), StartError> {
    if last == RecordNumber(0) {
        return Ok(());
    }
    let forgotten = |why: String| StartError::Forgotten { journal: journal_name(mirror_at), why };
    let Some(own) = record_in(mirror_at, last)? else {
        return Err(forgotten(format!("record {last} cannot be read in the local copy")));
    };
    let mut short = Short::default();
    let end = loop {
        let end = journal.last()?;
        if end >= last || short.lasts(true) {
            break end;
        }
        thread::sleep(PAUSE);
    };
    let name = journal.name();
    if end < last {
        return Err(StartError::Forgotten {
            journal: name,
            why: format!(
                "the local copy {} has record {last}, the stream ends at record {end}: it was cut short",
                mirror_at.display()
            ),
        });
    }
    let mut reader = journal.reader()?;
    // Where the copy ends just before what was not archived, the first record that is left names the copy's last.
    let follows = reader.first()? == last.next();
    let mut holds = false;
    reader.read(if follows { last.next() } else { last }, &mut |stored| {
        holds = if follows { goes_on_behind(stored.bytes, &own) } else { stored.bytes == own };
        Visit::Enough
    })?;
    if holds {
        return Ok(());
    }
    Err(StartError::Forgotten {
        journal: name,
        why: format!(
            "the local copy {} has another record {last}: it is of another journal",
            mirror_at.display()
        ),
    })
}

/// Whether the one record names the other as the one before it.
fn goes_on_behind(record: &[u8], before: &[u8]) -> bool {
    match (RecordView::parse(record), RecordView::parse(before)) {
        (Ok(record), Ok(before)) => record.header.previous == before.hash,
        _ => false,
    }
}

fn journal_name(path: &Path) -> String {
    path.display().to_string()
}
