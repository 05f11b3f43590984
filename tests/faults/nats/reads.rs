//! A caller reads its own writes, through whichever gateway.

use super::{Site, client, leader::stop_all, register};
use arena_tests::nats::left_out;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};
use tokio::task::JoinSet;

const WRITES: usize = 10_000;
/// So many at once, each over connections of its own.
const CLIENTS: usize = 48;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_through_one_gateway_is_read_through_another_at_once() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, one, two] = site.serve_all([("e1", "engine"), ("g1", "gateway"), ("g2", "gateway")]);
    let begun = Instant::now();
    let written = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for at in 0..CLIENTS {
        let (near, far) = if at % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let (near, far) = (near.url.clone(), far.url.clone());
        let written = Arc::clone(&written);
        clients.spawn(async move {
            let http = client();
            loop {
                let n = written.fetch_add(1, Ordering::SeqCst);
                if n >= WRITES {
                    return;
                }
                let slug = format!("written-{n}");
                let answered = register(&http, &near, &slug).await;
                assert!(matches!(answered, Some((201, _))), "{slug}: {answered:?}");
                let read = http.get(format!("{far}/api/v1/agents/{slug}")).send().await.unwrap().status();
                assert_eq!(read, 200, "{slug} was acknowledged by one and is not known to the other");
            }
        });
    }
    clients.join_all().await;
    println!("{WRITES} writes, each read at once, in {:?}", begun.elapsed());
    two.stop();
    stop_all(one, vec![engine]);
    let records = site.judge();
    let slugs: Vec<String> = (0..WRITES).map(|n| format!("written-{n}")).collect();
    super::assert_registered_once(&records, &slugs);
}
