//! Whether the process lives, and whether it can do its work.

use crate::{arena::Arena, metrics, parts::FIRST, problem::Problem};
use axum::{Json, extract::State, http::StatusCode, response::Response};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a leader is waited for that is to say that it is there.
const LEADER_WAIT: Duration = Duration::from_secs(1);

/// 200 while the process answers.
pub(super) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// 200 while commands are taken and the views follow; says so where only those are taken that end or free things.
pub(super) async fn ready(State(arena): State<Arena>) -> Result<Json<Value>, Problem> {
    if let Some(why) = arena.stopped().borrow().clone() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopped",
            format!("The sequencer has stopped: {why}."),
        ));
    }
    if !arena.parts().caught_up(|partition| partition == FIRST, LEADER_WAIT).await {
        return Err(Problem::busy("No engine leads, or this gateway is behind the journal.".to_owned()));
    }
    let parts = || arena.parts().iter();
    let records: Vec<u64> = parts().map(|part| part.handle.position().0).collect();
    let views: Vec<u64> = parts().map(|part| arena.views().checkpoint(part.partition).0).collect();
    let short = parts().find_map(|part| part.handle.space().shortage());
    let short = short.map(|shortage| shortage.to_string());
    Ok(Json(json!({
        "status": "ready", "record": records[0], "views": views[0], "short_of_space": short,
        "partitions": {"records": records, "views": views},
    })))
}

/// How the process is, in figures.
pub(super) async fn figures(State(arena): State<Arena>) -> Response {
    let views = arena.views().clone();
    metrics::answer(arena.vitals().text(|partition| Some(views.checkpoint(partition))))
}
