//! The command line, as an operator and as a script meet it.

mod agents;
mod audits;
mod doctor;
mod journals;
mod matches;
mod serving;

use arena_tests::program::Printed;

/// Runs a command on a thread of its own, so that the test's agents go on answering.
async fn run(arguments: &[&str]) -> Printed {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    tokio::task::spawn_blocking(move || arena_tests::arena(arguments)).await.expect("it runs")
}
