//! The object store on real servers: what is kept there comes back whole or not at all, and what a process that died left goes.

use super::{format::keeps_the_last_that_was_put, *};
use crate::{
    ObjectSnapshots,
    jetstream::Nats,
    nats_servers::left_out,
    tests::jetstream::setup::{Bench, alter, ask},
};
use serde_json::json;

const STREAM: &str = "OBJ_ARENA_SNAPSHOTS";

fn open(bench: &Bench, nats: &Nats) -> ObjectSnapshots {
    bench.runtime.block_on(ObjectSnapshots::open(nats)).unwrap()
}

/// The subjects that have messages.
fn subjects(nats: &Nats) -> Vec<String> {
    let info = ask(nats, &format!("STREAM.INFO.{STREAM}"), &json!({"subjects_filter": ">"}));
    let subjects = info["state"]["subjects"].as_object().cloned().unwrap_or_default();
    subjects.into_iter().map(|(subject, _)| subject).collect()
}

#[test]
fn the_object_store_does_what_any_store_does_and_leaves_nothing_of_what_is_gone() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    assert!(bench.runtime.block_on(ObjectSnapshots::find(&nats)).unwrap().is_none());
    let store = open(&bench, &nats);
    keeps_the_last_that_was_put(&store);
    // Whoever comes later finds the same.
    let later = bench.runtime.block_on(ObjectSnapshots::find(&bench.connect())).unwrap().unwrap();
    assert_eq!(later.get(PARTITION, RecordNumber(100)).unwrap().unwrap(), b"a");
    for (partition, number) in [(0, 100), (0, u64::MAX), (10, 9)] {
        later.remove(Partition(partition), RecordNumber(number)).unwrap();
    }
    assert_eq!(subjects(&nats), Vec::<String>::new(), "neither chunks nor names are left");
}

#[test]
fn in_a_cluster_each_server_keeps_it_and_it_is_there_when_one_is_gone() {
    if left_out() {
        return;
    }
    let mut bench = Bench::three();
    let nats = bench.connect();
    let store = open(&bench, &nats);
    let records = played(40, 2);
    let bytes = Snapshot::of(&state_after(&records, 40)).to_bytes();
    store.put(PARTITION, RecordNumber(40), &bytes).unwrap();
    let config = ask(&nats, &format!("STREAM.INFO.{STREAM}"), &json!({}))["config"].clone();
    assert_eq!((&config["num_replicas"], &config["storage"]), (&json!(3), &json!("file")));
    let leader = bench.servers.leader_of(STREAM);
    bench.servers.nodes[leader].kill();
    assert_eq!(numbers(&store), [40]);
    assert_eq!(begins(&records, &store, 40), Some(40));
    store.put(PARTITION, RecordNumber(41), &bytes).unwrap();
    assert_eq!(numbers(&store), [40, 41]);
}

#[test]
fn a_store_of_other_settings_is_refused_by_name() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    open(&bench, &nats);
    for (setting, strange, right) in
        [("max_age", json!(3_600_000_000_000_u64), json!(0)), ("discard", json!("old"), json!("new"))]
    {
        alter(&nats, STREAM, setting, strange);
        let why = bench.runtime.block_on(ObjectSnapshots::open(&nats)).unwrap_err().to_string();
        assert!(why.contains(STREAM) && why.contains(&format!("the setting {setting}")), "{why}");
        alter(&nats, STREAM, setting, right);
    }
    // What is the operator's is taken as it is.
    alter(&nats, STREAM, "max_bytes", json!(50_000_000));
    open(&bench, &nats);
}

#[test]
fn an_object_that_was_cut_half_written_or_forged_is_passed_over_for_the_one_before() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let store = open(&bench, &nats);
    let records = played(60, 2);
    let snapshot = |number: usize| Snapshot::of(&state_after(&records, number)).to_bytes();
    let twice = [snapshot(40), vec![0; 400_000]].concat();
    let check = |what: &str, spoil: &dyn Fn()| {
        store.put(PARTITION, RecordNumber(20), &snapshot(20)).unwrap();
        store.put(PARTITION, RecordNumber(40), &snapshot(40)).unwrap();
        assert_eq!(begins(&records, &store, 50), Some(40));
        spoil();
        assert_eq!(begins(&records, &store, 50), Some(20), "{what}");
        store.remove(PARTITION, RecordNumber(40)).unwrap();
    };
    // The sequences of the newest object's chunks.
    let chunks = || {
        let info = ask(&nats, &format!("STREAM.INFO.{STREAM}"), &json!({}));
        let (first, last) = (info["state"]["first_seq"].as_u64(), info["state"]["last_seq"].as_u64());
        let subject = |sequence: u64| {
            let message = ask(&nats, &format!("STREAM.MSG.GET.{STREAM}"), &json!({"seq": sequence}));
            message["message"]["subject"].as_str().unwrap_or_default().to_owned()
        };
        let newest = subject(last.unwrap() - 1);
        let all = first.unwrap()..last.unwrap();
        all.filter(|sequence| subject(*sequence) == newest).collect::<Vec<u64>>()
    };
    let delete = |sequence: u64| {
        let answer = ask(&nats, &format!("STREAM.MSG.DELETE.{STREAM}"), &json!({"seq": sequence}));
        assert_eq!(answer["success"], true, "{answer}");
    };
    check("all its chunks are gone", &|| chunks().into_iter().for_each(delete));
    check("one of several chunks is gone", &|| {
        store.put(PARTITION, RecordNumber(40), &twice).unwrap();
        let chunks = chunks();
        assert!(chunks.len() > 2, "{chunks:?}");
        delete(chunks[1]);
    });
    check("other bytes of the same length", &|| {
        let mut bytes = snapshot(40);
        bytes[300] ^= 1;
        store.put(PARTITION, RecordNumber(40), &bytes).unwrap();
    });
    check("half of it", &|| {
        let bytes = snapshot(40);
        store.put(PARTITION, RecordNumber(40), &bytes[..bytes.len() / 2]).unwrap();
    });
    check("another record's", &|| store.put(PARTITION, RecordNumber(40), &snapshot(39)).unwrap());
}

#[test]
fn what_has_no_name_yet_is_not_listed_and_goes_when_nobody_has_added_to_it_for_long() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let store = open(&bench, &nats);
    store.put(PARTITION, RecordNumber(4), b"whole").unwrap();
    let client = nats.client().clone();
    let publish = |subject: &str| {
        bench.runtime.block_on(client.request(subject.to_owned(), "half".into())).unwrap();
    };
    publish("$O.ARENA_SNAPSHOTS.C.fresh");
    // Names that are none, of snapshots or at all.
    publish("$O.ARENA_SNAPSHOTS.M.broken");
    for name in ["00-6.snap", "0-+7.snap", "notes.txt", "0-.snap", "-8.snap"] {
        let store = bench.runtime.block_on(nats.jetstream().get_object_store("ARENA_SNAPSHOTS")).unwrap();
        bench.runtime.block_on(store.put(name, &mut &b"half"[..])).unwrap();
    }
    assert_eq!(numbers(&store), [4]);
    store.put(PARTITION, RecordNumber(6), b"next").unwrap();
    assert_eq!(numbers(&store), [4, 6]);
    let left = subjects(&nats);
    assert!(left.contains(&"$O.ARENA_SNAPSHOTS.C.fresh".to_owned()), "it may be on its way: {left:?}");
    bench.runtime.block_on(store.sweep(std::time::Duration::ZERO)).unwrap();
    let left = subjects(&nats);
    assert!(!left.contains(&"$O.ARENA_SNAPSHOTS.C.fresh".to_owned()), "{left:?}");
    assert_eq!(store.get(PARTITION, RecordNumber(4)).unwrap().unwrap(), b"whole");
    assert_eq!(store.get(PARTITION, RecordNumber(6)).unwrap().unwrap(), b"next");
}
