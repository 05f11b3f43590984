//! What a view is called, in errors and in the log: by its projection alone where it is of partition 0, as it was before there
//! were others.

use arena_schema::id::Partition;
use std::fmt;

/// A view of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewName {
    /// The projection's name.
    pub name: &'static str,
    /// Whose records it has.
    pub partition: Partition,
}

impl fmt::Display for ViewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, OfPartition(self.partition))
    }
}

/// The words behind a name; none for partition 0.
pub(crate) struct OfPartition(pub(crate) Partition);

impl fmt::Display for OfPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Partition(0) => Ok(()),
            Partition(partition) => write!(f, " of partition {partition}"),
        }
    }
}
