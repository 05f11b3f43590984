//! Agents of partition 0 that play in another one: what that partition has to know of them while they do. What never belongs here:
//! what partition 0 alone judges by (credentials, addresses, caps).

mod snapshot;

use crate::producers::Producers;
use arena_schema::{
    event::registry::GuestArrived,
    id::{AgentId, AgentKey, ConnectionMethod, Handle, ProducerId, Protocol},
};
use std::collections::BTreeMap;

/// An agent of partition 0 that has something open here.
#[derive(Debug, Clone)]
pub struct Guest {
    /// Its external id.
    pub id: AgentId,
    /// Its permanent name.
    pub handle: Handle,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// Who asks it, by the number that the process has here.
    pub home: ProducerId,
    pub(super) open: u32,
}

/// The guests, by the keys that they have in partition 0.
#[derive(Debug, Clone, Default)]
pub struct Guests {
    here: BTreeMap<AgentKey, Guest>,
}

impl Guests {
    /// The guest under this key.
    pub fn get(&self, agent: AgentKey) -> Option<&Guest> {
        self.here.get(&agent)
    }

    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = (AgentKey, &Guest)> {
        self.here.iter().map(|(&agent, guest)| (agent, guest))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.here.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty()
    }

    /// Whether this guest leaves with the next thing of it that closes.
    pub(crate) fn leaves_next(&self, agent: AgentKey) -> bool {
        self.get(agent).is_some_and(|guest| guest.open == 1)
    }

    /// Its home, where that is live or where none is.
    pub(crate) fn home(&self, producers: &Producers, agent: AgentKey) -> Option<ProducerId> {
        let home = self.get(agent)?.home;
        (home == ProducerId::NONE || producers.is_live(home)).then_some(home)
    }

    pub(crate) fn arrive(&mut self, event: &GuestArrived) {
        let GuestArrived { agent, id, handle, protocol, method, home } = event.clone();
        self.here.insert(agent, Guest { id, handle, protocol, method, home, open: 0 });
    }

    /// Something of it opened or closed; whether it is a guest.
    pub(crate) fn count(&mut self, agent: AgentKey, opens: bool) -> bool {
        let Some(guest) = self.here.get_mut(&agent) else {
            return false;
        };
        guest.open = if opens { guest.open + 1 } else { guest.open.saturating_sub(1) };
        true
    }

    pub(crate) fn settle(&mut self, agent: AgentKey, home: ProducerId) {
        if let Some(guest) = self.here.get_mut(&agent) {
            guest.home = home;
        }
    }

    /// Whoever is at home where one `leaves` is at home where it `arrives`.
    pub(crate) fn rehome(
        &mut self,
        leaves: impl Fn(ProducerId) -> bool,
        arrives: impl Fn(&AgentId) -> ProducerId,
    ) {
        for guest in self.here.values_mut().filter(|guest| leaves(guest.home)) {
            guest.home = arrives(&guest.id);
        }
    }

    pub(crate) fn leave(&mut self, agent: AgentKey) {
        self.here.remove(&agent);
    }

    /// How much of a guest is open.
    #[cfg(test)]
    pub(crate) fn open_of(&self, agent: AgentKey) -> u32 {
        self.get(agent).map_or(0, |guest| guest.open)
    }
}
