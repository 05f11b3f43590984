//! Events of the family system, and of what all families share: numbers and second keys.

use crate::{
    codec::wire_bytes,
    hash::{BodyDigest, Hash},
    id::{AgentKey, Epoch, Era, Incarnation, Lineage, Partition, ProducerId, RecordNumber, RulesVersion},
};
use serde::{Deserialize, Serialize};

/// A command's number was used, whatever became of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberSeen {
    /// Whose number.
    pub producer: ProducerId,
    /// The number.
    pub number: u64,
    /// Of the command's kind and body: another body under the same number shows.
    pub digest: BodyDigest,
}

wire_bytes! {
    /// HMAC-SHA256 under a key of the vault: of a caller's repeat key, or of a request's body as received.
    pub struct KeyTag([u8; 32]);
}

/// Where a command stands: its record and its index there, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The record.
    pub record: RecordNumber,
    /// The command's index, from 1; 0 is the agenda.
    pub command: u32,
}

/// What a caller may repeat through another door was done; the same key answers with this place for 24 hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondKeyKept {
    /// The route that the key was given to.
    pub route: u16,
    /// Who gave it; [`AgentKey::NONE`] where nobody was known.
    pub caller: AgentKey,
    /// The key's tag.
    pub key: KeyTag,
    /// The body's tag.
    pub body: KeyTag,
    /// Where its outcome stands.
    pub place: Place,
    /// The outcome's code: 0 accepted, else the rejection's.
    pub code: u16,
}

/// A second key's 24 hours are over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondKeyExpired {
    /// The route.
    pub route: u16,
    /// Who gave it.
    pub caller: AgentKey,
    /// The key's tag.
    pub key: KeyTag,
}

/// A leader took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequencerAnnounced {
    /// The process that leads.
    pub incarnation: Incarnation,
    /// Its leadership.
    pub epoch: Epoch,
    /// By how much the deadlines that are ours to keep moved, in microseconds.
    pub outage_us: u64,
}

/// A gateway's process has its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayAnnounced {
    /// The number; the same for the same incarnation.
    pub producer: ProducerId,
    /// The process.
    pub incarnation: Incarnation,
    /// The newest rules that it knows.
    pub rules_known: RulesVersion,
}

/// A gateway's process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayRemoved {
    /// Its number, which nobody gets again.
    pub producer: ProducerId,
}

/// Other rules hold from the next record on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesActivated {
    /// Their version.
    pub version: RulesVersion,
}

/// The era ended; the next record is in the one after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraClosed {
    /// The era that ended.
    pub era: Era,
}

/// Another history began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineageBegun {
    /// Its id, in the headers of the records after this one.
    pub lineage: Lineage,
    /// The last record that it has in common with the old one.
    pub number: RecordNumber,
    /// That record's hash.
    pub hash: Hash,
}

/// Partition 0 knows another partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionOpened {
    /// The other one.
    pub partition: Partition,
}

/// What another partition is to do. This partition's leader submits it there, in order, as
/// [`ProducerId::of_partition`] with the entry's number, until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxSent {
    /// The other partition.
    pub to: Partition,
    /// The entry's number for this pair of partitions, from 1, without gaps.
    pub number: u64,
    /// The kind of the command that the other side takes.
    pub kind: u16,
    /// Its body.
    pub body: Vec<u8>,
}

/// Entries were taken by the other side and leave the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxTrimmed {
    /// The other partition.
    pub to: Partition,
    /// The last one that left.
    pub through: u64,
}
