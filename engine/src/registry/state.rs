//! The agents and their credentials, as the family's events made them.

use crate::slots::Slots;
use arena_schema::{
    SecretHash, TextRef,
    event::registry::{AgentRegistered, CredentialRotated, EndpointSet},
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, CredentialRef, Handle,
        Protocol, PublicSlug,
    },
};
use std::collections::BTreeMap;

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its external id.
    pub id: AgentId,
    /// Where its public page stands.
    pub public_slug: PublicSlug,
    /// Its permanent name.
    pub handle: Handle,
    /// Its name for display.
    pub name: Option<TextRef>,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// Where it is reached.
    pub endpoint: Option<TextRef>,
    /// Whether others may challenge it.
    pub challenges: ChallengePolicy,
    pub(super) credentials: Vec<u64>,
}

/// A credential as it stands.
#[derive(Debug, Clone)]
pub struct Credential {
    /// Whose it is.
    pub agent: AgentKey,
    /// What it is for.
    pub kind: CredentialKind,
    /// The generation that is good.
    pub generation: u32,
    /// SHA-256 of the secret that is good.
    pub hash: SecretHash,
}

/// The registry's room.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    pub(super) agents: Slots<Agent>,
    pub(super) handles: BTreeMap<Handle, AgentKey>,
    pub(super) credentials: Vec<Credential>,
    pub(super) secrets: BTreeMap<SecretHash, u64>,
}

impl Registry {
    /// All agents.
    pub fn agents(&self) -> &Slots<Agent> {
        &self.agents
    }

    /// The agent under this key.
    pub fn agent(&self, key: AgentKey) -> Option<&Agent> {
        self.agents.get(key.slot, key.generation)
    }

    /// The agent of this handle.
    pub fn by_handle(&self, handle: &Handle) -> Option<AgentKey> {
        self.handles.get(handle).copied()
    }

    /// The good credential whose secret has this hash.
    pub fn by_secret(&self, hash: &SecretHash) -> Option<(CredentialRef, &Credential)> {
        let &id = self.secrets.get(hash)?;
        let credential = self.credentials.get(id as usize - 1)?;
        Some((CredentialRef { id, generation: credential.generation }, credential))
    }

    /// Whose a credential is, if it is the good one, and what it is for.
    pub(crate) fn holder(&self, credential: CredentialRef) -> Option<(AgentKey, CredentialKind)> {
        let at = usize::try_from(credential.id).ok()?.checked_sub(1)?;
        let known = self.credentials.get(at)?;
        (known.generation == credential.generation).then_some((known.agent, known.kind))
    }

    /// The agent's credential of this kind.
    pub fn credential_of(
        &self,
        agent: AgentKey,
        kind: CredentialKind,
    ) -> Option<(CredentialRef, &Credential)> {
        self.agent(agent)?.credentials.iter().find_map(|&id| {
            let credential = self.credentials.get(id as usize - 1)?;
            (credential.kind == kind)
                .then_some((CredentialRef { id, generation: credential.generation }, credential))
        })
    }

    /// The id that the next new credential gets.
    pub(crate) fn next_credential(&self) -> u64 {
        self.credentials.len() as u64 + 1
    }

    /// Whether a secret with this hash is in use.
    pub(crate) fn knows_secret(&self, hash: &SecretHash) -> bool {
        self.secrets.contains_key(hash)
    }

    pub(crate) fn registered(&mut self, event: &AgentRegistered) {
        self.handles.insert(event.handle.clone(), event.agent);
        self.agents.insert(Agent {
            id: event.id,
            public_slug: event.public_slug,
            handle: event.handle.clone(),
            name: event.name,
            protocol: event.protocol,
            method: event.method,
            endpoint: event.endpoint,
            challenges: event.challenges,
            credentials: Vec::new(),
        });
        for credential in &event.credentials {
            self.take_credential(event.agent, credential);
        }
    }

    pub(crate) fn rotated(&mut self, event: &CredentialRotated) {
        self.take_credential(event.agent, &event.credential);
    }

    fn take_credential(&mut self, agent: AgentKey, event: &arena_schema::event::registry::Credential) {
        let id = event.credential.id;
        let credential =
            Credential { agent, kind: event.kind, generation: event.credential.generation, hash: event.hash };
        match self.credentials.get_mut(id as usize - 1) {
            Some(known) => {
                self.secrets.remove(&known.hash);
                *known = credential;
            }
            None => {
                self.credentials.push(credential);
                if let Some(agent) = self.agents.get_mut(agent.slot, agent.generation) {
                    agent.credentials.push(id);
                }
            }
        }
        self.secrets.insert(event.hash, id);
    }

    pub(crate) fn endpoint_set(&mut self, event: &EndpointSet) {
        if let Some(agent) = self.agents.get_mut(event.agent.slot, event.agent.generation) {
            agent.endpoint = event.endpoint.or(agent.endpoint);
            agent.challenges = event.challenges;
        }
    }
}
