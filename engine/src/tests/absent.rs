//! What the engine must not have, where no lint sees it.

/// The lines of a section of the manifest.
fn section(name: &str) -> Vec<&'static str> {
    let manifest = include_str!("../../Cargo.toml");
    let lines = manifest.lines().skip_while(|line| *line != format!("[{name}]")).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty()).collect()
}

#[test]
fn it_depends_on_the_schema_and_on_nothing_else() {
    assert_eq!(section("dependencies"), ["arena-schema.workspace = true"]);
    assert!(section("build-dependencies").is_empty());
    assert!(section("features").is_empty(), "a feature would make two engines of one");
}

#[test]
fn what_would_make_two_replays_differ_is_denied_and_not_only_warned_of() {
    let root = include_str!("../lib.rs");
    for lint in ["float_arithmetic", "disallowed_types", "disallowed_methods", "disallowed_macros"] {
        assert!(root.contains(&format!("clippy::{lint}")), "{lint}");
    }
    let bans = include_str!("../../clippy.toml");
    for banned in ["std::time::Instant", "std::time::SystemTime", "std::collections::HashMap", "f64"] {
        assert!(bans.contains(&format!("path = \"{banned}\"")), "{banned}");
    }
}
