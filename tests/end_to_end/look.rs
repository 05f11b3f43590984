//! What the tests look at: in a replay and in a request. What never belongs here: how something came about.

use arena_tests::{Agent, Seen};
use serde_json::Value;

/// The events of a kind.
pub(crate) fn events<'a>(replay: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = replay["events"].as_array().expect("a replay has events");
    all.iter().filter(|event| event["kind"] == kind).collect()
}

/// That a match went to its end and nobody was struck in it.
#[track_caller]
pub(crate) fn clean(replay: &Value) {
    assert_eq!(replay["status"], "finished", "{replay}");
    assert!(events(replay, "strike").is_empty(), "{replay}");
    assert_ne!(replay["result"]["reason"], "forfeit", "{replay}");
}

/// The columns that were played, in order.
pub(crate) fn columns(replay: &Value) -> String {
    events(replay, "move").iter().filter_map(|event| event["move"].as_str()).collect()
}

/// The requests of one match as its agent saw them.
pub(crate) fn of_match(agent: &Agent, match_id: &str) -> Vec<Seen> {
    agent.seen().into_iter().filter(|seen| seen.body["match_id"] == match_id).collect()
}

/// The top-level keys of a JSON object in the order in which they stand.
pub(crate) fn keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut depth, mut begun, mut escaped) = (0, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, begun) {
            (_, Some(_)) if escaped => escaped = false,
            (b'\\', Some(_)) => escaped = true,
            (b'"', None) => begun = Some(at + 1),
            (b'"', Some(start)) => {
                if depth == 1 && text[at + 1..].trim_start().starts_with(':') {
                    keys.push(text[start..at].to_owned());
                }
                begun = None;
            }
            (b'{' | b'[', None) => depth += 1,
            (b'}' | b']', None) => depth -= 1,
            _ => {}
        }
    }
    keys
}
