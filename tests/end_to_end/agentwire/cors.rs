//! Pages of any origin may take part.

use super::{
    relay::Relay,
    wire::{Answer, Request},
};

#[track_caller]
fn open_to_all(answer: &Answer) {
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "on {}", answer.status);
    assert_eq!(answer.header("cache-control"), Some("no-store"), "on {}", answer.status);
    let exposed = answer.header("access-control-expose-headers").unwrap_or_default().to_lowercase();
    for name in ["content-disposition", "retry-after"] {
        assert!(exposed.contains(name), "{name} is exposed: {exposed:?} on {}", answer.status);
    }
}

#[tokio::test]
async fn every_answer_is_for_any_origin() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let from = |request: Request| request.header("Origin", "https://example.org").send();
    let (link, me) = (&session.link, &luis.link);
    let rows = [
        (Request::post(relay.at("/v2/s")), 200),
        (Request::post(format!("{link}/join?as=ada")), 200),
        (Request::post(format!("{me}/join")), 200),
        (Request::post(me).body("x"), 200),
        (Request::get(format!("{me}?wait=0")), 200),
        (Request::get(format!("{link}/log?wait=0")), 200),
        (Request::get(format!("{me}/1")), 200),
        (Request::get(format!("{link}/log/1")), 200),
        (Request::get(format!("{me}?x=1")), 400),
        (Request::post(format!("{link}/nobody0123456789")), 403),
        (Request::get(format!("{me}/nothing")), 404),
        (Request::post(relay.at("/v2/nothing")), 404),
        (Request::post(format!("{link}/join?as=luis")), 409),
        (Request::post(relay.at("/v1/s")), 410),
        (Request::post(me).body(vec![0; 10_000_001]), 413),
        (Request::post(format!("{me}/leave")), 200),
    ];
    for (request, status) in rows {
        open_to_all(&from(request).await.is(status));
    }
}

#[tokio::test]
async fn a_browser_that_asks_first_is_let_through() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let urls = [
        relay.at("/v2/s"),
        format!("{}/join?as=ada", session.link),
        luis.link.clone(),
        format!("{}?wait=0", luis.link),
        format!("{}/leave", luis.link),
        format!("{}/1", luis.link),
        format!("{}/log", session.link),
        format!("{}/log/1", session.link),
        relay.at("/v1/s"),
    ];
    for url in urls {
        let answer = Request::new("OPTIONS", &url)
            .header("Origin", "https://example.org")
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "authorization,content-type")
            .send()
            .await
            .is(204);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{url}");
        let allowed = answer.header("access-control-allow-headers").unwrap_or_default().to_lowercase();
        assert!(allowed.contains("authorization") && allowed.contains("content-type"), "{url}: {allowed:?}");
        let methods = answer.header("access-control-allow-methods").unwrap_or_default();
        assert!(methods.contains("POST") && methods.contains("GET"), "{url}: {methods:?}");
    }
    assert_eq!(session.entries().await.len(), 1, "asking does nothing");
}
