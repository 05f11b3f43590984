//! The homes in a snapshot, by the agents' places, up to the last that says anything.

use super::{Held, Homes};
use crate::{matches::Matches, snapshot::Misfit};
use arena_schema::{
    codec::{Values, encode},
    id::ProducerId,
};

const HELD_BYTES_MIN: usize = 2;

impl Homes {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { agents } = self;
        let says = |held: &Held| held.open > 0 || held.home != ProducerId::NONE;
        let length = agents.iter().rposition(says).map_or(0, |last| last + 1);
        encode(&(length as u32), out);
        for Held { home, open } in agents.iter().take(length) {
            encode(&(home, open), out);
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>, matches: &Matches) -> Result<Self, Misfit> {
        let mut agents = Vec::new();
        for _ in 0..values.count(HELD_BYTES_MIN)? {
            let (home, open) = values.take()?;
            agents.push(Held { home, open });
        }
        // A family that opens something of an agent is counted here too.
        let open = |at: usize| agents.get(at).map_or(0, |held: &Held| held.open);
        let counted = |at: usize| matches.of_agent.get(at).copied().unwrap_or_default();
        if (0..agents.len().max(matches.of_agent.len())).any(|at| open(at) != counted(at)) {
            return Err(Misfit("an agent has more or less open than is counted at its home"));
        }
        Ok(Self { agents })
    }
}
