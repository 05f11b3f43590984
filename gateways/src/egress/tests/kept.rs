//! Kept connections that end under a request: it goes out once more, and nothing else ever does.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::tls::{acceptor, certificate};
use super::{
    CAP, LONG, Scripted, Seen, Server, answer, dev, dev_resolving, fault, post, post_within, reply, url,
};
use crate::egress::{Egress, EgressOptions, Fault, OperatorUrl, Outcome, Resolve};

/// What follows what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Keep,
    Close,
    Reset,
}

/// What a server says to a request, given the connection's number and the request's on it, from 1.
type Act = fn(usize, usize) -> (Vec<u8>, Then);

const NOTHING: Vec<u8> = Vec::new();

fn good() -> Vec<u8> {
    answer("200 OK", "", b"{}")
}

async fn acts(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    seen: &Seen,
    number: usize,
    act: Act,
) -> Then {
    let mut request = 0;
    while seen.request(stream).await.is_some() {
        request += 1;
        let (said, then) = act(number, request);
        if stream.write_all(&said).await.is_err() || stream.flush().await.is_err() {
            return Then::Close;
        }
        if then != Then::Keep {
            return then;
        }
    }
    Then::Close
}

async fn acting(tls: Option<TlsAcceptor>, act: Act) -> Server {
    Server::talking(move |mut stream, seen| {
        let (tls, number) = (tls.clone(), seen.connections.load(Ordering::SeqCst));
        async move {
            match tls {
                None => {
                    if acts(&mut stream, &seen, number, act).await == Then::Reset {
                        stream.set_zero_linger().unwrap();
                    }
                }
                Some(tls) => {
                    let Ok(mut stream) = tls.accept(stream).await else { return };
                    if acts(&mut stream, &seen, number, act).await == Then::Reset {
                        stream.get_ref().0.set_zero_linger().unwrap();
                    }
                }
            }
        }
    })
    .await
}

/// Answers once on the first connection, ends it upon the second request, and answers on all others.
fn closes_once(connection: usize, request: usize) -> (Vec<u8>, Then) {
    if (connection, request) == (1, 2) { (NOTHING, Then::Close) } else { (good(), Then::Keep) }
}

fn resets_once(connection: usize, request: usize) -> (Vec<u8>, Then) {
    if (connection, request) == (1, 2) { (NOTHING, Then::Reset) } else { (good(), Then::Keep) }
}

fn body_of(request: &str) -> String {
    request.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn what_meets_the_end_of_a_kept_connection_is_sent_once_more_on_a_fresh_one() {
    for act in [closes_once as Act, resets_once] {
        for (scheme, host) in [
            ("http", "127.0.0.1"),
            ("http", "agent.example"),
            ("https", "127.0.0.1"),
            ("https", "agent.example"),
        ] {
            let context = format!("{scheme} {host} {:?}", act(1, 2));
            let key = certificate(host);
            let server = acting((scheme == "https").then(|| acceptor(&key)), act).await;
            let resolver = Scripted::new(&[&["127.0.0.1"]]);
            let egress = Egress::new(EgressOptions {
                dev: true,
                extra_roots: vec![key.cert.der().to_vec()],
                resolver: Some(Arc::clone(&resolver) as Arc<dyn Resolve>),
            })
            .unwrap();
            let url = url(&format!("{scheme}://{host}:{}/play", server.address.port()));
            let headers = [("content-type", "application/json".to_owned()), ("x-b", "1".to_owned())];
            for (body, requests, connections) in [("first", 1, 1), ("second", 3, 2), ("third", 4, 3)] {
                let exchange = egress.untrusted().post(&url, &headers, body, LONG, CAP).await;
                assert_eq!(reply(exchange), (200, b"{}".to_vec(), false), "{context} {body}");
                assert_eq!(
                    (server.requests().len(), server.connections()),
                    (requests, connections),
                    "{context} {body}"
                );
            }
            let requests = server.requests();
            assert_eq!(requests[1], requests[2], "{context}");
            assert_eq!(
                requests.iter().map(|r| body_of(r)).collect::<Vec<_>>(),
                ["first", "second", "second", "third"]
            );
            // The host is judged for each sending.
            assert_eq!(resolver.asked(), if host == "127.0.0.1" { 0 } else { 4 }, "{context}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_right_after_its_reply_is_no_fault_of_any_request() {
    let server = Server::closing(good()).await;
    let egress = dev();
    for _ in 0..200 {
        assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
    }
    assert_eq!(server.requests().len(), 200);
}

#[tokio::test]
async fn what_fails_on_a_connection_of_its_own_is_sent_once() {
    let acts: [Act; 2] = [|_, _| (NOTHING, Then::Close), |_, _| (NOTHING, Then::Reset)];
    for act in acts {
        let server = acting(None, act).await;
        let egress = dev();
        for round in 1..=3 {
            assert_eq!(fault(post(&egress, &server.url()).await), Fault::Transport);
            assert_eq!((server.requests().len(), server.connections()), (round, round));
        }
    }
}

#[tokio::test]
async fn nothing_is_sent_a_third_time() {
    let acts: [Act; 2] = [
        |connection, request| match (connection, request) {
            (1, 1) => (good(), Then::Keep),
            _ => (NOTHING, Then::Close),
        },
        |connection, request| match (connection, request) {
            (1, 1) => (good(), Then::Keep),
            _ => (NOTHING, Then::Reset),
        },
    ];
    for act in acts {
        let server = acting(None, act).await;
        let egress = dev();
        assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
        assert_eq!(fault(post(&egress, &server.url()).await), Fault::Transport);
        assert_eq!((server.requests().len(), server.connections()), (3, 2));
        assert_eq!(fault(post(&egress, &server.url()).await), Fault::Transport);
        assert_eq!((server.requests().len(), server.connections()), (4, 3));
    }
}

#[tokio::test]
async fn an_answer_that_had_come_in_part_is_not_asked_for_again() {
    let acts: [(Act, Option<u16>); 4] = [
        (
            |_, n| {
                if n == 1 {
                    (good(), Then::Keep)
                } else {
                    (answer("200 OK", "", b"{}")[..39].to_vec(), Then::Close)
                }
            },
            Some(200),
        ),
        (
            |_, n| {
                if n == 1 {
                    (good(), Then::Keep)
                } else {
                    (b"HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\n{".to_vec(), Then::Reset)
                }
            },
            Some(500),
        ),
        (|_, n| if n == 1 { (good(), Then::Keep) } else { (b"garbage\r\n\r\n".to_vec(), Then::Close) }, None),
        (
            |_, n| {
                if n == 1 {
                    (good(), Then::Keep)
                } else {
                    (b"HTTP/1.1 200 OK\r\nno colon\r\n".to_vec(), Then::Close)
                }
            },
            None,
        ),
    ];
    for (act, expected) in acts {
        let server = acting(None, act).await;
        let egress = dev();
        assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
        match post(&egress, &server.url()).await.outcome {
            Outcome::Fault { fault: Fault::Transport, status, .. } if status == expected => {}
            other => panic!("{other:?}"),
        }
        assert_eq!((server.requests().len(), server.connections()), (2, 1), "{:?}", act(1, 2));
    }
}

/// The client tells no difference between a head that never began and one that never ended. Should this
/// fail one day, it does: then nothing that had begun to come needs a second sending.
#[tokio::test]
async fn a_head_cut_short_counts_as_none() {
    let server = acting(None, |connection, request| match (connection, request) {
        (1, 1) => (good(), Then::Keep),
        _ => (b"HTTP/1.1 200 OK\r\ncontent-le".to_vec(), Then::Close),
    })
    .await;
    let egress = dev();
    assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
    assert_eq!(fault(post(&egress, &server.url()).await), Fault::Transport);
    assert_eq!((server.requests().len(), server.connections()), (3, 2));
}

#[tokio::test]
async fn silence_on_a_kept_connection_is_a_timeout_and_no_reason_to_send_again() {
    let server = acting(None, |_, request| (if request == 1 { good() } else { NOTHING }, Then::Keep)).await;
    let egress = dev();
    assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
    assert_eq!(fault(post_within(&egress, &server.url(), Duration::from_millis(500)).await), Fault::Timeout);
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

/// Answers at once on the first connection, ends it a pause after the second request, and does the rest
/// after another pause on the others.
async fn pausing(pause: Duration) -> Server {
    Server::talking(move |mut stream, seen| {
        let number = seen.connections.load(Ordering::SeqCst);
        async move {
            let mut request = 0;
            while seen.request(&mut stream).await.is_some() {
                request += 1;
                if (number, request) != (1, 1) {
                    tokio::time::sleep(pause).await;
                }
                if (number, request) == (1, 2) {
                    return;
                }
                if stream.write_all(&good()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn one_deadline_and_one_latency_cover_both_sendings() {
    let pause = Duration::from_millis(600);
    let server = pausing(pause).await;
    let egress = dev();
    assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
    let exchange = post(&egress, &server.url()).await;
    assert!(exchange.latency >= pause * 2, "{:?}", exchange.latency);
    assert_eq!(reply(exchange).0, 200);

    let server = pausing(pause).await;
    let egress = dev();
    assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
    let (began, deadline) = (Instant::now(), pause * 3 / 2);
    let exchange = post_within(&egress, &server.url(), deadline).await;
    assert!(began.elapsed() >= deadline && exchange.latency >= deadline, "{:?}", exchange.latency);
    assert_eq!(fault(exchange), Fault::Timeout);
    assert_eq!((server.requests().len(), server.connections()), (3, 2));
}

#[tokio::test]
async fn the_host_is_judged_again_before_the_second_sending() {
    let server = acting(None, closes_once).await;
    let resolver = Scripted::new(&[&["127.0.0.1"], &["127.0.0.1"], &["10.0.0.1"]]);
    let egress = dev_resolving(&resolver);
    let text = format!("http://agent.example:{}/play", server.address.port());
    assert_eq!(reply(post(&egress, &text).await).0, 200);
    assert!(matches!(fault(post(&egress, &text).await), Fault::Refused(_)));
    assert_eq!((server.requests().len(), server.connections(), resolver.asked()), (2, 1, 3));
}

#[tokio::test]
async fn a_get_is_sent_once_more_too() {
    let server = acting(None, closes_once).await;
    let (egress, url) = (dev(), url(&server.url()));
    for _ in 0..2 {
        assert_eq!(reply(egress.untrusted().get(&url, &[], LONG, CAP).await).0, 200);
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 2));
}

#[tokio::test]
async fn the_operators_door_sends_once() {
    let server = acting(None, closes_once).await;
    let (egress, url) = (dev(), OperatorUrl::for_test(&server.url()));
    assert_eq!(reply(egress.operator().post(&url, &[], "{}", LONG, CAP).await).0, 200);
    assert_eq!(fault(egress.operator().post(&url, &[], "{}", LONG, CAP).await), Fault::Transport);
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

/// Many at one server, so that connections change hands while others are being dialled: what was dialled
/// for a request and what it went out on are often two.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_request_among_many_at_once_is_lost_to_a_kept_connection() {
    const TASKS: usize = 64;
    const EACH: usize = 30;
    let acts: [Act; 3] = [
        |_, _| (good(), Then::Close),
        |_, request| if request == 1 { (good(), Then::Keep) } else { (NOTHING, Then::Close) },
        |_, request| if request == 1 { (good(), Then::Keep) } else { (NOTHING, Then::Reset) },
    ];
    for act in acts {
        for host in ["127.0.0.1", "agent.example"] {
            let server = acting(None, act).await;
            let egress = dev_resolving(&Scripted::new(&[&["127.0.0.1"]]));
            let url = url(&format!("http://{host}:{}/play", server.address.port()));
            let tasks = (0..TASKS).map(|task| {
                let (egress, url) = (egress.clone(), url.clone());
                tokio::spawn(async move {
                    for turn in 0..EACH {
                        let body = format!("{task} {turn}");
                        let exchange = egress.untrusted().post(&url, &[], body, LONG, CAP).await;
                        assert_eq!(reply(exchange).0, 200);
                    }
                })
            });
            for task in futures::future::join_all(tasks.collect::<Vec<_>>()).await {
                task.unwrap();
            }
            let mut times: HashMap<String, Vec<String>> = HashMap::new();
            for request in server.requests() {
                times.entry(body_of(&request)).or_default().push(request);
            }
            assert_eq!(times.len(), TASKS * EACH);
            for sent in times.values() {
                assert!(sent.len() <= 2 && sent.iter().all(|one| *one == sent[0]), "{sent:?}");
            }
        }
    }
}
