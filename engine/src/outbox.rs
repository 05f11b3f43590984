//! What crosses partitions: commands that wait for another partition, and how far each other partition's commands were taken
//! here. What belongs here: the numbers, exactly once and in order. What never does: what an entry does, or who carries it.
//!
//! Partition 0 has the registry, the homes and the caps; each other partition has matches, those whose id names it. An entry is a
//! command of the other side. Its event carries the whole of it; the sender's leader submits it there as
//! [`ProducerId::of_partition`], under the number that it has for this pair of partitions.
//!
//! | from → to | command | acts as | where that is not so any more |
//! |---|---|---|---|
//! | 0 → p | `AnnounceGateway` | the process has a number here too, and takes over what has no home | known: the same number |
//! | 0 → p | `GatewayGone` | what it was to ask is asked anew from where rendezvous says among those who are left | unknown here: nothing |
//! | 0 → p | `TakeMatch` | the agents are guests, the match is opened, the homes are those that 0 named | a home that is unknown here: rendezvous among those that are known, or none; a game that these rules do not play: `ReturnMatch` at once; open already: nothing |
//! | p → 0 | `ReturnMatch` | the match counts as open no more, and partition 0 has its result | unknown to 0: nothing |
//!
//! - An entry acts when its number is the next one, and uses it up by that. A number at or below the last is `Duplicate`,
//!   `NumberReused` or `Expired`, one beyond the next is `OutboxGap`. An entry that is refused, for whatever reason, uses up
//!   nothing: it waits in the sender's outbox and comes again. So it is never lost, and nothing overtakes it.
//! - The sender's leader acknowledges (`AcknowledgeOutbox`) what the *state* of the other side shows as taken ([`Outbox::taken`]),
//!   never what an answer said. What was acknowledged leaves the outbox. Both sides keep a chain over the entries' digests: where
//!   one of them was restored to another history, the acknowledgement is refused (`OutboxForked`), and nothing leaves.
//! - At its cap partition 0 refuses to open (`OutboxFull`). A partition at its own refuses to take: 0 keeps the entry. For each
//!   match that is open there is room for the entry of its end, for each live gateway for that of its going, so neither is ever
//!   refused.
//! - The live gateways of p are those that 0 had when it sent the last entry that p took. Both choose homes by the same function
//!   of the same list, when one comes and when one goes, for whatever is open (see [`crate::homes`]); so an agent that plays in
//!   several partitions has one home, but for what is on its way.
//! - A gateway that goes is not waited for: what is open at p is asked anew when p takes the entry. Until then it is p's.
//! - What p keeps of an agent never changes while the agent lives: its id, handle, protocol and method. An address is looked up at
//!   the asking, in 0's state. No command that p takes is judged by a credential. No agent is ever unregistered; were one, its
//!   matches at p would go on from the copies.
//! - Nothing is compared with a time of another partition: a turn's due time is reckoned from the record of p that opens it.
//! - Matches know no way back: one that p has taken ends at p, also where the operator ends it (`AbortMatch`, submitted at p).

mod snapshot;

use arena_schema::{
    Command, Event, Hash, Rejection,
    codec::DecodeError,
    event::system::{OutboxSent, OutboxTrimmed},
    hash::BodyDigest,
    id::{Partition, ProducerId},
};
use std::collections::{BTreeMap, VecDeque};

/// How many other partitions one may know.
pub const PARTITIONS_MAX: usize = 64;
/// How many entries may wait for a partition when a match is sent to it; at it opening is refused.
pub const OPENINGS_WAITING_MAX: usize = 1 << 16;
/// How many entries may wait for a partition where gateways come and go; there is always room for each live one to go.
pub const GATEWAYS_WAITING_MAX: usize = OPENINGS_WAITING_MAX + (1 << 13);

/// The rows that lead to other partitions, and how far the rows from them were taken.
#[derive(Debug, Clone, Default)]
pub struct Outbox {
    rows: BTreeMap<Partition, Row>,
    taken: BTreeMap<Partition, Taken>,
}

/// One row: what was sent to a partition.
#[derive(Debug, Clone)]
struct Row {
    /// The number of the last entry.
    sent: u64,
    /// The chain over all that left.
    chain: Hash,
    /// Those that were not acknowledged, the oldest first; the last one has the number `sent`.
    waiting: VecDeque<Entry>,
}

impl Default for Row {
    fn default() -> Self {
        Self { sent: 0, chain: Hash::ZERO, waiting: VecDeque::new() }
    }
}

impl Row {
    fn acknowledged(&self) -> u64 {
        self.sent - self.waiting.len() as u64
    }

    /// The chain over all entries up to this one, which waits or was the last to leave.
    fn chain_at(&self, number: u64) -> Option<Hash> {
        let count = number.checked_sub(self.acknowledged())?;
        let waiting = self.waiting.iter().take(usize::try_from(count).ok()?);
        (number <= self.sent)
            .then(|| waiting.fold(self.chain, |chain, entry| chained(chain, &entry.digest())))
    }
}

/// The chain behind one more entry. Two partitions that have the same chain speak of the same entries.
fn chained(chain: Hash, digest: &BodyDigest) -> Hash {
    chain.then(&digest.0)
}

/// A command for another partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The command's kind.
    pub kind: u16,
    /// Its body.
    pub body: Vec<u8>,
}

impl Entry {
    /// The command, to be submitted with the entry's number.
    ///
    /// # Errors
    /// [`DecodeError`], where a newer build sent it.
    pub fn command(&self) -> Result<Command, DecodeError> {
        Command::decode(self.kind, &self.body)
    }

    fn digest(&self) -> BodyDigest {
        BodyDigest::of(self.kind, &self.body)
    }
}

/// The last entry of a partition that acted here.
#[derive(Debug, Clone, Copy)]
struct Taken {
    number: u64,
    digest: BodyDigest,
    /// The chain over all up to it.
    chain: Hash,
}

impl Outbox {
    /// The partitions that something was sent to, and in partition 0 all that were opened.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> {
        self.rows.keys().copied()
    }

    /// The entries that wait for a partition, in order, from the first behind `after` on.
    pub fn waiting(&self, to: Partition, after: u64) -> impl Iterator<Item = (u64, &Entry)> {
        self.rows.get(&to).into_iter().flat_map(move |row| {
            let first = row.acknowledged() + 1;
            let skipped = (after + 1).saturating_sub(first).min(row.waiting.len() as u64);
            (first + skipped..).zip(row.waiting.range(skipped as usize..))
        })
    }

    /// How many wait for a partition.
    pub fn waiting_count(&self, to: Partition) -> usize {
        self.rows.get(&to).map_or(0, |row| row.waiting.len())
    }

    /// The number of the last entry for a partition; 0 before the first.
    pub fn sent(&self, to: Partition) -> u64 {
        self.rows.get(&to).map_or(0, |row| row.sent)
    }

    /// The last entry for a partition that left; 0 before the first.
    pub fn acknowledged(&self, to: Partition) -> u64 {
        self.rows.get(&to).map_or(0, Row::acknowledged)
    }

    /// The number of the last entry of another partition that acted here: what its leader may acknowledge there.
    pub fn taken(&self, from: Partition) -> u64 {
        self.taken.get(&from).map_or(0, |taken| taken.number)
    }

    /// The chain over all entries of another partition that acted here: what its leader says of them there.
    pub fn taken_chain(&self, from: Partition) -> Hash {
        self.taken.get(&from).map_or(Hash::ZERO, |taken| taken.chain)
    }

    /// Whether the entries up to this one, as another partition took them, are those that were sent to it.
    pub(crate) fn sent_so(&self, to: Partition, through: u64, chain: &Hash) -> bool {
        self.rows.get(&to).and_then(|row| row.chain_at(through)) == Some(*chain)
    }

    /// Whether a partition was opened, or something was sent to it.
    pub(crate) fn knows(&self, to: Partition) -> bool {
        self.rows.contains_key(&to)
    }

    /// Whether what is open here may be open elsewhere too: then homes are kept in step.
    pub(crate) fn spans(&self) -> bool {
        !self.rows.is_empty()
    }

    /// How many partitions are known.
    pub(crate) fn partition_count(&self) -> usize {
        self.rows.len()
    }

    /// Whether the entry of this number may act now.
    pub(crate) fn admit(&self, from: Partition, number: u64, digest: &BodyDigest) -> Result<(), Rejection> {
        let last = self.taken.get(&from);
        match last {
            Some(last) if number == last.number && *digest == last.digest => Err(Rejection::Duplicate),
            Some(last) if number == last.number => Err(Rejection::NumberReused),
            _ if number <= self.taken(from) => Err(Rejection::Expired),
            _ if number > self.taken(from) + 1 => Err(Rejection::OutboxGap),
            _ => Ok(()),
        }
    }

    /// What puts these commands behind all that was sent to a partition.
    pub(crate) fn send(&self, to: Partition, commands: impl Iterator<Item = Command>, out: &mut Vec<Event>) {
        for (command, number) in commands.zip(self.sent(to) + 1..) {
            let mut body = Vec::new();
            command.encode_body(&mut body);
            out.push(OutboxSent { to, number, kind: command.kind(), body }.into());
        }
    }

    /// What puts this command behind all that was sent to each partition that is known.
    pub(crate) fn send_to_all(&self, command: &Command, out: &mut Vec<Event>) {
        for to in self.partitions() {
            self.send(to, std::iter::once(command.clone()), out);
        }
    }

    /// Whether each partition has room for an announcement, and for the going of the `live` gateways and of this one.
    pub(crate) fn takes_gateways(&self, to: Partition, announced: usize, live: usize) -> bool {
        self.waiting_count(to) + announced + live <= GATEWAYS_WAITING_MAX
    }

    pub(crate) fn opened(&mut self, to: Partition) {
        self.rows.entry(to).or_default();
    }

    pub(crate) fn sent_one(&mut self, event: &OutboxSent) {
        let row = self.rows.entry(event.to).or_default();
        debug_assert_eq!(event.number, row.sent + 1, "an outbox has no gaps");
        row.sent = event.number;
        row.waiting.push_back(Entry { kind: event.kind, body: event.body.clone() });
    }

    pub(crate) fn trimmed(&mut self, event: &OutboxTrimmed) {
        if let Some(row) = self.rows.get_mut(&event.to) {
            let gone = event.through.saturating_sub(row.acknowledged());
            for entry in row.waiting.drain(..(gone as usize).min(row.waiting.len())) {
                row.chain = chained(row.chain, &entry.digest());
            }
        }
    }

    /// An entry acted, where the producer is a partition.
    pub(crate) fn took(&mut self, producer: ProducerId, number: u64, digest: BodyDigest) {
        if let Some(from) = producer.as_partition() {
            let chain = chained(self.taken_chain(from), &digest);
            self.taken.insert(from, Taken { number, digest, chain });
        }
    }
}
