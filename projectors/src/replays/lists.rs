//! The lists of matches and strikes, of all partitions together. They are ordered by the instants of their records. Those of two
//! partitions are of two clocks, so it is an order to look at, from which nothing follows; what has the same instant stands by
//! partition, and within one as it happened there.

use super::{
    Failure, MatchSummary, NAME,
    rows::{EVENT_COLUMNS, EventRow, Kind, MATCH_COLUMNS, MatchRow, game},
};
use crate::{
    error::{Fault, ViewError},
    views::{LIST_ROWS_MAX, Views},
};
use arena_engine::games::GameCode;
use arena_schema::{
    LogTime,
    id::{AgentKey, MatchId},
};
use rusqlite::{Connection, Params, params};
use std::cmp::Reverse;

impl Views {
    /// The matches that ended last, the newest end first, at most `limit` (and [`LIST_ROWS_MAX`]) of them. Ends in two partitions
    /// are ordered by two clocks: for display. A match of another partition is left out until the view of the agents has both
    /// players, here as in the other lists.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn recent_matches(&self, limit: u32) -> Result<Vec<MatchSummary>, ViewError> {
        let limit = limit.min(LIST_ROWS_MAX);
        self.summaries(
            limit,
            |row| row.ended_at,
            "matches m WHERE m.status != 0 ORDER BY m.ended_at DESC, m.match DESC LIMIT ?1",
            [limit],
        )
    }

    /// The matches that run, the newest first (of two partitions: by their clocks, for display), at most `limit` (and
    /// [`LIST_ROWS_MAX`]) of them.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn open_matches(&self, limit: u32) -> Result<Vec<MatchSummary>, ViewError> {
        let limit = limit.min(LIST_ROWS_MAX);
        self.summaries(
            limit,
            |row| Some(row.opened_at),
            "matches m WHERE m.status = 0 ORDER BY m.match DESC LIMIT ?1",
            [limit],
        )
    }

    /// The matches of an agent, running or over, the newest first (of two partitions: by their clocks, for display), at most
    /// `limit` (and [`LIST_ROWS_MAX`]) of them.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn matches_of(&self, agent: AgentKey, limit: u32) -> Result<Vec<MatchSummary>, ViewError> {
        let limit = limit.min(LIST_ROWS_MAX);
        self.summaries(
            limit,
            |row| Some(row.opened_at),
            "seats s JOIN matches m ON m.match = s.match WHERE s.slot = ?1 AND s.generation = ?2
             ORDER BY s.match DESC LIMIT ?3",
            params![agent.slot, agent.generation, limit],
        )
    }

    /// The last strikes of an agent with their excerpts, the newest first (of two partitions: by their clocks, for display), at
    /// most `limit` (and [`LIST_ROWS_MAX`]) of them. For its owner alone.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn last_strikes_of(&self, agent: AgentKey, limit: u32) -> Result<Vec<Failure>, ViewError> {
        let Some(owner) = self.agent(agent)? else { return Ok(Vec::new()) };
        let limit = limit.min(LIST_ROWS_MAX);
        let mut strikes = self.newest_first(
            |strike: &StrikeRow| strike.event.at,
            |rows| {
                let mut select = rows.prepare_cached(&format!(
                    "SELECT {EVENT_COLUMNS}, m.id, m.game FROM events e JOIN matches m ON m.match = e.match
                     WHERE e.striker_slot = ?1 AND e.striker_generation = ?2
                     ORDER BY e.record DESC, e.match DESC, e.n DESC LIMIT ?3"
                ))?;
                let mut found = select.query(params![agent.slot, agent.generation, limit])?;
                let mut strikes = Vec::new();
                while let Some(row) = found.next()? {
                    let (match_id, game) = (MatchId(row.get(16)?), game(row.get(17)?)?);
                    strikes.push(StrikeRow { match_id, game, event: EventRow::read(row)? });
                }
                Ok(strikes)
            },
        )?;
        strikes.truncate(limit as usize);
        let mut failures = Vec::with_capacity(strikes.len());
        for StrikeRow { match_id, game, event } in strikes {
            let excerpt = self.opened(event.text, match_id.partition(), owner.id)?.map(|opened| opened.text);
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
    }

    fn summaries(
        &self,
        limit: u32,
        instant: fn(&MatchRow) -> Option<LogTime>,
        from: &str,
        parameters: impl Params + Copy,
    ) -> Result<Vec<MatchSummary>, ViewError> {
        let rows = self.newest_first(instant, |rows| {
            let mut select = rows.prepare_cached(&format!("SELECT {MATCH_COLUMNS} FROM {from}"))?;
            let mut found = select.query(parameters)?;
            let mut matches = Vec::new();
            while let Some(row) = found.next()? {
                matches.push(MatchRow::read(row)?);
            }
            Ok(matches)
        })?;
        let shown = rows.iter().filter_map(|row| match self.summary(row) {
            Err(ViewError::Behind { .. }) => None,
            outcome => Some(outcome),
        });
        shown.take(limit as usize).collect()
    }

    /// What is read of each partition, the newest first there, as one list that is. Equal instants stay in the partitions' order.
    fn newest_first<T, I: Ord>(
        &self,
        instant: impl Fn(&T) -> I,
        read: impl Fn(&Connection) -> Result<Vec<T>, Fault>,
    ) -> Result<Vec<T>, ViewError> {
        let mut rows = Vec::new();
        for partition in self.each_partition() {
            rows.extend(partition.read(NAME, &read)?);
        }
        // Stable, so that each partition's rows stay in their order.
        rows.sort_by_key(|row| Reverse(instant(row)));
        Ok(rows)
    }
}

/// A strike, with the match that it is in.
struct StrikeRow {
    match_id: MatchId,
    game: GameCode,
    event: EventRow,
}
