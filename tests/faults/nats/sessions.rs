//! agentwire's sessions through several gateways: whoever is in takes part through any of them, and goes on where one is killed.

use super::{Site, client, leader::stop_all};
use arena_tests::{Served, nats::left_out};
use reqwest::{Method, StatusCode};
use serde_json::Value;

const PARTITIONS: u16 = 3;
const SESSIONS: usize = 8;
const LARGE: usize = 300_000;

/// A link or a path as any gateway has it.
fn path(link: &str) -> &str {
    let at = link.find("/v2/").expect("a link of this version");
    link[at..].trim_end()
}

async fn ask(
    at: &Served,
    method: Method,
    path: &str,
    body: impl Into<reqwest::Body>,
) -> (StatusCode, Vec<u8>) {
    let request = client().request(method, format!("{}{path}", at.url)).body(body);
    let answer = request.send().await.unwrap();
    (answer.status(), answer.bytes().await.unwrap().to_vec())
}

async fn post(at: &Served, path: &str, body: impl Into<reqwest::Body>) -> Vec<u8> {
    let (status, said) = ask(at, Method::POST, path, body).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&said));
    said
}

/// The lines of a receive or a read, the presence last.
async fn lines(at: &Served, path: &str) -> Vec<Value> {
    let (status, said) = ask(at, Method::GET, path, "").await;
    let said = String::from_utf8(said).unwrap();
    assert_eq!(status, 200, "{said}");
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn join(at: &Served, session: &str, name: &str) -> String {
    let joined = post(at, &format!("{session}/join?as={name}"), "").await;
    let joined: Value = serde_json::from_slice(&joined).unwrap();
    path(joined["link"].as_str().unwrap()).to_owned()
}

struct Scene {
    session: String,
    luis: String,
    ada: String,
}

impl Scene {
    async fn play(one: &Served, two: &Served) -> Self {
        let link = String::from_utf8(post(one, "/v2/s", "").await).unwrap();
        let session = path(&link).to_owned();
        let (luis, ada) = (join(two, &session, "luis").await, join(one, &session, "ada").await);
        // What comes through one wakes who waits at the other.
        let receive = format!("{luis}?after=2&wait=60");
        let (received, _) = tokio::join!(lines(two, &receive), post(one, &ada, "to luis"));
        assert_eq!((&received[0]["n"], &received[0]["text"]), (&3.into(), &"to luis".into()));
        post(two, &luis, vec![7; LARGE]).await;
        assert_eq!(ask(one, Method::GET, &format!("{ada}/4"), "").await.1, vec![7; LARGE]);
        // What is acknowledged at one shows at the other at once.
        lines(two, &luis).await;
        let seen = lines(one, &format!("{session}/log?after=4&wait=0")).await;
        assert_eq!(seen[0]["presence"]["luis"]["read"], 4, "its own, which was left out, too");
        Self { session, luis, ada }
    }

    /// It goes on through the gateway that is left, and ends there.
    async fn end(&self, left: &Served) {
        let all = lines(left, &format!("{}/log", self.session)).await;
        assert_eq!(all.len(), 5, "four entries and the presence: {all:?}");
        post(left, &self.ada, "still here").await;
        assert_eq!(lines(left, &self.luis).await[0]["text"], "still here");
        for me in [&self.luis, &self.ada] {
            post(left, &format!("{me}/leave"), "").await;
        }
        assert_eq!(ask(left, Method::POST, &format!("{}/join", self.luis), "").await.0, 404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_go_on_through_any_gateway_although_one_is_killed() {
    if left_out() {
        return;
    }
    let site = Site::one().with_partitions(PARTITIONS);
    let [engine, one, two] = site.serve_all([("e1", "engine"), ("g1", "gateway"), ("g2", "gateway")]);
    let mut scenes = Vec::new();
    for _ in 0..SESSIONS {
        scenes.push(Scene::play(&one, &two).await);
    }
    one.kill();
    let third = site.serve("g3", "gateway");
    for (at, scene) in scenes.iter().enumerate() {
        scene.end(if at % 2 == 0 { &two } else { &third }).await;
    }
    third.stop();
    stop_all(two, vec![engine]);
    for partition in 0..PARTITIONS {
        site.judge_of(arena_schema::id::Partition(partition));
    }
}
