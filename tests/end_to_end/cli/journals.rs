//! `arena journal copy` and `archive`, and every look at a journal that lies elsewhere: on NATS, in a process's own copy, in
//! archives.

use super::run;
use arena_journal::{
    Clock, FolderSnapshots, Nats, NatsOptions, ObjectSnapshots, Sequencer, SnapshotMaker,
    SnapshotMakerOptions, SnapshotPace, Snapshots, SqliteJournal, StartOptions, Submission, TextOwner, Texts,
    Vault, VaultKey,
};
use arena_schema::{
    SecretHash,
    command::registry::{NewCredential, RegisterAgent},
    id::{
        AgentId, ChallengePolicy, ConnectionMethod, CredentialKind, Era, Handle, Incarnation, Partition,
        Protocol, PublicSlug,
    },
};
use arena_tests::{
    Agent, ServeOptions, Served,
    nats::{NatsServers, NatsSetup, left_out},
    program::Printed,
    served::PATIENCE,
};
use serde_json::Value;
use std::{fs, path::Path, sync::Arc, time::Instant};

#[track_caller]
fn parsed(printed: &Printed) -> Value {
    assert_eq!(printed.code(), 0, "{printed:?}");
    serde_json::from_str(&printed.out).expect("--json prints JSON")
}

async fn audit(at: &[&str]) -> Value {
    parsed(&run(&[&["audit", "--json"], at].concat()).await)
}

#[track_caller]
fn assert_same(one: &Value, other: &Value) {
    for what in [
        "records",
        "commands",
        "events",
        "rejections",
        "texts",
        "digests",
        "bytes",
        "head",
        "digest",
        "last_at",
    ] {
        assert_eq!(one[what], other[what], "{what}");
    }
}

async fn copy(from: &str, to: &str) -> Printed {
    run(&["journal", "copy", "--json", "--from", from, "--to", to]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_goes_to_nats_and_back_and_is_the_same_to_every_auditor() {
    if left_out() {
        return;
    }
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("left", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    arena.finished(&id).await;
    let stopped = arena.stop();
    let data = stopped.data.to_str().unwrap();
    let before = audit(&["--data", data]).await;
    assert!(before["texts"].as_u64().unwrap() > 0, "{before}");

    let servers = NatsServers::one(&NatsSetup::default());
    let url = servers.url();
    let printed = run(&["audit", "--nats", &url]).await;
    assert!(printed.code() == 1 && printed.err.contains("there is no journal on"), "{printed:?}");
    let copied = parsed(&copy(data, &url).await);
    assert_eq!((&copied["copied"], &copied["found"]), (&before["records"], &0.into()));
    assert_eq!((&copied["head"], &copied["digest"]), (&before["head"], &before["digest"]));
    assert_same(&audit(&["--nats", &url]).await, &before);
    for command in ["info", "verify"] {
        let report = parsed(&run(&["journal", command, "--json", "--nats", &url]).await);
        assert_eq!((&report["records"], &report["head"]), (&before["records"], &before["head"]), "{command}");
    }
    let again = parsed(&copy(data, &url).await);
    assert_eq!((&again["copied"], &again["found"]), (&0.into(), &before["records"]));

    let folder = tempfile::tempdir().unwrap();
    let back = folder.path().join("back");
    let printed = run(&["journal", "copy", "--from", &url, "--to", back.to_str().unwrap()]).await;
    assert!(printed.code() == 0 && printed.out.contains("the vault is not copied"), "{printed:?}");
    assert_same(&audit(&["--data", back.to_str().unwrap()]).await, &before);

    // The source goes on; the copy does too, from where it is. The other way it is refused, and nothing is written.
    let arena = stopped.start();
    arena.register("right", "http://127.0.0.1:9/play").await;
    let stopped = arena.stop();
    let data = stopped.data.to_str().unwrap();
    let after = audit(&["--data", data]).await;
    let printed = copy(back.to_str().unwrap(), data).await;
    assert!(printed.code() == 1 && printed.err.contains("the other way"), "{printed:?}");
    let further = parsed(&copy(data, &url).await);
    assert_eq!(further["found"], before["records"]);
    assert_same(&audit(&["--nats", &url]).await, &after);

    // A process's own copy is a journal too, to look at and to mend from.
    let own = folder.path().join("own");
    fs::create_dir_all(own.join("mirror")).unwrap();
    fs::copy(Path::new(data).join("records-0-1.db"), own.join("mirror/records-0-1.db")).unwrap();
    assert_same(&audit(&["--data", own.to_str().unwrap()]).await, &after);
    assert_eq!(parsed(&copy(own.to_str().unwrap(), &url).await)["copied"], 0);

    // Another journal is no target.
    let other = Served::start().stop();
    let printed = copy(other.data.to_str().unwrap(), &url).await;
    assert!(printed.code() == 1 && printed.err.contains("another record 1"), "{printed:?}");
    assert_same(&audit(&["--nats", &url]).await, &after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_refused_where_somebody_writes() {
    let arena = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to");
    let data = arena.data.to_str().unwrap();
    assert_eq!(copy(data, to.to_str().unwrap()).await.code(), 0, "a running arena may be copied");
    let printed = copy(to.to_str().unwrap(), data).await;
    assert!(printed.code() == 1 && printed.err.contains("in use by another arena"), "{printed:?}");
    let printed = copy(folder.path().to_str().unwrap(), to.to_str().unwrap()).await;
    assert!(printed.code() == 1 && printed.err.contains("there is no journal in"), "{printed:?}");
    let printed = copy("nats://127.0.0.1:1", to.to_str().unwrap()).await;
    assert!(printed.code() == 1 && printed.err.contains("cannot be reached"), "{printed:?}");
}

/// A snapshot after so many records.
const PACE: u64 = 5;

fn bytes<const N: usize>(at: u64) -> [u8; N] {
    std::array::from_fn(|place| at.to_le_bytes()[place % 8] ^ place as u8)
}

/// A data folder with a journal of several eras and a snapshot near its end.
fn several_eras(data: &Path) -> u32 {
    fs::create_dir_all(data).unwrap();
    let path = SqliteJournal::path_in(data, Partition(0), Era(1));
    let records = path.clone();
    let maker = SnapshotMaker::start(SnapshotMakerOptions {
        partition: Partition(0),
        store: Arc::new(FolderSnapshots::in_data(data)),
        readers: Box::new(move || SqliteJournal::open_reader(&records)),
        pace: SnapshotPace { records: PACE, bytes: u64::MAX },
        sharing: None,
    })
    .unwrap();
    let options = StartOptions {
        partition: Partition(0),
        clock: Clock::System,
        incarnation: Incarnation([1; 16]),
        followers: vec![Box::new(maker.follower())],
    };
    let key = VaultKey::load(&data.join("vault.key"), true).unwrap();
    let texts = Texts::new(Arc::new(Vault::open(&data.join("vault.db"), key).unwrap()));
    let journal = SqliteJournal::open(&path).unwrap().with_era_bytes(40_000);
    let sequencer = Sequencer::start(Box::new(journal), options).unwrap();
    for at in 0..220 {
        let id = AgentId::from_random(Partition(0), bytes(at));
        texts.create_owner(TextOwner::Agent(id)).unwrap();
        let (name, sealed) = texts.seal(TextOwner::Agent(id), &format!("Old {at}")).unwrap();
        let command = RegisterAgent {
            id,
            public_slug: PublicSlug(bytes(at)),
            handle: Handle::parse(&format!("old-{at}")).unwrap(),
            name: Some(name),
            protocol: Protocol::House,
            method: ConnectionMethod::House,
            endpoint: None,
            challenges: ChallengePolicy::Open,
            credentials: vec![NewCredential { kind: CredentialKind::ApiKey, hash: SecretHash(bytes(at)) }],
        };
        let pending =
            sequencer.producer().try_submit(vec![Submission::new(command).with_text(sealed)]).unwrap();
        let outcome =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(pending.outcome()));
        assert!(outcome.unwrap().result.is_ok());
    }
    let last = sequencer.handle().position();
    sequencer.stop().unwrap();
    let begun = Instant::now();
    while maker.proved().0 + PACE < last.0 {
        assert!(begun.elapsed() < PATIENCE && maker.ended().is_none(), "{:?}", maker.ended());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(maker);
    (1..=99).take_while(|era| SqliteJournal::path_in(data, Partition(0), Era(*era)).is_file()).count() as u32
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_eras_are_archived_removed_and_wanted_back_by_whom_needs_them() {
    let folder = tempfile::tempdir().unwrap();
    let (data, away) = (folder.path().join("data"), folder.path().join("away"));
    let eras = several_eras(&data);
    assert!(eras >= 3, "{eras} eras");
    let (data, away) = (data.to_str().unwrap(), away.to_str().unwrap());
    // The views come to the journal's end.
    let served = || Served::try_with(ServeOptions { data: Some(data.into()), ..ServeOptions::default() });
    served().unwrap().stop();
    let before = audit(&["--data", data]).await;

    let archive = ["journal", "archive", "--json", "--data", data, "--to", away];
    let report = parsed(&run(&archive).await);
    let archived = report["archived"].as_array().unwrap();
    assert_eq!(archived.len() as u32, eras - 1);
    let text = fs::read_to_string(Path::new(away).join("records-0-1.txt")).unwrap();
    for line in ["partition 0", "era 1", "first 1"] {
        assert!(text.lines().any(|it| it == line), "{text}");
    }
    assert!(text.contains(archived[0]["blake3"].as_str().unwrap()), "{text}");
    let again = parsed(&run(&archive).await);
    assert!(again["archived"].as_array().unwrap().iter().all(|era| era["written"] == false), "{again}");

    let removed = parsed(&run(&[&archive[..], &["--remove"]].concat()).await);
    assert_eq!(removed["archived"].as_array().unwrap().len() as u32, eras - 1);
    assert!(!Path::new(data).join("records-0-1.db").exists());
    let first = archived.last().unwrap()["last"].as_u64().unwrap() + 1;
    let printed = run(&["audit", "--data", data]).await;
    let words = format!("goes on with record {first}");
    assert!(
        printed.code() == 1 && printed.out.contains(&words) && printed.out.contains("era 1"),
        "{printed:?}"
    );
    assert_same(&audit(&["--data", data, "--archive", away]).await, &before);
    let info = parsed(&run(&["journal", "info", "--json", "--data", data]).await);
    assert_eq!(info["first_record"], first);

    // A start goes on from the snapshot; without one it is refused and says what is wanted.
    let arena = served().unwrap();
    arena.register("new", "http://127.0.0.1:9/play").await;
    arena.stop();
    fs::rename(Path::new(data).join("snapshots"), Path::new(data).join("no-snapshots")).unwrap();
    let log = served().map(|_| ()).unwrap_err();
    assert!(log.contains(&words), "{log}");

    // One flipped bit in an archive is found before anything is removed.
    let file = Path::new(away).join("records-0-1.db");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let printed = run(&["audit", "--data", data, "--archive", away]).await;
    assert_eq!(printed.code(), 1, "{printed:?}");
}

/// Puts a data folder's snapshots into the store on a server, as an engine there would have made them.
async fn share_snapshots(data: &str, url: &str) {
    let nats = Nats::connect(&NatsOptions::new(url)).await.unwrap();
    let (to, from) = (ObjectSnapshots::open(&nats).await.unwrap(), FolderSnapshots::in_data(Path::new(data)));
    tokio::task::spawn_blocking(move || {
        for number in from.list(Partition(0)).unwrap() {
            let bytes = from.get(Partition(0), number).unwrap().unwrap();
            to.put(Partition(0), number, &bytes).unwrap();
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_engine_begins_behind_eras_that_are_gone_and_a_gateway_with_their_archive_in_its_copy() {
    if left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (old, away) = (folder.path().join("old"), folder.path().join("away"));
    several_eras(&old);
    let (data, to) = (old.to_str().unwrap(), away.to_str().unwrap());
    let servers = NatsServers::one(&NatsSetup::default());
    let url = servers.url();
    parsed(&copy(data, &url).await);
    share_snapshots(data, &url).await;
    let archive = ["journal", "archive", "--json", "--nats", &url, "--to", to, "--remove"];
    let archived = parsed(&run(&archive).await)["archived"].as_array().unwrap().clone();
    let first = archived.last().unwrap()["last"].as_u64().unwrap() + 1;

    let serve = |name: &str, role: &str| {
        let data = folder.path().join(name);
        let flags = ["--nats", &url, "--role", role].map(str::to_owned).to_vec();
        let variables = vec![
            ("ARENA_VAULT__KEY_FILE".to_owned(), old.join("vault.key").display().to_string()),
            ("RUST_LOG".to_owned(), "info".to_owned()),
        ];
        Served::try_with(ServeOptions { data: Some(data), flags, variables, ..ServeOptions::default() })
    };
    let engine = serve("engine", "engine").unwrap();
    assert!(engine.log().contains("begun from the snapshot 0-"), "{}", engine.log());
    // A gateway shows what was played from the first record on, and says which archive that needs.
    let log = serve("gateway", "gateway").map(drop).unwrap_err();
    assert!(log.contains("era 1") && log.contains(&format!("goes on with record {first}")), "{log}");
    let mirror = folder.path().join("gateway/mirror");
    for entry in fs::read_dir(&away).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), mirror.join(entry.file_name())).unwrap();
    }
    let gateway = serve("gateway", "gateway").unwrap();
    gateway.register("new", "http://127.0.0.1:9/play").await;
    let (status, shown) = gateway.get("/api/v1/agents/old-3", None).await;
    assert_eq!((status, &shown["slug"]), (200, &Value::from("old-3")), "{shown}");
    gateway.stop();
    engine.stop();
    let whole = audit(&["--nats", &url, "--archive", to]).await;
    let copied = folder.path().join("gateway");
    let copy = audit(&["--data", copied.to_str().unwrap()]).await;
    let records = |report: &Value| report["records"].as_u64().unwrap();
    assert!(records(&copy) > first && records(&copy) <= records(&whole), "{copy} {whole}");
    let report = parsed(&run(&["doctor", "--json", "--nats", &url, "--data", data]).await);
    let checks = report["checks"].as_array().unwrap();
    let says = |word: &str| checks.iter().any(|check| check["says"].as_str().unwrap().contains(word));
    assert!(says("OBJ_ARENA_SNAPSHOTS") && says("an empty folder begins from the snapshot"), "{report:#}");

    // A copy is trimmed only where a snapshot in the store is behind what goes.
    let config = folder.path().join("arena.toml");
    fs::write(&config, "").unwrap();
    let config = config.to_str().unwrap();
    let trim = [
        "journal",
        "archive",
        "--data",
        copied.to_str().unwrap(),
        "--to",
        to,
        "--remove",
        "--config",
        config,
    ];
    let printed = run(&trim).await;
    assert!(printed.code() == 1 && printed.err.contains("set nats.url"), "{printed:?}");
    fs::write(config, format!("[nats]\nurl = {url:?}\n")).unwrap();
    assert_eq!(run(&trim).await.code(), 0);
    let mut copies = fs::read_dir(&mirror).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!copies.any(|name| name == "records-0-1.db"));
    let engine = serve("engine", "engine").unwrap();
    serve("gateway", "gateway").unwrap().stop();
    engine.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_of_several_eras_goes_to_nats_and_its_archives_come_from_there() {
    if left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let eras = several_eras(&data);
    let data = data.to_str().unwrap();
    let before = audit(&["--data", data]).await;
    let servers = NatsServers::one(&NatsSetup::default());
    let url = servers.url();
    parsed(&copy(data, &url).await);
    assert_same(&audit(&["--nats", &url]).await, &before);
    let away = folder.path().join("away");
    let away = away.to_str().unwrap();
    let archive = ["journal", "archive", "--json", "--nats", &url, "--to", away, "--remove"];
    let printed = run(&archive).await;
    assert!(printed.code() == 1 && printed.err.contains("nothing was removed"), "{printed:?}");
    assert_same(&audit(&["--nats", &url]).await, &before);
    share_snapshots(data, &url).await;
    let report = parsed(&run(&archive).await);
    assert_eq!(report["archived"].as_array().unwrap().len() as u32, eras - 1);
    assert!(report["texts_removed"].as_u64().unwrap() > 0, "{report}");
    let printed = run(&["audit", "--nats", &url]).await;
    assert!(printed.code() == 1 && printed.out.contains("it was archived"), "{printed:?}");
    assert_same(&audit(&["--nats", &url, "--archive", away]).await, &before);
    // The archives of one store are those of the other.
    let own = folder.path().join("own");
    parsed(&run(&["journal", "archive", "--json", "--data", data, "--to", own.to_str().unwrap()]).await);
    for era in 1..eras {
        let name = format!("records-0-{era}.txt");
        assert_eq!(fs::read(own.join(&name)).unwrap(), fs::read(Path::new(away).join(&name)).unwrap());
    }
}
