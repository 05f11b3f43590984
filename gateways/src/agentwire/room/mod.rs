//! One session as this process sees it: who is in, how far each has read, which receives wait, and the last entries. It is folded
//! from the records; only what waits, and since when nothing does, is this process's own (agentwire, *Presence*).
//!
//! Whether a participant is receiving changes in [`Room::wait`], `Inner::take` and `Inner::rest` alone: with several gateways, what
//! each of them says of its own receives is to be heard and told there.

mod told;

#[cfg(test)]
mod tests;

pub(super) use told::Touch;

use super::{
    acknowledge::Acks,
    entry::{Line, Stands, presence_line},
    params::Filter,
};
use arena_schema::{
    LogTime,
    id::{Partition, SessionId, SessionKey},
};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;
use told::Told;

/// How many entries are kept at hand, and of how many bytes together.
const RECENT_MAX: usize = 256;
const RECENT_BYTES_MAX: usize = 256 * 1024;

/// A session.
pub(in crate::agentwire) struct Room {
    pub(in crate::agentwire) partition: Partition,
    pub(in crate::agentwire) key: SessionKey,
    pub(in crate::agentwire) id: SessionId,
    pub(in crate::agentwire) owned: bool,
    /// The read positions that are on their way into the journal.
    pub(in crate::agentwire) acks: Acks,
    inner: Mutex<Inner>,
}

struct Inner {
    people: Vec<Person>,
    /// The number of the last entry.
    last: u64,
    /// Those at hand, without a gap up to the last.
    recent: VecDeque<Arc<Line>>,
    recent_bytes: usize,
    waiting: BTreeMap<u64, Waiting>,
    /// How many of them watch the presence.
    watching: usize,
    /// Whether every name is known.
    named: bool,
    tickets: u64,
    /// What the journal was told of the receives.
    told: Told,
    ended: bool,
}

/// A participant.
#[derive(Debug, Clone)]
pub(in crate::agentwire) struct Person {
    /// Its name in clear; none until somebody asks for the session.
    pub(in crate::agentwire) name: Option<Arc<str>>,
    pub(in crate::agentwire) is_in: bool,
    pub(in crate::agentwire) read: u64,
    pub(in crate::agentwire) account: Option<Arc<str>>,
    /// Its account was told before its name was looked up: what is looked up with it is older.
    vouched: bool,
    /// Its name was taken back: its link is nobody's.
    replaced: bool,
    /// When its last receive ended, or it joined.
    pub(in crate::agentwire) since: LogTime,
    /// Its newest receive.
    newest: u64,
    /// The one that ended last.
    resting: u64,
    /// The one that waits.
    waiting: Option<u64>,
}

impl Person {
    pub(in crate::agentwire) fn new(
        name: Option<Arc<str>>,
        account: Option<Arc<str>>,
        is_in: bool,
        read: u64,
        since: LogTime,
    ) -> Self {
        Self {
            name,
            is_in,
            read,
            account,
            vouched: false,
            replaced: false,
            since,
            newest: 0,
            resting: 0,
            waiting: None,
        }
    }

    /// The place of one that is no participant any more.
    pub(in crate::agentwire) fn absent() -> Self {
        Self::new(Some("".into()), None, false, 0, LogTime(0))
    }

    /// Whether a receive of it waits, and is one whose presence counts for those who watch it.
    fn counts(&self, waiting: &BTreeMap<u64, Waiting>) -> bool {
        self.waiting.and_then(|ticket| waiting.get(&ticket)).is_some_and(|waiting| !waiting.wants.presence)
    }
}

/// Where a participant of this number stands; the first has 1.
fn index(participant: u32) -> usize {
    (participant as usize).saturating_sub(1)
}

/// Why a receive ends whose name was taken back.
const TAKEN_BACK: &str = "the name was taken back by its account";

/// Whose receive it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agentwire) enum Who {
    /// A participant's, by its number in the session.
    Participant(u32),
    /// Of one who reads without joining.
    Reader,
}

/// What a receive waits for.
#[derive(Debug, Clone)]
pub(in crate::agentwire) struct Wants {
    pub(in crate::agentwire) after: u64,
    pub(in crate::agentwire) own: bool,
    pub(in crate::agentwire) presence: bool,
    pub(in crate::agentwire) filter: Filter,
}

impl Wants {
    pub(in crate::agentwire) fn takes(&self, who: Who, line: &Line) -> bool {
        let own = who == Who::Participant(line.who);
        line.n > self.after && (self.own || !own) && self.filter.wants(&line.kind)
    }
}

struct Waiting {
    who: Who,
    wants: Wants,
    /// The presence as it was when it began.
    saw: u64,
    wake: oneshot::Sender<Woken>,
}

/// Why a receive that waited ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agentwire) enum Woken {
    /// With the entries up to this one that it wants, if any, and this presence.
    Answer { upto: u64, presence: Bytes },
    /// A newer one of the same participant came.
    Replaced,
    /// The participant's name was taken back, or its link is no participant's any more.
    Refused(Arc<str>),
    /// The session ended.
    Ended,
}

/// A receive that is under way; once its number is known it may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agentwire) struct Ticket(u64);

/// What one operation did to a session, besides moving read positions.
#[derive(Debug, Default)]
pub(in crate::agentwire) struct Operation {
    pub(in crate::agentwire) lines: Vec<Arc<Line>>,
    /// Who joined for the first time.
    pub(in crate::agentwire) joined: Vec<(u32, Person)>,
    /// Who came back or left.
    pub(in crate::agentwire) moved: Vec<(u32, bool)>,
    /// Whose link is no participant's any more.
    pub(in crate::agentwire) replaced: Vec<u32>,
    /// The number of the last entry, where the lines are not made since nobody looks.
    pub(in crate::agentwire) last: Option<u64>,
    pub(in crate::agentwire) accounts: Vec<(u32, Option<Arc<str>>)>,
    pub(in crate::agentwire) ends: bool,
}

impl Room {
    pub(in crate::agentwire) fn new(
        (partition, key, id): (Partition, SessionKey, SessionId),
        owned: bool,
        people: Vec<Person>,
        last: u64,
    ) -> Self {
        let inner = Inner {
            named: people.iter().all(|person| person.name.is_some()),
            people,
            last,
            recent: VecDeque::new(),
            recent_bytes: 0,
            waiting: BTreeMap::new(),
            watching: 0,
            tickets: 0,
            told: Told::default(),
            ended: false,
        };
        Self { partition, key, id, owned, acks: Acks::default(), inner: Mutex::new(inner) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether every name is known.
    pub(in crate::agentwire) fn is_named(&self) -> bool {
        self.inner().named
    }

    /// The names and accounts that were looked up, by the participants' numbers.
    pub(in crate::agentwire) fn set_names(
        &self,
        names: impl IntoIterator<Item = (u32, Arc<str>, Option<Arc<str>>)>,
    ) {
        let mut inner = self.inner();
        for (at, name, account) in names {
            if let Some(person) = inner.people.get_mut(index(at)).filter(|person| person.name.is_none()) {
                person.name = Some(name);
                if !person.vouched {
                    person.account = account;
                }
            }
        }
        inner.named = inner.people.iter().all(|person| person.name.is_some());
    }

    /// Whether the session has ended.
    pub(in crate::agentwire) fn is_over(&self) -> bool {
        self.inner().ended
    }

    /// The number of the last entry.
    pub(in crate::agentwire) fn last(&self) -> u64 {
        self.inner().last
    }

    /// A participant's read position.
    pub(in crate::agentwire) fn read_of(&self, at: u32) -> u64 {
        self.inner().people.get(index(at)).map_or(0, |person| person.read)
    }

    /// Since when a participant has not been receiving; none while it is.
    pub(in crate::agentwire) fn silent_since(&self, at: u32) -> Option<LogTime> {
        let inner = self.inner();
        if inner.is_receiving(at) { None } else { inner.people.get(index(at)).map(|person| person.since) }
    }

    /// A participant's name.
    pub(in crate::agentwire) fn name_of(&self, at: u32) -> Option<Arc<str>> {
        self.inner().people.get(index(at))?.name.clone()
    }

    /// The account that a participant is vouched for by.
    pub(in crate::agentwire) fn account_of(&self, at: u32) -> Option<Arc<str>> {
        self.inner().people.get(index(at))?.account.clone()
    }

    /// The entries at hand behind this one, and the number of the last; none where some of them are at hand no more.
    pub(in crate::agentwire) fn recent(&self, after: u64) -> Option<(Vec<Arc<Line>>, u64)> {
        let inner = self.inner();
        if after >= inner.last {
            return Some((Vec::new(), inner.last));
        }
        let first = inner.recent.front()?.n;
        let behind = || inner.recent.iter().filter(|line| line.n > after).cloned().collect();
        (first <= after + 1).then(|| (behind(), inner.last))
    }

    /// Whether any participant's receive waits.
    pub(in crate::agentwire) fn is_received_in(&self) -> bool {
        self.inner().is_received_in()
    }

    /// A receive of a participant begins: one that waits is replaced.
    pub(in crate::agentwire) fn arrive(&self, who: Who, now: LogTime) -> Ticket {
        let mut inner = self.inner();
        inner.tickets += 1;
        let ticket = inner.tickets;
        if let Who::Participant(at) = who {
            inner.end_of(at, now, || Woken::Replaced);
            if let Some(person) = inner.people.get_mut(index(at)) {
                person.newest = ticket;
            }
        }
        Ticket(ticket)
    }

    /// The presence for a receive that returns at once: before it ends (CHOICES-agentwire 5).
    pub(in crate::agentwire) fn presence_for(&self, who: Who) -> Bytes {
        let inner = self.inner();
        let receiving = match who {
            Who::Participant(at) => Some(at),
            Who::Reader => None,
        };
        inner.presence(receiving)
    }

    /// A receive ends, however; one that was woken, or whose time was up, has ended already.
    pub(in crate::agentwire) fn depart(&self, ticket: Ticket, who: Who, now: LogTime) {
        let mut inner = self.inner();
        if inner.take(ticket.0, now).is_none()
            && let Who::Participant(at) = who
            && let Some(person) = inner.people.get_mut(index(at))
            && person.newest == ticket.0
            && person.resting != ticket.0
        {
            inner.rest(at, ticket.0, now);
        }
        inner.wake_watchers(now);
    }

    /// A receive waits from now on. Where entries came that it has not seen, it is told to look again.
    ///
    /// # Errors
    /// How it ends instead: replaced, or the session is over. None: it has to look again first.
    pub(in crate::agentwire) fn wait(
        &self,
        ticket: Ticket,
        who: Who,
        wants: Wants,
        now: LogTime,
    ) -> Result<oneshot::Receiver<Woken>, Option<Woken>> {
        let mut inner = self.inner();
        if inner.ended {
            return Err(Some(Woken::Ended));
        }
        if let Who::Participant(at) = who {
            let Some(person) = inner.people.get(index(at)) else { return Err(Some(Woken::Ended)) };
            if person.newest != ticket.0 {
                return Err(Some(Woken::Replaced));
            }
            if person.replaced {
                return Err(Some(Woken::Refused(TAKEN_BACK.into())));
            }
            if !person.is_in {
                return Err(Some(Woken::Answer { upto: inner.last, presence: inner.presence(None) }));
            }
        }
        if inner.last > wants.after && inner.missed(who, &wants) {
            return Err(None);
        }
        let (wake, woken) = oneshot::channel();
        let watches = wants.presence;
        inner.waiting.insert(ticket.0, Waiting { who, wants, saw: 0, wake });
        if let Who::Participant(at) = who
            && let Some(person) = inner.people.get_mut(index(at))
        {
            person.waiting = Some(ticket.0);
        }
        if watches {
            inner.watching += 1;
            // As it is now that it waits.
            let saw = inner.signature();
            if let Some(waiting) = inner.waiting.get_mut(&ticket.0) {
                waiting.saw = saw;
            }
        }
        inner.wake_watchers(now);
        Ok(woken)
    }

    /// A receive that waited ends by itself: its client is gone, or its time is up. Gives the presence before it ended and the
    /// last entry; none where it was woken meanwhile.
    pub(in crate::agentwire) fn stop_waiting(&self, ticket: Ticket, now: LogTime) -> Option<(u64, Bytes)> {
        let mut inner = self.inner();
        if !inner.waiting.contains_key(&ticket.0) {
            return None;
        }
        let answer = (inner.last, inner.presence(None));
        drop(inner.take(ticket.0, now)?);
        inner.wake_watchers(now);
        Some(answer)
    }

    /// Takes in what an operation did and answers the receives that it wakes, all with the same presence: the one from before any
    /// of them ended.
    pub(in crate::agentwire) fn take_in(&self, operation: Operation, now: LogTime) {
        self.inner().take_in(operation, now);
    }

    /// Read positions moved.
    pub(in crate::agentwire) fn move_reads(&self, reads: impl IntoIterator<Item = (u32, u64)>, now: LogTime) {
        let mut inner = self.inner();
        for (at, read) in reads {
            if let Some(person) = inner.people.get_mut(index(at)) {
                person.read = person.read.max(read);
            }
        }
        inner.wake_watchers(now);
    }
}

impl Inner {
    fn is_received_in(&self) -> bool {
        self.waiting.values().any(|waiting| waiting.who != Who::Reader)
    }

    fn is_receiving(&self, at: u32) -> bool {
        self.people.get(index(at)).is_some_and(|person| person.waiting.is_some())
    }

    /// Takes a receive out of those that wait.
    fn take(&mut self, ticket: u64, now: LogTime) -> Option<Waiting> {
        let waiting = self.waiting.remove(&ticket)?;
        self.watching -= usize::from(waiting.wants.presence);
        if let Who::Participant(at) = waiting.who {
            self.rest(at, ticket, now);
        }
        Some(waiting)
    }

    /// A participant's receive has ended.
    fn rest(&mut self, at: u32, ticket: u64, now: LogTime) {
        if let Some(person) = self.people.get_mut(index(at)) {
            (person.since, person.resting) = (now, ticket);
            person.waiting = person.waiting.filter(|waiting| *waiting != ticket);
        }
    }

    /// The presence; `also` counts as receiving.
    fn presence(&self, also: Option<u32>) -> Bytes {
        let here = self.people.iter().zip(1..).filter(|(person, _)| person.is_in);
        presence_line(here.map(|(person, at)| Stands {
            name: person.name.as_deref().unwrap_or_default(),
            read: person.read,
            since: (person.waiting.is_none() && also != Some(at)).then_some(person.since),
            account: person.account.as_deref(),
        }))
    }

    /// What a change of the presence is seen by (CHOICES-agentwire 6).
    fn signature(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (at, person) in self.people.iter().enumerate().filter(|(_, person)| person.is_in) {
            (at, person.read, &person.account, person.counts(&self.waiting)).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn missed(&self, who: Who, wants: &Wants) -> bool {
        match self.recent.front() {
            Some(first) if first.n <= wants.after + 1 => {
                self.recent.iter().any(|line| wants.takes(who, line))
            }
            // They are not at hand.
            _ => true,
        }
    }

    fn keep(&mut self, line: &Arc<Line>) {
        self.recent_bytes += line.json.len();
        self.recent.push_back(Arc::clone(line));
        while self.recent.len() > RECENT_MAX
            || (self.recent_bytes > RECENT_BYTES_MAX && self.recent.len() > 1)
        {
            let Some(gone) = self.recent.pop_front() else { break };
            self.recent_bytes -= gone.json.len();
        }
    }

    fn take_in(&mut self, operation: Operation, now: LogTime) {
        let Operation { lines, joined, moved, replaced, last, accounts, ends } = operation;
        let mut leaving = Vec::new();
        for (at, is_in) in moved {
            if let Some(person) = self.people.get_mut(index(at)) {
                person.is_in = is_in;
                if is_in {
                    person.since = now;
                } else {
                    leaving.push(at);
                }
            }
        }
        if self.people.iter().all(|person| !person.is_in) {
            // With the last one out the journal forgets who waited where, also where another takes the name over.
            self.told.forget();
        }
        for (at, person) in joined {
            if self.people.len() <= index(at) {
                self.people.resize_with(index(at) + 1, Person::absent);
            }
            self.people[index(at)] = person;
        }
        for (at, account) in accounts {
            if let Some(person) = self.people.get_mut(index(at)) {
                (person.account, person.vouched) = (account, true);
            }
        }
        if let Some(last) = last {
            // Some are not at hand, so none behind them are.
            self.last = lines.last().map_or(last, |line| line.n.max(last));
            (self.recent_bytes, self.recent) = (0, VecDeque::new());
        } else {
            for line in &lines {
                self.last = line.n;
                self.keep(line);
            }
        }
        self.ended |= ends;
        for at in replaced {
            if let Some(person) = self.people.get_mut(index(at)) {
                (person.is_in, person.replaced) = (false, true);
            }
            self.end_of(at, now, || Woken::Refused(TAKEN_BACK.into()));
        }
        if self.waiting.is_empty() {
            return;
        }
        let signature = if self.watching > 0 { self.signature() } else { 0 };
        let wakes = |waiting: &Waiting| {
            ends || lines.iter().any(|line| waiting.wants.takes(waiting.who, line))
                || matches!(waiting.who, Who::Participant(at) if leaving.contains(&at))
                || (waiting.wants.presence && waiting.saw != signature)
        };
        let woken: Vec<u64> =
            self.waiting.iter().filter(|(_, waiting)| wakes(waiting)).map(|(&ticket, _)| ticket).collect();
        if woken.is_empty() {
            return;
        }
        let presence = self.presence(None);
        self.answer(&woken, &presence, now);
        self.wake_watchers(now);
    }

    fn answer(&mut self, woken: &[u64], presence: &Bytes, now: LogTime) {
        for &ticket in woken {
            let Some(waiting) = self.take(ticket, now) else { continue };
            // Who is gone meanwhile has ended by itself.
            let _ = waiting.wake.send(Woken::Answer { upto: self.last, presence: presence.clone() });
        }
    }

    fn end_of(&mut self, at: u32, now: LogTime, woken: impl Fn() -> Woken) {
        let theirs = self.people.get(index(at)).and_then(|person| person.waiting);
        if let Some(waiting) = theirs.and_then(|ticket| self.take(ticket, now)) {
            let _ = waiting.wake.send(woken());
        }
    }

    /// Answers those who wait for a change of the presence, where it has changed. Whether they themselves are receiving doesn't
    /// count, so that their end wakes nobody else.
    fn wake_watchers(&mut self, now: LogTime) {
        if self.watching == 0 {
            return;
        }
        let signature = self.signature();
        let changed = |waiting: &Waiting| waiting.wants.presence && waiting.saw != signature;
        let woken: Vec<u64> =
            self.waiting.iter().filter(|(_, waiting)| changed(waiting)).map(|(&ticket, _)| ticket).collect();
        if !woken.is_empty() {
            let presence = self.presence(None);
            self.answer(&woken, &presence, now);
        }
    }
}
