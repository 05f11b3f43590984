//! What a read of the matches answers, in SURFACE's words and order (*A replay*). Instants are the journal's: their text form is
//! the gateways' matter.

use crate::{agents::AgentRow, sealed::OpenedText};
use arena_engine::games::GameCode;
use arena_schema::{
    LogTime, Seat,
    command::matches::StrikeCause,
    event::{matches::EndReason, system::Place},
    id::{AgentKey, Handle, MatchId, Partition, Protocol, PublicSlug, RecordNumber, RulesVersion},
};

/// Whether a match goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchStatus {
    /// It does.
    Running,
    /// It has a result.
    Finished,
    /// It ended without one.
    Void,
}

impl MatchStatus {
    pub(crate) const fn code(self) -> u16 {
        match self {
            Self::Running => 0,
            Self::Finished => 1,
            Self::Void => 2,
        }
    }

    pub(crate) const fn from_code(code: u16) -> Option<Self> {
        match code {
            0 => Some(Self::Running),
            1 => Some(Self::Finished),
            2 => Some(Self::Void),
            _ => None,
        }
    }

    /// The stable name in public JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Void => "void",
        }
    }
}

/// Who sits there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// Where; its public name is [`Seat::as_str`].
    pub seat: Seat,
    /// Who, inside the engine.
    pub agent: AgentKey,
    /// Its handle (`agent` in public JSON).
    pub handle: Handle,
    /// Its name for display; the handle where it has none or its key is destroyed.
    pub name: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where its public page stands.
    pub public_slug: PublicSlug,
}

impl Player {
    pub(crate) fn new(seat: Seat, agent: &AgentRow) -> Self {
        Self {
            seat,
            agent: agent.key,
            handle: agent.handle.clone(),
            name: agent.name.clone(),
            protocol: agent.protocol,
            public_slug: agent.public_slug,
        }
    }
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchResult {
    /// Who won; nobody in a draw or a void match.
    pub winner: Option<Seat>,
    /// How.
    pub reason: EndReason,
    /// The squares of the winning line, in order; empty where there is none, and in a [`MatchSummary`].
    pub line: Vec<String>,
}

/// Which records a match is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalSpan {
    /// The journal.
    pub partition: Partition,
    /// The record that opened it.
    pub first: RecordNumber,
    /// The last one with an event of the replay.
    pub last: RecordNumber,
}

/// One event of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayEvent {
    /// Its place in the match, from 1, without gaps.
    pub n: u32,
    /// When.
    pub at: LogTime,
    /// What happened.
    pub what: What,
    /// Where it stands in the journal; command 0 is the agenda.
    pub place: Place,
}

/// What happened in a match. The seat is who did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A move was made.
    Move {
        /// Who made it.
        seat: Seat,
        /// Its ply, from 1.
        move_number: u16,
        /// The move in the game's text form (`move` in public JSON).
        mv: String,
        /// What was said of it; none where nothing was, or its owner's key is destroyed.
        reason: Option<OpenedText>,
        /// How long the answer took.
        latency_ms: u32,
    },
    /// A seat failed.
    Strike {
        /// Who.
        seat: Seat,
        /// The ply that was asked for, from 1.
        move_number: u16,
        /// Why.
        cause: StrikeCause,
        /// The strikes of this seat, this one counted.
        strikes: u8,
        /// How long it took.
        latency_ms: u32,
        /// The HTTP status, where one came.
        status: Option<u16>,
        /// The move that was not legal, in the game's text form, where that is the cause and it is a move of the game.
        mv: Option<String>,
        /// At most 1 KB of what was answered; only where the striker asks.
        excerpt: Option<String>,
    },
    /// The match ended.
    End {
        /// Who won.
        winner: Option<Seat>,
        /// How.
        reason: EndReason,
    },
}

impl What {
    /// The stable name of the kind in public JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Move { .. } => "move",
            Self::Strike { .. } => "strike",
            Self::End { .. } => "end",
        }
    }
}

/// A match, whole, running or over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its external id.
    pub match_id: MatchId,
    /// What is played; its public name is [`GameCode::name`].
    pub game: GameCode,
    /// Whether it counts.
    pub rated: bool,
    /// Whether it goes on.
    pub status: MatchStatus,
    /// The rules that it was opened under.
    pub rules_version: RulesVersion,
    /// How long a seat has for an answer.
    pub deadline_ms: u32,
    /// Who plays, the first mover first.
    pub players: [Player; 2],
    /// How it ended; none while it runs.
    pub result: Option<MatchResult>,
    /// What happened, in order.
    pub events: Vec<ReplayEvent>,
    /// Which records it is in.
    pub journal: JournalSpan,
    /// When it began.
    pub opened_at: LogTime,
    /// When it ended; none while it runs.
    pub ended_at: Option<LogTime>,
}

/// A match in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchSummary {
    /// Its external id.
    pub match_id: MatchId,
    /// What is played.
    pub game: GameCode,
    /// Whether it counts.
    pub rated: bool,
    /// Whether it goes on.
    pub status: MatchStatus,
    /// How long a seat has for an answer.
    pub deadline_ms: u32,
    /// Who plays, the first mover first.
    pub players: [Player; 2],
    /// How it ended, without its line; none while it runs.
    pub result: Option<MatchResult>,
    /// Plies made.
    pub plies: u16,
    /// Events so far: the `n` of the last one.
    pub events: u32,
    /// When it began.
    pub opened_at: LogTime,
    /// When it ended; none while it runs.
    pub ended_at: Option<LogTime>,
}

/// A strike of an agent, as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// In which match.
    pub match_id: MatchId,
    /// Which event of it.
    pub n: u32,
    /// When.
    pub at: LogTime,
    /// In which seat.
    pub seat: Seat,
    /// The ply that was asked for, from 1.
    pub move_number: u16,
    /// Why.
    pub cause: StrikeCause,
    /// The strikes of this seat in the match, this one counted.
    pub strikes: u8,
    /// How long it took.
    pub latency_ms: u32,
    /// The HTTP status, where one came.
    pub status: Option<u16>,
    /// The move that was not legal, where that is the cause and it is a move of the game.
    pub mv: Option<String>,
    /// At most 1 KB of what was answered; none where nothing came or the agent's key is destroyed.
    pub excerpt: Option<String>,
}
