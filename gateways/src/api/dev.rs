//! Routes that exist only with `--dev`.

use super::body::Body;
use crate::{arena::Arena, problem::Problem, times::rfc3339_ms};
use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use futures::future::try_join_all;
use serde::Deserialize;
use serde_json::{Value, json};

/// The routes.
pub(crate) fn routes() -> Router<Arena> {
    Router::new().route("/dev/clock", get(read_clock).post(advance_clock))
}

async fn read_clock(State(arena): State<Arena>) -> Json<Value> {
    Json(json!({"now": rfc3339_ms(arena.now())}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_ms: u32,
}

/// Answers after all that came due has been reduced and projected.
async fn advance_clock(
    State(arena): State<Arena>,
    Body(advance): Body<Advance>,
) -> Result<Json<Value>, Problem> {
    if !arena.settings().test_clock {
        let detail = "The journal's clock is the system's; start with --dev --test-clock to move it.";
        return Err(Problem::new(StatusCode::CONFLICT, "clock_runs", detail));
    }
    let micros = u64::from(advance.advance_ms) * 1_000;
    try_join_all(arena.parts().iter().map(|part| part.handle.advance(micros))).await?;
    arena.read_own_writes().await?;
    Ok(read_clock(State(arena)).await)
}
