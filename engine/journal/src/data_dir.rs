//! A data folder and the lock on it: one process at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataDirError {
    /// Another process has it.
    #[error(
        "the data folder {path} is in use by another arena (process {process}): stop it, or give another --data"
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The other process's id, as far as it is known.
        process: String,
    },
    /// The system refuses.
    #[error("the data folder {path} cannot be used: {why}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

/// A data folder that this process alone has, until it is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// The system takes the lock back when the process ends, however it ends.
    _lock: File,
}

impl DataDir {
    /// Takes the folder, and makes it where there is none.
    ///
    /// # Errors
    /// [`DataDirError`].
    pub fn take(path: &Path) -> Result<Self, DataDirError> {
        let io = |why| DataDirError::Io { path: path.to_owned(), why };
        fs::create_dir_all(path).map_err(io)?;
        let lock = path.join("lock");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                let _ = file.read_to_string(&mut process);
                let known = process.trim();
                let process = if known.is_empty() { "unknown" } else { known }.to_owned();
                return Err(DataDirError::InUse { path: path.to_owned(), process });
            }
            Err(TryLockError::Error(why)) => return Err(io(why)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(io)?;
        Ok(Self { path: path.to_owned(), _lock: file })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
