//! agentwire v2: a relay over plain HTTP. What belongs here: the transport's words, who waits, and who is asked. What never does:
//! what a session decides (the engine's family `sessions`), or a page about it.
//!
//! Invariants:
//! - A link, a secret, a token and a grant are in no log line, no record and no view; the vault alone has those that must be known.
//! - What an operation answers is durable before it is answered.
//! - A receive that ends, however it does, is seen to have ended: its bookkeeping is in a guard.

mod access;
mod acknowledge;
mod admit;
mod create;
mod dispatch;
mod duties;
mod entry;
mod failure;
mod fetch;
mod hub;
mod join;
mod leave;
mod limits;
mod link;
mod name;
mod params;
mod past;
mod path;
mod receive;
mod receiving;
mod reply;
mod room;
mod script;
mod send;
mod session;
mod sweep;
mod taking;
mod touch;

pub(crate) use dispatch::is_for_relay;
pub(crate) use hub::{Coming, follow};

use crate::{
    arena::time_of,
    egress::Egress,
    parts::Parts,
    settings::{self, Settings},
};
use access::Access;
use admit::Yeses;
use arena_engine::refusal;
use arena_journal::{Clock, Payloads, Submission, SubmitError, Texts, Vault};
use arena_projectors::{ViewError, Views};
use arena_schema::{Event, LogTime, Rejection, id::Partition};
use failure::Failure;
use hub::Hub;
use limits::Limits;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinHandle};
use touch::Later;

/// How long an operation waits until what its caller wrote before has arrived here; then 503.
const READ_WAIT: Duration = Duration::from_secs(5);

/// What a relay works with.
pub(crate) struct RelayOptions<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) public_url: &'a str,
    pub(crate) parts: &'a Parts,
    pub(crate) texts: &'a Texts,
    pub(crate) vault: &'a Arc<Vault>,
    pub(crate) payloads: &'a Payloads,
    pub(crate) views: &'a Views,
    pub(crate) egress: &'a Egress,
    pub(crate) clock: &'a Clock,
    /// Becomes true when what waits is to end.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// The relay of this process. A clone is the same.
#[derive(Clone)]
pub(crate) struct Relay(Arc<Inner>);

impl std::ops::Deref for Relay {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// What it works with.
pub(crate) struct Inner {
    settings: settings::AgentWire,
    /// How many partitions the settings want.
    partitions: u64,
    public_url: String,
    parts: Parts,
    texts: Texts,
    vault: Arc<Vault>,
    payloads: Payloads,
    views: Views,
    clock: Clock,
    hub: Hub,
    access: Option<Access>,
    yeses: Yeses,
    limits: Limits,
    later: Later,
    stopping: watch::Receiver<bool>,
}

impl Relay {
    /// Begins with the sessions as they stand. What it gives beside runs until it is aborted.
    pub(crate) fn open(options: &RelayOptions<'_>, coming: Coming) -> (Self, Vec<JoinHandle<()>>) {
        let RelayOptions {
            settings,
            public_url,
            parts,
            texts,
            vault,
            payloads,
            views,
            egress,
            clock,
            stopping,
        } = options;
        let (hub, owed) = Hub::open(parts, texts);
        let (later, promised) = touch::later(settings.test_clock);
        let relay = Self(Arc::new(Inner {
            settings: settings.agentwire.clone(),
            partitions: settings.partitions,
            public_url: (*public_url).to_owned(),
            parts: (*parts).clone(),
            texts: (*texts).clone(),
            vault: Arc::clone(vault),
            payloads: (*payloads).clone(),
            views: (*views).clone(),
            clock: (*clock).clone(),
            hub: hub.clone(),
            access: settings.agentwire.access_url.as_ref().map(|url| Access::new(url, egress.operator())),
            limits: Limits::new(settings),
            yeses: Yeses::new(Duration::from_secs(settings.agentwire.access_cache_s)),
            later,
            stopping: stopping.clone(),
        }));
        let tasks = vec![
            tokio::spawn(hub.run((*parts).clone(), coming)),
            tokio::spawn(relay.clone().keep_promises(promised)),
            tokio::spawn(relay.clone().tell_again()),
            tokio::spawn(relay.clone().do_duties(owed)),
            tokio::spawn(relay.clone().sweep_daily()),
        ];
        (relay, tasks)
    }

    /// The time of the clock that stamps records.
    fn now(&self) -> LogTime {
        time_of(&self.clock, &self.parts.first().handle)
    }

    /// Submits a command of a caller's, and gives its events. What the state already shows to be impossible is refused here and
    /// never appended.
    ///
    /// # Errors
    /// The engine's refusal in the transport's words, or 503 where the journal takes nothing now.
    async fn submit(&self, partition: Partition, submission: Submission) -> Result<Vec<Event>, Failure> {
        let part = self.parts.get(partition).ok_or_else(|| Failure::absent("session"))?;
        let refused = refusal(&part.handle.state(), submission.credential, false, &submission.command);
        if let Some(rejection) = refused {
            return Err(rejected(rejection));
        }
        let pending = part.producer.try_submit(vec![submission]).map_err(unsubmitted)?;
        let outcome = pending.outcome().await.map_err(|_| Failure::busy("the relay is stopping"))?;
        outcome.result.map_err(rejected)
    }

    /// The same for what must not be lost for want of room.
    async fn submit_when_there_is_room(
        &self,
        partition: Partition,
        submission: Submission,
    ) -> Result<Vec<Event>, Failure> {
        let part = self.parts.get(partition).ok_or_else(|| Failure::absent("session"))?;
        let pending = part.producer.submit(vec![submission]).await.map_err(unsubmitted)?;
        let outcome = pending.outcome().await.map_err(|_| Failure::busy("the relay is stopping"))?;
        outcome.result.map_err(rejected)
    }

    /// Reads the views off the event loop, once they have what the state has.
    ///
    /// # Errors
    /// 503 where they stay behind, 500 where they cannot be read.
    async fn read_views<T: Send + 'static>(
        &self,
        partition: Partition,
        read: impl FnOnce(&Views) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, Failure> {
        let part = self.parts.get(partition).ok_or_else(|| Failure::absent("session"))?;
        let behind = |_| Failure::busy("the relay's views are behind its journal");
        self.views.wait_for(partition, part.handle.position(), READ_WAIT).await.map_err(behind)?;
        let views = self.views.clone();
        let read = tokio::task::spawn_blocking(move || read(&views)).await.map_err(Failure::internal)?;
        read.map_err(|why| match why {
            ViewError::Behind { .. } => Failure::busy("the relay's views are behind its journal"),
            why => Failure::internal(why),
        })
    }
}

fn unsubmitted(error: SubmitError) -> Failure {
    match error {
        SubmitError::Busy(_) => Failure::busy("the relay is at its limit"),
        SubmitError::Stopped(_) => Failure::busy("the relay is stopping"),
        error => Failure::internal(error),
    }
}

fn rejected(rejection: Rejection) -> Failure {
    match rejection {
        Rejection::SessionGone => Failure::absent("session"),
        Rejection::UnknownParticipant | Rejection::NotIn => Failure::not_in(),
        Rejection::SessionNameTaken => Failure::taken(),
        Rejection::LimitReached => Failure::busy_for("the relay is at its limit", 60),
        rejection => Failure::internal(rejection),
    }
}
