//! Registration, an agent's profile, and what its own key may change.

use super::{
    InPath, InQuery,
    caller::Caller,
    posted::{Anyone, Own, Post, Posted},
};
use crate::{
    arena::Arena,
    egress::EndpointUrl,
    idempotency::{Answer, Done, Route},
    names,
    problem::Problem,
    registration::NewAgent,
    secrets,
    settings::{DEADLINE_MS, Registration},
    times::rfc3339_ms,
    web::replay::{rating_json, strike_json},
};
use arena_journal::{Submission, TextError, TextOwner};
use arena_projectors::AgentRow;
use arena_schema::{
    Rejection, SecretHash,
    command::registry::{NewCredential, RotateCredential, SetEndpoint},
    id::{AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, Handle, Protocol},
};
use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

/// How many failures an agent sees of itself.
const FAILURES_SHOWN: u32 = 10;
/// How many of its matches a profile shows.
const MATCHES_SHOWN: u32 = 20;
/// How many agents a page of the list has.
const LIST_ROWS_MAX: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Registering {
    name: Option<String>,
    connection_method: Option<String>,
    protocol: Option<String>,
    endpoint_url: Option<String>,
    challenges: Option<String>,
    invitation: Option<String>,
}

impl Posted for Registering {
    const ROUTE: Route = Route::Agents;
    type Who = Anyone;
}

/// `POST /api/v1/agents`: 201 with the api_key, which is shown this once.
pub(super) async fn register(
    State(arena): State<Arena>,
    Post { body, once, .. }: Post<Registering>,
) -> Result<Done, Problem> {
    may_register(&arena, body.invitation.as_deref())?;
    must_be_agentarena(&body)?;
    let name = body.name.as_deref().ok_or_else(|| missing("name", "the agent's name"))?;
    let name = names::parse(name, true).map_err(|why| Problem::field("name", why.code(), sentence(&why)))?;
    let challenges = challenges(body.challenges.as_deref())?.unwrap_or(ChallengePolicy::Open);
    let url = body.endpoint_url.as_deref().ok_or_else(|| missing("endpoint_url", "the agent's https URL"))?;
    // Cheap and certain first: a taken name makes no look-up of a host. With a key it is the engine that refuses.
    if !once.has_key() && arena.handle().state().registry().by_handle(&name.slug).is_some() {
        return Err(Problem::rejected(Rejection::NameTaken));
    }
    let url = checked_endpoint(&arena, url).await?;

    // No key is made for an agent that is refused in any case.
    arena.producer().check_space()?;
    let api_key = secrets::draw("arena");
    let (owner, submission) = {
        let (arena, name, url) = (arena.clone(), name.clone(), url.clone());
        let hash = SecretHash::of(&api_key);
        off_the_loop(move || {
            let new = NewAgent {
                handle: name.slug,
                name: Some(&name.display),
                protocol: Protocol::AgentArena,
                method: ConnectionMethod::RemoteEndpoint,
                endpoint: Some(&url),
                challenges,
                credentials: vec![NewCredential { kind: CredentialKind::ApiKey, hash }],
            };
            new.submission(arena.texts(), arena.partition()).map_err(Problem::internal)
        })
        .await?
    };
    let body = json!({
        "slug": name.slug.as_str(),
        "agent_id": format!("agt_{}", name.slug),
        "name": name.display,
        "connection_method": ConnectionMethod::RemoteEndpoint.as_str(),
        "protocol": Protocol::AgentArena.as_str(),
        "endpoint_url": url,
        "endpoint_status": "active",
        "challenges": challenges.as_str(),
        "api_key": api_key,
    });
    let registered = once.act(&arena, vec![submission], Answer::new(StatusCode::CREATED, &body)).await;
    // The key of an agent that did not come to be; where that is unknown, the next start's sweep decides.
    let came_to_be = match &registered {
        Ok(done) => matches!(done, Done::Now(_)),
        Err(problem) => problem.is_unknown(),
    };
    if !came_to_be {
        let arena = arena.clone();
        let _ = off_the_loop(move || arena.texts().forget_owner(owner).map_err(Problem::internal)).await;
    }
    registered
}

fn may_register(arena: &Arena, invitation: Option<&str>) -> Result<(), Problem> {
    let settings = arena.settings();
    match settings.registration {
        Registration::Open => Ok(()),
        Registration::Invite => {
            let invited = invitation.is_some_and(|code| {
                // Every one is compared, so that the time taken says nothing.
                settings.invitations.iter().filter(|known| secrets::same(known.expose(), code)).count() > 0
            });
            if invited {
                Ok(())
            } else {
                let detail = "Registration needs a good `invitation` here; ask whoever runs this arena.";
                Err(Problem::new(StatusCode::FORBIDDEN, "invitation_needed", detail))
            }
        }
        Registration::Closed => {
            let detail = "Registration is closed here.";
            Err(Problem::new(StatusCode::FORBIDDEN, "registration_closed", detail))
        }
    }
}

/// The protocols that have no door yet are refused by name.
fn must_be_agentarena(body: &Registering) -> Result<(), Problem> {
    let method = match body.connection_method.as_deref() {
        None => ConnectionMethod::RemoteEndpoint,
        Some("mcp") => {
            let detail = "An MCP agent is not registered here: it signs in.";
            return Err(Problem::field("connection_method", "sign_in_instead", detail));
        }
        Some(named) => ConnectionMethod::from_name(named)
            .filter(|method| *method != ConnectionMethod::House)
            .ok_or_else(|| {
                let detail =
                    format!("connection_method is remote_endpoint, websocket or polling, not {named:?}.");
                Problem::field("connection_method", "invalid_value", detail)
            })?,
    };
    let protocol = match body.protocol.as_deref() {
        None if method == ConnectionMethod::WebSocket => Protocol::EvalDuel,
        None => Protocol::Ludux,
        Some(named) => {
            Protocol::from_name(named).filter(|protocol| *protocol != Protocol::House).ok_or_else(|| {
                let detail =
                    format!("protocol is ludux/1, agentarena/1 or evalduel-agent-v0, not {named:?}.");
                Problem::field("protocol", "invalid_value", detail)
            })?
        }
    };
    if protocol != Protocol::AgentArena {
        let detail =
            format!("This arena does not serve {protocol} yet; give \"protocol\": \"agentarena/1\".");
        return Err(Problem::field("protocol", "protocol_not_served", detail));
    }
    if method != ConnectionMethod::RemoteEndpoint {
        let detail = "agentarena/1 is spoken over \"connection_method\": \"remote_endpoint\" alone.";
        return Err(Problem::field("connection_method", "invalid_value", detail));
    }
    Ok(())
}

fn challenges(named: Option<&str>) -> Result<Option<ChallengePolicy>, Problem> {
    named
        .map(|named| {
            ChallengePolicy::from_name(named).ok_or_else(|| {
                let detail = format!("challenges is open or none, not {named:?}.");
                Problem::field("challenges", "invalid_value", detail)
            })
        })
        .transpose()
}

fn missing(field: &'static str, what: &str) -> Problem {
    Problem::field(field, "missing_field", format!("Give {what} as `{field}`."))
}

/// A message as a sentence.
fn sentence(message: &dyn std::fmt::Display) -> String {
    let text = message.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    let mut sentence: String = first.into_iter().flatten().chain(chars).collect();
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence
}

/// The URL, after its form and all addresses of its host were judged (AA-050).
async fn checked_endpoint(arena: &Arena, text: &str) -> Result<String, Problem> {
    let refused =
        |why: &dyn std::fmt::Display| Problem::field("endpoint_url", "endpoint_refused", sentence(why));
    let url = EndpointUrl::parse(text, arena.egress().policy()).map_err(|why| refused(&why))?;
    arena.egress().untrusted().check(&url).await.map_err(|why| refused(&why))?;
    Ok(url.as_str().to_owned())
}

async fn off_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(Problem::internal)?
}

/// There is no key any more to seal a new text under, and there will be none.
fn forgotten() -> Problem {
    let detail = "The agent's texts were forgotten, and it takes no new ones; register another agent.";
    Problem::new(StatusCode::GONE, "agent_forgotten", detail)
}

/// The agent of this slug.
pub(super) fn named(arena: &Arena, slug: &str) -> Result<AgentKey, Problem> {
    Handle::parse(&slug.to_ascii_lowercase())
        .and_then(|handle| arena.handle().state().registry().by_handle(&handle))
        .ok_or_else(|| Problem::not_found("agent"))
}

fn profile(row: &AgentRow) -> Value {
    json!({
        "slug": row.handle.as_str(),
        "agent_id": format!("agt_{}", row.handle),
        "name": row.name,
        "connection_method": row.method.as_str(),
        "protocol": row.protocol.as_str(),
        "endpoint_status": "active",
        "challenges": row.challenges.as_str(),
        "registered_at": rfc3339_ms(row.registered_at),
    })
}

#[derive(Deserialize)]
pub(super) struct Page {
    after: Option<String>,
}

/// `GET /api/v1/agents`: by slug, a hundred at a time; `after` goes on behind a slug.
pub(super) async fn list(
    State(arena): State<Arena>,
    InQuery(page): InQuery<Page>,
) -> Result<Json<Value>, Problem> {
    let after = match page.after.filter(|slug| !slug.is_empty()) {
        Some(slug) => Some(Handle::parse(&slug).ok_or_else(|| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "invalid_parameter",
                "`after` is the slug that a page ended with.",
            )
        })?),
        None => None,
    };
    arena.read_own_writes().await?;
    let rows = arena.read_views(move |views| views.agents(after.as_ref(), LIST_ROWS_MAX)).await?;
    let next = (rows.len() == LIST_ROWS_MAX as usize)
        .then(|| rows.last().map(|row| row.handle.to_string()))
        .flatten();
    Ok(Json(json!({"agents": rows.iter().map(profile).collect::<Vec<_>>(), "next_after": next})))
}

/// `GET /api/v1/agents/{slug}`: the public profile; with the agent's own key also its address and its last failures.
pub(super) async fn show(
    State(arena): State<Arena>,
    InPath(slug): InPath,
    caller: Option<Caller>,
) -> Result<Json<Value>, Problem> {
    let agent = named(&arena, &slug)?;
    let own = caller.is_some_and(|caller| caller.agent == agent);
    arena.read_own_writes().await?;
    let value = arena
        .read_views(move |views| {
            let Some(row) = views.agent(agent)? else {
                return Ok(None);
            };
            let mut value = profile(&row);
            let ratings = views.ratings_of(agent)?;
            value["ratings"] = ratings.iter().map(rating_json).collect();
            let matches = views.matches_of(agent, MATCHES_SHOWN)?;
            value["matches"] = matches.iter().map(crate::web::replay::summary_json).collect();
            if own {
                value["endpoint_url"] = json!(row.endpoint);
                let failures = views.last_strikes_of(agent, FAILURES_SHOWN)?;
                value["failures"] = failures.iter().map(strike_json).collect();
            }
            Ok(Some(value))
        })
        .await?;
    value.map(Json).ok_or_else(|| Problem::not_found("agent"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changing {
    endpoint_url: Option<String>,
    #[serde(default)]
    rotate_secret: bool,
    challenges: Option<String>,
}

impl Posted for Changing {
    const ROUTE: Route = Route::Endpoint;
    type Who = Own;
}

/// `POST /api/v1/agents/{slug}/endpoint`: another address or policy; `{}` or `rotate_secret` replaces the secret. An
/// agentarena/1 agent signs nothing, so its api_key is the secret there is. A refused address changes nothing.
pub(super) async fn set_endpoint(
    State(arena): State<Arena>,
    Post { who: Own(caller), body, once }: Post<Changing>,
) -> Result<Done, Problem> {
    let agent = caller.agent;
    let challenges = challenges(body.challenges.as_deref())?;
    let url = match body.endpoint_url.as_deref() {
        Some(text) => Some(checked_endpoint(&arena, text).await?),
        None => None,
    };
    let rotate = body.rotate_secret || (url.is_none() && challenges.is_none());
    arena.read_own_writes().await?;
    let row = arena.read_views(move |views| views.agent(agent)).await?;
    let mut row = row.ok_or_else(|| Problem::not_found("agent"))?;
    let mut submissions = Vec::new();
    if url.is_some() || challenges.is_some() || once.has_key() {
        let owner = TextOwner::Agent(row.id);
        let sealed = match url.clone() {
            Some(url) => {
                let arena = arena.clone();
                let seal = move || match arena.texts().seal(owner, &url) {
                    Err(TextError::NoKey) => Err(forgotten()),
                    sealed => sealed.map_err(Problem::internal),
                };
                Some(off_the_loop(seal).await?)
            }
            None => None,
        };
        let (endpoint, text) = sealed.unzip();
        let mut submission =
            Submission::new(SetEndpoint { agent, endpoint, challenges }).by(caller.credential);
        submission.texts.extend(text);
        submissions.push(submission);
    }
    row.challenges = challenges.unwrap_or(row.challenges);
    row.endpoint = url.or(row.endpoint);
    let mut shown = profile(&row);
    shown["endpoint_url"] = json!(row.endpoint);
    if rotate {
        let api_key = secrets::draw("arena");
        let credential = NewCredential { kind: CredentialKind::ApiKey, hash: SecretHash::of(&api_key) };
        submissions.push(Submission::new(RotateCredential { agent, credential }).by(caller.credential));
        shown["api_key"] = json!(api_key);
    } else if once.has_key() {
        // Changes nothing: with a key there are always two commands, so that no other request under it does half.
        let nothing = SetEndpoint { agent, endpoint: None, challenges: None };
        submissions.insert(0, Submission::new(nothing).by(caller.credential));
    }
    // In one record: both happen, or neither.
    once.act(&arena, submissions, Answer::new(StatusCode::OK, &shown)).await
}

/// Whether a deadline may be asked for.
pub(super) fn deadline_ms(asked: Option<u64>, default: u64) -> Result<u32, Problem> {
    let deadline = asked.unwrap_or(default);
    if DEADLINE_MS.contains(&deadline) {
        Ok(u32::try_from(deadline).unwrap_or(u32::MAX))
    } else {
        Err(Problem::field("deadline_ms", "deadline_out_of_range", "deadline_ms is 500 to 60000."))
    }
}
