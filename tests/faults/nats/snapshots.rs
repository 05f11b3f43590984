//! Snapshots of engines on NATS: one of them makes them, for all, and who comes on an empty folder begins there.

use super::{PARTITION, PATIENCE, Site, wait_for};
use crate::{played::Played, snapshots::fill};
use arena_journal::{ObjectSnapshots, SNAPSHOT_BYTES, Snapshots};
use arena_tests::{ServeOptions, Served, nats::left_out, served::binary};
use std::{process::Command, time::Instant};

/// The records that the store has snapshots of.
fn kept(site: &Site) -> Vec<u64> {
    site.journal(|nats, _| {
        let found = nats.runtime().block_on(ObjectSnapshots::find(nats)).unwrap();
        let numbers = found.map(|store| store.list(PARTITION).unwrap());
        numbers.unwrap_or_default().into_iter().map(|number| number.0).collect()
    })
}

fn serve(site: &Site, name: &str) -> Served {
    let mut options = site.options(name, "engine", &site.servers.url());
    options.variables.push(("RUST_LOG".to_owned(), "info".to_owned()));
    Served::with(ServeOptions { data: options.data.clone(), ..options })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_whose_journal_has_grown_make_a_snapshot_for_all_and_an_empty_folder_begins_from_it() {
    if left_out() {
        return;
    }
    let played = Played::new().await;
    let data = &played.stopped.data;
    fill(data, SNAPSHOT_BYTES);
    let site = Site::one();
    let copied = Command::new(binary())
        .args(["journal", "copy", "--from", data.to_str().unwrap(), "--to", &site.servers.url()])
        .output()
        .unwrap();
    assert!(copied.status.success(), "{copied:?}");

    let engines = ["e1", "e2"].map(|name| serve(&site, name));
    let begun = Instant::now();
    let number = wait_for("a snapshot", || kept(&site).first().copied());
    assert!(begun.elapsed() < PATIENCE);
    assert!(!engines.iter().any(|engine| engine.log().contains("and handed on")));
    // Neither keeps any of its own.
    for name in ["e1", "e2"] {
        assert!(!site.data(name).join("snapshots").exists());
    }
    let new = serve(&site, "e3");
    let says = format!("begun from the snapshot 0-{number}, and handed on");
    assert!(new.log().contains(&says), "{}", new.log());
    assert!(new.log().contains(&format!("takes records 1 to {number} as they are")), "{}", new.log());
    for engine in engines.into_iter().chain([new]) {
        engine.stop();
    }
    assert_eq!(kept(&site), [number], "the one is enough for both");
    site.judge();
}
