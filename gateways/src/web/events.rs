//! `GET /m/{id}/events`: a match's events as they happen, as server-sent events with `n` for their id.

use super::replay::EventJson;
use crate::{
    api::{InPath, InQuery, caller::Caller},
    arena::Arena,
    problem::Problem,
};
use arena_projectors::{ReplayEvent, What};
use arena_schema::id::MatchId;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures::{StreamExt, stream};
use serde::Deserialize;
use std::{collections::VecDeque, convert::Infallible, time::Duration};
use tokio::sync::broadcast::error::RecvError;

/// How often a stream where nothing happens says that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub(super) struct From {
    after: Option<u32>,
}

/// From the event behind `Last-Event-ID` or `after` on, until the match's end; 204 where nothing comes any more.
pub(super) async fn stream(
    State(arena): State<Arena>,
    InPath(id): InPath,
    InQuery(from): InQuery<From>,
    headers: HeaderMap,
    caller: Option<Caller>,
) -> Result<Response, Problem> {
    let id = MatchId::parse(&id).ok_or_else(|| Problem::not_found("match"))?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = resumed.or(from.after).unwrap_or_default();
    let viewer = caller.map(|caller| caller.agent);
    // Before the first read, so that nothing falls between the two.
    let changes = arena.views().changes();
    arena.read_own_match(id).await?;
    let known = arena.read_views(move |views| views.match_summary(&id)).await?;
    let known = known.ok_or_else(|| Problem::not_found("match"))?;
    if known.result.is_some() && known.events <= after {
        // What tells an `EventSource` not to ask again.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }

    let stopping = arena.streams_stopping();
    let following =
        Following { arena, id, viewer, after, changes, ready: VecDeque::new(), ended: false, first: true };
    let events = stream::unfold(following, |mut following| async {
        let event = following.next().await?;
        Some((Ok::<_, Infallible>(event), following))
    });
    let events = events.take_until(async move {
        let mut stopping = stopping;
        // Ended with the process, a client asks again from where it was.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    });
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(sse.into_response())
}

struct Following {
    arena: Arena,
    id: MatchId,
    viewer: Option<arena_schema::id::AgentKey>,
    after: u32,
    changes: tokio::sync::broadcast::Receiver<std::sync::Arc<[MatchId]>>,
    ready: VecDeque<ReplayEvent>,
    ended: bool,
    first: bool,
}

impl Following {
    /// The next event, when there is one; none after the end.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.after = event.n;
                self.ended = matches!(event.what, What::End { .. });
                return Some(shown(&event));
            }
            if self.ended {
                return None;
            }
            if !std::mem::take(&mut self.first) {
                self.wait_for_change().await?;
            }
            let (id, after, viewer) = (self.id, self.after, self.viewer);
            let read = self.arena.read_views(move |views| views.events_after(&id, after, viewer)).await;
            self.ready = read.ok()??.into();
            if self.ready.is_empty() && self.is_over().await? {
                return None;
            }
        }
    }

    async fn is_over(&self) -> Option<bool> {
        let id = self.id;
        let summary = self.arena.read_views(move |views| views.match_summary(&id)).await.ok()??;
        Some(summary.result.is_some() && summary.events <= self.after)
    }

    async fn wait_for_change(&mut self) -> Option<()> {
        loop {
            match self.changes.recv().await {
                Ok(changed) if changed.contains(&self.id) => return Some(()),
                Ok(_) => {}
                // Something was missed, perhaps of this match.
                Err(RecvError::Lagged(_)) => return Some(()),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

fn shown(event: &ReplayEvent) -> Event {
    let json = EventJson::from(event);
    let sse = Event::default().id(event.n.to_string()).event(event.what.kind());
    let data = serde_json::to_string(&json).expect("texts and numbers are always JSON");
    sse.data(data)
}
