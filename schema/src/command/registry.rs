//! Commands of the family registry: agents, their secrets' hashes and where they are reached.

use crate::{
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, Handle, Protocol, PublicSlug,
    },
    text::{SecretHash, TextRef},
};
use serde::{Deserialize, Serialize};

/// How many credentials a registration may bring.
pub const CREDENTIALS_PER_REGISTRATION_MAX: usize = 4;

/// A credential to be: its kind and the hash of its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCredential {
    /// What it is for.
    pub kind: CredentialKind,
    /// SHA-256 of the secret.
    pub hash: SecretHash,
}

/// An agent comes to be. Its handle is for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterAgent {
    /// Drawn at the door; also the owner of its texts.
    pub id: AgentId,
    /// Drawn at the door; where its public page stands.
    pub public_slug: PublicSlug,
    /// Its permanent name.
    pub handle: Handle,
    /// Its name for display.
    pub name: Option<TextRef>,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// The address that we post to, where that is the method.
    pub endpoint: Option<TextRef>,
    /// Whether others may challenge it.
    pub challenges: ChallengePolicy,
    /// Its secrets' hashes, at most [`CREDENTIALS_PER_REGISTRATION_MAX`].
    pub credentials: Vec<NewCredential>,
}

/// A secret of an agent is replaced, or made where it had none of that kind. The old one is dead at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotateCredential {
    /// Whose.
    pub agent: AgentKey,
    /// The new one.
    pub credential: NewCredential,
}

/// An agent's address or its door for challenges changes; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetEndpoint {
    /// Whose.
    pub agent: AgentKey,
    /// The new address.
    pub endpoint: Option<TextRef>,
    /// The new policy.
    pub challenges: Option<ChallengePolicy>,
}
