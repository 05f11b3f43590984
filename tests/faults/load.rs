//! Registrations, practice and challenges at once, and what of it was acknowledged. What never belongs here: when it ends.

use crate::{dice::Dice, player::Player, records};
use arena_gateways::{house::AGENTS, web::replay_check};
use arena_schema::{Event, event::matches::EndReason};
use arena_tests::{Registered, Served};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::task::JoinSet;

/// How many agents play; the others are registered and nothing else.
const PLAYERS: usize = 6;
const HOUSE: [&str; 3] = ["pebble-1", "copper-4", "gremlin-9"];

/// What the arena acknowledged, and how much it was asked for.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) agents: Vec<Registered>,
    pub(crate) matches: Vec<String>,
    pub(crate) registrations_sent: usize,
    pub(crate) matches_sent: usize,
    /// What no client should see.
    odd: Vec<String>,
}

/// Players, and what they and others were told.
pub(crate) struct Load {
    pub(crate) players: Vec<Player>,
    pub(crate) playing: Vec<Registered>,
    ledger: Arc<Mutex<Ledger>>,
}

impl Load {
    /// Registers the players with an arena.
    pub(crate) async fn start(arena: &Served, dice: &mut Dice, think_ms: usize) -> Self {
        let (mut players, mut playing) = (Vec::new(), Vec::new());
        for n in 0..PLAYERS {
            let player = Player::start(dice.split(), think_ms).await;
            playing.push(arena.register(&format!("Player-{n}"), &player.url).await);
            players.push(player);
        }
        let ledger = Ledger { agents: playing.clone(), registrations_sent: PLAYERS, ..Ledger::default() };
        Self { players, playing, ledger: Arc::new(Mutex::new(ledger)) }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// How much happened so far: turns asked and requests acknowledged.
    pub(crate) fn happened(&self) -> usize {
        let asked: usize = self.players.iter().map(Player::asked_count).sum();
        let ledger = self.ledger();
        asked + ledger.agents.len() + ledger.matches.len()
    }

    /// Loads an arena until it answers no more, or each client has had `requests` answers.
    pub(crate) fn run(&self, arena: &Served, dice: &mut Dice, requests: usize) -> JoinSet<()> {
        let mut clients = JoinSet::new();
        clients.spawn(register(Client::of(self, arena, dice), requests));
        for _ in 0..2 {
            clients.spawn(practise(Client::of(self, arena, dice), requests));
            clients.spawn(challenge(Client::of(self, arena, dice), requests));
        }
        clients
    }

    /// That whatever was acknowledged is there, and the players' own keys open it.
    pub(crate) async fn assert_there(&self, arena: &Served, agents: &[Registered], matches: &[String]) {
        for agent in agents {
            let (status, shown) =
                arena.get(&format!("/api/v1/agents/{}", agent.slug), Some(&agent.api_key)).await;
            assert_eq!(status, 200, "{} was acknowledged: {shown}", agent.slug);
            assert!(shown["endpoint_url"].is_string(), "its own key opens what is its own: {shown}");
        }
        for id in matches {
            let replay = arena.replay(id, None).await;
            if let Err(why) = replay_check::check(&replay) {
                panic!("{why}: {replay}");
            }
            assert_no_strikes(&replay);
        }
    }

    /// What the arena shows of the players: ratings and the last matches.
    pub(crate) async fn profiles(&self, arena: &Served) -> Vec<Value> {
        let mut profiles = Vec::new();
        for agent in &self.playing {
            profiles.push(arena.get(&format!("/api/v1/agents/{}", agent.slug), None).await.1);
        }
        profiles
    }

    /// That everything acknowledged comes to its end as its players played it. The arena still runs.
    pub(crate) async fn assert_finished(&self, arena: &Served) {
        let (agents, matches) = {
            let ledger = self.ledger();
            assert_eq!(ledger.odd, Vec::<String>::new());
            (ledger.agents.clone(), ledger.matches.clone())
        };
        self.assert_there(arena, &agents, &matches).await;
        let mut replays = Vec::new();
        for id in &matches {
            replays.push(arena.finished(id).await);
        }
        let mut answers: HashMap<(String, u64), BTreeSet<String>> = HashMap::new();
        for asked in self.players.iter().flat_map(Player::asked) {
            answers.entry((asked.match_id, asked.move_number)).or_default().insert(asked.answer);
        }
        for (id, replay) in matches.iter().zip(replays) {
            assert_eq!(replay["status"], "finished", "{replay}");
            assert_no_strikes(&replay);
            replay_check::check(&replay).unwrap();
            for event in replay["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "move") {
                let seat = usize::from(event["seat"] == "O");
                if replay["players"][seat]["protocol"] == "house" {
                    continue;
                }
                let said = answers.get(&(id.clone(), event["move_number"].as_u64().unwrap()));
                let said = said.map(|said| said.contains(event["move"].as_str().unwrap()));
                assert_eq!(said, Some(true), "no player said {event} in {id}");
            }
        }
        for player in &self.players {
            assert_eq!(player.overlaps(), 0, "an agent is asked one thing at a time");
            assert!(player.asked().iter().all(|asked| asked.strikes == 0));
        }
    }

    /// That the journal has each thing once, and nothing that nobody asked for. The arena is stopped.
    pub(crate) fn assert_once(&self, data: &Path) {
        let ledger = self.ledger();
        let (mut handles, mut opened) = (Vec::new(), BTreeMap::new());
        let (mut plies, mut ended) = (BTreeMap::new(), BTreeSet::new());
        for event in records::all(data).into_iter().flat_map(|record| record.events) {
            match event {
                Event::AgentRegistered(event) => handles.push(event.handle.to_string()),
                Event::MatchOpened(event) => {
                    assert!(opened.insert(event.key, event.id.to_uuid().to_string()).is_none(), "{event:?}");
                }
                Event::MovePlayed(event) => {
                    let last: &mut u16 = plies.entry(event.key).or_default();
                    assert_eq!(event.ply, *last + 1, "{event:?}");
                    *last = event.ply;
                }
                Event::StrikeRecorded(event) => panic!("nobody earned this: {event:?}"),
                Event::MatchEnded(event) => {
                    assert_ne!(event.reason, EndReason::Void);
                    assert!(ended.insert(event.key), "it ended twice: {event:?}");
                }
                _ => {}
            }
        }
        assert_eq!(opened.len(), ended.len(), "all matches finish");
        let ids: BTreeSet<&String> = opened.values().collect();
        assert_eq!(ids.len(), opened.len(), "an id is one match's");
        assert!(opened.len() <= ledger.matches_sent, "{} of {}", opened.len(), ledger.matches_sent);
        assert!(ledger.matches.iter().all(|id| ids.contains(id)));
        let unique: BTreeSet<&str> = handles.iter().map(String::as_str).collect();
        assert_eq!(unique.len(), handles.len(), "a handle is one agent's");
        assert!(ledger.agents.iter().all(|agent| unique.contains(agent.slug.as_str())));
        assert!(handles.len() <= ledger.registrations_sent + AGENTS.len());
    }
}

#[track_caller]
fn assert_no_strikes(replay: &Value) {
    let strikes = |event: &Value| event["kind"] == "strike";
    assert!(!replay["events"].as_array().unwrap().iter().any(strikes), "nobody earned a strike: {replay}");
}

/// One client, which goes on until its arena is gone.
struct Client {
    http: reqwest::Client,
    url: String,
    ledger: Arc<Mutex<Ledger>>,
    playing: Vec<Registered>,
    endpoint: String,
    dice: Dice,
}

impl Client {
    fn of(load: &Load, arena: &Served, dice: &mut Dice) -> Self {
        Self {
            http: arena.client().clone(),
            url: arena.url.clone(),
            ledger: Arc::clone(&load.ledger),
            playing: load.playing.clone(),
            endpoint: load.players[0].url.clone(),
            dice: dice.split(),
        }
    }

    fn note(&self, note: impl FnOnce(&mut Ledger)) {
        note(&mut self.ledger.lock().unwrap());
    }

    /// The answer; none where the arena is gone. 503 says that it is going.
    async fn post(&self, path: &str, api_key: &str, body: &Value, fine: &[u16]) -> Option<(u16, Value)> {
        let mut request = self.http.post(format!("{}{path}", self.url)).body(body.to_string());
        if !api_key.is_empty() {
            request = request.bearer_auth(api_key);
        }
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.ok()?;
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if status != 201 && status != 503 && !fine.contains(&status) {
            self.note(|ledger| ledger.odd.push(format!("{path} {body}: {status} {value}")));
        }
        Some((status, value))
    }

    async fn open(&mut self, path: &str, api_key: &str, body: Value) -> Option<()> {
        self.note(|ledger| ledger.matches_sent += 1);
        let (status, value) = self.post(path, api_key, &body, &[409]).await?;
        if status == 201 {
            let id = value["match_id"].as_str().unwrap().to_owned();
            self.note(|ledger| ledger.matches.push(id));
        } else {
            // Room comes with the next move of somebody.
            arena_tests::served::poll_async().await;
        }
        Some(())
    }
}

async fn register(mut client: Client, requests: usize) {
    for _ in 0..requests {
        let name = format!("Other-{:x}", client.dice.next());
        let body = json!({"name": name, "protocol": "agentarena/1", "endpoint_url": client.endpoint});
        client.note(|ledger| ledger.registrations_sent += 1);
        let Some((status, value)) = client.post("/api/v1/agents", "", &body, &[]).await else { return };
        if status == 201 {
            let text = |key: &str| value[key].as_str().unwrap().to_owned();
            let registered = Registered { slug: text("slug"), api_key: text("api_key") };
            client.note(|ledger| ledger.agents.push(registered));
        }
    }
}

async fn practise(mut client: Client, requests: usize) {
    for _ in 0..requests {
        let agent = client.dice.pick(&client.playing).clone();
        let body = json!({"opponent": client.dice.pick(&HOUSE)});
        if client.open("/practice", &agent.api_key, body).await.is_none() {
            return;
        }
    }
}

async fn challenge(mut client: Client, requests: usize) {
    for _ in 0..requests {
        let at = client.dice.below(client.playing.len());
        let other = (at + 1 + client.dice.below(client.playing.len() - 1)) % client.playing.len();
        let body = json!({"game": "connect4", "opponent": client.playing[other].slug});
        let api_key = client.playing[at].api_key.clone();
        if client.open("/api/v1/matches", &api_key, body).await.is_none() {
            return;
        }
    }
}
