//! The answers that are kept for who repeats a request, each in the vault for as long as the state has its second key. What
//! belongs here: their names, tags, seals and their end. What never does: the key in clear, or what an answer says.

use super::Answer;
use crate::{arena::ON_ITS_WAY, problem::Problem};
use arena_engine::State;
use arena_journal::{
    Followed, Follower, Handle, Vault, VaultError,
    vault::{random, seal_with, unseal_with},
};
use arena_schema::{
    Event, LogTime, SecretHash,
    event::system::KeyTag,
    hash::BodyDigest,
    id::{AgentKey, RecordNumber},
};
use axum::http::StatusCode;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, task::spawn_blocking};
use zeroize::Zeroizing;

/// Where the key of all tags lies in the vault.
const TAGS_NAME: &str = "idempotency/tags";
/// What the names of all answers begin with.
const PREFIX: &str = "answer/";
/// The most time between two sweeps: what attempts leave that came to nothing has no expiry.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);
/// The least time between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_secs(10);

/// One attempt's place in the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) route: u16,
    pub(super) caller: AgentKey,
    pub(super) key: KeyTag,
    /// Of the attempt's command.
    pub(super) digest: BodyDigest,
}

impl Name {
    fn text(&self) -> String {
        let Self { route, caller, key, digest } = self;
        let AgentKey { slot, generation } = caller;
        let (key, digest) = (hex::encode(key.0), hex::encode(digest.0));
        format!("{PREFIX}{route:04x}/{slot:08x}/{generation:08x}/{key}/{digest}")
    }

    fn parse(text: &str) -> Option<Self> {
        fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
            let mut bytes = [0; N];
            hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
        }
        let mut parts = text.strip_prefix(PREFIX)?.split('/');
        let name = Self {
            route: u16::from_be_bytes(bytes(parts.next()?)?),
            caller: AgentKey {
                slot: u32::from_be_bytes(bytes(parts.next()?)?),
                generation: u32::from_be_bytes(bytes(parts.next()?)?),
            },
            key: KeyTag(bytes(parts.next()?)?),
            digest: BodyDigest(bytes(parts.next()?)?),
        };
        parts.next().is_none().then_some(name)
    }

    /// Whether the state has its command as the first under its key, and accepted.
    pub(super) fn is_needed(&self, state: &State) -> bool {
        let Self { route, caller, key, digest } = *self;
        let accepted = state.second_key(route, caller, key).is_some_and(|(_, _, code)| code == 0);
        accepted && state.second_key_command(route, caller, key) == Some(digest)
    }
}

/// What is kept of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) answer: Answer,
    /// What its caller showed.
    pub(super) secret: Option<SecretHash>,
}

/// The same as it is sealed.
#[derive(Serialize, Deserialize)]
struct KeptJson {
    status: u16,
    json: String,
    secret: Option<String>,
}

impl Kept {
    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, serde_json::Error> {
        let Answer { status, json } = &self.answer;
        let kept = KeptJson {
            status: status.as_u16(),
            json: json.clone(),
            secret: self.secret.map(|secret| hex::encode(secret.0)),
        };
        serde_json::to_vec(&kept).map(Zeroizing::new)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let KeptJson { status, json, secret } = serde_json::from_slice(bytes).ok()?;
        let secret = match secret {
            Some(text) => {
                let mut hash = [0; 32];
                hex::decode_to_slice(text, &mut hash).ok()?;
                Some(SecretHash(hash))
            }
            None => None,
        };
        let answer = Answer { status: StatusCode::from_u16(status).ok()?, json };
        Some(Self { answer, secret })
    }
}

/// Keeps answers. A clone is the same.
#[derive(Clone)]
pub struct Answers {
    vault: Arc<Vault>,
    tags: Arc<Zeroizing<[u8; 32]>>,
}

impl Answers {
    /// Over a vault, which has the key of all tags; it is drawn where there is none.
    ///
    /// # Errors
    /// [`VaultError`].
    pub fn open(vault: Arc<Vault>) -> Result<Self, VaultError> {
        // Of two first starts at once, through one vault, both get the same.
        let kept = vault.get_or_keep(TAGS_NAME, Zeroizing::new(random::<32>()).as_slice())?;
        let tags = kept.as_slice().try_into().map(|key| Arc::new(Zeroizing::new(key)));
        let tags = tags.map_err(|_| VaultError::Sealed { name: TAGS_NAME.to_owned() })?;
        Ok(Self { vault, tags })
    }

    /// HMAC-SHA256 under the vault's key; what is asked for stands before the value, so that no two of them are ever the same.
    fn mac(&self, what: [u8; 4], value: &[u8]) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.tags.as_slice()).expect("HMAC takes a key of any length");
        mac.update(&what);
        mac.update(value);
        mac.finalize().into_bytes().into()
    }

    /// A caller's key as a record has it, for one of the commands that a request comes to.
    pub(super) fn key_tag(&self, key: &str, command: usize) -> KeyTag {
        let command = u8::try_from(command).expect("a request comes to a few commands");
        KeyTag(self.mac([b'k', b'e', b'y', command], key.as_bytes()))
    }

    /// A body as a record has it.
    pub(super) fn body_tag(&self, body: &[u8]) -> KeyTag {
        KeyTag(self.mac(*b"body", body))
    }

    /// What an answer is sealed under: only who has the caller's key has this one.
    pub(super) fn seal_key(&self, key: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.mac(*b"seal", key.as_bytes()))
    }

    /// Keeps an attempt's answer, durable when this returns: the time, and the box.
    pub(super) async fn keep(
        &self,
        name: &Name,
        seal: &[u8; 32],
        at: LogTime,
        kept: &Kept,
    ) -> Result<(), Problem> {
        let name = name.text();
        let plain = kept.to_bytes().map_err(Problem::internal)?;
        let mut value = at.0.to_le_bytes().to_vec();
        value.extend(seal_with(seal, name.as_bytes(), &plain));
        self.off_the_loop(move |vault| vault.put(&name, &value)).await
    }

    /// An attempt's answer.
    pub(super) async fn read(&self, name: &Name, seal: &[u8; 32]) -> Result<Option<Kept>, Problem> {
        let name = name.text();
        let at = name.clone();
        let Some(value) = self.off_the_loop(move |vault| vault.get(&at)).await? else {
            return Ok(None);
        };
        let plain = value.get(8..).and_then(|sealed| unseal_with(seal, name.as_bytes(), sealed));
        let kept = plain.and_then(|plain| Kept::from_bytes(&plain));
        kept.map(Some).ok_or_else(|| Problem::internal(format!("the vault's value {name} is damaged")))
    }

    /// Destroys an attempt's answer.
    pub(super) async fn destroy(&self, name: &Name) -> Result<(), Problem> {
        let name = name.text();
        self.off_the_loop(move |vault| vault.destroy(&name)).await
    }

    async fn off_the_loop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vault) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, Problem> {
        let vault = Arc::clone(&self.vault);
        spawn_blocking(move || work(&vault)).await.map_err(Problem::internal)?.map_err(Problem::internal)
    }

    /// At a start, when nothing is on its way through this process: destroys each answer that the state has no use for and no
    /// other process can have on its way.
    ///
    /// # Errors
    /// [`VaultError`].
    pub fn sweep(&self, handle: &Handle) -> Result<(), VaultError> {
        self.sweep_where(handle, |name, _| self.vault.is_older_than(name, ON_ITS_WAY))
    }

    /// The same while requests come.
    fn sweep_old(&self, handle: &Handle) -> Result<(), VaultError> {
        let now = handle.state().head().time;
        self.sweep_where(handle, |_, value| {
            let at = value.first_chunk().map(|at| u64::from_le_bytes(*at));
            Ok(at.is_none_or(|at| at.saturating_add(ON_ITS_WAY.as_micros() as u64) < now.0))
        })
    }

    fn sweep_where(
        &self,
        handle: &Handle,
        ends: impl Fn(&str, &[u8]) -> Result<bool, VaultError>,
    ) -> Result<(), VaultError> {
        for text in self.vault.names(PREFIX)? {
            // The state is locked for one answer at a time, so that it is not in the sequencer's way.
            if Name::parse(&text).is_some_and(|name| name.is_needed(&handle.state())) {
                continue;
            }
            if let Some(value) = self.vault.get(&text)?
                && ends(&text, &value)?
            {
                self.vault.destroy(&text)?;
            }
        }
        Ok(())
    }
}

/// Hears of second keys that expired; made before the sequencer starts. A clone hears the same.
#[derive(Clone, Default)]
pub struct Expiries(Arc<Notify>);

impl Follower for Expiries {
    /// What expired before this run is swept at its start.
    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(u64::MAX)
    }

    fn wants(&self, _: RecordNumber, live: bool) -> bool {
        live
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        // What expires is the agenda's, and that comes first.
        let mut due = record.events.iter().take_while(|emitted| emitted.command == 0);
        if due.any(|emitted| matches!(emitted.event, Event::SecondKeyExpired(_))) {
            self.0.notify_one();
        }
        Ok(())
    }
}

impl Expiries {
    /// Sweeps the answers whenever a key has expired, and each hour, until it is aborted.
    pub async fn sweep_each(self, answers: Answers, handle: Handle) {
        loop {
            // Either way it is time.
            let _ = tokio::time::timeout(SWEEP_EVERY, self.0.notified()).await;
            let (answers, handle) = (answers.clone(), handle.clone());
            match spawn_blocking(move || answers.sweep_old(&handle)).await {
                Ok(Ok(())) => {}
                Ok(Err(why)) => tracing::warn!(%why, "answers whose time is over cannot be swept now"),
                Err(why) => tracing::warn!(%why, "a sweep of answers whose time is over failed"),
            }
            tokio::time::sleep(SWEEP_PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_journal::VaultKey;

    fn answers() -> Answers {
        Answers::open(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap())).unwrap()
    }

    fn name(digest: u8) -> Name {
        Name {
            route: 0x0203,
            caller: AgentKey { slot: 7, generation: u32::MAX },
            key: KeyTag([9; 32]),
            digest: BodyDigest([digest; 16]),
        }
    }

    fn kept(json: &str) -> Kept {
        let answer = Answer { status: StatusCode::CREATED, json: json.to_owned() };
        Kept { answer, secret: Some(SecretHash([4; 32])) }
    }

    #[test]
    fn a_name_reads_back_and_nothing_else_is_one() {
        let text = name(5).text();
        assert_eq!(Name::parse(&text), Some(name(5)));
        for other in
            [&text[1..], &format!("{text}/"), &format!("{text}00"), &text[..text.len() - 1], "answer/"]
        {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn tags_are_the_same_for_the_same_and_for_nothing_else() {
        let (one, other) = (answers(), answers());
        let key = "0123456789abcdef";
        assert_eq!(one.key_tag(key, 0), one.clone().key_tag(key, 0));
        let again = Answers::open(Arc::clone(&one.vault)).unwrap();
        assert_eq!(one.key_tag(key, 0), again.key_tag(key, 0), "the key is in the vault");
        let all = [
            one.key_tag(key, 0).0,
            one.key_tag(key, 1).0,
            one.key_tag("0123456789abcdeF", 0).0,
            one.body_tag(key.as_bytes()).0,
            *one.seal_key(key),
            other.key_tag(key, 0).0,
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[tokio::test]
    async fn an_answer_opens_under_its_key_and_its_name_alone() {
        let answers = answers();
        let seal = answers.seal_key("0123456789abcdef");
        let kept = kept("{\"api_key\":\"arena_1\"}");
        answers.keep(&name(1), &seal, LogTime(1), &kept).await.unwrap();
        assert_eq!(answers.read(&name(1), &seal).await.unwrap(), Some(kept));
        assert_eq!(answers.read(&name(2), &seal).await.unwrap(), None);
        let other = answers.seal_key("0123456789abcdeF");
        assert_eq!(answers.read(&name(1), &other).await.unwrap_err().code(), "internal");
        let value = answers.vault.get(&name(1).text()).unwrap().unwrap();
        answers.vault.put(&name(2).text(), &value).unwrap();
        assert_eq!(answers.read(&name(2), &seal).await.unwrap_err().code(), "internal");
        answers.destroy(&name(1)).await.unwrap();
        assert_eq!(answers.read(&name(1), &seal).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_the_vault_has_of_an_answer_does_not_tell_it() {
        let answers = answers();
        let seal = answers.seal_key("0123456789abcdef");
        answers.keep(&name(1), &seal, LogTime(1), &kept("{\"api_key\":\"arena_1\"}")).await.unwrap();
        let value = answers.vault.get(&name(1).text()).unwrap().unwrap();
        assert!(!value.windows(7).any(|part| part == b"arena_1"), "the vault's own key is not enough");
    }
}
