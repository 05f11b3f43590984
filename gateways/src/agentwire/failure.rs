//! A failure as the protocol has it (agentwire, *Errors*): a status and one line of plain text.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};

/// Before a request that was refused for want of room is made again, in seconds.
const RETRY_AFTER_S: u32 = 1;

/// Why an operation did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    status: StatusCode,
    line: String,
    retry_after_s: Option<u32>,
}

impl Failure {
    fn new(status: StatusCode, line: impl Into<String>) -> Self {
        Self { status, line: line.into(), retry_after_s: None }
    }

    /// 400: the request is malformed.
    pub(super) fn malformed(line: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, line)
    }

    /// 403: the caller is not in.
    pub(super) fn not_in() -> Self {
        Self::refused("this link is no participant's that is in: join, or join again")
    }

    /// 403 with a line of somebody else's.
    pub(super) fn refused(line: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, line)
    }

    /// 404: no such session, entry or operation.
    pub(super) fn absent(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no such {what}"))
    }

    /// 408: a body that came too slowly.
    pub(super) fn slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the payload came too slowly")
    }

    /// 409: the name is taken.
    pub(super) fn taken() -> Self {
        Self::new(StatusCode::CONFLICT, "the name is taken in this session")
    }

    /// 409: a newer receive came.
    pub(super) fn replaced() -> Self {
        Self::new(StatusCode::CONFLICT, "a newer receive of this participant replaced this one")
    }

    /// 410: another version of the transport.
    pub(super) fn version() -> Self {
        Self::new(StatusCode::GONE, "this relay speaks v2 of the transport, and no other version")
    }

    /// 413: the payload is too large.
    pub(super) fn large(most: u64) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a payload is at most {most} bytes"))
    }

    /// 503: not right now.
    pub(super) fn busy(line: impl Into<String>) -> Self {
        Self { retry_after_s: Some(RETRY_AFTER_S), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, line) }
    }

    /// 503 for so long.
    pub(super) fn busy_for(line: impl Into<String>, seconds: u32) -> Self {
        Self { retry_after_s: Some(seconds), ..Self::busy(line) }
    }

    /// 500: a fault of our own; the cause is in the log.
    pub(super) fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "an agentwire request failed by a fault of our own");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the relay failed by a fault of its own")
    }

    /// Whether somebody said no, rather than that there was no answer.
    pub(super) fn is_refusal(&self) -> bool {
        self.status == StatusCode::FORBIDDEN
    }

    pub(super) fn response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.line + "\n"));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
