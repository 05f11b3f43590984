//! The `arena` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    arena_gateways::cli::main()
}
