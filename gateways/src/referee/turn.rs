//! One turn: what is asked, of whom, and the fact that it comes to.

use super::{Court, Due};
use crate::{
    agentarena::{self, Asked, MoveRequest, REPLY_BYTES_MAX, Verdict},
    directory::{Card, Known},
    house,
    parts::Part,
};
use arena_engine::games::Position;
use arena_journal::{SealedText, Submission, TextError, TextOwner, vault::random};
use arena_schema::{
    Hash, Move, Rejection, TextRef,
    command::matches::{AbortMatch, RecordStrike, StrikeCause, SubmitMove, TurnRef, VoidReason},
    id::{AgentKey, MatchId, Nonce, Protocol, Seed},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// How long to wait for room where this process has no descriptor left to ask.
const ROOM_PAUSE: Duration = Duration::from_millis(100);

/// How long a turn waits between two attempts to read what it is made of.
const READ_PAUSE: Duration = Duration::from_secs(1);
/// The same where the registry lacks who plays: it comes with the next records.
const REGISTRY_PAUSE: Duration = Duration::from_millis(5);

/// What the state says of a turn that is open.
struct OpenTurn {
    match_id: MatchId,
    position: Position,
    /// Who is asked, and the opponent.
    seats: [AgentKey; 2],
    strikes: u8,
    deadline_ms: u32,
    seed: Seed,
}

/// What came of it.
struct Fact {
    verdict: Verdict,
    nonce: Option<Nonce>,
    latency: Duration,
}

/// Asks for one turn and submits what came; nothing where the turn is past meanwhile.
pub(super) async fn take(court: &Court, due: Due) {
    let Some(part) = court.parts.get(due.partition) else { return };
    let turn = due.turn;
    let (agent, fact) = loop {
        let Some((open, agent, opponent)) = read(court, part, &turn).await else {
            return;
        };
        let asking = async {
            match agent.protocol {
                Protocol::House => Some(ask_house(court, &turn, &open, &agent).await),
                Protocol::AgentArena => {
                    Some(ask_agentarena(court, &turn, &open, &agent, &opponent.name).await)
                }
                _ => None,
            }
        };
        let fact = tokio::select! {
            biased;
            // Others may ask this agent from now on, and it has one request at a time: this one's connection is closed.
            () = part.producer.is_absent() => {
                tracing::warn!("this gateway may be taken for gone: a request to an agent is dropped");
                continue;
            }
            fact = asking => fact,
        };
        let Some(fact) = fact else {
            return void(court, &due, "its protocol is not refereed here").await;
        };
        break (agent, fact);
    };
    if let Verdict::OurFault(why) = &fact.verdict {
        return void(court, &due, why).await;
    }
    if let Some(rejection) = submit(part, submission(court, turn, &agent, fact)).await {
        void(court, &due, &format!("the engine refuses what came of a turn: {rejection}")).await;
    }
}

/// The turn as it stands and who sits there; none where it is past. What cannot be read now (a full disk, no descriptor left) is
/// read again: the match waits, and nobody pays for it.
async fn read(court: &Court, part: &Part, turn: &TurnRef) -> Option<(OpenTurn, Arc<Card>, Arc<Card>)> {
    loop {
        // Where others could take this process for gone, its turns may be theirs by now.
        part.producer.is_present().await;
        let open = look_up(part, turn)?;
        let Some([agent, opponent]) = known(court, open.seats) else {
            // This process is a moment behind in the first partition.
            tokio::time::sleep(REGISTRY_PAUSE).await;
            continue;
        };
        match tokio::try_join!(court.directory.card(agent), court.directory.card(opponent)) {
            Ok((agent, opponent)) => return Some((open, agent, opponent)),
            Err(why) => tracing::error!(%why, "an agent cannot be looked up: its turn waits"),
        }
        tokio::time::sleep(READ_PAUSE).await;
    }
}

/// What the registry says of both; none where it lacks one of them.
fn known(court: &Court, seats: [AgentKey; 2]) -> Option<[Known; 2]> {
    let state = court.parts.first().handle.state();
    let [agent, opponent] = seats.map(|agent| Known::of(&state, agent));
    Some([agent?, opponent?])
}

/// Waits for the turns whose facts are on their way.
pub(super) async fn settle(asked: &mut JoinSet<()>) {
    while asked.join_next().await.is_some() {}
}

fn look_up(part: &Part, turn: &TurnRef) -> Option<OpenTurn> {
    let state = part.handle.state();
    let open = state.matches().get(turn.key)?;
    let seat = open.seat(turn.seat);
    let current = seat.turn.as_ref()?;
    if current.attempt != turn.attempt || current.home != part.producer.id() {
        return None;
    }
    Some(OpenTurn {
        match_id: open.id,
        position: open.position().clone(),
        seats: [seat.agent, open.seat(turn.seat.other()).agent],
        strikes: seat.strikes,
        deadline_ms: open.deadline_ms,
        seed: open.seed,
    })
}

async fn ask_agentarena(
    court: &Court,
    turn: &TurnRef,
    open: &OpenTurn,
    agent: &Card,
    opponent: &str,
) -> Fact {
    let nonce = Nonce(random());
    let request = MoveRequest::new(&Asked {
        match_id: open.match_id,
        position: &open.position,
        seat: turn.seat,
        opponent,
        ply: turn.ply,
        strikes: open.strikes,
        deadline_ms: open.deadline_ms,
        nonce,
        public_url: &court.public_url,
    });
    let url = match &agent.endpoint {
        Some(Ok(url)) => url,
        Some(Err(refused)) => return unreachable_agent(format!("({refused})")),
        None => return unreachable_agent("(the agent has no endpoint any more)".to_owned()),
    };
    let deadline = Duration::from_millis(u64::from(open.deadline_ms));
    let headers = agentarena::headers();
    let exchange = loop {
        let exchange = agent.line.post(url, &headers, request.to_body(), deadline, REPLY_BYTES_MAX).await;
        // Nothing was sent, and the agent's time has not begun.
        if !exchange.found_no_room() {
            break exchange;
        }
        tracing::warn!("no descriptor is left to ask an agent: trying again");
        tokio::time::sleep(ROOM_PAUSE).await;
    };
    let game = open.position.game();
    let verdict = agentarena::judge(&exchange, &nonce.to_string(), game, |text| request.allows(text));
    Fact { verdict, nonce: Some(nonce), latency: exchange.latency }
}

/// The agent's own affair, and no request was made.
fn unreachable_agent(excerpt: String) -> Fact {
    let verdict = Verdict::Strike { cause: StrikeCause::Transport, status: None, excerpt: Some(excerpt) };
    Fact { verdict, nonce: None, latency: Duration::ZERO }
}

async fn ask_house(court: &Court, turn: &TurnRef, open: &OpenTurn, agent: &Card) -> Fact {
    let our_fault =
        |why: String| Fact { verdict: Verdict::OurFault(why), nonce: None, latency: Duration::ZERO };
    let Some(mind) = house::by_name(&agent.handle) else {
        return our_fault(format!("{} is no agent of this house", agent.handle));
    };
    let seed = Hash::of_parts(&[&open.seed.0, &turn.ply.to_le_bytes(), &[turn.seat.index() as u8]]).0;
    let started = Instant::now();
    match court.house.choose(mind, open.position.clone(), turn.seat, seed).await {
        Ok(Some(choice)) => {
            let verdict = Verdict::Move { mv: choice.mv, reason: Some(choice.reason), excerpt: None };
            Fact { verdict, nonce: None, latency: started.elapsed() }
        }
        Ok(None) => our_fault(format!("{} found no legal move", agent.handle)),
        Err(why) => our_fault(why.to_string()),
    }
}

fn submission(court: &Court, turn: TurnRef, agent: &Card, fact: Fact) -> Submission {
    let latency_ms = u32::try_from(fact.latency.as_millis()).unwrap_or(u32::MAX);
    let nonce = fact.nonce;
    let mut texts = Vec::new();
    let mut seal = |text: Option<String>| -> Option<TextRef> {
        let (reference, sealed) = seal(court, agent, &text?)?;
        texts.push(sealed);
        Some(reference)
    };
    let mut submission = match fact.verdict {
        Verdict::Move { mv, reason, excerpt, .. } => {
            let (reason, excerpt): (Option<TextRef>, Option<TextRef>) = (seal(reason), seal(excerpt));
            Submission::new(submit_move(turn, mv, reason, excerpt, nonce, latency_ms))
        }
        Verdict::Strike { cause, status, excerpt } => {
            let excerpt = seal(excerpt);
            Submission::new(RecordStrike { turn, cause, status, excerpt, nonce, latency_ms })
        }
        Verdict::OurFault(_) => {
            Submission::new(AbortMatch { key: turn.key, reason: VoidReason::RefereeFault })
        }
    };
    submission.texts = texts;
    submission
}

fn submit_move(
    turn: TurnRef,
    mv: Move,
    reason: Option<TextRef>,
    excerpt: Option<TextRef>,
    nonce: Option<Nonce>,
    latency_ms: u32,
) -> SubmitMove {
    SubmitMove { turn, mv, reason, excerpt: excerpt.map(Box::new), nonce, latency_ms }
}

/// A text under the agent's own key; none where it is empty or the agent was forgotten.
fn seal(court: &Court, agent: &Card, text: &str) -> Option<(TextRef, SealedText)> {
    if text.is_empty() {
        return None;
    }
    match court.texts.seal(TextOwner::Agent(agent.id), text) {
        Ok(sealed) => Some(sealed),
        Err(TextError::NoKey) => None,
        Err(why) => {
            tracing::error!(%why, "a text of a turn cannot be sealed and is left out");
            None
        }
    }
}

/// A fault of our own that asking again does not mend: the match is voided, and no agent pays.
pub(super) async fn void(court: &Court, due: &Due, why: &str) {
    let Some(part) = court.parts.get(due.partition) else { return };
    tracing::error!(why, "a match is voided by a fault of our own");
    let abort = AbortMatch { key: due.turn.key, reason: VoidReason::RefereeFault };
    if let Some(rejection) = submit(part, Submission::new(abort)).await {
        tracing::error!(%rejection, "a match cannot be voided");
    }
}

/// Submits a fact; gives a refusal that no race explains.
async fn submit(part: &Part, submission: Submission) -> Option<Rejection> {
    let answered = match part.producer.submit(vec![submission]).await {
        Ok(pending) => pending.answered().await,
        Err(why) => {
            tracing::debug!(%why, "a fact was not taken: the turn is asked again after the next start");
            return None;
        }
    };
    match answered {
        Ok(answered) => match answered.events(0).err()? {
            Rejection::StaleAttempt | Rejection::StalePly | Rejection::Gone | Rejection::NotToAct => {
                tracing::debug!("an answer came for a turn that was past");
                None
            }
            rejection => Some(rejection),
        },
        Err(stopped) => {
            tracing::debug!(%stopped, "the outcome of a fact is in the journal");
            None
        }
    }
}
