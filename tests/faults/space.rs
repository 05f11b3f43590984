//! Little space on the volume of an embedded journal: what is open is played to its end, and nothing new begins.

use arena_tests::{Agent, Reply, ServeOptions, Served, program::arena, served::poll_async};
use serde_json::{Value, json};
use std::{path::Path, time::Instant};

/// More than any volume has free, so that this one is short of space as soon as it is looked at.
const MORE_THAN_THERE_IS: &str = "9007199254740992";

fn short(data: &Path) -> ServeOptions {
    let variables = vec![("ARENA_FREE_BYTES_MIN".to_owned(), MORE_THAN_THERE_IS.to_owned())];
    ServeOptions { data: Some(data.to_owned()), variables, ..ServeOptions::default() }
}

async fn metrics(arena: &Served) -> String {
    let response = arena.client().get(format!("{}/metrics", arena.url)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    response.text().await.unwrap()
}

/// A figure of `/metrics`.
#[track_caller]
fn figure(page: &str, name: &str) -> u64 {
    let line = page.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        rest.strip_prefix("{partition=\"0\"}").unwrap_or(rest).strip_prefix(' ')
    });
    line.unwrap_or_else(|| panic!("no {name}:\n{page}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_too_few_free_bytes_open_matches_end_and_none_begins_until_there_are_enough() {
    let served = Served::start();
    let agent = Agent::start(|n, request| if n == 0 { Reply::Silence } else { Reply::middle(request) }).await;
    let me = served.register("Left-1", &agent.url).await;
    let further = json!({"first": me.slug, "rated": false, "deadline_ms": 60_000});
    let id = served.challenge(&me, "pebble-1", further).await;
    let begun = Instant::now();
    while agent.seen().is_empty() {
        assert!(begun.elapsed() < arena_tests::served::PATIENCE, "it is never asked");
        poll_async().await;
    }
    let page = metrics(&served).await;
    let figures = ["arena_short_of_space", "arena_leads", "arena_open_matches", "arena_live_gateways"];
    assert_eq!(figures.map(|name| figure(&page, name)), [0, 1, 1, 1], "{page}");
    assert!(figure(&page, "arena_free_bytes") >= figure(&page, "arena_free_bytes_min"), "{page}");
    assert!(figure(&page, "process_resident_memory_bytes") > 1_000_000 && figure(&page, "arena_agents") == 5);
    let record = figure(&page, "arena_record");
    let stopped = served.stop();

    let served = Served::with(short(&stopped.data));
    let refused = |path: &'static str, key: Option<String>, body: Value| {
        let mut request = served.client().post(format!("{}{path}", served.url)).body(body.to_string());
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        async move {
            let response = request.header("content-type", "application/json").send().await.unwrap();
            assert_eq!(
                (response.status().as_u16(), &response.headers()["retry-after"]),
                (503, &"30".parse().unwrap())
            );
            let value: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
            assert_eq!(value["code"], "short_of_space", "{value}");
        }
    };
    let other = json!({"name": "Right-1", "protocol": "agentarena/1", "endpoint_url": agent.url});
    refused("/api/v1/agents", None, other.clone()).await;
    refused("/practice", Some(me.api_key.clone()), json!({})).await;
    let challenge = json!({"game": "connect4", "opponent": "pebble-1"});
    refused("/api/v1/matches", Some(me.api_key.clone()), challenge).await;
    let endpoint = "/api/v1/agents/left-1/endpoint";
    refused(endpoint, Some(me.api_key.clone()), json!({"endpoint_url": "http://127.0.0.1:9/play"})).await;
    // Its door shuts, and its secret ends.
    let (status, value) = served.post(endpoint, Some(&me.api_key), &json!({"challenges": "none"})).await;
    assert_eq!((status, &value["challenges"]), (200, &json!("none")), "{value}");
    let (status, value) = served.post(endpoint, Some(&me.api_key), &json!({})).await;
    assert_eq!(status, 200, "{value}");
    let api_key = value["api_key"].as_str().unwrap().to_owned();

    let (status, ready) = served.get("/readyz", None).await;
    assert_eq!((status, &ready["status"]), (200, &json!("ready")));
    let words = ready["short_of_space"].as_str().unwrap();
    assert!(words.contains("the volume of") && words.contains(MORE_THAN_THERE_IS), "{words}");
    assert_eq!(figure(&metrics(&served).await, "arena_short_of_space"), 1);
    let replay = served.finished(&id).await;
    assert_eq!(replay["status"], "finished", "{replay}");
    assert!(replay["result"]["reason"] != "void", "{replay}");
    assert!(figure(&metrics(&served).await, "arena_record") > record);
    let stopped = served.stop();

    let file = stopped.data.join("short.toml");
    std::fs::write(&file, format!("free_bytes_min = {MORE_THAN_THERE_IS}\n")).unwrap();
    let data = stopped.data.to_str().unwrap().to_owned();
    let arguments =
        ["doctor", "--json", "--data", &data, "--config", file.to_str().unwrap()].map(str::to_owned);
    let printed = tokio::task::spawn_blocking(move || arena(arguments)).await.unwrap();
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    let disk = checks.find(|check| check["what"] == "disk space").unwrap();
    assert!(disk["verdict"] == "note" && disk["next"].as_str().unwrap().contains("free_bytes_min"), "{disk}");

    let served = stopped.start();
    let (status, value) = served.post("/api/v1/agents", None, &other).await;
    assert_eq!(status, 201, "{value}");
    let again = arena_tests::Registered { api_key, ..me };
    let id = served.practice(&again, "pebble-1").await;
    served.finished(&id).await;
    assert_eq!(served.stop().audit()["holds"], true);
}
