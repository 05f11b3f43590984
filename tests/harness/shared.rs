//! The protocol texts, read when a test runs and never copied in. In a clone without them such a test says that it is left out.

use std::{fs, path::PathBuf};

/// A file of the folder with the protocol texts beside the repository; none where that folder is not there.
pub fn text(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(name);
    let text = fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("left out: {} is not beside this clone", path.display());
    }
    text
}

/// The fenced code blocks of a language in a text, in order.
pub fn code_blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).map(str::to_owned).collect()
}

/// Whether only what needs nothing but Rust is to run.
pub fn core_only() -> bool {
    let core = std::env::var_os("ARENA_TESTS_CORE").is_some();
    if core {
        eprintln!("left out: this test needs more than Rust, and ARENA_TESTS_CORE is set");
    }
    core
}
