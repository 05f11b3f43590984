//! Connections of an endpoint's own: what one leaves behind on a connection, nobody else reads.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{CAP, LONG, answer, dev, reply, url};

/// Who asked for what, and from where.
type Asked = Arc<Mutex<BTreeSet<(String, SocketAddr)>>>;

/// One server with two agents: `/evil` sends a reply of its own accord behind each that it was asked for.
async fn serve(mut stream: TcpStream, from: SocketAddr, asked: Asked) {
    let mut bytes = [0; 4096];
    loop {
        let Ok(count @ 1..) = stream.read(&mut bytes).await else { return };
        let request = String::from_utf8_lossy(&bytes[..count]).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        asked.lock().unwrap().insert((path.clone(), from));
        let mut sent = answer("200 OK", "", path.as_bytes());
        if path == "/evil" {
            let _ = stream.write_all(&sent).await;
            tokio::task::yield_now().await;
            sent = answer("500 Poison", "", b"poison");
        }
        if stream.write_all(&sent).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn what_one_agent_leaves_on_its_connection_no_other_reads() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, from)) = listener.accept().await {
            tokio::spawn(serve(stream, from, Arc::clone(&seen)));
        }
    });
    let egress = dev();
    let (evil, good) = (egress.untrusted().line().unwrap(), egress.untrusted().line().unwrap());
    let (evil_url, good_url) = (url(&format!("http://{at}/evil")), url(&format!("http://{at}/good")));
    for _ in 0..50 {
        // Whatever this comes to, it is the evil one's own affair.
        let _ = evil.post(&evil_url, &[], "", LONG, CAP).await;
        assert_eq!(reply(good.post(&good_url, &[], "", LONG, CAP).await), (200, b"/good".to_vec(), false));
    }
    let asked = asked.lock().unwrap();
    let from = |path: &str| {
        asked.iter().filter(|(of, _)| of == path).map(|(_, from)| *from).collect::<BTreeSet<_>>()
    };
    assert_eq!(from("/good").len(), 1, "a line keeps its connection");
    assert!(from("/good").is_disjoint(&from("/evil")), "and shares it with nobody");
}
