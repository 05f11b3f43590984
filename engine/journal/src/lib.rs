//! Where records live, and who writes them: the [`Journal`] trait with its implementations, the sequencer that is a journal's
//! only writer, snapshots of the state that records make, and what rides beside the records (texts) or apart from them (payloads,
//! the vault).
//!
//! Invariants:
//! - Commands are the truth and durable before anyone is told; events are derived and stored nowhere here.
//! - One record is in flight at a time, and nothing is reduced before it is durable.
//! - Bytes are stored as they were sealed; hashes are taken over stored bytes, never over a re-encoding.
//! - No rule of any family: what a command does is the engine's.
//! - No secret and no text in a record; both are sealed, and without their key nothing.

mod archive;
pub mod audit;
mod clock;
mod copy;
mod data_dir;
pub mod jetstream;
mod journal;
mod memory;
pub mod payloads;
mod public;
pub mod replicated;
pub mod sequencer;
mod snapshot;
mod space;
mod sqlite;
pub mod texts;
pub mod vault;

#[cfg(test)]
mod contract;
#[cfg(test)]
#[path = "../../../tests/harness/nats.rs"]
mod nats_servers;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use archive::{ArchiveError, ArchivedEra, Archives, archive};
pub use audit::{AuditReport, Finding, Mark, audit};
pub use clock::{Clock, StillClock};
pub use copy::{CopyError, CopyReport, copy};
pub use data_dir::{DataDir, DataDirError};
pub use jetstream::{
    Durability, GiveUp, JetStreamJournal, Nats, NatsError, NatsOptions, NatsReport, ObjectSnapshots,
    OwnedRecord, ServerReport, ServerSeen, StreamReport, Tail,
};
pub use journal::{AppendError, ERA_BYTES, Journal, JournalError, Reader, StoredRecord, Visit};
pub use memory::MemoryJournal;
pub use payloads::{PayloadError, Payloads, Reading, Stored, Swept, Writing};
pub use public::{PublicError, PublicEvents};
pub use sequencer::{
    Answered, Busy, Followed, Follower, Handle, Outcome, Pending, Producer, Sequencer, StartError,
    StartOptions, Stopped, Submission, SubmitError, Unanswered,
};
pub use snapshot::{
    FolderSnapshots, SNAPSHOT_BYTES, SNAPSHOT_RECORDS, SNAPSHOTS_KEPT, Sharing, Snapshot, SnapshotFault,
    SnapshotFollower, SnapshotMaker, SnapshotMakerOptions, SnapshotPace, SnapshotStoreError, Snapshots,
    newest_borne_out, restore_newest,
};
pub use space::{Gauge, Limit, Measure, NEARLY_FULL_PERCENT, Shortage, Space};
pub use sqlite::{SqliteJournal, Volume, bare_inserts};
pub use texts::{SealedText, TextError, TextOwner, Texts};
pub use vault::{Destroyed, Vault, VaultError, VaultKey};
