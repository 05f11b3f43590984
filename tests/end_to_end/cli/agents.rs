//! `arena agent`: the HTTP API for an operator.

use super::run;
use arena_tests::{Agent, Registered, Served, program::Printed};
use serde_json::{Value, json};

async fn agent(arena: &Served, command: &str, arguments: &[&str]) -> Printed {
    run(&[&["agent", command, "--server", &arena.url], arguments].concat()).await
}

fn parsed(printed: &Printed) -> Value {
    assert_eq!(printed.code(), 0, "{printed:?}");
    serde_json::from_str(&printed.out).expect("--json prints JSON")
}

#[tokio::test]
async fn an_agent_is_registered_listed_shown_and_rotated() {
    let arena = Served::start();
    let played = Agent::good().await;
    let register = ["--name", "Left-1", "--endpoint", &played.url];
    let me = parsed(&agent(&arena, "register", &[&register[..], &["--json"]].concat()).await);
    assert_eq!((&me["slug"], &me["endpoint_url"]), (&json!("left-1"), &json!(played.url)));
    let key = me["api_key"].as_str().unwrap();
    let registered = Registered { slug: "left-1".to_owned(), api_key: key.to_owned() };
    let id = arena.practice(&registered, "pebble-1").await;
    crate::look::clean(&arena.finished(&id).await);

    let listed = parsed(&agent(&arena, "list", &["--json"]).await);
    let slugs: Vec<&Value> = listed.as_array().unwrap().iter().map(|agent| &agent["slug"]).collect();
    assert_eq!(json!(slugs), json!(["copper-4", "gremlin-9", "left-1", "oracle-42", "pebble-1"]));
    let printed = agent(&arena, "list", &[]).await;
    assert!(
        printed.out.lines().any(|line| line.starts_with("left-1 ") && line.ends_with("Left-1")),
        "{printed:?}"
    );

    let shown = parsed(&agent(&arena, "show", &["--json", "left-1"]).await);
    assert_eq!((&shown["name"], &shown["endpoint_url"]), (&json!("Left-1"), &Value::Null));
    let own = parsed(&agent(&arena, "show", &["--json", "left-1", "--api-key", key]).await);
    assert_eq!((&own["endpoint_url"], &own["failures"]), (&json!(played.url), &json!([])));

    let rotated = parsed(&agent(&arena, "rotate", &["--json", "left-1", "--api-key", key]).await);
    let new = rotated["api_key"].as_str().unwrap();
    assert_ne!(new, key);
    let printed = agent(&arena, "show", &["left-1", "--api-key", key]).await;
    assert_eq!(printed.code(), 1);
    assert!(printed.err.contains("401, unauthorized"), "{printed:?}");
    parsed(&agent(&arena, "show", &["--json", "left-1", "--api-key", new]).await);
}

#[tokio::test]
async fn a_refusal_is_told_with_its_code_and_a_missing_arena_by_its_address() {
    let arena = Served::start();
    for (command, arguments, says) in [
        ("register", &["--name", "gremlin-9", "--endpoint", "http://127.0.0.1:9/"][..], "422, name_reserved"),
        ("register", &["--name", "left-1", "--endpoint", "http://10.0.0.1/"], "422, endpoint_refused"),
        (
            "register",
            &["--name", "left-1", "--endpoint", "http://127.0.0.1:9/", "--protocol", "ludux/1"],
            "protocol_not_served",
        ),
        ("show", &["nobody"], "404, not_found"),
        ("rotate", &["gremlin-9"], "401, unauthorized"),
    ] {
        let printed = agent(&arena, command, arguments).await;
        assert_eq!(printed.code(), 1, "{printed:?}");
        assert!(printed.err.contains(says), "{says}: {printed:?}");
        assert!(printed.out.is_empty(), "{printed:?}");
    }
    let printed = run(&["agent", "list", "--server", "http://127.0.0.1:1"]).await;
    assert_eq!(printed.code(), 1);
    assert!(printed.err.contains("http://127.0.0.1:1 does not answer"), "{printed:?}");
}

#[tokio::test]
async fn the_list_goes_on_over_its_pages() {
    let arena = Served::start();
    for n in 0..120 {
        arena.register(&format!("agent-{n:03}"), "http://127.0.0.1:9/play").await;
    }
    let listed = parsed(&agent(&arena, "list", &["--json"]).await);
    let slugs: Vec<&str> =
        listed.as_array().unwrap().iter().map(|agent| agent["slug"].as_str().unwrap()).collect();
    assert_eq!(slugs.len(), 124);
    assert!(slugs.is_sorted() && slugs.contains(&"agent-119"), "{slugs:?}");
}
