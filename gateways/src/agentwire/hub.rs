//! All sessions of this process, kept in step with the records. What belongs here: turning a record's events into what happened in
//! each session. What never does: what a session makes of it (the room's), or a request's words.

use super::{
    entry::{Entry, Line},
    room::{Operation, Person, Room},
};
use crate::parts::{Part, Parts};
use arena_journal::{Followed, Follower, SealedText, TextOwner, Texts};
use arena_projectors::{JOIN_TYPE, LEAVE_TYPE};
use arena_schema::{
    Commitment, Event, LogTime, TextRef,
    command::sessions::Account,
    id::{Partition, RecordNumber, SessionId, SessionKey},
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{mpsc, watch};

/// How many reduced records may wait; beyond it the sequencer waits.
const RECORDS_WAITING_MAX: usize = 1_024;

/// The sessions. A clone is the same.
#[derive(Clone)]
pub(super) struct Hub(Arc<Shared>);

struct Shared {
    rooms: Mutex<HashMap<(Partition, SessionKey), Arc<Room>>>,
    texts: Texts,
    /// How far each partition was taken in.
    positions: Vec<watch::Sender<RecordNumber>>,
    /// What the arena's homes of sessions have to do.
    duties: mpsc::UnboundedSender<Duty>,
}

/// Work outside that an event gave to this process.
#[derive(Debug, Clone)]
pub(super) enum Duty {
    /// Ask the access service whether a session may be deleted.
    Ask { partition: Partition, session: SessionKey, id: SessionId, attempt: u32 },
    /// Destroy an ended session's key, then its objects.
    Destroy { id: SessionId },
}

/// Follows a partition for the hub. A clone follows another for the same.
#[derive(Clone)]
pub(crate) struct HubFollower {
    records: mpsc::Sender<Arc<Followed>>,
}

/// The records to come, for [`Hub::run`].
pub(crate) struct Coming {
    records: mpsc::Receiver<Arc<Followed>>,
}

/// The two ends of the way from the sequencers to the hub.
pub(crate) fn follow() -> (HubFollower, Coming) {
    let (sender, records) = mpsc::channel(RECORDS_WAITING_MAX);
    (HubFollower { records: sender }, Coming { records })
}

impl Follower for HubFollower {
    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(u64::MAX)
    }

    fn wants(&self, _: RecordNumber, live: bool) -> bool {
        live
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        // Where the hub has stopped before the sequencer, nobody asks it any more.
        let _ = self.records.blocking_send(Arc::clone(record));
        Ok(())
    }
}

impl Hub {
    /// The sessions that are open in these partitions. What comes beyond is for [`Hub::run`].
    pub(super) fn open(parts: &Parts, texts: &Texts) -> (Self, mpsc::UnboundedReceiver<Duty>) {
        let (duties, owed) = mpsc::unbounded_channel();
        let mut rooms = HashMap::new();
        let mut positions = Vec::new();
        for part in parts.iter() {
            let (position, those, asked) = rooms_of(part);
            for duty in asked {
                // The other end is what this gives back.
                let _ = duties.send(duty);
            }
            positions.push(watch::Sender::new(position));
            rooms.extend(those.into_iter().map(|room| ((room.partition, room.key), Arc::new(room))));
        }
        let shared = Shared { rooms: Mutex::new(rooms), texts: texts.clone(), positions, duties };
        (Self(Arc::new(shared)), owed)
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<(Partition, SessionKey), Arc<Room>>> {
        self.0.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that is open.
    pub(super) fn room(&self, partition: Partition, session: SessionKey) -> Option<Arc<Room>> {
        self.rooms().get(&(partition, session)).cloned()
    }

    /// All sessions of a partition in which somebody's receive waits.
    pub(super) fn received_in(&self, partition: Partition) -> Vec<Arc<Room>> {
        let rooms: Vec<_> =
            self.rooms().values().filter(|room| room.partition == partition).cloned().collect();
        rooms.into_iter().filter(|room| room.is_received_in()).collect()
    }

    /// Waits until the sessions are where a partition's state is; false where that takes too long.
    pub(super) async fn is_at(&self, part: &Part, wait: Duration) -> bool {
        let Some(position) = self.0.positions.get(usize::from(part.partition.0)) else { return false };
        let wanted = part.handle.position();
        if *position.borrow() >= wanted {
            return true;
        }
        let mut position = position.subscribe();
        let there = position.wait_for(|position| *position >= wanted);
        matches!(tokio::time::timeout(wait, there).await, Ok(Ok(_)))
    }

    /// Takes records in until nobody sends any more.
    pub(super) async fn run(self, parts: Parts, mut coming: Coming) {
        while let Some(record) = coming.records.recv().await {
            let partition = record.header.partition;
            let Some(position) = self.0.positions.get(usize::from(partition.0)) else { continue };
            // Those before were in the state that the rooms were made of.
            if record.header.number > *position.borrow() {
                if let Some(part) = parts.get(partition) {
                    self.take_in(part, &record);
                }
                position.send_replace(record.header.number);
            }
        }
    }

    fn take_in(&self, part: &Part, record: &Followed) {
        let now = record.header.time;
        let texts = OnceCell::new();
        let mut events = record.events.iter().peekable();
        while let Some(first) = events.next() {
            // What one command did is one operation.
            let mut operations: BTreeMap<SessionKey, Operation> = BTreeMap::new();
            let mut at = Some(first);
            while let Some(emitted) = at {
                let texts = || texts.get_or_init(|| by_commitment(record));
                self.take_event(part, now, &emitted.event, texts, &mut operations);
                at = events.next_if(|next| next.command == first.command);
            }
            for (session, operation) in operations {
                let room = if operation.ends {
                    self.rooms().remove(&(part.partition, session))
                } else {
                    self.room(part.partition, session)
                };
                if let Some(room) = room {
                    room.take_in(operation, now);
                }
            }
        }
    }

    fn take_event<'a, 'b>(
        &self,
        part: &Part,
        now: LogTime,
        event: &Event,
        texts: impl FnOnce() -> &'b BTreeMap<Commitment, &'a SealedText>,
        operations: &mut BTreeMap<SessionKey, Operation>,
    ) where
        'a: 'b,
    {
        let partition = part.partition;
        match event {
            Event::SessionCreated(event) => {
                let place = (partition, event.session, event.id);
                let room = Room::new(place, event.owned, Vec::new(), 0);
                self.rooms().insert((partition, event.session), Arc::new(room));
            }
            Event::SessionJoined(event) => {
                let Some(room) = self.room(partition, event.session) else { return };
                let clear =
                    Clear { texts: &self.0.texts, owner: TextOwner::Session(room.id), beside: texts() };
                let name = clear.text(&event.name_text);
                let account = clear.account(event.account.as_ref());
                let person = Person::new(Some(name.clone()), account.clone(), true, 0, now);
                let operation = operations.entry(event.session).or_default();
                operation.joined.push((event.participant, person));
                let entry = movement(event.n, now, &name, JOIN_TYPE, account.as_deref());
                operation.lines.push(Arc::new(entry.line(event.participant)));
            }
            Event::SessionRejoined(event) => {
                let Some(room) = self.room(partition, event.session) else { return };
                let clear =
                    Clear { texts: &self.0.texts, owner: TextOwner::Session(room.id), beside: texts() };
                let account = event.account.as_ref().map(|account| clear.text(&account.text));
                let operation = operations.entry(event.session).or_default();
                operation.moved.push((event.participant, true));
                operation.accounts.push((event.participant, account.clone()));
                put(operation, &room, event.participant, event.n, |name| {
                    movement(event.n, now, name, JOIN_TYPE, account.as_deref()).line(event.participant)
                });
            }
            Event::SessionLeft(event) => {
                let Some(room) = self.room(partition, event.session) else { return };
                let account = room.account_of(event.participant);
                let operation = operations.entry(event.session).or_default();
                operation.moved.push((event.participant, false));
                put(operation, &room, event.participant, event.n, |name| {
                    movement(event.n, now, name, LEAVE_TYPE, account.as_deref()).line(event.participant)
                });
            }
            Event::EntrySent(event) => {
                let Some(room) = self.room(partition, event.session) else { return };
                let operation = operations.entry(event.session).or_default();
                let account = room.account_of(event.participant);
                let clear =
                    Clear { texts: &self.0.texts, owner: TextOwner::Session(room.id), beside: texts() };
                put(operation, &room, event.participant, event.n, |name| {
                    let payload =
                        event.payload.object.is_none().then(|| clear.bytes(&event.payload.commitment));
                    let payload = payload.flatten();
                    let filename = event.filename.as_ref().map(|name| clear.text(name));
                    let entry = Entry {
                        n: event.n,
                        time: now,
                        from: name,
                        kind: &clear.text(&event.kind),
                        size: event.payload.size,
                        filename: filename.as_deref(),
                        payload: payload.as_deref(),
                        account: account.as_deref(),
                    };
                    entry.line(event.participant)
                });
            }
            Event::AccountSet(event) => {
                let Some(room) = self.room(partition, event.session) else { return };
                let clear =
                    Clear { texts: &self.0.texts, owner: TextOwner::Session(room.id), beside: texts() };
                let account = clear.account(event.account.as_ref());
                let operation = operations.entry(event.session).or_default();
                operation.accounts.push((event.participant, account));
            }
            Event::ParticipantReplaced(event) => {
                operations.entry(event.session).or_default().replaced.push(event.participant);
            }
            Event::ReadsMoved(event) => {
                if let Some(room) = self.room(partition, event.session) {
                    room.move_reads(event.reads.iter().map(|one| (one.participant, one.read)), now);
                }
            }
            Event::DeletionDue(event) if event.home == part.producer.id() => {
                let duty =
                    Duty::Ask { partition, session: event.session, id: event.id, attempt: event.attempt };
                // Where nobody takes it any more, the process ends, and another takes it over.
                let _ = self.0.duties.send(duty);
            }
            Event::SessionEnded(event) => {
                operations.entry(event.session).or_default().ends = true;
                if event.home == part.producer.id() {
                    let _ = self.0.duties.send(Duty::Destroy { id: event.id });
                }
            }
            _ => {}
        }
    }
}

/// An entry of a session's log is made where somebody looks at the session; where nobody does, only its number is kept.
fn put(operation: &mut Operation, room: &Room, who: u32, n: u64, line: impl FnOnce(&str) -> Line) {
    match room.name_of(who) {
        Some(name) => operation.lines.push(Arc::new(line(&name))),
        None => operation.last = Some(n),
    }
}

fn movement<'a>(n: u64, time: LogTime, name: &'a str, kind: &'a str, account: Option<&'a str>) -> Entry<'a> {
    Entry { n, time, from: name, kind, size: 0, filename: None, payload: None, account }
}

/// The texts beside a record, in clear.
struct Clear<'a, 'b> {
    texts: &'b Texts,
    owner: TextOwner,
    beside: &'b BTreeMap<Commitment, &'a SealedText>,
}

impl Clear<'_, '_> {
    /// A text; empty where its key is gone, and with it the session.
    fn text(&self, text: &TextRef) -> Arc<str> {
        let bytes = self.bytes(&text.commitment).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into()
    }

    fn account(&self, account: Option<&Account>) -> Option<Arc<str>> {
        account.map(|account| self.text(&account.text))
    }

    fn bytes(&self, commitment: &Commitment) -> Option<Vec<u8>> {
        let sealed = self.beside.get(commitment)?;
        self.texts
            .open_bytes(self.owner, commitment, &sealed.sealed)
            .inspect_err(|why| tracing::debug!(%why, "a session's text cannot be opened"))
            .ok()
    }
}

fn by_commitment(record: &Followed) -> BTreeMap<Commitment, &SealedText> {
    record.texts.iter().map(|text| (text.commitment, text)).collect()
}

/// The sessions of one partition's state, what this process is to ask about them, and the record that all this is of.
fn rooms_of(part: &Part) -> (RecordNumber, Vec<Room>, Vec<Duty>) {
    let state = part.handle.state();
    let now = state.head().time;
    let rooms = state.sessions().open().iter().map(|(slot, generation, session)| {
        let mut people = Vec::new();
        for (number, participant) in session.participants() {
            people.resize_with(number as usize - 1, Person::absent);
            // Whether it received lately nobody knows any more: it counts as there until it has been silent here.
            people.push(Person::new(None, None, participant.is_in(), participant.read, now));
        }
        let place = (part.partition, SessionKey { slot, generation }, session.id);
        Room::new(place, session.owned, people, session.entries)
    });
    let rooms = rooms.collect();
    let own = part.producer.id();
    let asked = state.sessions().questions().filter(|(_, _, question)| question.home == own);
    let asked = asked.map(|(session, held, question)| {
        let (id, attempt) = (held.id, question.attempt);
        Duty::Ask { partition: part.partition, session, id, attempt }
    });
    let asked = asked.collect();
    (state.head().number, rooms, asked)
}
