//! One process of an arena whose journal several share: it follows the records, and where it may, leads: it takes the lease,
//! announces itself, and appends until it is deposed. Then it follows again.

use super::{
    lease::{Held, LOOK, LeadMark, Lease, LeaseError, MARGIN, RENEWAL},
    leaving::Leaving,
    mirror::{Joined, Mirror, record_in},
    publisher::{Lagging, LocalCopy, Publisher},
    service::Service,
    space::watch_space,
    submitter::{self, Submitter, ask},
    wire::{Reply, Request},
};
use crate::{
    clock::Clock,
    jetstream::{JetStreamJournal, Nats, OwnedRecord, Tail},
    journal::{Journal, JournalError, Reader, Visit},
    sequencer::{
        Durable, End, Follower, Handle, Lead, LeadOptions, Mover, Producer, Replica, Source, StartError,
        Stopped, end, replay,
    },
    snapshot::{Snapshots, beginning},
    space::Space,
    sqlite::SqliteJournal,
    texts::decode_texts,
    vault::random,
};
use arena_engine::State;
use arena_schema::{
    Hash,
    id::{Era, Incarnation, Partition, RecordNumber},
    record::RecordView,
    subject,
};
use bytes::Bytes;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot, watch};

/// How long a record is waited for before the other duties are looked at.
const STEP: Duration = Duration::from_millis(20);
/// Before a journal that cannot be read is read again.
const PAUSE: Duration = Duration::from_millis(200);
/// How many readers one question serves.
const READERS_MAX: usize = 65_536;
/// How often it is looked whether the journal still has what this process followed.
const END_LOOK: Duration = Duration::from_secs(1);
/// How long it must lack that before it is believed.
const SHORT_FOR: Duration = Duration::from_secs(4);
/// How long the leader is waited for that is to move its clock.
const ADVANCE_WAIT: Duration = Duration::from_secs(5);
/// How long an orderly end of the lead waits for the public events before it.
const EVENTS_WAIT: Duration = Duration::from_secs(1);

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
    pub snapshots: Option<Box<dyn Snapshots>>,
    /// Who follows.
    pub followers: Vec<Box<dyn Follower>>,
    /// Who follows what the local copy has.
    pub behind: Vec<Box<dyn Follower>>,
    /// Whether it may lead.
    pub may_lead: bool,
    /// Whether it submits: a gateway.
    pub submits: bool,
    /// After how many bytes it closes an era where it leads: [`ERA_BYTES`](crate::ERA_BYTES), but in tests.
    pub era_bytes_max: u64,
}

/// A process that takes part.
pub struct Node {
    handle: Handle,
    submitter: Option<Submitter>,
    asker: Asker,
    lagging: Option<Lagging>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), Stopped>>,
    #[cfg(test)]
    stiller: Option<Box<dyn Fn(bool) + Send + Sync>>,
}

/// Asks the leader. A clone asks with it.
#[derive(Clone)]
pub struct Asker {
    nats: Nats,
    partition: Partition,
    positions: watch::Receiver<RecordNumber>,
    readers: mpsc::UnboundedSender<oneshot::Sender<RecordNumber>>,
}

impl Asker {
    fn start(nats: &Nats, partition: Partition, positions: watch::Receiver<RecordNumber>) -> Self {
        let (readers, waiting) = mpsc::unbounded_channel();
        nats.runtime().spawn(ask_positions(nats.client().clone(), partition, waiting));
        Self { nats: nats.clone(), partition, positions, readers }
    }

    /// Waits until this process has what any caller wrote before, through whichever process; false where that takes longer.
    pub async fn caught_up(&self, wait: Duration) -> bool {
        let there = async {
            let (reader, answer) = oneshot::channel();
            self.readers.send(reader).ok()?;
            let record = answer.await.ok()?;
            self.positions.clone().wait_for(|position| *position >= record).await.ok().map(|_| ())
        };
        matches!(tokio::time::timeout(wait, there).await, Ok(Some(())))
    }

    /// Moves the leader's clock, where it stands still.
    pub(crate) async fn advance(&self, micros: u64) -> Result<(), Stopped> {
        let request = Bytes::from(Request::Advance { micros }.encode());
        let subject = subject::submit(self.partition);
        match ask(self.nats.client(), subject, request, ADVANCE_WAIT).await {
            Some(Reply::Done) => Ok(()),
            other => Err(Stopped(format!("the leader did not move its clock: {other:?}"))),
        }
    }
}

/// Asks how far the journal may have been seen by anyone, once for all who wait: whoever comes while a question is under way
/// waits for the next, since the answer to this one may be older than what they have to see.
async fn ask_positions(
    client: async_nats::Client,
    partition: Partition,
    mut waiting: mpsc::UnboundedReceiver<oneshot::Sender<RecordNumber>>,
) {
    let request = Bytes::from(Request::Position.encode());
    let subject = subject::position(partition);
    let mut readers = Vec::new();
    while waiting.recv_many(&mut readers, READERS_MAX).await > 0 {
        let record = loop {
            readers.retain(|reader| !reader.is_closed());
            if readers.is_empty() {
                break RecordNumber(0);
            }
            // An answer that is older than the margin may be a deposed leader's.
            match ask(&client, subject.clone(), request.clone(), MARGIN).await {
                Some(Reply::Position { record }) => break record,
                Some(_) | None => tokio::time::sleep(STEP).await,
            }
        };
        for reader in readers.drain(..) {
            // Who no longer waits has given up.
            let _ = reader.send(record);
        }
    }
}

impl Node {
    /// Replays the local copy and what the journal has beyond it, follows, and takes part. It blocks: call it off the event
    /// loop. A gateway has its number when this returns.
    ///
    /// # Errors
    /// [`StartError`], naming the record where the journal does not hold or lacks what this process remembers.
    pub fn start(options: NodeOptions) -> Result<Self, StartError> {
        let NodeOptions { nats, partition, clock, data, snapshots, behind, may_lead, submits, .. } = options;
        let (mut followers, era_bytes_max) = (options.followers, options.era_bytes_max);
        let runtime = nats.runtime().clone();
        let space = Space::default();
        let (outcomes, prepared) = submitter::prepare(nats.client(), partition, space.clone());
        if submits {
            followers.insert(0, Box::new(outcomes));
        }
        let mirror_at = mirror_path(&data, partition)?;
        let mut mirror = SqliteJournal::open(&mirror_at)?;
        let remembered = mirror.last()?;
        let mut journal =
            runtime.block_on(JetStreamJournal::open_newest(&nats, partition))?.with_era_bytes(era_bytes_max);
        check_remembered(&mirror_at, remembered, &mut journal)?;
        followers.push(Box::new(Mirror::start(mirror, behind)?));
        let readers = || -> Result<Box<dyn Reader>, JournalError> {
            let mirror = SqliteJournal::open_reader(&mirror_at)?;
            Ok(Box::new(Joined { mirror, journal: journal.reader()? }))
        };
        let source = Source { name: journal.name(), readers: &readers };
        let beginning = beginning(&source, snapshots.as_deref(), partition, &followers);
        let state = replay(&source, beginning, &mut followers)?;
        let publisher = if may_lead {
            let copy = LocalCopy { mirror_at: mirror_at.clone(), snapshots: snapshots.map(Arc::from) };
            let (feed, publisher) = Publisher::start(&nats, &state, copy)?;
            followers.push(Box::new(feed));
            Some(publisher)
        } else {
            None
        };
        let lagging = publisher.as_ref().map(Publisher::lagging);
        #[cfg(test)]
        let stiller = publisher.as_ref().map(|publisher| Box::new(publisher.stiller()) as Box<_>);

        let replica = Replica::start(state, followers)?.with_space(space.clone());
        let asker = Asker::start(&nats, partition, replica.position.clone());
        let handle = Handle::new(&replica, Mover::Asks(Box::new(asker.clone())));
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
        runtime.spawn(watch_space(journal.another(), space, replica.stopped.subscribe()));
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
            stopping: Arc::clone(&stopping),
            fed: RecordNumber(0),
        };
        let stopped = handle.stopped();
        let thread = thread::Builder::new()
            .name("arena-node".to_owned())
            .spawn(move || follower.live())
            .map_err(|why| Stopped(format!("a thread cannot be started: {why}")))?;
        let mut node = Self {
            handle,
            submitter: None,
            asker,
            lagging,
            stopping,
            thread,
            #[cfg(test)]
            stiller,
        };
        if submits {
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

    /// Says that this process is about to stop, as soon as that is known: a leader that stops too waits for what comes from here.
    pub fn will_stop(&self) {
        if let Some(submitter) = &self.submitter {
            submitter.will_stop();
        }
    }

    /// Submits nothing more, lets go of what it was home to, gives up the lead, and ends.
    ///
    /// # Errors
    /// [`Stopped`], where it had ended by itself before.
    pub fn stop(self) -> Result<(), Stopped> {
        if let Some(submitter) = self.submitter {
            submitter.stop();
        }
        self.stopping.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| Stopped("a thread panicked".to_owned()))?
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
    let mut theirs = None;
    journal.reader()?.read(last, &mut |stored| {
        theirs = Some(stored.bytes.to_vec());
        Visit::Enough
    })?;
    if theirs.as_deref() == Some(&own[..]) {
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

fn journal_name(path: &Path) -> String {
    path.display().to_string()
}

/// What the keeper of the lease knows of the journal.
struct Kept {
    state: Arc<RwLock<State>>,
    stopped: Arc<watch::Sender<Option<String>>>,
    journal: JetStreamJournal,
    mirror_at: PathBuf,
    short: Short,
}

impl Kept {
    fn mark(&self) -> LeadMark {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let head = state.head();
        LeadMark { number: head.number, hash: head.hash, epoch: head.epoch }
    }
}

/// The lease as the node's thread sees it.
struct Leadership {
    incarnation: Incarnation,
    /// Whether this process may lead, and until when.
    holds: watch::Receiver<Option<Held>>,
    /// The last term whose lead is given up.
    resigned: watch::Sender<u64>,
    /// Ends the keeper.
    end: watch::Sender<bool>,
    keeper: tokio::task::JoinHandle<()>,
    runtime: tokio::runtime::Handle,
}

impl Leadership {
    fn start(runtime: &tokio::runtime::Handle, lease: Lease, kept: Kept, incarnation: Incarnation) -> Self {
        let (shown, holds) = watch::channel(None);
        let (resigned, resigning) = watch::channel(0);
        let (end, ending) = watch::channel(false);
        let keeper = runtime.spawn(keep(lease, kept, shown, resigning, ending));
        Self { incarnation, holds, resigned, end, keeper, runtime: runtime.clone() }
    }

    /// The term in which this process leads now.
    fn term(&self) -> Option<u64> {
        self.holds.borrow().filter(|held| !held.is_over()).map(|held| held.term)
    }

    fn stop(self) {
        self.end.send_replace(true);
        // It ends by itself then, and a panic in it is no reason not to.
        let _ = self.runtime.block_on(self.keeper);
    }
}

/// Keeps the lease: takes it when it is free and this process has what its last holder knew, renews it, gives it up.
async fn keep(
    mut lease: Lease,
    mut kept: Kept,
    shown: watch::Sender<Option<Held>>,
    mut resigned: watch::Receiver<u64>,
    mut ending: watch::Receiver<bool>,
) {
    // After it gave up the lead another comes first, if there is one.
    let mut takes_from = Instant::now();
    loop {
        let kept_or_taken = if lease.held().is_some() {
            lease.hold(kept.mark()).await.map(|_| ())
        } else {
            // Whoever led in the last term sees that it is over before there is another.
            shown.send_replace(None);
            take(&mut lease, &mut kept, takes_from).await
        };
        if let Err(why) = kept_or_taken {
            tracing::warn!(%why, "the lead's lease");
        }
        let held = lease.held();
        shown.send_replace(held);
        let term = held.map_or(u64::MAX, |held| held.term);
        let ends = tokio::select! {
            biased;
            // Where nobody can say it any more, the process ends too.
            _ = ending.wait_for(|ending| *ending) => true,
            Ok(_) = resigned.wait_for(|resigned| *resigned >= term) => false,
            () = tokio::time::sleep(if held.is_some() { RENEWAL } else { LOOK }) => continue,
        };
        shown.send_replace(None);
        if held.is_some()
            && let Err(why) = lease.give_up(kept.mark()).await
        {
            tracing::warn!(%why, "the lead's lease ends by itself");
        }
        if ends {
            return;
        }
        takes_from = Instant::now() + 2 * RENEWAL;
    }
}

async fn take(lease: &mut Lease, kept: &mut Kept, from: Instant) -> Result<(), LeaseError> {
    let holder = lease.look().await?;
    if !lease.is_free() || Instant::now() < from || kept.stopped.borrow().is_some() {
        return Ok(());
    }
    if let Some(holder) = holder {
        match remembers(kept, holder.mark).await {
            Ok(true) => {}
            // The records are on their way.
            Ok(false) => return Ok(()),
            Err(why) => {
                tracing::error!(why, "this process refuses to lead");
                end(why, &kept.stopped);
                return Ok(());
            }
        }
    }
    let mark = kept.mark();
    lease.hold(mark).await.map(|_| ())
}

/// Whether this process has the record that the last leader knew to be stored.
async fn remembers(kept: &mut Kept, mark: LeadMark) -> Result<bool, String> {
    if mark.number == RecordNumber(0) {
        return Ok(true);
    }
    let own = kept.mark();
    let name = kept.journal.name();
    let other = |hash: Hash| {
        format!(
            "the journal {name} is refused: its last leader knew record {} with the hash {}, it has it with the hash {hash}",
            mark.number, mark.hash
        )
    };
    if own.number == mark.number {
        return if own.hash == mark.hash { Ok(true) } else { Err(other(own.hash)) };
    }
    if own.number > mark.number {
        // The mirror may be a moment behind the state.
        let Ok(Some(bytes)) = record_in(&kept.mirror_at, mark.number) else { return Ok(false) };
        let hash = RecordView::parse(&bytes).map_err(|why| why.to_string())?.hash;
        return if hash == mark.hash { Ok(true) } else { Err(other(hash)) };
    }
    match kept.journal.end().await {
        Ok(last) if kept.short.lasts(last < mark.number) => Err(format!(
            "the journal {} is refused: its last leader knew record {} (hash {}), the stream ends at record {last}: it was \
             cut short",
            kept.journal.name(),
            mark.number,
            mark.hash
        )),
        _ => Ok(false),
    }
}

/// How long a journal was seen to lack what this process knows to be stored. A server that leads the stream no more may say
/// for a moment that it ends earlier; one that was cut short says so for good.
#[derive(Default)]
struct Short(Option<Instant>);

impl Short {
    /// Whether it is so now and has been for long enough.
    fn lasts(&mut self, short: bool) -> bool {
        if short {
            self.0.get_or_insert_with(Instant::now).elapsed() >= SHORT_FOR
        } else {
            self.0 = None;
            false
        }
    }
}

/// Ends this process where the journal loses what it has followed.
async fn watch_end(
    mut journal: JetStreamJournal,
    state: Arc<RwLock<State>>,
    stopped: Arc<watch::Sender<Option<String>>>,
) {
    let mut short = Short::default();
    let mut ended = stopped.subscribe();
    loop {
        if tokio::time::timeout(END_LOOK, ended.wait_for(Option::is_some)).await.is_ok() {
            return;
        }
        let (own, hash) = {
            let state = state.read().unwrap_or_else(PoisonError::into_inner);
            (state.head().number, state.head().hash)
        };
        // What cannot be asked now is asked again.
        if let Ok(last) = journal.end().await
            && short.lasts(last < own)
        {
            let why = format!(
                "the journal {} is refused: this process has record {own} (hash {hash}), the stream ends at record {last}: \
                 it was cut short",
                journal.name()
            );
            tracing::error!(why, "this process ends");
            return end(why, &stopped);
        }
    }
}

/// The node's thread.
struct Following {
    tail: Tail,
    journal: JetStreamJournal,
    replica: Replica,
    nats: Nats,
    partition: Partition,
    clock: Clock,
    leadership: Option<Leadership>,
    /// There where this process may lead.
    publisher: Option<Publisher>,
    stopping: Arc<AtomicBool>,
    /// The last record that was given to the reducer.
    fed: RecordNumber,
}

impl Following {
    fn live(mut self) -> Result<(), Stopped> {
        self.fed = self.replica.state().head().number;
        self.tail.begin(self.fed.next());
        while !self.stopping.load(Ordering::SeqCst) && self.replica.stopped.borrow().is_none() {
            if let Some(term) = self.leadership.as_ref().and_then(Leadership::term) {
                self.lead(term);
                self.fed = self.wait_reduced();
                self.tail.begin(self.fed.next());
            } else {
                self.step();
            }
        }
        if let Some(leadership) = self.leadership.take() {
            leadership.stop();
        }
        self.replica.stop()
    }

    /// Follows for a moment.
    fn step(&mut self) {
        match self.tail.next(STEP) {
            Ok(Some(record)) => {
                if let Err(why) = self.feed(record) {
                    end(why, &self.replica.stopped);
                }
            }
            Ok(None) => {}
            Err(why) => {
                tracing::warn!(%why, "the journal cannot be followed: trying again");
                thread::sleep(PAUSE);
                self.tail.begin(self.fed.next());
            }
        }
    }

    fn feed(&mut self, record: OwnedRecord) -> Result<(), String> {
        let OwnedRecord { number, bytes, texts } = record;
        if number != self.fed.next() {
            return Err(format!("record {number} came where record {} was to come", self.fed.next()));
        }
        let texts = decode_texts(number, &texts).map_err(|why| why.to_string())?;
        let sent = self.replica.records.send(Durable::stored(bytes, texts));
        self.fed = number;
        // Where the reducer has ended, it has said why.
        sent.map_err(|_| "the reducer has ended".to_owned())
    }

    /// Waits until everything that was given to the reducer is reduced; gives the last.
    fn wait_reduced(&self) -> RecordNumber {
        loop {
            let number = *self.replica.position.borrow();
            if number >= self.fed || self.replica.stopped.borrow().is_some() {
                return number;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Follows to the journal's end. False where that does not come about in this term.
    fn catch_up(&mut self, term: u64) -> bool {
        let last = match self.nats.runtime().block_on(self.journal.end()) {
            // Whoever lacks what is here is behind, or was cut short: then nobody leads.
            Ok(last) if last >= self.fed => last,
            Ok(last) => {
                tracing::warn!(%last, here = %self.fed, "the journal ends before what this process has");
                thread::sleep(PAUSE);
                return false;
            }
            Err(why) => {
                tracing::warn!(%why, "the journal's end cannot be read");
                thread::sleep(PAUSE);
                return false;
            }
        };
        while self.fed < last {
            if self.stopping.load(Ordering::SeqCst)
                || self.replica.stopped.borrow().is_some()
                || self.leadership.as_ref().and_then(Leadership::term) != Some(term)
            {
                return false;
            }
            self.step();
        }
        self.wait_reduced() >= last
    }

    /// Leads until it is deposed, or asked to stop.
    fn lead(&mut self, term: u64) {
        if !self.catch_up(term) {
            return;
        }
        let Some(leadership) = &self.leadership else { return };
        let options = LeadOptions {
            partition: self.partition,
            clock: self.clock.clone(),
            incarnation: leadership.incarnation,
            shared: true,
        };
        let before = self.fed;
        let writer = self.journal.another();
        let give_up = writer.give_up();
        let lead = match Lead::start(&self.replica, Box::new(writer), options, None) {
            Ok(lead) => lead,
            Err(why) => return end(why.to_string(), &self.replica.stopped),
        };
        let (announced, announced_seen) = watch::channel(None);
        let leaving = Arc::new(Leaving::default());
        let service = Service {
            leaving: Arc::clone(&leaving),
            client: self.nats.client().clone(),
            partition: self.partition,
            state: Arc::clone(&self.replica.state),
            inbox: lead.inbox.clone(),
            sent: Arc::clone(&lead.sent),
            announced: announced_seen,
            holds: leadership.holds.clone(),
            term,
            still: matches!(self.clock, Clock::Still(_)),
        };
        let service = self.nats.runtime().spawn(service.run());
        let (mut asked_to_stop, mut stopping_since) = (false, None);
        let mut gave_up = false;
        while !lead.ended() {
            if announced.borrow().is_none() && *self.replica.position.borrow() > before {
                tracing::info!(partition = self.partition.0, record = before.next().0, "this process leads");
                announced.send_replace(Some(before.next()));
                if let Some(publisher) = &self.publisher {
                    publisher.lead(before.next());
                }
            }
            let halted = self.replica.stopped.borrow().is_some();
            if !gave_up && (halted || leadership.term() != Some(term)) {
                if !halted {
                    tracing::warn!("the lead's lease is over: this process falls silent");
                }
                gave_up = true;
                service.abort();
                give_up.now();
                lead.inbox.stop();
            }
            if service.is_finished() && !gave_up && !asked_to_stop {
                tracing::warn!("gateways cannot be heard: this process gives up the lead");
                asked_to_stop = true;
                lead.inbox.stop();
            }
            if self.stopping.load(Ordering::SeqCst)
                && !asked_to_stop
                && leaving.lets_go(*stopping_since.get_or_insert_with(Instant::now), &self.replica.state())
            {
                asked_to_stop = true;
                lead.inbox.stop();
            }
            thread::sleep(Duration::from_millis(5));
        }
        service.abort();
        let mut events_wait = Duration::ZERO;
        match lead.join() {
            End::Orderly => events_wait = EVENTS_WAIT,
            End::Deposed(why) => tracing::warn!(why, "this process leads no more"),
            End::Failed(why) => end(why, &self.replica.stopped),
        }
        if let Some(publisher) = &self.publisher {
            publisher.follow(events_wait);
        }
        leadership.resigned.send_replace(term);
        // The keeper shows it when it has given it up.
        while leadership.term() == Some(term) && !self.stopping.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
