//! What the views' files hold of what somebody wrote, and what is left of it when the owner's key is destroyed.

use super::{World, lines};
use arena_schema::{command::matches::StrikeCause, id::Protocol};
use std::fs;

const MARKERS: [&str; 4] = ["NAME of", "ENDPOINT", "REASON", "EXCERPT"];

#[test]
fn no_file_of_a_view_holds_a_text_in_clear() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let (id, key) = arena.open([left, right], true);
    arena.play_saying(key, "d", Some("REASON of left"));
    arena.strike(key, StrikeCause::NotJson, Some(200), Some("EXCERPT of right"));
    arena.set_endpoint(left, Some("https://left.example/other/ENDPOINT"), None);
    arena.settle();
    // Read once, so that they are there to be found.
    let seen = format!("{:?} {:?}", arena.replay(&id), arena.views.last_strikes_of(right, 10).unwrap());
    let agents = format!("{:?}", arena.views.agents(None, 10).unwrap());
    assert!(MARKERS.iter().all(|marker| seen.contains(marker) || agents.contains(marker)));
    let search = || {
        let mut files = 0;
        for entry in fs::read_dir(world.views()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            files += 1;
            for marker in MARKERS {
                let found = bytes.windows(marker.len()).any(|part| part == marker.as_bytes());
                assert!(!found, "{marker:?} lies in {}", path.display());
            }
        }
        files
    };
    // While it runs with the logs beside, and closed.
    assert!(search() >= 8);
    arena.stop();
    assert_eq!(search(), 4);
}

#[test]
fn a_destroyed_key_takes_the_texts_and_nothing_else() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let (id, key) = arena.open([left, right], true);
    arena.play_saying(key, "d", Some("REASON of left"));
    arena.play_saying(key, "a", Some("REASON of right"));
    arena.strike(key, StrikeCause::NotJson, Some(200), Some("EXCERPT of left"));
    arena.forfeit_rest(key);
    arena.settle();
    let whole = arena.replay(&id);
    let rows = world.rows("replays");
    arena.texts.forget_owner(arena.owner(left)).unwrap();
    let mut replay = arena.replay(&id);
    assert_eq!(
        lines(&replay)[..3],
        [
            "connect4 rated finished X left (agentarena/1) against NAME of right (agentarena/1)",
            "1 X 1 d 12 ms",
            "2 O 2 a 12 ms REASON of right",
        ]
    );
    // With these two put back, it is the replay as it was.
    replay.players[0].name.clone_from(&whole.players[0].name);
    replay.events[0] = whole.events[0].clone();
    assert_eq!(replay, whole);
    let row = arena.views.agent(left).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.endpoint), ("left", None));
    let strikes = arena.views.last_strikes_of(left, 10).unwrap();
    assert_eq!(strikes.len(), 3);
    assert!(strikes.iter().all(|strike| strike.excerpt.is_none()));
    assert_eq!(arena.views.ratings_of(left).unwrap()[0].name, "left");
    assert_eq!(arena.views.ratings_of(left).unwrap()[0].losses, 1);
    assert_eq!(world.rows("replays"), rows);
    arena.stop();
}
