//! Errors of the HTTP API: RFC 9457 `application/problem+json` with a stable `code`.

use arena_journal::{Shortage, SubmitError, Unanswered};
use arena_schema::Rejection;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

/// The code of what only the journal can tell.
const OUTCOME_UNKNOWN: &str = "outcome_unknown";
/// When to come again where more space is needed first: somebody has to make it.
const SPACE_RETRY_S: u32 = 30;

/// An error as a client sees it: what was expected, what came, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    code: String,
    detail: String,
    field: Option<&'static str>,
    retry_after_s: Option<u32>,
}

impl Problem {
    /// An error with a stable code and a sentence.
    pub fn new(status: StatusCode, code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { status, code: code.into(), detail: detail.into(), field: None, retry_after_s: None }
    }

    /// 422: a field of the body does not fit.
    pub fn field(field: &'static str, code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: Some(field), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail) }
    }

    /// 404: nothing there by that name.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("There is no such {what}."))
    }

    /// 401: no key, or none that is good.
    pub fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    /// 503: try again in a while; nothing was done.
    pub fn busy(detail: impl Into<String>) -> Self {
        Self { retry_after_s: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail) }
    }

    /// 503: the journal is short of space, and this would take more of it; nothing was done.
    pub fn short_of_space() -> Self {
        let detail = "The arena is short of space: what is open goes on to its end, and nothing new is taken. Nothing was \
                      done; try again later.";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self { retry_after_s: Some(SPACE_RETRY_S), ..Self::new(status, "short_of_space", detail) }
    }

    /// 503: whether it was done is not known here.
    pub fn unknown() -> Self {
        let detail = "The arena did not come to an answer. Whether this was done can be seen later; with the same \
                      Idempotency-Key it can be sent again, and is done once.";
        Self { retry_after_s: Some(5), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, OUTCOME_UNKNOWN, detail) }
    }

    /// Whether it may have been done all the same.
    pub fn is_unknown(&self) -> bool {
        self.code == OUTCOME_UNKNOWN
    }

    /// 500: a fault of the arena's own; the cause is in its log, not in the answer.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed by a fault of our own");
        let detail = "The arena failed to do this by a fault of its own.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// What the engine refused, in words.
    pub fn rejected(rejection: Rejection) -> Self {
        let (status, detail) = explained(rejection);
        Self::new(status, rejection.as_str(), detail)
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        &self.code
    }
}

fn explained(rejection: Rejection) -> (StatusCode, &'static str) {
    let conflict = StatusCode::CONFLICT;
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    match rejection {
        Rejection::NameTaken => {
            (conflict, "The name is somebody's already; names are unique without regard to case.")
        }
        Rejection::StaleCredential => (StatusCode::UNAUTHORIZED, "The key was replaced by a newer one."),
        Rejection::NotAllowed => (StatusCode::FORBIDDEN, "The key is another agent's."),
        Rejection::UnknownAgent => (StatusCode::NOT_FOUND, "There is no such agent."),
        Rejection::SelfMatch => (unprocessable, "An agent does not play against itself."),
        Rejection::ChallengesClosed => (conflict, "That agent takes no challenges."),
        Rejection::PairLimit => {
            (conflict, "These two have 3 matches open already, which is as many as a pair may.")
        }
        Rejection::AgentLimit => {
            (conflict, "One of the two has 16 matches open already, which is as many as an agent may.")
        }
        Rejection::LimitReached | Rejection::OutboxFull => {
            (StatusCode::SERVICE_UNAVAILABLE, "The arena is full; try again later.")
        }
        Rejection::GameNotPlayed => (unprocessable, "One of the two does not play this game."),
        Rejection::UnknownGame => (unprocessable, "There is no such game."),
        Rejection::FirstIsRated => (unprocessable, "Who moves first can be chosen in unrated matches alone."),
        Rejection::DeadlineOutOfRange => (unprocessable, "deadline_ms is 500 to 60000."),
        Rejection::Gone => (StatusCode::GONE, "The match is over."),
        Rejection::SecondKeyConflict => (conflict, "The Idempotency-Key was used with another body."),
        _ => (conflict, "The arena's state does not allow this now."),
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Busy(busy) => Self::busy(format!("{busy}.")),
            SubmitError::Short(shortage) => shortage.into(),
            SubmitError::Stopped(_) => Self::busy("The arena is stopping."),
            _ => Self::internal(error),
        }
    }
}

impl From<Shortage> for Problem {
    /// Which limit it is is for the operator (`/readyz`, `/metrics`, the log).
    fn from(_: Shortage) -> Self {
        Self::short_of_space()
    }
}

impl From<arena_journal::Stopped> for Problem {
    fn from(_: arena_journal::Stopped) -> Self {
        Self::unknown()
    }
}

impl From<Unanswered> for Problem {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Short(shortage) => shortage.into(),
            _ => Self::unknown(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = Map::new();
        body.insert("type".into(), json!("about:blank"));
        body.insert("title".into(), json!(self.status.canonical_reason().unwrap_or("Error")));
        body.insert("status".into(), json!(self.status.as_u16()));
        body.insert("code".into(), json!(self.code));
        body.insert("detail".into(), json!(self.detail));
        if let Some(field) = self.field {
            body.insert("field".into(), json!(field));
        }
        let mut response = (self.status, Value::Object(body).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
