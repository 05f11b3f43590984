//! The vault in a bucket that processes share.

use super::{
    Bench,
    setup::{ask, remake, wait_until},
};
use crate::{
    Nats, TextError, TextOwner, Texts, Vault, VaultError, VaultKey, jetstream::NatsOptions,
    nats_servers::left_out, tests::vault::check,
};
use arena_schema::id::AgentId;
use bytes::Bytes;
use serde_json::{Value, json};
use std::{sync::Arc, thread, time::Duration};
use tokio::runtime::Builder;

const STREAM: &str = "KV_ARENA_VAULT";
const OWNER: TextOwner = TextOwner::Agent(AgentId([7; 16]));
const HOUR: Duration = Duration::from_secs(3_600);

/// The sealed value under a key, as the server has it.
fn sealed(nats: &Nats, key: &str) -> Bytes {
    nats.runtime().block_on(async {
        let stream = nats.jetstream().get_stream_no_info(STREAM).await.unwrap();
        let subject = format!("$KV.ARENA_VAULT.{key}.*");
        stream.get_last_raw_message_by_subject(&subject).await.unwrap().payload
    })
}

fn messages(nats: &Nats) -> Value {
    ask(nats, &format!("STREAM.INFO.{STREAM}"), &json!({}))["state"]["messages"].clone()
}

fn reads(vault: &Vault, name: &str, value: Option<&[u8]>) {
    assert_eq!(vault.get(name).unwrap().map(|found| found.to_vec()).as_deref(), value, "{name}");
}

#[test]
fn a_vault_in_a_bucket_does_what_every_vault_does_and_keeps_no_former_version() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    check(Vault::in_bucket(&nats, VaultKey::draw()).unwrap());
    assert_eq!(messages(&nats), 1);
}

#[test]
fn a_vault_on_three_servers_does_what_every_vault_does_while_one_of_them_is_gone() {
    if left_out() {
        return;
    }
    let mut bench = Bench::three();
    let nats = bench.connect();
    let key = VaultKey::draw();
    check(Vault::in_bucket(&nats, key.clone()).unwrap());
    let vault = Vault::in_bucket(&nats, key).unwrap();
    vault.put("agent/1/texts", b"one").unwrap();
    let leader = bench.servers.leader_of(STREAM);
    bench.servers.nodes[leader].kill();
    vault.put("agent/1/texts", b"another").unwrap();
    reads(&vault, "agent/1/texts", Some(b"another"));
    vault.destroy("agent/1/texts").unwrap();
    reads(&vault, "agent/1/texts", None);
}

#[test]
fn another_key_than_the_other_processes_is_refused_by_name() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let key = VaultKey::draw();
    let first = Vault::in_bucket(&nats, key.clone()).unwrap();
    first.put("agent/1/texts", b"kept").unwrap();
    let error = Vault::in_bucket(&nats, VaultKey::draw()).unwrap_err();
    assert!(matches!(&error, VaultError::Sealed { name } if name == "key/check"), "{error}");
    assert!(error.to_string().contains("need the same one"), "{error}");
    reads(&Vault::in_bucket(&nats, key).unwrap(), "agent/1/texts", Some(b"kept"));
}

#[test]
fn of_two_processes_that_keep_something_new_at_once_one_does_and_both_read_the_same() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let key = VaultKey::draw();
    // Also their opening is at once, and whose mark is the first.
    let opened: Vec<Arc<Vault>> = thread::scope(|scope| {
        let open = || Arc::new(Vault::in_bucket(&nats, key.clone()).unwrap());
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for round in 0..50 {
        let name = format!("tags/{round}");
        let won: Vec<bool> = thread::scope(|scope| {
            let put = |at: usize| opened[at].put_new(&name, &[u8::try_from(at).unwrap(); 32]).unwrap();
            let threads: Vec<_> = (0..2).map(|at| scope.spawn(move || put(at))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winner = u8::from(won[1]);
        assert_ne!(won[0], won[1], "round {round}");
        for vault in &opened {
            reads(vault, &name, Some(&[winner; 32]));
        }
    }
}

#[test]
fn what_is_destroyed_or_replaced_is_in_no_file_of_the_servers_any_more() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let vault = Vault::in_bucket(&nats, VaultKey::draw()).unwrap();
    let ends: [fn(&Vault); 2] = [
        |vault| vault.put("agent/1/texts", &[8; 32]).unwrap(),
        |vault| vault.destroy("agent/1/texts").unwrap(),
    ];
    for end in ends {
        vault.put("agent/0/texts", &[1; 32]).unwrap();
        vault.put("agent/1/texts", &[9; 32]).unwrap();
        vault.put("agent/2/texts", &[2; 32]).unwrap();
        let (own, other) = (sealed(&nats, "agent.1.texts"), sealed(&nats, "agent.0.texts"));
        wait_until("what is kept in the files", || bench.servers.hold(&own));
        end(&vault);
        wait_until("the end of what was kept", || !bench.servers.hold(&own));
        wait_until("another's value in the files", || bench.servers.hold(&other));
    }
    reads(&vault, "agent/1/texts", None);
    assert_eq!(vault.names("agent/").unwrap(), ["agent/0/texts", "agent/2/texts"]);
}

#[test]
fn what_a_writer_that_died_left_is_removed_at_the_next_opening_or_writing_and_the_later_counts() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let key = VaultKey::draw();
    let vault = Vault::in_bucket(&nats, key.clone()).unwrap();
    vault.put("agent/1/texts", b"later").unwrap();
    let later = sealed(&nats, "agent.1.texts");
    // As if it had died with its new version stored and the former not yet removed.
    let leave_former = || {
        vault.put("agent/1/texts", b"former").unwrap();
        let former = sealed(&nats, "agent.1.texts");
        let stored = nats.jetstream().publish("$KV.ARENA_VAULT.agent.1.texts.999", later.clone());
        nats.runtime().block_on(async { stored.await.unwrap().await.unwrap() });
        assert_eq!(messages(&nats), 3);
        reads(&vault, "agent/1/texts", Some(b"later"));
        assert_eq!(vault.names("agent/").unwrap(), ["agent/1/texts"]);
        former
    };
    let gone = |former: &[u8]| {
        wait_until("the end of the former", || !bench.servers.hold(former));
    };
    let former = leave_former();
    let opened = Vault::in_bucket(&nats, key).unwrap();
    gone(&former);
    assert_eq!(messages(&nats), 2);
    reads(&opened, "agent/1/texts", Some(b"later"));
    vault.destroy("agent/1/texts").unwrap();
    let former = leave_former();
    opened.put("agent/1/texts", b"last").unwrap();
    gone(&former);
    gone(&later);
    assert_eq!(messages(&nats), 2);
    vault.destroy("agent/1/texts").unwrap();
    let former = leave_former();
    opened.destroy("agent/1/texts").unwrap();
    gone(&former);
    assert_eq!(messages(&nats), 1);
}

#[test]
fn values_outlive_a_server_that_is_killed_and_what_is_asked_meanwhile_waits_for_it() {
    if left_out() {
        return;
    }
    let mut bench = Bench::one();
    let nats = bench.connect();
    let vault = Vault::in_bucket(&nats, VaultKey::draw()).unwrap();
    vault.put("agent/1/texts", b"one").unwrap();
    bench.servers.nodes[0].kill();
    thread::scope(|scope| {
        let put = scope.spawn(|| vault.put("agent/2/texts", b"two"));
        let new = scope.spawn(|| vault.put_new("agent/1/texts", b"three"));
        bench.servers.nodes[0].start();
        put.join().unwrap().unwrap();
        assert!(!new.join().unwrap().unwrap());
    });
    reads(&vault, "agent/1/texts", Some(b"one"));
    reads(&vault, "agent/2/texts", Some(b"two"));
}

#[test]
fn where_no_server_answers_it_is_said_which_bucket_cannot_be_asked_and_nothing_is_opened() {
    if left_out() {
        return;
    }
    let mut bench = Bench::one();
    let nats = bench.connect();
    let vault = Vault::in_bucket(&nats, VaultKey::draw()).unwrap();
    bench.servers.nodes[0].kill();
    let error = vault.get("agent/1/texts").unwrap_err();
    assert!(matches!(error, VaultError::Bucket { action: "read", .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("ARENA_VAULT on nats://127.0.0.1") && text.contains("no answer"), "{text}");
    let error = Vault::in_bucket(&nats, VaultKey::draw()).unwrap_err();
    assert!(matches!(error, VaultError::Bucket { action: "reached", .. }), "{error}");
}

#[test]
fn an_owner_forgotten_in_one_process_has_no_texts_in_another() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let key = VaultKey::draw();
    let texts = || Texts::new(Arc::new(Vault::in_bucket(&nats, key.clone()).unwrap()));
    let (one, other) = (texts(), texts());
    one.create_owner(OWNER).unwrap();
    let (_, sealed) = one.seal(OWNER, "a taunt").unwrap();
    let opens = |texts: &Texts| texts.open(OWNER, &sealed.commitment, &sealed.sealed);
    assert_eq!(opens(&other).unwrap().1, "a taunt");
    // While the server is silent the other goes by what it has at hand.
    bench.servers.nodes[0].pause();
    assert_eq!(opens(&other).unwrap().1, "a taunt");
    bench.servers.nodes[0].resume();
    one.forget_owner(OWNER).unwrap();
    assert!(matches!(opens(&one), Err(TextError::NoKey)));
    wait_until("the end of the key at hand", || matches!(opens(&other), Err(TextError::NoKey)));
    assert!(matches!(other.seal(OWNER, "more"), Err(TextError::NoKey)));
    // A key that another process replaced is not at hand any longer either.
    one.create_owner(OWNER).unwrap();
    other.seal(OWNER, "under the first key").unwrap();
    one.create_owner(OWNER).unwrap();
    let (_, sealed) = one.seal(OWNER, "under the second key").unwrap();
    wait_until("the second key", || other.open(OWNER, &sealed.commitment, &sealed.sealed).is_ok());
}

#[test]
fn it_can_be_asked_from_any_thread_and_any_runtime() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let url = bench.servers.url();
    let ask_it = |vault: &Vault| {
        vault.put("agent/1/texts", b"one").unwrap();
        reads(vault, "agent/1/texts", Some(b"one"));
    };
    let key = VaultKey::draw();
    // A runtime of one thread, on which the connection that is given lives too.
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let nats = Nats::connect(&NatsOptions::new(&url)).await.unwrap();
        let vault = Arc::new(Vault::in_bucket(&nats, key.clone()).unwrap());
        ask_it(&vault);
        let again = Arc::clone(&vault);
        tokio::spawn(async move { ask_it(&again) }).await.unwrap();
        tokio::task::spawn_blocking(move || ask_it(&vault)).await.unwrap();
    });
    // One worker, and more tasks than workers.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let vault = runtime.block_on(async {
        let nats = Nats::connect(&NatsOptions::new(&url)).await.unwrap();
        let vault = Arc::new(Vault::in_bucket(&nats, key.clone()).unwrap());
        ask_it(&vault);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let vault = Arc::clone(&vault);
                tokio::spawn(async move { vault.put("agent/1/texts", b"one").unwrap() })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let again = Arc::clone(&vault);
        tokio::task::spawn_blocking(move || ask_it(&again)).await.unwrap();
        vault
    });
    // After its runtime, too.
    drop(runtime);
    ask_it(&vault);
}

#[test]
fn what_is_young_is_told_from_what_is_old() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let vault = Vault::in_bucket(&bench.connect(), VaultKey::draw()).unwrap();
    assert!(!vault.is_older_than("agent/1/texts", Duration::ZERO).unwrap());
    vault.put("agent/1/texts", b"one").unwrap();
    assert!(vault.is_older_than("agent/1/texts", Duration::ZERO).unwrap());
    assert!(!vault.is_older_than("agent/1/texts", HOUR).unwrap());
    let age = Duration::from_millis(20);
    wait_until("its age", || vault.is_older_than("agent/1/texts", age).unwrap());
}

#[test]
fn a_bucket_that_is_set_up_otherwise_is_refused_by_the_settings_name() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let key = VaultKey::draw();
    let cases: &[(&str, Value, &str)] = &[
        ("storage", json!("memory"), r#""file""#),
        ("max_msgs_per_subject", json!(5), "1"),
        ("max_age", json!(3_600_000_000_000_u64), "0"),
        ("deny_delete", json!(true), "false"),
        ("allow_direct", json!(true), "false"),
        ("compression", json!("s2"), r#""none""#),
        ("discard_new_per_subject", json!(false), "true"),
        ("deny_purge", json!(false), "true"),
        ("allow_msg_ttl", json!(true), "unset"),
        ("republish", json!({"src": ">", "dest": "copy.>"}), "unset"),
    ];
    for (name, value, expected) in cases {
        drop(Vault::in_bucket(&nats, key.clone()).unwrap());
        remake(&nats, STREAM, name, value.clone()).unwrap_or_else(|why| panic!("{name}: {why}"));
        match Vault::in_bucket(&nats, key.clone()) {
            Err(VaultError::Bucket { action: "used", why, .. }) => {
                let words = [STREAM, &format!("setting {name} "), &format!("must be {expected}")];
                assert!(words.iter().all(|word| why.contains(word)), "{name}: {why}");
            }
            other => panic!("{name}: {other:?}"),
        }
        ask(&nats, &format!("STREAM.DELETE.{STREAM}"), &json!({}));
    }
    drop(Vault::in_bucket(&nats, key.clone()).unwrap());
    let three = bench.connect_with(&NatsOptions { replicas: 3, ..bench.options() });
    let error = Vault::in_bucket(&three, key.clone()).unwrap_err().to_string();
    assert!(error.contains("num_replicas") && error.contains("is 1, and must be 3"), "{error}");
    // A limit of the operator's is none of ours.
    remake(&nats, STREAM, "max_bytes", json!(1_000_000_000)).unwrap();
    Vault::in_bucket(&nats, key).unwrap();
}
