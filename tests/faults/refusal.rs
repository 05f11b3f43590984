//! An arena that does not start, and what it says.

use arena_tests::served::binary;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
};

/// What a process said when it refused to serve a data folder, with its exit code.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

/// Starts an arena that must end by itself.
///
/// # Panics
/// Where it serves.
pub(crate) fn serve_refused(data: &Path) -> Refusal {
    let mut command = Command::new(binary());
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("NO_COLOR", "1");
    command
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        let serves = line.starts_with("listening on");
        said += &line;
        said.push('\n');
        if serves {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it serves what it should refuse:\n{said}");
        }
    }
    // Its standard error ends with it.
    let status = child.wait().unwrap();
    assert!(!said.contains("panicked"), "a refusal is no panic:\n{said}");
    Refusal { code: status.code(), said }
}

impl Refusal {
    /// That it failed, saying all of these.
    #[track_caller]
    pub(crate) fn assert_says(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{}", self.said);
        for word in words {
            assert!(self.said.contains(word), "{word:?} is missing in:\n{}", self.said);
        }
    }
}

/// Runs `arena audit` over a data folder, for people's eyes: exit code and standard output.
pub(crate) fn audit_plainly(data: &Path) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        Command::new(binary()).args(["audit", "--data"]).arg(data).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code(), text(&stdout) + &text(&stderr))
}
