//! Lines of shell as the text prints them: filled in, and run by `sh`. A test may not change any other letter of them.

use arena_tests::shared;
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// The text, where it is beside this clone.
pub(super) fn text() -> Option<String> {
    shared::text("protocols/agentwire.md")
}

/// Puts values in the places that stand in angle brackets.
#[track_caller]
pub(super) fn fill(line: &str, values: &[(&str, &str)]) -> String {
    let mut filled = line.to_owned();
    for (place, value) in values {
        filled = filled.replace(&format!("<{place}>"), value);
    }
    assert!(!filled.contains(['<', '>']), "a place that nothing is known for: {filled}");
    filled
}

/// Runs it in a folder and gives what it prints.
pub(super) async fn sh(folder: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder).env("no_proxy", "*").stdin(Stdio::null());
    let what = script.to_owned();
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().expect("sh is there");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}\nended with {}: {err}", output.status);
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}
