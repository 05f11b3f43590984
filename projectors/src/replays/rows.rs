//! The rows of the matches as a read finds them. What never belongs here: who asks, or the agents.

use super::{END, JournalSpan, MOVE, MatchResult, MatchStatus, STRIKE};
use crate::{error::Fault, sealed::SealedColumns};
use arena_engine::games::GameCode;
use arena_schema::{
    LogTime, Move, Seat,
    command::matches::StrikeCause,
    event::{matches::EndReason, system::Place},
    id::{AgentKey, MatchId, Partition, RecordNumber, RulesVersion, Seed},
};
use rusqlite::{Connection, Row, params};

pub(super) const MATCH_COLUMNS: &str = "m.match, m.id, m.game, m.rated, m.status, m.rules_version, m.deadline_ms, m.seed,
    m.first_slot, m.first_generation, m.second_slot, m.second_generation, m.winner, m.reason, m.plies, m.events,
    m.partition, m.first_record, m.last_record, m.opened_at, m.ended_at";

pub(super) const EVENT_COLUMNS: &str =
    "e.n, e.record, e.command, e.at, e.kind, e.seat, e.move_number, e.move, e.text_commitment,
    e.text_sealed, e.latency_ms, e.cause, e.strikes, e.status, e.winner, e.reason";

fn unknown(what: &str) -> Fault {
    Fault::Damaged(format!("a match's {what} is none that this build knows"))
}

pub(super) fn game(code: u16) -> Result<GameCode, Fault> {
    GameCode::from_u16(code).ok_or_else(|| unknown("game"))
}

fn seat(code: Option<u16>) -> Result<Seat, Fault> {
    code.and_then(Seat::from_code).ok_or_else(|| unknown("seat"))
}

fn instant(row: &Row<'_>, at: usize) -> rusqlite::Result<LogTime> {
    Ok(LogTime(row.get::<_, i64>(at)?.cast_unsigned()))
}

fn record(row: &Row<'_>, at: usize) -> rusqlite::Result<RecordNumber> {
    Ok(RecordNumber(row.get::<_, i64>(at)?.cast_unsigned()))
}

/// A match as its row has it.
pub(super) struct MatchRow {
    pub(super) number: i64,
    pub(super) id: MatchId,
    pub(super) game: GameCode,
    pub(super) rated: bool,
    pub(super) status: MatchStatus,
    pub(super) rules_version: RulesVersion,
    pub(super) deadline_ms: u32,
    pub(super) seed: Seed,
    pub(super) seats: [AgentKey; 2],
    pub(super) winner: Option<Seat>,
    pub(super) reason: Option<EndReason>,
    pub(super) plies: u16,
    pub(super) events: u32,
    pub(super) journal: JournalSpan,
    pub(super) opened_at: LogTime,
    pub(super) ended_at: Option<LogTime>,
}

impl MatchRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Fault> {
        let agent = |at| Ok::<_, Fault>(AgentKey { slot: row.get(at)?, generation: row.get(at + 1)? });
        let winner: Option<u16> = row.get(12)?;
        let reason: Option<u16> = row.get(13)?;
        let ended_at: Option<i64> = row.get(20)?;
        Ok(Self {
            number: row.get(0)?,
            id: MatchId(row.get(1)?),
            game: game(row.get(2)?)?,
            rated: row.get(3)?,
            status: MatchStatus::from_code(row.get(4)?).ok_or_else(|| unknown("status"))?,
            rules_version: RulesVersion(row.get(5)?),
            deadline_ms: row.get(6)?,
            seed: Seed(row.get(7)?),
            seats: [agent(8)?, agent(10)?],
            winner: winner.map(|code| seat(Some(code))).transpose()?,
            reason: reason
                .map(|code| EndReason::from_code(code).ok_or_else(|| unknown("end")))
                .transpose()?,
            plies: row.get(14)?,
            events: row.get(15)?,
            journal: JournalSpan {
                partition: Partition(row.get(16)?),
                first: record(row, 17)?,
                last: record(row, 18)?,
            },
            opened_at: instant(row, 19)?,
            ended_at: ended_at.map(|at| LogTime(at.cast_unsigned())),
        })
    }

    pub(super) fn result(&self, line: Vec<String>) -> Option<MatchResult> {
        self.reason.map(|reason| MatchResult { winner: self.winner, reason, line })
    }
}

pub(super) fn match_row(rows: &Connection, id: &MatchId) -> Result<Option<MatchRow>, Fault> {
    let mut select =
        rows.prepare_cached(&format!("SELECT {MATCH_COLUMNS} FROM matches m WHERE m.id = ?1"))?;
    let mut found = select.query([id.0])?;
    found.next()?.map(MatchRow::read).transpose()
}

/// An event as its row has it, its text still sealed.
pub(super) struct EventRow {
    pub(super) n: u32,
    pub(super) at: LogTime,
    pub(super) place: Place,
    pub(super) kind: Kind,
    pub(super) text: Option<SealedColumns>,
}

pub(super) enum Kind {
    Move {
        seat: Seat,
        move_number: u16,
        mv: Move,
        latency_ms: u32,
    },
    Strike {
        seat: Seat,
        move_number: u16,
        cause: StrikeCause,
        strikes: u8,
        latency_ms: u32,
        status: Option<u16>,
        mv: Option<Move>,
    },
    End {
        winner: Option<Seat>,
        reason: EndReason,
    },
}

impl EventRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Fault> {
        let mv = row.get_ref(7)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        let mv = mv.map(|bytes| Move::new(bytes).ok_or_else(|| unknown("move"))).transpose()?;
        let kind = match row.get(4)? {
            MOVE => Kind::Move {
                seat: seat(row.get(5)?)?,
                move_number: row.get(6)?,
                mv: mv.ok_or_else(|| unknown("move"))?,
                latency_ms: row.get(10)?,
            },
            STRIKE => Kind::Strike {
                seat: seat(row.get(5)?)?,
                move_number: row.get(6)?,
                cause: StrikeCause::from_code(row.get(11)?).ok_or_else(|| unknown("strike"))?,
                strikes: row.get(12)?,
                latency_ms: row.get(10)?,
                status: row.get(13)?,
                mv,
            },
            END => {
                let winner: Option<u16> = row.get(14)?;
                Kind::End {
                    winner: winner.map(|code| seat(Some(code))).transpose()?,
                    reason: EndReason::from_code(row.get(15)?).ok_or_else(|| unknown("end"))?,
                }
            }
            _ => return Err(unknown("event")),
        };
        Ok(Self {
            n: row.get(0)?,
            at: instant(row, 3)?,
            place: Place { record: record(row, 1)?, command: row.get(2)? },
            kind,
            text: SealedColumns::read(row, 8)?,
        })
    }

    /// The move, where it is one.
    pub(super) fn played(&self) -> Option<(Seat, Move)> {
        match &self.kind {
            Kind::Move { seat, mv, .. } => Some((*seat, *mv)),
            Kind::Strike { .. } | Kind::End { .. } => None,
        }
    }
}

pub(super) fn event_rows(rows: &Connection, number: i64, after: u32) -> Result<Vec<EventRow>, Fault> {
    let mut select = rows.prepare_cached(&format!(
        "SELECT {EVENT_COLUMNS} FROM events e WHERE e.match = ?1 AND e.n > ?2 ORDER BY e.n"
    ))?;
    let mut found = select.query(params![number, after])?;
    let mut events = Vec::new();
    while let Some(row) = found.next()? {
        events.push(EventRow::read(row)?);
    }
    Ok(events)
}
