//! The registry in a snapshot: agents, then credentials by id. What finds an agent by its handle, a credential by its secret or
//! by its agent is made anew.

use super::{Agent, Credential, Registry};
use crate::{slots::Slots, snapshot::Misfit};
use arena_schema::{
    codec::{Values, encode},
    id::AgentKey,
};
use std::collections::BTreeMap;

const CREDENTIAL_BYTES_MIN: usize = 37;

impl Registry {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { agents, handles: _, credentials, secrets: _ } = self;
        agents.encode(out, |agent, out| {
            let Agent {
                id,
                public_slug,
                handle,
                name,
                protocol,
                method,
                endpoint,
                challenges,
                credentials: _,
            } = agent;
            encode(&(id, public_slug, handle, name, protocol, method, endpoint, challenges), out);
        });
        encode(&(credentials.len() as u32), out);
        for Credential { agent, kind, generation, hash } in credentials {
            encode(&(agent, kind, generation, hash), out);
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        let mut handles = BTreeMap::new();
        let mut agents = Slots::decode(values, |slot, generation, values| {
            let (id, public_slug, handle, name, protocol, method, endpoint, challenges) = values.take()?;
            let agent = Agent {
                id,
                public_slug,
                handle,
                name,
                protocol,
                method,
                endpoint,
                challenges,
                credentials: Vec::new(),
            };
            if handles.insert(agent.handle.clone(), AgentKey { slot, generation }).is_some() {
                return Err(Misfit("two agents have one handle"));
            }
            Ok(agent)
        })?;
        let mut credentials = Vec::new();
        let mut secrets = BTreeMap::new();
        for id in 1..=values.count(CREDENTIAL_BYTES_MIN)? as u64 {
            let (agent, kind, generation, hash) = values.take()?;
            let credential = Credential { agent, kind, generation, hash };
            let holder = agents.get_mut(credential.agent.slot, credential.agent.generation);
            holder.ok_or(Misfit("a credential is nobody's"))?.credentials.push(id);
            if secrets.insert(credential.hash, id).is_some() {
                return Err(Misfit("two credentials have one secret"));
            }
            credentials.push(credential);
        }
        Ok(Self { agents, handles, credentials, secrets })
    }
}
