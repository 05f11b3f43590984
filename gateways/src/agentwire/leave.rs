//! Leaving (agentwire, *Leave*). Leaving twice answers the same number.

use super::{Relay, failure::Failure, params::Params, reply};
use arena_journal::Submission;
use arena_schema::{Event, command::sessions::LeaveSession};
use axum::{body::Body, http::Response};

impl Relay {
    /// A participant leaves, whatever anyone says about it.
    ///
    /// # Errors
    /// 404, 403, 400.
    pub(super) async fn leave(
        &self,
        address: &str,
        secret: &str,
        query: Option<&str>,
    ) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        let caller = self.holder(&found, secret)?;
        Params::parse(query, &[])?;
        if let Some(left) = caller.known.left {
            return Ok(reply::number(left.n));
        }
        let command = LeaveSession { session: found.room.key, participant: caller.number };
        let events = self.submit(found.room.partition, Submission::new(command)).await?;
        let entry = events.iter().find_map(|event| match event {
            Event::SessionLeft(left) => Some(left.n),
            _ => None,
        });
        if let Some(n) = entry {
            return Ok(reply::number(n));
        }
        // Another request of the same was quicker.
        let left = self.holder(&found, secret)?.known.left;
        left.map(|left| reply::number(left.n))
            .ok_or_else(|| Failure::busy("the participant joins again meanwhile"))
    }
}
