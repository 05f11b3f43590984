//! Joining, and joining again (agentwire, *Join*).

use super::{Relay, failure::Failure, link, name::Name, params::Params, reply};
use arena_journal::{Submission, TextOwner};
use arena_schema::{
    Event,
    command::sessions::{JoinSession, RejoinSession},
    id::NameTag,
};
use axum::{body::Body, http::Response};
use serde::Serialize;

/// What a name's tag is made for, so that it is no other text's.
const NAME_TAGS: &str = "name";

/// What whoever joined is told.
#[derive(Serialize)]
struct Joined<'a> {
    n: u64,
    name: &'a str,
    read: u64,
    link: String,
}

impl Relay {
    /// Somebody joins.
    ///
    /// # Errors
    /// 404, 400, 409.
    pub(super) async fn join(&self, address: &str, query: Option<&str>) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        let params = Params::parse(query, &["as"])?;
        let malformed = || {
            Failure::malformed(
                "as=<name> is missing or no name: lower-case letters, digits and hyphens, in one part or two joined by a /",
            )
        };
        let name = Name::parse(params.name.as_deref().ok_or_else(malformed)?).ok_or_else(malformed)?;
        if found.room.owned {
            return Err(Failure::busy_for(
                "this relay has no access service, which alone lets anyone into this session",
                60,
            ));
        }
        let owner = TextOwner::Session(found.room.id);
        let tag = NameTag(self.texts.tag(owner, NAME_TAGS, name.as_str()).map_err(Failure::internal)?);
        let (name_text, sealed) = self.texts.seal(owner, name.as_str()).map_err(Failure::internal)?;
        let secret = link::draw_secret();
        let command = JoinSession {
            session: found.room.key,
            name: tag,
            name_text,
            secret: link::hash(&secret),
            account: None,
            takes: None,
        };
        let events = self.submit(found.room.partition, Submission::new(command).with_text(sealed)).await?;
        let joined = events.iter().find_map(|event| match event {
            Event::SessionJoined(joined) => Some(joined),
            _ => None,
        });
        let joined = joined.ok_or_else(|| Failure::internal("a join has no entry"))?;
        let link = format!("{}/{secret}", self.link(address));
        Ok(reply::json(&Joined { n: joined.n, name: name.as_str(), read: 0, link }))
    }

    /// A participant joins again. While it is in nothing happens.
    ///
    /// # Errors
    /// 404, 403, 400.
    pub(super) async fn rejoin(
        &self,
        address: &str,
        secret: &str,
        query: Option<&str>,
    ) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        let caller = self.holder(&found, secret)?;
        Params::parse(query, &[])?;
        let mut n = caller.known.joined_n;
        if !caller.known.is_in() {
            let command = RejoinSession {
                session: found.room.key,
                participant: caller.number,
                account: None,
                keeps_account: true,
            };
            let events = self.submit(found.room.partition, Submission::new(command)).await?;
            let entry = events.iter().find_map(|event| match event {
                Event::SessionRejoined(rejoined) => Some(rejoined.n),
                _ => None,
            });
            // Where another request was quicker its entry is this one's too.
            n = match entry {
                Some(n) => n,
                None => self.holder(&found, secret)?.known.joined_n,
            };
        }
        let name = found.room.name_of(caller.number).unwrap_or_default();
        let link = format!("{}/{secret}", self.link(address));
        Ok(reply::json(&Joined { n, name: &name, read: caller.known.read, link }))
    }
}
