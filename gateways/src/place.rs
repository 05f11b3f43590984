//! Where an arena keeps its journal and its vault, and how a process takes part there: alone, on a data folder or in memory, or
//! with others on NATS. What belongs here: what is opened, and what must be there beside what. What never does: what is done
//! with it.

use crate::{
    arena::PARTITION,
    settings::{Durability as Demand, Role, Settings},
};
use anyhow::{Context, Result, bail};
use arena_journal::{
    Clock, DataDir, Durability, ERA_BYTES, FolderSnapshots, Follower, Handle, Journal, MemoryJournal, Nats,
    NatsOptions, Producer, Sequencer, SnapshotMaker, Snapshots, SqliteJournal, StartOptions, Stopped, Vault,
    VaultKey,
    replicated::{Asker, Lagging, Node, NodeOptions, mirror_in},
    vault::random,
};
use arena_schema::id::{Era, Incarnation, RecordNumber};
use std::path::{Path, PathBuf};

/// Where an arena keeps what it has.
pub enum Keeping {
    /// In a data folder: all of it, or where the settings name NATS this process's copies.
    Folder(DataDir),
    /// Nowhere: everything is gone with the process.
    Memory,
}

/// Where the journal lives, open for one process.
pub(crate) enum Place {
    /// This process alone writes it.
    Own(Box<dyn Journal>),
    /// Several processes share it.
    Shared {
        /// Where.
        nats: Box<Nats>,
        /// This process's own folder.
        data: PathBuf,
        /// What this process does.
        role: Role,
    },
}

impl Keeping {
    /// Opens what the settings name.
    ///
    /// # Errors
    /// What cannot be opened or does not fit together, in words for whoever runs the arena.
    pub(crate) async fn open(self, settings: &Settings) -> Result<(Option<DataDir>, Place, Vault)> {
        match self {
            Self::Folder(data) if settings.nats.url.is_some() => {
                let nats = connect(settings).await?;
                let vault = shared_vault(&nats, settings).await?;
                let folder = data.path().to_owned();
                let place = Place::Shared { nats: Box::new(nats), data: folder, role: settings.role };
                Ok((Some(data), place, vault))
            }
            Self::Folder(data) => {
                let (journal, vault) = open_folder(data.path(), &settings.vault_key_file())?;
                let journal = journal.with_free_bytes_min(settings.free_bytes_min);
                Ok((Some(data), Place::Own(Box::new(journal)), vault))
            }
            Self::Memory => {
                let vault = Vault::in_memory(VaultKey::draw())?;
                Ok((None, Place::Own(Box::new(MemoryJournal::default())), vault))
            }
        }
    }
}

/// Connects to the settings' servers, and sees to it that they sync.
///
/// # Errors
/// [`NatsError`](arena_journal::NatsError), with what to do about it.
pub(crate) async fn connect(settings: &Settings) -> Result<Nats> {
    let nats = Nats::connect(&options(settings)?).await?;
    if let Durability::Unchecked { how } = nats.require_durability().await? {
        tracing::warn!("whether NATS syncs before it acknowledges could not be checked: {how}");
    }
    Ok(nats)
}

/// The settings as the journal takes them.
///
/// # Errors
/// There is no address.
pub(crate) fn options(settings: &Settings) -> Result<NatsOptions> {
    let url = settings.nats.url.as_ref().context("nats.url is not set")?;
    Ok(NatsOptions {
        replicas: usize::try_from(settings.nats.replicas)?,
        credentials: settings.nats.credentials.clone(),
        monitor_url: settings.nats.monitor_url.as_ref().map(ToString::to_string),
        system_credentials: settings.nats.system_credentials.clone(),
        relaxed: settings.durability == Demand::Relaxed,
        ..NatsOptions::new(url.expose())
    })
}

/// The vault that all processes share; its key is the same on each of them.
async fn shared_vault(nats: &Nats, settings: &Settings) -> Result<Vault> {
    let path = settings.vault_key_file();
    let key = VaultKey::load(&path, false).with_context(|| {
        format!(
            "with NATS every process needs the same vault key in {}: make one with `head -c 32 /dev/urandom`, and copy it \
             to each",
            path.display()
        )
    })?;
    let nats = nats.clone();
    Ok(tokio::task::spawn_blocking(move || Vault::in_bucket(&nats, key)).await??)
}

impl Place {
    /// Where the records lie that a snapshot's maker replays.
    pub(crate) fn records_at(&self, folder: &Path) -> PathBuf {
        match self {
            Self::Own(_) => SqliteJournal::path_in(folder, PARTITION, Era(1)),
            Self::Shared { data, .. } => mirror_in(data, PARTITION),
        }
    }

    /// Takes part. It blocks: call it off the event loop.
    ///
    /// # Errors
    /// What does not hold, and whoever refuses.
    pub(crate) fn start(
        self,
        clock: Clock,
        snapshots: Option<FolderSnapshots>,
        mut followers: Vec<Box<dyn Follower>>,
        maker: Option<&SnapshotMaker>,
    ) -> Result<Taking> {
        let behind = maker.map(|maker| Box::new(maker.follower()) as Box<dyn Follower>);
        match self {
            Self::Own(journal) => {
                followers.extend(behind);
                let options = StartOptions {
                    partition: PARTITION,
                    clock,
                    incarnation: Incarnation(random()),
                    followers,
                };
                let sequencer = match &snapshots {
                    Some(snapshots) => Sequencer::start_from(journal, snapshots, options)?,
                    None => Sequencer::start(journal, options)?,
                };
                Ok(Taking::Alone(Box::new(sequencer)))
            }
            Self::Shared { nats, data, role } => {
                let node = Node::start(NodeOptions {
                    nats: *nats,
                    partition: PARTITION,
                    clock,
                    data,
                    snapshots: snapshots.map(|snapshots| Box::new(snapshots) as Box<dyn Snapshots>),
                    followers,
                    behind: behind.into_iter().collect(),
                    may_lead: role != Role::Gateway,
                    submits: role != Role::Engine,
                    era_bytes_max: ERA_BYTES,
                })?;
                Ok(Taking::Part(Box::new(node)))
            }
        }
    }
}

/// How a process takes part in its journal.
pub(crate) enum Taking {
    /// It alone writes.
    Alone(Box<Sequencer>),
    /// With others.
    Part(Box<Node>),
}

impl Taking {
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Part(_))
    }

    /// To read the state.
    pub(crate) fn handle(&self) -> &Handle {
        match self {
            Self::Alone(sequencer) => sequencer.handle(),
            Self::Part(node) => node.handle(),
        }
    }

    /// To ask the leader, where another may lead.
    pub(crate) fn asker(&self) -> Option<Asker> {
        match self {
            Self::Alone(_) => None,
            Self::Part(node) => Some(node.asker().clone()),
        }
    }

    /// To submit.
    ///
    /// # Errors
    /// This process is no gateway.
    pub(crate) fn producer(&self) -> Result<Producer> {
        match self {
            Self::Alone(sequencer) => Ok(sequencer.producer()),
            Self::Part(node) => node.producer().context("a process with the role engine submits nothing"),
        }
    }

    /// To see how far the public events are behind; none where this process never publishes any.
    pub(crate) fn lagging(&self) -> Option<Lagging> {
        match self {
            Self::Alone(_) => None,
            Self::Part(node) => node.lagging(),
        }
    }

    /// Says that this process is about to stop.
    pub(crate) fn will_stop(&self) {
        if let Self::Part(node) = self {
            node.will_stop();
        }
    }

    /// Ends in order.
    ///
    /// # Errors
    /// [`Stopped`], where it had ended by itself before.
    pub(crate) fn stop(self) -> Result<(), Stopped> {
        match self {
            Self::Alone(sequencer) => sequencer.stop(),
            Self::Part(node) => node.stop(),
        }
    }
}

/// The journal and the vault of a data folder. Each is worth nothing without the other, so that one which is lost is not made
/// anew beside the other: the agents would have lost their addresses, or the sweep would destroy the keys of them all.
fn open_folder(folder: &Path, key_file: &Path) -> Result<(SqliteJournal, Vault)> {
    let (records_at, vault_at) = (SqliteJournal::path_in(folder, PARTITION, Era(1)), folder.join("vault.db"));
    let (records, kept) = (records_at.display(), vault_at.display());
    let mut journal = SqliteJournal::open(&records_at)?;
    let recorded = journal.last()? > RecordNumber(0);
    let known = vault_at.try_exists()?;
    if recorded && !known {
        bail!(
            "{kept} is missing, and with it the keys of the texts in {records}, agents' addresses among them: put it \
             back"
        );
    }
    let key = VaultKey::load(key_file, !known)
        .with_context(|| format!("the key that {kept} is sealed under is needed: put it back"));
    let vault = Vault::open(&vault_at, key?)?;
    if !recorded && !vault.names("agent/")?.is_empty() {
        bail!(
            "{records} has no record, but {kept} keeps the keys of agents that some journal has: put the journal \
             back, or move the vault away to begin anew"
        );
    }
    Ok((journal, vault))
}
