//! What the leader of a partition does for the others: it submits what its outbox has for them, in order, and acknowledges what
//! they took. The leader of the first also opens the others. And each brings its own partition newer rules. What belongs here: when and how much. What never does: what an entry
//! does, or whether it may (the engine's).
//!
//! How far another partition is, is read from its state as this process follows it, never from an answer. Whatever is submitted
//! stands in this journal for good, so a leader that is deposed meanwhile does no harm by submitting it again.

use super::{
    peers::{Peer, Peers, cut_short},
    submitter::ask,
    wire::{Reply, Request},
};
use crate::sequencer::{Inbox, Submission, end};
use arena_engine::{RULES_NEWEST, RULES_PARTITIONS, State};
use arena_schema::{
    Command, Hash, Rejection,
    command::system::{AcknowledgeOutbox, ActivateRules, OpenPartition},
    id::{Partition, ProducerId, RecordNumber, RulesVersion},
    record::{CommandHead, encode_command},
    subject,
};
use async_nats::Client;
use bytes::Bytes;
use std::{
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet};

/// How many entries one request carries.
const ENTRIES_MAX: usize = 1_024;
/// How long their commands are together: well within what a leader's server takes in one message.
const ENTRIES_BYTES_MAX: usize = 192 * 1024;
/// How many entries are taken before that is acknowledged, while there are more to send.
const ACKNOWLEDGE_AFTER: u64 = 256;
/// How long an answer is waited for, and then the record that it names.
const REQUEST_WAIT: Duration = Duration::from_millis(1_500);
/// Before what was not taken is submitted again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long it takes to look again where nothing seems to have changed.
const LOOK: Duration = Duration::from_secs(1);

/// What a carrier works with while its process leads.
#[derive(Clone)]
pub(super) struct Carrier {
    pub(super) client: Client,
    pub(super) partition: Partition,
    pub(super) state: Arc<RwLock<State>>,
    pub(super) position: watch::Receiver<RecordNumber>,
    pub(super) inbox: Inbox,
    pub(super) peers: Peers,
    pub(super) stopped: Arc<watch::Sender<Option<String>>>,
}

/// How the books of two partitions stand.
struct Books {
    sent: u64,
    acknowledged: u64,
    taken: u64,
    /// Over all that was taken.
    chain: Hash,
}

/// What is to be done next about one other partition.
enum Next {
    /// It has taken more: that leaves the outbox.
    Acknowledge { through: u64, chain: Hash },
    /// Entries that it has not taken, as commands.
    Submit { last: u64, count: u32, commands: Vec<u8> },
    /// Nothing, until a journal goes on.
    Wait,
}

impl Carrier {
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until it is aborted, or the lead is over.
    pub(super) async fn run(self) {
        let mut duties = JoinSet::new();
        duties.spawn(self.clone().bring_rules());
        if self.partition == Partition(0) {
            for other in self.peers.others(self.partition) {
                duties.spawn(self.clone().carry(other));
            }
            if self.peers.are_several() {
                duties.spawn(self.clone().open_partitions());
            }
        } else {
            duties.spawn(self.clone().carry(Partition(0)));
        }
        while duties.join_next().await.is_some() {}
    }

    /// Submits a command of the sequencer's own; none where the lead is over.
    async fn submit(&self, command: impl Into<Command>) -> Option<Result<(), Rejection>> {
        let answered = self.inbox.put_own(vec![Submission::new(command)]).ok()?.answered().await.ok()?;
        Some(answered.events(0).map(|_| ()))
    }

    /// Brings the next rules that this build knows once every gateway does, one by one. Beside the first, a partition has those that
    /// know of partitions from its leader's beginning on.
    async fn bring_rules(self) {
        let mut waits = false;
        loop {
            let mut position = self.position.clone();
            position.mark_unchanged();
            let (version, known) = {
                let state = self.state();
                let version = RulesVersion(state.rules().0 + 1);
                (version, state.producers().live().all(|(_, gateway)| gateway.rules_known >= version))
            };
            if version > RULES_NEWEST {
                return;
            }
            let begins_with_them = self.peers.are_several() && self.partition != Partition(0);
            if !known || version == RULES_PARTITIONS && begins_with_them {
                if !known && !std::mem::replace(&mut waits, true) {
                    tracing::warn!(
                        rules = version.0,
                        "newer rules wait for gateways of an older build to end"
                    );
                }
                let _ = tokio::time::timeout(LOOK, position.changed()).await;
                continue;
            }
            match self.submit(ActivateRules { version }).await {
                None => return,
                Some(Ok(())) => {}
                Some(Err(why)) => {
                    tracing::warn!(rules = version.0, %why, "newer rules cannot be activated now");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    /// Opens the partitions that are not open, as soon as the rules know of them.
    async fn open_partitions(self) {
        loop {
            let mut position = self.position.clone();
            position.mark_unchanged();
            let next = {
                let state = self.state();
                let is_open = |other: &Partition| state.outbox().partitions().any(|open| open == *other);
                match self.peers.others(self.partition).find(|other| !is_open(other)) {
                    Some(partition) => (state.rules() >= RULES_PARTITIONS).then_some(partition),
                    None => return,
                }
            };
            let Some(partition) = next else {
                let _ = tokio::time::timeout(LOOK, position.changed()).await;
                continue;
            };
            let command = OpenPartition { partition };
            match self.submit(command).await {
                None => return,
                Some(Ok(())) => {}
                Some(Err(why)) => {
                    tracing::warn!(%why, "a partition cannot be opened now");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    /// Carries what waits for one other partition.
    async fn carry(self, to: Partition) {
        let mut refused_at = None;
        loop {
            let Some(peer) = self.peers.get(to) else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let (mut own, mut theirs) = (self.position.clone(), peer.position.clone());
            own.mark_unchanged();
            theirs.mark_unchanged();
            let next = match self.next(to, &peer).await {
                Ok(next) => next,
                Err(why) => {
                    tracing::error!(why, "this process ends");
                    return end(why, &self.stopped);
                }
            };
            match next {
                Next::Wait => {
                    let moved = async {
                        tokio::select! {
                            _ = own.changed() => {}
                            _ = theirs.changed() => {}
                        }
                    };
                    let _ = tokio::time::timeout(LOOK, moved).await;
                }
                Next::Acknowledge { through, chain } => {
                    match self.submit(AcknowledgeOutbox { to, through, chain }).await {
                        None => return,
                        Some(Ok(()) | Err(Rejection::Expired)) => {}
                        Some(Err(Rejection::OutboxForked)) => {
                            let why = format!(
                                "partition {} has taken other entries than partition {} has sent: one of both journals was \
                                 restored to another history",
                                to.0, self.partition.0
                            );
                            tracing::error!(why, "this process ends");
                            return end(why, &self.stopped);
                        }
                        Some(Err(why)) => {
                            tracing::warn!(%why, "what another partition took cannot be acknowledged now");
                            tokio::time::sleep(LOOK).await;
                        }
                    }
                }
                Next::Submit { last, count, commands } => {
                    if !self.place(to, &peer, last, count, &commands).await {
                        if refused_at.replace(last) != Some(last) {
                            tracing::warn!(
                                to = to.0,
                                last,
                                "another partition has not taken what was sent to it: trying again"
                            );
                        }
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }

    fn books(&self, to: Partition, peer: &Peer) -> Books {
        // The other's first: what it took was sent before.
        let (taken, chain) = {
            let theirs = peer.state();
            (theirs.outbox().taken(self.partition), theirs.outbox().taken_chain(self.partition))
        };
        let own = self.state();
        Books { sent: own.outbox().sent(to), acknowledged: own.outbox().acknowledged(to), taken, chain }
    }

    /// # Errors
    /// The two journals do not belong together, in words.
    async fn next(&self, to: Partition, peer: &Peer) -> Result<Next, String> {
        let mut books = self.books(to, peer);
        if books.taken < books.acknowledged {
            // It may be a moment behind here; not behind its own end.
            while !peer.asker.caught_up(REQUEST_WAIT).await {}
            books = self.books(to, peer);
        }
        let Books { sent, acknowledged, taken, chain } = books;
        if taken < acknowledged {
            return Err(format!(
                "the journal of partition {} is refused: it has taken {taken} entries of partition {}, which knows of \
                 {acknowledged}: it was cut short or restored, and the other was not",
                to.0, self.partition.0
            ));
        }
        if taken > sent {
            return Err(cut_short(self.partition, sent, to, taken));
        }
        let unacknowledged = taken - acknowledged;
        if unacknowledged > 0 && (taken == sent || unacknowledged >= ACKNOWLEDGE_AFTER) {
            return Ok(Next::Acknowledge { through: taken, chain });
        }
        let producer = ProducerId::of_partition(self.partition);
        let (mut last, mut count, mut commands) = (taken, 0, Vec::new());
        for (number, entry) in self.state().outbox().waiting(to, taken).take(ENTRIES_MAX) {
            if !commands.is_empty() && commands.len() + entry.body.len() > ENTRIES_BYTES_MAX {
                break;
            }
            let command = entry.command().map_err(|why| {
                format!("entry {number} for partition {} is none that this build knows: {why}", to.0)
            })?;
            encode_command(
                &CommandHead { producer, number, ..CommandHead::SEQUENCER },
                &command,
                &mut commands,
            );
            (last, count) = (number, count + 1);
        }
        Ok(if count == 0 { Next::Wait } else { Next::Submit { last, count, commands } })
    }

    /// Whether the other partition has taken all of these.
    async fn place(&self, to: Partition, peer: &Peer, last: u64, count: u32, commands: &[u8]) -> bool {
        let producer = ProducerId::of_partition(self.partition);
        let request = Request::Submit { producer, count, commands, texts: &[] }.encode();
        match ask(&self.client, subject::submit(to), Bytes::from(request), REQUEST_WAIT).await {
            Some(Reply::Placed { record }) => {
                let there = peer.position.clone();
                let seen = async {
                    let mut there = there;
                    // Where this process follows no more, it carries no more either.
                    let _ = there.wait_for(|position| *position >= record).await;
                };
                let _ = tokio::time::timeout(REQUEST_WAIT, seen).await;
            }
            Some(Reply::Refused { why }) => {
                tracing::error!(why, to = to.0, "a leader refuses another partition's entries");
            }
            // Nobody leads there now, or it has no room.
            _ => {}
        }
        peer.state().outbox().taken(self.partition) >= last
    }
}
