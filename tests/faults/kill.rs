//! `kill -9` at random points under load, again and again over one data folder.

use crate::{dice::Dice, load::Load, player::Asked};
use arena_tests::{
    ServeOptions, Served,
    served::{PATIENCE, audit, binary, poll, poll_async},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const KILLS: usize = 32;
/// Every so many kills, one comes while the arena starts.
const AT_START: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_was_acknowledged_survives_a_kill_at_any_instant_and_happens_once() {
    let mut dice = Dice::new();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let begun = Instant::now();
    let mut arena = serve(&data, 0);
    let start = begun.elapsed();
    let load = Load::start(&arena, &mut dice, 12).await;
    let (mut agents_seen, mut matches_seen) = (0, 0);
    for kill in 1..=KILLS {
        let clients = load.run(&arena, &mut dice, usize::MAX);
        let enough = load.happened() + dice.below(150);
        let waiting = Instant::now();
        while load.happened() < enough {
            assert!(waiting.elapsed() < PATIENCE, "nothing happens any more:\n{}", arena.log());
            poll_async().await;
        }
        // Anywhere between two looks.
        tokio::time::sleep(Duration::from_micros(dice.below(10_000) as u64)).await;
        arena.kill();
        clients.join_all().await;
        assert_audit(&data, kill);
        if kill % AT_START == 0 {
            kill_at_start(&data, start * (dice.below(1_000) as u32) / 1_000);
            assert_audit(&data, kill);
        }
        arena = serve(&data, kill);
        let (agents, matches) = {
            let ledger = load.ledger();
            (ledger.agents[agents_seen..].to_vec(), ledger.matches[matches_seen..].to_vec())
        };
        load.assert_there(&arena, &agents, &matches).await;
        (agents_seen, matches_seen) = (agents_seen + agents.len(), matches_seen + matches.len());
    }
    load.assert_finished(&arena).await;
    let shown = load.profiles(&arena).await;
    let stopped = arena.stop();
    assert_eq!(stopped.audit()["holds"], true);
    std::fs::remove_dir_all(data.join("views")).unwrap();
    let rebuilt = stopped.start();
    assert_eq!(load.profiles(&rebuilt).await, shown, "no view took anything in twice, or left it out");
    rebuilt.stop();
    load.assert_once(&data);
    let resent: usize = load.players.iter().map(|player| assert_sent_again(&player.asked())).sum();
    assert!(resent > 0, "no kill met an open turn: the load is too small to prove anything");
    println!("{agents_seen} agents, {matches_seen} matches, {resent} turns asked again");
}

/// A public address for each process, so that a player knows which one asks.
fn serve(data: &Path, kill: usize) -> Served {
    let flags = vec!["--public-url".to_owned(), format!("http://run-{kill}.arena.example")];
    Served::with(ServeOptions { data: Some(data.to_owned()), flags, ..ServeOptions::default() })
}

fn kill_at_start(data: &Path, after: Duration) {
    let mut command = Command::new(binary());
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.current_dir(std::env::temp_dir()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    poll();
}

#[track_caller]
fn assert_audit(data: &Path, kill: usize) {
    let audit = audit(data);
    assert_eq!(audit["holds"], true, "after kill {kill}: {audit}");
}

/// That a turn is asked again only by another process, with the same number and board and a fresh nonce, and no turn is left
/// out; how often one was.
fn assert_sent_again(asked: &[Asked]) -> usize {
    let nonces: BTreeSet<&str> = asked.iter().map(|asked| asked.nonce.as_str()).collect();
    assert_eq!(nonces.len(), asked.len(), "a nonce is fresh for every request");
    let mut again = 0;
    let mut last: BTreeMap<&str, &Asked> = BTreeMap::new();
    for next in asked {
        if let Some(before) = last.insert(&next.match_id, next) {
            if next.move_number == before.move_number {
                assert_ne!(next.arena, before.arena, "asked twice by one process: {next:?}");
                assert_eq!(next.board, before.board);
                again += 1;
            } else {
                assert_eq!(next.move_number, before.move_number + 2, "{before:?} {next:?}");
            }
        }
    }
    again
}
