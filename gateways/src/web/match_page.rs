//! `GET /m/{id}`: a match's page, and the whole replay at `/m/{id}.json`.

use super::{
    layout,
    replay::{ReplayJson, position, wins},
};
use crate::{
    api::{InPath, caller::Caller},
    arena::Arena,
    problem::Problem,
    times::rfc3339_ms,
};
use arena_engine::games::{
    Position, Seat,
    connect4::{COLUMNS, ROWS},
};
use arena_projectors::{Replay, ReplayEvent, What};
use arena_schema::id::MatchId;
use axum::{
    Json,
    extract::State,
    http::header,
    response::{Html, IntoResponse, Response},
};
use maud::{Markup, html};

/// The page, or with `.json` behind the id the replay. With a striker's own key its strikes show what it answered.
pub(super) async fn page_or_json(
    State(arena): State<Arena>,
    InPath(name): InPath,
    caller: Option<Caller>,
) -> Result<Response, Problem> {
    let (id, wants_json) = match name.strip_suffix(".json") {
        Some(id) => (id, true),
        None => (name.as_str(), false),
    };
    let id = MatchId::parse(id).ok_or_else(|| Problem::not_found("match"))?;
    let viewer = caller.map(|caller| caller.agent);
    arena.read_own_match(id).await?;
    let replay = arena.read_views(move |views| views.replay(&id, viewer)).await?;
    let replay = replay.ok_or_else(|| Problem::not_found("match"))?;
    let cache = (header::CACHE_CONTROL, "no-cache");
    if wants_json {
        return Ok(([cache], Json(ReplayJson::from(&replay))).into_response());
    }
    Ok(([cache], Html(page(&replay).into_string())).into_response())
}

fn page(replay: &Replay) -> Markup {
    let id = replay.match_id.to_uuid();
    let [first, second] = &replay.players;
    let title = format!("{} – {}", first.name, second.name);
    let content = html! {
        main data-status=(replay.status.as_str()) data-events=(replay.events.len()) {
            h1 {
                bdi class="seat-X" { (first.name) } " – " bdi class="seat-O" { (second.name) }
            }
            p {
                (replay.game.name()) ", " @if replay.rated { "rated" } @else { "unrated" }
                ", " (replay.deadline_ms) " ms a turn, since " time { (rfc3339_ms(replay.opened_at)) } ". "
                strong role="status" { (outcome(replay)) }
            }
            div class="match" {
                div { (board(replay)) }
                div {
                    @if replay.events.is_empty() {
                        p class="soft" { "No move has been made yet." }
                    }
                    ol class="events" {
                        @for event in &replay.events { (event_line(event, replay)) }
                    }
                    p class="soft" {
                        "Records " (replay.journal.first.0) " to " (replay.journal.last.0) " of partition "
                        (replay.journal.partition.0) ". " a href=(format!("/m/{id}.json")) { "The replay as JSON" } "."
                    }
                }
            }
        }
        script src="/assets/match.js" defer {}
    };
    layout::page(&title, &content)
}

fn outcome(replay: &Replay) -> String {
    let name = |seat: Seat| &replay.players[seat.index()].name;
    match &replay.result {
        Some(result) => match result.winner {
            Some(seat) => format!("{} ({seat}) {}.", name(seat), wins(result.reason)),
            None => format!("It ended: {}.", result.reason),
        },
        None => {
            let to_move: Vec<&str> =
                position(replay).to_act().iter().map(|seat| name(seat).as_str()).collect();
            format!("To move: {}.", to_move.join(" and "))
        }
    }
}

fn board(replay: &Replay) -> Markup {
    match position(replay) {
        Position::Connect4(connect4) => {
            let won = replay.result.as_ref().map(|result| result.line.as_slice()).unwrap_or_default();
            html! {
                div class="board" role="img" aria-label=(crate::boards::plain(&Position::Connect4(connect4))) {
                    @for row in (0..ROWS).rev() {
                        @for column in 0..COLUMNS {
                            @let square = format!("{}{}", char::from(b'a' + column), row + 1);
                            @let cell = connect4.cell(column, row).map_or("", Seat::as_str);
                            @let class = if won.contains(&square) { format!("{cell} won") } else { cell.to_owned() };
                            span class=(class) { (cell) }
                        }
                    }
                    @for column in 0..COLUMNS { span class="letter" { (char::from(b'a' + column)) } }
                }
            }
        }
    }
}

fn event_line(event: &ReplayEvent, replay: &Replay) -> Markup {
    let seat_class = |seat: Seat| format!("seat-{seat}");
    html! {
        @match &event.what {
            What::Move { seat, mv, reason, latency_ms, .. } => {
                li {
                    span class=(seat_class(*seat)) { (seat) } " " strong { (mv) }
                    @if let Some(reason) = reason { " “" bdi { (reason.text) } "”" }
                    span class="soft" { " " (latency_ms) " ms" }
                }
            }
            What::Strike { seat, cause, strikes, latency_ms, status, mv, .. } => {
                li class="strike" {
                    span class=(seat_class(*seat)) { (seat) } " strike " (strikes) ": " (cause)
                    @if let Some(mv) = mv { " (" (mv) ")" }
                    @if let Some(status) = status { " (status " (status) ")" }
                    span class="soft" { " " (latency_ms) " ms" }
                }
            }
            What::End { winner, reason } => {
                li {
                    @match winner {
                        Some(seat) => strong { (replay.players[seat.index()].name) " " (wins(*reason)) }
                        None => strong { (reason) }
                    }
                }
            }
        }
    }
}
