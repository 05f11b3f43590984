//! The reads of one match, in the partition that its id names.

use super::{
    JournalSpan, MatchSummary, NAME, Player, Replay, ReplayEvent, What, fold,
    rows::{EventRow, Kind, MatchRow, event_rows, match_row},
};
use crate::{
    agents::AgentRow,
    error::{Fault, ViewError},
    name::ViewName,
    sealed::{OpenedText, SealedColumns},
    views::Views,
};
use arena_journal::TextOwner;
use arena_schema::{
    Seat,
    event::matches::EndReason,
    id::{AgentId, AgentKey, MatchId, Partition},
};
use rusqlite::Connection;

impl Views {
    /// A match with all its events. `viewer` is whose key the caller holds: its own strikes have their excerpts.
    ///
    /// # Errors
    /// [`ViewError`]; [`ViewError::Behind`] where it is played in another partition than 0, and the view of the agents does not have
    /// both players yet.
    pub fn replay(&self, id: &MatchId, viewer: Option<AgentKey>) -> Result<Option<Replay>, ViewError> {
        let found = self.read_match(id, |rows, row| {
            let events = event_rows(rows, row.number, 0)?;
            let line = if row.reason == Some(EndReason::Win) {
                fold::winning_line(row.game, &row.seed, events.iter().filter_map(EventRow::played))?
            } else {
                Vec::new()
            };
            Ok((row, events, line))
        })?;
        let Some((row, events, line)) = found else { return Ok(None) };
        let agents = self.agents_of(&row)?;
        Ok(Some(Replay {
            match_id: row.id,
            game: row.game,
            rated: row.rated,
            status: row.status,
            rules_version: row.rules_version,
            deadline_ms: row.deadline_ms,
            players: players(&agents),
            result: row.result(line),
            events: self.shown(events, &row, &agents, viewer)?,
            journal: row.journal,
            opened_at: row.opened_at,
            ended_at: row.ended_at,
        }))
    }

    /// The events of a match after the one with this `n`, in order; none where there is no such match.
    ///
    /// # Errors
    /// As [`Views::replay`].
    pub fn events_after(
        &self,
        id: &MatchId,
        n: u32,
        viewer: Option<AgentKey>,
    ) -> Result<Option<Vec<ReplayEvent>>, ViewError> {
        let found = self.read_match(id, |rows, row| {
            let events = event_rows(rows, row.number, n)?;
            Ok((row, events))
        })?;
        let Some((row, events)) = found else { return Ok(None) };
        let agents = self.agents_of(&row)?;
        self.shown(events, &row, &agents, viewer).map(Some)
    }

    /// How a match stands, without its events.
    ///
    /// # Errors
    /// As [`Views::replay`].
    pub fn match_summary(&self, id: &MatchId) -> Result<Option<MatchSummary>, ViewError> {
        let row = self.read_match(id, |_, row| Ok(row))?;
        row.map(|row| self.summary(&row)).transpose()
    }

    /// Reads what belongs to a match; none where there is no such match, or its partition is none of these.
    fn read_match<T>(
        &self,
        id: &MatchId,
        read: impl FnOnce(&Connection, MatchRow) -> Result<T, Fault>,
    ) -> Result<Option<T>, ViewError> {
        let Some(partition) = self.of(id.partition()) else { return Ok(None) };
        partition.read(NAME, |rows| match_row(rows, id)?.map(|row| read(rows, row)).transpose())
    }

    /// Who plays, the first mover first.
    fn agents_of(&self, row: &MatchRow) -> Result<[AgentRow; 2], ViewError> {
        let [first, second] = row.seats;
        let agent = |key| self.known_agent(row.journal.partition, key);
        Ok([agent(first)?, agent(second)?])
    }

    pub(super) fn summary(&self, row: &MatchRow) -> Result<MatchSummary, ViewError> {
        let agents = self.agents_of(row)?;
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
        of: &MatchRow,
        agents: &[AgentRow; 2],
        viewer: Option<AgentKey>,
    ) -> Result<Vec<ReplayEvent>, ViewError> {
        let MatchRow { game, journal: JournalSpan { partition, .. }, .. } = *of;
        let open =
            |text: Option<SealedColumns>, seat: Seat| self.opened(text, partition, agents[seat.index()].id);
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

    /// A text in clear; none where there is none or its owner's key is destroyed.
    pub(super) fn opened(
        &self,
        text: Option<SealedColumns>,
        partition: Partition,
        owner: AgentId,
    ) -> Result<Option<OpenedText>, ViewError> {
        let view = ViewName { name: NAME, partition };
        let opened = text.map(|sealed| sealed.open(self.texts(), TextOwner::Agent(owner))).transpose();
        opened.map(Option::flatten).map_err(|why| ViewError::View { view, action: "read", why })
    }
}

fn players(agents: &[AgentRow; 2]) -> [Player; 2] {
    let [first, second] = agents;
    [Player::new(Seat::First, first), Player::new(Seat::Second, second)]
}
