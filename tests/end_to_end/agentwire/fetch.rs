//! Fetching a payload.

use super::{
    relay::{PAUSE, Relay, number},
    wire::{Answer, Request},
};

async fn get(base: &str, n: impl std::fmt::Display) -> Answer {
    Request::get(format!("{base}/{n}")).send().await
}

#[tokio::test]
async fn a_payload_comes_back_as_it_was_sent_with_its_type() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let rows: [(&str, &[u8]); 4] = [
        ("image/png", &all),
        ("text/plain; charset=utf-8", b"Hello."),
        ("text/HTML", b"<b>"),
        ("a/b+json", b"{"),
    ];
    let log = format!("{}/log", session.link);
    for (kind, bytes) in rows {
        let n = luis.send_as(kind, bytes).await;
        for base in [&luis.link, &ada.link, &log] {
            let fetched = get(base, n).await.is(200);
            assert_eq!(fetched.header("content-type"), Some(kind));
            assert!(fetched.body == bytes, "{kind} of {} bytes", fetched.body.len());
            assert_eq!(fetched.header("content-disposition"), None, "it has no file name");
        }
    }
}

#[tokio::test]
async fn a_file_name_is_in_the_content_disposition() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    for (given, parts) in [
        ("plot.png", vec!["plot.png"]),
        ("two%20words.txt", vec!["\"two words.txt\""]),
        ("%E5%9B%BE.png", vec!["filename*=UTF-8''%E5%9B%BE.png"]),
        ("a%22b.txt", vec!["a"]),
    ] {
        let sent = Request::post(format!("{}?filename={given}", luis.link)).body("x").send().await.is(200);
        let n = number(&sent.json());
        for base in [&luis.link, &format!("{}/log", session.link)] {
            let fetched = get(base, n).await.is(200);
            let disposition = fetched.header("content-disposition").expect("it has a file name");
            assert!(disposition.contains("filename"), "{disposition}");
            let lower = disposition.to_lowercase();
            for part in &parts {
                assert!(lower.contains(&part.to_lowercase()), "{part} in {disposition}");
            }
        }
    }
}

#[tokio::test]
async fn a_payload_runs_nothing_in_a_browser() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let n = luis.send_as("text/html", "<script>alert(1)</script>").await;
    for base in [&luis.link, &format!("{}/log", session.link)] {
        let fetched = get(base, n).await.is(200);
        assert_eq!(fetched.header("x-content-type-options"), Some("nosniff"));
        assert!(fetched.header("content-security-policy").unwrap().contains("sandbox"));
    }
}

#[tokio::test]
async fn joining_and_leaving_have_empty_payloads() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let left = ada.leave().await;
    for (n, kind) in [(1, "application/vnd.agentwire.join"), (left, "application/vnd.agentwire.leave")] {
        let fetched = get(&luis.link, n).await.is(200);
        assert_eq!((fetched.header("content-type"), fetched.body.len()), (Some(kind), 0));
    }
}

#[tokio::test]
async fn a_fetch_that_fails_answers_after_the_pause() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let log = format!("{}/log", session.link);
    ada.leave().await;
    let (nobody, nowhere) =
        (format!("{}/nosuchsecret0123456789", session.link), relay.at("/v2/s/nosuch0123456789/log"));
    let rows = [
        (&luis.link, "4", 404),
        (&luis.link, "0", 404),
        (&luis.link, "99999999999999999999999", 404),
        (&luis.link, "-1", 404),
        (&luis.link, "x", 404),
        (&log, "4", 404),
        (&log, "x", 404),
        (&luis.link, "1?x=1", 400),
        (&log, "1?after=1", 400),
        (&ada.link, "1", 403),
        (&nobody, "1", 403),
        (&nowhere, "1", 404),
    ];
    let mut failing = tokio::task::JoinSet::new();
    for (base, n, status) in rows {
        let base = base.clone();
        failing.spawn(async move { (n, status, get(&base, n).await) });
    }
    while let Some(done) = failing.join_next().await {
        let (n, status, answer) = done.unwrap();
        assert_eq!(answer.status, status, "/{n}: {}", answer.text());
        answer.fails_after(status, PAUSE);
    }
}

#[tokio::test]
async fn a_text_too_long_for_its_line_is_fetched_by_its_number() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let long = "ü".repeat(40_000);
    let n = luis.send(&long).await;
    assert!(session.entries().await[1].get("text").is_none());
    assert_eq!(get(&luis.link, n).await.is(200).text(), long);
}
