//! Who does the work outside that an event owes: each agent's gateway, its home. An agent keeps its home while anything of it
//! is open; a new one is chosen among the live gateways by rendezvous on the agent's id.

use crate::producers::Producers;
use arena_schema::{
    hash::Hash,
    id::{AgentId, AgentKey, ProducerId},
};

/// Where each agent is at home, and how much of it is open.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    agents: Vec<Held>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    home: ProducerId,
    open: u32,
}

impl Homes {
    /// The home of what opens now for this agent.
    pub(crate) fn choose(&self, producers: &Producers, agent: AgentKey, id: &AgentId) -> ProducerId {
        match self.agents.get(agent.slot as usize) {
            Some(held) if held.open > 0 && held.home != ProducerId::NONE => held.home,
            _ => rendezvous(producers, id, ProducerId::NONE),
        }
    }

    /// Something of the agent opened at `home`.
    pub(crate) fn hold(&mut self, agent: AgentKey, home: ProducerId) {
        let at = agent.slot as usize;
        if self.agents.len() <= at {
            self.agents.resize(at + 1, Held::default());
        }
        self.agents[at].home = home;
        self.agents[at].open += 1;
    }

    /// Something of the agent that was open closed.
    pub(crate) fn release(&mut self, agent: AgentKey) {
        if let Some(held) = self.agents.get_mut(agent.slot as usize) {
            held.open = held.open.saturating_sub(1);
        }
    }

    /// Where an agent was last at home, and how much of it is open there.
    #[cfg(test)]
    pub(crate) fn held(&self, agent: AgentKey) -> (ProducerId, u32) {
        self.agents.get(agent.slot as usize).map(|held| (held.home, held.open)).unwrap_or_default()
    }
}

/// Among the live gateways but `without`, the one whose hash with the id is greatest; none where none is live.
pub(crate) fn rendezvous(producers: &Producers, id: &AgentId, without: ProducerId) -> ProducerId {
    let mut live = producers.live().filter(|(producer, _)| *producer != without);
    let Some(first) = live.next() else {
        return ProducerId::NONE;
    };
    let Some(second) = live.next() else {
        return first.0;
    };
    [first, second]
        .into_iter()
        .chain(live)
        .max_by_key(|(producer, at)| (Hash::of_parts(&[&at.incarnation.0, &id.0]), *producer))
        .map_or(ProducerId::NONE, |(producer, _)| producer)
}
