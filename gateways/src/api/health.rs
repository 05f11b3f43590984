//! Whether the process lives, and whether it can do its work.

use crate::{arena::Arena, metrics, problem::Problem};
use axum::{Json, extract::State, http::StatusCode, response::Response};
use serde_json::{Value, json};

/// 200 while the process answers.
pub(super) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// 200 while commands are taken and the views follow; says so where only those are taken that end or free things.
pub(super) async fn ready(State(arena): State<Arena>) -> Result<Json<Value>, Problem> {
    if let Some(why) = arena.handle().stopped().borrow().clone() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopped",
            format!("The sequencer has stopped: {why}."),
        ));
    }
    let (record, views) = (arena.handle().position(), arena.views().checkpoint());
    let short = arena.handle().space().shortage().map(|shortage| shortage.to_string());
    Ok(Json(json!({"status": "ready", "record": record.0, "views": views.0, "short_of_space": short})))
}

/// How the process is, in figures.
pub(super) async fn figures(State(arena): State<Arena>) -> Response {
    metrics::answer(arena.vitals().text(Some(arena.views().checkpoint())))
}
