//! The reads of the matches.

use super::{
    END, Failure, JournalSpan, MOVE, MatchResult, MatchStatus, MatchSummary, NAME, Player, Replay,
    ReplayEvent, STRIKE, What, fold,
};
use crate::{
    agents::AgentRow,
    error::{Fault, ViewError},
    sealed::SealedColumns,
    views::{LIST_ROWS_MAX, Views},
};
use arena_engine::games::GameCode;
use arena_schema::{
    LogTime, Move, Seat,
    command::matches::StrikeCause,
    event::{matches::EndReason, system::Place},
    id::{AgentKey, MatchId, Partition, RecordNumber, RulesVersion, Seed},
};
use rusqlite::{Connection, Params, Row, params};

const MATCH_COLUMNS: &str = "m.match, m.id, m.game, m.rated, m.status, m.rules_version, m.deadline_ms, m.seed,
    m.first_slot, m.first_generation, m.second_slot, m.second_generation, m.winner, m.reason, m.plies, m.events,
    m.partition, m.first_record, m.last_record, m.opened_at, m.ended_at";

const EVENT_COLUMNS: &str =
    "e.n, e.record, e.command, e.at, e.kind, e.seat, e.move_number, e.move, e.text_commitment,
    e.text_sealed, e.latency_ms, e.cause, e.strikes, e.status, e.winner, e.reason";

impl Views {
    /// A match with all its events. `viewer` is whose key the caller holds: its own strikes have their excerpts.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn replay(&self, id: &MatchId, viewer: Option<AgentKey>) -> Result<Option<Replay>, ViewError> {
        let found = self.read(NAME, |rows| {
            let Some(row) = match_row(rows, id)? else { return Ok(None) };
            let events = event_rows(rows, row.number, 0)?;
            let line = if row.reason == Some(EndReason::Win) {
                fold::winning_line(row.game, &row.seed, events.iter().filter_map(EventRow::played))?
            } else {
                Vec::new()
            };
            Ok(Some((row, events, line)))
        })?;
        let Some((row, events, line)) = found else { return Ok(None) };
        let agents = self.agents_of(row.seats)?;
        Ok(Some(Replay {
            match_id: row.id,
            game: row.game,
            rated: row.rated,
            status: row.status,
            rules_version: row.rules_version,
            deadline_ms: row.deadline_ms,
            players: players(&agents),
            result: row.result(line),
            events: self.shown(events, row.game, &agents, viewer)?,
            journal: row.journal,
            opened_at: row.opened_at,
            ended_at: row.ended_at,
        }))
    }

    /// The events of a match after the one with this `n`, in order; none where there is no such match.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn events_after(
        &self,
        id: &MatchId,
        n: u32,
        viewer: Option<AgentKey>,
    ) -> Result<Option<Vec<ReplayEvent>>, ViewError> {
        let found = self.read(NAME, |rows| {
            let Some(row) = match_row(rows, id)? else { return Ok(None) };
            let events = event_rows(rows, row.number, n)?;
            Ok(Some((row, events)))
        })?;
        let Some((row, events)) = found else { return Ok(None) };
        let agents = self.agents_of(row.seats)?;
        self.shown(events, row.game, &agents, viewer).map(Some)
    }

    /// How a match stands, without its events.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn match_summary(&self, id: &MatchId) -> Result<Option<MatchSummary>, ViewError> {
        let row = self.read(NAME, |rows| match_row(rows, id))?;
        row.map(|row| self.summary(&row)).transpose()
    }

    /// The matches that ended last, the newest end first, at most `limit` (and [`LIST_ROWS_MAX`]) of them.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn recent_matches(&self, limit: u32) -> Result<Vec<MatchSummary>, ViewError> {
        self.summaries(
            "matches m WHERE m.status != 0 ORDER BY m.ended_at DESC, m.match DESC LIMIT ?1",
            [limit.min(LIST_ROWS_MAX)],
        )
    }

    /// The matches that run, the newest first, at most `limit` (and [`LIST_ROWS_MAX`]) of them.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn open_matches(&self, limit: u32) -> Result<Vec<MatchSummary>, ViewError> {
        self.summaries(
            "matches m WHERE m.status = 0 ORDER BY m.match DESC LIMIT ?1",
            [limit.min(LIST_ROWS_MAX)],
        )
    }

    /// The matches of an agent, running or over, the newest first, at most `limit` (and [`LIST_ROWS_MAX`]) of them.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn matches_of(&self, agent: AgentKey, limit: u32) -> Result<Vec<MatchSummary>, ViewError> {
        self.summaries(
            "seats s JOIN matches m ON m.match = s.match WHERE s.slot = ?1 AND s.generation = ?2
             ORDER BY s.match DESC LIMIT ?3",
            params![agent.slot, agent.generation, limit.min(LIST_ROWS_MAX)],
        )
    }

    /// The last strikes of an agent with their excerpts, the newest first, at most `limit` (and [`LIST_ROWS_MAX`]) of them. For its
    /// owner alone.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn last_strikes_of(&self, agent: AgentKey, limit: u32) -> Result<Vec<Failure>, ViewError> {
        let Some(owner) = self.agent(agent)? else { return Ok(Vec::new()) };
        self.read(NAME, |rows| {
            let mut select = rows.prepare_cached(&format!(
                "SELECT {EVENT_COLUMNS}, m.id, m.game FROM events e JOIN matches m ON m.match = e.match
                 WHERE e.striker_slot = ?1 AND e.striker_generation = ?2
                 ORDER BY e.record DESC, e.match DESC, e.n DESC LIMIT ?3"
            ))?;
            let mut found = select.query(params![agent.slot, agent.generation, limit.min(LIST_ROWS_MAX)])?;
            let mut failures = Vec::new();
            while let Some(row) = found.next()? {
                let (match_id, game) = (MatchId(row.get(16)?), game(row.get(17)?)?);
                let event = EventRow::read(row)?;
                let excerpt = match &event.text {
                    Some(sealed) => sealed.open(self.texts(), owner.id)?.map(|opened| opened.text),
                    None => None,
                };
                let (n, at, Kind::Strike { seat, move_number, cause, strikes, latency_ms, status, mv }) =
                    (event.n, event.at, event.kind)
                else {
                    continue;
                };
                let mv = mv.map(|mv| game.move_text(&mv));
                failures.push(Failure {
                    match_id,
                    n,
                    at,
                    seat,
                    move_number,
                    cause,
                    strikes,
                    latency_ms,
                    status,
                    mv,
                    excerpt,
                });
            }
            Ok(failures)
        })
    }

    fn summaries(&self, from: &str, parameters: impl Params) -> Result<Vec<MatchSummary>, ViewError> {
        let rows = self.read(NAME, |rows| {
            let mut select = rows.prepare_cached(&format!("SELECT {MATCH_COLUMNS} FROM {from}"))?;
            let mut found = select.query(parameters)?;
            let mut matches = Vec::new();
            while let Some(row) = found.next()? {
                matches.push(MatchRow::read(row)?);
            }
            Ok(matches)
        })?;
        rows.iter().map(|row| self.summary(row)).collect()
    }

    fn summary(&self, row: &MatchRow) -> Result<MatchSummary, ViewError> {
        let agents = self.agents_of(row.seats)?;
        Ok(MatchSummary {
            match_id: row.id,
            game: row.game,
            rated: row.rated,
            status: row.status,
            deadline_ms: row.deadline_ms,
            players: players(&agents),
            result: row.result(Vec::new()),
            plies: row.plies,
            events: row.events,
            opened_at: row.opened_at,
            ended_at: row.ended_at,
        })
    }

    /// Rows as the viewer may see them: the texts of each seat's agent in clear where its key still is, excerpts for the striker
    /// alone.
    fn shown(
        &self,
        rows: Vec<EventRow>,
        game: GameCode,
        agents: &[AgentRow; 2],
        viewer: Option<AgentKey>,
    ) -> Result<Vec<ReplayEvent>, ViewError> {
        let open = |text: Option<SealedColumns>, seat: Seat| match text {
            Some(sealed) => sealed
                .open(self.texts(), agents[seat.index()].id)
                .map_err(|why| ViewError::View { view: NAME, action: "read", why }),
            None => Ok(None),
        };
        rows.into_iter()
            .map(|row| {
                let what = match row.kind {
                    Kind::Move { seat, move_number, mv, latency_ms } => {
                        let (mv, reason) = (game.move_text(&mv), open(row.text, seat)?);
                        What::Move { seat, move_number, mv, reason, latency_ms }
                    }
                    Kind::Strike { seat, move_number, cause, strikes, latency_ms, status, mv } => {
                        let own = viewer == Some(agents[seat.index()].key);
                        let excerpt =
                            if own { open(row.text, seat)?.map(|opened| opened.text) } else { None };
                        let mv = mv.map(|mv| game.move_text(&mv));
                        What::Strike { seat, move_number, cause, strikes, latency_ms, status, mv, excerpt }
                    }
                    Kind::End { winner, reason } => What::End { winner, reason },
                };
                Ok(ReplayEvent { n: row.n, at: row.at, what, place: row.place })
            })
            .collect()
    }
}

fn players(agents: &[AgentRow; 2]) -> [Player; 2] {
    let [first, second] = agents;
    [Player::new(Seat::First, first), Player::new(Seat::Second, second)]
}

fn unknown(what: &str) -> Fault {
    Fault::Damaged(format!("a match's {what} is none that this build knows"))
}

fn game(code: u16) -> Result<GameCode, Fault> {
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
struct MatchRow {
    number: i64,
    id: MatchId,
    game: GameCode,
    rated: bool,
    status: MatchStatus,
    rules_version: RulesVersion,
    deadline_ms: u32,
    seed: Seed,
    seats: [AgentKey; 2],
    winner: Option<Seat>,
    reason: Option<EndReason>,
    plies: u16,
    events: u32,
    journal: JournalSpan,
    opened_at: LogTime,
    ended_at: Option<LogTime>,
}

impl MatchRow {
    fn read(row: &Row<'_>) -> Result<Self, Fault> {
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

    fn result(&self, line: Vec<String>) -> Option<MatchResult> {
        self.reason.map(|reason| MatchResult { winner: self.winner, reason, line })
    }
}

fn match_row(rows: &Connection, id: &MatchId) -> Result<Option<MatchRow>, Fault> {
    let mut select =
        rows.prepare_cached(&format!("SELECT {MATCH_COLUMNS} FROM matches m WHERE m.id = ?1"))?;
    let mut found = select.query([id.0])?;
    found.next()?.map(MatchRow::read).transpose()
}

/// An event as its row has it, its text still sealed.
struct EventRow {
    n: u32,
    at: LogTime,
    place: Place,
    kind: Kind,
    text: Option<SealedColumns>,
}

enum Kind {
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
    fn read(row: &Row<'_>) -> Result<Self, Fault> {
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
    fn played(&self) -> Option<(Seat, Move)> {
        match &self.kind {
            Kind::Move { seat, mv, .. } => Some((*seat, *mv)),
            Kind::Strike { .. } | Kind::End { .. } => None,
        }
    }
}

fn event_rows(rows: &Connection, number: i64, after: u32) -> Result<Vec<EventRow>, Fault> {
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
