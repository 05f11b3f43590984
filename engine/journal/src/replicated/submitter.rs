//! A gateway's side of `arena.submit.<partition>`: what its callers submit goes to whoever leads, many commands in one request,
//! and is asked again with the same numbers until it stands in a record. The outcome is found in the records that this process
//! follows; the leader's reply only says that one is coming.

use super::{
    gateway::Gateway,
    service::GATEWAY_LEASE,
    wire::{Reply, Request},
};
use crate::{
    sequencer::{Answered, Followed, Follower, Inbox, Limits, Message, Producer, Waiter},
    space::{Shortage, Space},
    texts::encode_texts,
};
use arena_engine::RULES_NEWEST;
use arena_schema::{
    Event,
    id::{Partition, ProducerId, RecordNumber},
    record::renumber,
    subject,
};
use async_nats::{Client, RequestErrorKind};
use bytes::Bytes;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::{
    runtime,
    sync::{Semaphore, watch},
};

/// How many requests are under way at once; what comes meanwhile is merged into the next.
const REQUESTS_MAX: usize = 4;
/// How long one request is waited for before it is sent again.
const REQUEST_WAIT: Duration = Duration::from_millis(1_500);
/// Before a request that nobody took is sent again.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a gateway says that it is still there.
const GATEWAY_RENEWAL: Duration = Duration::from_millis(1_500);
/// How long before its lease's end a gateway begins nothing any more.
const PRESENCE_MARGIN: Duration = Duration::from_secs(1);
/// How long after it began a renewal a gateway is surely taken for present.
const PRESENCE: Duration = GATEWAY_LEASE.saturating_sub(PRESENCE_MARGIN);
/// How long a start waits for a leader before it says so: longer than a takeover.
const LEADER_WAIT: Duration = Duration::from_secs(4);
/// How long a stop may take in all, from when it was known that it comes, where the leader does not answer.
const STOP_WAIT: Duration = Duration::from_secs(4);
/// A stop tries for so long at least, however late it comes.
const STOP_LEAST: Duration = Duration::from_millis(200);
/// How far numbers may run ahead of the oldest that is unanswered, well within the engine's window.
const AHEAD_MAX: u64 = arena_engine::WINDOW / 2;

/// Commands that were given numbers and stand in no record that was followed yet.
struct Open {
    commands: Vec<u8>,
    texts: Vec<u8>,
    count: u32,
    waiters: Vec<Waiter>,
    room: usize,
    /// How often it was asked for under these numbers.
    asked: u32,
}

struct Numbered {
    /// Its number in the journal, once it is announced.
    producer: Option<ProducerId>,
    next: u64,
    open: BTreeMap<u64, Open>,
}

/// What the requests, the records and the callers share.
struct Shared {
    partition: Partition,
    gateway: Gateway,
    client: Client,
    inbox: Inbox,
    numbered: Mutex<Numbered>,
    /// Counts what the records told: an answer, another number for this process.
    told: watch::Sender<u64>,
    producer: Producer,
    places: Arc<Semaphore>,
    /// When it was first known that this process stops.
    stopping: OnceLock<Instant>,
}

impl Shared {
    fn numbered(&self) -> MutexGuard<'_, Numbered> {
        self.numbered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was submitted under the number acts no more. Where this process announces itself it does so anew; in other partitions
    /// its next number comes with that.
    fn lose_number(&self, numbered: &mut Numbered) {
        numbered.producer = None;
        self.producer.is_now(ProducerId::NONE);
        if self.gateway.announces_in(self.partition) {
            tracing::warn!("this gateway was taken for gone: it begins anew under another number");
            self.gateway.begin_anew();
        }
    }

    fn subject(&self) -> String {
        subject::submit(self.partition)
    }

    async fn ask(&self, request: Bytes) -> Option<Reply> {
        ask(&self.client, self.subject(), request, REQUEST_WAIT).await
    }
}

/// One request to a leader; none where nobody answers in time, or what answers is not understood.
pub(super) async fn ask(client: &Client, subject: String, request: Bytes, wait: Duration) -> Option<Reply> {
    let asked = async_nats::Request::new().payload(request).timeout(Some(wait));
    match client.send_request(subject, asked).await {
        Ok(message) => Reply::decode(&message.payload)
            .inspect_err(|why| tracing::warn!(%why, "a leader's reply is not understood"))
            .ok(),
        Err(why) => {
            if why.kind() != RequestErrorKind::TimedOut && why.kind() != RequestErrorKind::NoResponders {
                tracing::debug!(%why, "a leader cannot be asked");
            }
            None
        }
    }
}

/// A gateway's way to the leader.
pub(crate) struct Submitter {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    /// Where this process announces itself.
    renewing: Option<tokio::task::JoinHandle<()>>,
    runtime: runtime::Handle,
}

/// Finds the outcomes; the first of the process's followers, so that the others know its number.
pub(crate) struct Outcomes {
    shared: Arc<Shared>,
}

/// The two ends, before the process follows any record.
pub(crate) fn prepare(
    client: &Client,
    partition: Partition,
    gateway: Gateway,
    space: Space,
) -> (Outcomes, Prepared) {
    let (queue, messages) = mpsc::channel();
    let inbox = Inbox::new(queue).within(Limits::REQUEST).with_space(space);
    let shared = Arc::new(Shared {
        partition,
        client: client.clone(),
        producer: Producer::new(inbox.clone(), ProducerId::NONE).leased(gateway.lease()),
        gateway,
        inbox,
        numbered: Mutex::new(Numbered { producer: None, next: 1, open: BTreeMap::new() }),
        told: watch::Sender::new(0),
        places: Arc::new(Semaphore::new(REQUESTS_MAX)),
        stopping: OnceLock::new(),
    });
    (Outcomes { shared: Arc::clone(&shared) }, Prepared { shared, messages })
}

/// A submitter that has not begun.
pub(crate) struct Prepared {
    shared: Arc<Shared>,
    messages: mpsc::Receiver<Message>,
}

impl Prepared {
    /// Begins, and where this process announces itself does so and returns when it has its number, or `stopped` says why it never
    /// will. In another partition its number comes with an entry of the first.
    ///
    /// # Errors
    /// Why it cannot begin, in words.
    pub(crate) fn start(
        self,
        runtime: &runtime::Handle,
        stopped: watch::Receiver<Option<String>>,
    ) -> Result<Submitter, String> {
        let Self { shared, messages } = self;
        let announces = shared.gateway.announces_in(shared.partition);
        let renewing = announces.then(|| runtime.spawn(renew(Arc::clone(&shared))));
        let sending = Arc::clone(&shared);
        let spawner = runtime.clone();
        let thread = thread::Builder::new()
            .name("arena-submitter".to_owned())
            .spawn(move || send_all(&sending, &messages, &spawner))
            .map_err(|why| format!("a thread cannot be started: {why}"))?;
        runtime.spawn(let_go(Arc::clone(&shared), stopped.clone()));
        let submitter = Submitter { shared, thread, renewing, runtime: runtime.clone() };
        if announces {
            runtime.block_on(submitter.announced(stopped))?;
        }
        Ok(submitter)
    }
}

/// Where this process follows no more, nobody here learns an outcome: who waits is told so, and who comes.
async fn let_go(shared: Arc<Shared>, mut stopped: watch::Receiver<Option<String>>) {
    // Gone or said: there is nobody left to follow either way.
    let _ = stopped.wait_for(Option::is_some).await.map(|_| ());
    shared.inbox.end();
    shared.numbered().open.clear();
    shared.told.send_modify(|told| *told += 1);
}

impl Submitter {
    async fn announced(&self, mut stopped: watch::Receiver<Option<String>>) -> Result<(), String> {
        let mut told = self.shared.told.subscribe();
        let known = async {
            while self.shared.numbered().producer.is_none() {
                // The sender lives as long as this does.
                let _ = told.changed().await;
            }
        };
        let waits = async {
            tokio::time::sleep(LEADER_WAIT).await;
            tracing::warn!(
                "no engine leads: this gateway waits for one (a process with --role engine or all, on the same NATS)"
            );
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = known => Ok(()),
            () = waits => Ok(()),
            why = stopped.wait_for(Option::is_some) => Err(match why {
                Ok(why) => why.clone().unwrap_or_default(),
                Err(gone) => gone.to_string(),
            }),
        }
    }

    /// Submits as this process.
    pub(crate) fn producer(&self) -> Producer {
        self.shared.producer.clone()
    }

    /// Tells the leader that this process is about to end; a second time nothing happens.
    pub(crate) fn will_stop(&self) {
        if self.shared.stopping.set(Instant::now()).is_err() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            let incarnation = shared.gateway.incarnation();
            // Where nobody hears it, nobody waits for this process either.
            let _ = shared.ask(Bytes::from(Request::Leaving { incarnation }.encode())).await;
        });
    }

    /// Takes in nothing more, waits a while for what is under way, and tells the leader that this process ends, where it announced
    /// itself.
    pub(crate) fn stop(self) {
        self.will_stop();
        let until = self.shared.stopping.get().map_or_else(Instant::now, |since| *since + STOP_WAIT);
        let wait = || until.saturating_duration_since(Instant::now()).max(STOP_LEAST);
        self.shared.inbox.stop();
        let mut told = self.shared.told.subscribe();
        let answered = async {
            while !self.shared.numbered().open.is_empty() {
                let _ = told.changed().await;
            }
        };
        // What is unanswered then is in the records or is not.
        let _ = self.runtime.block_on(async { tokio::time::timeout(wait(), answered).await });
        if let Some(renewing) = &self.renewing {
            renewing.abort();
            self.leave(wait().min(REQUEST_WAIT));
        }
        self.shared.inbox.end();
        self.shared.numbered().open.clear();
        self.shared.told.send_modify(|told| *told += 1);
        self.shared.places.close();
        // It ends by the message of the stop.
        let _ = self.thread.join();
    }

    fn leave(&self, wait: Duration) {
        let incarnation = self.shared.gateway.incarnation();
        let leave = Bytes::from(Request::Leave { incarnation }.encode());
        let left = async {
            while self.shared.ask(leave.clone()).await != Some(Reply::Done) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        // Where nobody takes it, a leader finds out by itself.
        let _ = self.runtime.block_on(async { tokio::time::timeout(wait, left).await });
    }
}

/// Says that this process is there: announces it until it has a number, then renews its lease.
async fn renew(shared: Arc<Shared>) {
    let mut told = shared.told.subscribe();
    loop {
        let (incarnation, known) = {
            let numbered = shared.numbered();
            (shared.gateway.incarnation(), numbered.producer.is_some())
        };
        let request = if known {
            Request::Renew { incarnation }
        } else {
            Request::Announce { incarnation, rules_known: RULES_NEWEST }
        };
        let begun = Instant::now();
        let pause = match shared.ask(Bytes::from(request.encode())).await {
            Some(Reply::Renewed) => {
                shared.gateway.holds_until(Some(begun + PRESENCE));
                GATEWAY_RENEWAL
            }
            // It asks again, perhaps another leader.
            Some(Reply::Busy) | None => PAUSE,
            // Its number, or that it is gone, comes with the records.
            Some(reply @ (Reply::Announced { .. } | Reply::Gone)) => {
                if reply == Reply::Gone {
                    shared.gateway.holds_until(None);
                }
                GATEWAY_RENEWAL / 3
            }
            Some(other) => {
                tracing::warn!(?other, "a leader does not take this gateway");
                GATEWAY_RENEWAL / 3
            }
        };
        // Whether it has a number changes with the records, and there is something to say then.
        let changed =
            async { while shared.numbered().producer.is_some() == known && told.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(pause, changed).await;
    }
}

fn send_all(shared: &Arc<Shared>, messages: &mpsc::Receiver<Message>, runtime: &runtime::Handle) {
    loop {
        while !shared.inbox.falls_asleep() {
            let Ok(place) = runtime.block_on(Arc::clone(&shared.places).acquire_owned()) else { return };
            // As late as possible, so that much is merged.
            let Some(batch) = shared.inbox.next() else { continue };
            let (commands, texts, count, waiters, room) = batch.into_parts();
            let open = Open { commands, texts: encode_texts(&texts), count, waiters, room, asked: 0 };
            let first = {
                let mut numbered = shared.numbered();
                let first = numbered.next;
                numbered.next += u64::from(open.count);
                numbered.open.insert(first, open);
                first
            };
            let shared = Arc::clone(shared);
            runtime.spawn(async move {
                place_batch(&shared, first).await;
                drop(place);
            });
        }
        match messages.recv() {
            Ok(Message::Stop) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Asks until the batch with this first number was found in a record.
async fn place_batch(shared: &Shared, mut first: u64) {
    let mut told = shared.told.subscribe();
    let mut numbered_for = None;
    loop {
        told.mark_unchanged();
        let request = {
            let mut numbered = shared.numbered();
            match numbered.request(&mut first, &mut numbered_for) {
                Next::Answered => return,
                Next::Wait => None,
                Next::Ask(request) => Some(request),
            }
        };
        let Some(request) = request else {
            if told.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            reply = shared.ask(request) => match reply {
                Some(Reply::Placed { .. }) => {
                    // The record is on its way; where it was lost on the way, asking again is a duplicate and does nothing.
                    // Where this process was taken for gone before that record, it did nothing there.
                    let seen = async {
                        while shared.numbered().awaits(first, numbered_for) {
                            if told.changed().await.is_err() {
                                return;
                            }
                        }
                    };
                    let _ = tokio::time::timeout(4 * REQUEST_WAIT, seen).await;
                }
                Some(Reply::Short { why }) => return refused(shared, first, Shortage(why)).await,
                Some(Reply::Gone | Reply::Busy) | None => tokio::time::sleep(PAUSE).await,
                Some(other) => {
                    tracing::error!(?other, "a leader refuses what this gateway submits");
                    tokio::time::sleep(REQUEST_WAIT).await;
                }
            },
            // The answer may be in the records before it is here.
            () = answered(shared, first) => return,
        }
    }
}

/// The leader takes nothing now that adds, and what this batch has is of that kind. Nothing of it was done where it was asked for
/// once; an asking before may have been heard, which the records show, or what became of it stays unknown here.
async fn refused(shared: &Shared, first: u64, shortage: Shortage) {
    let asked = shared.numbered().open.get(&first).map_or(0, |open| open.asked);
    if asked > 1 {
        let _ = tokio::time::timeout(REQUEST_WAIT, answered(shared, first)).await;
    }
    let Some(open) = shared.numbered().open.remove(&first) else { return };
    shared.inbox.make_room(open.room);
    if asked == 1 {
        for waiter in open.waiters {
            waiter.refuse(shortage.clone());
        }
    }
    shared.told.send_modify(|told| *told += 1);
}

async fn answered(shared: &Shared, first: u64) {
    let mut told = shared.told.subscribe();
    while shared.numbered().open.contains_key(&first) {
        if told.changed().await.is_err() {
            return;
        }
    }
}

enum Next {
    /// It stands in a record.
    Answered,
    /// This process has no number now, or too many numbers are open.
    Wait,
    Ask(Bytes),
}

impl Numbered {
    /// Whether a batch with this first number, sent under this number of the process, may still be answered.
    fn awaits(&self, first: u64, sent_by: Option<ProducerId>) -> bool {
        self.producer == sent_by && self.open.contains_key(&first)
    }

    /// What to do about a batch. Where this process got another number since it was last asked for, it never acted under the
    /// old one, and gets numbers under the new one.
    fn request(&mut self, first: &mut u64, numbered_for: &mut Option<ProducerId>) -> Next {
        let Some(producer) = self.producer else {
            return if self.open.contains_key(first) { Next::Wait } else { Next::Answered };
        };
        if *numbered_for != Some(producer) {
            let Some(mut open) = self.open.remove(first) else { return Next::Answered };
            if numbered_for.is_some() {
                *first = self.next;
                self.next += u64::from(open.count);
            }
            *numbered_for = Some(producer);
            open.asked = 0;
            renumber(&mut open.commands, producer, *first);
            self.open.insert(*first, open);
        }
        let oldest = self.open.first_key_value().map_or(*first, |(&oldest, _)| oldest);
        let Some(open) = self.open.get_mut(first) else { return Next::Answered };
        if *first - oldest > AHEAD_MAX {
            return Next::Wait;
        }
        open.asked += 1;
        let Open { commands, texts, count, .. } = open;
        Next::Ask(Bytes::from(Request::Submit { producer, count: *count, commands, texts }.encode()))
    }
}

impl Follower for Outcomes {
    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(u64::MAX)
    }

    fn wants(&self, _: RecordNumber, live: bool) -> bool {
        live
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        let mut done = Vec::new();
        let mut told = false;
        {
            let mut numbered = self.shared.numbered();
            for emitted in record.events.iter() {
                match &emitted.event {
                    Event::NumberSeen(seen) if numbered.producer == Some(seen.producer) => {
                        done.extend(numbered.open.remove(&seen.number).map(|open| (emitted.command, open)));
                    }
                    Event::GatewayAnnounced(event)
                        if event.incarnation == self.shared.gateway.incarnation() =>
                    {
                        numbered.producer = Some(event.producer);
                        self.shared.producer.is_now(event.producer);
                        told = true;
                    }
                    Event::GatewayRemoved(event) if numbered.producer == Some(event.producer) => {
                        self.shared.lose_number(&mut numbered);
                        told = true;
                    }
                    Event::LineageBegun(_) => {
                        self.shared.lose_number(&mut numbered);
                        told = true;
                    }
                    _ => {}
                }
            }
        }
        for (at, open) in done {
            told = true;
            self.shared.inbox.make_room(open.room);
            let mut first = at;
            for waiter in open.waiters {
                let count = waiter.count();
                waiter.answer(Answered::new(record.header.number, first, count, Arc::clone(&record.events)));
                first += count;
            }
        }
        if told {
            self.shared.told.send_modify(|told| *told += 1);
        }
        Ok(())
    }
}
