//! Where an arena keeps its journal and its vault, and how a process takes part there: alone, on a data folder or in memory, or
//! with others on NATS. What belongs here: what is opened, and what must be there beside what. What never does: what is done
//! with it.

use crate::{
    parts::{FIRST, Part},
    settings::{Durability as Demand, Role, Settings},
};
use anyhow::{Context, Result, bail};
use arena_journal::{
    Clock, DataDir, Durability, ERA_BYTES, Follower, Handle, JetStreamJournal, Journal, MemoryJournal, Nats,
    NatsOptions, Payloads, Sequencer, SnapshotMaker, Snapshots, SqliteJournal, StartOptions, StillClock,
    Stopped, Texts, Vault, VaultKey,
    replicated::{Gateway, Lagging, Node, NodeOptions, Peers},
    vault::random,
};
use arena_schema::id::{Era, Incarnation, Partition, RecordNumber};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::watch;

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
        /// How many partitions it follows.
        partitions: u16,
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
                let place = Place::shared(nats, folder, settings.role, settings.partitions).await?;
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

/// Connects to the settings' servers, and sees to it that they sync and are new enough, each that can be asked.
///
/// # Errors
/// [`NatsError`](arena_journal::NatsError), with what to do about it.
pub(crate) async fn connect(settings: &Settings) -> Result<Nats> {
    let nats = Nats::connect(&options(settings)?).await?;
    if let Durability::Unchecked { how } = nats.require_durability().await? {
        tracing::warn!("whether NATS syncs before it acknowledges could not be checked: {how}");
    }
    for server in nats.require_versions().await? {
        tracing::warn!(
            server = server.server,
            "a NATS server's version could not be checked: {:?}",
            server.seen
        );
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
pub(crate) async fn shared_vault(nats: &Nats, settings: &Settings) -> Result<Vault> {
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
    /// With others, in as many partitions as are wanted, and all those that there are.
    ///
    /// # Errors
    /// What NATS says.
    pub(crate) async fn shared(nats: Nats, data: PathBuf, role: Role, wanted: u64) -> Result<Self> {
        let mut partitions = u16::try_from(wanted)?.max(1);
        while JetStreamJournal::find(&nats, Partition(partitions)).await?.is_some() {
            partitions += 1;
        }
        Ok(Self::Shared { nats: Box::new(nats), data, role, partitions })
    }

    /// Where payloads are kept: in the folder of whoever is alone, else in the store that all share.
    ///
    /// # Errors
    /// What NATS says.
    pub(crate) async fn payloads(&self, folder: &Path, texts: &Texts) -> Result<Payloads> {
        match self {
            Self::Own(_) => Ok(Payloads::in_data(folder, texts.clone())),
            Self::Shared { nats, .. } => Ok(Payloads::in_objects(nats, texts.clone()).await?),
        }
    }

    /// How many partitions this process follows.
    pub(crate) fn partitions(&self) -> u16 {
        match self {
            Self::Own(_) => 1,
            Self::Shared { partitions, .. } => *partitions,
        }
    }

    /// Takes part. It blocks: call it off the event loop. What follows a partition, and makes its snapshots, stands at its number.
    ///
    /// # Errors
    /// What does not hold, and whoever refuses.
    pub(crate) fn start(
        self,
        clock: &Clock,
        snapshots: Option<&Arc<dyn Snapshots>>,
        mut followers: Vec<Vec<Box<dyn Follower>>>,
        makers: &[Option<SnapshotMaker>],
    ) -> Result<Taking> {
        let behind = |partition: u16| {
            let maker = makers.get(usize::from(partition)).and_then(Option::as_ref);
            maker.map(|maker| Box::new(maker.follower()) as Box<dyn Follower>)
        };
        match self {
            Self::Own(journal) => {
                let mut followers = followers.swap_remove(usize::from(FIRST.0));
                followers.extend(behind(FIRST.0));
                let options = StartOptions {
                    partition: FIRST,
                    clock: clock.clone(),
                    incarnation: Incarnation(random()),
                    followers,
                };
                let sequencer = match snapshots {
                    Some(snapshots) => Sequencer::start_from(journal, snapshots.as_ref(), options)?,
                    None => Sequencer::start(journal, options)?,
                };
                Ok(Taking::Alone(Box::new(sequencer)))
            }
            Self::Shared { nats, data, role, partitions } => {
                let (gateway, peers) = (Gateway::new(FIRST), Peers::of(partitions));
                // The others first, so that they hear of the announcement in the first.
                let mut nodes = Vec::new();
                for partition in (0..partitions).rev() {
                    nodes.push(Node::start(NodeOptions {
                        nats: (*nats).clone(),
                        partition: Partition(partition),
                        clock: match clock {
                            // Each is moved by the leader of its own partition.
                            Clock::Still(_) if partition > 0 => Clock::Still(StillClock::now()),
                            clock => clock.clone(),
                        },
                        data: data.clone(),
                        snapshots: snapshots.cloned(),
                        followers: followers.pop().unwrap_or_default(),
                        behind: behind(partition).into_iter().collect(),
                        may_lead: role != Role::Gateway,
                        gateway: (role != Role::Engine).then(|| gateway.clone()),
                        peers: peers.clone(),
                        era_bytes_max: ERA_BYTES,
                    })?);
                }
                nodes.reverse();
                Ok(Taking::Part(nodes))
            }
        }
    }
}

/// How a process takes part in its journal.
pub(crate) enum Taking {
    /// It alone writes.
    Alone(Box<Sequencer>),
    /// With others, in several partitions perhaps: the first first.
    Part(Vec<Node>),
}

impl Taking {
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Part(_))
    }

    /// To read the states, in the order of the partitions.
    pub(crate) fn handles(&self) -> Vec<&Handle> {
        match self {
            Self::Alone(sequencer) => vec![sequencer.handle()],
            Self::Part(nodes) => nodes.iter().map(Node::handle).collect(),
        }
    }

    /// To read, to submit and to ask.
    ///
    /// # Errors
    /// This process is no gateway.
    pub(crate) fn parts(&self) -> Result<Vec<Part>> {
        let no_gateway = "a process with the role engine submits nothing";
        match self {
            Self::Alone(sequencer) => Ok(vec![Part {
                partition: FIRST,
                handle: sequencer.handle().clone(),
                producer: sequencer.producer(),
                asker: None,
            }]),
            Self::Part(nodes) => {
                let part = |node: &Node| {
                    Ok(Part {
                        partition: node.partition(),
                        handle: node.handle().clone(),
                        producer: node.producer().context(no_gateway)?,
                        asker: Some(node.asker().clone()),
                    })
                };
                nodes.iter().map(part).collect()
            }
        }
    }

    /// Becomes the reason when one of them cannot go on: then the process ends.
    pub(crate) fn stopped(&self) -> watch::Receiver<Option<String>> {
        let mut stopped: Vec<_> = self.handles().into_iter().map(Handle::stopped).collect();
        if stopped.len() == 1 {
            return stopped.swap_remove(0);
        }
        let (tell, told) = watch::channel(None);
        let tell = Arc::new(tell);
        for mut one in stopped {
            let tell = Arc::clone(&tell);
            tokio::spawn(async move {
                if let Ok(why) = one.wait_for(Option::is_some).await {
                    tell.send_if_modified(|known| {
                        known.is_none() && {
                            why.clone_into(known);
                            true
                        }
                    });
                }
            });
        }
        told
    }

    /// To see how far each partition's public events are behind; none where this process never publishes any.
    pub(crate) fn lagging(&self) -> Vec<Option<Lagging>> {
        match self {
            Self::Alone(_) => vec![None],
            Self::Part(nodes) => nodes.iter().map(Node::lagging).collect(),
        }
    }

    /// Says that this process is about to stop.
    pub(crate) fn will_stop(&self) {
        if let Self::Part(nodes) = self {
            nodes.iter().for_each(Node::will_stop);
        }
    }

    /// Ends in order.
    ///
    /// # Errors
    /// [`Stopped`], where it had ended by itself before.
    pub(crate) fn stop(self) -> Result<(), Stopped> {
        match self {
            Self::Alone(sequencer) => sequencer.stop(),
            Self::Part(nodes) => Node::stop_all(nodes),
        }
    }
}

/// The journal and the vault of a data folder. Each is worth nothing without the other, so that one which is lost is not made
/// anew beside the other: the agents would have lost their addresses, or the sweep would destroy the keys of them all.
fn open_folder(folder: &Path, key_file: &Path) -> Result<(SqliteJournal, Vault)> {
    let (records_at, vault_at) = (SqliteJournal::path_in(folder, FIRST, Era(1)), folder.join("vault.db"));
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
