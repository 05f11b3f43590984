//! The files that a journal's eras lie in, side by side in one folder: `records-<partition>-<era>.db`. What belongs here: names and which
//! files are there. What never does: what is in them.

use crate::journal::JournalError;
use arena_schema::id::Era;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The files of one journal.
#[derive(Debug, Clone)]
pub(super) struct EraFiles {
    /// The file of the first era, by which the journal is called.
    first: PathBuf,
    /// The folder, and what stands before the era's number; none where the file has another name, and there is one era.
    named: Option<(PathBuf, String)>,
}

const ENDING: &str = ".db";

impl EraFiles {
    /// Of the journal whose first era lies in this file.
    pub(super) fn of(first: &Path) -> Self {
        let name =
            first.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(ENDING));
        let named = name.and_then(|name| name.rsplit_once('-')).and_then(|(name, era)| {
            name.strip_prefix("records-")?.parse::<u16>().ok()?;
            era.parse::<u32>().ok()?;
            let folder = first.parent().filter(|folder| !folder.as_os_str().is_empty());
            Some((folder.unwrap_or(Path::new(".")).to_owned(), format!("{name}-")))
        });
        Self { first: first.to_owned(), named }
    }

    /// The file of the first era.
    pub(super) fn first(&self) -> &Path {
        &self.first
    }

    /// What to call the journal.
    pub(super) fn name(&self) -> String {
        self.first.display().to_string()
    }

    /// Where an era lies, or would; none where the journal can have only one.
    pub(super) fn file(&self, era: Era) -> Option<PathBuf> {
        match &self.named {
            Some((folder, name)) => Some(folder.join(format!("{name}{}{ENDING}", era.0))),
            None => (era == Era(1)).then(|| self.first.clone()),
        }
    }

    /// The eras that are there, in their order.
    pub(super) fn list(&self) -> Result<Vec<Era>, JournalError> {
        let Some((folder, name)) = &self.named else {
            return Ok(if self.first.exists() { vec![Era(1)] } else { Vec::new() });
        };
        let entries = match fs::read_dir(folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|why| self.failed("read", &why))?,
        };
        let mut eras = Vec::new();
        for entry in entries {
            let file = entry.map_err(|why| self.failed("read", &why))?.file_name();
            let number =
                file.to_str().and_then(|file| file.strip_prefix(name.as_str())?.strip_suffix(ENDING));
            let era =
                number.and_then(|number| number.parse().ok().filter(|era: &u32| era.to_string() == number));
            eras.extend(era.map(Era));
        }
        eras.sort_unstable();
        Ok(eras)
    }

    /// Deletes an era's file and what lies beside it.
    pub(super) fn remove(&self, era: Era) -> Result<(), JournalError> {
        let Some(file) = self.file(era) else { return Ok(()) };
        for beside in ["", "-wal", "-shm"] {
            let mut path = file.clone().into_os_string();
            path.push(beside);
            match fs::remove_file(&path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(self.failed("freed of an era", &why));
                }
                _ => {}
            }
        }
        self.sync_folder()
    }

    /// The one file of one era, whatever lies beside it.
    pub(super) fn only(file: &Path) -> Self {
        Self { first: file.to_owned(), named: None }
    }

    /// Makes a new file's name durable.
    pub(super) fn sync_folder(&self) -> Result<(), JournalError> {
        let Some((folder, _)) = &self.named else { return Ok(()) };
        let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|why| self.failed("written", &why))
    }

    pub(super) fn failed(&self, action: &'static str, why: &dyn std::fmt::Display) -> JournalError {
        JournalError::Store { journal: self.name(), action, why: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_name_is_a_journal_of_one_era() {
        let folder = tempfile::TempDir::new().unwrap();
        for name in [
            "records-0-1.db",
            "records-0-2.db",
            "records-1-7.db",
            "records-0-03.db",
            "append-1.db",
            "append-2.db",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let files = |name: &str| EraFiles::of(&folder.path().join(name));
        assert_eq!(files("records-0-1.db").list().unwrap(), [Era(1), Era(2)]);
        assert_eq!(files("records-1-1.db").list().unwrap(), [Era(7)]);
        assert_eq!(files("append-2.db").list().unwrap(), [Era(1)]);
        assert_eq!(files("append-2.db").file(Era(2)), None);
        assert_eq!(files("nothing.db").list().unwrap(), []);
    }
}
