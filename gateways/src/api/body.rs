//! Reads a request's JSON body strictly: unknown fields are errors, and every error says where.

use crate::problem::Problem;
use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

/// The longest body that a route of the API reads.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// A JSON body of this shape, where no `Idempotency-Key` is honoured (`/dev`).
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        read(request, state).await.and_then(|bytes| parse(&bytes)).map(Self)
    }
}

/// A body as received.
pub(super) async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|why| {
        if why.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let detail = format!("The body is longer than {BODY_BYTES_MAX} bytes.");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
        } else {
            let detail = format!("The body did not arrive whole: {why}.");
            Problem::new(StatusCode::BAD_REQUEST, "body_unreadable", detail)
        }
    })
}

/// A body's JSON. An empty one is an empty object.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    if !is_object && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
        let detail = "The body is JSON, but no object.";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", detail));
    }
    serde_json::from_slice(bytes).map_err(|why| {
        if why.is_data() {
            let detail = format!("The body does not fit: {why}.");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", detail)
        } else {
            Problem::new(StatusCode::BAD_REQUEST, "invalid_json", format!("The body is not JSON: {why}."))
        }
    })
}

/// What stands in the place of a route's one variable.
pub(crate) struct InPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for InPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(text)| Self(text)).map_err(|_| Problem::not_found("page"))
    }
}

/// The parameters behind the question mark.
pub(crate) struct InQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for InQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|why| {
            let detail = format!("A parameter does not fit: {}.", why.body_text());
            Problem::new(StatusCode::BAD_REQUEST, "invalid_parameter", detail)
        })
    }
}
