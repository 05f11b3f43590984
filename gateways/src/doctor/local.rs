//! What can be seen on this machine: the data folder and its disk, the clock, the vault's key, an embedded journal.

use super::{Check, ONLY_ENDS};
use crate::{parts::FIRST, settings::Settings, times::rfc3339_ms};
use arena_journal::{
    DataDir, DataDirError, SqliteJournal, Vault, VaultKey, Visit, Volume, replicated::mirror_in,
};
use arena_schema::{
    LogTime,
    id::{Era, Partition, RecordNumber},
    record::{Header, RecordView},
};
use std::{
    fs::{self, File},
    io::{Seek, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Below so much free space it is said.
const FREE_BYTES_LEAST: u64 = 2 * 1024 * 1024 * 1024;
/// A slower sync is said: every record waits for one.
const SYNC_SLOW: Duration = Duration::from_millis(10);
const SYNCS: usize = 16;
/// How long the two clocks are compared, and how far they may part meanwhile.
const CLOCK_LOOK: Duration = Duration::from_millis(200);
const CLOCK_PARTED: Duration = Duration::from_millis(20);
/// A last record that is further ahead of the wall clock is said.
const AHEAD_US: u64 = 1_000_000;

/// The folder, or the one above it that is there.
fn there(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

pub(super) fn disk(settings: &Settings, checks: &mut Vec<Check>) {
    let data = &settings.data;
    let shown = data.display();
    if data.is_dir() {
        checks.push(match DataDir::take(data) {
            Ok(_) => Check::fine("data folder", format!("{shown} is free to be used")),
            Err(DataDirError::InUse { process, .. }) => Check::note(
                "data folder",
                format!("an arena runs on {shown} (process {process})"),
                "none where that is meant; a second one needs another --data",
            ),
            Err(why) => Check::refuses("data folder", why.to_string(), "let this user read and write it"),
        });
    } else {
        checks.push(Check::fine("data folder", format!("{shown} is made at the first start")));
    }
    let folder = there(data);
    match Volume::of(&folder) {
        Ok(volume) => {
            let says = format!("{} MiB free", volume.free / (1024 * 1024));
            let limit = volume.limit(&folder, settings.free_bytes_min);
            checks.push(if limit.is_near() && settings.nats.url.is_none() {
                let next =
                    "make room, or set free_bytes_min lower: a journal that cannot be written ends the arena";
                Check::note("disk space", format!("{limit}: {ONLY_ENDS}"), next)
            } else if volume.free < FREE_BYTES_LEAST {
                let next = "make room: a journal that cannot be written ends the arena";
                Check::note("disk space", says, next)
            } else {
                Check::fine("disk space", says)
            });
        }
        Err(why) => {
            checks.push(Check::note("disk space", format!("it cannot be seen: {why}"), "look with df"));
        }
    }
    checks.push(match sync_time(&folder) {
        Ok(median) => {
            let says = format!("a sync of 4 KiB takes {} µs", median.as_micros());
            if median > SYNC_SLOW {
                Check::note("disk sync", says, "every record waits for one: a faster disk serves more")
            } else {
                Check::fine("disk sync", says)
            }
        }
        Err(why) => Check::refuses(
            "disk sync",
            format!("{} cannot be written: {why}", folder.display()),
            "let this user write there, or give another --data",
        ),
    });
}

/// The median of some syncs, in a file that is gone afterwards.
fn sync_time(folder: &Path) -> std::io::Result<Duration> {
    let mut file: File = tempfile::tempfile_in(folder)?;
    let mut took = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        file.rewind()?;
        file.write_all(&[7; 4096])?;
        let begun = Instant::now();
        file.sync_data()?;
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    Ok(took[SYNCS / 2])
}

/// The wall clock, in the journal's microseconds.
pub(super) fn wall() -> LogTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    LogTime(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

pub(super) fn clock(settings: &Settings, checks: &mut Vec<Check>) {
    let (begun, wall_begun) = (Instant::now(), SystemTime::now());
    std::thread::sleep(CLOCK_LOOK);
    let (passed, wall_passed) = (begun.elapsed(), wall_begun.elapsed().unwrap_or_default());
    let parted = passed.abs_diff(wall_passed);
    let says =
        format!("{}; it and the monotonic clock parted by {} µs", rfc3339_ms(wall()), parted.as_micros());
    checks.push(if parted > CLOCK_PARTED {
        let next = "let one service set the clock, slowly: a leader whose clock jumps gives up the lead";
        Check::note("clock", says, next)
    } else {
        Check::fine("clock", says)
    });
    let copy = settings.nats.url.is_some();
    let what = if copy { "local copy" } else { "journal" };
    match last_header(settings, FIRST) {
        Ok(None) => checks.push(Check::fine(what, "there is none yet")),
        Ok(Some(last)) => {
            let says = format!("record {} of era {}, {}", last.number, last.era.0, rfc3339_ms(last.time));
            checks.push(if last.time.0 > wall().0 + AHEAD_US {
                let next = "set this machine's clock; until it is there, new records are stamped behind the last one";
                Check::note(what, format!("{says}, which is ahead of this machine's clock"), next)
            } else {
                Check::fine(what, says)
            });
        }
        Err(why) => checks.push(Check::refuses(what, why, "`arena audit` says more; put a backup back")),
    }
}

/// Where the records lie in the data folder.
fn records(settings: &Settings, partition: Partition) -> PathBuf {
    if settings.nats.url.is_some() {
        mirror_in(&settings.data, partition)
    } else {
        SqliteJournal::path_in(&settings.data, partition, Era(1))
    }
}

/// The last record of a partition in the data folder.
pub(super) fn last_header(settings: &Settings, partition: Partition) -> Result<Option<Header>, String> {
    let path = records(settings, partition);
    let read = || {
        if !SqliteJournal::is_there(&path)? {
            return Ok(None);
        }
        let mut reader = SqliteJournal::open_reader(&path)?;
        let last = reader.last()?.unwrap_or(RecordNumber(0));
        let mut header = None;
        reader.read(last.max(RecordNumber(1)), &mut |stored| {
            header = Some(RecordView::parse(stored.bytes).map(|view| view.header));
            Visit::Enough
        })?;
        Ok(header)
    };
    let header = read().map_err(|why: arena_journal::JournalError| why.to_string())?;
    header.transpose().map_err(|why| format!("the last record in {} does not hold: {why}", path.display()))
}

pub(super) fn vault(settings: &Settings, checks: &mut Vec<Check>) {
    let (file, kept) = (settings.vault_key_file(), settings.data.join("vault.db"));
    let shared = settings.nats.url.is_some();
    // The vault of a journal that is shared is on NATS, like the journal.
    let known = !shared && kept.is_file();
    let recorded = matches!(last_header(settings, FIRST), Ok(Some(_)));
    let shown = file.display();
    if !file.exists() && !known && !shared {
        checks.push(if recorded {
            let says = format!("{} is missing, and with it the keys of the journal's texts", kept.display());
            Check::refuses("vault", says, "put it and its key back, from a backup of the same time")
        } else {
            Check::fine("vault key", format!("{shown} is made at the first start"))
        });
        return;
    }
    let key = match VaultKey::load(&file, false) {
        Ok(key) => key,
        Err(why) => {
            let next = if shared {
                "make one with `head -c 32 /dev/urandom`, readable by this user alone, and copy it to every process"
            } else {
                "put the key back that the vault was sealed under"
            };
            checks.push(Check::refuses("vault key", why.to_string(), next));
            return;
        }
    };
    checks.push(match mode(&file) {
        Some(mode) if mode & 0o077 != 0 => Check::note(
            "vault key",
            format!("{shown} has 32 bytes, and others may read it (mode {mode:o})"),
            format!("chmod 600 {shown}"),
        ),
        _ => Check::fine("vault key", format!("{shown} has 32 bytes and is its owner's alone")),
    });
    if !known {
        if recorded && !shared {
            let says = format!("{} is missing, and with it the keys of the journal's texts", kept.display());
            checks.push(Check::refuses("vault", says, "put it back"));
        }
        return;
    }
    let opened = Vault::open(&kept, key).and_then(|vault| vault.names("agent/"));
    checks.push(match opened {
        Ok(names) if !names.is_empty() && !recorded && !shared => Check::refuses(
            "vault",
            format!("{} keeps the keys of {} agents, and there is no record", kept.display(), names.len()),
            "put the journal back, or move the vault away to begin anew",
        ),
        Ok(names) => Check::fine(
            "vault",
            format!("{} opens; it keeps the keys of {} agents", kept.display(), names.len()),
        ),
        Err(why) => Check::refuses("vault", why.to_string(), "put the key back that it was sealed under"),
    });
}

/// Who may do what with a file, where the system has that.
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).ok().map(|about| about.permissions().mode() & 0o777)
}
