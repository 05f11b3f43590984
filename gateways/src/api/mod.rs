//! The HTTP API of SURFACE.md, *Registration and play*: what comes in is read and checked here, what the engine says is put
//! into JSON or a problem. What never belongs here: pages for people (web), a protocol's own bytes.

mod agents;
mod body;
pub(crate) mod caller;
pub(crate) mod dev;
mod health;
mod matches;
mod posted;

use crate::arena::Arena;
use axum::{
    Router,
    routing::{MethodRouter, get, post},
};

pub(crate) use body::{BODY_BYTES_MAX, InPath, InQuery};

/// The routes of the API.
pub fn routes() -> Router<Arena> {
    let routes = Router::new()
        .route("/api/v1/agents", get(agents::list))
        .route("/api/v1/agents/{slug}", get(agents::show))
        .route("/api/v1/matches/{id}", get(matches::show))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready));
    posts().into_iter().fold(routes, |routes, (path, post)| routes.route(path, post))
}

/// Those that do something. Each honours an `Idempotency-Key`, which a test asks of all that stand here.
fn posts() -> [(&'static str, MethodRouter<Arena>); 4] {
    [
        ("/api/v1/agents", post(agents::register)),
        ("/api/v1/agents/{slug}/endpoint", post(agents::set_endpoint)),
        ("/api/v1/matches", post(matches::challenge)),
        ("/practice", post(matches::practice)),
    ]
}
