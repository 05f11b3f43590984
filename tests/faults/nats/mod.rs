//! Faults of an arena whose processes share a journal on NATS: real servers, the real binary, and the audit as the judge. What
//! belongs here: a site with its processes, a load whose acknowledgements are kept, and what must hold of any journal in the end.
//! What never does: a fault.

mod cut;
mod figures;
mod forgotten;
mod gateways;
mod leader;
mod partitions;
mod reads;
mod servers;
mod sessions;
mod snapshots;
mod space;
mod starting;
mod stops;

use crate::records::{self, Reduced};
use arena_journal::{
    JetStreamJournal, Journal, Nats, NatsOptions, Reader, SqliteJournal, Visit, audit, replicated::mirror_in,
};
use arena_schema::{
    Event,
    id::{Era, Partition, RecordNumber},
    subject::LEASES_BUCKET,
};
use arena_tests::{
    ServeOptions, Served,
    nats::{NatsServers, NatsSetup},
    served::{PATIENCE, binary, client, poll, poll_async},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::task::JoinSet;

const PARTITION: Partition = Partition(0);
/// Longer than a stop of the load takes once all is well again.
const REQUEST_WAIT: Duration = Duration::from_secs(40);

/// Servers, and the folders and the key of the processes that work on them.
struct Site {
    servers: NatsServers,
    folder: TempDir,
    names: Mutex<BTreeSet<String>>,
    replicas: usize,
    partitions: u16,
}

impl Site {
    fn one() -> Self {
        Self::on(NatsServers::one(&NatsSetup::default()), 1)
    }

    fn three() -> Self {
        Self::on(NatsServers::three(&NatsSetup::default()), 3)
    }

    fn on(servers: NatsServers, replicas: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("vault.key"), [7; 32]).unwrap();
        restrict(&folder.path().join("vault.key"));
        Self { servers, folder, names: Mutex::default(), replicas, partitions: 1 }
    }

    /// The same over so many partitions.
    fn with_partitions(self, partitions: u16) -> Self {
        Self { partitions, ..self }
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How a process of this name is served.
    fn options(&self, name: &str, role: &str, url: &str) -> ServeOptions {
        let data = self.data(name);
        fs::create_dir_all(&data).unwrap();
        self.names.lock().unwrap().insert(name.to_owned());
        let flags = ["--nats", url, "--role", role, "--public-url", &format!("http://{name}.arena.example")];
        ServeOptions {
            data: Some(data),
            flags: flags.map(str::to_owned).to_vec(),
            variables: vec![
                ("ARENA_VAULT__KEY_FILE".to_owned(), self.data("vault.key").display().to_string()),
                ("ARENA_NATS__REPLICAS".to_owned(), self.replicas.to_string()),
                ("ARENA_PARTITIONS".to_owned(), self.partitions.to_string()),
            ],
            ..ServeOptions::default()
        }
    }

    /// A process that is ready.
    fn serve(&self, name: &str, role: &str) -> Served {
        Served::with(self.options(name, role, &self.servers.url()))
    }

    /// Processes of these names that are ready, started beside each other.
    fn serve_all<const N: usize>(&self, processes: [(&str, &str); N]) -> [Served; N] {
        thread::scope(|scope| {
            processes
                .map(|(name, role)| scope.spawn(move || self.serve(name, role)))
                .map(|it| it.join().unwrap())
        })
    }

    /// Works on the journal as an auditor does: over a connection of its own.
    fn journal<T: Send>(&self, work: impl FnOnce(&Nats, &JetStreamJournal) -> T + Send) -> T {
        self.journal_of(PARTITION, work)
    }

    /// The same for another partition's.
    fn journal_of<T: Send>(
        &self,
        partition: Partition,
        work: impl FnOnce(&Nats, &JetStreamJournal) -> T + Send,
    ) -> T {
        let options = NatsOptions { replicas: self.replicas, ..NatsOptions::new(self.servers.url()) };
        thread::scope(|scope| {
            let working = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
                let nats = runtime.block_on(Nats::connect(&options)).unwrap();
                let open = JetStreamJournal::open(&nats, partition, Era(1), RecordNumber(1));
                let journal = runtime.block_on(open).unwrap();
                work(&nats, &journal)
            });
            working.join().unwrap()
        })
    }

    /// One question to JetStream's API.
    fn ask(&self, operation: &str, body: &Value) -> Value {
        self.journal(|nats, _| {
            let asked = nats.client().request(format!("$JS.API.{operation}"), body.to_string().into());
            serde_json::from_slice(&nats.runtime().block_on(asked).unwrap().payload).unwrap()
        })
    }

    /// Sets one setting of the stream of records.
    fn alter(&self, setting: &str, value: Value) {
        let mut config = self.ask("STREAM.INFO.ARENA_RECORDS_0_1", &Value::Null)["config"].clone();
        config[setting] = value;
        let answer = self.ask("STREAM.UPDATE.ARENA_RECORDS_0_1", &config);
        assert_eq!(answer["error"], Value::Null, "{answer}");
    }

    /// The record that the last leader knew to be stored, as it stands beside the lease.
    fn lease_mark(&self) -> Option<u64> {
        self.journal(|nats, _| {
            let read = async {
                nats.jetstream().get_key_value(LEASES_BUCKET).await.ok()?.get("leader.0").await.ok()?
            };
            let value = nats.runtime().block_on(read)?;
            std::str::from_utf8(&value).ok()?.split(' ').nth(1)?.parse().ok()
        })
    }

    /// What must hold whatever happened; all processes have ended. Gives the records.
    #[track_caller]
    fn judge(&self) -> Vec<Reduced> {
        self.judge_of(PARTITION)
    }

    /// The same of another partition.
    #[track_caller]
    fn judge_of(&self, partition: Partition) -> Vec<Reduced> {
        let records = self.journal_of(partition, |_, journal| {
            audit(journal.reader().unwrap().as_mut(), partition, &[]).expect("the stream passes the audit");
            records::all_of(journal.reader().unwrap().as_mut(), partition)
        });
        for name in self.names.lock().unwrap().iter() {
            let path = mirror_in(&self.data(name), partition);
            // A process that never followed has none.
            if path.is_file() {
                assert_mirror(name, SqliteJournal::open_reader(&path).unwrap().as_mut(), partition, &records);
            }
        }
        assert_epochs(&records);
        records
    }
}

/// The same process without a hand on it.
fn command(options: &ServeOptions) -> Command {
    let mut command = Command::new(binary());
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(options.data.as_ref().unwrap());
    command.args(&options.flags).envs(options.variables.iter().cloned()).env("NO_COLOR", "1");
    command.current_dir(std::env::temp_dir()).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// What a process says that ends by itself, and not in order.
#[track_caller]
fn refused(options: &ServeOptions) -> String {
    let mut child = command(options).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            break;
        }
        poll();
    }
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code().is_some_and(|code| code != 0), "{}: {words}", output.status);
    words
}

/// A key that others may read is refused.
fn restrict(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A local copy passes the audit, and has the journal's first records, byte for byte.
#[track_caller]
fn assert_mirror(name: &str, mirror: &mut dyn Reader, partition: Partition, records: &[Reduced]) {
    audit(mirror, partition, &[]).unwrap_or_else(|why| panic!("the copy of {name} does not pass: {why}"));
    mirror
        .read(RecordNumber(1), &mut |stored| {
            let theirs = records.get(stored.number.0 as usize - 1).map(|record| &record.bytes[..]);
            assert!(theirs == Some(stored.bytes), "record {} of {name} is not the journal's", stored.number);
            Visit::Next
        })
        .unwrap();
}

/// Epochs never go back, and each begins with the announcement of its leader, alone in its record.
#[track_caller]
fn assert_epochs(records: &[Reduced]) {
    let mut last = 0;
    for Reduced { header, commands, events, .. } in records {
        let announces = events.iter().any(|event| matches!(event, Event::SequencerAnnounced(_)));
        assert!(
            header.epoch.0 >= last,
            "record {} is of epoch {}, after {last}",
            header.number,
            header.epoch.0
        );
        assert_eq!(announces, header.epoch.0 > last, "record {}: {events:?}", header.number);
        assert!(!announces || *commands == 1, "an announcement stands alone");
        last = header.epoch.0;
    }
}

/// Whether each of these agents was registered, once.
#[track_caller]
fn assert_registered_once(records: &[Reduced], acknowledged: &[String]) {
    let mut handles = BTreeSet::new();
    for event in records.iter().flat_map(|record| &record.events) {
        if let Event::AgentRegistered(event) = event {
            assert!(handles.insert(event.handle.to_string()), "{} was registered twice", event.handle);
        }
    }
    let lost: Vec<_> = acknowledged.iter().filter(|slug| !handles.contains(*slug)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}

/// Nobody was struck, and no match was voided.
#[track_caller]
fn assert_nobody_paid(records: &[Reduced]) {
    use arena_schema::event::matches::EndReason;
    for event in records.iter().flat_map(|record| &record.events) {
        match event {
            Event::StrikeRecorded(event) => panic!("nobody earned this: {event:?}"),
            Event::MatchEnded(event) => assert_ne!(event.reason, EndReason::Void, "{event:?}"),
            _ => {}
        }
    }
}

/// Which of these processes began to lead last, by its own words; waits until one has.
fn leader_of(processes: &[Served]) -> usize {
    wait_for("a leader", || {
        let begun = processes.iter().enumerate().filter_map(|(at, served)| Some((last_lead(served)?, at)));
        begun.max().map(|(_, at)| at)
    })
}

/// The record of the last announcement that a process says was its own.
fn last_lead(served: &Served) -> Option<u64> {
    let log = served.log();
    let line =
        log.lines().rev().find(|line| line.contains("this process leads") && line.contains("record="))?;
    let number = line.split("record=").nth(1)?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Waits until something is there.
#[track_caller]
fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} does not come");
        poll();
    }
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// What was acknowledged, and when it was asked for.
#[derive(Default)]
struct Ledger {
    acknowledged: Vec<(Instant, Instant, String)>,
    odd: Vec<String>,
}

/// Clients that register agents of distinct names, over and over.
struct Load {
    ledger: Arc<Mutex<Ledger>>,
    stopping: Arc<AtomicBool>,
    clients: JoinSet<()>,
}

impl Load {
    /// So many clients for each of these processes.
    fn start(gateways: &[&Served], clients: usize) -> Self {
        static LOADS: AtomicUsize = AtomicUsize::new(0);
        let load = LOADS.fetch_add(1, Ordering::SeqCst);
        let (ledger, stopping) = (Arc::<Mutex<Ledger>>::default(), Arc::<AtomicBool>::default());
        let mut running = JoinSet::new();
        for (at, gateway) in gateways.iter().enumerate() {
            for own in 0..clients {
                let (ledger, stopping) = (Arc::clone(&ledger), Arc::clone(&stopping));
                let url = gateway.url.clone();
                running.spawn(async move {
                    let http = client();
                    for n in 0.. {
                        if stopping.load(Ordering::SeqCst) {
                            return;
                        }
                        let begun = Instant::now();
                        let slug = format!("load-{load}-{at}-{own}-{n}");
                        match register(&http, &url, &slug).await {
                            Some((201, value)) => {
                                assert_eq!(value["slug"], json!(slug));
                                ledger.lock().unwrap().acknowledged.push((begun, Instant::now(), slug));
                            }
                            Some((503, _)) | None => poll_async().await,
                            Some(odd) => ledger.lock().unwrap().odd.push(format!("{slug}: {odd:?}")),
                        }
                    }
                });
            }
        }
        Self { ledger, stopping, clients: running }
    }

    fn count(&self) -> usize {
        self.ledger.lock().unwrap().acknowledged.len()
    }

    /// Until so many more were acknowledged.
    async fn more(&self, count: usize) {
        let enough = self.count() + count;
        let begun = Instant::now();
        while self.count() < enough {
            assert!(begun.elapsed() < PATIENCE, "nothing is acknowledged any more");
            poll_async().await;
        }
    }

    /// How long it took from then on until something was acknowledged that was asked for later than that.
    async fn resumed(&self, since: Instant) -> Duration {
        let begun = Instant::now();
        loop {
            let first = {
                let ledger = self.ledger.lock().unwrap();
                let later = ledger.acknowledged.iter().filter(|(asked, ..)| *asked > since);
                later.map(|(_, answered, _)| *answered).min()
            };
            if let Some(first) = first {
                return first - since;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing is acknowledged any more");
            poll_async().await;
        }
    }

    /// Ends it; gives what was acknowledged.
    async fn stop(self) -> Vec<String> {
        self.stopping.store(true, Ordering::SeqCst);
        self.clients.join_all().await;
        let ledger = self.ledger.lock().unwrap();
        assert_eq!(ledger.odd, Vec::<String>::new());
        ledger.acknowledged.iter().map(|(.., slug)| slug.clone()).collect()
    }
}

/// Registers an agent that nobody asks; none where no answer comes.
async fn register(http: &reqwest::Client, url: &str, slug: &str) -> Option<(u16, Value)> {
    let body = json!({"name": slug, "protocol": "agentarena/1", "endpoint_url": "http://127.0.0.1:9/play"});
    let request = http.post(format!("{url}/api/v1/agents")).timeout(REQUEST_WAIT);
    let response =
        request.header("content-type", "application/json").body(body.to_string()).send().await.ok()?;
    let status = response.status().as_u16();
    let bytes = response.bytes().await.ok()?;
    Some((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}
