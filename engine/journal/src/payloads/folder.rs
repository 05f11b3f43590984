//! Payloads as files `payloads/<owner>/<object>` of a data folder. What belongs here: that a file under its name is whole and
//! durable. What never does: what its bytes are.
//!
//! A file is written as `<object>.new` and renamed when all of it is durable. Whoever writes holds the data folder's lock. What
//! is removed is unlinked and not overwritten: on today's file systems and disks nothing would be sure to lie where it did, and
//! without the owner's key, which went first, the bytes are noise.

use super::{
    error::PayloadError,
    names::{object_of_name, owner_name, owner_of_name},
    parts::Layout,
    store::Kept,
};
use crate::texts::TextOwner;
use arena_schema::id::ObjectId;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

/// What is behind the name of a file that is still being written.
const UNFINISHED: &str = ".new";

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    folder: Arc<Path>,
}

/// Does what blocks where it may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|why| Err(io::Error::other(why)))
}

/// What is not there is nothing, and no error.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

impl Folder {
    pub(super) fn in_data(data: &Path) -> Self {
        Self { folder: data.join("payloads").into() }
    }

    pub(super) fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> PayloadError {
        let store = self.name();
        move |why| match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                PayloadError::Full { store, why: why.to_string() }
            }
            _ => PayloadError::Store { store, action, why: why.to_string() },
        }
    }

    fn of_owner(&self, owner: TextOwner) -> PathBuf {
        self.folder.join(owner_name(owner, '-'))
    }

    pub(super) async fn begin(&self, owner: TextOwner, object: ObjectId) -> Result<FileSink, PayloadError> {
        let folder = self.of_owner(owner);
        let whole = folder.join(object.to_string());
        let unfinished = folder.join(format!("{object}{UNFINISHED}"));
        let path = unfinished.clone();
        let open = blocking(move || {
            fs::create_dir_all(&folder)?;
            OpenOptions::new().write(true).create(true).truncate(true).open(path)
        });
        let file = open.await.map_err(self.failed("written"))?;
        Ok(FileSink { store: self.clone(), file: Arc::new(file), unfinished, whole })
    }

    pub(super) async fn find(
        &self,
        owner: TextOwner,
        object: ObjectId,
    ) -> Result<Option<FileSource>, PayloadError> {
        let path = self.of_owner(owner).join(object.to_string());
        let found = blocking(move || {
            let Some(file) = if_there(File::open(path))? else { return Ok(None) };
            let length = file.metadata()?.len();
            Ok(Some((file, length)))
        });
        let found = found.await.map_err(self.failed("read"))?;
        Ok(found.map(|(file, length)| FileSource { store: self.clone(), file: Arc::new(file), length }))
    }

    /// All that is here, whole or not.
    pub(super) async fn list(&self) -> Result<Vec<Kept>, PayloadError> {
        let folder = Arc::clone(&self.folder);
        let list = blocking(move || {
            let mut kept = Vec::new();
            for entry in if_there(fs::read_dir(folder))?.into_iter().flatten() {
                let entry = entry?;
                // What is none of ours is left alone.
                let Some(owner) = owner_of_name(&entry.file_name().to_string_lossy(), '-') else { continue };
                for entry in if_there(fs::read_dir(entry.path()))?.into_iter().flatten() {
                    let name = entry?.file_name().to_string_lossy().into_owned();
                    let (name, whole) = match name.strip_suffix(UNFINISHED) {
                        Some(name) => (name, false),
                        None => (name.as_str(), true),
                    };
                    if let Some(object) = object_of_name(name) {
                        kept.push(Kept { owner, object, whole });
                    }
                }
            }
            Ok(kept)
        });
        list.await.map_err(self.failed("listed"))
    }

    fn path_of(&self, kept: Kept) -> PathBuf {
        let end = if kept.whole { "" } else { UNFINISHED };
        self.of_owner(kept.owner).join(format!("{}{end}", kept.object))
    }

    /// For how long nothing was added to it; none where it is gone.
    pub(super) async fn age(&self, kept: Kept) -> Result<Option<Duration>, PayloadError> {
        let path = self.path_of(kept);
        let age = blocking(move || {
            let Some(about) = if_there(fs::metadata(path))? else { return Ok(None) };
            // A clock that was set back makes it young.
            Ok(Some(SystemTime::now().duration_since(about.modified()?).unwrap_or_default()))
        });
        age.await.map_err(self.failed("swept"))
    }

    pub(super) async fn remove(&self, kept: Kept) -> Result<(), PayloadError> {
        let path = self.path_of(kept);
        let (folder, all) = (self.of_owner(kept.owner), Arc::clone(&self.folder));
        let remove = blocking(move || {
            if_there(fs::remove_file(path))?;
            remove_empty(&folder, &all)
        });
        remove.await.map_err(self.failed("removed"))
    }

    pub(super) async fn remove_owner(&self, owner: TextOwner) -> Result<(), PayloadError> {
        let (folder, all) = (self.of_owner(owner), Arc::clone(&self.folder));
        let remove = blocking(move || {
            for entry in if_there(fs::read_dir(&folder))?.into_iter().flatten() {
                if_there(fs::remove_file(entry?.path()))?;
            }
            remove_empty(&folder, &all)
        });
        remove.await.map_err(self.failed("removed"))
    }
}

/// Removes an owner's folder where nothing is left in it, and makes it durable that whatever was is not.
fn remove_empty(folder: &Path, all: &Path) -> io::Result<()> {
    match fs::remove_dir(folder) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::DirectoryNotEmpty => File::open(folder)?.sync_all(),
        Err(why) => Err(why),
        Ok(()) => File::open(all)?.sync_all(),
    }
}

/// A file that is being written. Dropped before its end, it is gone.
#[derive(Debug)]
pub(super) struct FileSink {
    store: Folder,
    file: Arc<File>,
    unfinished: PathBuf,
    whole: PathBuf,
}

impl FileSink {
    pub(super) async fn append(&mut self, part: Vec<u8>) -> Result<(), PayloadError> {
        let file = Arc::clone(&self.file);
        blocking(move || (&*file).write_all(&part)).await.map_err(self.store.failed("written"))
    }

    /// Makes it durable and gives it its name.
    pub(super) async fn finish(self) -> Result<(), PayloadError> {
        let (file, folder) = (Arc::clone(&self.file), Arc::clone(&self.store.folder));
        let (unfinished, whole) = (self.unfinished.clone(), self.whole.clone());
        let finish = blocking(move || {
            file.sync_all()?;
            fs::rename(&unfinished, &whole)?;
            // Also where the folders are new.
            let folders = whole.ancestors().skip(1).take(2).chain(folder.parent());
            folders.into_iter().try_for_each(|folder| File::open(folder)?.sync_all())
        });
        finish.await.map_err(self.store.failed("written"))
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        // What was finished is here no more; what cannot be removed is swept.
        let _ = fs::remove_file(&self.unfinished);
    }
}

/// A file that is being read.
#[derive(Debug)]
pub(super) struct FileSource {
    store: Folder,
    file: Arc<File>,
    length: u64,
}

impl FileSource {
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// The bytes of a part; fewer where the file has become shorter.
    pub(super) async fn part(&self, layout: Layout, number: u64) -> Result<Vec<u8>, PayloadError> {
        let (file, (begin, end)) = (Arc::clone(&self.file), layout.place(number));
        let read = blocking(move || {
            let mut part = vec![0; (end - begin) as usize];
            match file.read_exact_at(&mut part, begin) {
                Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
                read => read.map(|()| part),
            }
        });
        read.await.map_err(self.store.failed("read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Payloads, Texts, Vault, VaultKey, Writing};
    use arena_schema::id::SessionId;

    /// The system has a file that is always full.
    #[test]
    fn a_disk_that_is_full_is_said_to_be_so() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let data = tempfile::TempDir::new().unwrap();
        let texts = Texts::new(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap()));
        let (owner, object) = (TextOwner::Session(SessionId([7; 16])), ObjectId([8; 16]));
        texts.create_owner(owner).unwrap();
        let payloads = Payloads::in_data(data.path(), texts);
        let folder = Folder::in_data(data.path()).of_owner(owner);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.join(format!("{object}{UNFINISHED}"))).unwrap();
        runtime.block_on(async {
            let mut writing = Writing::begin(&payloads, owner, object).await.unwrap();
            writing.write(&[1; 1_000]).await.unwrap();
            let why = writing.finish().await.unwrap_err();
            assert!(matches!(why, PayloadError::Full { .. }), "{why:?}");
            let text = why.to_string();
            assert!(text.contains(&payloads.name()) && text.contains("full") && text.contains("make room"));
            let read = payloads.read(owner, object).await;
            assert!(matches!(read, Err(PayloadError::Missing { .. })), "{read:?}");
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "what was begun is gone");
    }
}
