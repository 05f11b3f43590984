//! The contract on NATS, and what is the object store's own.

use super::{CHUNK, Store, Under, bytes, contract::CASES, session, texts};
use crate::{
    Nats, PayloadError, Payloads, TextOwner, Texts,
    nats_servers::left_out,
    tests::jetstream::setup::{Bench, alter, ask},
};
use arena_schema::id::ObjectId;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::io::AsyncReadExt;

const STREAM: &str = "OBJ_ARENA_PAYLOADS";

struct OnNats(Nats);

fn owner_name(owner: TextOwner) -> String {
    owner.vault_name().strip_suffix("/texts").unwrap().to_owned()
}

impl OnNats {
    fn place(owner: TextOwner, object: ObjectId) -> String {
        format!("$O.ARENA_PAYLOADS.C.{}.{object}", owner_name(owner).replace('/', "."))
    }

    fn purge(&self, body: &Value) {
        let answer = ask(&self.0, &format!("STREAM.PURGE.{STREAM}"), body);
        assert_eq!(answer["success"], true, "{answer}");
    }
}

impl Under for OnNats {
    fn open(&self, texts: &Texts) -> Payloads {
        self.0.runtime().block_on(Payloads::in_objects(&self.0, texts.clone())).unwrap()
    }

    fn parts(&self, owner: TextOwner, object: ObjectId) -> Vec<Vec<u8>> {
        let (subject, mut from, mut parts) = (Self::place(owner, object), 1, Vec::new());
        loop {
            let question = json!({"seq": from, "next_by_subj": subject});
            let answer = ask(&self.0, &format!("STREAM.MSG.GET.{STREAM}"), &question);
            let Some(data) = answer["message"]["data"].as_str() else { return parts };
            parts.push(STANDARD.decode(data).unwrap());
            from = answer["message"]["seq"].as_u64().unwrap() + 1;
        }
    }

    fn put_parts(&self, owner: TextOwner, object: ObjectId, parts: &[Vec<u8>]) {
        let subject = Self::place(owner, object);
        self.purge(&json!({"filter": subject}));
        for part in parts {
            let sent = self.0.client().request(subject.clone(), part.clone().into());
            let answer: Value =
                serde_json::from_slice(&self.0.runtime().block_on(sent).unwrap().payload).unwrap();
            assert_eq!(answer["stream"], STREAM, "{answer}");
        }
    }

    fn held(&self) -> u64 {
        let asked = ask_now(&self.0, &format!("STREAM.INFO.{STREAM}"));
        asked["state"]["bytes"].as_u64().unwrap()
    }

    fn flips(&self) -> usize {
        25
    }
}

/// As [`ask`], also from within the runtime.
fn ask_now(nats: &Nats, operation: &str) -> Value {
    std::thread::scope(|scope| scope.spawn(|| ask(nats, operation, &json!({}))).join().unwrap())
}

fn check(bench: Bench) {
    let nats = bench.connect();
    let bench = Arc::new(bench);
    let runtime =
        Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
    for (name, case) in CASES {
        eprintln!("{name}");
        let store = Store::new(OnNats(nats.clone()), Arc::clone(&runtime));
        OnNats(nats.clone()).purge(&json!({}));
        case(&store);
    }
    drop(bench);
}

fn store(bench: &Bench) -> (Store, Nats) {
    let nats = bench.connect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    (Store::new(OnNats(nats.clone()), Arc::new(runtime)), nats)
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

#[test]
fn a_payload_is_written_and_read_on_while_a_server_is_gone() {
    if left_out() {
        return;
    }
    let mut bench = Bench::three();
    let (store, nats) = store(&bench);
    let owner = store.owner(1);
    let payload = bytes(12 * CHUNK, 1);
    let before = store.write(owner, &payload);
    let mut writing = store.run(store.payloads.begin(owner)).unwrap();
    store.run(writing.write(&payload[..5 * CHUNK])).unwrap();
    let mut reading = store.run(store.payloads.read(owner, before.object)).unwrap();
    let mut read = store.run(futures::StreamExt::next(&mut reading)).unwrap().unwrap().to_vec();
    let leader = bench.servers.leader_of(STREAM);
    bench.servers.nodes[leader].kill();
    store.run(writing.write(&payload[5 * CHUNK..])).unwrap();
    let stored = store.run(writing.finish()).unwrap();
    read.extend(store.run(reading.collect()).unwrap());
    assert!(read == payload);
    assert!(store.read(owner, stored.object).unwrap() == payload);
    assert_eq!(ask(&nats, &format!("STREAM.INFO.{STREAM}"), &json!({}))["config"]["num_replicas"], 3);
}

#[test]
fn a_store_of_other_settings_is_refused_by_name() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (_, nats) = store(&bench);
    for (setting, strange, right) in
        [("max_age", json!(3_600_000_000_000_u64), json!(0)), ("discard", json!("old"), json!("new"))]
    {
        alter(&nats, STREAM, setting, strange);
        let why = bench.runtime.block_on(Payloads::in_objects(&nats, texts())).unwrap_err().to_string();
        assert!(why.contains(STREAM) && why.contains(&format!("the setting {setting}")), "{why}");
        alter(&nats, STREAM, setting, right);
    }
    bench.runtime.block_on(Payloads::in_objects(&nats, texts())).unwrap();
}

#[test]
fn a_store_that_is_full_says_so_and_goes_on_when_there_is_room() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (store, nats) = store(&bench);
    let owner = store.owner(1);
    let before = store.write(owner, &bytes(2 * CHUNK, 1));
    alter(&nats, STREAM, "max_bytes", json!(400_000));
    let mut writing = store.run(store.payloads.begin(owner)).unwrap();
    let why = store.run(writing.write(&bytes(10 * CHUNK, 2))).unwrap_err();
    assert!(matches!(why, PayloadError::Full { .. }), "{why:?}");
    let text = why.to_string();
    assert!(
        text.contains("ARENA_PAYLOADS on ") && text.contains("full") && text.contains("make room"),
        "{text}"
    );
    assert!(matches!(store.run(writing.finish()), Err(PayloadError::Broken)));
    assert_eq!(store.read(owner, before.object).unwrap(), bytes(2 * CHUNK, 1));
    alter(&nats, STREAM, "max_bytes", json!(-1));
    assert_eq!(store.write(owner, &bytes(10 * CHUNK, 2)).size, 10 * CHUNK as u64);
}

#[test]
fn the_tools_of_nats_see_an_object_with_its_sealed_bytes() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (store, nats) = store(&bench);
    let owner = store.owner(1);
    let stored = store.write(owner, &bytes(3 * CHUNK, 1));
    let name = format!("{}/{}", owner_name(owner), stored.object);
    let sealed = bench.runtime.block_on(async {
        let objects = nats.jetstream().get_object_store("ARENA_PAYLOADS").await.unwrap();
        let mut object = objects.get(&name).await.unwrap();
        let mut sealed = Vec::new();
        // The client compares the digest at the end.
        object.read_to_end(&mut sealed).await.unwrap();
        sealed
    });
    assert!(sealed == store.under.parts(owner, stored.object).concat());
}

#[test]
fn what_a_refused_command_left_is_overwritten_while_its_owners_key_stands() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (store, _) = store(&bench);
    let owner = store.owner(1);
    let (refused, named) =
        (store.write(owner, &bytes(2 * CHUNK, 1)), store.write(owner, &bytes(2 * CHUNK, 2)));
    let of = |object| store.under.parts(owner, object).into_iter().map(|part| part[8..40].to_vec());
    let (refused_parts, named_parts): (Vec<_>, Vec<_>) =
        (of(refused.object).collect(), of(named.object).collect());
    assert!(refused_parts.iter().all(|part| bench.servers.hold(part)));
    store.run(store.payloads.sweep(|_| true, |_, object| object == named.object, Duration::ZERO)).unwrap();
    assert!(!refused_parts.iter().any(|part| bench.servers.hold(part)));
    assert!(named_parts.iter().all(|part| bench.servers.hold(part)));
}

#[test]
fn a_name_whose_object_is_another_length_or_cannot_be_read_is_damage() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let (store, nats) = store(&bench);
    let owner = store.owner(1);
    let stored = store.write(owner, &bytes(1_000, 1));
    let whole: u64 = store.under.parts(owner, stored.object).iter().map(|part| part.len() as u64).sum();
    let name = format!("{}/{}", owner_name(owner), stored.object);
    let subject = format!("$O.ARENA_PAYLOADS.M.{}", base64::engine::general_purpose::URL_SAFE.encode(&name));
    let place = OnNats::place(owner, stored.object).strip_prefix("$O.ARENA_PAYLOADS.C.").unwrap().to_owned();
    let tell = |size: u64| {
        let digest = format!("SHA-256={}", base64::engine::general_purpose::URL_SAFE.encode([0; 32]));
        let about = json!({"name": name, "nuid": place, "size": size, "chunks": 1, "digest": digest});
        let sent = nats.client().request(subject.clone(), about.to_string().into());
        bench.runtime.block_on(sent).unwrap();
        store.read(owner, stored.object)
    };
    for size in [0, 1, whole - 1, whole + 1, whole + CHUNK as u64] {
        assert!(matches!(tell(size), Err(PayloadError::Damaged { .. })), "{size} of {whole}");
    }
    assert!(tell(whole).is_ok());
    bench.runtime.block_on(nats.client().request(subject, "none".into())).unwrap();
    let why = store.read(owner, stored.object).unwrap_err();
    assert!(why.to_string().contains(&stored.object.to_string()), "{why}");
    assert!(store.read(session(9), stored.object).is_err());
}
