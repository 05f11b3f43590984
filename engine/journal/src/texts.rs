//! Texts beside records: sealed under their owner's key, found by their commitments, each with the BLAKE3 of its sealed bytes.
//!
//! A text is sealed as XChaCha20-Poly1305 over 32 random bytes and the text, with a random nonce of 24 bytes before it and the
//! commitment as associated data. Forgetting an owner destroys the key, and with it every copy of every text, wherever it lies.

use crate::vault::{Destroyed, Vault, VaultError, random, seal_with, unseal_with};
use arena_schema::{
    Commitment, Hash, TEXT_BYTES_MAX, TextRef, TextSalt,
    id::{AgentId, ObjectId, RecordNumber, SessionId},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use zeroize::Zeroizing;

use crate::journal::JournalError;

/// What a key for tags and a key for a payload are derived for, so that neither is ever the other, or one that seals a text.
const TAGS: &str = "arena texts 2026-12 tags";
const PAYLOADS: &str = "arena texts 2026-12 payload";

/// How many owners' keys are kept at hand.
const KEYS_AT_HAND_MAX: usize = 65_536;

/// Whose key seals a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextOwner {
    /// An agent: its names, its address, what it says in matches and battles.
    Agent(AgentId),
    /// An agentwire session: its participants' names and accounts, all that they send, its payloads.
    Session(SessionId),
}

impl TextOwner {
    pub(crate) const fn code(self) -> u16 {
        match self {
            Self::Agent(_) => 1,
            Self::Session(_) => 2,
        }
    }

    pub(crate) const fn id(&self) -> &[u8; 16] {
        match self {
            Self::Agent(id) => &id.0,
            Self::Session(id) => &id.0,
        }
    }

    fn from_parts(code: u16, id: [u8; 16]) -> Option<Self> {
        match code {
            1 => Some(Self::Agent(AgentId(id))),
            2 => Some(Self::Session(SessionId(id))),
            _ => None,
        }
    }

    /// Under which name its key lies in the vault.
    pub fn vault_name(&self) -> String {
        match self {
            Self::Agent(id) => format!("agent/{}/texts", id.to_uuid()),
            Self::Session(id) => format!("session/{}/texts", id.to_uuid()),
        }
    }

    /// Whose key lies under a name in the vault.
    pub(crate) fn from_vault_name(name: &str) -> Option<Self> {
        let (kind, id) = name.strip_suffix("/texts")?.split_once('/')?;
        match kind {
            "agent" => AgentId::parse(id).map(Self::Agent),
            "session" => SessionId::parse(id).map(Self::Session),
            _ => None,
        }
    }
}

/// A text as it rides beside a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedText {
    /// Whose key opens it.
    pub owner: TextOwner,
    /// What the record holds of it.
    pub commitment: Commitment,
    /// BLAKE3 of the sealed bytes, so that damage shows also after the key is gone.
    pub digest: Hash,
    /// The sealed bytes.
    pub sealed: Vec<u8>,
}

/// Why a text cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Longer than what rides beside a record.
    #[error("a text has at most {TEXT_BYTES_MAX} bytes, this one has {bytes}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The owner has no key: it was forgotten, or never was.
    #[error("the owner of the text has no key any more")]
    NoKey,
    /// The sealed bytes do not open, or open to something that the commitment does not fit.
    #[error("the sealed text is damaged or not the one that the record commits to")]
    Damaged,
    /// The vault failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// What stands before each text's sealed bytes.
pub(crate) const TEXT_HEAD_BYTES: usize = 86;

/// Appends texts as a row or a message holds them: each the owner's kind (u16) and id (16 bytes), the commitment (32), the
/// BLAKE3 of the sealed bytes (32), their length (u32) and they themselves; numbers are little-endian.
pub fn encode_texts(texts: &[SealedText]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(texts.iter().map(|text| TEXT_HEAD_BYTES + text.sealed.len()).sum());
    for text in texts {
        bytes.extend_from_slice(&text.owner.code().to_le_bytes());
        bytes.extend_from_slice(text.owner.id());
        bytes.extend_from_slice(&text.commitment.0);
        bytes.extend_from_slice(&text.digest.0);
        bytes.extend_from_slice(&(text.sealed.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&text.sealed);
    }
    bytes
}

/// Reads texts as [`encode_texts`] wrote them, to the last byte, and checks each against its BLAKE3.
///
/// # Errors
/// [`JournalError::Texts`], naming the record and which of its texts is damaged.
pub fn decode_texts(record: RecordNumber, bytes: &[u8]) -> Result<Vec<SealedText>, JournalError> {
    let mut texts = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = texts.len() + 1;
        let damaged = |what: &str| JournalError::Texts { record, why: format!("text {at} {what}") };
        let (text, after) = take_text(rest).ok_or_else(|| damaged("is cut short or has an unknown owner"))?;
        if Hash::of(&text.sealed) != text.digest {
            return Err(damaged(&format!("({}) does not match its hash", text.commitment)));
        }
        texts.push(text);
        rest = after;
    }
    Ok(texts)
}

fn take_text(bytes: &[u8]) -> Option<(SealedText, &[u8])> {
    let (code, bytes) = bytes.split_first_chunk::<2>()?;
    let (id, bytes) = bytes.split_first_chunk::<16>()?;
    let (commitment, bytes) = bytes.split_first_chunk::<32>()?;
    let (digest, bytes) = bytes.split_first_chunk::<32>()?;
    let (length, bytes) = bytes.split_first_chunk::<4>()?;
    let (sealed, rest) = bytes.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let text = SealedText {
        owner: TextOwner::from_parts(u16::from_le_bytes(*code), *id)?,
        commitment: Commitment(*commitment),
        digest: Hash(*digest),
        sealed: sealed.to_vec(),
    };
    Some((text, rest))
}

pub(crate) type OwnerKey = Zeroizing<[u8; 32]>;

/// The owners' keys that are at hand.
#[derive(Default)]
struct Keys {
    at_hand: BTreeMap<TextOwner, OwnerKey>,
    /// How often any were destroyed so far: what was read from the vault before is not kept after.
    destroyed: u64,
}

impl Keys {
    fn drop_destroyed(&mut self, destroyed: Destroyed<'_>) {
        self.destroyed += 1;
        match destroyed {
            Destroyed::Name(name) => {
                if let Some(owner) = TextOwner::from_vault_name(name) {
                    self.at_hand.remove(&owner);
                }
            }
            // Those that are still there are read again when they are wanted.
            Destroyed::Unknown => self.at_hand.clear(),
        }
    }
}

/// Seals and opens texts with the owners' keys of a vault. A clone is the same.
#[derive(Clone)]
pub struct Texts {
    vault: Arc<Vault>,
    keys: Arc<Mutex<Keys>>,
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Texts").finish_non_exhaustive()
    }
}

impl Texts {
    /// Over this vault. What is destroyed there is at hand here no longer, whoever destroyed it.
    pub fn new(vault: Arc<Vault>) -> Self {
        let keys = Arc::<Mutex<Keys>>::default();
        let heard = Arc::downgrade(&keys);
        vault.on_destroyed(move |destroyed| {
            if let Some(keys) = heard.upgrade() {
                keys.lock().unwrap_or_else(PoisonError::into_inner).drop_destroyed(destroyed);
            }
        });
        Self { vault, keys }
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a new owner's key and keeps it in the vault, durable, before the record that relies on it.
    ///
    /// # Errors
    /// [`TextError::Vault`].
    pub fn create_owner(&self, owner: TextOwner) -> Result<(), TextError> {
        let destroyed = self.keys().destroyed;
        let key: OwnerKey = Zeroizing::new(random());
        self.vault.put(&owner.vault_name(), key.as_slice())?;
        self.at_hand(owner, key, destroyed);
        Ok(())
    }

    /// Destroys an owner's key: none of its texts can be read any more, in no copy. Processes that share the vault know it
    /// within [`crate::vault::FORGOTTEN_WITHIN`].
    ///
    /// # Errors
    /// [`TextError::Vault`].
    pub fn forget_owner(&self, owner: TextOwner) -> Result<(), TextError> {
        // The vault says so to whoever has the key at hand.
        Ok(self.vault.destroy(&owner.vault_name())?)
    }

    /// Keeps a key at hand, unless any were destroyed since the vault was asked for it.
    fn at_hand(&self, owner: TextOwner, key: OwnerKey, destroyed: u64) {
        let mut keys = self.keys();
        if keys.destroyed != destroyed {
            return;
        }
        if keys.at_hand.len() >= KEYS_AT_HAND_MAX {
            keys.at_hand.pop_first();
        }
        keys.at_hand.insert(owner, key);
    }

    fn key(&self, owner: TextOwner) -> Result<OwnerKey, TextError> {
        let destroyed = {
            let keys = self.keys();
            if let Some(key) = keys.at_hand.get(&owner) {
                return Ok(key.clone());
            }
            keys.destroyed
        };
        let kept = self.vault.get(&owner.vault_name())?.ok_or(TextError::NoKey)?;
        let key: OwnerKey = Zeroizing::new(kept.as_slice().try_into().map_err(|_| TextError::Damaged)?);
        self.at_hand(owner, key.clone(), destroyed);
        Ok(key)
    }

    /// Whether an owner has a key.
    ///
    /// # Errors
    /// [`TextError::NoKey`] where it has none; [`TextError::Vault`].
    pub fn has_owner(&self, owner: TextOwner) -> Result<(), TextError> {
        self.key(owner).map(|_| ())
    }

    /// What stands in a record for a text that must be compared, such as a name: the same for the same owner, domain and text,
    /// and for no others. It is BLAKE3 under a key that is derived from the owner's, so once that is destroyed nobody can tell
    /// what it stood for, nor try.
    ///
    /// # Errors
    /// [`TextError`]: the owner has no key.
    pub fn tag(&self, owner: TextOwner, domain: &str, text: &str) -> Result<[u8; 16], TextError> {
        let key = self.key(owner)?;
        let tags = Zeroizing::new(blake3::derive_key(TAGS, key.as_slice()));
        let mut hasher = blake3::Hasher::new_keyed(&tags);
        hasher.update(&(domain.len() as u64).to_le_bytes());
        hasher.update(domain.as_bytes());
        hasher.update(text.as_bytes());
        let mut tag = [0; 16];
        hasher.finalize_xof().fill(&mut tag);
        Ok(tag)
    }

    /// The key that seals one payload of an owner, and nothing else.
    pub(crate) fn payload_key(&self, owner: TextOwner, object: ObjectId) -> Result<OwnerKey, TextError> {
        let key = self.key(owner)?;
        let mut from = Zeroizing::new([0; 48]);
        from[..32].copy_from_slice(key.as_slice());
        from[32..].copy_from_slice(&object.0);
        Ok(Zeroizing::new(blake3::derive_key(PAYLOADS, from.as_slice())))
    }

    /// Commits to a text and seals it.
    ///
    /// # Errors
    /// [`TextError`]: too long, or the owner has no key.
    pub fn seal(&self, owner: TextOwner, text: &str) -> Result<(TextRef, SealedText), TextError> {
        self.seal_bytes(owner, text.as_bytes())
    }

    /// Commits to bytes that may be no text, such as a small payload, and seals them like one.
    ///
    /// # Errors
    /// As [`Texts::seal`].
    pub fn seal_bytes(&self, owner: TextOwner, bytes: &[u8]) -> Result<(TextRef, SealedText), TextError> {
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(TextError::TooLong { bytes: bytes.len() });
        }
        let key = self.key(owner)?;
        let salt = TextSalt(random());
        let commitment = commit(&salt, bytes);
        let mut plain = Zeroizing::new(Vec::with_capacity(32 + bytes.len()));
        plain.extend_from_slice(&salt.0);
        plain.extend_from_slice(bytes);
        let sealed = seal_with(&key, &commitment.0, &plain);
        let digest = Hash::of(&sealed);
        let reference = TextRef { commitment, size: bytes.len() as u32 };
        Ok((reference, SealedText { owner, commitment, digest, sealed }))
    }

    /// Opens a sealed text and checks it against what the record commits to. The salt proves the text to others.
    ///
    /// # Errors
    /// [`TextError`]: the key is gone, or the bytes are not this text.
    pub fn open(
        &self,
        owner: TextOwner,
        commitment: &Commitment,
        sealed: &[u8],
    ) -> Result<(TextSalt, String), TextError> {
        self.opened(owner, commitment, sealed, |salt, bytes| {
            let text = std::str::from_utf8(bytes).map_err(|_| TextError::Damaged)?;
            Ok((salt, text.to_owned()))
        })
    }

    /// The same of bytes that may be no text.
    ///
    /// # Errors
    /// As [`Texts::open`].
    pub fn open_bytes(
        &self,
        owner: TextOwner,
        commitment: &Commitment,
        sealed: &[u8],
    ) -> Result<Vec<u8>, TextError> {
        self.opened(owner, commitment, sealed, |_, bytes| Ok(bytes.to_vec()))
    }

    fn opened<T>(
        &self,
        owner: TextOwner,
        commitment: &Commitment,
        sealed: &[u8],
        read: impl FnOnce(TextSalt, &[u8]) -> Result<T, TextError>,
    ) -> Result<T, TextError> {
        let key = self.key(owner)?;
        let plain = unseal_with(&key, &commitment.0, sealed).ok_or(TextError::Damaged)?;
        let (salt, bytes) = plain.split_first_chunk::<32>().ok_or(TextError::Damaged)?;
        let salt = TextSalt(*salt);
        if commit(&salt, bytes) != *commitment {
            return Err(TextError::Damaged);
        }
        read(salt, bytes)
    }
}

fn commit(salt: &TextSalt, bytes: &[u8]) -> Commitment {
    let mut committing = Commitment::begin(salt);
    committing.update(bytes);
    committing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Texts {
        Texts::new(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap()))
    }

    use crate::vault::VaultKey;

    const OWNER: TextOwner = TextOwner::Agent(AgentId([7; 16]));

    #[test]
    fn a_text_opens_under_its_owner_and_proves_its_commitment() {
        let texts = texts();
        texts.create_owner(OWNER).unwrap();
        let (reference, sealed) = texts.seal(OWNER, "centre first").unwrap();
        assert_eq!(reference.size, 12);
        assert!(!sealed.sealed.windows(6).any(|part| part == b"centre"));
        let (salt, text) = texts.open(OWNER, &sealed.commitment, &sealed.sealed).unwrap();
        assert_eq!(text, "centre first");
        assert_eq!(TextRef::commit(&salt, &text), reference);
    }

    #[test]
    fn bytes_that_are_no_text_open_as_bytes_alone() {
        let texts = texts();
        texts.create_owner(OWNER).unwrap();
        for bytes in [&[][..], b"Hello.", &[0xff, 0, 0xfe], &vec![0x80; TEXT_BYTES_MAX][..]] {
            let (reference, sealed) = texts.seal_bytes(OWNER, bytes).unwrap();
            assert_eq!((reference.size as usize, reference.commitment), (bytes.len(), sealed.commitment));
            assert_eq!(texts.open_bytes(OWNER, &sealed.commitment, &sealed.sealed).unwrap(), bytes);
            let text = texts.open(OWNER, &sealed.commitment, &sealed.sealed);
            match std::str::from_utf8(bytes) {
                Ok(clear) => assert_eq!(text.unwrap().1, clear),
                Err(_) => assert!(matches!(text, Err(TextError::Damaged))),
            }
            let other = Commitment([9; 32]);
            assert!(matches!(texts.open_bytes(OWNER, &other, &sealed.sealed), Err(TextError::Damaged)));
        }
        let long = texts.seal_bytes(OWNER, &vec![0; TEXT_BYTES_MAX + 1]);
        assert!(matches!(long, Err(TextError::TooLong { bytes }) if bytes == TEXT_BYTES_MAX + 1));
    }

    #[test]
    fn the_same_text_twice_shows_nothing_in_common() {
        let texts = texts();
        texts.create_owner(OWNER).unwrap();
        let (one, sealed_one) = texts.seal(OWNER, "d").unwrap();
        let (other, sealed_other) = texts.seal(OWNER, "d").unwrap();
        assert_ne!(one.commitment, other.commitment);
        assert_ne!(sealed_one.sealed[24..], sealed_other.sealed[24..]);
    }

    #[test]
    fn a_forgotten_owners_texts_are_unreadable_and_their_hashes_still_hold() {
        let texts = texts();
        texts.create_owner(OWNER).unwrap();
        let (_, sealed) = texts.seal(OWNER, "a taunt").unwrap();
        texts.forget_owner(OWNER).unwrap();
        assert!(matches!(texts.open(OWNER, &sealed.commitment, &sealed.sealed), Err(TextError::NoKey)));
        assert!(matches!(texts.seal(OWNER, "more"), Err(TextError::NoKey)));
        let bytes = encode_texts(std::slice::from_ref(&sealed));
        assert_eq!(decode_texts(RecordNumber(1), &bytes).unwrap(), [sealed]);
    }

    #[test]
    fn a_key_that_was_read_before_it_was_destroyed_is_not_kept_at_hand_after() {
        let texts = texts();
        texts.create_owner(OWNER).unwrap();
        let (_, sealed) = texts.seal(OWNER, "a taunt").unwrap();
        // As another thread that asked the vault and is not yet back.
        let (key, destroyed) = (texts.key(OWNER).unwrap(), texts.keys().destroyed);
        texts.forget_owner(OWNER).unwrap();
        texts.at_hand(OWNER, key, destroyed);
        assert!(matches!(texts.open(OWNER, &sealed.commitment, &sealed.sealed), Err(TextError::NoKey)));
    }

    #[test]
    fn a_tag_is_the_same_for_the_same_text_alone_and_means_nothing_once_the_key_is_destroyed() {
        let texts = texts();
        let (session, other) =
            (TextOwner::Session(SessionId([7; 16])), TextOwner::Session(SessionId([8; 16])));
        texts.create_owner(session).unwrap();
        texts.create_owner(other).unwrap();
        let tag = texts.tag(session, "name", "luis/claude").unwrap();
        assert_eq!(texts.tag(session, "name", "luis/claude").unwrap(), tag);
        for (owner, domain, text) in [
            (other, "name", "luis/claude"),
            (session, "account", "luis/claude"),
            (session, "namel", "uis/claude"),
            (session, "name", "luis/claud"),
            (session, "", "nameluis/claude"),
        ] {
            assert_ne!(texts.tag(owner, domain, text).unwrap(), tag, "{owner:?} {domain} {text}");
        }
        texts.forget_owner(session).unwrap();
        assert!(matches!(texts.tag(session, "name", "luis/claude"), Err(TextError::NoKey)));
        // Whoever has the id again has another key.
        texts.create_owner(session).unwrap();
        assert_ne!(texts.tag(session, "name", "luis/claude").unwrap(), tag);
    }

    #[test]
    fn an_agent_and_a_session_of_the_same_id_are_two_owners() {
        let texts = texts();
        let session = TextOwner::Session(SessionId([7; 16]));
        texts.create_owner(OWNER).unwrap();
        texts.create_owner(session).unwrap();
        let (_, sealed) = texts.seal(session, "Hello.").unwrap();
        assert!(matches!(texts.open(OWNER, &sealed.commitment, &sealed.sealed), Err(TextError::Damaged)));
        let bytes = encode_texts(std::slice::from_ref(&sealed));
        assert_eq!(decode_texts(RecordNumber(1), &bytes).unwrap(), std::slice::from_ref(&sealed));
        assert_eq!(session.vault_name(), "session/07070707-0707-0707-0707-070707070707/texts");
        for owner in [OWNER, session] {
            assert_eq!(TextOwner::from_vault_name(&owner.vault_name()), Some(owner));
        }
        texts.forget_owner(OWNER).unwrap();
        assert_eq!(texts.open(session, &sealed.commitment, &sealed.sealed).unwrap().1, "Hello.");
    }

    #[test]
    fn every_changed_bit_of_sealed_texts_is_found() {
        let texts = texts();
        texts.create_owner(OWNER).unwrap();
        let (_, one) = texts.seal(OWNER, "first").unwrap();
        let (_, other) = texts.seal(OWNER, "").unwrap();
        let whole = [one, other];
        let bytes = encode_texts(&whole);
        assert_eq!(decode_texts(RecordNumber(3), &bytes).unwrap(), whole);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            // Owner and commitment are what the record and the key vouch for: a changed one opens nothing.
            let found = match decode_texts(RecordNumber(3), &changed) {
                Err(error) => error.to_string().contains("record 3"),
                Ok(read) => read
                    .iter()
                    .zip(&whole)
                    .any(|(read, was)| read.owner != was.owner || read.commitment != was.commitment),
            };
            assert!(found, "bit {bit}");
        }
        for cut in 1..bytes.len() {
            let read = decode_texts(RecordNumber(3), &bytes[..cut]);
            assert!(read.is_err() || read.unwrap().len() == 1, "cut at {cut}");
        }
    }
}
