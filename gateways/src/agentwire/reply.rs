//! What an operation answers, and what every answer of the transport carries: pages of any origin may take part, nothing is kept
//! by anyone on the way, and nothing that was sent runs in a browser (CHOICES-agentwire 20 to 22).

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use serde::Serialize;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson; charset=utf-8";

fn reply(kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// One line of text.
pub(super) fn line(text: String) -> Response<Body> {
    reply(TEXT, text + "\n")
}

/// One line of JSON.
pub(super) fn json(value: &impl Serialize) -> Response<Body> {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned());
    reply(JSON, text + "\n")
}

/// The number of an entry.
pub(super) fn number(n: u64) -> Response<Body> {
    reply(JSON, format!("{{\"n\":{n}}}\n"))
}

/// Entries, and the presence last.
pub(super) fn lines(entries: &[Bytes], presence: &Bytes) -> Response<Body> {
    if entries.is_empty() {
        return reply(LINES, presence.clone());
    }
    let length = entries.iter().map(Bytes::len).sum::<usize>() + presence.len();
    let mut body = BytesMut::with_capacity(length);
    for entry in entries {
        body.extend_from_slice(entry);
    }
    body.extend_from_slice(presence);
    reply(LINES, body.freeze())
}

/// What a browser is told that asks first.
pub(super) fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let rows = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    put(response.headers_mut(), rows);
    response
}

/// What every answer carries.
pub(super) fn finish(mut response: Response<Body>) -> Response<Body> {
    let rows = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Content-Disposition, Retry-After"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    put(response.headers_mut(), rows);
    response
}

fn put<const N: usize>(headers: &mut HeaderMap, rows: [(HeaderName, &'static str); N]) {
    for (name, value) in rows {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
