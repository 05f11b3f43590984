//! An agent's key is destroyed: its texts are unreadable in every copy, and all else is as it was.

use crate::{dice::Dice, player::Player, records};
use arena_journal::{TextOwner, Texts, Vault, VaultKey};
use arena_schema::{Event, id::AgentId};
use arena_tests::{Agent, served::poll_async};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

fn id_of(data: &Path, slug: &str) -> AgentId {
    records::all(data)
        .into_iter()
        .flat_map(|record| record.events)
        .find_map(|event| match event {
            Event::AgentRegistered(event) if event.handle.as_str() == slug => Some(event.id),
            _ => None,
        })
        .unwrap()
}

fn destroy(data: &Path, slug: &str) {
    let key = VaultKey::load(&data.join("vault.key"), false).unwrap();
    let vault = Arc::new(Vault::open(&data.join("vault.db"), key).unwrap());
    let owner = TextOwner::Agent(id_of(data, slug));
    assert!(vault.get(&owner.vault_name()).unwrap().is_some(), "it had a key");
    Texts::new(Arc::clone(&vault)).forget_owner(owner).unwrap();
    assert!(vault.get(&owner.vault_name()).unwrap().is_none());
}

fn reasons(replay: &Value, agent: &str) -> Vec<Value> {
    let seat = replay["players"].as_array().unwrap().iter().find(|player| player["agent"] == agent).unwrap();
    let events = replay["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["kind"] == "move" && event["seat"] == seat["seat"])
        .map(|event| event["reason"].clone())
        .collect()
}

/// A replay without what a forgotten agent's texts say.
fn bare(mut replay: Value) -> Value {
    for event in replay["events"].as_array_mut().unwrap() {
        event.as_object_mut().unwrap().remove("reason");
    }
    for player in replay["players"].as_array_mut().unwrap() {
        player.as_object_mut().unwrap().remove("name");
    }
    replay
}

#[tokio::test]
async fn a_destroyed_key_takes_the_texts_and_nothing_else() {
    let mut dice = Dice::new();
    let arena = arena_tests::Served::start();
    let (gone, stays) = (Player::start(dice.split(), 2).await, Player::start(dice.split(), 2).await);
    let me = arena.register("Gone-Agent", &gone.url).await;
    let other = arena.register("Stays-Agent", &stays.url).await;
    let id = arena.challenge(&me, &other.slug, json!({})).await;
    let before = arena.finished(&id).await;
    assert!(reasons(&before, "gone-agent").iter().all(Value::is_string), "{before}");
    let profile = arena.get("/api/v1/agents/gone-agent", None).await.1;
    assert_eq!(profile["name"], "Gone-Agent");
    // One match waits for each of them while the key goes.
    let thinking = Agent::start(|_, _| arena_tests::Reply::Silence).await;
    let slow = json!({"endpoint_url": thinking.url});
    assert_eq!(arena.post("/api/v1/agents/gone-agent/endpoint", Some(&me.api_key), &slow).await.0, 200);
    let further = json!({"first": me.slug, "rated": false, "deadline_ms": 60_000});
    let waiting = arena.challenge(&me, &other.slug, further).await;
    while thinking.seen().is_empty() {
        poll_async().await;
    }
    let stopped = arena.stop();
    destroy(&stopped.data, "gone-agent");
    let audit = stopped.audit();
    assert_eq!(audit["holds"], true, "an audit passes before and after forgetting: {audit}");

    let arena = stopped.start();
    let after = arena.replay(&id, Some(&me.api_key)).await;
    assert_eq!(bare(after.clone()), bare(before.clone()));
    let gone_reasons = reasons(&after, "gone-agent");
    assert!(!gone_reasons.is_empty() && gone_reasons.iter().all(Value::is_null), "{after}");
    assert_eq!(reasons(&after, "stays-agent"), reasons(&before, "stays-agent"));
    let names: Vec<&Value> =
        after["players"].as_array().unwrap().iter().map(|player| &player["name"]).collect();
    assert!(names.contains(&&json!("gone-agent")) && names.contains(&&json!("Stays-Agent")), "{names:?}");
    let (status, own) = arena.get("/api/v1/agents/gone-agent", Some(&me.api_key)).await;
    assert_eq!(
        (status, &own["name"], &own["endpoint_url"]),
        (200, &json!("gone-agent"), &Value::Null),
        "{own}"
    );
    assert_eq!(
        own["ratings"],
        profile["ratings"]
            .as_array()
            .map(|ratings| {
                let mut ratings = ratings.clone();
                ratings[0]["name"] = json!("gone-agent");
                Value::from(ratings)
            })
            .unwrap()
    );
    for path in ["/".to_owned(), format!("/m/{id}"), format!("/m/{id}/events")] {
        let page = arena.client().get(format!("{}{path}", arena.url)).send().await.unwrap();
        assert_eq!(page.status(), 200, "{path}");
        assert!(!page.text().await.unwrap().contains("Gone-Agent"), "{path}");
    }

    // It has no address any more: what waits for it is forfeited, and who plays it goes on.
    let forfeited = arena.finished(&waiting).await;
    assert_eq!(forfeited["result"]["reason"], "forfeit", "{forfeited}");
    let strikes: Vec<&Value> =
        forfeited["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "strike").collect();
    assert_eq!(strikes.len(), 3);
    assert!(strikes.iter().all(|strike| strike["cause"] == "transport"), "{forfeited}");
    let another = arena.challenge(&other, "gone-agent", json!({})).await;
    let replay = arena.finished(&another).await;
    assert_eq!(replay["result"]["reason"], "forfeit", "{replay}");
    let practice = arena.finished(&arena.practice(&other, "gremlin-9").await).await;
    assert_eq!(practice["status"], "finished", "{practice}");
    // Its key of the API still is its own, but there is nothing left to seal a new address under.
    let moved = json!({"endpoint_url": gone.url});
    let (status, problem) = arena.post("/api/v1/agents/gone-agent/endpoint", Some(&me.api_key), &moved).await;
    assert!((400..500).contains(&status), "a refusal that says why, not a fault of ours: {status} {problem}");
    let stopped = arena.stop();
    let audit = stopped.audit();
    assert_eq!(audit["holds"], true, "{audit}");

    // A view that is built again knows no more of it than the old one.
    std::fs::remove_dir_all(stopped.data.join("views")).unwrap();
    let arena = stopped.start();
    assert_eq!(arena.replay(&id, Some(&me.api_key)).await, after);
    arena.stop();
}
