//! Https endpoints: a certificate that nobody vouches for is a strike, one under a root that we were told of plays.

use super::rows::{Row, strike};
use crate::{
    look::clean,
    tls::{Door, certificate},
};
use arena_tests::{Agent, ServeOptions, Served};
use std::fs;
use tempfile::TempDir;

/// An arena that trusts this certificate, given in the settings' file or as a variable.
fn trusting(pem: &str, in_file: bool) -> (Served, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.pem");
    fs::write(&root, pem).unwrap();
    let mut options = ServeOptions::default();
    if in_file {
        let file = folder.path().join("arena.toml");
        fs::write(&file, format!("[egress]\nextra_roots = ['{}']\n", root.display())).unwrap();
        options.flags = vec!["--config".to_owned(), file.display().to_string()];
    } else {
        let value = root.display().to_string();
        options.variables = vec![("ARENA_EGRESS__EXTRA_ROOTS".to_owned(), value)];
    }
    (Served::with(options), folder)
}

#[tokio::test]
async fn tls_that_does_not_hold_is_a_strike_and_the_agent_hears_nothing() {
    let agent = Agent::good().await;
    let trusted = certificate("localhost");
    let (arena, _folder) = trusting(&trusted.cert.pem(), false);
    let self_signed = Door::tls(&certificate("127.0.0.1"), &agent).await;
    let other_host = Door::tls(&trusted, &agent).await;
    let plain = Door::saying(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let garbage = Door::saying(b"\x00\x01\x02\x03\x04\x05\x06\x07\x08").await;
    let tls = ("tls", None);
    let rows = vec![
        Row::at("self-signed", tls, self_signed.url("127.0.0.1")),
        Row::at("a trusted certificate of another host", tls, other_host.url("127.0.0.1")),
        Row::at("plain text at an https URL", tls, plain.url("127.0.0.1")),
        Row::at("garbage at an https URL", tls, garbage.url("127.0.0.1")),
    ];
    strike(&arena, rows).await;
    for door in [self_signed, other_host, plain, garbage] {
        assert_eq!(door.connections(), 3, "one for each strike");
    }
    assert!(agent.seen().is_empty());
}

#[tokio::test]
async fn an_https_agent_under_an_extra_root_plays_a_match() {
    for in_file in [false, true] {
        let agent = Agent::good().await;
        let key = certificate("localhost");
        let door = Door::tls(&key, &agent).await;
        let (arena, _folder) = trusting(&key.cert.pem(), in_file);
        let me = arena.register("Secure-1", &door.url("localhost")).await;
        let id = arena.practice(&me, "copper-4").await;
        clean(&arena.finished(&id).await);
        let head = &agent.seen()[0].head;
        assert!(head.contains(&format!("host: localhost:{}", door.port)), "{head}");
    }
}
