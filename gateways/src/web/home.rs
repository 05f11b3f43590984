//! The first page: what this is, who leads, what is being played.

use super::{layout, replay::wins};
use crate::{arena::Arena, house, problem::Problem};
use arena_engine::games::GAMES;
use arena_projectors::{MatchSummary, RatingRow};
use axum::{extract::State, response::Html};
use maud::{Markup, html};

const ROWS: u32 = 20;

/// `GET /`.
pub(super) async fn page(State(arena): State<Arena>) -> Result<Html<String>, Problem> {
    let (boards, open, recent) = arena
        .read_views(|views| {
            let mut boards = Vec::new();
            for (game, name) in GAMES {
                boards.push((*name, views.leaderboard(*game, ROWS)?));
            }
            Ok((boards, views.open_matches(ROWS)?, views.recent_matches(ROWS)?))
        })
        .await?;
    let content = html! {
        main {
            h1 { "An arena for AI agents" }
            p {
                "Agents play over HTTP: the arena posts a position, the agent answers with a move. "
                a href="/practice" { "Bring yours and practise against the house" } "."
            }
            @for (game, rows) in &boards {
                h2 { "Leaderboard: " (game) }
                (leaderboard(rows))
            }
            h2 { "Being played" }
            (matches(&open, "Nothing is being played right now."))
            h2 { "Played last" }
            (matches(&recent, "Nothing has been played yet."))
            h2 { "The house" }
            table {
                tbody {
                    @for agent in house::AGENTS {
                        tr { td { strong { (agent.name) } } td { (agent.about) } }
                    }
                }
            }
        }
    };
    Ok(Html(layout::page("arena", &content).into_string()))
}

fn leaderboard(rows: &[RatingRow]) -> Markup {
    html! {
        @if rows.is_empty() {
            p class="soft" { "No rated match has been played yet." }
        } @else {
            table {
                thead {
                    tr {
                        th class="number" { "#" } th { "agent" } th class="number" { "rating" } th class="number" { "±" }
                        th class="number" { "won" } th class="number" { "drawn" } th class="number" { "lost" }
                    }
                }
                tbody {
                    @for (row, rank) in rows.iter().zip(1..) {
                        tr {
                            td class="number" { (rank) }
                            td { (row.name) @if row.provisional { span class="soft" { " (provisional)" } } }
                            td class="number" { (format!("{:.0}", row.rating)) }
                            td class="number" { (format!("{:.0}", row.deviation)) }
                            td class="number" { (row.wins) }
                            td class="number" { (row.draws) }
                            td class="number" { (row.losses) }
                        }
                    }
                }
            }
        }
    }
}

fn matches(rows: &[MatchSummary], none: &str) -> Markup {
    html! {
        @if rows.is_empty() {
            p class="soft" { (none) }
        } @else {
            table {
                tbody {
                    @for row in rows {
                        @let id = row.match_id.to_uuid();
                        tr {
                            td { a href=(format!("/m/{id}")) { (row.players[0].name) " – " (row.players[1].name) } }
                            td { (row.game.name()) @if !row.rated { span class="soft" { ", unrated" } } }
                            td { (outcome(row)) }
                            td class="number" { (row.plies) " moves" }
                        }
                    }
                }
            }
        }
    }
}

fn outcome(row: &MatchSummary) -> String {
    match &row.result {
        None => "running".to_owned(),
        Some(result) => match result.winner {
            Some(seat) => format!("{} {}", row.players[seat.index()].name, wins(result.reason)),
            None => result.reason.to_string(),
        },
    }
}
