//! An arena in a process of its own, on a free port of loopback, over a data folder that a test may look into.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long a condition may take on a machine that does other things too. Nothing is measured by it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The arena's binary of this build.
///
/// # Panics
/// Where it was not built: `cargo build --workspace` makes it.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let binary = folder.join("arena");
    assert!(
        binary.is_file(),
        "{} is missing: run `cargo build --workspace --all-targets` first",
        binary.display()
    );
    binary
}

/// A client for loopback. The library wants to be told which cryptography it has, although nothing here is encrypted.
pub fn client() -> reqwest::Client {
    // A second telling is refused, and changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client for loopback")
}

/// How an arena is served.
#[derive(Default)]
pub struct ServeOptions {
    /// The data folder; a fresh one where there is none.
    pub data: Option<PathBuf>,
    /// Flags besides `--listen`, `--data` and `--dev`.
    pub flags: Vec<String>,
    /// Without `--dev`.
    pub no_dev: bool,
    /// Environment variables.
    pub variables: Vec<(String, String)>,
    /// A program and its arguments that becomes the arena's binary in the end (`exec`), as a shell that sets limits does; the
    /// binary and its arguments are appended. None where it is empty.
    pub through: Vec<String>,
}

/// A running arena. It is killed when dropped.
pub struct Served {
    child: Child,
    /// Where it answers, without a slash at its end.
    pub url: String,
    /// Its data folder.
    pub data: PathBuf,
    log: Arc<Mutex<Vec<String>>>,
    client: reqwest::Client,
    folder: Option<TempDir>,
}

/// An agent that was registered.
#[derive(Debug, Clone)]
pub struct Registered {
    /// Its slug.
    pub slug: String,
    /// Its api_key.
    pub api_key: String,
}

impl Served {
    /// Starts one with `--dev` over a fresh folder and waits for its ready line.
    pub fn start() -> Self {
        Self::with(ServeOptions::default())
    }

    /// Starts one and waits for its ready line.
    ///
    /// # Panics
    /// Where it ends before it is ready; its words are in the message.
    pub fn with(options: ServeOptions) -> Self {
        Self::try_with(options).unwrap_or_else(|log| panic!("the arena did not start:\n{log}"))
    }

    /// The same, or what it printed where it ended before it was ready.
    ///
    /// # Errors
    /// Its standard error.
    pub fn try_with(options: ServeOptions) -> Result<Self, String> {
        let folder = options.data.is_none().then(|| tempfile::tempdir().expect("a folder for the data"));
        let data = options.data.unwrap_or_else(|| folder.as_ref().expect("made above").path().join("data"));
        let mut command = match options.through.split_first() {
            None => Command::new(binary()),
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(binary());
                command
            }
        };
        command.arg("serve").args(["--listen", "127.0.0.1:0", "--data"]).arg(&data);
        if !options.no_dev {
            command.arg("--dev");
        }
        command.args(options.flags).envs(options.variables).env("NO_COLOR", "1");
        // Away from any arena.toml of the checkout.
        command.current_dir(std::env::temp_dir());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let kept = Arc::clone(&log);
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(url) = line.strip_prefix("listening on ") {
                    let _ = ready.send(url.to_owned());
                }
                kept.lock().expect("no test panics with it").push(line);
            }
        });
        match is_ready.recv_timeout(PATIENCE) {
            Ok(url) => {
                let client = client();
                Ok(Self { child, url, data, log, client, folder })
            }
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(log.lock().expect("no test panics with it").join("\n"))
            }
        }
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it printed to standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("no test panics with it").join("\n")
    }

    /// A client for its routes.
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Kills it at once, as `kill -9` does, and gives the data folder, which lives as long as what is returned.
    pub fn kill(mut self) -> Stopped {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Stopped { data: self.data.clone(), _folder: self.folder.take() }
    }

    /// Asks it to stop (SIGTERM) and waits until it has.
    ///
    /// # Panics
    /// Where it does not stop, or not with exit code 0.
    pub fn stop(mut self) -> Stopped {
        self.signal("TERM");
        let status = self.wait();
        assert!(status.success(), "it stopped with {status}:\n{}", self.log());
        Stopped { data: self.data.clone(), _folder: self.folder.take() }
    }

    /// Sends a signal by the process's id.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status();
        assert!(sent.expect("kill is there").success(), "the process is there");
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// Where it does not.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.log());
            poll();
        }
    }

    /// How it has ended, where it has.
    ///
    /// # Panics
    /// Where the system does not say.
    pub fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().expect("it can be waited for")
    }

    /// GET a path: the status and the JSON (null where there is none).
    pub async fn get(&self, path: &str, api_key: Option<&str>) -> (u16, Value) {
        let mut request = self.client.get(format!("{}{path}", self.url));
        if let Some(key) = api_key {
            request = request.bearer_auth(key);
        }
        answer(request).await.expect("the arena answers")
    }

    /// POST JSON to a path: the status and the JSON.
    pub async fn post(&self, path: &str, api_key: Option<&str>, body: &Value) -> (u16, Value) {
        self.try_post(path, api_key, body).await.expect("the arena answers")
    }

    /// The same where the arena may be gone.
    ///
    /// # Errors
    /// No answer came.
    pub async fn try_post(
        &self,
        path: &str,
        api_key: Option<&str>,
        body: &Value,
    ) -> reqwest::Result<(u16, Value)> {
        let mut request = self.client.post(format!("{}{path}", self.url)).body(body.to_string());
        if let Some(key) = api_key {
            request = request.bearer_auth(key);
        }
        answer(request.header("content-type", "application/json")).await
    }

    /// Registers an agentarena/1 agent.
    pub async fn register(&self, name: &str, endpoint: &str) -> Registered {
        let body = json!({
            "name": name, "connection_method": "remote_endpoint", "protocol": "agentarena/1", "endpoint_url": endpoint,
        });
        let (status, value) = self.post("/api/v1/agents", None, &body).await;
        assert_eq!(status, 201, "{value}");
        let text = |key: &str| value[key].as_str().expect("a text").to_owned();
        Registered { slug: text("slug"), api_key: text("api_key") }
    }

    /// Opens a practice match and gives its id.
    pub async fn practice(&self, agent: &Registered, opponent: &str) -> String {
        let (status, value) =
            self.post("/practice", Some(&agent.api_key), &json!({"opponent": opponent})).await;
        assert_eq!(status, 201, "{value}");
        value["match_id"].as_str().expect("an id").to_owned()
    }

    /// Opens a challenge with these further fields and gives its id.
    pub async fn challenge(&self, agent: &Registered, opponent: &str, further: Value) -> String {
        let mut body = json!({"game": "connect4", "opponent": opponent});
        for (key, value) in further.as_object().cloned().unwrap_or_default() {
            body[key] = value;
        }
        let (status, value) = self.post("/api/v1/matches", Some(&agent.api_key), &body).await;
        assert_eq!(status, 201, "{value}");
        value["match_id"].as_str().expect("an id").to_owned()
    }

    /// A match's replay as it stands.
    pub async fn replay(&self, match_id: &str, api_key: Option<&str>) -> Value {
        let (status, value) = self.get(&format!("/m/{match_id}.json"), api_key).await;
        assert_eq!(status, 200, "{value}");
        value
    }

    /// Waits until a match is over and gives its replay.
    pub async fn finished(&self, match_id: &str) -> Value {
        self.until(match_id, "it is over", |replay| replay["status"] != "running").await
    }

    /// Waits until a match's replay fulfils a condition.
    ///
    /// # Panics
    /// Where it does not within [`PATIENCE`].
    pub async fn until(&self, match_id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let replay = self.replay(match_id, None).await;
            if holds(&replay) {
                return replay;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} did not come: {replay}");
            poll_async().await;
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a stopped arena leaves.
pub struct Stopped {
    /// Its data folder.
    pub data: PathBuf,
    _folder: Option<TempDir>,
}

impl Stopped {
    /// Serves the same folder again.
    pub fn start(&self) -> Served {
        Served::with(ServeOptions { data: Some(self.data.clone()), ..ServeOptions::default() })
    }

    /// Runs `arena audit` over the folder: its JSON, with `holds` in it.
    pub fn audit(&self) -> Value {
        audit(&self.data)
    }
}

/// Runs `arena audit --json` over a data folder.
pub fn audit(data: &Path) -> Value {
    let output =
        Command::new(binary()).args(["audit", "--json", "--data"]).arg(data).output().expect("it runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| {
        panic!("the audit printed no JSON ({why}): {}", String::from_utf8_lossy(&output.stderr))
    })
}

async fn answer(request: reqwest::RequestBuilder) -> reqwest::Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let bytes = response.bytes().await?;
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// One breath between two looks at a condition.
pub fn poll() {
    thread::sleep(Duration::from_millis(10));
}

/// The same without holding a thread.
pub async fn poll_async() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
