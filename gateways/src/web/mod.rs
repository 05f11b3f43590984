//! Pages for people and the public JSON of matches. What never belongs here: a decision, or a secret.

mod assets;
mod events;
mod home;
mod layout;
mod match_page;
mod practice_page;
pub mod replay;
pub mod replay_check;
mod session_page;

use crate::arena::Arena;
use axum::{Router, routing::get};

/// The routes.
pub fn routes() -> Router<Arena> {
    Router::new()
        .route("/", get(home::page))
        .route("/practice", get(practice_page::page))
        .route("/s", get(session_page::page))
        .route("/m/{id}", get(match_page::page_or_json))
        .route("/m/{id}/events", get(events::stream))
        .route("/assets/{name}", get(assets::file))
}
