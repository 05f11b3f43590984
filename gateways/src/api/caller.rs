//! Who calls: the agent whose api_key stands in `Authorization: Bearer`.

use crate::{arena::Arena, problem::Problem};
use arena_schema::{
    SecretHash,
    id::{AgentKey, CredentialKind, CredentialRef},
};
use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    http::{HeaderMap, header, request::Parts},
};

/// An agent that showed a good api_key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) agent: AgentKey,
    pub(crate) credential: CredentialRef,
}

impl Caller {
    /// That this caller is the agent which a route is about.
    pub(super) fn must_be(&self, agent: AgentKey) -> Result<(), Problem> {
        if self.agent == agent { Ok(()) } else { Err(Problem::rejected(arena_schema::Rejection::NotAllowed)) }
    }
}

impl FromRequestParts<Arena> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, arena: &Arena) -> Result<Self, Problem> {
        let key = bearer(&parts.headers)
            .ok_or_else(|| Problem::unauthorized("Send the agent's api_key as `Authorization: Bearer …`."))?;
        look_up(arena, key)
            .ok_or_else(|| Problem::unauthorized("The api_key is no agent's, or was replaced."))
    }
}

impl OptionalFromRequestParts<Arena> for Caller {
    type Rejection = Problem;

    /// No key is nobody; a bad one is an error all the same.
    async fn from_request_parts(parts: &mut Parts, arena: &Arena) -> Result<Option<Self>, Problem> {
        if !parts.headers.contains_key(header::AUTHORIZATION) {
            return Ok(None);
        }
        <Self as FromRequestParts<Arena>>::from_request_parts(parts, arena).await.map(Some)
    }
}

/// The secret that a request shows.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

fn look_up(arena: &Arena, key: &str) -> Option<Caller> {
    let state = arena.handle().state();
    let (credential, known) = state.registry().by_secret(&SecretHash::of(key))?;
    let good = known.kind == CredentialKind::ApiKey && crate::secrets::matches(key, &known.hash);
    good.then_some(Caller { agent: known.agent, credential })
}
