//! Opening matches and looking at them.

use super::{
    InPath,
    agents::{deadline_ms, named as named_agent},
    caller::Caller,
    posted::{Post, Posted},
};
use crate::{
    arena::Arena,
    house,
    idempotency::{Answer, Done, Once, Route},
    problem::Problem,
    web::replay,
};
use arena_engine::games::GameCode;
use arena_journal::{Submission, vault::random};
use arena_schema::{
    command::matches::{First, OpenMatch},
    id::{self, AgentKey, MatchId, Seed},
};
use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

/// Whom a practice match is against where the caller names nobody.
const PRACTICE_OPPONENT: &str = "gremlin-9";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Practising {
    game: Option<String>,
    opponent: Option<String>,
}

impl Posted for Practising {
    const ROUTE: Route = Route::Practice;
    type Who = Caller;
}

/// `POST /practice`: an unrated match against a house agent, at once.
pub(super) async fn practice(
    State(arena): State<Arena>,
    Post { who: caller, body, once }: Post<Practising>,
) -> Result<Done, Problem> {
    let game = game(body.game.as_deref().unwrap_or(GameCode::Connect4.name()))?;
    let named = body.opponent.as_deref().unwrap_or(PRACTICE_OPPONENT);
    let housed = house::by_name(named).ok_or_else(|| {
        let names: Vec<&str> = house::AGENTS.iter().map(|agent| agent.slug).collect();
        let detail = format!("Practice is against the house: {}, not {named:?}.", names.join(", "));
        Problem::field("opponent", "no_house_agent", detail)
    })?;
    let opponent = named_agent(&arena, housed.slug)?;
    let deadline_ms = deadline_ms(None, arena.settings().agentarena.deadline_ms)?;
    let terms = Terms { opponent, game, first: First::BySeed, rated: false, deadline_ms };
    open(&arena, caller, terms, once).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Challenging {
    game: Option<String>,
    opponent: Option<String>,
    rated: Option<bool>,
    deadline_ms: Option<u64>,
    first: Option<String>,
}

impl Posted for Challenging {
    const ROUTE: Route = Route::Matches;
    type Who = Caller;
}

/// `POST /api/v1/matches`: a challenge, which opens at once. Against another agent it is rated unless the body says otherwise;
/// against the house never.
pub(super) async fn challenge(
    State(arena): State<Arena>,
    Post { who: caller, body, once }: Post<Challenging>,
) -> Result<Done, Problem> {
    let missing = |field, what| Problem::field(field, "missing_field", format!("Give {what} as `{field}`."));
    let game = game(body.game.as_deref().ok_or_else(|| missing("game", "the game's name"))?)?;
    let named = body.opponent.as_deref().ok_or_else(|| missing("opponent", "the opponent's slug"))?;
    let opponent = named_agent(&arena, named)?;
    let housed = house::by_name(named).is_some();
    if housed && body.rated == Some(true) {
        return Err(Problem::field("rated", "house_unrated", "Matches against the house are never rated."));
    }
    let rated = body.rated.unwrap_or(!housed && body.first.is_none());
    let first = match body.first.as_deref() {
        None => First::BySeed,
        Some(slug) => {
            let chosen = named_agent(&arena, slug).ok();
            if chosen == Some(caller.agent) {
                First::Challenger
            } else if chosen == Some(opponent) {
                First::Opponent
            } else {
                let detail = "first is the slug of one of the two players.";
                return Err(Problem::field("first", "invalid_value", detail));
            }
        }
    };
    let deadline_ms = deadline_ms(body.deadline_ms, arena.settings().agentarena.deadline_ms)?;
    open(&arena, caller, Terms { opponent, game, first, rated, deadline_ms }, once).await
}

/// What is played, and how.
struct Terms {
    opponent: AgentKey,
    game: GameCode,
    first: First,
    rated: bool,
    deadline_ms: u32,
}

async fn open(arena: &Arena, caller: Caller, terms: Terms, once: Once) -> Result<Done, Problem> {
    let partition = arena.match_partition();
    arena.check_space_in(partition)?;
    let id = MatchId::from_random(partition, random());
    let command = OpenMatch {
        id,
        game: id::GameCode(terms.game.as_u16()),
        players: [caller.agent, terms.opponent],
        first: terms.first,
        rated: terms.rated,
        deadline_ms: terms.deadline_ms,
        seed: Seed(random()),
    };
    let id = id.to_uuid();
    let body = json!({"match_id": id.to_string(), "replay_url": format!("{}/m/{id}", arena.public_url())});
    let answer = Answer::new(StatusCode::CREATED, &body);
    once.act(arena, vec![Submission::new(command).by(caller.credential)], answer).await
}

fn game(name: &str) -> Result<GameCode, Problem> {
    GameCode::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = arena_engine::games::GAMES.iter().map(|(_, name)| *name).collect();
        Problem::field(
            "game",
            "unknown_game",
            format!("The games here are {}, not {name:?}.", known.join(", ")),
        )
    })
}

/// `GET /api/v1/matches/{id}`: how it stands.
pub(super) async fn show(State(arena): State<Arena>, InPath(id): InPath) -> Result<Json<Value>, Problem> {
    let id = MatchId::parse(&id).ok_or_else(|| Problem::not_found("match"))?;
    arena.read_own_match(id).await?;
    let found = arena.read_views(move |views| views.replay(&id, None)).await?;
    let found = found.ok_or_else(|| Problem::not_found("match"))?;
    Ok(Json(replay::state_json(&found)))
}
