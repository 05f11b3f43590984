//! The contract suite on one server and on three. The servers are shared: each case has a partition of its own.

use super::{Bench, setup::open};
use crate::{
    contract::{CASES, Store},
    nats_servers::left_out,
};
use std::sync::Arc;

fn check(bench: Bench) {
    let bench = Arc::new(bench);
    for (partition, (name, case)) in (0..).zip(CASES) {
        eprintln!("{name}");
        let nats = bench.connect();
        case(&Store::new(move || open(&nats, partition)));
    }
}

#[test]
fn on_one_server_the_contract_holds() {
    if !left_out() {
        check(Bench::one());
    }
}

#[test]
fn on_three_servers_the_contract_holds() {
    if !left_out() {
        check(Bench::three());
    }
}
