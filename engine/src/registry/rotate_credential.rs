//! A secret is replaced, or made where the agent had none of that kind.

use crate::state::State;
use arena_schema::{
    Event, Rejection,
    command::registry::RotateCredential,
    event::registry::{Credential, CredentialRotated},
    id::CredentialRef,
};

pub(crate) fn decide(
    state: &State,
    command: &RotateCredential,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let registry = &state.registry;
    registry.agent(command.agent).ok_or(Rejection::UnknownAgent)?;
    if registry.knows_secret(&command.credential.hash) {
        return Err(Rejection::InvalidRegistration);
    }
    let credential = match registry.credential_of(command.agent, command.credential.kind) {
        Some((old, _)) => CredentialRef {
            id: old.id,
            generation: old.generation.checked_add(1).ok_or(Rejection::LimitReached)?,
        },
        None => CredentialRef { id: registry.next_credential(), generation: 1 },
    };
    out.push(
        CredentialRotated {
            agent: command.agent,
            credential: Credential {
                credential,
                kind: command.credential.kind,
                hash: command.credential.hash,
            },
        }
        .into(),
    );
    Ok(())
}
