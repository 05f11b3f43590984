//! Which URLs are taken at registration, without `--dev`.

use crate::refusal::refused;
use arena_tests::{ServeOptions, Served};
use reqwest::RequestBuilder;
use serde_json::json;
use std::{io::ErrorKind, net::TcpListener};

fn strict() -> Served {
    Served::with(ServeOptions { no_dev: true, ..ServeOptions::default() })
}

fn registering(arena: &Served, name: &str, url: &str) -> RequestBuilder {
    let body = json!({
        "name": name, "connection_method": "remote_endpoint", "protocol": "agentarena/1", "endpoint_url": url,
    });
    arena.client().post(format!("{}/api/v1/agents", arena.url)).body(body.to_string())
}

/// Whether anyone has knocked so far.
fn nobody_came(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    matches!(listener.accept(), Err(none) if none.kind() == ErrorKind::WouldBlock)
}

#[tokio::test]
async fn urls_that_are_not_https_to_a_public_host_are_refused_and_nobody_is_contacted() {
    let arena = strict();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let urls = [
        // Another scheme, or none.
        "http://agent.example.com/play",
        "http://127.0.0.1:PORT/play",
        "ftp://agent.example.com/play",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "agent.example.com/play",
        "//agent.example.com/play",
        "https:/agent.example.com/play",
        "https:agent.example.com",
        "https://",
        "https:///play",
        "https://:443/play",
        "",
        // Loopback and unspecified, however it is written.
        "https://127.0.0.1:PORT/play",
        "https://127.0.0.2:PORT/play",
        "https://127.1:PORT/play",
        "https://127.0.1:PORT/play",
        "https://2130706433:PORT/play",
        "https://0x7f000001:PORT/play",
        "https://0x7f.0.0.1:PORT/play",
        "https://0177.0.0.1:PORT/play",
        "https://017700000001:PORT/play",
        "https://127.0.0.1.:PORT/play",
        "https://１２７.0.0.1:PORT/play",
        "https://127。0。0。1:PORT/play",
        "https://%31%32%37.0.0.1:PORT/play",
        "https://0.0.0.0:PORT/play",
        "https://0:PORT/play",
        "https://0.1.2.3/play",
        "https://[::1]:PORT/play",
        "https://[::]:PORT/play",
        "https://[0:0:0:0:0:0:0:1]:PORT/play",
        "https://[::ffff:127.0.0.1]:PORT/play",
        "https://[::ffff:7f00:1]:PORT/play",
        "https://[::127.0.0.1]:PORT/play",
        "https://[64:ff9b::127.0.0.1]:PORT/play",
        "https://[2002:7f00:1::]:PORT/play",
        "https://localhost:PORT/play",
        "https://LOCALHOST:PORT/play",
        "https://localhost.:PORT/play",
        "https://agent.localhost:PORT/play",
        "https://localhost.localdomain:PORT/play",
        // Private, shared, link-local, unique-local.
        "https://10.0.0.1/play",
        "https://10.255.255.255/play",
        "https://172.16.0.1/play",
        "https://172.31.255.255/play",
        "https://192.168.1.1/play",
        "https://100.64.0.1/play",
        "https://169.254.1.1/play",
        "https://[fe80::1]/play",
        "https://[fc00::1]/play",
        "https://[fd12:3456:789a::1]/play",
        "https://[fec0::1]/play",
        "https://[::ffff:10.0.0.1]/play",
        "https://[64:ff9b::a00:1]/play",
        "https://[2002:c0a8:101::]/play",
        // Metadata services.
        "https://169.254.169.254/latest/meta-data/",
        "https://[::ffff:169.254.169.254]/",
        "https://[fd00:ec2::254]/latest/",
        "https://100.100.100.200/",
        "https://metadata/computeMetadata/v1/",
        "https://metadata.google.internal/computeMetadata/v1/",
        "https://metadata.goog/",
        "https://instance-data.ec2.internal/",
        // Nobody's.
        "https://192.0.2.1/play",
        "https://198.51.100.1/play",
        "https://203.0.113.1/play",
        "https://198.18.0.1/play",
        "https://192.0.0.1/play",
        "https://224.0.0.1/play",
        "https://240.0.0.1/play",
        "https://255.255.255.255/play",
        "https://[ff02::1]/play",
        "https://[2001:db8::1]/play",
        // Names that lead nowhere from outside.
        "https://agent/play",
        "https://agent.internal/play",
        "https://agent.local/play",
        "https://agent.lan/play",
        "https://agent.home.arpa/play",
        "https://agent..example.com/play",
        // Credentials, fragments, odd characters.
        "https://me:secret@1.1.1.1/play",
        "https://me@1.1.1.1/play",
        "https://@1.1.1.1/play",
        "https://1.1.1.1@127.0.0.1:PORT/play",
        "https://1.1.1.1/play#top",
        "https://1.1.1.1/play#",
        "https://1.1.1.1\\@127.0.0.1:PORT/play",
        "https:\\\\1.1.1.1/play",
        "https://1.1.1.1/a b",
        " https://1.1.1.1/play",
        "https://1.1.1.1/play\n",
        "https://1.1.1.1/\tplay",
        "https://1.1.1.1:0x50/play",
        "https://1.1.1.1:99999/play",
    ];
    for url in urls {
        let url = url.replace("PORT", &port.to_string());
        let problem = refused(&url, registering(&arena, "Left-1", &url), 422, "endpoint_refused").await;
        assert_eq!(problem["field"], "endpoint_url", "{url}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(!detail.contains("secret"), "{detail}");
    }
    let long = format!("https://1.1.1.1/{}", "x".repeat(2_048));
    refused("a long URL", registering(&arena, "Left-1", &long), 422, "endpoint_refused").await;
    assert!(nobody_came(&listener), "no connection is made");
    // Nothing of all that took the name.
    let taken = registering(&arena, "Left-1", "https://1.1.1.1:8443/play?x=1").send().await.unwrap();
    assert_eq!(taken.status(), 201);
}

#[tokio::test]
async fn dev_takes_loopback_and_http_and_no_other_address() {
    let arena = Served::start();
    for (n, url) in
        ["http://127.0.0.1:9/play", "http://localhost:9/play", "https://[::1]:9/play"].iter().enumerate()
    {
        arena.register(&format!("dev-{n}"), url).await;
    }
    for url in [
        "http://10.0.0.1/play",
        "http://169.254.169.254/latest/",
        "http://[::ffff:127.0.0.1]:9/play",
        "http://0.0.0.0:9/play",
        "http://2130706433:9/play",
        "http://metadata.google.internal/",
        "ftp://127.0.0.1/",
    ] {
        refused(url, registering(&arena, "Left-1", url), 422, "endpoint_refused").await;
    }
}

#[tokio::test]
async fn an_agent_that_was_registered_in_dev_is_not_called_without_it() {
    let arena = Served::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/play", listener.local_addr().unwrap());
    let me = arena.register("Left-1", &url).await;
    let stopped = arena.stop();
    let options = ServeOptions { data: Some(stopped.data.clone()), no_dev: true, ..ServeOptions::default() };
    let arena = Served::with(options);
    let id = arena.challenge(&me, "pebble-1", json!({"first": "left-1"})).await;
    let replay = arena.finished(&id).await;
    let causes: Vec<_> =
        crate::look::events(&replay, "strike").iter().map(|strike| strike["cause"].clone()).collect();
    assert_eq!(causes, ["transport"; 3], "{replay}");
    assert!(nobody_came(&listener));
}

#[test]
fn without_dev_the_routes_for_development_are_not_there_and_extra_roots_are_refused() {
    let variables = vec![("ARENA_EGRESS__EXTRA_ROOTS".to_owned(), "/nowhere.pem".to_owned())];
    let options = ServeOptions { no_dev: true, variables, ..ServeOptions::default() };
    let Err(log) = Served::try_with(options) else { panic!("it started") };
    assert!(log.contains("extra_roots") && log.contains("--dev"), "{log}");
}
