//! Reads a request's JSON body strictly: unknown fields are errors, and every error says where.

use crate::problem::Problem;
use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::StatusCode,
};
use serde::de::DeserializeOwned;

/// The longest body that a route of the API reads.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// A JSON body of this shape. An empty one is an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(|why| {
            if why.status() == StatusCode::PAYLOAD_TOO_LARGE {
                let detail = format!("The body is longer than {BODY_BYTES_MAX} bytes.");
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
            } else {
                Problem::new(
                    StatusCode::BAD_REQUEST,
                    "body_unreadable",
                    format!("The body did not arrive whole: {why}."),
                )
            }
        })?;
        let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes.as_ref() };
        serde_json::from_slice(bytes).map(Self).map_err(|why| {
            if why.is_data() {
                Problem::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "invalid_body",
                    format!("The body does not fit: {why}."),
                )
            } else {
                Problem::new(StatusCode::BAD_REQUEST, "invalid_json", format!("The body is not JSON: {why}."))
            }
        })
    }
}
