//! What a caller may repeat under a key of its own (`Idempotency-Key`): it is done once, and for 24 hours it is answered as it
//! was the first time. What belongs here: how a repeat is known, and what it is answered. What never does: what a route does, how
//! a protocol carries the key, and a memory of this process's own: a repeat may come after a crash, or through another gateway.
//!
//! Two things are kept. That it was done is in the engine's state: the command carries a second key (tags of the caller's key and
//! of the body, see [`Answers`]), and the state has the outcome's code. What was answered is in the vault, sealed under a key that
//! only who repeats the request can derive, since one-time secrets are in it.
//!
//! The answer is in the vault, durable, *before* its command is submitted. So it is made of what was drawn for the command (a
//! secret, an id) and of nothing that comes after, and wherever the process dies a repeat finds either nothing done or the whole
//! answer. Attempts that race under one key keep an answer each, by the digests of their commands; the state says whose command
//! was the first, and that answer is everybody's. What was refused before there was a command is kept nowhere, and judged anew.

mod answers;

pub use answers::{Answers, Expiries};

use crate::{arena::Arena, problem::Problem, secrets};
use answers::{Kept, Name};
use arena_journal::Submission;
use arena_schema::{
    Command, Rejection, SecretHash, event::system::KeyTag, hash::BodyDigest, id::AgentKey, record::SecondKey,
};
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use std::ops::RangeInclusive;
use zeroize::Zeroizing;

/// How many characters a caller's key has.
pub const KEY_CHARS: RangeInclusive<usize> = 16..=128;
/// How many commands one request may come to.
pub const COMMANDS_MAX: usize = 2;
/// The header of an answer that was given before.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A route, as its number stands in records: a number is never given to another route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Route {
    /// `POST /api/v1/agents`.
    Agents = 1,
    /// `POST /api/v1/agents/{slug}/endpoint`.
    Endpoint = 2,
    /// `POST /api/v1/matches`.
    Matches = 3,
    /// `POST /practice`.
    Practice = 4,
}

/// A caller's key, compared to the letter.
pub struct Key<'a>(&'a str);

impl<'a> Key<'a> {
    /// A key of [`KEY_CHARS`] characters.
    pub fn parse(text: &'a str) -> Option<Self> {
        KEY_CHARS.contains(&text.chars().count()).then_some(Self(text))
    }
}

/// An answer to what was accepted. One-time secrets may be in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    status: StatusCode,
    json: String,
}

impl Answer {
    /// With this JSON.
    pub fn new(status: StatusCode, json: &serde_json::Value) -> Self {
        Self { status, json: json.to_string() }
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("application/json");
        (self.status, [(header::CONTENT_TYPE, kind)], self.json).into_response()
    }
}

/// What was answered before: marked as such, and the same otherwise.
#[derive(Debug)]
pub struct Repeat(Result<Answer, Problem>);

impl IntoResponse for Repeat {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

/// What became of a request.
#[derive(Debug)]
pub enum Done {
    /// It was done now.
    Now(Answer),
    /// It had been done before, and nothing was done now.
    Before(Repeat),
}

impl IntoResponse for Done {
    fn into_response(self) -> Response {
        match self {
            Self::Now(answer) => answer.into_response(),
            Self::Before(repeat) => repeat.into_response(),
        }
    }
}

/// A request that may be repeated, where its caller gave a key.
pub struct Once(Option<Asked>);

impl Once {
    /// Of a request without a key: whenever it comes, it is done.
    pub fn without_key() -> Self {
        Self(None)
    }

    /// Of a request with a key.
    pub fn asked(asked: Asked) -> Self {
        Self(Some(asked))
    }

    /// Whether it has a key. Then nothing but its form is refused at the door: what the engine says to it is kept.
    pub fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// Submits what a request comes to, in one record, and answers; with a key at most once. It is the last command that the answer
    /// belongs to. Requests of one route that come to different commands under the same key must share each tag that both have, so
    /// a route that may come to two commands submits two whenever there is a key.
    ///
    /// # Errors
    /// A [`Problem`]: the key was used with another body, the queue is full, the engine refuses, or the outcome is unknown.
    pub async fn act(
        self,
        arena: &Arena,
        mut submissions: Vec<Submission>,
        answer: Answer,
    ) -> Result<Done, Problem> {
        let Self(Some(asked)) = self else {
            arena.submit_together(submissions).await?;
            return Ok(Done::Now(answer));
        };
        let count = submissions.len();
        let Some(last) = submissions.last().filter(|_| count <= COMMANDS_MAX) else {
            return Err(Problem::internal(format!("a request came to {count} commands")));
        };
        let digest = digest(&last.command);
        for (submission, key) in submissions.iter_mut().rev().zip(asked.keys) {
            let Asked { route, caller, body, .. } = asked;
            submission.second_key = Some(SecondKey { route: route as u16, caller, key, body });
        }
        // No answer is kept for what is refused in any case.
        arena.check_space(&submissions)?;
        let own = Name { digest, ..asked.name() };
        let at = arena.now().max(arena.handle().state().head().time);
        let kept = Kept { answer: answer.clone(), secret: asked.secret };
        arena.answers().keep(&own, &asked.seal, at, &kept).await?;
        // Where none comes, a double of this request may rely on an answer of the same name: the sweep decides.
        let outcome = arena.outcomes(submissions).await?.pop().unwrap_or(Ok(Vec::new()));
        let Err(rejection) = outcome else {
            return Ok(Done::Now(answer));
        };
        if !own.is_needed(&arena.handle().state()) {
            arena.answers().destroy(&own).await?;
        }
        if rejection != Rejection::SecondKeyReplayed {
            return Err(Problem::rejected(rejection));
        }
        let repeat = asked.repeat(arena).await?;
        repeat.map(Done::Before).ok_or_else(|| Problem::busy("The key has just expired."))
    }
}

/// A command's digest, as the state has it.
fn digest(command: &Command) -> BodyDigest {
    let mut body = Vec::with_capacity(128);
    command.encode_body(&mut body);
    BodyDigest::of(command.kind(), &body)
}

/// A request with a key.
pub struct Asked {
    route: Route,
    caller: AgentKey,
    /// The key's tags, one for each command, the last command's first.
    keys: [KeyTag; COMMANDS_MAX],
    body: KeyTag,
    seal: Zeroizing<[u8; 32]>,
    /// What the caller showed.
    secret: Option<SecretHash>,
}

/// What the state has of a key.
struct Outcome {
    body: KeyTag,
    code: u16,
    digest: Option<BodyDigest>,
}

impl Asked {
    /// By this caller ([`AgentKey::NONE`]: nobody known), who showed this secret, with this body as received.
    pub fn new(
        answers: &Answers,
        route: Route,
        (caller, secret): (AgentKey, Option<SecretHash>),
        key: &Key<'_>,
        body: &[u8],
    ) -> Self {
        let Key(text) = key;
        Self {
            route,
            caller,
            keys: std::array::from_fn(|command| answers.key_tag(text, command)),
            body: answers.body_tag(body),
            seal: answers.seal_key(text),
            secret,
        }
    }

    /// What it was answered before; none where it has not been done.
    ///
    /// # Errors
    /// A [`Problem`]: the key was used with another body, or the answer cannot be read.
    pub async fn repeat(&self, arena: &Arena) -> Result<Option<Repeat>, Problem> {
        let Some(done) = self.outcome(arena) else {
            return Ok(None);
        };
        if done.body != self.body {
            return Err(Problem::rejected(Rejection::SecondKeyConflict));
        }
        if done.code != 0 {
            let rejection = Rejection::from_code(done.code)
                .ok_or_else(|| Problem::internal(format!("no refusal has the code {}", done.code)))?;
            return Ok(Some(Repeat(Err(Problem::rejected(rejection)))));
        }
        match self.kept(arena, &done).await? {
            Some(kept) => Ok(Some(Repeat(Ok(kept.answer)))),
            // Its time ran out meanwhile.
            None if self.outcome(arena).is_none() => Ok(None),
            None => {
                let detail = "This was done under this Idempotency-Key, and its answer is kept no more.";
                Err(Problem::new(StatusCode::CONFLICT, "answer_gone", detail))
            }
        }
    }

    /// The same for a caller whose secret is good no more: only where it was shown the first time too. A rotation ends the secret
    /// that its repeat is made with.
    ///
    /// # Errors
    /// A [`Problem`]: the answer cannot be read.
    pub async fn repeat_of_former(&self, arena: &Arena) -> Result<Option<Repeat>, Problem> {
        let done = self.outcome(arena).filter(|done| done.body == self.body && done.code == 0);
        let Some(done) = done else {
            return Ok(None);
        };
        let kept = self.kept(arena, &done).await?;
        let same = kept.filter(|kept| match (&kept.secret, &self.secret) {
            (Some(first), Some(now)) => secrets::same_hash(first, now),
            _ => false,
        });
        Ok(same.map(|kept| Repeat(Ok(kept.answer))))
    }

    fn outcome(&self, arena: &Arena) -> Option<Outcome> {
        let state = arena.handle().state();
        let (route, [key, ..]) = (self.route as u16, self.keys);
        let (body, _, code) = state.second_key(route, self.caller, key)?;
        Some(Outcome { body, code, digest: state.second_key_command(route, self.caller, key) })
    }

    async fn kept(&self, arena: &Arena, done: &Outcome) -> Result<Option<Kept>, Problem> {
        let Some(digest) = done.digest else {
            return Ok(None);
        };
        arena.answers().read(&Name { digest, ..self.name() }, &self.seal).await
    }

    fn name(&self) -> Name {
        let [key, ..] = self.keys;
        Name { route: self.route as u16, caller: self.caller, key, digest: BodyDigest([0; 16]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_16_to_128_characters_and_not_bytes() {
        for (text, good) in [
            ("x".repeat(15), false),
            ("x".repeat(16), true),
            ("x".repeat(128), true),
            ("x".repeat(129), false),
            ("ä".repeat(15), false),
            ("ä".repeat(128), true),
            (String::new(), false),
        ] {
            assert_eq!(Key::parse(&text).is_some(), good, "{text:?}");
        }
    }

    #[test]
    fn a_route_s_number_is_for_ever() {
        let numbers = [Route::Agents, Route::Endpoint, Route::Matches, Route::Practice].map(|it| it as u16);
        assert_eq!(numbers, [1, 2, 3, 4]);
    }
}
