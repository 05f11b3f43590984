//! Everything of one process put together: the journal and its sequencer, the views, the vault, the way out, the house, the
//! referee. What belongs here: in which order they begin and end. What never does: what any of them does.

use crate::{
    agentwire::{self, Relay, RelayOptions},
    directory::Directory,
    egress::{Egress, EgressOptions},
    house::{self, HousePool},
    idempotency::{Answers, Expiries},
    metrics::Vitals,
    parts::{FIRST, Part, Parts},
    place::{Keeping, Taking},
    problem::Problem,
    referee::{self, Court},
    registration::NewAgent,
    settings::Settings,
    snapshots,
};
use anyhow::{Context, Result, bail};
use arena_journal::{
    Clock, DataDir, Handle, Producer, SnapshotMaker, StillClock, Submission, SubmitError, TextOwner, Texts,
    Unanswered, Vault,
};
use arena_projectors::{ViewError, Views, ViewsAt};
use arena_schema::{
    Event, LogTime, Rejection,
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, Handle as AgentHandle, MatchId, Partition,
        Protocol,
    },
    subject::VAULT_BUCKET,
};

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};

/// How long a read waits until a view has what its caller wrote; then 503.
const READ_WAIT: Duration = Duration::from_secs(5);

/// How long a caller waits for the outcome of its command; then 503, and the outcome is unknown: it may be done once an engine leads
/// again. Longer than a takeover, after which it comes by itself.
const OUTCOME_WAIT: Duration = Duration::from_secs(15);

/// What lies in the vault and is not in the state is left alone for so long where processes share the vault: its command may be
/// on its way through another.
pub(crate) const ON_ITS_WAY: Duration = Duration::from_secs(3_600);

/// A running arena. A clone is the same.
#[derive(Clone)]
pub struct Arena(Arc<Inner>);

struct Inner {
    settings: Settings,
    public_url: String,
    egress: Egress,
    texts: Texts,
    answers: Answers,
    views: Views,
    parts: Parts,
    /// Becomes the reason when one of the partitions can go on no more.
    stopped: watch::Receiver<Option<String>>,
    directory: Directory,
    clock: Clock,
    streams: watch::Sender<bool>,
    vitals: Vitals,
    relay: Relay,
    running: Mutex<Option<Running>>,
    /// Another process that wants the folder is told to wait for this.
    _data: Option<DataDir>,
    /// What lies in no memory, where nothing is kept.
    _scratch: Option<TempDir>,
}

/// What has an end.
struct Running {
    journal: Taking,
    snapshots: Vec<Option<SnapshotMaker>>,
    referee: JoinHandle<()>,
    sweeper: JoinHandle<()>,
    relay: Vec<JoinHandle<()>>,
    stopping: watch::Sender<bool>,
}

impl Arena {
    /// Opens an arena: replays and checks the journal, lets the views catch up, announces this run, registers the house, and
    /// begins to ask whoever is to move.
    ///
    /// # Errors
    /// What cannot be opened or does not hold, in words for whoever runs the arena.
    pub async fn open(settings: Settings, public_url: String, keeping: Keeping) -> Result<Self> {
        let extra_roots = settings
            .egress
            .extra_roots
            .iter()
            .map(|path| {
                fs::read(path)
                    .with_context(|| format!("the certificates in {} cannot be read", path.display()))
            })
            .collect::<Result<_>>()?;
        let egress = Egress::new(EgressOptions { dev: settings.dev, extra_roots, resolver: None })?;
        let (data, place, vault) = keeping.open(&settings).await?;
        let views_at = match &data {
            Some(data) => ViewsAt::Data(data.path().to_owned()),
            None => ViewsAt::Memory,
        };
        let vault = Arc::new(vault);
        let texts = Texts::new(Arc::clone(&vault));
        let answers = Answers::open(Arc::clone(&vault))?;
        let expiries = Expiries::default();
        let clock = if settings.test_clock { Clock::Still(StillClock::now()) } else { Clock::System };

        let (views, mut followers) = Views::open(&views_at, texts.clone(), place.partitions())?;
        let (referee_follower, docket) = referee::follow();
        let (hub_follower, coming) = agentwire::follow();
        for followers in &mut followers {
            followers.push(Box::new(referee_follower.clone()));
            followers.push(Box::new(hub_follower.clone()));
        }
        followers[usize::from(FIRST.0)].push(Box::new(expiries.clone()));
        let scratch = if data.is_none() { Some(TempDir::new()?) } else { None };
        let folder = data.as_ref().map(DataDir::path).or(scratch.as_ref().map(TempDir::path));
        let payloads = place.payloads(folder.context("there is a folder")?, &texts).await?;
        let (snapshots, makers) = match &data {
            Some(data) => snapshots::open(&place, data.path()).await?,
            None => (None, Vec::new()),
        };
        let taking_part = clock.clone();
        let starting = tokio::task::spawn_blocking(move || {
            let journal = place.start(&taking_part, snapshots.as_ref(), followers, &makers)?;
            anyhow::Ok((journal, makers))
        });
        let (journal, makers) = starting.await??;
        let (parts, stopped) = (Parts::of(journal.parts()?), journal.stopped());
        let handle = parts.first().handle.clone();

        sweep(&vault, &handle, journal.is_shared())?;
        answers.sweep(&handle)?;
        let sweeper = tokio::spawn(expiries.sweep_each(answers.clone(), handle.clone()));
        let directory = Directory::new(views.clone(), egress.clone());
        let court = Court {
            parts: parts.clone(),
            texts: texts.clone(),
            egress: egress.clone(),
            house: HousePool::start()?,
            directory: directory.clone(),
            public_url: public_url.clone(),
        };
        let streams = watch::Sender::new(false);
        let (relay, relaying) = Relay::open(
            &RelayOptions {
                settings: &settings,
                public_url: &public_url,
                parts: &parts,
                texts: &texts,
                vault: &vault,
                payloads: &payloads,
                views: &views,
                egress: &egress,
                clock: &clock,
                stopping: streams.subscribe(),
            },
            coming,
        );
        let (stopping, stop_seen) = watch::channel(false);
        let referee = tokio::spawn(referee::run(Arc::new(court), docket, stop_seen));
        let vitals = Vitals::of(&journal, data.as_ref().map(DataDir::path));
        let running = Mutex::new(Some(Running {
            journal,
            snapshots: makers,
            referee,
            sweeper,
            relay: relaying,
            stopping,
        }));
        let arena = Self(Arc::new(Inner {
            settings,
            public_url,
            egress,
            texts,
            answers,
            views,
            parts,
            stopped,
            directory,
            clock,
            vitals,
            streams,
            relay,
            running,
            _data: data,
            _scratch: scratch,
        }));
        arena.register_house().await?;
        Ok(arena)
    }

    /// Takes the data folder of the settings.
    ///
    /// # Errors
    /// Another process has it, or the system refuses.
    pub fn take_folder(path: &Path) -> Result<Keeping> {
        Ok(Keeping::Folder(DataDir::take(path)?))
    }

    /// The house's agents come to be at an arena's first start, and those that a newer build brings at its first start.
    async fn register_house(&self) -> Result<()> {
        for agent in house::AGENTS {
            let handle = AgentHandle::parse(agent.slug).context("a house agent's slug is a handle")?;
            let known = {
                let state = self.handle().state();
                let key = state.registry().by_handle(&handle);
                key.map(|key| {
                    state.registry().agent(key).is_some_and(|agent| agent.protocol == Protocol::House)
                })
            };
            match known {
                Some(true) => continue,
                Some(false) => bail!("the name {} belongs to an agent that is not the house's", agent.slug),
                None => {}
            }
            let new = NewAgent {
                handle,
                name: Some(agent.name),
                protocol: Protocol::House,
                method: ConnectionMethod::House,
                endpoint: None,
                challenges: ChallengePolicy::Open,
                credentials: Vec::new(),
            };
            if let Err(shortage) = self.producer().check_space() {
                tracing::warn!(agent.slug, "a house agent is not registered now: {shortage}");
                continue;
            }
            let (_, submission) = new.submission(self.texts(), FIRST)?;
            let outcome = match self.producer().submit(vec![submission]).await {
                Ok(pending) => pending.outcome().await,
                Err(SubmitError::Short(shortage)) => Err(shortage.into()),
                Err(why) => return Err(why.into()),
            };
            let outcome = match outcome {
                Err(Unanswered::Short(shortage)) => {
                    tracing::warn!(agent.slug, "a house agent is not registered now: {shortage}");
                    continue;
                }
                outcome => outcome?,
            };
            if outcome.result == Err(Rejection::NameTaken) {
                // Another gateway's start came first.
                tracing::debug!(agent.slug, "the house agent is registered already");
            } else if let Err(rejection) = outcome.result {
                bail!("the house agent {} cannot be registered: {rejection}", agent.slug);
            }
        }
        Ok(())
    }

    /// Ends what streams to clients, so that the listener can end, asks no agent any more, and says that this process is about to
    /// stop: all that takes a while begins at once.
    pub fn begin_stop(&self) {
        self.0.streams.send_replace(true);
        if let Some(running) = &*self.0.running.lock().unwrap_or_else(PoisonError::into_inner) {
            running.stopping.send_replace(true);
            running.journal.will_stop();
        }
    }

    /// Stops asking, takes in what is on its way, closes the journal and the views. A second call does nothing.
    ///
    /// # Errors
    /// What had ended by itself before.
    pub async fn close(&self) -> Result<()> {
        let running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(running) = running else {
            return Ok(());
        };
        running.stopping.send_replace(true);
        let referee = running.referee.await;
        // What it leaves is swept at the next start.
        running.sweeper.abort();
        // So does what waits at the relay: a stop that is orderly ended it before.
        running.relay.iter().for_each(JoinHandle::abort);
        let Running { journal, snapshots, .. } = running;
        let stopping = tokio::task::spawn_blocking(move || {
            drop(snapshots);
            journal.stop()
        });
        let stopped = stopping.await?;
        let views = self.0.views.clone();
        let closed = tokio::task::spawn_blocking(move || views.close()).await?;
        referee.context("the referee failed")?;
        stopped?;
        closed?;
        Ok(())
    }

    /// Submits a command of a caller's, and gives its events. What the state already shows to be impossible is refused here and
    /// never appended.
    ///
    /// # Errors
    /// A [`Problem`]: the queue is full, the engine refuses, or the outcome is unknown.
    pub async fn submit(&self, submission: Submission) -> Result<Vec<Event>, Problem> {
        let mut events = self.submit_together(vec![submission]).await?;
        events.pop().ok_or_else(|| Problem::internal("a command had no outcome"))
    }

    /// The same for commands that stand in one record.
    ///
    /// # Errors
    /// The [`Problem`] of the first that is refused.
    pub async fn submit_together(&self, submissions: Vec<Submission>) -> Result<Vec<Vec<Event>>, Problem> {
        {
            let state = self.handle().state();
            for Submission { command, credential, second_key, .. } in &submissions {
                if let Some(rejection) =
                    arena_engine::refusal(&state, *credential, second_key.is_some(), command)
                {
                    return Err(Problem::rejected(rejection));
                }
            }
        }
        let outcomes = self.outcomes(submissions).await?;
        outcomes.into_iter().map(|outcome| outcome.map_err(Problem::rejected)).collect()
    }

    /// What the engine says to commands that stand in one record. Nothing is refused at the door.
    ///
    /// # Errors
    /// A [`Problem`]: the queue is full, or the outcome is unknown.
    pub async fn outcomes(
        &self,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Result<Vec<Event>, Rejection>>, Problem> {
        let pending = self.producer().try_submit(submissions)?;
        let outcomes = tokio::time::timeout(OUTCOME_WAIT, pending.outcomes());
        let outcomes = outcomes.await.map_err(|_| Problem::unknown())??;
        Ok(outcomes.into_iter().map(|outcome| outcome.result).collect())
    }

    /// That a match can be opened in a partition where space is short, before anything else is done for it.
    ///
    /// # Errors
    /// A [`Problem`] with status 503.
    pub fn check_space_in(&self, partition: Partition) -> Result<(), Problem> {
        self.0.parts.get(partition).map_or(Ok(()), |part| Ok(part.producer.check_space()?))
    }

    /// That these would be let in where space is short, before anything else is done for them.
    ///
    /// # Errors
    /// A [`Problem`] with status 503.
    pub fn check_space(&self, submissions: &[Submission]) -> Result<(), Problem> {
        if submissions.iter().any(|submission| submission.command.adds()) {
            self.producer().check_space()?;
        }
        Ok(())
    }

    /// Waits until the views have all that the state has.
    ///
    /// # Errors
    /// A [`Problem`] with status 503 where they stay behind.
    pub async fn read_own_writes(&self) -> Result<(), Problem> {
        self.catch_up(|_| true).await?;
        self.views_follow(|_| true).await
    }

    /// The same for what a match shows (see [`Arena::catch_up_with`]).
    ///
    /// # Errors
    /// As [`Arena::read_own_writes`], or the match did not arrive in time.
    pub async fn read_own_match(&self, id: MatchId) -> Result<(), Problem> {
        self.catch_up_with(id).await?;
        self.views_follow(|one| one == FIRST || one == id.partition()).await
    }

    async fn views_follow(&self, which: impl Fn(Partition) -> bool) -> Result<(), Problem> {
        for Part { partition, handle, .. } in self.0.parts.iter().filter(|part| which(part.partition)) {
            let waited = self.0.views.wait_for(*partition, handle.position(), READ_WAIT).await;
            waited.map_err(|behind| Problem::busy(format!("The views are behind the journal: {behind}.")))?;
        }
        Ok(())
    }

    /// Waits until the states of these partitions have what any caller wrote before, through whichever gateway. Where the journal
    /// is embedded they have.
    ///
    /// # Errors
    /// A [`Problem`] with status 503 where no leader answers, or this process stays behind.
    pub async fn catch_up(&self, which: impl Fn(Partition) -> bool) -> Result<(), Problem> {
        if self.0.parts.caught_up(which, READ_WAIT).await {
            return Ok(());
        }
        Err(Problem::busy("This gateway is behind the journal, or no engine leads.".to_owned()))
    }

    /// The same for what a match shows. One that was opened is looked for where it is played, also while it is on its way there.
    ///
    /// # Errors
    /// As [`Arena::catch_up`], or the match did not arrive in time.
    pub async fn catch_up_with(&self, id: MatchId) -> Result<(), Problem> {
        let partition = id.partition();
        self.catch_up(|one| one == FIRST || one == partition).await?;
        let Some(part) = self.0.parts.get(partition).filter(|_| partition != FIRST) else { return Ok(()) };
        let mut positions = part.handle.positions();
        let arrives = async {
            while self.is_on_its_way(part, id).await? {
                if positions.changed().await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        let late =
            format!("The match is on its way to partition {}, which no engine leads now.", partition.0);
        tokio::time::timeout(READ_WAIT, arrives).await.unwrap_or_else(|_| Err(Problem::busy(late)))
    }

    /// Whether a match is sent and neither running nor over where it is played.
    async fn is_on_its_way(&self, part: &Part, id: MatchId) -> Result<bool, Problem> {
        // In this order: what it is returned for stood in the other before.
        if !self.handle().state().matches().away().contains_key(&id)
            || part.handle.state().matches().by_id(&id).is_some()
        {
            return Ok(false);
        }
        let (partition, position) = (part.partition, part.handle.position());
        let waited = self.0.views.wait_for(partition, position, READ_WAIT).await;
        waited.map_err(|behind| Problem::busy(format!("The views are behind the journal: {behind}.")))?;
        Ok(self.read_views(move |views| views.match_summary(&id)).await?.is_none())
    }

    /// Reads the views off the event loop.
    ///
    /// # Errors
    /// A [`Problem`] with status 500 where a view cannot be read, with 503 where it has not come that far.
    pub async fn read_views<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Views) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, Problem> {
        let views = self.0.views.clone();
        let read = tokio::task::spawn_blocking(move || read(&views)).await.map_err(Problem::internal)?;
        read.map_err(|why| match why {
            ViewError::Behind { .. } => Problem::busy(format!("A view is behind the journal: {why}.")),
            why => Problem::internal(why),
        })
    }

    /// The settings in effect.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Where this arena is reached, without a slash at its end.
    pub fn public_url(&self) -> &str {
        &self.0.public_url
    }

    /// The partition where agents are born.
    pub fn partition(&self) -> Partition {
        FIRST
    }

    /// The partition where the next match is played.
    pub fn match_partition(&self) -> Partition {
        self.0.parts.draw(self.0.settings.partitions)
    }

    /// All partitions.
    pub fn parts(&self) -> &Parts {
        &self.0.parts
    }

    /// The way out.
    pub fn egress(&self) -> &Egress {
        &self.0.egress
    }

    /// Seals and opens texts.
    pub fn texts(&self) -> &Texts {
        &self.0.texts
    }

    /// The answers that are kept for who repeats a request.
    pub fn answers(&self) -> &Answers {
        &self.0.answers
    }

    /// The views.
    pub fn views(&self) -> &Views {
        &self.0.views
    }

    /// The state of the first partition, which has the registry.
    pub fn handle(&self) -> &Handle {
        &self.0.parts.first().handle
    }

    /// Submits as this process's gateway to the first partition.
    pub fn producer(&self) -> &Producer {
        &self.0.parts.first().producer
    }

    /// Becomes the reason when this process can go on no more.
    pub fn stopped(&self) -> watch::Receiver<Option<String>> {
        self.0.stopped.clone()
    }

    /// Who agents are and where.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// The relay of agentwire.
    pub(crate) fn relay(&self) -> &Relay {
        &self.0.relay
    }

    /// Becomes true when streams are to end.
    pub fn streams_stopping(&self) -> watch::Receiver<bool> {
        self.0.streams.subscribe()
    }

    /// How this process is.
    pub(crate) fn vitals(&self) -> &Vitals {
        &self.0.vitals
    }

    /// An agent's external id.
    pub fn agent_id(&self, agent: AgentKey) -> Option<AgentId> {
        self.handle().state().registry().agent(agent).map(|known| known.id)
    }

    /// The time of the clock that stamps records.
    pub fn now(&self) -> LogTime {
        time_of(&self.0.clock, self.handle())
    }
}

/// The time of a process's clock, where it follows this.
pub(crate) fn time_of(clock: &Clock, handle: &Handle) -> LogTime {
    match clock {
        // Where another process leads it is that one's clock that is moved.
        Clock::Still(still) => still.time().max(handle.state().head().time),
        Clock::System => {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            LogTime(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
        }
    }
}

/// Destroys the keys of agents that did not come to be: their registration was refused, or lost before it was durable. One that
/// is young may be on its way through another process. Where processes share the vault, keys beside a journal without any agent
/// are another journal's, which was lost: `open_folder` says the same of a data folder.
fn sweep(vault: &Vault, handle: &Handle, shared: bool) -> Result<()> {
    let known: std::collections::BTreeSet<String> = handle
        .state()
        .registry()
        .agents()
        .iter()
        .map(|(_, _, agent)| TextOwner::Agent(agent.id).vault_name())
        .collect();
    let mut strays = Vec::new();
    for name in vault.names("agent/")? {
        if !known.contains(&name) && vault.is_older_than(&name, ON_ITS_WAY)? {
            strays.push(name);
        }
    }
    if shared && known.is_empty() && !strays.is_empty() {
        bail!(
            "the journal on NATS has no agent, but the bucket {VAULT_BUCKET} keeps the keys of agents that some journal \
             has ({} of them): put the journal back, or delete the bucket to begin anew",
            strays.len()
        );
    }
    for name in strays {
        vault.destroy(&name)?;
    }
    Ok(())
}
