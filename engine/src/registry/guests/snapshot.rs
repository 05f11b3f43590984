//! The guests in a snapshot, by key. How much of each is open is counted anew by whoever has it open.

use super::{Guest, Guests};
use crate::snapshot::Misfit;
use arena_schema::{
    codec::{Values, encode},
    id::AgentKey,
};

const GUEST_BYTES_MIN: usize = 26;

impl Guests {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { here } = self;
        encode(&(here.len() as u32), out);
        for (agent, Guest { id, handle, protocol, method, home, open: _ }) in here {
            encode(&(agent, id, handle, protocol, method, home), out);
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        let mut guests = Self::default();
        for _ in 0..values.count(GUEST_BYTES_MIN)? {
            let (agent, id, handle, protocol, method, home): (AgentKey, _, _, _, _, _) = values.take()?;
            let guest = Guest { id, handle, protocol, method, home, open: 0 };
            if guests.here.insert(agent, guest).is_some() {
                return Err(Misfit("a guest comes twice"));
            }
        }
        Ok(guests)
    }

    /// Whether each has something open.
    pub(crate) fn all_counted(&self) -> Result<(), Misfit> {
        if self.here.values().all(|guest| guest.open > 0) {
            Ok(())
        } else {
            Err(Misfit("a guest has nothing open"))
        }
    }
}
