//! Everything that can break on the way, each under its name. AA-032.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::{LONG, Server, answer, dev, fault, post, post_within, reply, until};
use crate::egress::{Fault, Outcome};

const SHORT: Duration = Duration::from_millis(250);

#[tokio::test]
async fn a_dripping_body_is_a_timeout_that_shows_what_had_come() {
    let server = Server::talking(|mut stream, seen| async move {
        seen.request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{").await.unwrap();
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let exchange = post_within(&dev(), &server.url(), SHORT).await;
    assert!(exchange.latency >= SHORT, "{:?}", exchange.latency);
    match exchange.outcome {
        Outcome::Fault { fault: Fault::Timeout, status: Some(200), body, detail } => {
            assert_eq!(body.first(), Some(&b'{'));
            assert_eq!(detail, "no whole reply within 250 ms");
        }
        other => panic!("{other:?}"),
    }
    until(|| server.ended() == 1).await;
}

#[tokio::test]
async fn dripping_headers_are_a_timeout() {
    let server = Server::talking(|mut stream, seen| async move {
        seen.request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx-slow: ").await.unwrap();
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let exchange = post_within(&dev(), &server.url(), SHORT).await;
    assert!(matches!(exchange.outcome, Outcome::Fault { fault: Fault::Timeout, status: None, .. }));
}

#[tokio::test]
async fn informational_answers_without_end_are_a_timeout() {
    let server = Server::talking(|mut stream, seen| async move {
        seen.request(&mut stream).await;
        while stream.write_all(b"HTTP/1.1 102 Processing\r\n\r\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(fault(post_within(&dev(), &server.url(), SHORT).await), Fault::Timeout);
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_a_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for scheme in ["http", "https"] {
        let text = format!("{scheme}://{}/play", silent.local_addr().unwrap());
        assert_eq!(fault(post_within(&dev(), &text, SHORT).await), Fault::Timeout, "{scheme}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_fault_of_transport() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let exchange = post(&dev(), &format!("http://{address}/play")).await;
    assert!(exchange.latency < LONG);
    match exchange.outcome {
        Outcome::Fault { fault: Fault::Transport, detail, status: None, .. } => {
            assert!(detail.contains("refused"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_reset_is_a_fault_of_transport_before_and_within_the_body() {
    for said in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
        "HTTP/1.1 200 OK\r\n\r\n{",
    ] {
        let server = Server::talking(move |mut stream, seen| async move {
            seen.request(&mut stream).await;
            stream.write_all(said.as_bytes()).await.unwrap();
            stream.set_zero_linger().unwrap();
        })
        .await;
        assert_eq!(fault(post(&dev(), &server.url()).await), Fault::Transport, "{said:?}");
        assert_eq!(server.connections(), 1, "sent once: {said:?}");
    }
}

#[tokio::test]
async fn a_body_cut_short_is_a_fault_of_transport_that_shows_what_had_come() {
    for said in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"move\":\"d\"",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n{\"move\":\"d\"\r\n",
    ] {
        let server = Server::closing(said).await;
        match post(&dev(), &server.url()).await.outcome {
            Outcome::Fault { fault: Fault::Transport, status: Some(200), body, .. } => {
                assert_eq!(body, br#"{"move":"d""#);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_not_http_is_a_fault_of_transport() {
    for said in [
        "",
        "\r\n",
        "garbage\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "<html>hello</html>",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ] {
        let server = Server::closing(said).await;
        assert_eq!(fault(post(&dev(), &server.url()).await), Fault::Transport, "{said:?}");
    }
}

#[tokio::test]
async fn a_flood_of_headers_ends_the_exchange() {
    for (head, part) in [
        ("HTTP/1.1 200 OK\r\n", "x-flood: 0123456789\r\n"),
        ("HTTP/1.1 200 OK\r\nx-long: ", "0123456789"),
        ("HTTP/1.1 200 ", "0123456789"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", "extension"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x-trailer: 0123456789\r\n"),
    ] {
        let server = Server::talking(move |mut stream, seen| async move {
            seen.request(&mut stream).await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let part = part.repeat(100);
            while stream.write_all(part.as_bytes()).await.is_ok() {}
        })
        .await;
        assert_eq!(fault(post(&dev(), &server.url()).await), Fault::Transport, "{head:?}");
        until(|| server.ended() == 1).await;
    }
}

#[tokio::test]
async fn a_server_that_says_that_it_closes_is_dialled_anew() {
    let server = Server::closing(answer("200 OK", "connection: close\r\n", b"{}")).await;
    let egress = dev();
    for round in 1..=3 {
        assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
        assert_eq!(server.connections(), round);
    }
}
