//! An agent's address or its door for challenges changes.

use crate::state::State;
use arena_schema::{
    Event, Rejection, command::registry::SetEndpoint, event::registry::EndpointSet, id::ConnectionMethod,
};

pub(crate) fn decide(state: &State, command: &SetEndpoint, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let agent = state.registry.agent(command.agent).ok_or(Rejection::UnknownAgent)?;
    if command.endpoint.is_some() && agent.method != ConnectionMethod::RemoteEndpoint {
        return Err(Rejection::InvalidRegistration);
    }
    out.push(
        EndpointSet {
            agent: command.agent,
            endpoint: command.endpoint,
            challenges: command.challenges.unwrap_or(agent.challenges),
        }
        .into(),
    );
    Ok(())
}
