//! Failures: their statuses, their line, their pause, and which one comes first.

use super::{
    relay::{PAUSE, Relay},
    wire::Request,
};
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn by_default_a_failed_receive_read_or_fetch_answers_after_ten_seconds_and_nothing_else_does() {
    let relay = Relay::with(&[("FAILED_RECEIVE_PAUSE_S", "10")], &[]);
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let nowhere = relay.at("/v2/s/nosuchsession0123456789");
    let get = |url: String| Request::get(url);
    let post = |url: String| Request::post(url).body("x");
    let slow = [
        (get(format!("{}?after=x", luis.link)), 400),
        (get(format!("{}/log?after=x", session.link)), 400),
        (get(format!("{}/nosuchsecret0123456789", session.link)), 403),
        (get(format!("{}/7", luis.link)), 404),
        (get(format!("{}/log/7", session.link)), 404),
        (get(format!("{nowhere}/log")), 404),
        (get(format!("{nowhere}/secret0123456789")), 404),
        (get(relay.at("/v1/s/x/y")), 410),
    ];
    let quick = [
        (post(format!("{}/join?as=*", session.link)), 400),
        (post(format!("{}/join?as=luis", session.link)), 409),
        (post(format!("{}?filename=", luis.link)), 400),
        (post(format!("{}/leave?x=1", luis.link)), 400),
        (post(format!("{}/nosuchsecret0123456789", session.link)), 403),
        (post(format!("{nowhere}/join?as=a")), 404),
    ];
    for (request, status) in quick {
        let answer = request.send().await.fails(status);
        assert!(answer.took < Duration::from_secs(10), "{:?}: {}", answer.took, answer.text());
    }
    let older = luis.waiting(&session, "?after=1").await;
    let replacing = tokio::time::Instant::now();
    let newer = luis.begins("?after=1");
    let mut failing = JoinSet::new();
    for (request, status) in slow {
        failing.spawn(async move { (status, request.send().await) });
    }
    while let Some(done) = failing.join_next().await {
        let (status, answer) = done.unwrap();
        let answer = answer.fails_after(status, Duration::from_secs(10));
        assert!(answer.took < Duration::from_secs(20), "{:?}: {}", answer.took, answer.text());
    }
    older.answer().await.fails(409);
    assert!(replacing.elapsed() >= Duration::from_secs(10));
    assert!(!newer.is_over(), "a receive that waits is not failed by a pause");
}

#[tokio::test]
async fn the_pause_is_ten_seconds_where_no_setting_says_otherwise() {
    let served = arena_tests::Served::start();
    let answer = Request::get(format!("{}/v2/s/nosuchsession0123456789/log", served.url)).send().await;
    answer.fails_after(404, Duration::from_secs(10));
}

#[tokio::test]
async fn no_such_operation_is_404() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let (link, me) = (&session.link, &luis.link);
    let rows = [
        ("GET", relay.at("/v2/s")),
        ("GET", relay.at("/v2")),
        ("POST", relay.at("/v2/t")),
        ("GET", link.clone()),
        ("POST", link.clone()),
        ("GET", format!("{link}/join?as=a")),
        ("PUT", format!("{link}/join?as=a")),
        ("POST", format!("{link}/log")),
        ("GET", format!("{me}/join")),
        ("GET", format!("{me}/leave")),
        ("POST", format!("{me}/1")),
        ("POST", format!("{me}/nothing")),
        ("PUT", me.clone()),
        ("DELETE", me.clone()),
        ("GET", format!("{me}/1/2")),
        ("POST", format!("{link}/log/1")),
    ];
    let mut failing = JoinSet::new();
    for (method, url) in rows {
        failing.spawn(async move { (method, url.clone(), Request::new(method, url).send().await) });
    }
    while let Some(done) = failing.join_next().await {
        let (method, url, answer) = done.unwrap();
        assert_eq!(answer.status, 404, "{method} {url}: {}", answer.text());
        answer.fails(404);
    }
    assert_eq!(session.entries().await.len(), 1, "none of them did anything");
}

#[tokio::test]
async fn the_version_comes_first_then_the_session_then_the_link_then_the_parameters() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let nobody = format!("{}/nosuchsecret0123456789", session.link);
    Request::post(relay.at("/v1/s/nosuch/join?x=1")).send().await.fails(410);
    Request::post(relay.at("/v2/s/nosuch0123456789/join?x=1")).send().await.fails(404);
    Request::get(relay.at("/v2/s/nosuch0123456789/nosuch0123456789?x=1"))
        .send()
        .await
        .fails_after(404, PAUSE);
    Request::get(format!("{nobody}?x=1")).send().await.fails_after(403, PAUSE);
    Request::post(format!("{nobody}/join?x=1")).send().await.fails(403);
    Request::post(format!("{}/join?x=1", luis.link)).send().await.fails(400);
}

#[tokio::test]
async fn a_session_that_is_over_its_limits_is_503_with_retry_after() {
    let relay = Relay::with(&[("SESSIONS_PER_CLIENT_MAX", "2")], &[]);
    let (first, _second) = (relay.create().await, relay.create().await);
    let refused = Request::post(relay.at("/v2/s")).send().await.fails(503);
    let seconds = refused.header("retry-after").expect("a time to come back");
    assert!(seconds.parse::<u64>().is_ok_and(|seconds| seconds > 0), "{seconds:?}");
    first.join("luis").await.send("what is there goes on").await;
}
