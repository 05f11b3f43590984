//! Whether the process lives, and whether it can do its work.

use crate::{arena::Arena, problem::Problem};
use axum::{Json, extract::State, http::StatusCode};
use serde_json::{Value, json};

/// 200 while the process answers.
pub(super) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// 200 while commands are taken and the views follow.
pub(super) async fn ready(State(arena): State<Arena>) -> Result<Json<Value>, Problem> {
    if let Some(why) = arena.handle().stopped().borrow().clone() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopped",
            format!("The sequencer has stopped: {why}."),
        ));
    }
    let (record, views) = (arena.handle().position(), arena.views().checkpoint(arena.partition()));
    Ok(Json(json!({"status": "ready", "record": record.0, "views": views.0})))
}
