//! The journal that a command is about: in a data folder, in a process's copy of a shared one, or on NATS. What belongs here:
//! which of them is meant, and opening it. What never does: what is done with it.

use super::runtime;
use crate::{
    parts::FIRST,
    place,
    settings::{Flag, Settings},
};
use anyhow::{Context, Result, bail};
use arena_journal::{
    Archives, DataDir, JetStreamJournal, Journal, Mark, Nats, Reader, SqliteJournal,
    replicated::{leader, mirror_in},
};
use arena_schema::id::{Era, Partition};
use clap::Args;
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// Which journal.
#[derive(Args, Default)]
pub(super) struct At {
    /// The data folder: its journal, or its copy of one on NATS [default: what the settings say, else ./arena-data]
    #[arg(long, value_name = "DIR", conflicts_with = "nats")]
    pub(super) data: Option<PathBuf>,
    /// The journal on NATS; credentials come from the settings.
    #[arg(long, value_name = "URL")]
    pub(super) nats: Option<String>,
    /// The settings' file; arena.toml where there is one.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// A folder with eras that were archived; may be given again.
    #[arg(long, value_name = "DIR")]
    pub(super) archive: Vec<PathBuf>,
    /// Which partition's, where the arena has several.
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(super) partition: u16,
}

/// A journal that is there, to be read.
pub(super) struct Stored {
    /// What to call it.
    pub(super) name: String,
    /// Which partition's it is.
    pub(super) partition: Partition,
    /// Where it lies.
    pub(super) place: Place,
    archives: Vec<PathBuf>,
}

pub(super) enum Place {
    /// In files, of which this is the first era's.
    Files {
        /// The file.
        records: PathBuf,
        /// The data folder.
        data: PathBuf,
    },
    /// On NATS, over a connection that lives on this runtime.
    Nats {
        /// The journal.
        journal: Box<JetStreamJournal>,
        /// The connection.
        nats: Box<Nats>,
        /// Its runtime.
        runtime: Runtime,
    },
}

/// Whether a text names a server and not a folder.
fn is_url(text: &str) -> bool {
    text.contains("://")
}

fn load(config: Option<&Path>, flags: &[Flag]) -> Result<Settings> {
    Ok(Settings::load(config, std::env::vars_os(), flags)?)
}

impl At {
    /// Opens what is meant.
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub(super) fn open(&self) -> Result<Stored> {
        let config = self.config.as_deref();
        let partition = Partition(self.partition);
        let mut stored = match (&self.data, &self.nats) {
            (Some(data), _) => in_folder(data, partition)?,
            (None, Some(url)) => on_nats(&load(config, &[Flag::new("--nats", "nats.url", url)])?, partition)?,
            (None, None) => {
                let settings = load(config, &[])?;
                if settings.nats.url.is_some() {
                    on_nats(&settings, partition)?
                } else {
                    in_folder(&settings.data, partition)?
                }
            }
        };
        stored.archives.clone_from(&self.archive);
        Ok(stored)
    }
}

fn in_folder(data: &Path, partition: Partition) -> Result<Stored> {
    let own = SqliteJournal::path_in(data, partition, Era(1));
    let copy = mirror_in(data, partition);
    for records in [&own, &copy] {
        if SqliteJournal::is_there(records)? {
            let place = Place::Files { records: records.clone(), data: data.to_owned() };
            let name = records.display().to_string();
            return Ok(Stored { name, partition, place, archives: Vec::new() });
        }
    }
    bail!("there is no journal in {}: {} is missing", data.display(), own.display());
}

fn on_nats(settings: &Settings, partition: Partition) -> Result<Stored> {
    let runtime = runtime()?;
    let nats = runtime.block_on(Nats::connect(&place::options(settings)?))?;
    let found = runtime.block_on(JetStreamJournal::find(&nats, partition))?;
    let url = settings.nats.url.as_ref().map(ToString::to_string).unwrap_or_default();
    let Some(journal) = found else {
        bail!("there is no journal on {url}: it has no stream ARENA_RECORDS_{}_1", partition.0);
    };
    let name = match partition {
        FIRST => format!("the journal on {url}"),
        other => format!("the journal of partition {} on {url}", other.0),
    };
    let place = Place::Nats { journal: Box::new(journal), nats: Box::new(nats), runtime };
    Ok(Stored { name, partition, place, archives: Vec::new() })
}

impl Stored {
    /// What `--from` names: a data folder or a server.
    ///
    /// # Errors
    /// As [`At::open`].
    pub(super) fn named(
        text: &str,
        partition: Partition,
        config: Option<&Path>,
        archives: &[PathBuf],
    ) -> Result<Self> {
        let stored = if is_url(text) {
            on_nats(&load(config, &[Flag::new("--from", "nats.url", text)])?, partition)?
        } else {
            in_folder(Path::new(text), partition)?
        };
        Ok(Self { archives: archives.to_vec(), ..stored })
    }

    /// Reads it, and the archives that were given before it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn reader(&self) -> Result<Box<dyn Reader>> {
        let reader = match &self.place {
            Place::Files { records, .. } => SqliteJournal::open_reader(records)?,
            Place::Nats { journal, .. } => journal.reader()?,
        };
        if self.archives.is_empty() {
            return Ok(reader);
        }
        Ok(Box::new(Archives::before(reader, &self.archives, self.partition)?))
    }

    /// What is remembered of it beside it.
    pub(super) fn marks(&self) -> Vec<Mark> {
        match &self.place {
            Place::Files { data, .. } => arena_projectors::marks(data, self.partition),
            Place::Nats { .. } => Vec::new(),
        }
    }
}

/// A journal to be written by this process alone, and what has to live as long.
pub(super) struct Target {
    pub(super) journal: Box<dyn Journal>,
    /// The connection's runtime, or the folder's lock: held, and not used.
    pub(super) _runtime: Option<Runtime>,
    pub(super) _folder: Option<DataDir>,
}

impl Target {
    /// What `--to` names, made where there is none.
    ///
    /// # Errors
    /// Somebody else writes it, or it cannot be opened.
    pub(super) fn named(text: &str, partition: Partition, config: Option<&Path>) -> Result<Self> {
        if !is_url(text) {
            let folder = DataDir::take(Path::new(text))?;
            let journal = SqliteJournal::open(&SqliteJournal::path_in(folder.path(), partition, Era(1)))?;
            return Ok(Self { journal: Box::new(journal), _runtime: None, _folder: Some(folder) });
        }
        let settings = load(config, &[Flag::new("--to", "nats.url", text)])?;
        let runtime = runtime()?;
        let nats = runtime.block_on(place::connect(&settings))?;
        let leads = runtime.block_on(leader(&nats, partition)).map_err(anyhow::Error::msg)?;
        if let Some(leads) = leads.filter(|leads| leads.live) {
            let who = leads.incarnation.map(|incarnation| incarnation.to_string()).unwrap_or_default();
            bail!("an arena runs on {text}: the process {who} leads there; stop its processes first");
        }
        let journal = runtime
            .block_on(JetStreamJournal::open_newest(&nats, partition))
            .context("the target's streams cannot be opened")?;
        Ok(Self { journal: Box::new(journal), _runtime: Some(runtime), _folder: None })
    }
}
