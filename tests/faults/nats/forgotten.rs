//! A stream whose tail was cut: whoever remembers more refuses, by name.

use super::{Load, Site, refused, wait_until};
use arena_tests::nats::left_out;
use std::{fs, path::Path};

const CUT: &str = "it was cut short";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_lost_its_tail_is_refused_by_all_who_remember_it() {
    if left_out() {
        return;
    }
    let mut site = Site::one();
    let [mut engine, mut gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let load = Load::start(&[&gateway], 2);
    load.more(20).await;
    let records = site.servers.nodes[0].store().join("jetstream/$G/streams/ARENA_RECORDS_0_1");
    let older = site.data("older");
    site.servers.nodes[0].kill();
    copy(&records, &older);
    site.servers.nodes[0].start();
    load.more(40).await;
    // At rest, so that all followed the same records and the lease's mark names the last.
    load.stop().await;
    let last = engine.get("/readyz", None).await.1["record"].as_u64().unwrap();
    wait_until("a renewal", || site.lease_mark().is_some_and(|mark| mark >= last));
    site.servers.nodes[0].kill();
    fs::remove_dir_all(&records).unwrap();
    copy(&older, &records);
    site.servers.nodes[0].start();
    // Those that run.
    for served in [&mut engine, &mut gateway] {
        assert!(!served.wait().success());
        assert!(served.log().contains(CUT), "{}", served.log());
    }
    // Those that start, by their own copies and by the mark beside the lease.
    let url = site.servers.url();
    for (name, role) in [("e1", "engine"), ("g1", "gateway"), ("fresh", "engine")] {
        let words = refused(&site.options(name, role, &url));
        assert!(words.contains(CUT) && words.contains("ARENA_RECORDS_0_1"), "{name}: {words}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
