//! The open sessions, as the family's events made them. Whoever looks for one, or for a participant in it, finds it without going
//! through the others.

use crate::{agenda::Entry, slots::Slots};
use arena_schema::{
    LogTime, SecretHash, TextRef,
    command::sessions::Account,
    event::sessions::Vacancy,
    id::{NameTag, ProducerId, SessionId, SessionKey},
};
use std::collections::{BTreeMap, BTreeSet};

/// That a participant left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// The number of its leave entry.
    pub n: u64,
    /// When.
    pub at: LogTime,
}

/// Whoever joined and whose name was not taken back since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Its name, by which it is compared.
    pub name: NameTag,
    /// Its name, by which it is shown.
    pub name_text: TextRef,
    /// SHA-256 of the secret in its link.
    pub secret: SecretHash,
    /// What the access service vouches for it by.
    pub account: Option<Account>,
    /// The last entry that it has read.
    pub read: u64,
    /// The number of its last join entry.
    pub joined_n: u64,
    /// When it joined last.
    pub joined_at: LogTime,
    /// That it left and did not join again.
    pub left: Option<Left>,
}

impl Participant {
    /// Whether it joined and has not left since.
    pub fn is_in(&self) -> bool {
        self.left.is_none()
    }
}

/// The question whether an owned session may be deleted, which is to be put to the access service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Who asks.
    pub home: ProducerId,
    /// Which asking of the session it is, from 1.
    pub attempt: u32,
}

/// What a session waits for.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    /// The agenda ends it, or asks about it.
    Due(Entry),
    /// Somebody receives: while that is so it only goes on.
    Received,
    /// The answer of the access service.
    Asked(Question),
}

/// An open session.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its external id.
    pub id: SessionId,
    /// SHA-256 of the address in its link.
    pub address: SecretHash,
    /// Whether the access service alone decides on it.
    pub owned: bool,
    /// The number of the last entry; 0 before the first.
    pub entries: u64,
    pub(crate) participants: BTreeMap<u32, Participant>,
    pub(crate) names: BTreeMap<NameTag, u32>,
    pub(crate) secrets: BTreeMap<SecretHash, u32>,
    /// The number of the participant who came last.
    pub(crate) numbered: u32,
    /// How many are in.
    pub(crate) present: u32,
    /// Whether anyone received since somebody came into the empty session.
    pub(crate) received: bool,
    /// The gateways at which a receive waits.
    pub(crate) waiting: BTreeSet<ProducerId>,
    /// How often it was asked about.
    pub(crate) attempts: u32,
    pub(crate) standing: Standing,
}

impl Session {
    /// Everyone who joined, by number, which is the order of joining; those whose name was taken back are not among them.
    pub fn participants(&self) -> impl Iterator<Item = (u32, &Participant)> {
        self.participants.iter().map(|(&number, participant)| (number, participant))
    }

    /// The participant with this number.
    pub fn participant(&self, number: u32) -> Option<&Participant> {
        self.participants.get(&number)
    }

    /// The participant whose link has this secret.
    pub fn participant_by_secret(&self, secret: &SecretHash) -> Option<(u32, &Participant)> {
        self.secrets.get(secret).and_then(|&number| Some((number, self.participant(number)?)))
    }

    /// The participant that has this name, in or not.
    pub fn by_name(&self, name: &NameTag) -> Option<(u32, &Participant)> {
        self.names.get(name).and_then(|&number| Some((number, self.participant(number)?)))
    }

    /// How many are in.
    pub fn present(&self) -> u32 {
        self.present
    }

    /// Whether anyone is in.
    pub fn anyone_is_in(&self) -> bool {
        self.present > 0
    }

    /// Why it would end, if it did now.
    pub fn vacancy(&self) -> Vacancy {
        match (self.present, self.entries) {
            (0, 0) => Vacancy::NobodyJoined,
            (0, _) => Vacancy::EveryoneLeft,
            _ => Vacancy::NobodyReceived,
        }
    }

    /// The question that is to be put to the access service about it; why is [`Session::vacancy`].
    pub fn question(&self) -> Option<Question> {
        match self.standing {
            Standing::Asked(question) => Some(question),
            Standing::Due(_) | Standing::Received => None,
        }
    }
}

/// The room of the sessions.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    pub(crate) open: Slots<Session>,
    pub(crate) ids: BTreeMap<SessionId, SessionKey>,
    pub(crate) addresses: BTreeMap<SecretHash, SessionKey>,
}

impl Sessions {
    /// All open sessions.
    pub fn open(&self) -> &Slots<Session> {
        &self.open
    }

    /// The open session under this key.
    pub fn get(&self, key: SessionKey) -> Option<&Session> {
        self.open.get(key.slot, key.generation)
    }

    /// The open session whose link has this address.
    pub fn by_address(&self, address: &SecretHash) -> Option<SessionKey> {
        self.addresses.get(address).copied()
    }

    /// The open session with this external id.
    pub fn by_id(&self, id: &SessionId) -> Option<SessionKey> {
        self.ids.get(id).copied()
    }

    /// What is to be asked of the access service, by the place of the session.
    pub fn questions(&self) -> impl Iterator<Item = (SessionKey, &Session, Question)> {
        self.open.iter().filter_map(|(slot, generation, session)| {
            Some((SessionKey { slot, generation }, session, session.question()?))
        })
    }
}
