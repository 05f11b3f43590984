//! The thread of one process and one partition: it follows the records, and leads in its terms.

use super::{
    carrier::Carrier, keeper::Leadership, leaving::Leaving, peers::Peers, publisher::Publisher,
    service::Service,
};
use crate::{
    clock::Clock,
    jetstream::{JetStreamJournal, Nats, OwnedRecord, Tail},
    sequencer::{Durable, End, Lead, LeadOptions, Replica, Stopped, Submission, end},
    texts::decode_texts,
};
use arena_engine::RULES_PARTITIONS;
use arena_schema::{
    command::system::ActivateRules,
    id::{Partition, RecordNumber},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// How long a record is waited for before the other duties are looked at.
const STEP: Duration = Duration::from_millis(20);
/// Before a journal that cannot be read is read again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long an orderly end of the lead waits for the public events before it.
const EVENTS_WAIT: Duration = Duration::from_secs(1);

/// The node's thread.
pub(super) struct Following {
    pub(super) tail: Tail,
    pub(super) journal: JetStreamJournal,
    pub(super) replica: Replica,
    pub(super) nats: Nats,
    pub(super) partition: Partition,
    pub(super) clock: Clock,
    pub(super) leadership: Option<Leadership>,
    /// There where this process may lead.
    pub(super) publisher: Option<Publisher>,
    pub(super) peers: Peers,
    pub(super) stopping: Arc<AtomicBool>,
    /// The last record that was given to the reducer.
    pub(super) fed: RecordNumber,
}

impl Following {
    pub(super) fn live(mut self) -> Result<(), Stopped> {
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

    /// Whether this is a partition beside the first whose rules do not know of any other yet.
    fn is_fresh(&self) -> bool {
        self.peers.are_several()
            && self.partition != Partition(0)
            && self.replica.state().rules() < RULES_PARTITIONS
    }

    /// Whether a leader that was asked to stop at that time may go. Gateways leave in the first partition, when all that they
    /// submitted in the others is answered.
    fn lets_go(&self, leaving: &Leaving, asked: Instant) -> bool {
        match self.peers.get(Partition(0)) {
            Some(first) => leaving.lets_go(asked, &first.state()),
            None => leaving.lets_go(asked, &self.replica.state()),
        }
    }

    /// Leads until it is deposed, or asked to stop.
    fn lead(&mut self, term: u64) {
        if !self.catch_up(term) {
            return;
        }
        let Some(leadership) = &self.leadership else { return };
        if let Err(why) = self.peers.check_books(&self.replica.state()) {
            tracing::error!(why, "this process refuses to lead");
            return end(why, &self.replica.stopped);
        }
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
        if self.is_fresh() {
            // Before anything else comes: a partition under older rules takes nothing from another.
            let activate = Submission::new(ActivateRules { version: RULES_PARTITIONS });
            // Where the lead is over already, the next one does it.
            let _ = lead.inbox.put_own(vec![activate]);
        }
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
        let carrier = Carrier {
            client: self.nats.client().clone(),
            partition: self.partition,
            state: Arc::clone(&self.replica.state),
            position: self.replica.position.clone(),
            inbox: lead.inbox.clone(),
            peers: self.peers.clone(),
            stopped: Arc::clone(&self.replica.stopped),
        };
        let mut carrier = Some(carrier);
        let mut carrying = None;
        let (mut asked_to_stop, mut stopping_since) = (false, None);
        let mut gave_up = false;
        while !lead.ended() {
            if announced.borrow().is_none() && *self.replica.position.borrow() > before {
                tracing::info!(partition = self.partition.0, record = before.next().0, "this process leads");
                announced.send_replace(Some(before.next()));
                if let Some(publisher) = &self.publisher {
                    publisher.lead(before.next());
                }
                carrying = carrier.take().map(|carrier| self.nats.runtime().spawn(carrier.run()));
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
                && self.lets_go(&leaving, *stopping_since.get_or_insert_with(Instant::now))
            {
                asked_to_stop = true;
                lead.inbox.stop();
            }
            thread::sleep(Duration::from_millis(5));
        }
        service.abort();
        if let Some(carrying) = carrying {
            carrying.abort();
        }
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
