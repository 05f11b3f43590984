//! Who may do what with the store of snapshots, by the accounts that the schema's README gives: engines write, gateways read, and
//! nobody else reaches it.

use super::*;
use crate::{
    ObjectSnapshots, Vault, VaultKey,
    jetstream::NatsOptions,
    nats_servers::{NatsServers, NatsSetup, left_out},
    tests::{jetstream::setup::Bench, publisher::accounts},
};
use futures::{FutureExt, StreamExt};
use std::time::Duration;

/// Longer than an answer takes.
const ANSWER: Duration = Duration::from_secs(1);

#[test]
fn engines_write_snapshots_gateways_read_them_and_nobody_else_reaches_them() {
    if left_out() {
        return;
    }
    let bench = Bench::on(NatsServers::one(&NatsSetup { extra: accounts(), ..NatsSetup::default() }));
    let connect = |user: &str, password: &str| {
        let file = bench.servers.file(&format!("{user}.txt"), &format!("{user}:{password}\n"));
        bench.connect_with(&NatsOptions { credentials: Some(file), ..bench.options() })
    };
    let find = |nats| bench.runtime.block_on(ObjectSnapshots::find(nats)).unwrap();
    let (engine, gateway) = (connect("engine", "e1"), connect("gateway", "g1"));
    assert!(find(&gateway).is_none(), "a gateway makes no store");
    let writes = bench.runtime.block_on(ObjectSnapshots::open(&engine)).unwrap();

    // Of those who are in accounts of their own, and of one who is nobody.
    let others = [connect("analyst", "a1"), connect("auditor", "u1")];
    let mut heard: Vec<_> = others
        .iter()
        .map(|other| bench.runtime.block_on(other.client().subscribe("$O.ARENA_SNAPSHOTS.>")).unwrap())
        .collect();
    let records = played(40, 2);
    let snapshot = Snapshot::of(&state_after(&records, 40)).to_bytes();
    writes.put(PARTITION, RecordNumber(30), b"older").unwrap();
    writes.put(PARTITION, RecordNumber(40), &snapshot).unwrap();
    writes.remove(PARTITION, RecordNumber(30)).unwrap();

    let reads = find(&gateway).unwrap();
    assert_eq!(numbers(&reads), [40]);
    assert!(reads.get(PARTITION, RecordNumber(40)).unwrap().unwrap() == snapshot);
    assert_eq!(begins(&records, &reads, 40), Some(40));
    reads.put(PARTITION, RecordNumber(40), b"forged").unwrap_err();
    reads.put(PARTITION, RecordNumber(41), b"forged").unwrap_err();
    let ask = |nats: &crate::jetstream::Nats, operation: &str, body: &str| {
        let request =
            nats.client().request(format!("$JS.API.{operation}.OBJ_ARENA_SNAPSHOTS"), body.to_owned().into());
        bench
            .runtime
            .block_on(async { tokio::time::timeout(ANSWER, request).await })
            .ok()
            .and_then(Result::ok)
    };
    for operation in ["STREAM.PURGE", "STREAM.DELETE", "STREAM.UPDATE"] {
        assert!(ask(&gateway, operation, "").is_none(), "{operation}");
    }
    assert!(ask(&engine, "STREAM.MSG.GET", r#"{"seq":1}"#).is_some());
    for other in &others {
        for operation in ["STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE", "STREAM.PURGE"] {
            assert!(ask(other, operation, r#"{"seq":1}"#).is_none(), "{operation}");
        }
    }
    for heard in &mut heard {
        assert!(heard.next().now_or_never().flatten().is_none(), "nothing is heard");
    }
    assert_eq!(numbers(&writes), [40]);
    assert!(writes.get(PARTITION, RecordNumber(40)).unwrap().unwrap() == snapshot);
}

#[test]
fn a_gateway_keeps_and_destroys_keys_in_the_vault_that_an_engine_made() {
    if left_out() {
        return;
    }
    let bench = Bench::on(NatsServers::one(&NatsSetup { extra: accounts(), ..NatsSetup::default() }));
    let connect = |user: &str, password: &str| {
        let file = bench.servers.file(&format!("{user}.txt"), &format!("{user}:{password}\n"));
        bench.connect_with(&NatsOptions { credentials: Some(file), ..bench.options() })
    };
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("vault.key");
    VaultKey::load(&file, true).unwrap();
    let key = || VaultKey::load(&file, false).unwrap();
    let engine = Vault::in_bucket(&connect("engine", "e1"), key()).unwrap();
    let gateway = Vault::in_bucket(&connect("gateway", "g1"), key()).unwrap();
    gateway.put("agent/one/texts", b"a key").unwrap();
    assert_eq!(engine.get("agent/one/texts").unwrap().unwrap().as_slice(), b"a key");
    gateway.destroy("agent/one/texts").unwrap();
    assert!(gateway.get("agent/one/texts").unwrap().is_none());
}
