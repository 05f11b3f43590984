//! The public form of every event, kept in `tests/golden/schema/public.txt`: a field that moves, changes its type or goes away shows.
//! A field that comes to be is a line that somebody changes by hand, since bodies may gain fields.

use super::{path, samples};
use crate::{
    Event, LogTime, Move, Seat,
    id::{
        AgentKey, ChallengePolicy, GameCode, Handle, Lineage, MatchKey, Partition, Protocol, RecordNumber,
        RulesVersion,
    },
    public::{
        AgentNamed, Audience, DECISIONS, Decision, EventId, MatchNamed, Names, PublicEvent, public_event,
    },
};
use serde_json::Value;
use std::{collections::BTreeSet, fmt::Write as _, fs};

const FILE: &str = "public.txt";

/// Two agents whoever is asked for, and the match of the samples.
pub(crate) struct Stand {
    handles: [Handle; 2],
}

impl Stand {
    pub(crate) fn new() -> Self {
        Self { handles: ["left", "right-2"].map(|handle| Handle::parse(handle).unwrap()) }
    }
}

impl Names for Stand {
    fn agent(&self, key: AgentKey) -> Option<AgentNamed<'_>> {
        let handle = &self.handles[usize::from(key.slot.is_multiple_of(2))];
        let protocol = if key.slot % 2 == 1 { Protocol::AgentArena } else { Protocol::House };
        Some(AgentNamed { handle, protocol, challenges: ChallengePolicy::Open })
    }

    fn open_match(&self, key: MatchKey) -> Option<MatchNamed> {
        samples::events().into_iter().find_map(|(_, event)| match event {
            Event::MatchOpened(event) if event.key == key => {
                Some(MatchNamed { id: event.id, game: event.game, rated: event.rated, seats: event.seats })
            }
            _ => None,
        })
    }

    fn game(&self, game: GameCode) -> Option<&'static str> {
        (game == GameCode(1)).then_some("connect4")
    }

    fn move_text(&self, _: GameCode, mv: &Move) -> Option<String> {
        Some(char::from(b'a' + mv.as_bytes()[0]).to_string())
    }
}

/// A sample in its public form, as the third event of the fifth command of a record.
pub(crate) fn shown(event: &Event) -> Option<PublicEvent> {
    let id = EventId {
        lineage: Lineage(*b"\x5f\x0e\x9c\x13\x2a\x77\x4d\x81\xb0\x46\xe3\x1d\x08\xfa\x62\x9b"),
        partition: Partition(0),
        record: RecordNumber(1_742),
        command: 5,
        event: 3,
    };
    public_event(id, LogTime(1_796_119_200_125_999), RulesVersion(1), event, &Stand::new()).unwrap()
}

/// Every sample with its public form, under the sample's label.
fn all() -> Vec<(String, Event, Option<PublicEvent>)> {
    let shown = |(label, event): (String, Event)| {
        let public = shown(&event);
        (label, event, public)
    };
    samples::events().into_iter().map(shown).collect()
}

#[test]
fn public_events_have_the_json_they_had() {
    let append = std::env::var("ARENA_GOLDEN_NEW").is_ok_and(|value| value == "1");
    let stored = fs::read_to_string(path(FILE)).unwrap_or_default();
    let mut known: Vec<(&str, &str)> =
        stored.lines().map(|line| line.split_once(' ').expect("a label and its JSON")).collect();
    let mut new = String::new();
    for (label, _, public) in all() {
        let Some(public) = public else { continue };
        match known.iter().position(|(stored, _)| *stored == label) {
            Some(at) => assert_eq!(known.remove(at).1, public.json, "the public form of {label} moved"),
            None if append => writeln!(new, "{label} {}", public.json).unwrap(),
            None => panic!("{FILE} has no line for {label}: run once with ARENA_GOLDEN_NEW=1"),
        }
    }
    assert_eq!(known, [], "lines without a sample, or twice");
    if !new.is_empty() {
        fs::write(path(FILE), stored + &new).unwrap();
    }
}

#[test]
fn every_public_kind_has_a_public_form_and_no_other_has_one() {
    for decision in DECISIONS {
        let forms: Vec<_> = all().into_iter().filter(|(_, event, _)| event.kind() == decision.kind).collect();
        let public = forms.iter().filter(|(_, _, public)| public.is_some()).count();
        if decision.audience == Audience::Public {
            assert!(public > 0, "{} is public, and no sample shows it", decision.name);
        } else {
            assert_eq!(public, 0, "{} is not public", decision.name);
        }
    }
    let silent = |(label, event, public): &(String, Event, Option<PublicEvent>)| {
        (Decision::of(event).audience == Audience::Public && public.is_none()).then(|| label.clone())
    };
    // The policy is what it was: only the address is another.
    assert_eq!(all().iter().filter_map(silent).collect::<Vec<_>>(), ["EndpointSet/bare"]);
}

/// Walks over a JSON value: each name with what stands under it.
fn walk<'a>(name: &'a str, value: &'a Value, see: &mut impl FnMut(&'a str, &'a Value)) {
    see(name, value);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(name, value, see)),
        Value::Array(values) => values.iter().for_each(|value| walk(name, value, see)),
        _ => {}
    }
}

#[test]
fn every_public_form_begins_with_what_all_have_and_holds_no_float() {
    for (label, _, public) in all() {
        let Some(public) = public else { continue };
        let begins = format!(
            r#"{{"id":"5f0e9c132a774d81b046e31d08fa629b-0-1742-5-3","at":"2026-12-01T10:00:00.125Z","family":"{}","kind":"{}","key":""#,
            public.family, public.kind
        );
        assert!(public.json.starts_with(&begins), "{label}: {}", public.json);
        let value: Value = serde_json::from_str(&public.json).unwrap();
        let tokens: Vec<&str> = public.subject.split('.').collect();
        let named = |field: &str| value[field].as_str().unwrap();
        assert_eq!(tokens, ["arena", "event", "0", named("family"), named("kind"), named("key")]);
        assert!(!public.json.contains(['\n', '\r']), "{label} is one line");
        walk("", &value, &mut |name, value| {
            assert!(value.as_number().is_none_or(|number| !number.is_f64()), "{label}: {name} is a float");
            // As in a replay: a strike's status and an end's winner are null where there is none.
            assert!(!value.is_null() || ["status", "winner"].contains(&name), "{label}: {name} is null");
        });
    }
}

/// DESIGN, *What is public*: from the texts, not from the code.
#[test]
fn no_public_form_tells_of_a_secret_a_text_an_address_or_a_process() {
    let hex = |bytes: &[u8]| super::hex(bytes);
    for (label, event, public) in all() {
        let Some(public) = public else { continue };
        let mut hidden: Vec<String> = Vec::new();
        match &event {
            Event::AgentRegistered(event) => {
                hidden.push(hex(&event.id.0));
                hidden.push(event.id.to_uuid().to_string());
                hidden.extend(event.credentials.iter().map(|credential| hex(&credential.hash.0)));
                hidden.extend(event.name.iter().map(|text| hex(&text.commitment.0)));
                hidden.extend(event.endpoint.iter().map(|text| hex(&text.commitment.0)));
            }
            Event::EndpointSet(event) => {
                hidden.extend(event.endpoint.iter().map(|text| hex(&text.commitment.0)));
            }
            Event::SequencerAnnounced(event) => hidden.push(hex(&event.incarnation.0)),
            Event::LineageBegun(event) => hidden.push(hex(&event.hash.0)),
            Event::MatchOpened(event) => hidden.extend([hex(&event.seed.0), hex(&event.accepted.0)]),
            Event::MovePlayed(event) => {
                hidden.push(hex(&event.accepted.0));
                hidden.extend(event.reason.iter().map(|text| hex(&text.commitment.0)));
            }
            Event::StrikeRecorded(event) => {
                hidden.push(hex(&event.accepted.0));
                hidden.extend(event.excerpt.iter().map(|text| hex(&text.commitment.0)));
            }
            Event::MatchEnded(event) => hidden.push(hex(&event.accepted.0)),
            Event::RulesActivated(_) => {}
            _ => panic!("{label} is public: say here what of it must not be shown"),
        }
        for secret in hidden {
            assert!(!public.json.contains(&secret) && !public.subject.contains(&secret), "{label}: {secret}");
        }
        let value: Value = serde_json::from_str(&public.json).unwrap();
        walk("", &value, &mut |name, _| {
            let private = [
                "seed",
                "hash",
                "digest",
                "commitment",
                "secret",
                "credential",
                "endpoint",
                "url",
                "excerpt",
                "nonce",
                "home",
                "producer",
                "incarnation",
                "salt",
                "size",
                "slot",
                "generation",
                "attempt",
            ];
            assert!(private.iter().all(|word| !name.split('_').any(|part| part == *word)), "{label}: {name}");
        });
    }
}

/// The replay shows the same facts under the same names (SURFACE, *A replay*).
#[test]
fn facts_of_a_match_have_the_names_that_a_replay_gives_them() {
    let fields = |kind: &str| -> BTreeSet<String> {
        let of_kind =
            all().into_iter().filter_map(|(_, _, public)| public).filter(|public| public.kind == kind);
        let value = |public: PublicEvent| serde_json::from_str::<Value>(&public.json).unwrap();
        of_kind
            .map(value)
            .flat_map(|value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>())
            .collect()
    };
    let all_have = |kind: &str, names: &[&str]| {
        let found = fields(kind);
        assert!(names.iter().all(|name| found.contains(*name)), "{kind}: {found:?}");
    };
    all_have("match_opened", &["match_id", "game", "rated", "rules_version", "deadline_ms", "players"]);
    all_have("move_played", &["at", "seat", "move_number", "move", "latency_ms"]);
    all_have(
        "strike_recorded",
        &["at", "seat", "move_number", "move", "cause", "strikes", "latency_ms", "status"],
    );
    all_have("match_ended", &["at", "winner", "reason", "status", "players"]);
    let opened = all().into_iter().find_map(|(_, _, public)| public.filter(|it| it.kind == "match_opened"));
    let opened: Value = serde_json::from_str(&opened.unwrap().json).unwrap();
    for (seat, player) in Seat::ALL.iter().zip(opened["players"].as_array().unwrap()) {
        assert_eq!(player["seat"], seat.as_str());
        assert!(player["agent"].is_string() && player["protocol"].is_string());
        assert_eq!(player.get("name"), None, "a name for display is a text");
    }
}
