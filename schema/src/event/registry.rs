//! Events of the family registry.

use crate::{
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, CredentialRef, Handle,
        ProducerId, Protocol, PublicSlug,
    },
    text::{SecretHash, TextRef},
};
use serde::{Deserialize, Serialize};

/// A credential as it stands from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// Its id and generation.
    pub credential: CredentialRef,
    /// What it is for.
    pub kind: CredentialKind,
    /// SHA-256 of its secret.
    pub hash: SecretHash,
}

/// An agent came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRegistered {
    /// Its place inside.
    pub agent: AgentKey,
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
    /// Its credentials.
    pub credentials: Vec<Credential>,
}

/// A secret was replaced or made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialRotated {
    /// Whose.
    pub agent: AgentKey,
    /// As it stands from here on.
    pub credential: Credential,
}

/// An address or a policy changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointSet {
    /// Whose.
    pub agent: AgentKey,
    /// The new address; `None`: as it was.
    pub endpoint: Option<TextRef>,
    /// The policy as it stands from here on.
    pub challenges: ChallengePolicy,
}

/// An agent of partition 0 has a match here, the first one that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestArrived {
    /// Its key, the same in every partition.
    pub agent: AgentKey,
    /// Its external id.
    pub id: AgentId,
    /// Its permanent name.
    pub handle: Handle,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// Its home, by the number that the process has here.
    pub home: ProducerId,
}

/// The last match of a guest is over; what was known of it leaves the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestLeft {
    /// Who it was.
    pub agent: AgentKey,
}
