//! Snapshots: the state after a record, so that a start need not reduce the journal from its first one. What belongs here: their
//! file format, where they are kept, who makes them, how a start begins from one. What never does: what is in a state (the
//! engine's), nor anything that the sequencer's own state had a part in: they are made by a replay on a thread of its own.
//!
//! A snapshot is never needed. One that does not fit (another layout, newer rules, damage, records behind it that do not hold)
//! is named in a log line and passed over. But it remembers a record, as a view does: a journal that lacks it is refused.

mod beginning;
mod maker;
mod sharing;
mod store;

use crate::audit::Mark;
use arena_engine::{SNAPSHOT_LAYOUT, SnapshotError, State};
use arena_schema::{
    Hash,
    id::{Era, Partition, RecordNumber, RulesVersion},
};

pub(crate) use beginning::{Beginning, beginning, confirm, passed_over, whole};
pub use beginning::{newest_borne_out, restore_newest};
pub use maker::{
    SNAPSHOT_BYTES, SNAPSHOT_RECORDS, SnapshotFollower, SnapshotMaker, SnapshotMakerOptions, SnapshotPace,
};
pub use sharing::Sharing;
pub use store::{FolderSnapshots, SNAPSHOTS_KEPT, SnapshotStoreError, Snapshots};
pub(crate) use store::{record_of_name, snapshot_name};

const MAGIC: &[u8; 8] = b"ARENASNP";
const FORMAT_VERSION: u16 = 1;
const CHECKSUM_BYTES: usize = 32;

/// Why a snapshot is passed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// The bytes are none, or not as long as they say.
    #[error("it is no whole snapshot of format {FORMAT_VERSION}")]
    Format,
    /// Its last 32 bytes are not the hash of those before.
    #[error("its bytes do not match the hash at their end")]
    Checksum,
    /// Its state cannot be read here.
    #[error(transparent)]
    State(#[from] SnapshotError),
    /// What it says of itself is not what its state says.
    #[error("it says that it is of record {number}, but its state is of another {what}")]
    Header {
        /// Which record it says.
        number: RecordNumber,
        /// What differs.
        what: &'static str,
    },
}

/// The state after a record, as bytes, and what they are the state of.
///
/// As a file, integers little-endian: magic `ARENASNP`, format version (u16), partition (u16), era (u32), record number (u64),
/// the record's hash, the running digest after it, rules (u32), the state's layout (u32), the length of the state (u64), the
/// state, and the BLAKE3 of all bytes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Of which partition.
    pub partition: Partition,
    /// The era of the next record.
    pub era: Era,
    /// After which record.
    pub number: RecordNumber,
    /// That record's hash.
    pub hash: Hash,
    /// The running digest after it.
    pub digest: Hash,
    /// The rules of the next record.
    pub rules: RulesVersion,
    /// The layout of the state's bytes.
    pub layout: u32,
    /// The state.
    pub state: Vec<u8>,
}

impl Snapshot {
    /// Of this state.
    pub fn of(state: &State) -> Self {
        let head = state.head();
        let mut bytes = Vec::new();
        state.encode_snapshot(&mut bytes);
        Self {
            partition: state.partition(),
            era: state.era(),
            number: head.number,
            hash: head.hash,
            digest: head.digest,
            rules: state.rules(),
            layout: SNAPSHOT_LAYOUT,
            state: bytes,
        }
    }

    /// As a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { partition, era, number, hash, digest, rules, layout, state } = self;
        let mut bytes = Vec::with_capacity(state.len() + 256);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&partition.0.to_le_bytes());
        bytes.extend_from_slice(&era.0.to_le_bytes());
        bytes.extend_from_slice(&number.0.to_le_bytes());
        bytes.extend_from_slice(&hash.0);
        bytes.extend_from_slice(&digest.0);
        bytes.extend_from_slice(&rules.0.to_le_bytes());
        bytes.extend_from_slice(&layout.to_le_bytes());
        bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(state);
        let checksum = Hash::of(&bytes);
        bytes.extend_from_slice(&checksum.0);
        bytes
    }

    /// Reads a file and checks its hash. The state is not looked into.
    ///
    /// # Errors
    /// [`SnapshotFault::Format`] or [`SnapshotFault::Checksum`].
    pub fn parse(bytes: &[u8]) -> Result<Self, SnapshotFault> {
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(SnapshotFault::Format)?;
        let snapshot = Self::content(content).ok_or(SnapshotFault::Format)?;
        if Hash::of(content).0 != *checksum {
            return Err(SnapshotFault::Checksum);
        }
        Ok(snapshot)
    }

    fn content(bytes: &[u8]) -> Option<Self> {
        fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
            let (part, behind) = rest.split_first_chunk::<N>()?;
            *rest = behind;
            Some(*part)
        }
        let rest = &mut &*bytes;
        if take(rest)? != *MAGIC || u16::from_le_bytes(take(rest)?) != FORMAT_VERSION {
            return None;
        }
        let partition = Partition(u16::from_le_bytes(take(rest)?));
        let era = Era(u32::from_le_bytes(take(rest)?));
        let number = RecordNumber(u64::from_le_bytes(take(rest)?));
        let (hash, digest) = (Hash(take(rest)?), Hash(take(rest)?));
        let rules = RulesVersion(u32::from_le_bytes(take(rest)?));
        let layout = u32::from_le_bytes(take(rest)?);
        let length = u64::from_le_bytes(take(rest)?);
        let state = rest.to_vec();
        (state.len() as u64 == length).then_some(Self {
            partition,
            era,
            number,
            hash,
            digest,
            rules,
            layout,
            state,
        })
    }

    /// The state, if this build reads it and it is the one that the snapshot says.
    ///
    /// # Errors
    /// [`SnapshotFault`].
    pub fn restore(&self) -> Result<State, SnapshotFault> {
        if self.layout != SNAPSHOT_LAYOUT {
            return Err(SnapshotError::Layout { found: self.layout }.into());
        }
        let state = State::decode_snapshot(&self.state)?;
        let head = state.head();
        let differs = if head.number != self.number {
            Some("number")
        } else if head.hash != self.hash {
            Some("hash")
        } else if head.digest != self.digest {
            Some("digest")
        } else if state.partition() != self.partition {
            Some("partition")
        } else if (state.era(), state.rules()) != (self.era, self.rules) {
            Some("era, or other rules")
        } else {
            None
        };
        differs.map_or(Ok(state), |what| Err(SnapshotFault::Header { number: self.number, what }))
    }

    /// What it remembers of the journal, whether or not its state can be read.
    pub fn mark(&self) -> Mark {
        Mark { who: called(self.partition, self.number), number: self.number, hash: self.hash }
    }
}

/// What a message calls it.
fn called(partition: Partition, number: RecordNumber) -> String {
    format!("the snapshot {}-{number}", partition.0)
}
