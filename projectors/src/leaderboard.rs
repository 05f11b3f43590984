//! The view of the ratings: Glicko-2 for each game, each rated match a rating period of its own for both, and nothing between two
//! of them (CHOICES, *rating*). Void and unrated matches do not count, and nobody is rated against the house.
//!
//! It is folded from partition 0 alone. A match that is played in another partition counts when its result comes back, and so at
//! that record's time: times of two partitions are never compared, and the order in which results come back is one for all.

use crate::{
    error::{Fault, ViewError},
    partition::FIRST,
    projector::{Changes, Projector, Record},
    views::{LIST_ROWS_MAX, Views},
};
use arena_engine::games::GameCode;
use arena_schema::{
    Event, LogTime, Seat,
    event::matches::{EndReason, MatchEnded, MatchOpened, MatchResult, MatchReturned, MatchSent},
    id::{AgentKey, Handle, MatchId, Protocol},
};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use skillratings::{
    Outcomes,
    glicko2::{Glicko2Config, Glicko2Rating, glicko2},
};

/// The view's name.
pub(crate) const NAME: &str = "leaderboard";

/// A deviation above this one is provisional (CHOICES, *rating*).
pub const DEVIATION_PROVISIONAL_ABOVE: f64 = 110.0;

/// Where everyone begins (CHOICES, *rating*: 1500/350/0.06).
const START: Glicko2Rating = Glicko2Rating { rating: 1_500.0, deviation: 350.0, volatility: 0.06 };
/// How much a volatility may change (CHOICES, *rating*: tau 0.5); the tolerance is the paper's.
const CONFIG: Glicko2Config = Glicko2Config { tau: 0.5, convergence_tolerance: 0.000_001 };

const SCHEMA: &str = "
CREATE TABLE agents (
    slot INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    handle TEXT NOT NULL,
    house INTEGER NOT NULL,
    PRIMARY KEY (slot, generation)
) STRICT, WITHOUT ROWID;
CREATE TABLE open_matches (
    slot INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    id BLOB NOT NULL,
    game INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    first_generation INTEGER NOT NULL,
    second_slot INTEGER NOT NULL,
    second_generation INTEGER NOT NULL,
    PRIMARY KEY (slot, generation)
) STRICT, WITHOUT ROWID;
CREATE TABLE away_matches (
    id BLOB NOT NULL PRIMARY KEY,
    game INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    first_generation INTEGER NOT NULL,
    second_slot INTEGER NOT NULL,
    second_generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE ratings (
    game INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    handle TEXT NOT NULL,
    rating REAL NOT NULL,
    deviation REAL NOT NULL,
    volatility REAL NOT NULL,
    wins INTEGER NOT NULL,
    draws INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    last_match BLOB NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (slot, generation, game)
) STRICT, WITHOUT ROWID;
CREATE INDEX ratings_by_rank ON ratings (game, rating DESC, handle);
";

const COLUMNS: &str = "game, slot, generation, handle, rating, deviation, volatility, wins, draws, losses,
    last_match, last_at";

/// How an agent stands in a game, by its rated matches.
#[derive(Debug, Clone, PartialEq)]
pub struct RatingRow {
    /// The game.
    pub game: GameCode,
    /// The agent.
    pub agent: AgentKey,
    /// Its handle.
    pub handle: Handle,
    /// Its name for display, as [`AgentRow::name`](crate::AgentRow::name).
    pub name: String,
    /// Its rating, 1500 at the start.
    pub rating: f64,
    /// How sure that is: the rating's standard deviation, 350 at the start.
    pub deviation: f64,
    /// How much its strength seems to vary, 0.06 at the start.
    pub volatility: f64,
    /// Whether the deviation is above [`DEVIATION_PROVISIONAL_ABOVE`].
    pub provisional: bool,
    /// Rated matches won, by forfeit too.
    pub wins: u32,
    /// Rated matches without a winner.
    pub draws: u32,
    /// Rated matches lost, by forfeit too.
    pub losses: u32,
    /// The last rated match.
    pub last_match: MatchId,
    /// When that ended; where it was played in another partition, when its result came back.
    pub last_at: LogTime,
}

/// The projection.
pub(crate) struct Leaderboard;

impl Projector for Leaderboard {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        2
    }

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn project(&mut self, rows: &Transaction<'_>, record: &Record<'_>, _: &mut Changes) -> Result<(), Fault> {
        for emitted in record.events() {
            match &emitted.event {
                Event::AgentRegistered(event) => {
                    rows.prepare_cached(
                        "INSERT INTO agents (slot, generation, handle, house) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![
                        event.agent.slot,
                        event.agent.generation,
                        event.handle.as_str(),
                        event.protocol == Protocol::House,
                    ])?;
                }
                Event::MatchOpened(event) if event.rated => opened(rows, event)?,
                Event::MatchEnded(event) => ended(rows, record, event)?,
                Event::MatchSent(event) if event.rated => sent(rows, event)?,
                Event::MatchReturned(event) => returned(rows, record, event)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn opened(rows: &Transaction<'_>, event: &MatchOpened) -> Result<(), Fault> {
    let [first, second] = event.seats;
    rows.prepare_cached(
        "INSERT INTO open_matches (slot, generation, id, game, first_slot, first_generation, second_slot,
            second_generation) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        event.key.slot,
        event.key.generation,
        event.id.0,
        event.game.0,
        first.slot,
        first.generation,
        second.slot,
        second.generation,
    ])?;
    Ok(())
}

fn ended(rows: &Transaction<'_>, record: &Record<'_>, event: &MatchEnded) -> Result<(), Fault> {
    let open = rows
        .prepare_cached(
            "DELETE FROM open_matches WHERE slot = ?1 AND generation = ?2
             RETURNING id, game, first_slot, first_generation, second_slot, second_generation",
        )?
        .query_row(params![event.key.slot, event.key.generation], Rated::read)
        .optional()?;
    // An unrated match was never kept.
    let Some(rated) = open else { return Ok(()) };
    count(rows, record, &rated, MatchResult { winner: event.winner, reason: event.reason })
}

fn sent(rows: &Transaction<'_>, event: &MatchSent) -> Result<(), Fault> {
    let [first, second] = event.seats;
    rows.prepare_cached(
        "INSERT INTO away_matches (id, game, first_slot, first_generation, second_slot, second_generation)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        event.id.0,
        event.game.0,
        first.slot,
        first.generation,
        second.slot,
        second.generation
    ])?;
    Ok(())
}

fn returned(rows: &Transaction<'_>, record: &Record<'_>, event: &MatchReturned) -> Result<(), Fault> {
    let away = rows
        .prepare_cached(
            "DELETE FROM away_matches WHERE id = ?1
             RETURNING id, game, first_slot, first_generation, second_slot, second_generation",
        )?
        .query_row([event.id.0], Rated::read)
        .optional()?;
    // An unrated match was never kept, and one that could not be opened has no result.
    match away.zip(event.result) {
        Some((rated, result)) => count(rows, record, &rated, result),
        None => Ok(()),
    }
}

/// A rated match.
struct Rated {
    id: MatchId,
    game: u16,
    seats: [AgentKey; 2],
}

impl Rated {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let agent =
            |at| Ok::<_, rusqlite::Error>(AgentKey { slot: row.get(at)?, generation: row.get(at + 1)? });
        Ok(Self { id: MatchId(row.get(0)?), game: row.get(1)?, seats: [agent(2)?, agent(4)?] })
    }
}

/// A rated match is over: a rating period for both, unless it is void.
fn count(
    rows: &Transaction<'_>,
    record: &Record<'_>,
    rated: &Rated,
    result: MatchResult,
) -> Result<(), Fault> {
    if result.reason == EndReason::Void {
        return Ok(());
    }
    let &Rated { id, game, seats } = rated;
    let mut players = Vec::with_capacity(2);
    for agent in seats {
        players.push(player(rows, game, agent)?);
    }
    let [first, second] = <[Standing; 2]>::try_from(players)
        .map_err(|_| Fault::Damaged(format!("the match {} has not two players", id.to_uuid())))?;
    if first.house || second.house {
        return Ok(());
    }
    let outcome = match result.winner {
        Some(Seat::First) => Outcomes::WIN,
        Some(_) => Outcomes::LOSS,
        None => Outcomes::DRAW,
    };
    let (first_after, second_after) = glicko2(&first.rating, &second.rating, &outcome, &CONFIG);
    for (standing, after, seat) in [(first, first_after, Seat::First), (second, second_after, Seat::Second)] {
        let [won, drawn, lost] = match result.winner {
            Some(winner) => [winner == seat, false, winner != seat],
            None => [false, true, false],
        };
        rows.prepare_cached(&format!(
            "INSERT INTO ratings ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO UPDATE SET rating = excluded.rating, deviation = excluded.deviation,
                volatility = excluded.volatility, wins = wins + excluded.wins, draws = draws + excluded.draws,
                losses = losses + excluded.losses, last_match = excluded.last_match, last_at = excluded.last_at"
        ))?
        .execute(params![
            game,
            standing.agent.slot,
            standing.agent.generation,
            standing.handle,
            after.rating,
            after.deviation,
            after.volatility,
            u32::from(won),
            u32::from(drawn),
            u32::from(lost),
            id.0,
            record.time().0.cast_signed(),
        ])?;
    }
    Ok(())
}

/// A player before the match.
struct Standing {
    agent: AgentKey,
    handle: String,
    house: bool,
    rating: Glicko2Rating,
}

fn player(rows: &Transaction<'_>, game: u16, agent: AgentKey) -> Result<Standing, Fault> {
    rows.prepare_cached(
        "SELECT a.handle, a.house, r.rating, r.deviation, r.volatility FROM agents a
         LEFT JOIN ratings r ON r.slot = a.slot AND r.generation = a.generation AND r.game = ?3
         WHERE a.slot = ?1 AND a.generation = ?2",
    )?
    .query_row(params![agent.slot, agent.generation, game], |row| {
        let rating = match row.get::<_, Option<f64>>(2)? {
            Some(rating) => Glicko2Rating { rating, deviation: row.get(3)?, volatility: row.get(4)? },
            None => START,
        };
        Ok(Standing { agent, handle: row.get(0)?, house: row.get(1)?, rating })
    })
    .optional()?
    .ok_or_else(|| Fault::Damaged(format!("the agent {agent:?} is unknown")))
}

impl Views {
    /// How an agent stands in each game that it has played a rated match of, by the game's code.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn ratings_of(&self, agent: AgentKey) -> Result<Vec<RatingRow>, ViewError> {
        self.ratings(
            "slot = ?1 AND generation = ?2 ORDER BY game LIMIT ?3",
            params![agent.slot, agent.generation, LIST_ROWS_MAX],
        )
    }

    /// The ranking of a game: the highest rating first, equal ones by handle, at most `limit` (and [`LIST_ROWS_MAX`]) of them. The
    /// house is in none.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn leaderboard(&self, game: GameCode, limit: u32) -> Result<Vec<RatingRow>, ViewError> {
        self.ratings(
            "game = ?1 ORDER BY rating DESC, handle LIMIT ?2",
            params![game.as_u16(), limit.min(LIST_ROWS_MAX)],
        )
    }

    fn ratings(
        &self,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<RatingRow>, ViewError> {
        let mut ratings = self.read(NAME, |rows| {
            let mut select =
                rows.prepare_cached(&format!("SELECT {COLUMNS} FROM ratings WHERE {condition}"))?;
            let mut found = select.query(parameters)?;
            let mut ratings = Vec::new();
            while let Some(row) = found.next()? {
                ratings.push(rating_row(row)?);
            }
            Ok(ratings)
        })?;
        for rating in &mut ratings {
            rating.name = self.known_agent(FIRST, rating.agent)?.name;
        }
        Ok(ratings)
    }
}

/// A row whose name is still to be opened.
fn rating_row(row: &Row<'_>) -> Result<RatingRow, Fault> {
    let unknown = |what: &str| Fault::Damaged(format!("a rating's {what} is none that this build knows"));
    let handle = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
    let deviation = row.get(5)?;
    Ok(RatingRow {
        game: GameCode::from_u16(row.get(0)?).ok_or_else(|| unknown("game"))?,
        agent: AgentKey { slot: row.get(1)?, generation: row.get(2)? },
        handle: Handle::parse(handle).ok_or_else(|| unknown("handle"))?,
        name: String::new(),
        rating: row.get(4)?,
        deviation,
        volatility: row.get(6)?,
        provisional: deviation > DEVIATION_PROVISIONAL_ABOVE,
        wins: row.get(7)?,
        draws: row.get(8)?,
        losses: row.get(9)?,
        last_match: MatchId(row.get(10)?),
        last_at: LogTime(row.get::<_, i64>(11)?.cast_unsigned()),
    })
}
