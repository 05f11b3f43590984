//! Crowds: hundreds in one session, thousands of sessions, and clients that begin a request and never end it.

use super::{
    relay::{Me, Received, Relay, Session, number, until},
    wire::{Answer, Request},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    task::JoinSet,
};

const SENDERS: usize = 200;
const RECEIVERS: usize = 200;
const EACH: usize = 2;
const ALL: usize = SENDERS + RECEIVERS + SENDERS * EACH;
const SESSIONS: usize = 2_000;
/// Connections that a test opens at once, as a process may have 1,024 files open.
const AT_ONCE: usize = 200;
const HALF_OPEN: usize = 1_000;

/// Asks again for as long as the relay says that it can't answer right now, which on a busy machine it may. Nothing was done then.
async fn patiently(request: Request) -> Answer {
    loop {
        let answer = request.clone().send().await;
        if answer.status != 503 {
            return answer.is(200);
        }
    }
}

/// Receives after the last number it has until it has them all, its own among them.
async fn collect(me: Me) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    while entries.len() < ALL {
        let after = entries.last().map_or(0, number);
        let receive = Request::get(format!("{}?own=1&after={after}", me.link));
        entries.extend(Received::of(&patiently(receive).await).entries);
    }
    entries
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_senders_and_two_hundred_receivers_see_one_order() {
    let relay = Relay::start();
    let session = relay.create().await;
    let mut joining = JoinSet::new();
    for n in 0..SENDERS + RECEIVERS {
        let session = session.clone();
        joining.spawn(async move { session.join(&format!("p{n}")).await });
    }
    let joined = joining.join_all().await;
    let numbers: HashSet<u64> = joined.iter().map(|me| me.n).collect();
    assert_eq!(numbers, (1..=(SENDERS + RECEIVERS) as u64).collect(), "each joined once");
    let (mut receivers, mut senders) = (JoinSet::new(), JoinSet::new());
    for (n, me) in joined.into_iter().enumerate() {
        if n < RECEIVERS {
            receivers.spawn(collect(me));
        } else {
            senders.spawn(async move {
                let mut sent = Vec::new();
                for k in 0..EACH {
                    let text = format!("{} {k}", me.name);
                    let answer = patiently(Request::post(&me.link).body(text.as_str())).await;
                    sent.push((number(&answer.json()), me.name.clone(), text));
                }
                sent
            });
        }
    }
    let sent = senders.join_all().await.concat();
    let seen = receivers.join_all().await;
    let log = session.entries().await;
    assert_eq!(log.iter().map(number).collect::<Vec<_>>(), (1..=ALL as u64).collect::<Vec<_>>());
    assert_eq!(seen.len(), RECEIVERS);
    for one in &seen {
        assert!(one == &log, "somebody saw another order, or not all, or something twice");
    }
    for (n, name, text) in sent {
        let entry = &log[n as usize - 1];
        assert_eq!((&entry["from"], &entry["text"]), (&name.into(), &text.into()), "{n} is another's");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_sessions_are_created_joined_and_sent_in_at_once_and_none_knows_of_another() {
    let relay = Arc::new(Relay::start());
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut making = JoinSet::new();
    for at in 0..SESSIONS {
        let (relay, room) = (Arc::clone(&relay), Arc::clone(&room));
        making.spawn(async move {
            let mut place = room.acquire().await.unwrap();
            let session = relay.create().await;
            drop(place);
            place = room.acquire().await.unwrap();
            let me = session.join("luis").await;
            drop(place);
            place = room.acquire().await.unwrap();
            assert_eq!((me.n, me.send(&format!("this is {at}")).await), (1, 2));
            drop(place);
            (at, session, me)
        });
    }
    let made = making.join_all().await;
    let links: HashSet<&str> =
        made.iter().flat_map(|(_, session, me)| [session.link.as_str(), me.link.as_str()]).collect();
    assert_eq!(links.len(), 2 * SESSIONS, "each link is its own");
    // All of them are open now, and each has its own entries alone.
    let mut looking = JoinSet::new();
    for (at, session, me) in made {
        let room = Arc::clone(&room);
        looking.spawn(async move {
            let _place = room.acquire().await.unwrap();
            let Received { entries, presence, .. } = Received::of(&session.read("?wait=0").await.is(200));
            assert_eq!(entries.len(), 2, "{entries:?}");
            assert_eq!(entries[1]["text"], format!("this is {at}"));
            assert_eq!(presence.as_object().unwrap().len(), 1);
            assert_eq!(me.leave().await, 3);
            session
        });
    }
    let ended: Vec<Session> = looking.join_all().await;
    for session in ended.iter().step_by(100) {
        session.gone().await;
    }
}

/// As many open files as the system lets this process have.
fn raise_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// How each of many requests begins that never ends.
fn beginnings(session: &Session, me: &Me) -> Vec<String> {
    let path = |link: &str| link[link.find("/v2/").unwrap()..].to_owned();
    let (session, me) = (path(&session.link), path(&me.link));
    vec![
        String::new(),
        format!("POST {me} HT"),
        format!("GET {me}?wait=0 HTTP/1.1\r\nhost: relay\r\nx-more: "),
        format!("POST {session}/join?as=nobody HTTP/1.1\r\nhost: relay\r\n"),
        format!("POST {me} HTTP/1.1\r\nhost: relay\r\ncontent-length: 9\r\n\r\nhal"),
        format!("POST {me} HTTP/1.1\r\nhost: relay\r\ncontent-length: 200000\r\n\r\n{}", "x".repeat(100_000)),
        format!("POST {me} HTTP/1.1\r\nhost: relay\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhal\r\n"),
        format!("POST {me} HTTP/1.1\r\nhost: relay\r\ntransfer-encoding: chunked\r\n\r\nfff\r\nhal"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_that_begin_and_never_end_change_nothing_for_the_others() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    assert_eq!(ada.receive("?wait=0").await.numbers(), [1]);
    let before = (session.entries().await, session.presence().await);
    let beginnings = beginnings(&session, &luis);
    raise_descriptors();
    let address = relay.served.url.strip_prefix("http://").unwrap();
    let mut open = Vec::new();
    for at in 0..HALF_OPEN {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(beginnings[at % beginnings.len()].as_bytes()).await.unwrap();
        open.push(stream);
    }
    until("what is half in the store of payloads", async || objects(&relay) > 0).await;
    assert_eq!((session.entries().await, session.presence().await), before, "what is half is nothing");
    // The others go on, the one whose requests are half among them.
    for turn in 0..20 {
        let waiting = ada.waiting(&session, "").await;
        let n = luis.send(&format!("whole {turn}")).await;
        let received = waiting.received().await;
        assert_eq!((received.numbers(), received.texts()), (vec![n], vec![format!("whole {turn}").as_str()]));
    }
    let other = relay.create().await;
    other.join("luis").await;
    assert_eq!(session.try_join("nobody", None).await.is(200).json()["n"], 23, "nobody took the name");
    // Where one is answered meanwhile, it is that its body is too slow.
    for stream in &open {
        let mut answer = [0; 12];
        if let Ok(count) = stream.try_read(&mut answer) {
            assert_eq!(String::from_utf8_lossy(&answer[..count]), "HTTP/1.1 408");
        }
    }
    // One that goes on is something only then.
    let mut late = TcpStream::connect(address).await.unwrap();
    late.write_all(beginnings[4].as_bytes()).await.unwrap();
    assert_eq!(session.entries().await.len(), 23);
    late.write_all(b"f open").await.unwrap();
    let mut answer = [0; 12];
    late.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(open);
    let log = session.entries().await;
    assert_eq!(log.len(), 24, "and of the others nothing came: {log:?}");
    assert_eq!(log[23]["text"], "half open");
    // What was on its way into the store of payloads is taken away.
    until("the end of what was half", async || objects(&relay) == 0).await;
    Request::get(relay.at("/healthz")).send().await.is(200);
    let stopped = relay.served.stop();
    assert_eq!(stopped.audit()["holds"], true);
}

/// How many files the store of payloads has.
fn objects(relay: &Relay) -> usize {
    let Ok(owners) = std::fs::read_dir(relay.served.data.join("payloads")) else { return 0 };
    owners.flatten().filter_map(|owner| std::fs::read_dir(owner.path()).ok()).flatten().count()
}
