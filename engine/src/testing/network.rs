//! Several partitions, each with a journal of its own, and what their leaders do for each other: submit what waits, acknowledge
//! what was taken. What belongs here: what is true of all of them together, checked after each record. What never does: which
//! record comes next, which is the history's to say.

use super::{Body, Journal, count, decoded, encoded};
use crate::{
    Emitted, RULES_NEWEST,
    matches::{OPEN_PER_AGENT_MAX, OPEN_PER_PAIR_MAX},
};
use arena_schema::{
    Command, Event, Hash, LogTime,
    command::system::{AcknowledgeOutbox, ActivateRules, BeginLineage, OpenPartition},
    event::matches::MatchResult,
    hash::BodyDigest,
    id::{AgentKey, Incarnation, Lineage, MatchId, MatchKey, Partition, ProducerId, Protocol, RulesVersion},
    record::CommandHead,
};
use std::collections::{BTreeMap, BTreeSet};

/// A command for another partition, on its way.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) number: u64,
    pub(crate) kind: u16,
    pub(crate) body: Vec<u8>,
}

impl Letter {
    pub(crate) fn command(&self) -> (CommandHead, Body) {
        let producer = ProducerId::of_partition(Partition(self.from as u16));
        let head = CommandHead { producer, number: self.number, ..CommandHead::SEQUENCER };
        (head, Body::Raw(self.kind, self.body.clone()))
    }
}

/// The live gateways of partition 0, and the homes there of all that have something open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AtHome {
    live: BTreeSet<Incarnation>,
    homes: BTreeMap<AgentKey, Option<Incarnation>>,
}

pub(crate) struct Network {
    journals: Vec<Journal>,
    times: Vec<LogTime>,
    /// All that was ever sent from one to another: the entry of number n at n - 1.
    sent: BTreeMap<(usize, usize), Vec<BodyDigest>>,
    acted: BTreeMap<(usize, usize), u64>,
    /// What stood in partition 0 behind the record whose last entry for a partition has this number.
    stood: BTreeMap<(usize, u64), AtHome>,
    /// Partitions whose gateways are not those that 0 sent: their history began anew.
    parted: BTreeSet<usize>,
    numbers: BTreeMap<(usize, ProducerId), u64>,
    /// Which match each key of a partition stood for last, and how the matches ended.
    named: BTreeMap<(usize, MatchKey), MatchId>,
    ended: BTreeMap<MatchId, MatchResult>,
    pub(crate) kinds: BTreeMap<&'static str, u32>,
}

impl Network {
    /// Partitions under the newest rules, none of which knows another yet.
    pub(crate) fn of(partitions: u16) -> Self {
        let mut network = Self {
            journals: (0..partitions).map(|partition| Journal::of(Partition(partition))).collect(),
            // No two agree on the time.
            times: (0..partitions)
                .map(|at| LogTime(1_800_000_000_000_000 + 7_777_777 * u64::from(at)))
                .collect(),
            sent: BTreeMap::new(),
            acted: BTreeMap::new(),
            stood: BTreeMap::new(),
            parted: BTreeSet::new(),
            numbers: BTreeMap::new(),
            named: BTreeMap::new(),
            ended: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        for at in 0..network.journals.len() {
            for version in 2..=RULES_NEWEST.0 {
                network.write(at, ActivateRules { version: RulesVersion(version) });
            }
        }
        network
    }

    pub(crate) fn open_all(&mut self) {
        for partition in 1..self.journals.len() {
            self.write(0, OpenPartition { partition: Partition(partition as u16) });
        }
    }

    pub(crate) fn state(&self, at: usize) -> &crate::State {
        self.journals[at].state()
    }

    pub(crate) fn partitions(&self) -> usize {
        self.journals.len()
    }

    pub(crate) fn pass(&mut self, at: usize, us: u64) {
        self.times[at].0 += us;
    }

    /// The head of a gateway's next command there.
    pub(crate) fn by(&mut self, at: usize, producer: ProducerId) -> CommandHead {
        let number = self.numbers.entry((at, producer)).or_default();
        *number += 1;
        CommandHead { producer, number: *number, ..CommandHead::SEQUENCER }
    }

    /// A record of the sequencer with one command.
    pub(crate) fn write(&mut self, at: usize, command: impl Into<Command>) -> Vec<Event> {
        self.append(at, &[(CommandHead::SEQUENCER, Body::Known(command.into()))])
    }

    /// A record, and all that must be true behind it.
    #[track_caller]
    pub(crate) fn append(&mut self, at: usize, commands: &[(CommandHead, Body)]) -> Vec<Event> {
        self.times[at].0 += 1;
        let time = self.times[at];
        let emitted = self.journals[at].append(time, commands, |_| ()).expect("it is the next one").to_vec();
        self.follow(at, &emitted);
        self.check();
        for one in &emitted {
            let name = match &one.event {
                Event::Rejected(rejection) => rejection.as_str(),
                event => event.name(),
            };
            *self.kinds.entry(name).or_default() += 1;
        }
        emitted.into_iter().map(|one| one.event).collect()
    }

    /// The entries that wait from one to another behind `after`, at most so many.
    pub(crate) fn waiting(&self, from: usize, to: usize, after: u64, count_max: usize) -> Vec<Letter> {
        let waiting = self.state(from).outbox().waiting(Partition(to as u16), after);
        let letter = |(number, entry): (u64, &crate::Entry)| {
            let (kind, body) = (entry.kind, entry.body.clone());
            Letter { from, to, number, kind, body }
        };
        waiting.take(count_max).map(letter).collect()
    }

    /// What a leader does: it submits what the other side has not taken, and acknowledges what it has.
    pub(crate) fn carry(&mut self, from: usize, to: usize, count_max: usize) -> bool {
        let other = Partition(from as u16);
        let taken = self.state(to).outbox().taken(other);
        let letters = self.waiting(from, to, taken, count_max);
        let commands: Vec<_> = letters.iter().map(Letter::command).collect();
        if !commands.is_empty() {
            self.append(to, &commands);
        }
        self.acknowledge(from, to) || !commands.is_empty()
    }

    pub(crate) fn acknowledge(&mut self, from: usize, to: usize) -> bool {
        let through = self.state(to).outbox().taken(Partition(from as u16));
        let chain = self.state(to).outbox().taken_chain(Partition(from as u16));
        let to = Partition(to as u16);
        let news = through > self.state(from).outbox().acknowledged(to);
        if news {
            let events = self.write(from, AcknowledgeOutbox { to, through, chain });
            assert!(matches!(events.last(), Some(Event::OutboxTrimmed(_))), "{events:?}");
        }
        news
    }

    /// Carries until nothing waits anywhere.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut news = false;
            for p in 1..self.journals.len() {
                news |= self.carry(0, p, 100);
                news |= self.carry(p, 0, 100);
            }
            if !news {
                break;
            }
        }
        for p in 1..self.journals.len() {
            assert_eq!(self.state(0).outbox().waiting_count(Partition(p as u16)), 0);
            assert_eq!(self.state(p).outbox().waiting_count(Partition(0)), 0);
        }
    }

    /// Another history begins, as after a restore: every producer is gone.
    pub(crate) fn begin_lineage(&mut self, at: usize) {
        if at > 0 {
            self.parted.insert(at);
        }
        let head = *self.state(at).head();
        let lineage = Lineage([head.number.0 as u8; 16]);
        self.write(at, BeginLineage { lineage, number: head.number, hash: head.hash });
    }

    /// Its gateways are those of partition 0 again.
    pub(crate) fn rejoined(&mut self, p: usize) {
        self.parted.remove(&p);
        self.check();
    }

    /// Another process goes on from a snapshot.
    pub(crate) fn restart(&mut self, at: usize) {
        let state = decoded(&encoded(self.state(at)));
        self.journals[at].state = state;
    }

    pub(crate) fn digests(&self) -> Vec<Hash> {
        self.journals.iter().map(|journal| journal.state().head().digest).collect()
    }

    pub(crate) fn replay(&self, every: usize) {
        for journal in &self.journals {
            journal.replay_through_snapshots(every);
        }
    }

    /// Each entry is sent once, under the next number, and acts once, behind the one before.
    fn follow(&mut self, at: usize, events: &[Emitted]) {
        for Emitted { event, .. } in events {
            match event {
                Event::OutboxSent(e) => {
                    let sent = self.sent.entry((at, usize::from(e.to.0))).or_default();
                    sent.push(BodyDigest::of(e.kind, &e.body));
                    assert_eq!(e.number, sent.len() as u64, "an outbox has no gaps");
                    assert!(Command::decode(e.kind, &e.body).is_ok());
                }
                Event::NumberSeen(e) if e.producer.as_partition().is_some() => {
                    let from = usize::from(e.producer.as_partition().unwrap().0);
                    let acted = self.acted.entry((from, at)).or_default();
                    *acted += 1;
                    assert_eq!(e.number, *acted, "entries act once and in order");
                    assert_eq!(e.digest, self.sent[&(from, at)][*acted as usize - 1], "as they were sent");
                }
                Event::MatchOpened(e) => {
                    self.named.insert((at, e.key), e.id);
                }
                Event::MatchEnded(e) => {
                    let result = MatchResult { winner: e.winner, reason: e.reason };
                    self.ended.insert(self.named[&(at, e.key)], result);
                }
                Event::MatchReturned(e) if e.result.is_some() => {
                    assert_eq!(e.result.as_ref(), self.ended.get(&e.id), "0 is told how it ended");
                }
                _ => {}
            }
        }
        if at == 0 {
            let stands = self.at_home();
            for p in 1..self.journals.len() {
                let sent = self.state(0).outbox().sent(Partition(p as u16));
                self.stood.insert((p, sent), stands.clone());
            }
        }
        assert_eq!(count(events, |event| matches!(event, Event::MatchSent(_))), {
            let sent = |e: &Event| matches!(e, Event::OutboxSent(e) if e.kind == 0x0305);
            count(events, sent)
        });
    }

    fn at_home(&self) -> AtHome {
        let state = self.state(0);
        let agents = state.registry().agents().iter();
        let homes = agents.filter_map(|(slot, generation, _)| {
            let key = AgentKey { slot, generation };
            let (home, open) = state.homes.held(key);
            (open > 0).then(|| (key, state.producers.incarnation(home)))
        });
        AtHome { live: live(state), homes: homes.collect() }
    }

    fn check(&self) {
        let first = self.state(0);
        let mut away = BTreeMap::new();
        for p in 1..self.journals.len() {
            let (state, partition) = (self.state(p), Partition(p as u16));
            for (from, to, seen) in [(first, state, partition), (state, first, Partition(0))] {
                let from_partition = if seen == partition { Partition(0) } else { partition };
                let outbox = from.outbox();
                let (acknowledged, taken) = (outbox.acknowledged(seen), to.outbox().taken(from_partition));
                assert!(acknowledged <= taken && taken <= outbox.sent(seen), "{acknowledged} {taken}");
                let waiting = outbox.waiting_count(seen) as u64;
                assert_eq!(acknowledged + waiting, outbox.sent(seen));
            }
            // A match that 0 sent is in one place of three.
            let ways = [(0, p), (p, 0)].map(|(from, to)| {
                let taken = self.state(to).outbox().taken(Partition(from as u16));
                self.waiting(from, to, taken, usize::MAX)
            });
            for letter in ways.iter().flatten() {
                match Command::decode(letter.kind, &letter.body) {
                    Ok(Command::TakeMatch(take)) => note(&mut away, take.id, "on its way"),
                    Ok(Command::ReturnMatch(back)) => note(&mut away, back.id, "on its way back"),
                    _ => {}
                }
            }
            for (_, _, open) in state.matches().open().iter() {
                note(&mut away, open.id, "open");
            }
            assert!(state.matches().away().is_empty() && state.matches().of_agent.is_empty());
            self.check_homes(p);
        }
        assert!(away.keys().eq(first.matches().away().keys()), "{away:?} {:?}", first.matches().away());
        self.check_caps();
    }

    fn check_homes(&self, p: usize) {
        let state = self.state(p);
        if self.parted.contains(&p) {
            return;
        }
        let Some(stood) = self.stood.get(&(p, state.outbox().taken(Partition(0)))) else {
            // In the middle of what one record of partition 0 sent.
            return;
        };
        if state.outbox().taken(Partition(0)) == 0 {
            return;
        }
        assert_eq!(live(state), stood.live, "p has the gateways that 0 had");
        for (agent, guest) in state.guests().iter() {
            let home = state.producers.incarnation(guest.home);
            assert_eq!(stood.homes.get(&agent), Some(&home), "an agent has one home: {agent:?}");
        }
    }

    fn check_caps(&self) {
        let state = self.state(0);
        let housed = |agent: AgentKey| {
            state.registry().agent(agent).is_none_or(|known| known.protocol == Protocol::House)
        };
        let agents =
            || state.registry().agents().iter().map(|(slot, generation, _)| AgentKey { slot, generation });
        for agent in agents().filter(|agent| !housed(*agent)) {
            assert!(state.matches().open_of(agent) <= OPEN_PER_AGENT_MAX);
            for other in agents().filter(|other| *other != agent && !housed(*other)) {
                assert!(state.matches().open_between(agent, other) <= OPEN_PER_PAIR_MAX);
            }
        }
    }
}

#[track_caller]
fn note(away: &mut BTreeMap<MatchId, &'static str>, id: MatchId, place: &'static str) {
    let before = away.insert(id, place);
    assert_eq!(before, None, "{id} is in two places, the other is {place}");
}

fn live(state: &crate::State) -> BTreeSet<Incarnation> {
    state.producers().live().map(|(_, producer)| producer.incarnation).collect()
}
