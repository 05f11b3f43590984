//! What a POST of the API hands in: who calls, the body, and the `Idempotency-Key`. A route says its number and who may call it, and
//! gets a body only together with what it must submit through, so that none forgets the key. What never belongs here: what a route
//! does, or what becomes of a key (idempotency).

use super::{
    agents::named,
    body::{self, InPath},
    caller::{self, Caller},
};
use crate::{
    arena::Arena,
    idempotency::{Asked, Key, Once, Route},
    problem::Problem,
};
use arena_schema::{SecretHash, id::AgentKey};
use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use serde::de::DeserializeOwned;

const HEADER: &str = "idempotency-key";

/// The body of a route.
pub(super) trait Posted: DeserializeOwned {
    /// Which one.
    const ROUTE: Route;
    /// Who may call it.
    type Who: Who;
}

/// A request to do something.
pub(super) struct Post<T: Posted> {
    pub(super) who: T::Who,
    pub(super) body: T,
    pub(super) once: Once,
}

/// Who calls a route.
pub(super) trait Who: Sized + Send {
    /// Finds out.
    fn of(parts: &mut Parts, arena: &Arena) -> impl Future<Output = Result<Self, Problem>> + Send;

    /// Whose key an `Idempotency-Key` is; [`AgentKey::NONE`] where nobody is known.
    fn agent(&self) -> AgentKey;

    /// Whose it may have been, where [`Who::of`] does not know the secret that was shown.
    fn former(_: &mut Parts, _: &Arena) -> impl Future<Output = Option<AgentKey>> + Send {
        std::future::ready(None)
    }
}

/// Whoever comes; an agent, where a good api_key was shown.
pub(super) struct Anyone(Option<Caller>);

impl Who for Anyone {
    async fn of(parts: &mut Parts, arena: &Arena) -> Result<Self, Problem> {
        Ok(Self(<Caller as FromRequestParts<Arena>>::from_request_parts(parts, arena).await.ok()))
    }

    fn agent(&self) -> AgentKey {
        self.0.map_or(AgentKey::NONE, |caller| caller.agent)
    }
}

impl Who for Caller {
    async fn of(parts: &mut Parts, arena: &Arena) -> Result<Self, Problem> {
        <Self as FromRequestParts<Arena>>::from_request_parts(parts, arena).await
    }

    fn agent(&self) -> AgentKey {
        self.agent
    }
}

/// The agent in the path, by its own api_key.
pub(super) struct Own(pub(super) Caller);

impl Who for Own {
    async fn of(parts: &mut Parts, arena: &Arena) -> Result<Self, Problem> {
        let InPath(slug) = InPath::from_request_parts(parts, arena).await?;
        let caller = <Caller as Who>::of(parts, arena).await?;
        caller.must_be(named(arena, &slug)?)?;
        Ok(Self(caller))
    }

    fn agent(&self) -> AgentKey {
        self.0.agent
    }

    async fn former(parts: &mut Parts, arena: &Arena) -> Option<AgentKey> {
        let InPath(slug) = InPath::from_request_parts(parts, arena).await.ok()?;
        named(arena, &slug).ok()
    }
}

impl<T: Posted> FromRequest<Arena> for Post<T> {
    /// What was answered before is an answer like a refusal.
    type Rejection = Response;

    async fn from_request(request: Request, arena: &Arena) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let headers = parts.headers.clone();
        let who = T::Who::of(&mut parts, arena).await;
        let key = match (&who, key(&headers)) {
            (Ok(_), key) => key.map_err(IntoResponse::into_response)?,
            (Err(_), key) => key.unwrap_or_default(),
        };
        let agent = match &who {
            Ok(who) => who.agent(),
            Err(problem) => {
                let good_once = problem.status() == StatusCode::UNAUTHORIZED && key.is_some();
                match T::Who::former(&mut parts, arena).await.filter(|_| good_once) {
                    Some(agent) => agent,
                    None => return Err(problem.clone().into_response()),
                }
            }
        };
        let request = Request::from_parts(parts, body);
        let bytes = body::read(request, arena).await.map_err(IntoResponse::into_response)?;
        let asked = key.map(|key| {
            let shown = caller::bearer(&headers).map(SecretHash::of);
            Asked::new(arena.answers(), T::ROUTE, (agent, shown), &key, &bytes)
        });
        let repeat = match (&asked, &who) {
            (None, _) => Ok(None),
            (Some(asked), Ok(_)) => asked.repeat(arena).await,
            (Some(asked), Err(_)) => asked.repeat_of_former(arena).await,
        };
        if let Some(repeat) = repeat.map_err(IntoResponse::into_response)? {
            return Err(repeat.into_response());
        }
        let who = who.map_err(IntoResponse::into_response)?;
        let body = body::parse(&bytes).map_err(IntoResponse::into_response)?;
        Ok(Self { who, body, once: asked.map_or_else(Once::without_key, Once::asked) })
    }
}

/// The key that the caller gave.
fn key(headers: &HeaderMap) -> Result<Option<Key<'_>>, Problem> {
    let mut given = headers.get_all(HEADER).iter();
    let Some(value) = given.next() else {
        return Ok(None);
    };
    let key = std::str::from_utf8(value.as_bytes()).ok().and_then(Key::parse);
    match (key, given.next()) {
        (Some(key), None) => Ok(Some(key)),
        _ => {
            let detail = "An Idempotency-Key has 16 to 128 characters, and a request has one.";
            Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_idempotency_key", detail))
        }
    }
}
