//! Events of the family matches.

use crate::{
    codec::wire_enum,
    command::matches::StrikeCause,
    hash::Hash,
    id::{AgentKey, GameCode, MatchId, MatchKey, ProducerId, Seed},
    moves::Move,
    seat::Seat,
    text::TextRef,
    time::LogTime,
};
use serde::{Deserialize, Serialize};

wire_enum! {
    /// How a match ended.
    pub enum EndReason {
        /// By the game's rules, for one seat.
        Win = 1 => "win",
        /// By the game's rules, for neither.
        Draw = 2 => "draw",
        /// One seat used up what its policy allows.
        Forfeit = 3 => "forfeit",
        /// One seat gave up.
        Resignation = 4 => "resignation",
        /// Both agreed on a draw.
        Agreement = 5 => "agreement",
        /// Without a result.
        Void = 6 => "void",
    }
}

/// A match began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchOpened {
    /// Its place inside.
    pub key: MatchKey,
    /// Its external id.
    pub id: MatchId,
    /// What is played.
    pub game: GameCode,
    /// The agents of the first and the second seat.
    pub seats: [AgentKey; 2],
    /// Whether it counts.
    pub rated: bool,
    /// How long a seat has for an answer.
    pub deadline_ms: u32,
    /// Its randomness; for the operator until the match is over.
    pub seed: Seed,
    /// The running hash of the commands that the match accepted, this one first.
    pub accepted: Hash,
}

/// A seat is to be asked, by the gateway that is its agent's home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnOpened {
    /// The match.
    pub key: MatchKey,
    /// Who is asked.
    pub seat: Seat,
    /// The ply to be made, from 1.
    pub ply: u16,
    /// Which asking of this match it is, from 1.
    pub attempt: u32,
    /// Who asks; [`ProducerId::NONE`] where no gateway is live.
    pub home: ProducerId,
    /// When the journal ends the turn itself, the deadline and the grace; `None` where the request is pushed, which its gateway
    /// alone judges.
    pub due: Option<LogTime>,
}

/// A move was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovePlayed {
    /// The match.
    pub key: MatchKey,
    /// Who made it.
    pub seat: Seat,
    /// Its ply, from 1.
    pub ply: u16,
    /// The move.
    pub mv: Move,
    /// What was said of it.
    pub reason: Option<TextRef>,
    /// How long the answer took.
    pub latency_ms: u32,
    /// The running hash of the commands that the match accepted.
    pub accepted: Hash,
}

/// A seat has a strike more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrikeRecorded {
    /// The match.
    pub key: MatchKey,
    /// Who struck.
    pub seat: Seat,
    /// The ply that was asked for.
    pub ply: u16,
    /// Why.
    pub cause: StrikeCause,
    /// The strikes of this seat, this one counted.
    pub strikes: u8,
    /// The HTTP status, where one came.
    pub status: Option<u16>,
    /// The move that was not legal, where that is the cause and it is a move of the game.
    pub mv: Option<Move>,
    /// The reply's first part.
    pub excerpt: Option<TextRef>,
    /// How long it took.
    pub latency_ms: u32,
    /// The running hash of the commands that the match accepted; unmoved where the agenda ended the turn.
    pub accepted: Hash,
}

/// A match ended and leaves the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchEnded {
    /// The match.
    pub key: MatchKey,
    /// Who won; nobody in a draw or a void match.
    pub winner: Option<Seat>,
    /// How.
    pub reason: EndReason,
    /// The running hash of the commands that the match accepted, the last one counted.
    pub accepted: Hash,
}

/// A match was decided on in partition 0 and is played in the partition that its id names. It counts as open from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchSent {
    /// The match.
    pub id: MatchId,
    /// What is played.
    pub game: GameCode,
    /// The agents of the first and the second seat.
    pub seats: [AgentKey; 2],
    /// Whether it counts.
    pub rated: bool,
}

/// A match that was sent is over and counts as open no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchReturned {
    /// The match.
    pub id: MatchId,
    /// How it ended; none where the other partition could not open it.
    pub result: Option<MatchResult>,
}

/// How a match ended, as another partition is told. Results come to partition 0 in one order, which ratings follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Who won; nobody in a draw or a void match.
    pub winner: Option<Seat>,
    /// How.
    pub reason: EndReason,
}
