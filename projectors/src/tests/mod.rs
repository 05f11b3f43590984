//! Tests of the views behind a real sequencer: an arena whose commands are submitted, whose files can be broken, and that can be
//! started again.

mod partitions;
mod play;
mod ratings;
mod rebuild;
mod secrecy;
mod sessions;
mod snapshots;
mod waiting;

use crate::{Projector, Replay, Views, ViewsAt, What, projectors};
use arena_engine::games::{GameCode as Game, Outcome as GameOutcome, Position};
use arena_journal::{
    Clock, Outcome, Producer, Sequencer, SqliteJournal, StartError, StartOptions, StillClock, Submission,
    TextOwner, Texts, Vault, VaultKey, vault::random,
};
use arena_schema::{
    Command, Event, LogTime, Seat,
    command::{
        matches::{AbortMatch, First, OpenMatch, RecordStrike, StrikeCause, SubmitMove, TurnRef, VoidReason},
        registry::{RegisterAgent, SetEndpoint},
    },
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, GameCode, Handle, Incarnation, MatchId,
        MatchKey, Partition, Protocol, PublicSlug, Seed,
    },
};
use rusqlite::{Connection, types::Value};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// What outlives a run: the folder with journal and views, the vault, the clock.
struct World {
    data: TempDir,
    texts: Texts,
    clock: StillClock,
}

impl World {
    fn new() -> Self {
        Self {
            data: tempfile::tempdir().unwrap(),
            texts: Texts::new(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap())),
            clock: StillClock::at(LogTime(1_700_000_000_000_000)),
        }
    }

    fn journal(&self) -> PathBuf {
        self.data.path().join("records.db")
    }

    fn views(&self) -> PathBuf {
        self.data.path().join("views")
    }

    fn view(&self, name: &str) -> PathBuf {
        self.views().join(format!("{name}.db"))
    }

    fn start(&self) -> Arena {
        self.try_start_with(projectors(Partition(0))).unwrap()
    }

    fn try_start(&self) -> Result<Arena, StartError> {
        self.try_start_with(projectors(Partition(0)))
    }

    fn try_start_with(&self, projectors: Vec<Box<dyn Projector>>) -> Result<Arena, StartError> {
        self.try_start_at(&ViewsAt::Data(self.data.path().to_owned()), projectors)
    }

    fn try_start_at(&self, at: &ViewsAt, projectors: Vec<Box<dyn Projector>>) -> Result<Arena, StartError> {
        let journal = SqliteJournal::open(&self.journal()).unwrap();
        let (views, mut followers) = Views::open_with(at, self.texts.clone(), vec![projectors]).unwrap();
        let options = StartOptions {
            partition: Partition(0),
            clock: Clock::Still(self.clock.clone()),
            incarnation: Incarnation(random()),
            followers: followers.remove(0),
        };
        let sequencer = Sequencer::start(Box::new(journal), options)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let producer = sequencer.producer();
        Ok(Arena { sequencer, producer, views, texts: self.texts.clone(), runtime })
    }

    /// All rows of all tables of a view.
    fn rows(&self, name: &str) -> Vec<String> {
        rows(&self.view(name))
    }
}

fn rows(file: &Path) -> Vec<String> {
    let connection = Connection::open(file).unwrap();
    let mut tables =
        connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let mut lines = Vec::new();
    for table in tables {
        let mut select = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = select.column_count();
        let mut found = select.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<Value> = (0..columns).map(|at| row.get(at).unwrap()).collect();
            lines.push(format!("{table} {values:?}"));
        }
    }
    lines
}

/// Each start and each end of a run is a record.
fn without_checkpoint(rows: Vec<String>) -> Vec<String> {
    let rows: Vec<String> = rows.into_iter().filter(|row| !row.starts_with("checkpoint")).collect();
    assert!(!rows.is_empty());
    rows
}

/// A run.
struct Arena {
    sequencer: Sequencer,
    producer: Producer,
    views: Views,
    texts: Texts,
    runtime: Runtime,
}

impl Arena {
    fn stop(self) -> Views {
        self.sequencer.stop().unwrap();
        self.views.close().unwrap();
        self.views
    }

    fn submit(&self, submission: Submission) -> Outcome {
        self.runtime
            .block_on(async { self.producer.submit(vec![submission]).await.unwrap().outcome().await })
            .unwrap()
    }

    fn events(&self, submission: Submission) -> Vec<Event> {
        self.submit(submission).result.unwrap()
    }

    /// Until the views have all that was answered so far.
    fn settle(&self) {
        let position = self.sequencer.handle().position();
        self.runtime.block_on(self.views.wait_for(Partition(0), position, PATIENCE)).unwrap();
    }

    fn register(&self, handle: &str, protocol: Protocol) -> AgentKey {
        let id = AgentId::from_random(Partition(0), random());
        let owner = TextOwner::Agent(id);
        self.texts.create_owner(owner).unwrap();
        let (name, sealed_name) = self.texts.seal(owner, &format!("NAME of {handle}")).unwrap();
        let (method, endpoint) = match protocol {
            Protocol::House => (ConnectionMethod::House, None),
            _ => {
                let url = format!("https://{handle}.example/ENDPOINT");
                (ConnectionMethod::RemoteEndpoint, Some(self.texts.seal(owner, &url).unwrap()))
            }
        };
        let command = RegisterAgent {
            id,
            public_slug: PublicSlug(random()),
            handle: Handle::parse(handle).unwrap(),
            name: Some(name),
            protocol,
            method,
            endpoint: endpoint.as_ref().map(|(reference, _)| *reference),
            challenges: ChallengePolicy::Open,
            credentials: Vec::new(),
        };
        let mut submission = Submission::new(command).with_text(sealed_name);
        submission.texts.extend(endpoint.map(|(_, sealed)| sealed));
        let events = self.events(submission);
        let [Event::AgentRegistered(registered)] = &events[..] else { panic!("{events:?}") };
        registered.agent
    }

    fn owner(&self, agent: AgentKey) -> TextOwner {
        TextOwner::Agent(self.sequencer.handle().state().registry().agent(agent).unwrap().id)
    }

    fn set_endpoint(&self, agent: AgentKey, url: Option<&str>, challenges: Option<ChallengePolicy>) {
        let sealed = url.map(|url| self.texts.seal(self.owner(agent), url).unwrap());
        let endpoint = sealed.as_ref().map(|(reference, _)| *reference);
        let mut submission = Submission::new(SetEndpoint { agent, endpoint, challenges });
        submission.texts.extend(sealed.map(|(_, sealed)| sealed));
        self.events(submission);
    }

    /// A match whose first seat is the first player's.
    fn open(&self, players: [AgentKey; 2], rated: bool) -> (MatchId, MatchKey) {
        let id = MatchId::from_random(Partition(0), random());
        let command = OpenMatch {
            id,
            game: GameCode(Game::Connect4.as_u16()),
            players,
            first: First::BySeed,
            rated,
            deadline_ms: 10_000,
            seed: Seed([2; 32]),
        };
        let events = self.events(Submission::new(command));
        let Some(Event::MatchOpened(opened)) = events.first() else { panic!("{events:?}") };
        (id, opened.key)
    }

    fn turn(&self, key: MatchKey) -> TurnRef {
        let handle = self.sequencer.handle();
        let state = handle.state();
        let open = state.matches().get(key).expect("the match runs");
        let seat = open.position().to_act().iter().next().unwrap();
        let turn = open.seat(seat).turn.as_ref().expect("a seat is asked");
        TurnRef { key, seat, ply: turn.ply, attempt: turn.attempt }
    }

    fn asked(&self, turn: &TurnRef) -> AgentKey {
        self.sequencer.handle().state().matches().get(turn.key).unwrap().seat(turn.seat).agent
    }

    fn play(&self, key: MatchKey, moves: &str) {
        for letter in moves.chars() {
            let text = letter.to_string();
            self.play_saying(key, &text, None);
        }
    }

    fn play_saying(&self, key: MatchKey, mv: &str, reason: Option<&str>) {
        let turn = self.turn(key);
        let owner = self.owner(self.asked(&turn));
        let reason = reason.map(|reason| self.texts.seal(owner, reason).unwrap());
        let excerpt = self.texts.seal(owner, &format!("EXCERPT with {mv}")).unwrap();
        let mv = Game::Connect4.parse_move(mv).unwrap();
        let command = SubmitMove {
            turn,
            mv,
            reason: reason.as_ref().map(|(reference, _)| *reference),
            excerpt: Some(Box::new(excerpt.0)),
            nonce: None,
            latency_ms: 12,
        };
        let mut submission = Submission::new(command).with_text(excerpt.1);
        submission.texts.extend(reason.map(|(_, sealed)| sealed));
        self.events(submission);
    }

    fn strike(&self, key: MatchKey, cause: StrikeCause, status: Option<u16>, excerpt: Option<&str>) {
        let turn = self.turn(key);
        let owner = self.owner(self.asked(&turn));
        let excerpt = excerpt.map(|excerpt| self.texts.seal(owner, excerpt).unwrap());
        let command = RecordStrike {
            turn,
            cause,
            status,
            excerpt: excerpt.as_ref().map(|(reference, _)| *reference),
            nonce: None,
            latency_ms: 34,
        };
        let mut submission = Submission::new(command);
        submission.texts.extend(excerpt.map(|(_, sealed)| sealed));
        self.events(submission);
    }

    /// The seat that is to act forfeits.
    fn forfeit(&self, key: MatchKey) {
        for _ in 0..3 {
            self.strike(key, StrikeCause::Timeout, None, None);
        }
    }

    /// The same where it has a strike already.
    fn forfeit_rest(&self, key: MatchKey) {
        for _ in 0..2 {
            self.strike(key, StrikeCause::Timeout, None, None);
        }
    }

    fn abort(&self, key: MatchKey) {
        self.events(Submission::new(Command::from(AbortMatch { key, reason: VoidReason::Operator })));
    }

    fn replay(&self, id: &MatchId) -> Replay {
        self.settle();
        self.views.replay(id, None).unwrap().expect("there is such a match")
    }
}

/// The moves of some game that nobody wins.
fn drawn_game() -> String {
    let mut dice = 1_u64;
    loop {
        let (mut position, mut moves) = (Position::of(Game::Connect4, &[0; 32]), String::new());
        while let Some(seat) = position.to_act().iter().next() {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let legal = position.legal_moves(seat);
            let mv = legal[(dice >> 33) as usize % legal.len()];
            position.play(seat, &mv).unwrap();
            moves.push_str(&Game::Connect4.move_text(&mv));
        }
        if position.outcome() == Some(GameOutcome::Draw) {
            return moves;
        }
    }
}

/// A replay in lines, without ids and times.
fn lines(replay: &Replay) -> Vec<String> {
    let [x, o] = &replay.players;
    let mut lines = vec![format!(
        "{} {} {} {} {} ({}) against {} ({})",
        replay.game.name(),
        if replay.rated { "rated" } else { "unrated" },
        replay.status.as_str(),
        x.seat,
        x.name,
        x.protocol,
        o.name,
        o.protocol
    )];
    for event in &replay.events {
        let n = event.n;
        lines.push(match &event.what {
            What::Move { seat, move_number, mv, reason, latency_ms } => {
                let reason = reason.as_ref().map_or("", |reason| &reason.text);
                format!("{n} {seat} {move_number} {mv} {latency_ms} ms {reason}").trim_end().to_owned()
            }
            What::Strike { seat, move_number, cause, strikes, latency_ms, status, mv, excerpt } => {
                let (mv, excerpt) = (mv.as_deref().unwrap_or("-"), excerpt.as_deref().unwrap_or("-"));
                format!("{n} {seat} {move_number} strike {strikes} {cause} {latency_ms} ms {status:?} {mv} {excerpt}")
            }
            What::End { winner, reason } => format!("{n} end {reason} {}", winner.map_or("-", Seat::as_str)),
        });
    }
    if let Some(result) = &replay.result {
        let winner = result.winner.map_or("-", Seat::as_str);
        lines.push(format!("{} {winner} {}", result.reason, result.line.join(" ")).trim_end().to_owned());
    }
    lines
}
