//! Who does the work outside that an event owes: each agent's gateway, its home. An agent keeps its home while anything of it
//! is open; a new one is chosen among the live gateways by rendezvous on the agent's id.
//!
//! In a journal that is alone an agent whose home is gone gets its next one when it is next asked. Where something of an agent may
//! be open in several partitions it gets it at once, in each of them by the same list ([`keep_in_step`]), and what opens while
//! nothing is open finds its home there and then.

mod snapshot;

use crate::{producers::Producers, registry::Registry, state::State};
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
    /// The home that the agent keeps, if it has one.
    pub(crate) fn kept(&self, producers: &Producers, agent: AgentKey) -> Option<ProducerId> {
        let held = self.agents.get(agent.slot as usize)?;
        (held.open > 0 && producers.is_live(held.home)).then_some(held.home)
    }

    /// The home of what is asked of this agent now.
    pub(crate) fn choose(&self, producers: &Producers, agent: AgentKey, id: &AgentId) -> ProducerId {
        self.kept(producers, agent).unwrap_or_else(|| rendezvous(producers, &id.0, ProducerId::NONE))
    }

    fn at(&mut self, agent: AgentKey) -> &mut Held {
        let at = agent.slot as usize;
        if self.agents.len() <= at {
            self.agents.resize(at + 1, Held::default());
        }
        &mut self.agents[at]
    }

    /// Something of the agent opened: a match, a battle, a session.
    fn enter(&mut self, agent: AgentKey) {
        self.at(agent).open += 1;
    }

    /// The agent is asked from here.
    pub(crate) fn settle(&mut self, agent: AgentKey, home: ProducerId) {
        self.at(agent).home = home;
    }

    /// Something of the agent that was open closed.
    pub(crate) fn leave(&mut self, agent: AgentKey) {
        if let Some(held) = self.agents.get_mut(agent.slot as usize) {
            held.open = held.open.saturating_sub(1);
        }
    }

    /// Whoever has something open and is at home where one `leaves` is at home where it `arrives`.
    fn rehome(
        &mut self,
        registry: &Registry,
        leaves: impl Fn(ProducerId) -> bool,
        arrives: impl Fn(&AgentId) -> ProducerId,
    ) {
        for (slot, _, agent) in registry.agents().iter() {
            let held = self.agents.get_mut(slot as usize).filter(|held| held.open > 0 && leaves(held.home));
            if let Some(held) = held {
                held.home = arrives(&agent.id);
            }
        }
    }

    /// Where an agent was last at home, and how much of it is open there.
    #[cfg(test)]
    pub(crate) fn held(&self, agent: AgentKey) -> (ProducerId, u32) {
        self.agents.get(agent.slot as usize).map(|held| (held.home, held.open)).unwrap_or_default()
    }
}

/// The live gateways are others than before: where partitions are kept in step, whoever is at home where one `leaves` finds its
/// next home among them, whether it is asked anything or not.
pub(crate) fn keep_in_step(state: &mut State, leaves: impl Fn(ProducerId) -> bool) {
    let State { producers, homes, registry, guests, outbox, .. } = state;
    let arrives = |agent: &AgentId| rendezvous(producers, &agent.0, ProducerId::NONE);
    guests.rehome(&leaves, arrives);
    if outbox.spans() {
        homes.rehome(registry, leaves, arrives);
    }
}

/// Something of the agent opens, here or in another partition.
pub(crate) fn enter(state: &mut State, agent: AgentKey) {
    let State { producers, homes, registry, outbox, .. } = state;
    if outbox.spans()
        && let Some(known) = registry.agent(agent)
    {
        let home = homes.choose(producers, agent, &known.id);
        homes.settle(agent, home);
    }
    homes.enter(agent);
}

/// Among the live gateways but `without`, the one whose hash with the id is greatest; none where none is live.
pub(crate) fn rendezvous(producers: &Producers, id: &[u8; 16], without: ProducerId) -> ProducerId {
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
        .max_by_key(|(producer, at)| (Hash::of_parts(&[&at.incarnation.0, id]), *producer))
        .map_or(ProducerId::NONE, |(producer, _)| producer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_schema::{
        event::system::GatewayAnnounced,
        id::{Incarnation, Partition, RulesVersion},
    };

    const AGENT: AgentKey = AgentKey { slot: 3, generation: 1 };

    fn live(ids: &[u64]) -> Producers {
        let mut producers = Producers::default();
        for &id in ids {
            producers.announce(&GatewayAnnounced {
                producer: ProducerId(id),
                incarnation: Incarnation([id as u8; 16]),
                rules_known: RulesVersion(1),
            });
        }
        producers
    }

    fn agent(at: u16) -> AgentId {
        let [high, low] = at.to_be_bytes();
        AgentId::from_random(Partition(0), [high, low, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, high, low])
    }

    #[test]
    fn with_none_live_there_is_no_home() {
        assert_eq!(rendezvous(&live(&[]), &agent(1).0, ProducerId::NONE), ProducerId::NONE);
        assert_eq!(rendezvous(&live(&[7]), &agent(1).0, ProducerId(7)), ProducerId::NONE);
        assert_eq!(rendezvous(&live(&[7]), &agent(1).0, ProducerId::NONE), ProducerId(7));
    }

    #[test]
    fn each_gets_about_its_share_and_one_that_goes_moves_its_own_alone() {
        let (all, without) = (live(&[1, 2, 3]), live(&[1, 3]));
        let mut shares = [0; 4];
        for at in 0..3_000 {
            let id = agent(at);
            let home = rendezvous(&all, &id.0, ProducerId::NONE);
            let after = rendezvous(&without, &id.0, ProducerId::NONE);
            shares[home.0 as usize] += 1;
            assert_eq!(rendezvous(&all, &id.0, ProducerId(2)), after, "as if the one left out were gone");
            assert!(home == after || home == ProducerId(2), "who stays keeps what it had");
        }
        assert!(shares[1..].iter().all(|share| (800..1_200).contains(share)), "{shares:?}");
    }

    #[test]
    fn rendezvous_goes_by_the_process_and_not_by_its_number() {
        let mut renumbered = Producers::default();
        for (id, incarnation) in [(5, 2), (9, 1)] {
            renumbered.announce(&GatewayAnnounced {
                producer: ProducerId(id),
                incarnation: Incarnation([incarnation; 16]),
                rules_known: RulesVersion(1),
            });
        }
        let renumber = |id: ProducerId| if id.0 == 2 { ProducerId(5) } else { ProducerId(9) };
        for at in 0..100 {
            let home = rendezvous(&live(&[1, 2]), &agent(at).0, ProducerId::NONE);
            assert_eq!(rendezvous(&renumbered, &agent(at).0, ProducerId::NONE), renumber(home));
        }
    }

    #[test]
    fn an_agent_keeps_its_home_while_anything_is_open_and_not_longer() {
        let (mut homes, producers) = (Homes::default(), live(&[1, 2]));
        let id = agent(1);
        let own = rendezvous(&producers, &id.0, ProducerId::NONE);
        let foreign = ProducerId(3 - own.0);
        homes.enter(AGENT);
        homes.enter(AGENT);
        homes.settle(AGENT, foreign);
        assert_eq!(homes.choose(&producers, AGENT, &id), foreign);
        homes.leave(AGENT);
        assert_eq!(homes.choose(&producers, AGENT, &id), foreign);
        homes.leave(AGENT);
        assert_eq!(homes.choose(&producers, AGENT, &id), own);
        homes.leave(AGENT);
        assert_eq!(homes.held(AGENT), (foreign, 0));
        homes.enter(AGENT);
        homes.settle(AGENT, ProducerId::NONE);
        assert_eq!(homes.choose(&producers, AGENT, &id), own, "no home is none to keep");
        homes.settle(AGENT, ProducerId(9));
        assert_eq!(homes.choose(&producers, AGENT, &id), own, "nor is one that is gone");
    }
}
