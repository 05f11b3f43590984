//! Running the script: in a folder of its own, by a shell, against a relay that notes what it sees.

use arena_tests::{Agent, Reply, Seen, program::Printed, shared};
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// The address that a session has on the scripted relay, which takes any.
pub(super) const SESSION: &str = "/v2/s/the-address";

/// Shells that are here, each as a program and its first arguments. The system's own must be, unless only Rust may be needed.
pub(super) fn shells() -> Vec<Vec<&'static str>> {
    if shared::core_only() {
        return Vec::new();
    }
    let mut here = Vec::new();
    for shell in [vec!["sh"], vec!["dash"], vec!["busybox", "sh"], vec!["bash", "--posix"]] {
        let tried = Command::new(shell[0]).args(&shell[1..]).args(["-c", ":"]).stderr(Stdio::null()).status();
        if tried.is_ok_and(|status| status.success()) {
            here.push(shell);
        } else {
            eprintln!("left out: {} is not here", shell.join(" "));
        }
    }
    assert_eq!(here[0], ["sh"], "every system has one");
    here
}

/// Where the script stands in the repository.
pub(super) fn source() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../gateways/src/agentwire/client.sh")
}

/// The script in a folder, as a relay serves it.
pub(super) struct Client {
    shell: Vec<&'static str>,
    folder: TempDir,
    relay: Agent,
    /// The relay's address.
    pub(super) url: String,
    variables: Vec<(&'static str, String)>,
}

impl Client {
    /// With a relay that gives these answers one after the other, and the last one again.
    pub(super) async fn new(shell: &[&'static str], answers: Vec<Reply>) -> Self {
        Self::with(shell, move |n| answers[n.min(answers.len() - 1)].clone()).await
    }

    /// With a relay that answers its n-th request so.
    pub(super) async fn with(
        shell: &[&'static str],
        answers: impl Fn(usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let relay = Agent::start(move |n, _| answers(n)).await;
        let url = relay.url.trim_end_matches("/play").to_owned();
        let folder = tempfile::tempdir().unwrap();
        let script = fs::read_to_string(source()).unwrap();
        assert_eq!(script.matches("@RELAY@").count(), 1, "one place for the relay's address");
        fs::write(folder.path().join("agentwire"), script.replace("@RELAY@", &url)).unwrap();
        Self { shell: shell.to_vec(), folder, relay, url, variables: Vec::new() }
    }

    /// From now on with this variable.
    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        self.variables.push((name, value.to_owned()));
    }

    /// A path's URL on its relay.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// As if it had joined, and received up to a position.
    pub(super) fn joined(&self, position: u64) {
        fs::write(self.path(".agentwire"), format!("{}\n{position}\n\n", self.own_link())).unwrap();
    }

    /// The link that the scripted relay gives it.
    pub(super) fn own_link(&self) -> String {
        self.at(&format!("{SESSION}/own-secret"))
    }

    /// An answer to joining.
    pub(super) fn join_answer(url: &str, read: u64) -> Reply {
        let link = format!("{url}{SESSION}/own-secret");
        Reply::Body(format!("{{\"n\":1,\"name\":\"luis\",\"read\":{read},\"link\":\"{link}\"}}\n"))
    }

    pub(super) async fn run(&self, arguments: &[&str]) -> Printed {
        self.run_on("", arguments).await
    }

    /// With this on its standard input.
    pub(super) async fn run_on(&self, input: &str, arguments: &[&str]) -> Printed {
        let given = self.path("input");
        fs::write(&given, input).unwrap();
        let mut command = Command::new(self.shell[0]);
        command.args(&self.shell[1..]).arg("agentwire").args(arguments).current_dir(self.folder.path());
        for name in ["AGENTWIRE_ME", "AGENTWIRE_RELAY", "AGENTWIRE_RETRIES", "AGENTWIRE_TOKEN"] {
            command.env_remove(name);
        }
        command.env("no_proxy", "*").env("TMPDIR", self.folder.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(fs::File::open(given).unwrap());
        let output =
            tokio::task::spawn_blocking(move || command.output()).await.unwrap().expect("the shell is there");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let left: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !left.iter().any(|name| name.to_string_lossy().starts_with("agentwire.")),
            "it cleans up: {left:?}"
        );
        Printed { status: output.status, out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// The requests so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.relay.seen()
    }

    /// The first line of each request so far, without the protocol.
    pub(super) fn asked(&self) -> Vec<String> {
        let first = |seen: &Seen| seen.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
        self.seen().iter().map(first).collect()
    }
}

/// That it ended with this code and said something where it failed.
#[track_caller]
pub(super) fn ended(printed: &Printed, code: i32) {
    assert_eq!(printed.code(), code, "{printed:?}");
    assert_eq!(
        printed.err.is_empty(),
        code == 0,
        "it says why where it fails, and else nothing: {printed:?}"
    );
}

/// A request's header, in lower case both.
pub(super) fn header(seen: &Seen, name: &str) -> Option<String> {
    let lines = seen.head.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
}
