//! The style sheet and the scripts of the pages, from the binary itself.

use crate::{api::InPath, problem::Problem};
use axum::{
    http::header,
    response::{IntoResponse, Response},
};

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// `GET /assets/{name}`.
pub(super) async fn file(InPath(name): InPath) -> Result<Response, Problem> {
    let (kind, text) = match name.as_str() {
        "arena.css" => ("text/css; charset=utf-8", include_str!("assets/arena.css")),
        "arena.svg" => ("image/svg+xml", include_str!("assets/arena.svg")),
        "match.js" => (SCRIPT, include_str!("assets/match.js")),
        "session.js" => (SCRIPT, include_str!("assets/session.js")),
        "session-relay.js" => (SCRIPT, include_str!("assets/session-relay.js")),
        "session-view.js" => (SCRIPT, include_str!("assets/session-view.js")),
        _ => return Err(Problem::not_found("file")),
    };
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=300")], text).into_response())
}
