//! The volume that a journal's files lie on, and how little of it may be free.
//!
//! A volume is shared with whatever else the machine does, and a large one that is nine tenths full has room for years: a share of
//! it says nothing. What counts is that enough is free to bring everything that is open to its end, with the write-ahead logs, the
//! views and a snapshot beside the records: so it is free bytes that are asked for, and of a small volume a tenth.

use crate::space::{Gauge, Limit, Measure};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Where nothing else is set, so many bytes of the volume must be free.
const FREE_BYTES_MIN: u64 = 1024 * 1024 * 1024;
/// Of a volume so small that this is less, one part in so many.
const FREE_PART: u64 = 10;

/// How much a volume has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// How many bytes can still be written by this user.
    pub free: u64,
    /// How many it has in all.
    pub total: u64,
}

impl Volume {
    /// The volume that a folder lies on.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let stat = rustix::fs::statvfs(folder)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Self { free: bytes(stat.f_bavail), total: bytes(stat.f_blocks) })
    }

    /// As a limit, with so many free bytes as are set, or as fit the volume.
    pub fn limit(self, folder: &Path, free_bytes_min: Option<u64>) -> Limit {
        let least = free_bytes_min.unwrap_or_else(|| FREE_BYTES_MIN.min(self.total / FREE_PART));
        let of = format!("the volume of {}", folder.display());
        Limit { of, measure: Measure::Free { free: self.free, least } }
    }
}

/// Looks at the volume of a folder.
pub(super) struct VolumeGauge {
    pub(super) folder: PathBuf,
    pub(super) free_bytes_min: Option<u64>,
}

impl Gauge for VolumeGauge {
    fn look(&mut self) -> Result<Vec<Limit>, String> {
        let volume = Volume::of(&self.folder).map_err(|why| why.to_string())?;
        Ok(vec![volume.limit(&self.folder, self.free_bytes_min)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1024 * 1024 * 1024;

    #[test]
    fn a_gibibyte_must_be_free_of_a_small_volume_a_tenth_and_otherwise_what_is_set() {
        for (free, total, set, near) in [
            // Nine tenths full, and with room for a long time.
            (100 * GIB, 1_000 * GIB, None, false),
            (GIB - 1, 1_000 * GIB, None, true),
            (GIB / 2, 4 * GIB, None, false),
            (GIB / 3, 4 * GIB, None, true),
            (0, 4 * GIB, Some(0), false),
            (10 * GIB, 20 * GIB, Some(11 * GIB), true),
            (0, 0, None, false),
        ] {
            let limit = Volume { free, total }.limit(Path::new("data"), set);
            assert_eq!(limit.is_near(), near, "{limit}");
        }
    }

    #[test]
    fn the_volume_of_a_folder_is_seen() {
        let volume = Volume::of(&std::env::temp_dir()).unwrap();
        assert!(volume.total > 0 && volume.free <= volume.total, "{volume:?}");
        assert!(Volume::of(Path::new("/nowhere/at/all")).is_err());
    }
}
