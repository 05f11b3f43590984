//! Replies that come through, up to the cap, and what the server sees of us.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;

use super::{CAP, LONG, Server, answer, dev, post, reply, until, url};
use crate::egress::{Fault, Outcome};

#[tokio::test]
async fn the_request_on_the_wire_is_what_was_given_and_nothing_of_ours() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress = dev();
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("user-agent", "agentarena-referee/1".to_owned()),
        ("X-Ludux-Signature", "00ff".to_owned()),
    ];
    let url = url(&format!("http://{}/play?x=%20{{y}}", server.address));
    let exchange = egress.untrusted().post(&url, &headers, r#"{"nonce":"7f"}"#, LONG, CAP).await;
    assert_eq!(reply(exchange), (200, b"{}".to_vec(), false));
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines.remove(0), "POST /play?x=%20{y} HTTP/1.1");
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "accept-encoding: identity",
            "accept: */*",
            "content-length: 14",
            "content-type: application/json",
            &format!("host: {}", server.address),
            "user-agent: agentarena-referee/1",
            "x-ludux-signature: 00ff",
        ]
    );
    assert_eq!(body, r#"{"nonce":"7f"}"#);
}

#[tokio::test]
async fn a_get_has_no_body() {
    let server = Server::answering(answer("200 OK", "", b"PNG")).await;
    let url = url(&server.url());
    assert_eq!(reply(dev().untrusted().get(&url, &[], LONG, CAP).await), (200, b"PNG".to_vec(), false));
    let request = server.requests().remove(0);
    assert!(
        request.starts_with("GET /play HTTP/1.1\r\n") && !request.contains("content-length"),
        "{request}"
    );
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_our_own_fault_and_sends_nothing() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let url = url(&server.url());
    for header in [("x-name", "two\nlines".to_owned()), ("two words", String::new())] {
        let exchange = dev().untrusted().post(&url, &[header], "", LONG, CAP).await;
        assert!(matches!(exchange.outcome, Outcome::Fault { fault: Fault::Unsendable, status: None, .. }));
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn connections_are_kept_from_one_request_to_the_next() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress = dev();
    for _ in 0..20 {
        assert_eq!(reply(post(&egress, &server.url()).await), (200, b"{}".to_vec(), false));
    }
    assert_eq!(server.requests().len(), 20);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_two_doors_share_no_connection() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress = dev();
    assert_eq!(reply(post(&egress, &server.url()).await).0, 200);
    let url = crate::egress::OperatorUrl::for_test(&server.url());
    assert_eq!(reply(egress.operator().post(&url, &[], "{}", LONG, CAP).await).0, 200);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn any_status_is_a_reply() {
    for status in
        ["200 OK", "201 Created", "204 No Content", "304 Not Modified", "404 Gone Fishing", "500 No", "599"]
    {
        let text = match status {
            "204 No Content" | "304 Not Modified" => format!("HTTP/1.1 {status}\r\n\r\n").into_bytes(),
            _ => answer(status, "", b""),
        };
        let server = Server::answering(text).await;
        let expected: u16 = status[..3].parse().unwrap();
        assert_eq!(reply(post(&dev(), &server.url()).await), (expected, Vec::new(), false), "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_a_reply_and_its_target_is_never_contacted() {
    let target = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress = dev();
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        for location in [target.url(), "/elsewhere".to_owned(), "http://169.254.169.254/".to_owned()] {
            let server = Server::answering(answer(status, &format!("location: {location}\r\n"), b"go")).await;
            let expected = (status[..3].parse().unwrap(), b"go".to_vec(), false);
            assert_eq!(reply(post(&egress, &server.url()).await), expected);
            assert_eq!(server.requests().len(), 1);
            let url = crate::egress::OperatorUrl::for_test(&server.url());
            assert_eq!(reply(egress.operator().get(&url, &[], LONG, CAP).await), expected);
            assert_eq!(server.requests().len(), 2);
        }
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn cookies_and_referers_are_not_kept() {
    let server = Server::answering(answer("200 OK", "set-cookie: a=b; Path=/\r\n", b"{}")).await;
    let egress = dev();
    post(&egress, &server.url()).await;
    post(&egress, &server.url()).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
}

#[tokio::test]
async fn informational_answers_are_passed_over() {
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(3);
    let whole = [b"HTTP/1.1 100 Continue\r\n\r\n", hints.as_bytes(), &answer("200 OK", "", b"{}")].concat();
    let server = Server::answering(whole).await;
    let egress = dev();
    for _ in 0..2 {
        assert_eq!(reply(post(&egress, &server.url()).await), (200, b"{}".to_vec(), false));
    }
}

#[tokio::test]
async fn old_and_plain_servers_that_end_the_body_by_closing_are_understood() {
    for version in ["1.0", "1.1"] {
        let server = Server::closing(format!("HTTP/{version} 200 OK\r\n\r\n{{\"move\":\"d\"}}")).await;
        assert_eq!(reply(post(&dev(), &server.url()).await), (200, br#"{"move":"d"}"#.to_vec(), false));
    }
}

#[tokio::test]
async fn a_body_of_just_the_cap_is_whole_and_one_byte_more_is_too_large() {
    let chunked = |body: &[u8]| {
        let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for part in body.chunks(1000) {
            bytes.extend_from_slice(format!("{:x};ext=1\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\nx-trailer: y\r\n\r\n");
        bytes
    };
    let egress = dev();
    for (length, too_large) in [(0, false), (CAP - 1, false), (CAP, false), (CAP + 1, true), (CAP * 9, true)]
    {
        let body = vec![b'x'; length];
        for bytes in [answer("200 OK", "", &body), chunked(&body)] {
            let server = Server::answering(bytes).await;
            let (status, got, cut) = reply(post(&egress, &server.url()).await);
            assert_eq!((status, got.len(), cut), (200, length.min(CAP), too_large), "{length}");
        }
    }
}

#[tokio::test]
async fn a_cap_of_nothing_takes_an_empty_body_alone() {
    let egress = dev();
    for (body, too_large) in [(b"".as_slice(), false), (b"x", true)] {
        let server = Server::answering(answer("200 OK", "", body)).await;
        let exchange = egress.untrusted().post(&url(&server.url()), &[], "", LONG, 0).await;
        assert_eq!(reply(exchange), (200, Vec::new(), too_large));
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_cap_and_its_connection_closed() {
    for chunked in [true, false] {
        let server = Server::talking(move |mut stream, seen| async move {
            seen.request(&mut stream).await;
            let (head, part) = if chunked {
                ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "3e8\r\n".to_owned())
            } else {
                ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", String::new())
            };
            let part: Arc<str> =
                format!("{part}{}{}", "x".repeat(1000), if chunked { "\r\n" } else { "" }).into();
            stream.write_all(head.as_bytes()).await.unwrap();
            while stream.write_all(part.as_bytes()).await.is_ok() {}
        })
        .await;
        let egress = dev();
        let (status, body, too_large) = reply(post(&egress, &server.url()).await);
        assert_eq!((status, body.len(), too_large), (200, CAP, true));
        until(|| server.ended() == 1).await;
    }
}
