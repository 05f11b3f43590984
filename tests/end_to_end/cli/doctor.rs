//! `arena doctor` and `arena init`: what would refuse a start is said with what to do, and nothing is changed.

use super::run;
use arena_tests::{
    ServeOptions, Served,
    nats::{NatsServers, NatsSetup, left_out},
    program::Printed,
};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

async fn doctor(arguments: &[&str], starts: bool) -> Value {
    let printed: Printed = run(&[&["doctor", "--json"], arguments].concat()).await;
    assert_eq!(printed.code(), i32::from(!starts), "{printed:?}");
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(report["starts"], starts);
    report
}

/// The first check of this name with this verdict.
#[track_caller]
fn check<'a>(report: &'a Value, what: &str, verdict: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["what"] == what && check["verdict"] == verdict);
    found.unwrap_or_else(|| panic!("no {verdict} {what}: {report:#}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[tokio::test]
async fn what_would_refuse_a_start_is_named_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    let report = doctor(&["--data", new.to_str().unwrap()], true).await;
    check(&report, "disk sync", "ok");
    check(&report, "clock", "ok");
    assert!(!new.exists(), "nothing is made");

    let arena = Served::start();
    arena.register("left", "http://127.0.0.1:9/play").await;
    let data = arena.data.to_str().unwrap().to_owned();
    let report = doctor(&["--data", &data], true).await;
    assert!(text(&check(&report, "data folder", "note")["says"]).contains("an arena runs on"), "{report:#}");
    let stopped = arena.stop();
    let report = doctor(&["--data", &data], true).await;
    check(&report, "data folder", "ok");
    assert!(text(&check(&report, "journal", "ok")["says"]).contains("of era 1"), "{report:#}");
    assert!(text(&check(&report, "vault", "ok")["says"]).contains("opens"), "{report:#}");
    let printed = run(&["doctor", "--data", &data]).await;
    assert!(printed.code() == 0 && printed.out.contains("vault key"), "{printed:?}");

    let key = Path::new(&data).join("vault.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let report = doctor(&["--data", &data], true).await;
    assert!(text(&check(&report, "vault key", "note")["next"]).contains("chmod 600"), "{report:#}");
    let kept = fs::read(&key).unwrap();
    fs::write(&key, [7; 32]).unwrap();
    let report = doctor(&["--data", &data], false).await;
    assert!(text(&check(&report, "vault", "refuses")["says"]).contains("does not open"), "{report:#}");
    fs::write(&key, &kept[1..]).unwrap();
    check(&doctor(&["--data", &data], false).await, "vault key", "refuses");
    fs::remove_file(&key).unwrap();
    check(&doctor(&["--data", &data], false).await, "vault key", "refuses");
    fs::write(&key, &kept).unwrap();
    fs::rename(Path::new(&data).join("vault.db"), folder.path().join("vault.db")).unwrap();
    check(&doctor(&["--data", &data], false).await, "vault", "refuses");
    fs::rename(folder.path().join("vault.db"), Path::new(&data).join("vault.db")).unwrap();
    doctor(&["--data", &data], true).await;
    stopped.start().stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_is_looked_at_from_its_disk_to_its_leader() {
    if left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("vault.key"), [7; 32]).unwrap();
    fs::set_permissions(data.join("vault.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let data = data.to_str().unwrap();
    let report = doctor(&["--data", data, "--nats", "nats://127.0.0.1:1"], false).await;
    assert!(text(&check(&report, "NATS", "refuses")["says"]).contains("cannot be reached"), "{report:#}");

    let servers = NatsServers::one(&NatsSetup::default());
    let url = servers.url();
    let report = doctor(&["--data", data, "--nats", &url], true).await;
    check(&report, "JetStream", "ok");
    assert!(text(&check(&report, "servers", "ok")["says"]).starts_with("n1 2."), "{report:#}");
    check(&report, "snapshots", "ok");
    assert!(text(&check(&report, "durability", "note")["next"]).contains("monitor_url"), "{report:#}");
    check(&report, "streams", "ok");
    check(&report, "vault", "ok");
    let started = ["--nats", url.as_str()].map(str::to_owned).to_vec();
    Served::with(ServeOptions { data: Some(data.into()), flags: started, ..ServeOptions::default() }).stop();
    let report = doctor(&["--data", data, "--nats", &url], true).await;
    check(&report, "leader", "ok");
    check(&report, "journal", "ok");
    let streams = report["checks"].as_array().unwrap().iter().filter(|check| check["what"] == "stream");
    let store =
        streams.map(|check| text(&check["says"])).find(|says| says.starts_with("OBJ_ARENA_SNAPSHOTS: "));
    assert!(store.is_some_and(|says| says.contains("1 of 1 servers")), "{report:#}");
    // One that is gone is told of, and refuses nothing.
    let report = doctor(&["--data", data, "--nats", &format!("{url},nats://127.0.0.1:1")], true).await;
    assert!(text(&check(&report, "servers", "note")["says"]).contains("127.0.0.1:1 could not be asked"));
    drop(servers);

    let servers = NatsServers::one(&NatsSetup::default());
    let url = servers.url();
    fs::remove_dir_all(Path::new(data).join("mirror")).unwrap();
    // Copied there, it has streams; and what this process's copy has, they must have.
    let arena = Served::start();
    let own = arena.data.join("records-0-1.db");
    let stopped = arena.stop();
    let from = stopped.data.to_str().unwrap();
    assert_eq!(run(&["journal", "copy", "--from", from, "--to", &url]).await.code(), 0);
    fs::create_dir(Path::new(data).join("mirror")).unwrap();
    fs::copy(&own, Path::new(data).join("mirror/records-0-1.db")).unwrap();
    let file = folder.path().join("arena.toml");
    let settings = |replicas: u64| {
        let monitor = servers.monitor_url();
        let text = format!("[nats]\nurl = {url:?}\nmonitor_url = {monitor:?}\nreplicas = {replicas}\n");
        fs::write(&file, text).unwrap();
    };
    settings(1);
    let from_file = ["--data", data, "--config", file.to_str().unwrap()];
    let report = doctor(&from_file, true).await;
    check(&report, "durability", "ok");
    check(&report, "server's clock", "ok");
    check(&report, "leader", "ok");
    assert!(text(&check(&report, "stream", "ok")["says"]).starts_with("ARENA_RECORDS_0_1: "), "{report:#}");
    check(&report, "journal", "ok");
    settings(3);
    let report = doctor(&from_file, false).await;
    assert!(text(&check(&report, "stream", "refuses")["says"]).contains("num_replicas"), "{report:#}");

    let lazy = NatsServers::one(&NatsSetup { sync_interval: "2m".to_owned(), ..NatsSetup::default() });
    let text_of =
        format!("[nats]\nurl = {:?}\nmonitor_url = {:?}\nreplicas = 3\n", lazy.url(), lazy.monitor_url());
    fs::write(&file, text_of).unwrap();
    let report = doctor(&from_file, false).await;
    assert!(
        text(&check(&report, "durability", "refuses")["next"]).contains("sync_interval: always"),
        "{report:#}"
    );
    check(&report, "replicas", "refuses");
    assert!(text(&check(&report, "journal", "refuses")["says"]).contains("cut short"), "{report:#}");
}

#[tokio::test]
async fn init_writes_every_setting_once_and_never_over_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arena.toml");
    let path = file.to_str().unwrap();
    assert_eq!(run(&["init", "--config", path]).await.code(), 0);
    let text = fs::read_to_string(&file).unwrap();
    for setting in ["# data = \"./arena-data\"", "[nats]", "# replicas = 1", "# deadline_ms = 10000"] {
        assert!(text.contains(setting), "{setting}: {text}");
    }
    let report =
        doctor(&["--config", path, "--data", folder.path().join("data").to_str().unwrap()], true).await;
    check(&report, "settings", "ok");
    let printed = run(&["init", "--config", path]).await;
    assert!(printed.code() == 1 && printed.err.contains("is there already"), "{printed:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    fs::write(&file, "natz = 1\n").unwrap();
    let report = doctor(&["--config", path], false).await;
    assert!(self::text(&check(&report, "settings", "refuses")["says"]).contains("natz"), "{report:#}");
}
