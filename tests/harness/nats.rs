//! Real NATS servers for tests: one, or a cluster of three, on loopback with a store in a folder of their own. What belongs
//! here: starting, waiting until they are ready, killing, pausing and starting again, each by its own process. What never does:
//! a word of journals. Two crates include this file, so it leans on nothing of either.

#![allow(dead_code, unreachable_pub, reason = "each crate that includes it uses a part of it")]

use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Longer than any server takes to be ready on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Ports of ours lie below those that systems give out by themselves, so that a server finds its own again after a restart.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Whether the tests that need a NATS server are to be left out, which it says.
pub fn left_out() -> bool {
    let core = std::env::var_os("ARENA_TESTS_CORE").is_some();
    if core {
        eprintln!("left out: this test needs nats-server, and ARENA_TESTS_CORE is set");
    }
    core
}

/// How servers are set up.
#[derive(Debug, Clone)]
pub struct NatsSetup {
    /// `sync_interval` as the config file says it.
    pub sync_interval: String,
    /// More text for the config file, such as accounts.
    pub extra: String,
}

impl Default for NatsSetup {
    fn default() -> Self {
        Self { sync_interval: "always".to_owned(), extra: String::new() }
    }
}

/// Servers that run, or did. They are killed and their folder is deleted when dropped.
#[derive(Debug)]
pub struct NatsServers {
    /// Each server.
    pub nodes: Vec<NatsNode>,
    folder: TempDir,
}

/// One server.
#[derive(Debug)]
pub struct NatsNode {
    name: String,
    port: u16,
    monitor_port: u16,
    config: PathBuf,
    log: PathBuf,
    store: PathBuf,
    running: Option<Running>,
}

impl NatsServers {
    /// One server, ready.
    ///
    /// # Panics
    /// Where there is no nats-server, or it does not start.
    pub fn one(setup: &NatsSetup) -> Self {
        Self::start(1, setup)
    }

    /// A cluster of three, with a leader that all follow.
    ///
    /// # Panics
    /// Where there is no nats-server, or it does not start.
    pub fn three(setup: &NatsSetup) -> Self {
        Self::start(3, setup)
    }

    fn start(count: usize, setup: &NatsSetup) -> Self {
        let begun = Instant::now();
        loop {
            let folder = TempDir::new().expect("a temporary folder");
            let nodes = configure(folder.path(), count, setup);
            let mut servers = Self { nodes, folder };
            let started = servers.nodes.iter_mut().try_for_each(NatsNode::try_start);
            match started.and_then(|()| servers.try_wait_ready()) {
                Ok(()) => return servers,
                // Somebody else took one of the ports in between.
                Err(why) if why.contains("address already in use") && begun.elapsed() < PATIENCE => {}
                Err(why) => panic!("nats-server does not start: {why}"),
            }
        }
    }

    /// The address of all of them.
    pub fn url(&self) -> String {
        self.nodes.iter().map(NatsNode::url).collect::<Vec<_>>().join(",")
    }

    /// Where all of them can be monitored.
    pub fn monitor_url(&self) -> String {
        self.nodes.iter().map(NatsNode::monitor_url).collect::<Vec<_>>().join(",")
    }

    /// A file in the servers' folder, for credentials and such.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("the folder takes a file");
        path
    }

    /// Whether any file of any server holds these bytes.
    pub fn hold(&self, bytes: &[u8]) -> bool {
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            // What goes while it is looked at holds nothing.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if fs::read(entry.path())
                    .is_ok_and(|file| file.windows(bytes.len()).any(|it| it == bytes))
                {
                    return true;
                }
            }
        }
        false
    }

    /// Waits until every one that runs is ready, and a cluster has a leader that all that run follow.
    ///
    /// # Panics
    /// Where that does not come.
    pub fn wait_ready(&mut self) {
        self.try_wait_ready().unwrap_or_else(|why| panic!("nats-server is not ready: {why}"));
    }

    fn try_wait_ready(&mut self) -> Result<(), String> {
        let clustered = self.nodes.len() > 1;
        let running = self.nodes.iter().filter(|node| node.runs()).count();
        for node in self.nodes.iter_mut().filter(|node| node.running.is_some()) {
            node.wait(|node| node.get("/healthz").is_some_and(|answer| answer["status"] == "ok"))?;
            if clustered {
                node.wait(|node| {
                    let Some(answer) = node.get("/jsz") else {
                        return false;
                    };
                    let meta = &answer["meta_cluster"];
                    let leader = meta["leader"].as_str().unwrap_or_default();
                    // Only the leader knows who follows.
                    let current = meta["replicas"].as_array().map_or(0, |replicas| {
                        replicas.iter().filter(|it| it["current"] == true && it["offline"] != true).count()
                    });
                    !leader.is_empty() && (leader != node.name || current + 1 >= running)
                })?;
            }
        }
        Ok(())
    }

    /// Which server leads a stream; waits until one does.
    ///
    /// # Panics
    /// Where none does for long.
    pub fn leader_of(&self, stream: &str) -> usize {
        let begun = Instant::now();
        loop {
            for node in self.nodes.iter().filter(|node| node.runs()) {
                let answer = node.get("/jsz?streams=true").unwrap_or_default();
                let accounts = answer["account_details"].as_array().cloned().unwrap_or_default();
                let mut streams = accounts
                    .iter()
                    .flat_map(|account| account["stream_detail"].as_array().cloned().unwrap_or_default());
                let leader = streams
                    .find(|detail| detail["name"] == stream)
                    .and_then(|detail| detail["cluster"]["leader"].as_str().map(str::to_owned));
                let leads = |node: &NatsNode| node.runs() && leader.as_deref() == Some(&node.name);
                if let Some(at) = self.nodes.iter().position(leads) {
                    return at;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "no server leads the stream {stream}");
            poll();
        }
    }
}

impl NatsNode {
    /// `nats://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// `http://127.0.0.1:PORT`.
    pub fn monitor_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.monitor_port)
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where it keeps what its streams have.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Whether it was started and not ended by us.
    pub fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Ends it as a power cut would, as far as a process can be.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// Stops it in its tracks: its connections stand, and nothing answers.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// Starts it again on the same ports and store, and waits until it answers.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start(&mut self) {
        self.try_start()
            .and_then(|()| {
                self.wait(|node| node.get("/healthz").is_some_and(|answer| answer["status"] == "ok"))
            })
            .unwrap_or_else(|why| panic!("nats-server does not start again: {why}"));
    }

    /// What its monitoring port answers, where it does.
    pub fn get(&self, path: &str) -> Option<Value> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.monitor_port)).ok()?;
        connection.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        connection.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    fn signal(&self, name: &str) {
        let running = self.running.as_ref().expect("it runs");
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -s \"$0\" \"$1\"", name, &running.child.id().to_string()]);
        assert!(
            kill.status().expect("sh runs").success(),
            "the process {} takes no {name}",
            running.child.id()
        );
    }

    fn try_start(&mut self) -> Result<(), String> {
        self.running = None;
        let mut server = Command::new(binary());
        server
            .arg("--config")
            .arg(&self.config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = server.spawn().map_err(|why| why.to_string())?;
        self.running = Some(Running::new(child));
        Ok(())
    }

    fn wait(&mut self, ready: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !ready(self) {
            let log = || fs::read_to_string(&self.log).unwrap_or_default();
            let Some(running) = &mut self.running else {
                return Err("it was not started".to_owned());
            };
            if let Ok(Some(status)) = running.child.try_wait() {
                return Err(format!("it ended with {status}:\n{}", log()));
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("it is not ready after {PATIENCE:?}:\n{}", log()));
            }
            poll();
        }
        Ok(())
    }
}

/// A server's process, and one that kills it should the test be killed before.
#[derive(Debug)]
struct Running {
    child: Child,
    guard: Option<Child>,
}

impl Running {
    fn new(child: Child) -> Self {
        let mut guard = Command::new("sh");
        guard.args(["-c", "read -r _; kill -s KILL \"$0\"", &child.id().to_string()]);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child, guard: guard.spawn().ok() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The guard goes first, while the process that it names is surely ours.
        if let Some(guard) = &mut self.guard {
            let _ = guard.kill();
            let _ = guard.wait();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configure(folder: &Path, count: usize, setup: &NatsSetup) -> Vec<NatsNode> {
    let ports: Vec<[u16; 3]> = (0..count).map(|_| [free_port(), free_port(), free_port()]).collect();
    let routes: Vec<String> = ports.iter().map(|[.., route]| format!("nats://127.0.0.1:{route}")).collect();
    ports
        .iter()
        .enumerate()
        .map(|(at, &[port, monitor_port, route])| {
            let name = format!("n{}", at + 1);
            let (config, log) = (folder.join(format!("{name}.conf")), folder.join(format!("{name}.log")));
            let store = folder.join(&name);
            let cluster = if count == 1 {
                String::new()
            } else {
                format!(
                    "cluster {{ name: arena, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                    routes.join(", ")
                )
            };
            let text = format!(
                "server_name: {name}\nlisten: \"127.0.0.1:{port}\"\nhttp: \"127.0.0.1:{monitor_port}\"\n\
                 log_file: \"{}\"\njetstream {{ store_dir: \"{}\", sync_interval: {} }}\n{cluster}{}",
                log.display(),
                store.display(),
                setup.sync_interval,
                setup.extra
            );
            fs::write(&config, text).expect("the folder takes a file");
            NatsNode { name, port, monitor_port, config, log, store, running: None }
        })
        .collect()
}

/// A port of loopback that was free a moment ago.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let many = PORTS.end - PORTS.start;
    // Tests that run beside each other begin at different places.
    let begin = std::process::id().wrapping_mul(97) as u16;
    loop {
        let at = NEXT.fetch_add(1, Ordering::SeqCst);
        let port = PORTS.start + begin.wrapping_add(at) % many;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The server's program.
///
/// # Panics
/// Where there is none; it says how to get it.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("ARENA_TESTS_NATS_SERVER") {
        return path.into();
    }
    let installed = tools().join("nats-server");
    if installed.is_file() {
        return installed;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("nats-server")).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "this test needs nats-server 2.12.3 or newer: run tests/install, which puts it under target/test-tools, or \
             name its path in ARENA_TESTS_NATS_SERVER; tests/run --core leaves such tests out"
        )
    })
}

/// A Python that has NATS's client.
///
/// # Panics
/// Where there is none; it says how to get it.
pub fn python() -> PathBuf {
    if let Some(path) = std::env::var_os("ARENA_TESTS_NATS_PYTHON") {
        return path.into();
    }
    let installed = tools().join("python3");
    assert!(
        installed.is_file(),
        "this test needs nats-py: run tests/install, which puts it under target/test-tools, or name a Python that has it in \
         ARENA_TESTS_NATS_PYTHON; tests/run --core leaves such tests out"
    );
    installed
}

/// Where tests/install puts programs.
fn tools() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace =
        manifest.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(manifest);
    workspace.join("target/test-tools/nats/bin")
}

/// A short pause between two looks at a condition.
fn poll() {
    std::thread::sleep(Duration::from_millis(10));
}
