//! The view of the matches: each with its events in order, as a replay shows them. What never belongs here: what a match leads to
//! (a rating), or the position itself, which is folded from the moves at the read.

mod fold;
mod lists;
mod read;
mod rows;
mod shape;

pub use shape::{
    Failure, JournalSpan, MatchResult, MatchStatus, MatchSummary, Player, Replay, ReplayEvent, What,
};

use crate::{
    error::Fault,
    projector::{Changes, Projector, Record},
    sealed::columns,
};
use arena_engine::Emitted;
use arena_schema::{
    Event, Seat,
    event::matches::{EndReason, MatchEnded, MatchOpened, MovePlayed, StrikeRecorded},
    id::{AgentKey, MatchId, MatchKey},
};
use rusqlite::{OptionalExtension, Transaction, params};

/// The view's name.
pub(crate) const NAME: &str = "replays";

/// The kinds of events, as rows name them.
const MOVE: u16 = 1;
const STRIKE: u16 = 2;
const END: u16 = 3;

const SCHEMA: &str = "
CREATE TABLE matches (
    match INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    slot INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    game INTEGER NOT NULL,
    rated INTEGER NOT NULL,
    status INTEGER NOT NULL,
    rules_version INTEGER NOT NULL,
    deadline_ms INTEGER NOT NULL,
    seed BLOB NOT NULL,
    first_slot INTEGER NOT NULL,
    first_generation INTEGER NOT NULL,
    second_slot INTEGER NOT NULL,
    second_generation INTEGER NOT NULL,
    winner INTEGER,
    reason INTEGER,
    plies INTEGER NOT NULL,
    events INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    first_record INTEGER NOT NULL,
    last_record INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (slot, generation)
) STRICT;
CREATE INDEX matches_open ON matches (match) WHERE status = 0;
CREATE INDEX matches_ended ON matches (ended_at, match) WHERE status != 0;
CREATE TABLE seats (
    slot INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    match INTEGER NOT NULL,
    PRIMARY KEY (slot, generation, match)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    match INTEGER NOT NULL,
    n INTEGER NOT NULL,
    record INTEGER NOT NULL,
    command INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    seat INTEGER,
    move_number INTEGER,
    move BLOB,
    text_commitment BLOB,
    text_sealed BLOB,
    latency_ms INTEGER,
    cause INTEGER,
    strikes INTEGER,
    status INTEGER,
    striker_slot INTEGER,
    striker_generation INTEGER,
    winner INTEGER,
    reason INTEGER,
    PRIMARY KEY (match, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_strikes ON events (striker_slot, striker_generation, record, match, n)
    WHERE striker_slot IS NOT NULL;
";

/// The projection.
pub(crate) struct Replays;

impl Projector for Replays {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn project(
        &mut self,
        rows: &Transaction<'_>,
        record: &Record<'_>,
        changes: &mut Changes,
    ) -> Result<(), Fault> {
        for emitted in record.events() {
            let id = match &emitted.event {
                Event::MatchOpened(event) => opened(rows, record, event)?,
                Event::MovePlayed(event) => move_played(rows, record, emitted, event)?,
                Event::StrikeRecorded(event) => strike_recorded(rows, record, emitted, event)?,
                Event::MatchEnded(event) => ended(rows, record, emitted, event)?,
                _ => continue,
            };
            changes.note_match(id);
        }
        Ok(())
    }
}

fn opened(rows: &Transaction<'_>, record: &Record<'_>, event: &MatchOpened) -> Result<MatchId, Fault> {
    let header = record.header();
    let [first, second] = event.seats;
    rows.prepare_cached(
        "INSERT INTO matches (id, slot, generation, game, rated, status, rules_version, deadline_ms, seed, first_slot,
            first_generation, second_slot, second_generation, plies, events, partition, first_record, last_record,
            opened_at)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, 0, ?13, ?14, ?14, ?15)",
    )?
    .execute(params![
        event.id.0,
        event.key.slot,
        event.key.generation,
        event.game.0,
        event.rated,
        header.rules.0,
        event.deadline_ms,
        event.seed.0,
        first.slot,
        first.generation,
        second.slot,
        second.generation,
        header.partition.0,
        header.number.0.cast_signed(),
        header.time.0.cast_signed(),
    ])?;
    let number = rows.last_insert_rowid();
    for agent in event.seats {
        rows.prepare_cached("INSERT INTO seats (slot, generation, match) VALUES (?1, ?2, ?3)")?
            .execute(params![agent.slot, agent.generation, number])?;
    }
    Ok(event.id)
}

/// A match that an event was counted into.
struct Touched {
    number: i64,
    id: MatchId,
    /// The event's place in the match, from 1.
    n: u32,
    seats: [AgentKey; 2],
}

/// Counts one more event into a running match.
fn touch(rows: &Transaction<'_>, record: &Record<'_>, key: MatchKey, plies: u16) -> Result<Touched, Fault> {
    rows.prepare_cached(
        "UPDATE matches SET events = events + 1, plies = plies + ?4, last_record = ?3
         WHERE slot = ?1 AND generation = ?2 AND status = 0
         RETURNING match, id, events, first_slot, first_generation, second_slot, second_generation",
    )?
    .query_row(params![key.slot, key.generation, record.number().0.cast_signed(), plies], |row| {
        let agent =
            |at| Ok::<_, rusqlite::Error>(AgentKey { slot: row.get(at)?, generation: row.get(at + 1)? });
        Ok(Touched {
            number: row.get(0)?,
            id: MatchId(row.get(1)?),
            n: row.get(2)?,
            seats: [agent(3)?, agent(5)?],
        })
    })
    .optional()?
    .ok_or_else(|| {
        Fault::Damaged(format!("the match {key:?} of record {} is not running here", record.number()))
    })
}

fn move_played(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    emitted: &Emitted,
    event: &MovePlayed,
) -> Result<MatchId, Fault> {
    let touched = touch(rows, record, event.key, 1)?;
    let (commitment, sealed) = columns(record, event.reason.as_ref());
    rows.prepare_cached(
        "INSERT INTO events (match, n, record, command, at, kind, seat, move_number, move, text_commitment, text_sealed,
            latency_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        touched.number,
        touched.n,
        record.number().0.cast_signed(),
        emitted.command,
        record.time().0.cast_signed(),
        MOVE,
        event.seat.code(),
        event.ply,
        event.mv.as_bytes(),
        commitment,
        sealed,
        event.latency_ms,
    ])?;
    Ok(touched.id)
}

fn strike_recorded(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    emitted: &Emitted,
    event: &StrikeRecorded,
) -> Result<MatchId, Fault> {
    let touched = touch(rows, record, event.key, 0)?;
    let (commitment, sealed) = columns(record, event.excerpt.as_ref());
    let striker = touched.seats[event.seat.index()];
    rows.prepare_cached(
        "INSERT INTO events (match, n, record, command, at, kind, seat, move_number, move, text_commitment, text_sealed,
            latency_ms, cause, strikes, status, striker_slot, striker_generation)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        touched.number,
        touched.n,
        record.number().0.cast_signed(),
        emitted.command,
        record.time().0.cast_signed(),
        STRIKE,
        event.seat.code(),
        event.ply,
        event.mv.as_ref().map(arena_schema::Move::as_bytes),
        commitment,
        sealed,
        event.latency_ms,
        event.cause.code(),
        event.strikes,
        event.status,
        striker.slot,
        striker.generation,
    ])?;
    Ok(touched.id)
}

fn ended(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    emitted: &Emitted,
    event: &MatchEnded,
) -> Result<MatchId, Fault> {
    let touched = touch(rows, record, event.key, 0)?;
    let (winner, reason) = (event.winner.map(Seat::code), event.reason.code());
    let at = record.time().0.cast_signed();
    rows.prepare_cached(
        "INSERT INTO events (match, n, record, command, at, kind, winner, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        touched.number,
        touched.n,
        record.number().0.cast_signed(),
        emitted.command,
        at,
        END,
        winner,
        reason,
    ])?;
    let status = if event.reason == EndReason::Void { MatchStatus::Void } else { MatchStatus::Finished };
    rows.prepare_cached(
        "UPDATE matches SET status = ?2, winner = ?3, reason = ?4, ended_at = ?5 WHERE match = ?1",
    )?
    .execute(params![touched.number, status.code(), winner, reason, at])?;
    Ok(touched.id)
}
