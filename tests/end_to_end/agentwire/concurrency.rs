//! Many at once.

use super::relay::{Me, Received, Relay, number};
use serde_json::Value;
use std::time::Duration;
use tokio::task::JoinSet;

const SENDERS: usize = 20;
const RECEIVERS: usize = 20;
const EACH: usize = 15;
const ALL: usize = SENDERS + RECEIVERS + SENDERS * EACH;

/// Receives after the last number it has until it has them all, its own among them.
async fn collect(me: &Me, cut: bool) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    let mut turn = 0_u64;
    while entries.len() < ALL {
        let after = entries.last().map_or(0, number);
        let query = format!("?own=1&after={after}");
        turn += 1;
        if cut && turn.is_multiple_of(2) {
            let receive = me.get(&query);
            // Whether it is answered in time is chance; where not, it is cut off, and repeated.
            if tokio::time::timeout(Duration::from_millis(turn % 7), receive).await.is_err() {
                continue;
            }
        }
        let answer = me.get(&query).await;
        // One that was cut off may reach the relay after this one, and so replace it.
        if cut && answer.status == 409 {
            continue;
        }
        entries.extend(Received::of(&answer.is(200)).entries);
    }
    entries
}

async fn all_see_the_same(cut: bool) {
    let relay = Relay::start();
    let session = relay.create().await;
    let mut receivers = JoinSet::new();
    let mut senders = JoinSet::new();
    let mut joined = Vec::new();
    for n in 0..SENDERS + RECEIVERS {
        joined.push(session.join(&format!("p{n}")).await);
    }
    for (n, me) in joined.into_iter().enumerate() {
        if n < RECEIVERS {
            receivers.spawn(async move { collect(&me, cut).await });
        } else {
            senders.spawn(async move {
                let mut sent = Vec::new();
                for k in 0..EACH {
                    sent.push((me.send(&format!("{} {k}", me.name)).await, format!("{} {k}", me.name)));
                }
                sent
            });
        }
    }
    let sent = senders.join_all().await.concat();
    let seen = receivers.join_all().await;
    let log = session.entries().await;
    assert_eq!(log.iter().map(number).collect::<Vec<_>>(), (1..=ALL as u64).collect::<Vec<_>>());
    for one in &seen {
        assert_eq!(one, &log, "the same entries in the same order, none missing or doubled");
    }
    for (n, text) in sent {
        assert_eq!(log[n as usize - 1]["text"], text, "each answer has its own entry's number");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_senders_and_twenty_receivers_miss_and_double_nothing() {
    all_see_the_same(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receives_that_are_cut_off_and_repeated_lose_nothing() {
    all_see_the_same(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receives_without_after_get_each_entry_once() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let sending = tokio::spawn(async move {
        for k in 0..100 {
            ada.send(&k.to_string()).await;
        }
    });
    let mut numbers = Vec::new();
    while numbers.len() < 101 {
        numbers.extend(luis.receive("").await.numbers());
    }
    sending.await.unwrap();
    assert_eq!(numbers, (2..=102).collect::<Vec<u64>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_join_under_one_name_one_gets_it() {
    let relay = Relay::start();
    let session = relay.create().await;
    session.join("first").await;
    let mut joining = JoinSet::new();
    for _ in 0..20 {
        let session = session.clone();
        joining.spawn(async move { session.try_join("luis", None).await.status });
    }
    let mut statuses = joining.join_all().await;
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, &[409; 19][..]));
    assert_eq!(session.entries().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_many_times_at_once_leaves_once() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (_first, luis) = (session.join("first").await, session.join("luis").await);
    let mut leaving = JoinSet::new();
    for _ in 0..10 {
        let luis = luis.clone();
        leaving.spawn(async move { luis.leave().await });
    }
    assert_eq!(leaving.join_all().await, [3; 10]);
    assert_eq!(session.entries().await.len(), 3);
}
