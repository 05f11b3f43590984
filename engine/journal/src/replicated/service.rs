//! The leader's side of `arena.submit.<partition>` and `arena.position.<partition>`: takes gateways' commands into its queue,
//! times their leases by its own monotonic clock, and says how far the journal may have been seen.

use super::{
    lease::Held,
    leaving::Leaving,
    wire::{Reply, Request},
};
use crate::{
    sequencer::{Inbox, Submission, SubmitError},
    texts::decode_texts,
};
use arena_engine::{RULES_PARTITIONS, State};
use arena_schema::{
    Event,
    command::system::{AnnounceGateway, GatewayGone},
    id::{Incarnation, Partition, ProducerId, RecordNumber, RulesVersion},
    record::Commands,
    subject,
};
use async_nats::Client;
use bytes::Bytes;
use futures::StreamExt;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// How long after its last renewal a gateway is taken for gone.
pub const GATEWAY_LEASE: Duration = Duration::from_secs(6);
/// How often the leases are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How long a request may wait for room before its gateway is told to ask again.
const ROOM_WAIT: Duration = Duration::from_millis(800);
/// Kinds below it are the sequencer's own.
const FIRST_KIND_OF_OTHERS: u16 = 0x0100;

/// What the service works with while its process leads.
pub(super) struct Service {
    pub(super) client: Client,
    pub(super) partition: Partition,
    pub(super) state: Arc<RwLock<State>>,
    pub(super) inbox: Inbox,
    /// The last record that was sent to be stored.
    pub(super) sent: Arc<AtomicU64>,
    /// The record of this process's announcement, once it is reduced: no other process writes from there on.
    pub(super) announced: watch::Receiver<Option<RecordNumber>>,
    /// Whether this process may lead, and until when.
    pub(super) holds: watch::Receiver<Option<Held>>,
    /// The term in which it leads.
    pub(super) term: u64,
    /// Who said that they are about to stop.
    pub(super) leaving: Arc<Leaving>,
    /// Where records' times come from a clock that is moved by hand.
    pub(super) still: bool,
}

/// When each gateway was last heard of, in this lead.
#[derive(Default)]
struct Leases(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    /// Since when this process leads: what came before may have been lost.
    since: Option<Instant>,
    last: BTreeMap<Incarnation, Instant>,
    /// Who was taken for gone. The record that says so is on its way, and no renewal is promised any more.
    gone: BTreeSet<Incarnation>,
}

impl Leases {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its lease goes on from now.
    fn renew(&self, incarnation: Incarnation) -> bool {
        let mut heard = self.heard();
        if heard.gone.contains(&incarnation) {
            return false;
        }
        heard.last.insert(incarnation, Instant::now());
        true
    }

    /// Those that were not heard of for too long, each told once; who was not heard of in this lead counts from its beginning.
    fn overdue(&self, live: &[Incarnation], now: Instant) -> Vec<Incarnation> {
        let mut heard = self.heard();
        let since = *heard.since.get_or_insert(now);
        heard.last.retain(|incarnation, _| live.contains(incarnation));
        heard.gone.retain(|incarnation| live.contains(incarnation));
        let mut overdue = Vec::new();
        for &incarnation in live {
            let last = heard.last.get(&incarnation).map_or(since, |last| since.max(*last));
            if now.duration_since(last) >= GATEWAY_LEASE && heard.gone.insert(incarnation) {
                overdue.push(incarnation);
            }
        }
        overdue
    }
}

impl Service {
    fn state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process leads beyond doubt: its lease holds and its announcement is in the journal.
    fn leads(&self) -> bool {
        let held = *self.holds.borrow();
        self.announced.borrow().is_some()
            && held.is_some_and(|held| held.term == self.term && !held.is_over())
    }

    /// Whether gateways announce themselves here: with several partitions in the first alone, whose leader times their leases.
    fn times_leases(&self) -> bool {
        self.partition == Partition(0) || self.state().rules() < RULES_PARTITIONS
    }

    /// Answers until it is aborted.
    ///
    /// # Errors
    /// Why it cannot listen, in words.
    pub(super) async fn run(self) -> Result<(), String> {
        let service = Arc::new(self);
        let words = |why: async_nats::SubscribeError| why.to_string();
        let partition = service.partition;
        let mut submits = service.client.subscribe(subject::submit(partition)).await.map_err(words)?;
        let mut positions = service.client.subscribe(subject::position(partition)).await.map_err(words)?;
        let leases = Arc::new(Leases::default());
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let (message, submitted) = tokio::select! {
                message = submits.next() => (message, true),
                message = positions.next() => (message, false),
                _ = looks.tick() => {
                    service.end_the_silent(&leases);
                    continue;
                }
            };
            let message = message.ok_or("the connection to NATS was closed")?;
            let Some(to) = message.reply else { continue };
            let (service, leases) = (Arc::clone(&service), Arc::clone(&leases));
            // Whoever was let in is answered also when the lead is over: that it stands in a record stays true.
            tokio::spawn(async move {
                let reply = if submitted {
                    service.answer(&message.payload, &leases).await.map(|reply| reply.encode())
                } else {
                    service.tell_position(&message.payload)
                };
                // Without an answer the gateway asks again, perhaps another leader.
                if let Some(reply) = reply {
                    let sent = service.client.publish(to, Bytes::from(reply)).await;
                    if let Err(why) = sent {
                        tracing::debug!(%why, "a reply to a gateway cannot be sent");
                    }
                }
            });
        }
    }

    /// Gateways that were silent for too long are gone.
    fn end_the_silent(&self, leases: &Leases) {
        if !self.leads() || !self.times_leases() {
            return;
        }
        let live: Vec<Incarnation> =
            self.state().producers().live().map(|(_, producer)| producer.incarnation).collect();
        for incarnation in leases.overdue(&live, Instant::now()) {
            tracing::warn!(%incarnation, "a gateway was silent for too long: what it was to do passes to another");
            // Where the queue has ended, so has this service.
            let _ = self.inbox.put_own(vec![Submission::new(GatewayGone { incarnation })]);
        }
    }

    /// How far the journal may have been seen, on a subject that analysts may ask on too: to them as a decimal number, to a
    /// gateway in the words of its other questions, none of which is heard here.
    fn tell_position(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let in_decimal = payload.is_empty();
        if !in_decimal && Request::decode(payload) != Ok(Request::Position) {
            let why = "only the position is told here".to_owned();
            return Some(Reply::Refused { why }.encode());
        }
        let record = RecordNumber(self.sent.load(Ordering::SeqCst));
        let told =
            || if in_decimal { record.to_string().into() } else { Reply::Position { record }.encode() };
        self.leads().then(told)
    }

    async fn answer(&self, payload: &[u8], leases: &Leases) -> Option<Reply> {
        let request = match Request::decode(payload) {
            Ok(request) => request,
            Err(why) => return Some(Reply::Refused { why }),
        };
        if matches!(request, Request::Announce { .. } | Request::Renew { .. } | Request::Leave { .. })
            && !self.times_leases()
        {
            let why = "gateways announce themselves in partition 0".to_owned();
            return Some(Reply::Refused { why });
        }
        match request {
            Request::Announce { incarnation, rules_known } => {
                leases.renew(incarnation);
                self.announce(incarnation, rules_known).await
            }
            Request::Renew { incarnation } if self.leads() => {
                let known = self.state().producers().of(&incarnation).is_some();
                Some(if known && leases.renew(incarnation) { Reply::Renewed } else { Reply::Gone })
            }
            Request::Leaving { incarnation } => {
                self.leaving.begins(incarnation);
                Some(Reply::Done)
            }
            Request::Leave { incarnation } => {
                let gone = vec![Submission::new(GatewayGone { incarnation })];
                let Ok(pending) = self.inbox.put_own(gone) else { return Some(Reply::Busy) };
                Some(if pending.answered().await.is_ok() { Reply::Done } else { Reply::Busy })
            }
            Request::Submit { producer, count, commands, texts } => {
                self.submit(producer, count, commands, texts).await
            }
            Request::Position if self.leads() => {
                Some(Reply::Position { record: RecordNumber(self.sent.load(Ordering::SeqCst)) })
            }
            Request::Advance { micros } if self.still => {
                self.inbox.advance(micros).await.ok()?;
                Some(Reply::Done)
            }
            Request::Advance { .. } => Some(Reply::Refused { why: "the clock goes by itself".to_owned() }),
            Request::Renew { .. } | Request::Position => None,
        }
    }

    async fn announce(&self, incarnation: Incarnation, rules_known: RulesVersion) -> Option<Reply> {
        let announce = Submission::new(AnnounceGateway { incarnation, rules_known });
        let Ok(pending) = self.inbox.put_own(vec![announce]) else { return Some(Reply::Busy) };
        let Ok(answered) = pending.answered().await else { return Some(Reply::Busy) };
        match answered.events(0) {
            Ok(mut events) => events.find_map(|event| match event {
                Event::GatewayAnnounced(event) if event.incarnation == incarnation => {
                    Some(Reply::Announced { producer: event.producer })
                }
                _ => None,
            }),
            Err(rejection) => Some(Reply::Refused { why: rejection.to_string() }),
        }
    }

    async fn submit(&self, producer: ProducerId, count: u32, commands: &[u8], texts: &[u8]) -> Option<Reply> {
        if let Err(why) = check(producer, count, commands) {
            return Some(Reply::Refused { why });
        }
        let texts = match decode_texts(RecordNumber(0), texts) {
            Ok(texts) => texts,
            Err(why) => return Some(Reply::Refused { why: why.to_string() }),
        };
        // Another partition is no process that could be gone.
        let known = producer.as_partition().is_some()
            || self.state().producers().live().any(|(id, _)| id == producer);
        if !known {
            // Before its announcement this process may lack records in which the gateway was announced.
            return Some(if self.leads() { Reply::Gone } else { Reply::Busy });
        }
        let putting = self.inbox.put_foreign(commands.to_vec(), count, texts);
        let pending = match tokio::time::timeout(ROOM_WAIT, putting).await {
            Ok(Ok(pending)) => pending,
            // Where this process may lead no more, another may have taken them.
            Ok(Err(SubmitError::Short(shortage))) if self.leads() => {
                return Some(Reply::Short { why: shortage.0 });
            }
            // There is no room now, or the lead is over.
            _ => return Some(Reply::Busy),
        };
        Some(match pending.answered().await {
            Ok(answered) => Reply::Placed { record: answered.record() },
            // Whether they are stored the records show; asked again they act once.
            Err(_) => Reply::Busy,
        })
    }
}

/// Whether these are so many commands of this producer's, and none that is the sequencer's alone.
fn check(producer: ProducerId, count: u32, commands: &[u8]) -> Result<(), String> {
    let mut found = 0_u32;
    for command in Commands::of(commands) {
        let command = command.map_err(|why| why.to_string())?;
        if command.head.producer != producer || producer == ProducerId::SEQUENCER {
            return Err(format!("a command names the producer {}", command.head.producer.0));
        }
        // What another partition may submit, the engine says.
        if command.kind < FIRST_KIND_OF_OTHERS && producer.as_partition().is_none() {
            return Err(format!("commands of the kind {:#06x} are the sequencer's", command.kind));
        }
        found += 1;
    }
    if found == count && count > 0 { Ok(()) } else { Err(format!("{found} commands came as {count}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Incarnation = Incarnation([1; 16]);
    const TWO: Incarnation = Incarnation([2; 16]);

    #[test]
    fn a_gateway_is_gone_after_its_lease_in_this_lead_and_is_promised_nothing_from_then_on() {
        let leases = Leases::default();
        // Before this process leads, and long ago when it does.
        assert!(leases.renew(ONE));
        let begin = Instant::now() + 10 * GATEWAY_LEASE;
        assert!(
            leases.overdue(&[ONE, TWO], begin).is_empty(),
            "what came before the lead may have been lost"
        );
        assert!(leases.overdue(&[ONE, TWO], begin + GATEWAY_LEASE / 2).is_empty());
        assert_eq!(leases.overdue(&[ONE, TWO], begin + GATEWAY_LEASE), [ONE, TWO]);
        assert!(!leases.renew(ONE), "the record that it is gone is on its way");
        assert!(leases.overdue(&[ONE, TWO], begin + 2 * GATEWAY_LEASE).is_empty(), "each is told once");
        assert!(leases.overdue(&[], begin).is_empty());
        assert!(leases.renew(ONE), "nothing is kept of who is not live");
    }
}
