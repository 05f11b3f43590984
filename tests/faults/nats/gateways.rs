//! A gateway goes in the middle of many matches: killed, or only asleep.

use super::{Site, assert_nobody_paid, client, leader::stop_all, poll_async, wait_until};
use crate::records::Reduced;
use arena_schema::{Event, Rejection};
use arena_tests::{
    Registered, Served,
    agent::{Seen, read_request},
    nats::left_out,
    proxy::Proxy,
    served::PATIENCE,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

const MATCHES: usize = 1_000;
const AGENTS: usize = 60;
const DEADLINE_MS: u32 = 10_000;
/// Longer than a gateway's lease.
const ASLEEP: Duration = Duration::from_secs(10);

/// What an agent was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) gateway: String,
    nonce: String,
    pub(super) at: Instant,
    pub(super) answered: bool,
}

#[derive(Default)]
pub(super) struct Memory {
    /// By agent, match and number of the move.
    pub(super) asked: HashMap<(String, String, u64), Vec<Asked>>,
    pub(super) count: usize,
    open: HashMap<String, usize>,
    pub(super) overlaps: Vec<String>,
    pub(super) strikes: u64,
}

/// Many agents behind one listener, told apart by their numbers. The even ones think for one time and the odd ones for another,
/// and all notice when who asked is gone.
pub(super) struct Agents {
    pub(super) url: String,
    memory: Arc<Mutex<Memory>>,
    task: JoinHandle<()>,
}

impl Agents {
    pub(super) async fn start(think: [Duration; 2]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let memory = Arc::<Mutex<Memory>>::default();
        let shared = Arc::clone(&memory);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(converse(stream, Arc::clone(&shared), think));
            }
        });
        Self { url, memory, task }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap()
    }

    pub(super) async fn until_asked(&self, count: usize) {
        let begun = Instant::now();
        while self.memory().count < count {
            assert!(begun.elapsed() < PATIENCE, "nobody is asked any more");
            poll_async().await;
        }
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, memory: Arc<Mutex<Memory>>, think: [Duration; 2]) {
    while let Some(Seen { head, body, .. }) = read_request(&mut stream).await {
        let agent = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let key = (agent.clone(), text("match_id"), body["move_number"].as_u64().unwrap_or_default());
        {
            let mut memory = memory.lock().unwrap();
            let open = memory.open.entry(agent.clone()).or_default();
            *open += 1;
            if *open > 1 {
                memory.overlaps.push(format!("{key:?}"));
            }
            memory.count += 1;
            memory.strikes += body["strikes"].as_u64().unwrap_or_default();
            let gateway = text("replay_url").split("/m/").next().unwrap_or_default().to_owned();
            let asked = Asked { gateway, nonce: text("nonce"), at: Instant::now(), answered: false };
            memory.asked.entry(key.clone()).or_default().push(asked);
        }
        let odd = usize::from(agent.ends_with(['1', '3', '5', '7', '9']));
        let gone = tokio::time::timeout(think[odd], stream.read_u8()).await.is_ok();
        {
            let mut memory = memory.lock().unwrap();
            *memory.open.entry(agent).or_default() -= 1;
            if gone {
                return;
            }
            if let Some(asked) = memory.asked.get_mut(&key).and_then(|asked| asked.last_mut()) {
                asked.answered = true;
            }
        }
        let legal = body["legal"].as_array().unwrap();
        let mv = &legal[(key.2 as usize * 7 + key.1.len()) % legal.len()];
        // Every third says why, so that texts of agents ride beside the records too.
        let mut answer = json!({"move": mv, "nonce": body["nonce"]});
        if key.2 % 3 == 0 {
            answer["reason"] = json!(format!("it is move {}", key.2));
        }
        let answer = answer.to_string();
        let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Agents, registered through one gateway and the other.
pub(super) async fn register(agents: &Agents, gateways: [&Served; 2], count: usize) -> Vec<Registered> {
    let mut registered = Vec::new();
    for at in 0..count {
        registered
            .push(gateways[at % 2].register(&format!("agent-{at}"), &format!("{}/{at}", agents.url)).await);
    }
    registered
}

/// Opens matches between them, through one gateway and the other; gives their ids.
pub(super) async fn open(
    registered: &[Registered],
    gateways: [&Served; 2],
    count: usize,
    deadline_ms: u32,
) -> Vec<String> {
    let mut opening = JoinSet::new();
    for own in 0..8 {
        let urls = gateways.map(|gateway| gateway.url.clone());
        let registered = registered.to_vec();
        opening.spawn(async move {
            let http = client();
            let mut ids = Vec::new();
            for at in (own..count).step_by(8) {
                let first = &registered[at % registered.len()];
                let other = &registered[(at + 1 + at / registered.len()) % registered.len()];
                let body = json!({"game": "connect4", "opponent": other.slug, "deadline_ms": deadline_ms});
                let body = body.to_string();
                let request = || {
                    http.post(format!("{}/api/v1/matches", urls[at % 2]))
                        .bearer_auth(&first.api_key)
                        .header("content-type", "application/json")
                        .body(body.clone())
                };
                // Where they have as many as they may, one ends soon.
                let value: Value = loop {
                    let response = request().send().await.unwrap();
                    let (status, bytes) = (response.status(), response.bytes().await.unwrap());
                    match status.as_u16() {
                        201 => break serde_json::from_slice(&bytes).unwrap(),
                        409 => poll_async().await,
                        _ => panic!("{status}: {bytes:?}"),
                    }
                };
                ids.push(value["match_id"].as_str().unwrap().to_owned());
            }
            ids
        });
    }
    opening.join_all().await.concat()
}

/// Until all of them are over, as one gateway sees it.
pub(super) async fn finished(served: &Served, ids: &[String]) {
    for id in ids {
        assert_eq!(served.finished(id).await["status"], "finished", "{id}");
    }
}

#[track_caller]
fn assert_ended(records: &[Reduced], matches: usize) {
    let ended = records.iter().flat_map(|record| &record.events);
    assert_eq!(ended.filter(|event| matches!(event, Event::MatchEnded(_))).count(), matches);
    assert_nobody_paid(records);
}

/// How many facts were refused because their turns were another's.
fn late_facts(records: &[Reduced]) -> usize {
    let late = |event: &&Event| matches!(event, Event::Rejected(Rejection::StaleAttempt));
    records.iter().flat_map(|record| &record.events).filter(late).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_gateways_turns_are_asked_once_more_by_the_other_and_no_others_are() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, one, two] = site.serve_all([("e1", "engine"), ("g1", "gateway"), ("g2", "gateway")]);
    let agents = Agents::start([Duration::from_millis(25); 2]).await;
    let registered = register(&agents, [&one, &two], AGENTS).await;
    let begun = Instant::now();
    let ids = open(&registered, [&one, &two], MATCHES, DEADLINE_MS).await;
    println!("{MATCHES} matches opened after {:?}, {} turns asked", begun.elapsed(), agents.memory().count);
    let busy = agents.memory().count + 100;
    agents.until_asked(busy).await;
    one.kill();
    // What it had sent may still be on its way to the agent.
    let killed = Instant::now() + Duration::from_secs(1);
    finished(&two, &ids).await;
    println!("all {MATCHES} matches over after {:?}, {} turns asked", begun.elapsed(), agents.memory().count);
    let mut again = BTreeMap::new();
    {
        let memory = agents.memory();
        assert_eq!(memory.overlaps, Vec::<String>::new(), "an agent has one request open");
        assert_eq!(memory.strikes, 0);
        for ((agent, ..), asked) in memory.asked.iter().filter(|(_, asked)| asked.len() > 1) {
            let [first, second] = &asked[..] else { panic!("asked more than twice: {asked:?}") };
            assert!(first.gateway.contains("g1.") && first.at < killed, "{asked:?}");
            assert!(second.gateway.contains("g2.") && second.nonce != first.nonce, "{asked:?}");
            *again.entry(agent.clone()).or_insert(0) += 1;
        }
    }
    assert!(again.values().all(|&count| count == 1), "one turn of an agent is open at a time: {again:?}");
    println!("{} turns asked again", again.len());
    assert!(!again.is_empty(), "the kill met no open turn: the load is too small to prove anything");
    stop_all(two, vec![engine]);
    assert_ended(&site.judge(), MATCHES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_slept_until_its_homes_had_moved_changes_nothing_when_it_wakes() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, one, two] = site.serve_all([("e1", "engine"), ("g1", "gateway"), ("g2", "gateway")]);
    let agents = Agents::start([Duration::from_millis(150); 2]).await;
    let registered = register(&agents, [&one, &two], 12).await;
    let ids = open(&registered, [&one, &two], 24, DEADLINE_MS).await;
    let busy = agents.memory().count + 10;
    agents.until_asked(busy).await;
    let slept = Instant::now();
    one.signal("STOP");
    wait_until("the end of the nap", || slept.elapsed() > ASLEEP);
    one.signal("CONT");
    finished(&two, &ids).await;
    // It is back, and asks and answers as before.
    wait_until("its new number", || one.log().contains("taken for gone"));
    let more = open(&registered, [&one, &two], 12, DEADLINE_MS).await;
    finished(&one, &more).await;
    assert_eq!(agents.memory().strikes, 0);
    one.stop();
    stop_all(two, vec![engine]);
    let records = site.judge();
    assert_ended(&records, ids.len() + more.len());
    println!("{} facts came late and were refused", late_facts(&records));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gateway_slept_through_is_not_its_agents_time() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, one] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let agents = Agents::start([Duration::from_millis(300); 2]).await;
    let registered = register(&agents, [&one, &one], 8).await;
    let ids = open(&registered, [&one, &one], 8, 1_500).await;
    for _ in 0..2 {
        let busy = agents.memory().count + 4;
        agents.until_asked(busy).await;
        // Longer than the deadline, and shorter than the lease.
        let slept = Instant::now();
        one.signal("STOP");
        wait_until("the end of the nap", || slept.elapsed() > Duration::from_millis(2_800));
        one.signal("CONT");
    }
    finished(&one, &ids).await;
    assert!(!one.log().contains("taken for gone:"), "{}", one.log());
    assert_eq!(agents.memory().overlaps, Vec::<String>::new());
    stop_all(one, vec![engine]);
    assert_ended(&site.judge(), ids.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_cut_off_lets_go_of_its_agents_before_another_asks_them() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let proxy = Proxy::before(site.servers.nodes[0].address());
    let [engine, two] = site.serve_all([("e1", "engine"), ("g2", "gateway")]);
    let one = Served::with(site.options("g1", "gateway", &proxy.url()));
    // Some answer while it is cut off; the others think longer than it takes until another asks.
    let agents = Agents::start([Duration::from_secs(2), Duration::from_millis(7_500)]).await;
    let registered = register(&agents, [&one, &two], 32).await;
    let ids = open(&registered, [&one, &two], 32, 20_000).await;
    agents.until_asked(32).await;
    proxy.cut(true);
    let again = || agents.memory().asked.values().filter(|asked| asked.len() > 1).count();
    wait_until("the other's requests", || again() > 1);
    proxy.open();
    wait_until("its new number", || one.log().contains("taken for gone:"));
    println!("{} of {} turns asked again", again(), agents.memory().asked.len());
    {
        let memory = agents.memory();
        assert_eq!(memory.overlaps, Vec::<String>::new(), "an agent has one request open");
        assert_eq!((memory.strikes, ids.len()), (0, 32));
    }
    // What came of its turns while it was cut off is taken down, and refused.
    one.stop();
    stop_all(two, vec![engine]);
    let records = site.judge();
    assert_nobody_paid(&records);
    let late = late_facts(&records);
    println!("{late} facts came late and were refused");
    assert!(late > 0, "nobody answered while it was cut off: too little to prove anything");
}
