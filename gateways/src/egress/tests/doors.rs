//! What holds for both doors: the environment does not steer them, and they are handed about freely.

use std::net::TcpListener;
use std::process::Command;

use super::{CAP, LONG, Server, answer, dev, post, reply};
use crate::egress::{Egress, OperatorUrl};

/// Set for the run of the test below that stands in an environment with proxies.
const BEHIND_PROXY: &str = "ARENA_TEST_BEHIND_PROXY";

#[tokio::test]
async fn proxies_in_the_environment_are_ignored() {
    if std::env::var_os(BEHIND_PROXY).is_some() {
        let server = Server::answering(answer("200 OK", "", b"direct")).await;
        let egress = dev();
        assert_eq!(reply(post(&egress, &server.url()).await), (200, b"direct".to_vec(), false));
        let url = OperatorUrl::for_test(&server.url());
        let exchange = egress.operator().get(&url, &[], LONG, CAP).await;
        assert_eq!(reply(exchange), (200, b"direct".to_vec(), false));
        return;
    }
    // The environment can't be changed within a process without danger to its other threads.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let name = concat!(module_path!(), "::proxies_in_the_environment_are_ignored");
    let (_crate, name) = name.split_once("::").unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args([name, "--exact", "--nocapture"])
        .env(BEHIND_PROXY, "1")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        again.env(variable, &address);
    }
    let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(proxy.accept().is_err(), "the proxy was contacted");
}

#[tokio::test]
async fn exchanges_run_on_any_task() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress: Egress = dev();
    let calls = (0..8).map(|_| {
        let (egress, text) = (egress.clone(), server.url());
        tokio::spawn(async move { post(&egress, &text).await })
    });
    for exchange in futures::future::join_all(calls.collect::<Vec<_>>()).await {
        assert_eq!(reply(exchange.unwrap()).0, 200);
    }
}
