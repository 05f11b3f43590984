//! Joining, and joining again (agentwire, *Join* and *Access*).

use super::{
    Relay,
    access::{Credential, Said, Token, Yes, unanswered},
    admit::Whom,
    failure::Failure,
    link,
    name::Name,
    params::Params,
    reply,
    session::Found,
};
use arena_journal::{Submission, TextOwner};
use arena_schema::{
    Event,
    command::sessions::{JoinSession, RejoinSession},
    id::NameTag,
};
use axum::{body::Body, http::Response};
use serde::Serialize;
use serde_json::value::RawValue;

/// What a name's tag is made for, so that it is no other text's.
const NAME_TAGS: &str = "name";

/// What whoever joined is told.
#[derive(Serialize)]
struct Joined<'a> {
    n: u64,
    name: &'a str,
    read: u64,
    link: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a RawValue>,
}

impl Relay {
    /// Somebody joins.
    ///
    /// # Errors
    /// 404, 400, 403, 503, 409.
    pub(super) async fn join(
        &self,
        address: &str,
        query: Option<&str>,
        token: Option<&Token>,
    ) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        let params = Params::parse(query, &["as"])?;
        let name = params.name.as_deref().and_then(Name::parse).ok_or_else(|| {
            let what = "lower-case letters, digits and hyphens, in one part or two joined by a /";
            Failure::malformed(format!("as=<name> is missing or no name: {what}"))
        })?;
        let said = self.may_join(&found, name, token).await?;
        let (about, credential, answered) = match said {
            Some(Yes { account, about, grant }) => {
                let presented = token.map(Credential::presented).unwrap_or_default();
                ((account, about), grant.map_or(presented, Credential::Grant), true)
            }
            None => ((None, None), token.map(Credential::presented).unwrap_or_default(), false),
        };
        let (account, about) = about;

        let (id, key, partition) = (found.room.id, found.room.key, found.room.partition);
        let owner = TextOwner::Session(id);
        let tag = NameTag(self.texts.tag(owner, NAME_TAGS, name.as_str()).map_err(Failure::internal)?);
        let (name_text, sealed) = self.texts.seal(owner, name.as_str()).map_err(Failure::internal)?;
        let vouched = account.as_deref().map(|account| self.account(id, account)).transpose()?;
        let (account_of, account_sealed) = vouched.unzip();
        let takes = self.takes(&found, name, tag, account.as_deref().zip(account_of)).await?;
        let secret = link::draw_secret();
        let command = JoinSession {
            session: key,
            name: tag,
            name_text,
            secret: link::hash(&secret),
            account: account_of,
            takes,
        };
        let texts = [sealed].into_iter().chain(account_sealed);
        let submission = texts.fold(Submission::new(command), Submission::with_text);
        let events = self.submit(partition, submission).await?;
        let mut joined = None;
        for event in &events {
            match event {
                Event::SessionJoined(event) => joined = Some((event.n, event.participant)),
                Event::ParticipantReplaced(event) => {
                    self.yeses.forget(Whom::Participant(id, event.participant));
                }
                _ => {}
            }
        }
        let (n, number) = joined.ok_or_else(|| Failure::internal("a join has no entry"))?;
        // Before anyone has the link that it is for.
        if self.access.is_some() {
            self.keep_credential(id, number, &credential).await?;
        }
        if answered {
            self.yeses.keep(Whom::Participant(id, number), token.map(Token::hash), about.clone());
        }
        let link = format!("{}/{secret}", self.link(address));
        Ok(reply::json(&Joined { n, name: name.as_str(), read: 0, link, about: about.as_deref() }))
    }

    /// What the service says to somebody who would join; none where it isn't asked, or does not answer for an open session.
    async fn may_join(
        &self,
        found: &Found,
        name: Name<'_>,
        token: Option<&Token>,
    ) -> Result<Option<Yes>, Failure> {
        let owned = found.room.owned;
        let Some(access) = &self.access else { return if owned { Err(unanswered()) } else { Ok(None) } };
        if !owned && token.is_none() {
            return Ok(None);
        }
        let by = token.map(Credential::presented).unwrap_or_default();
        match access.join(&found.address, name.as_str(), &by, owned).await {
            Said::Yes(yes) => Ok(Some(yes)),
            Said::No(refusal) => Err(refusal),
            Said::Nothing if owned => Err(unanswered()),
            Said::Nothing => Ok(None),
        }
    }

    /// A participant joins again. While it is in nothing happens.
    ///
    /// # Errors
    /// 404, 403, 400, 503.
    pub(super) async fn rejoin(
        &self,
        address: &str,
        secret: &str,
        query: Option<&str>,
        token: Option<&Token>,
    ) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        let caller = self.holder(&found, secret)?;
        Params::parse(query, &[])?;
        let about = self.admit(&found, caller.number, token).await?.about;
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
        Ok(reply::json(&Joined { n, name: &name, read: caller.known.read, link, about: about.as_deref() }))
    }
}
