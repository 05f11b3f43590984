//! What can go wrong with a view. What never belongs here: a fault of who asks, since an id that nobody has is an empty answer.

use crate::name::{OfPartition, ViewName};
use arena_journal::TextError;
use arena_schema::{
    Hash,
    id::{AgentKey, Partition, RecordNumber},
};
use std::{io, path::PathBuf};

/// What went wrong inside one view, before it is named.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// SQLite's own words.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    /// The rows contradict the records or themselves.
    #[error("{0}")]
    Damaged(String),
    /// A sealed text could not be looked at, for a reason that is neither a destroyed key nor the text.
    #[error(transparent)]
    Text(#[from] TextError),
}

/// Why a view cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The store, a row or a text.
    #[error(
        "the view {view} cannot be {action}: {why}; it can be thrown away: the next start builds it again"
    )]
    View {
        /// Which view.
        view: ViewName,
        /// What was tried.
        action: &'static str,
        /// What is wrong.
        why: Fault,
    },
    /// A record that is not the next one.
    #[error("the view {view} goes on with record {expected}, record {found} came: no record may be skipped")]
    Gap {
        /// Which view.
        view: ViewName,
        /// The record after its checkpoint.
        expected: RecordNumber,
        /// What came.
        found: RecordNumber,
    },
    /// A record that does not follow the one at the checkpoint.
    #[error(
        "the view {view} stands on a record with the hash {expected}, record {record} follows one with the hash {found}"
    )]
    Chain {
        /// Which view.
        view: ViewName,
        /// The record that came.
        record: RecordNumber,
        /// The hash at the checkpoint.
        expected: Hash,
        /// The hash that the record names.
        found: Hash,
    },
    /// A record of another partition.
    #[error("record {record} of partition {found} came to the view {view}, which has only its own partition's", found = found.0)]
    Foreign {
        /// Which view.
        view: ViewName,
        /// The record that came.
        record: RecordNumber,
        /// Its partition.
        found: Partition,
    },
    /// Partition 0 knows an agent that another partition names, but the view of the agents has not come that far. It will within
    /// a moment.
    #[error(
        "the view of the agents has not come to the agent {} of generation {}, who plays in partition {}: ask again in a \
         second",
        agent.slot, agent.generation, partition.0
    )]
    Behind {
        /// Where the agent plays.
        partition: Partition,
        /// Who.
        agent: AgentKey,
    },
    /// The folder or a file in it.
    #[error("{path} cannot be {action}: {why}")]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        why: io::Error,
    },
    /// There is no such view here.
    #[error("there is no view {view} in this process")]
    Absent {
        /// Which.
        view: ViewName,
    },
    /// The views' thread has ended.
    #[error("the views have stopped: {0}")]
    Stopped(String),
}

/// Why a read has to wait longer than it may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewsBehind {
    /// Not there in time.
    #[error("the views{} are at record {reached}, record {wanted} was waited for: try again in a second", OfPartition(*partition))]
    Late {
        /// Whose views.
        partition: Partition,
        /// Which record was waited for.
        wanted: RecordNumber,
        /// Where the view that is furthest behind stands.
        reached: RecordNumber,
    },
    /// They will never be there, or there are none of this partition in this process.
    #[error("the views{} have stopped before record {wanted}: {why}", OfPartition(*partition))]
    Stopped {
        /// Whose views.
        partition: Partition,
        /// Which record was waited for.
        wanted: RecordNumber,
        /// Why they stopped.
        why: String,
    },
}
