//! The HTTP API of SURFACE.md, *Registration and play*: what comes in is read and checked here, what the engine says is put
//! into JSON or a problem. What never belongs here: pages for people (web), a protocol's own bytes.

mod agents;
mod body;
pub(crate) mod caller;
pub(crate) mod dev;
mod health;
mod matches;

use crate::arena::Arena;
use axum::{
    Router,
    routing::{get, post},
};

pub(crate) use body::{BODY_BYTES_MAX, InPath, InQuery};

/// The routes of the API.
pub fn routes() -> Router<Arena> {
    Router::new()
        .route("/api/v1/agents", get(agents::list).post(agents::register))
        .route("/api/v1/agents/{slug}", get(agents::show))
        .route("/api/v1/agents/{slug}/endpoint", post(agents::set_endpoint))
        .route("/api/v1/matches", post(matches::challenge))
        .route("/api/v1/matches/{id}", get(matches::show))
        .route("/practice", post(matches::practice))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
}
