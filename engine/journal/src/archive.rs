//! Closed eras as files of their own, each with a text beside it that says what it is. What belongs here: writing them, reading
//! back what was written, and reading a journal whose first eras lie there. What never does: removing an era where it lived, or
//! signing; a signed head is one more line at the end of the text.

use crate::{
    journal::{JournalError, Reader, StoredRecord, Visit},
    sqlite::{ArchiveFile, SqliteJournal},
};
use arena_schema::{
    Hash,
    id::{Era, Lineage, Partition, RecordNumber},
    record::RecordView,
};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// An era in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedEra {
    /// Of which history.
    pub lineage: Lineage,
    /// Of which partition.
    pub partition: Partition,
    /// Which era.
    pub era: Era,
    /// Its first record.
    pub first: RecordNumber,
    /// Its last record, which closed it.
    pub last: RecordNumber,
    /// The last record's hash.
    pub hash: Hash,
    /// The running digest after it.
    pub digest: Hash,
    /// The file with its rows.
    pub file: PathBuf,
    /// The BLAKE3 of the file.
    pub blake3: Hash,
    /// Whether it was written now, or had been before.
    pub written: bool,
}

/// Why an era is not archived. What was archived before stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The journal, or a file.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal does not hold.
    #[error("record {record} does not hold: {why}; nothing of its era was archived")]
    Record {
        /// Which.
        record: RecordNumber,
        /// What is wrong with it.
        why: String,
    },
    /// The archive is not what was, or should have been, written.
    #[error("the archive {file} does not hold: {why}; move it away and archive again")]
    Archive {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system refuses.
    #[error("the archive {file} cannot be written: {why}")]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

impl ArchivedEra {
    /// The text beside the file. What is signed later stands behind it.
    pub fn to_text(&self) -> String {
        format!(
            "arena era\nlineage {}\npartition {}\nera {}\nfirst {}\nlast {}\nhash {}\ndigest {}\nblake3 {}\n",
            self.lineage,
            self.partition.0,
            self.era.0,
            self.first,
            self.last,
            hex::encode(self.hash.0),
            hex::encode(self.digest.0),
            hex::encode(self.blake3.0)
        )
    }
}

/// The digest of rows in their order: what an archive and the journal must have the same.
#[derive(Default)]
struct RowsDigest(blake3::Hasher);

impl RowsDigest {
    fn take(&mut self, stored: StoredRecord<'_>) {
        for part in [&stored.number.0.to_le_bytes()[..], stored.bytes, stored.texts] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }
}

/// An era on its way.
struct Writing {
    era: Era,
    first: RecordNumber,
    last: RecordNumber,
    lineage: Lineage,
    hash: Hash,
    rows: RowsDigest,
    path: PathBuf,
    /// Where it is written; none where it lies there from before.
    file: Option<(ArchiveFile, PathBuf)>,
}

impl Writing {
    fn begin(folder: &Path, view: &RecordView<'_>) -> Result<Self, ArchiveError> {
        let header = &view.header;
        let path = SqliteJournal::path_in(folder, header.partition, header.era);
        let file = if path.exists() {
            None
        } else {
            let unfinished = path.with_extension("db.new");
            match fs::remove_file(&unfinished) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(ArchiveError::Io { file: unfinished, why });
                }
                _ => {}
            }
            Some((ArchiveFile::create(&unfinished)?, unfinished))
        };
        Ok(Self {
            era: header.era,
            first: header.number,
            last: header.number,
            lineage: header.lineage,
            hash: view.hash,
            rows: RowsDigest::default(),
            path,
            file,
        })
    }

    fn take(&mut self, view: &RecordView<'_>, stored: StoredRecord<'_>) -> Result<(), ArchiveError> {
        self.rows.take(stored);
        (self.last, self.hash) = (stored.number, view.hash);
        if let Some((file, _)) = &mut self.file {
            file.take(stored)?;
        }
        Ok(())
    }

    /// `next`: the record behind it, whose digest covers it.
    fn finish(self, folder: &Path, next: &RecordView<'_>) -> Result<ArchivedEra, ArchiveError> {
        let Self { era, first, last, lineage, hash, rows, path, file } = self;
        let io = |why| ArchiveError::Io { file: path.clone(), why };
        let strange = |why: String| ArchiveError::Archive { file: path.clone(), why };
        if next.header.digest_reaches != last {
            let why = "the digest behind it does not end with it".to_owned();
            return Err(ArchiveError::Record { record: next.header.number, why });
        }
        let written = file.is_some();
        if let Some((file, unfinished)) = file {
            file.finish()?;
            File::open(&unfinished).and_then(|file| file.sync_all()).map_err(io)?;
            fs::rename(&unfinished, &path).map_err(io)?;
        }
        let mut read = RowsDigest::default();
        SqliteJournal::open_reader_of_one(&path)?.read(RecordNumber(0), &mut |stored| {
            read.take(stored);
            Visit::Next
        })?;
        if read.0.finalize() != rows.0.finalize() {
            return Err(strange("its rows are not the journal's".to_owned()));
        }
        let (digest, blake3) = (next.header.digest, hash_file(&path).map_err(io)?);
        let partition = next.header.partition;
        let archived = ArchivedEra {
            lineage,
            partition,
            era,
            first,
            last,
            hash,
            digest,
            file: path.clone(),
            blake3,
            written,
        };
        let beside = path.with_extension("txt");
        match fs::read_to_string(&beside) {
            Ok(text) if text.starts_with(&archived.to_text()) => {}
            Ok(_) => return Err(strange(format!("{} says otherwise", beside.display()))),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                fs::write(&beside, archived.to_text()).map_err(io)?;
                File::open(&beside).and_then(|file| file.sync_all()).map_err(io)?;
            }
            Err(why) => return Err(io(why)),
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        Ok(archived)
    }
}

fn hash_file(path: &Path) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path)?;
    let mut part = vec![0; 1024 * 1024];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(Hash(*hasher.finalize().as_bytes())),
            read => hasher.update(&part[..read]),
        };
    }
}

/// Writes every closed era that a journal has, and that has a record behind it, into a folder, reads it back and compares it.
/// What lies there from before is compared alike. `progress` is told of each record.
///
/// # Errors
/// [`ArchiveError`].
pub fn archive(
    reader: &mut dyn Reader,
    folder: &Path,
    progress: &mut dyn FnMut(RecordNumber),
) -> Result<Vec<ArchivedEra>, ArchiveError> {
    fs::create_dir_all(folder).map_err(|why| ArchiveError::Io { file: folder.to_owned(), why })?;
    let mut open = None;
    let last = reader.last()?.unwrap_or_default();
    reader.read(last, &mut |stored| {
        open = RecordView::parse(stored.bytes).ok().map(|view| view.header.era);
        Visit::Next
    })?;
    let Some(open) = open else { return Ok(Vec::new()) };
    let (mut done, mut writing, mut failed) = (Vec::new(), None::<Writing>, None);
    let first = reader.first()?;
    reader.read(first, &mut |stored| {
        let mut step = || -> Result<Visit, ArchiveError> {
            let broken = |why: String| ArchiveError::Record { record: stored.number, why };
            let view = RecordView::parse(stored.bytes).map_err(|why| broken(why.to_string()))?;
            if let Some(before) = &writing {
                let (number, header) = (before.last.next(), &view.header);
                if header.number != number || stored.number != number || header.previous != before.hash {
                    return Err(broken(format!("it does not go on behind record {}", before.last)));
                }
            }
            if let Some(closed) = writing.take_if(|writing| writing.era != view.header.era) {
                done.push(closed.finish(folder, &view)?);
            }
            if view.header.era >= open {
                return Ok(Visit::Enough);
            }
            if writing.is_none() {
                writing = Some(Writing::begin(folder, &view)?);
            }
            if let Some(writing) = &mut writing {
                writing.take(&view, stored)?;
            }
            progress(stored.number);
            Ok(Visit::Next)
        };
        step().unwrap_or_else(|why| {
            failed = Some(why);
            Visit::Enough
        })
    })?;
    match failed {
        Some(why) => Err(why),
        None => Ok(done),
    }
}

/// A journal read from archives first and from where it lives after that.
pub struct Archives {
    /// In the order of their first records.
    archives: Vec<(RecordNumber, Box<dyn Reader>)>,
    journal: Box<dyn Reader>,
}

impl Archives {
    /// Before this journal, from these folders.
    ///
    /// # Errors
    /// [`JournalError`], where there is no archive in one of them.
    pub fn before(
        journal: Box<dyn Reader>,
        folders: &[PathBuf],
        partition: Partition,
    ) -> Result<Self, JournalError> {
        let mut archives = Vec::new();
        for folder in folders {
            let first = SqliteJournal::path_in(folder, partition, Era(1));
            if !SqliteJournal::is_there(&first)? {
                return Err(JournalError::Store {
                    journal: folder.display().to_string(),
                    action: "read",
                    why: format!("no era of partition {} was archived there", partition.0),
                });
            }
            let mut reader = SqliteJournal::open_reader(&first)?;
            archives.push((reader.first()?, reader));
        }
        archives.sort_by_key(|(first, _)| *first);
        Ok(Self { archives, journal })
    }
}

impl Reader for Archives {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        let (mut next, mut enough) = (from.max(RecordNumber(1)), false);
        for (first, archive) in &mut self.archives {
            if next < *first {
                continue;
            }
            archive.read(next, &mut |stored| {
                next = stored.number.next();
                let went = visit(stored);
                enough = went == Visit::Enough;
                went
            })?;
            if enough {
                return Ok(());
            }
        }
        self.journal.read(next, visit)
    }

    fn first(&mut self) -> Result<RecordNumber, JournalError> {
        let first = self.journal.first()?;
        Ok(self.archives.first().map_or(first, |(archived, _)| first.min(*archived)))
    }

    fn last(&mut self) -> Result<Option<RecordNumber>, JournalError> {
        self.journal.last()
    }

    fn self_check(&mut self) -> Result<Vec<String>, JournalError> {
        let mut found = self.journal.self_check()?;
        for (_, archive) in &mut self.archives {
            found.extend(archive.self_check()?);
        }
        Ok(found)
    }
}
