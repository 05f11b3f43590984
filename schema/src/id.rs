//! Ids: dense ones inside (a slot and its generation), external ones at the edge (UUIDs of version 8 that carry their
//! partition). What never belongs here: how an id is drawn at random.

use crate::codec::{wire_bytes, wire_enum};
use serde::{Deserialize, Serialize};

/// Where a thing lives, chosen at its birth and written into its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Partition(pub u16);

/// A record's place in its partition's journal, from 1, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct RecordNumber(pub u64);

impl RecordNumber {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for RecordNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Which file or stream of a journal's row a record is in, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Era(pub u32);

/// Which leadership wrote a record, from 1, never decreasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Epoch(pub u64);

/// Which rules reduce a record, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RulesVersion(pub u32);

wire_bytes! {
    /// Which history a journal tells: another one after a restore.
    pub struct Lineage([u8; 16]);
}

wire_bytes! {
    /// One run of one process that submits commands.
    pub struct Incarnation([u8; 16]);
}

/// Who submits: 0 is the sequencer itself, a gateway's incarnation gets its number from the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ProducerId(pub u64);

impl ProducerId {
    /// The sequencer: no number, no window. As a home it means that nobody is there.
    pub const SEQUENCER: Self = Self(0);

    /// As a home: no gateway is live.
    pub const NONE: Self = Self(0);

    /// The numbers above are partitions; those of gateways count up from 1 and never come there.
    const PARTITIONS: u64 = 1 << 63;

    /// A partition, as it submits the entries of its outbox to another. It is announced nowhere and never gone.
    pub const fn of_partition(partition: Partition) -> Self {
        Self(Self::PARTITIONS | partition.0 as u64)
    }

    /// The partition that submits under this number, if one does.
    pub const fn as_partition(self) -> Option<Partition> {
        let partition = Partition(self.0 as u16);
        if self.0 == Self::of_partition(partition).0 { Some(partition) } else { None }
    }
}

/// The credential that a command was made with; id 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct CredentialRef {
    /// Dense, from 1.
    pub id: u64,
    /// From 1; a rotation makes the next one.
    pub generation: u32,
}

impl CredentialRef {
    /// No credential: the door or the sequencer speaks for itself.
    pub const NONE: Self = Self { id: 0, generation: 0 };
}

/// A slot of the state and the generation that holds it. Generation 0 names nothing.
macro_rules! slot_key {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name {
            /// The place, dense from 0.
            pub slot: u32,
            /// Which holder of the place, from 1.
            pub generation: u32,
        }
    };
}

slot_key! {
    /// An agent inside the engine.
    AgentKey
}

impl AgentKey {
    /// Stands for "no agent" where bytes must hold one.
    pub const NONE: Self = Self { slot: 0, generation: 0 };
}

slot_key! {
    /// A match inside the engine.
    MatchKey
}

slot_key! {
    /// A session inside the engine.
    SessionKey
}

/// An external id: a UUID of version 8 whose first two bytes are the partition.
macro_rules! external_id {
    ($(#[$meta:meta])* pub struct $name:ident;) => {
        wire_bytes! {
            $(#[$meta])*
            pub struct $name([u8; 16]);
        }

        impl $name {
            /// Made of 14 random bytes; six bits of them give way to the version and the variant.
            pub fn from_random(partition: Partition, random: [u8; 14]) -> Self {
                let mut bytes = [0; 16];
                bytes[..2].copy_from_slice(&partition.0.to_be_bytes());
                bytes[2..].copy_from_slice(&random);
                bytes[6] = (bytes[6] & 0x0f) | 0x80;
                bytes[8] = (bytes[8] & 0x3f) | 0x80;
                Self(bytes)
            }

            /// The partition that the thing was born in.
            pub const fn partition(&self) -> Partition {
                Partition(u16::from_be_bytes([self.0[0], self.0[1]]))
            }

            /// The lower-case hyphenated form.
            pub fn to_uuid(&self) -> uuid::Uuid {
                uuid::Uuid::from_bytes(self.0)
            }

            /// Reads the lower-case hyphenated form and no other.
            pub fn parse(text: &str) -> Option<Self> {
                let uuid = uuid::Uuid::try_parse(text).ok()?;
                (uuid.hyphenated().to_string() == text).then(|| Self(uuid.into_bytes()))
            }
        }
    };
}

external_id! {
    /// A match, as everyone outside knows it.
    pub struct MatchId;
}

external_id! {
    /// An agent, as its key, its texts' owner and its audit trail know it; people know it by its handle.
    pub struct AgentId;
}

external_id! {
    /// A session of agentwire, as its texts, its objects and its key in the vault know it; people know it by its link.
    pub struct SessionId;
}

wire_bytes! {
    /// A participant's name in a session, as a tag under a key of the vault: the same name has the same tag.
    pub struct NameTag([u8; 16]);
}

wire_bytes! {
    /// An account that an access service vouches for, as a tag under a key of the vault: the same account has the same tag.
    pub struct AccountTag([u8; 16]);
}

wire_bytes! {
    /// A payload that is kept as an object of its own: 128 random bits, drawn at the door.
    pub struct ObjectId([u8; 16]);
}

wire_bytes! {
    /// The random part of an agent's public page, 24 hex digits.
    pub struct PublicSlug([u8; 12]);
}

wire_bytes! {
    /// The randomness of a match: who is first, what is dealt.
    pub struct Seed([u8; 32]);
}

wire_bytes! {
    /// What one request carried and its reply had to echo: 128 random bits, written as hex.
    pub struct Nonce([u8; 16]);
}

/// The shortest handle in bytes.
pub const HANDLE_BYTES_MIN: usize = 3;
/// The longest handle in bytes.
pub const HANDLE_BYTES_MAX: usize = 32;

/// An agent's permanent public name in lower case: 3 to 32 of `a-z0-9_-` (CHOICES, *names*).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Handle(String);

impl Handle {
    /// The handle with this very text; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (HANDLE_BYTES_MIN..=HANDLE_BYTES_MAX).contains(&text.len());
        let plain =
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        (fits && plain).then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: &str = Deserialize::deserialize(deserializer)?;
        Self::parse(text).ok_or_else(|| serde::de::Error::custom("not a handle: 3 to 32 of a-z0-9_-"))
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handle({})", self.0)
    }
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which game, by its code in the engine's list of games.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GameCode(pub u16);

wire_enum! {
    /// The protocol that an agent speaks.
    pub enum Protocol {
        /// Plays inside the arena; speaks nothing.
        House = 1 => "house",
        /// Agent Arena: we post a position, the agent answers with a move.
        AgentArena = 2 => "agentarena/1",
        /// LUDUX: the same, signed.
        Ludux = 3 => "ludux/1",
        /// EvalDuel: battles over WebSocket.
        EvalDuel = 4 => "evalduel-agent-v0",
        /// DealArena, over MCP.
        Mcp = 5 => "mcp",
    }
}

wire_enum! {
    /// How an agent is reached.
    pub enum ConnectionMethod {
        /// Inside the arena.
        House = 1 => "house",
        /// We post to its URL.
        RemoteEndpoint = 2 => "remote_endpoint",
        /// It holds a WebSocket.
        WebSocket = 3 => "websocket",
        /// It asks for its next turn.
        Polling = 4 => "polling",
        /// It signs in and calls tools.
        Mcp = 5 => "mcp",
    }
}

impl ConnectionMethod {
    /// Whether we carry the request to it: such a turn is judged by its gateway alone, which asks when the agent is free. Where
    /// an agent comes for its turn by itself, the journal's time ends one that it does not come for.
    pub const fn is_pushed(self) -> bool {
        matches!(self, Self::House | Self::RemoteEndpoint)
    }
}

wire_enum! {
    /// Whether an agent takes challenges from others.
    pub enum ChallengePolicy {
        /// From anybody.
        Open = 1 => "open",
        /// From nobody.
        None = 2 => "none",
    }
}

wire_enum! {
    /// What a credential is for.
    pub enum CredentialKind {
        /// Manages the agent over HTTP.
        ApiKey = 1 => "api_key",
        /// Signs the requests that the arena sends (LUDUX).
        EndpointSecret = 2 => "endpoint_secret",
        /// Opens the agent's own connection (EvalDuel).
        AgentToken = 3 => "agent_token",
    }
}
