//! Replays, matches and ratings as public JSON, in SURFACE's shape and order (*A replay*).

use crate::{boards, times::rfc3339_ms};
use arena_engine::games::{Position, Seat};
use arena_projectors::{Failure, MatchResult, MatchSummary, Player, RatingRow, Replay, ReplayEvent, What};
use arena_schema::event::matches::EndReason;
use serde::Serialize;
use serde_json::{Map, Value, json};

#[derive(Serialize)]
struct PlayerJson<'a> {
    seat: &'static str,
    agent: &'a str,
    name: &'a str,
    protocol: &'static str,
}

impl<'a> From<&'a Player> for PlayerJson<'a> {
    fn from(player: &'a Player) -> Self {
        Self {
            seat: player.seat.as_str(),
            agent: player.handle.as_str(),
            name: &player.name,
            protocol: player.protocol.as_str(),
        }
    }
}

#[derive(Serialize)]
struct ResultJson<'a> {
    winner: Option<&'static str>,
    reason: &'static str,
    line: &'a [String],
}

impl<'a> From<&'a MatchResult> for ResultJson<'a> {
    fn from(result: &'a MatchResult) -> Self {
        Self { winner: result.winner.map(Seat::as_str), reason: result.reason.as_str(), line: &result.line }
    }
}

/// An event of a replay.
#[derive(Serialize)]
pub(crate) struct EventJson<'a> {
    n: u32,
    at: String,
    #[serde(flatten)]
    what: WhatJson<'a>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum WhatJson<'a> {
    Move {
        seat: &'static str,
        move_number: u16,
        r#move: &'a str,
        reason: Option<&'a str>,
        latency_ms: u32,
    },
    Strike {
        seat: &'static str,
        move_number: u16,
        /// Where the cause is `illegal` and it was a move of the game.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#move: Option<&'a str>,
        cause: &'static str,
        strikes: u8,
        latency_ms: u32,
        status: Option<u16>,
        /// For the striker alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        excerpt: Option<&'a str>,
    },
    End {
        reason: &'static str,
        winner: Option<&'static str>,
    },
}

impl<'a> From<&'a ReplayEvent> for EventJson<'a> {
    fn from(event: &'a ReplayEvent) -> Self {
        let what = match &event.what {
            What::Move { seat, move_number, mv, reason, latency_ms } => WhatJson::Move {
                seat: seat.as_str(),
                move_number: *move_number,
                r#move: mv,
                reason: reason.as_ref().map(|reason| reason.text.as_str()),
                latency_ms: *latency_ms,
            },
            What::Strike { seat, move_number, cause, strikes, latency_ms, status, mv, excerpt } => {
                WhatJson::Strike {
                    seat: seat.as_str(),
                    move_number: *move_number,
                    r#move: mv.as_deref(),
                    cause: cause.as_str(),
                    strikes: *strikes,
                    latency_ms: *latency_ms,
                    status: *status,
                    excerpt: excerpt.as_deref(),
                }
            }
            What::End { winner, reason } => {
                WhatJson::End { reason: reason.as_str(), winner: winner.map(Seat::as_str) }
            }
        };
        Self { n: event.n, at: rfc3339_ms(event.at), what }
    }
}

#[derive(Serialize)]
struct JournalJson {
    partition: u16,
    first: u64,
    last: u64,
}

/// A whole replay, the same shape while the match runs.
#[derive(Serialize)]
pub(crate) struct ReplayJson<'a> {
    match_id: String,
    game: &'static str,
    rated: bool,
    status: &'static str,
    rules_version: u32,
    deadline_ms: u32,
    players: [PlayerJson<'a>; 2],
    result: Option<ResultJson<'a>>,
    events: Vec<EventJson<'a>>,
    journal: JournalJson,
    evidence: Map<String, Value>,
    unproven: [&'static str; 1],
}

impl<'a> From<&'a Replay> for ReplayJson<'a> {
    fn from(replay: &'a Replay) -> Self {
        Self {
            match_id: replay.match_id.to_uuid().to_string(),
            game: replay.game.name(),
            rated: replay.rated,
            status: replay.status.as_str(),
            rules_version: replay.rules_version.0,
            deadline_ms: replay.deadline_ms,
            players: [(&replay.players[0]).into(), (&replay.players[1]).into()],
            result: replay.result.as_ref().map(ResultJson::from),
            events: replay.events.iter().map(EventJson::from).collect(),
            journal: JournalJson {
                partition: replay.journal.partition.0,
                first: replay.journal.first.0,
                last: replay.journal.last.0,
            },
            evidence: Map::new(),
            unproven: ["players"],
        }
    }
}

/// The position that a replay's moves lead to.
pub(crate) fn position(replay: &Replay) -> Position {
    // No game here draws from its seed yet; one that does shows its deal when the match is over.
    let mut position = Position::of(replay.game, &[0; 32]);
    for event in &replay.events {
        if let What::Move { seat, mv, .. } = &event.what
            && let Some(mv) = replay.game.parse_move(mv)
        {
            // What is in a replay was legal.
            let _ = position.play(*seat, &mv);
        }
    }
    position
}

/// How a match stands: a replay without its events, with the position and who is to move.
pub(crate) fn state_json(replay: &Replay) -> Value {
    let position = position(replay);
    let running = replay.result.is_none();
    let to_move: Vec<&str> = position.to_act().iter().filter(|_| running).map(Seat::as_str).collect();
    let strikes = |seat: Seat| {
        let of_seat = |event: &&ReplayEvent| matches!(&event.what, What::Strike { seat: struck, .. } if *struck == seat);
        replay.events.iter().filter(of_seat).count()
    };
    let mut value = json!(ReplayJson::from(replay));
    if let Some(fields) = value.as_object_mut() {
        fields.remove("events");
        fields.insert("opened_at".into(), json!(rfc3339_ms(replay.opened_at)));
        fields.insert("ended_at".into(), json!(replay.ended_at.map(rfc3339_ms)));
        fields.insert("board".into(), json!(boards::plain(&position)));
        fields.insert("to_move".into(), json!(to_move));
        fields.insert("strikes".into(), json!({"X": strikes(Seat::First), "O": strikes(Seat::Second)}));
    }
    value
}

/// A match in a list.
pub(crate) fn summary_json(summary: &MatchSummary) -> Value {
    json!({
        "match_id": summary.match_id.to_uuid().to_string(),
        "game": summary.game.name(),
        "rated": summary.rated,
        "status": summary.status.as_str(),
        "players": summary.players.iter().map(PlayerJson::from).collect::<Vec<_>>(),
        "result": summary.result.as_ref().map(|result| {
            json!({"winner": result.winner.map(Seat::as_str), "reason": result.reason.as_str()})
        }),
        "plies": summary.plies,
        "opened_at": rfc3339_ms(summary.opened_at),
        "ended_at": summary.ended_at.map(rfc3339_ms),
    })
}

/// How a winner won, in words: `wins`, `wins by forfeit`.
pub(crate) fn wins(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Forfeit => "wins by forfeit",
        EndReason::Resignation => "wins by resignation",
        _ => "wins",
    }
}

/// A rating in a profile or a leaderboard; whole points, as people read them.
pub(crate) fn rating_json(row: &RatingRow) -> Value {
    json!({
        "game": row.game.name(),
        "agent": row.handle.as_str(),
        "name": row.name,
        "rating": row.rating.round(),
        "deviation": row.deviation.round(),
        "provisional": row.provisional,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "last_at": rfc3339_ms(row.last_at),
    })
}

/// A failure, as its agent's owner sees it.
pub(crate) fn strike_json(failure: &Failure) -> Value {
    json!({
        "match_id": failure.match_id.to_uuid().to_string(),
        "at": rfc3339_ms(failure.at),
        "seat": failure.seat.as_str(),
        "move_number": failure.move_number,
        "cause": failure.cause.as_str(),
        "strikes": failure.strikes,
        "latency_ms": failure.latency_ms,
        "status": failure.status,
        "move": failure.mv,
        "excerpt": failure.excerpt,
    })
}
