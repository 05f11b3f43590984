//! The partitions of this process: of each how to read its state, to submit to it, and to ask its leader. What belongs here: which
//! of them something new goes to. What never does: what a partition decides.

use arena_engine::State;
use arena_journal::{Handle, Producer, replicated::Asker, vault::random};
use arena_schema::id::{AgentKey, Partition, Protocol};
use std::{sync::Arc, time::Duration};

/// The partition of the registry and the homes, where agents are born.
pub(crate) const FIRST: Partition = Partition(0);

/// One of them.
pub struct Part {
    /// Which.
    pub partition: Partition,
    /// Reads its state.
    pub handle: Handle,
    /// Submits to it as this process's gateway.
    pub producer: Producer,
    /// Asks its leader, where the journal is shared.
    pub asker: Option<Asker>,
}

/// All of them, the first at least. A clone is the same.
#[derive(Clone)]
pub struct Parts(Arc<[Part]>);

impl Parts {
    /// In their order, from the first on.
    ///
    /// # Panics
    /// Where there is none.
    pub(crate) fn of(parts: Vec<Part>) -> Self {
        assert!(parts.iter().map(|part| part.partition).eq((0..parts.len() as u16).map(Partition)));
        assert!(!parts.is_empty());
        Self(parts.into())
    }

    /// The one with the registry.
    pub fn first(&self) -> &Part {
        &self.0[0]
    }

    /// One of them; none where this process does not follow it.
    pub fn get(&self, partition: Partition) -> Option<&Part> {
        self.0.get(usize::from(partition.0))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }

    /// Where the next match is played, of so many partitions that the settings want: one that is open, and not the first, which
    /// has the registry and all openings to do.
    pub(crate) fn draw(&self, wanted: u64) -> Partition {
        let state = self.first().handle.state();
        let open: Vec<Partition> =
            state.outbox().partitions().filter(|partition| u64::from(partition.0) < wanted).collect();
        match open.len() {
            0 => FIRST,
            count => open[usize::from(u16::from_le_bytes(random())) % count],
        }
    }

    /// Waits until the states of these have what any caller wrote before, through whichever gateway; false where that takes longer.
    /// The first comes last: whoever plays in another was registered there.
    pub(crate) async fn caught_up(&self, which: impl Fn(Partition) -> bool, wait: Duration) -> bool {
        let askers = |first: bool| {
            let those = self.iter().filter(move |part| (part.partition == FIRST) == first);
            those.filter(|part| which(part.partition)).filter_map(|part| part.asker.as_ref())
        };
        let all = async {
            for first in [false, true] {
                let there = futures::future::join_all(askers(first).map(|asker| asker.caught_up(wait))).await;
                if there.contains(&false) {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(wait, all).await.unwrap_or(false)
    }
}

/// What an agent speaks, in the state of any partition: it is registered there, or a guest.
pub(crate) fn protocol_in(state: &State, agent: AgentKey) -> Option<Protocol> {
    let registered = state.registry().agent(agent).map(|known| known.protocol);
    registered.or_else(|| state.guests().get(agent).map(|guest| guest.protocol))
}
