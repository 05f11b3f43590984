//! Commands of the family system: only the sequencer writes them, and partition 0 those of gateways to the other partitions.

use crate::{
    hash::Hash,
    id::{Incarnation, Lineage, Partition, RecordNumber, RulesVersion},
};
use serde::{Deserialize, Serialize};

/// A leader takes over. The agenda is not emptied in its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnounceSequencer {
    /// The process that leads from here.
    pub incarnation: Incarnation,
    /// The record's time less the last record's, in microseconds: how long we were away. 0 in a journal's first record.
    pub outage_us: u64,
}

/// A gateway's process begins, or asks again for its producer's number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnounceGateway {
    /// The process.
    pub incarnation: Incarnation,
    /// The newest rules that it knows.
    pub rules_known: RulesVersion,
}

/// A gateway's process is gone; what it was to do passes to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayGone {
    /// The process.
    pub incarnation: Incarnation,
}

/// Nothing but time: written when something is due and nothing else has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {}

/// Rules for every record after this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivateRules {
    /// The version to follow.
    pub version: RulesVersion,
}

/// Ends the era that its record is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseEra {}

/// After a restore: a new history that has records up to `number` in common with the old one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginLineage {
    /// Drawn at random at the restore.
    pub lineage: Lineage,
    /// The last record in common.
    pub number: RecordNumber,
    /// That record's hash.
    pub hash: Hash,
}

/// Partition 0 learns of another partition, to which it may send matches from here on and sends every gateway that comes and
/// goes. Once more for one that it knows: all live gateways are sent to it anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPartition {
    /// The other one.
    pub partition: Partition,
}

/// Another partition has taken what was sent to it: those entries leave the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgeOutbox {
    /// The other one.
    pub to: Partition,
    /// The last entry that its own state shows as taken.
    pub through: u64,
    /// What its own state shows as the chain over all entries up to there.
    pub chain: Hash,
}
