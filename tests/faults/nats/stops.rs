//! Everything stops at once, or a gateway while nobody leads: in seconds, and nobody waits without end.

use super::{Site, assert_registered_once, client, leader::stop_all, register, wait_until};
use arena_tests::{Agent, Reply, Served, nats::left_out, served::poll_async};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// What all of them take, where agents still think: their grace of 2 s, and the rest for a busy machine.
const STOPS_MAX: Duration = Duration::from_secs(6);
/// How long a caller waits for its outcome is 15 s; the rest is for a busy machine.
const OUTCOME_MAX: Duration = Duration::from_secs(25);

/// Sends each of them away at once; how long it took until all had ended.
async fn stop_together(processes: Vec<Served>) -> Duration {
    let begun = Instant::now();
    for process in &processes {
        process.signal("TERM");
    }
    let mut ending = JoinSet::new();
    for mut process in processes {
        ending.spawn_blocking(move || {
            let status = process.wait();
            assert!(status.success(), "{status}: {}", process.log());
        });
    }
    ending.join_all().await;
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_processes_stop_at_once_in_seconds_and_every_command_that_was_taken_in_is_answered() {
    if left_out() {
        return;
    }
    for thinks in [false, true] {
        let site = Site::one();
        let [engine, one, two] = site.serve_all([("e1", "engine"), ("g1", "gateway"), ("g2", "gateway")]);
        let silent = Agent::start(|_, _| Reply::Silence).await;
        if thinks {
            let me = one.register("Silent-1", &silent.url).await;
            let further = json!({"first": me.slug, "rated": false, "deadline_ms": 60_000});
            one.challenge(&me, "pebble-1", further).await;
            wait_until("the turn", || !silent.seen().is_empty());
        }
        let answered = Arc::new(AtomicUsize::new(0));
        let mut clients = JoinSet::new();
        for at in 0..16 {
            let url = if at % 2 == 0 { one.url.clone() } else { two.url.clone() };
            let answered = Arc::clone(&answered);
            clients.spawn(async move {
                let http = client();
                let mut done = Vec::new();
                for n in 0.. {
                    let slug = format!("load-{at}-{n}");
                    match register(&http, &url, &slug).await {
                        Some((201, _)) => done.push(slug),
                        // The door is shut, before anything was done.
                        None => break,
                        Some((503, value)) if value["code"] == "busy" => break,
                        other => panic!("{slug}: {other:?}"),
                    }
                    answered.fetch_add(1, Ordering::SeqCst);
                }
                done
            });
        }
        while answered.load(Ordering::SeqCst) < 100 {
            poll_async().await;
        }
        let took = stop_together(vec![engine, one, two]).await;
        println!("all ended after {} ms, an agent thinking: {thinks}", took.as_millis());
        assert!(took < STOPS_MAX, "{took:?}");
        let acknowledged = clients.join_all().await.concat();
        let records = site.judge();
        assert_registered_once(&records, &acknowledged);
        let last = records.last().unwrap();
        assert_eq!(last.commands, 0, "the journal is closed in order");
        let of_load = |slug: &str| slug.starts_with("load-");
        let registered = records.iter().flat_map(|record| &record.events).filter(|event| {
            matches!(event, arena_schema::Event::AgentRegistered(event) if of_load(event.handle.as_str()))
        });
        assert_eq!(registered.count(), acknowledged.len(), "what was done was told");
    }
}

/// A registration whose head was read, so that its gateway has let it in, and whose body is still to come.
async fn past_the_door(gateway: &Served, key: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST /api/v1/agents HTTP/1.1\r\nhost: arena\r\ncontent-type: application/json\r\nidempotency-key: {key}\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut said = [0; 64];
    let count = stream.read(&mut said).await.unwrap();
    assert!(said[..count].starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&said[..count]));
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_let_in_when_the_last_leader_went_is_answered_unknown_in_time_and_is_done_once() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let body =
        json!({"name": "late-1", "protocol": "agentarena/1", "endpoint_url": "http://127.0.0.1:9/play"});
    let (body, key) = (body.to_string(), "the-key-of-the-late-one");
    let mut stream = past_the_door(&gateway, key, &body).await;
    engine.kill();
    let begun = Instant::now();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = tokio::time::timeout(OUTCOME_MAX, stream.read_to_string(&mut answer)).await;
    read.expect("it is answered").unwrap();
    println!("answered after {:?}", begun.elapsed());
    let (head, told) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 503") && head.to_ascii_lowercase().contains("retry-after: 5"),
        "{head}"
    );
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!(told["code"], "outcome_unknown", "{told}");

    let engine = site.serve("e1", "engine");
    let repeat = || async {
        let request = gateway.client().post(format!("{}/api/v1/agents", gateway.url)).body(body.clone());
        let request = request.header("content-type", "application/json").header("idempotency-key", key);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice::<Value>(&response.bytes().await.unwrap()).unwrap())
    };
    let begun = Instant::now();
    let first = loop {
        match repeat().await {
            (503, _) if begun.elapsed() < OUTCOME_MAX => poll_async().await,
            answer => break answer,
        }
    };
    assert_eq!((first.0, &first.1["slug"]), (201, &json!("late-1")), "{first:?}");
    assert_eq!(repeat().await, first);
    stop_all(gateway, vec![engine]);
    assert_registered_once(&site.judge(), &["late-1".to_owned()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_asked_to_stop_while_nobody_leads_does_so_in_seconds() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let body =
        json!({"name": "late-1", "protocol": "agentarena/1", "endpoint_url": "http://127.0.0.1:9/play"});
    let body = body.to_string();
    let mut stream = past_the_door(&gateway, "the-key-of-the-late-one", &body).await;
    engine.kill();
    stream.write_all(body.as_bytes()).await.unwrap();
    // It is under way when a figure says so.
    let begun = Instant::now();
    loop {
        let page = gateway.client().get(format!("{}/metrics", gateway.url)).send().await.unwrap();
        if page
            .text()
            .await
            .unwrap()
            .lines()
            .any(|line| line == "arena_unanswered_commands{partition=\"0\"} 1")
        {
            break;
        }
        assert!(begun.elapsed() < OUTCOME_MAX, "it is never submitted");
        poll_async().await;
    }
    let took = stop_together(vec![gateway]).await;
    println!("ended after {} ms", took.as_millis());
    assert!(took < STOPS_MAX, "{took:?}");
    site.judge();
}
