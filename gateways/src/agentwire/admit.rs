//! Whether the access service lets somebody go on (agentwire, *Access*), and what is kept of its answers: a yes for a few seconds,
//! in memory; a grant or a token in the vault, for as long as the session lasts.

use super::{
    Relay,
    access::{About, Credential, Said, Token, Yes, unanswered},
    failure::Failure,
    room::Room,
    session::Found,
};
use arena_journal::{SealedText, Submission, TextOwner};
use arena_schema::{
    SecretHash,
    command::sessions::{Account, SetAccount},
    id::{AccountTag, SessionId},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What an account's tag is made for, so that it is no other text's.
const ACCOUNT_TAGS: &str = "account";
/// How many kept answers there may be before those that are over are thrown away.
const KEPT_MAX: usize = 65_536;

/// Who was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Whom {
    /// A participant.
    Participant(SessionId, u32),
    /// Whoever reads with this token, or without one.
    Reader(SessionId, Option<SecretHash>),
}

struct Kept {
    until: Instant,
    presented: Option<SecretHash>,
    about: Option<About>,
}

/// The yeses that still hold.
pub(super) struct Yeses {
    holds: Duration,
    kept: Mutex<HashMap<Whom, Kept>>,
}

impl Yeses {
    pub(super) fn new(holds: Duration) -> Self {
        Self { holds, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Whom, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a yes that still holds said about the session; it holds for whoever presents nothing, or the same again.
    fn get(&self, whom: Whom, presented: Option<SecretHash>) -> Option<Admitted> {
        let kept = self.kept();
        let yes = kept.get(&whom).filter(|yes| yes.until > Instant::now())?;
        let holds = presented.is_none() || presented == yes.presented;
        holds.then(|| Admitted { about: yes.about.clone(), asked: true })
    }

    pub(super) fn keep(&self, whom: Whom, presented: Option<SecretHash>, about: Option<About>) {
        if self.holds.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut kept = self.kept();
        if kept.len() >= KEPT_MAX {
            kept.retain(|_, yes| yes.until > now);
        }
        kept.insert(whom, Kept { until: now + self.holds, presented, about });
    }

    pub(super) fn forget(&self, whom: Whom) {
        self.kept().remove(&whom);
    }
}

/// Under which name a participant's grant or token lies in the vault.
pub(super) fn credential_name(id: SessionId, number: u32) -> String {
    format!("session/{}/participant/{number}/token", id.to_uuid())
}

/// What somebody was let in with.
#[derive(Default)]
pub(super) struct Admitted {
    pub(super) about: Option<About>,
    /// Whether the service is asked about it, and so again while it waits.
    pub(super) asked: bool,
}

impl Relay {
    /// Whether a participant may go on. What it presents replaces what it was known by, once the service says yes to it.
    ///
    /// # Errors
    /// 403 with the service's line, or 503 in an owned session where it does not answer.
    pub(super) async fn admit(
        &self,
        found: &Found,
        number: u32,
        presented: Option<&Token>,
    ) -> Result<Admitted, Failure> {
        let room = &found.room;
        let Some(access) = &self.access else {
            return if room.owned { Err(unanswered()) } else { Ok(Admitted::default()) };
        };
        let (whom, hash) = (Whom::Participant(room.id, number), presented.map(Token::hash));
        if let Some(admitted) = self.yeses.get(whom, hash) {
            return Ok(admitted);
        }
        let by = match presented {
            Some(token) => Credential::presented(token),
            None => self.credential(room.id, number).await?,
        };
        if !room.owned && !by.is_some() {
            return Ok(Admitted::default());
        }
        let name = room.name_of(number).unwrap_or_default();
        match access.join(&found.address, &name, &by, room.owned).await {
            Said::Yes(Yes { account, about, grant }) => {
                if presented.is_some() || grant.is_some() {
                    let kept = grant.map_or(by, Credential::Grant);
                    self.keep_credential(room.id, number, &kept).await?;
                }
                self.vouch(room, number, account.as_deref()).await?;
                self.yeses.keep(whom, hash, about.clone());
                Ok(Admitted { about, asked: true })
            }
            Said::No(refusal) => {
                // Who presents a bad token stays in with the one before (CHOICES-agentwire 55).
                if presented.is_none() {
                    self.yeses.forget(whom);
                    self.vouch(room, number, None).await?;
                }
                Err(refusal)
            }
            Said::Nothing if room.owned => Err(unanswered()),
            Said::Nothing => {
                // It goes on as it was, and is not held up by each of its requests.
                self.yeses.keep(whom, hash, None);
                Ok(Admitted { about: None, asked: true })
            }
        }
    }

    /// Whether somebody may read without joining. Without a service whoever has the link may.
    ///
    /// # Errors
    /// As [`Relay::admit`].
    pub(super) async fn admit_reader(
        &self,
        found: &Found,
        token: Option<&Token>,
    ) -> Result<Admitted, Failure> {
        let room = &found.room;
        let Some(access) = self.access.as_ref().filter(|_| room.owned || token.is_some()) else {
            return Ok(Admitted::default());
        };
        let hash = token.map(Token::hash);
        let whom = Whom::Reader(room.id, hash);
        if let Some(admitted) = self.yeses.get(whom, hash) {
            return Ok(admitted);
        }
        match access.read(&found.address, token, room.owned).await {
            Said::Yes(_) => self.yeses.keep(whom, hash, None),
            Said::No(refusal) => {
                self.yeses.forget(whom);
                return Err(refusal);
            }
            Said::Nothing if room.owned => return Err(unanswered()),
            Said::Nothing => {}
        }
        Ok(Admitted { about: None, asked: true })
    }

    /// What a participant is asked about by.
    pub(super) async fn credential(&self, id: SessionId, number: u32) -> Result<Credential, Failure> {
        let vault = Arc::clone(&self.vault);
        let read = tokio::task::spawn_blocking(move || vault.get(&credential_name(id, number)));
        let kept = read.await.map_err(Failure::internal)?.map_err(Failure::internal)?;
        Ok(kept.and_then(|kept| Credential::read(&kept)).unwrap_or_default())
    }

    /// Keeps it, durable.
    pub(super) async fn keep_credential(
        &self,
        id: SessionId,
        number: u32,
        credential: &Credential,
    ) -> Result<(), Failure> {
        let Some(kept) = credential.kept() else { return Ok(()) };
        let vault = Arc::clone(&self.vault);
        let put = tokio::task::spawn_blocking(move || vault.put(&credential_name(id, number), &kept));
        put.await.map_err(Failure::internal)?.map_err(Failure::internal)
    }

    /// A participant is vouched for by an account, or by none, from here on.
    async fn vouch(&self, room: &Arc<Room>, number: u32, account: Option<&str>) -> Result<(), Failure> {
        if room.account_of(number).as_deref() == account {
            return Ok(());
        }
        let account = account.map(|account| self.account(room.id, account)).transpose()?;
        let (account, sealed) = account.unzip();
        let command = SetAccount { session: room.key, participant: number, account };
        let submission = sealed.into_iter().fold(Submission::new(command), Submission::with_text);
        self.submit(room.partition, submission).await?;
        self.is_at(room.partition).await
    }

    /// An account as records know it.
    pub(super) fn account(&self, id: SessionId, account: &str) -> Result<(Account, SealedText), Failure> {
        let owner = TextOwner::Session(id);
        let tag = self.texts.tag(owner, ACCOUNT_TAGS, account).map_err(Failure::internal)?;
        let (text, sealed) = self.texts.seal(owner, account).map_err(Failure::internal)?;
        Ok((Account { tag: AccountTag(tag), text }, sealed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_holds_for_a_while_and_for_what_was_presented() {
        let whom = Whom::Participant(SessionId([1; 16]), 1);
        let [one, other] = ["one", "other"].map(|token| Some(SecretHash::of(token)));
        let yeses = Yeses::new(Duration::from_secs(600));
        assert!(yeses.get(whom, None).is_none());
        yeses.keep(whom, one, None);
        assert!(yeses.get(whom, None).is_some() && yeses.get(whom, one).is_some());
        assert!(yeses.get(whom, other).is_none(), "another token is asked about");
        assert!(yeses.get(Whom::Participant(SessionId([1; 16]), 2), None).is_none());
        yeses.forget(whom);
        assert!(yeses.get(whom, None).is_none());
        let never = Yeses::new(Duration::ZERO);
        never.keep(whom, one, None);
        assert!(never.get(whom, None).is_none());
    }
}
