//! Commands of the family matches. What came from outside (a nonce, a latency, a status, what was wrong with a reply) is in
//! them as a fact from the door.

use crate::{
    codec::wire_enum,
    event::matches::MatchResult,
    id::{
        AgentId, AgentKey, ConnectionMethod, GameCode, Handle, Incarnation, MatchId, MatchKey, Nonce,
        Protocol, Seed,
    },
    moves::Move,
    seat::Seat,
    text::TextRef,
};
use serde::{Deserialize, Serialize};

wire_enum! {
    /// Who gets the first seat.
    pub enum First {
        /// The match's seed says (its first bit: 0 for the challenger).
        BySeed = 1 => "by_seed",
        /// The challenger.
        Challenger = 2 => "challenger",
        /// The one challenged.
        Opponent = 3 => "opponent",
    }
}

wire_enum! {
    /// What was wrong with a reply (agentarena.md, *Strikes*; CHOICES, *strike causes*). One reply has one cause, the first
    /// in the order of these codes.
    pub enum StrikeCause {
        /// The endpoint's certificate or handshake failed.
        Tls = 1 => "tls",
        /// Refused, reset, cut short, not HTTP, or a name that resolves to nothing.
        Transport = 2 => "transport",
        /// Not all there within the deadline.
        Timeout = 3 => "timeout",
        /// A status of 300 to 399.
        Redirect = 4 => "redirect",
        /// Another status than 200.
        Status = 5 => "status",
        /// Over 16,384 bytes after decoding.
        TooLarge = 6 => "too_large",
        /// Not one strict JSON object.
        NotJson = 7 => "not_json",
        /// No `move`, or one that is no text.
        NoMove = 8 => "no_move",
        /// Another nonce than the request's, or none.
        Nonce = 9 => "nonce",
        /// A move that is not in `legal`.
        Illegal = 10 => "illegal",
    }
}

wire_enum! {
    /// Why a match ended without a result.
    pub enum VoidReason {
        /// A fault of the arena's own that could not be mended.
        RefereeFault = 1 => "referee_fault",
        /// Whoever runs the arena ended it.
        Operator = 2 => "operator",
    }
}

/// Two agents sit down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenMatch {
    /// Drawn at the door.
    pub id: MatchId,
    /// What is played.
    pub game: GameCode,
    /// The challenger and the one challenged.
    pub players: [AgentKey; 2],
    /// Which of them moves first.
    pub first: First,
    /// Whether it counts.
    pub rated: bool,
    /// How long a seat has for an answer, 500 to 60,000 ms.
    pub deadline_ms: u32,
    /// Drawn at the door.
    pub seed: Seed,
}

/// One asking of one seat: a new attempt is made of it after a strike and when its gateway is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRef {
    /// The match.
    pub key: MatchKey,
    /// The seat that was asked.
    pub seat: Seat,
    /// The ply to be made, from 1.
    pub ply: u16,
    /// Which asking of the match it was, from 1.
    pub attempt: u32,
}

/// A seat answered in time, in form, with a move of the game; whether it is legal now is the engine's to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitMove {
    /// What it answered.
    pub turn: TurnRef,
    /// The move.
    pub mv: Move,
    /// What it said of it.
    pub reason: Option<TextRef>,
    /// The reply's first part, where the door saw that the move is illegal.
    pub excerpt: Option<Box<TextRef>>,
    /// What the request carried and the reply echoed; none where nothing was sent (house agents).
    pub nonce: Option<Nonce>,
    /// From sending to the reply's last byte, by the gateway's monotonic clock.
    pub latency_ms: u32,
}

/// A seat failed to answer with a move of the game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordStrike {
    /// What it failed to answer.
    pub turn: TurnRef,
    /// The first cause that applies.
    pub cause: StrikeCause,
    /// The HTTP status, where one came.
    pub status: Option<u16>,
    /// The reply's first part, where one came; for the agent's owner alone.
    pub excerpt: Option<TextRef>,
    /// What the request carried.
    pub nonce: Option<Nonce>,
    /// From sending to the failure, by the gateway's monotonic clock.
    pub latency_ms: u32,
}

/// A match ends unrated and without a winner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortMatch {
    /// The match.
    pub key: MatchKey,
    /// Why.
    pub reason: VoidReason,
}

/// An agent of partition 0 as another partition has to know it. None of it changes while the agent lives, but for its home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Its key, the same in every partition.
    pub agent: AgentKey,
    /// Its external id, by which its home is chosen.
    pub id: AgentId,
    /// Its permanent name.
    pub handle: Handle,
    /// What it speaks, by which its seat's policy is chosen.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// The process that is its home in partition 0; none where no gateway is live.
    pub home: Option<Incarnation>,
}

/// A match that partition 0 has decided on: two agents sit down in the partition that the match's id names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeMatch {
    /// The match.
    pub id: MatchId,
    /// What is played.
    pub game: GameCode,
    /// The agents of the first and the second seat.
    pub seats: [Guest; 2],
    /// Whether it counts.
    pub rated: bool,
    /// How long a seat has for an answer.
    pub deadline_ms: u32,
    /// Its randomness.
    pub seed: Seed,
}

/// A match that partition 0 sent is over, or could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnMatch {
    /// The match.
    pub id: MatchId,
    /// How it ended; none where it could not be opened.
    pub result: Option<MatchResult>,
}
