//! The figures of the engine and the journal, the same that `arena bench` prints. `cargo bench -p arena-tests --bench arena`,
//! with `-- engine` or `-- journal` for one of them; ARENA_BENCH_DIR says where the journal's files are made.

use arena_gateways::bench::{EngineOptions, JournalOptions, engine, journal};
use std::{env, path::PathBuf};

fn main() -> anyhow::Result<()> {
    let wanted: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if wants("engine") {
        println!("{}", engine(&EngineOptions::default())?);
    }
    if wants("journal") {
        let folder = env::var_os("ARENA_BENCH_DIR").map_or_else(env::temp_dir, PathBuf::from);
        println!("{}", journal(&JournalOptions::new(&folder))?);
    }
    Ok(())
}
