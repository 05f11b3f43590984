//! An agent comes to be.

use crate::state::State;
use arena_schema::{
    Event, Rejection,
    command::registry::{CREDENTIALS_PER_REGISTRATION_MAX, RegisterAgent},
    event::registry::{AgentRegistered, Credential},
    id::{AgentKey, ConnectionMethod, CredentialRef, Protocol},
};

/// How many agents a partition holds.
pub const AGENTS_MAX: usize = 1 << 24;

pub(crate) fn decide(state: &State, command: &RegisterAgent, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let registry = &state.registry;
    if registry.by_handle(&command.handle).is_some() {
        return Err(Rejection::NameTaken);
    }
    let posted = command.method == ConnectionMethod::RemoteEndpoint;
    let housed = (command.protocol == Protocol::House, command.method == ConnectionMethod::House);
    if posted != command.endpoint.is_some() || housed.0 != housed.1 {
        return Err(Rejection::InvalidRegistration);
    }
    let credentials = &command.credentials;
    let repeated = credentials.iter().enumerate().any(|(at, one)| {
        registry.knows_secret(&one.hash)
            || credentials[..at].iter().any(|other| other.kind == one.kind || other.hash == one.hash)
    });
    if credentials.len() > CREDENTIALS_PER_REGISTRATION_MAX || repeated {
        return Err(Rejection::InvalidRegistration);
    }
    if registry.agents().len() >= AGENTS_MAX {
        return Err(Rejection::LimitReached);
    }
    let (slot, generation) = registry.agents().next_key();
    let first = registry.next_credential();
    out.push(
        AgentRegistered {
            agent: AgentKey { slot, generation },
            id: command.id,
            public_slug: command.public_slug,
            handle: command.handle.clone(),
            name: command.name,
            protocol: command.protocol,
            method: command.method,
            endpoint: command.endpoint,
            challenges: command.challenges,
            credentials: credentials
                .iter()
                .zip(first..)
                .map(|(new, id)| Credential {
                    credential: CredentialRef { id, generation: 1 },
                    kind: new.kind,
                    hash: new.hash,
                })
                .collect(),
        }
        .into(),
    );
    Ok(())
}
