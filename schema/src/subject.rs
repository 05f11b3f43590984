//! The names on NATS (SURFACE, *On NATS*): subjects, streams, buckets and object stores. What belongs here: how each is spelt, who
//! writes it, who reads it and what it holds. What never does: a connection, or how any of it is used.
//!
//! No name holds what a person chose but a handle, whose letters are all allowed in a subject; so no token here ever has a dot, a
//! wildcard or a blank in it.

use crate::{
    family::Family,
    id::{Era, Handle, MatchId, Partition},
};
use std::fmt::Display;

/// The bucket of the leaders' and gateways' leases, and of the mark beside the leader's.
pub const LEASES_BUCKET: &str = "ARENA_LEASES";
/// The bucket of what must be known to be used, sealed.
pub const VAULT_BUCKET: &str = "ARENA_VAULT";
/// The object store of payloads that are too large to ride beside a record.
pub const PAYLOADS_STORE: &str = "ARENA_PAYLOADS";
/// The object store of snapshots of the state.
pub const SNAPSHOTS_STORE: &str = "ARENA_SNAPSHOTS";

/// Where a gateway hands commands to a partition's leader.
pub fn submit(partition: Partition) -> String {
    format!("arena.submit.{}", partition.0)
}

/// Where a partition's leader says how far its journal is.
pub fn position(partition: Partition) -> String {
    format!("arena.position.{}", partition.0)
}

/// Where the records of an era are.
pub fn record(partition: Partition, era: Era) -> String {
    format!("arena.record.{}.{}", partition.0, era.0)
}

/// The stream that keeps them.
pub fn records_stream(partition: Partition, era: Era) -> String {
    format!("ARENA_RECORDS_{}_{}", partition.0, era.0)
}

/// Where the sealed texts beside a partition's records are.
pub fn text(partition: Partition) -> String {
    format!("arena.text.{}", partition.0)
}

/// The stream that keeps them.
pub fn texts_stream(partition: Partition) -> String {
    format!("ARENA_TEXTS_{}", partition.0)
}

/// What an event is about: the last token of its subject, and `key` in its JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// A match, by its id.
    Match(MatchId),
    /// An agent, by its handle.
    Agent(&'a Handle),
    /// The arena as a whole: `-`, which is no handle and no id.
    None,
}

impl Display for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Match(id) => id.to_uuid().hyphenated().fmt(f),
            Self::Agent(handle) => handle.fmt(f),
            Self::None => f.write_str("-"),
        }
    }
}

/// Where a public event is. `kind` is the name of a [`Decision`](crate::public::Decision).
pub fn event(partition: Partition, family: Family, kind: &str, key: &Key<'_>) -> String {
    format!("arena.event.{}.{family}.{kind}.{key}", partition.0)
}

/// All public events of a partition: what its stream is bound to.
pub fn events(partition: Partition) -> String {
    format!("arena.event.{}.>", partition.0)
}

/// The stream that keeps them.
pub fn events_stream(partition: Partition) -> String {
    format!("ARENA_EVENTS_{}", partition.0)
}

/// Whether a subject is one that `pattern` asks for, as NATS has it: `*` stands for one token, `>` at the end for one or more.
pub fn covers(pattern: &str, subject: &str) -> bool {
    let (mut pattern, mut subject) = (pattern.split('.'), subject.split('.'));
    loop {
        match (pattern.next(), subject.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) => return pattern.next().is_none(),
            (Some(asked), Some(token)) if asked == "*" || asked == token => {}
            _ => return false,
        }
    }
}

/// What a name on NATS is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A subject without a stream: a request and its reply.
    Request,
    /// A stream and the subject that it is bound to.
    Stream,
    /// A key-value bucket.
    Bucket,
    /// An object store.
    ObjectStore,
}

impl Form {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "A request and its reply",
            Self::Stream => "A stream",
            Self::Bucket => "A key-value bucket",
            Self::ObjectStore => "An object store",
        }
    }
}

/// A name on NATS and what is to be known of it. Where it has parts they stand in angle brackets.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    /// What it names.
    pub form: Form,
    /// The name: of the stream, bucket or store, or the subject of a request.
    pub name: &'static str,
    /// The subject of a stream.
    pub subject: Option<&'static str>,
    /// Who writes.
    pub writes: &'static str,
    /// Who reads.
    pub reads: &'static str,
    /// What a message, a key or an object holds.
    pub holds: &'static str,
}

/// All names on NATS.
pub const ADDRESSES: &[Address] = &[
    Address {
        form: Form::Request,
        name: "arena.submit.<partition>",
        subject: None,
        writes: "gateways",
        reads: "the partition's leader, which answers",
        holds: "a batch of commands as a record holds them, with the sealed texts beside them; the answer is each command's outcome and place",
    },
    Address {
        form: Form::Request,
        name: "arena.position.<partition>",
        subject: None,
        writes: "gateways, and whoever wants to know how far behind a reader is",
        reads: "the partition's leader, which answers while its lease holds and is silent otherwise",
        holds: "nothing; the answer is the number of the journal's last record, in decimal. A gateway asks in the words of `arena.submit`, none of which is heard here but this one",
    },
    Address {
        form: Form::Stream,
        name: "ARENA_RECORDS_<partition>_<era>",
        subject: Some("arena.record.<partition>.<era>"),
        writes: "the partition's leader alone, each message on the expected last sequence",
        reads: "engines, gateways, auditors",
        holds: "one record, the very bytes that an embedded journal has in a row; never deleted, never purged",
    },
    Address {
        form: Form::Stream,
        name: "ARENA_TEXTS_<partition>",
        subject: Some("arena.text.<partition>"),
        writes: "the partition's leader, before the record that commits to the texts",
        reads: "engines, gateways",
        holds: "sealed texts, many in one message, at most 512 KiB; found by their commitments; those without a record are swept",
    },
    Address {
        form: Form::Stream,
        name: "ARENA_EVENTS_<partition>",
        subject: Some("arena.event.<partition>.<family>.<kind>.<key>"),
        writes: "the partition's leader alone, each message on the expected last sequence",
        reads: "everybody who is let in: analysts, `arena tail`",
        holds: "one public event as a JSON object in UTF-8, without a line's end",
    },
    Address {
        form: Form::Bucket,
        name: LEASES_BUCKET,
        subject: None,
        writes: "engines and gateways, each its own lease",
        reads: "engines and gateways",
        holds: "who leads a partition and by which epoch, with the number, hash and epoch of the last record that it wrote; which gateways live and which rules they know",
    },
    Address {
        form: Form::Bucket,
        name: VAULT_BUCKET,
        subject: None,
        writes: "engines and gateways, before the record that relies on the value",
        reads: "engines and gateways",
        holds: "signing secrets, access tokens and the keys that texts are sealed under, each sealed under the vault's key; history 1, so that what is destroyed is gone",
    },
    Address {
        form: Form::ObjectStore,
        name: PAYLOADS_STORE,
        subject: None,
        writes: "gateways, before the command that names the payload",
        reads: "gateways",
        holds: "payloads above 64 KB, sealed, in chunks, under their owner; swept against the state",
    },
    Address {
        form: Form::ObjectStore,
        name: SNAPSHOTS_STORE,
        subject: None,
        writes: "engines, from a replay of their own; one of them each",
        reads: "engines, gateways",
        holds: "`<partition>-<record>.snap`: a state with the record, hash, digest, rules and layout that it is of, and no text; passed over where any of them does not fit",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::public::DECISIONS;

    /// SURFACE, *On NATS*.
    #[test]
    fn the_names_are_those_of_the_surface() {
        let (p, era) = (Partition(3), Era(2));
        assert_eq!(submit(p), "arena.submit.3");
        assert_eq!(position(p), "arena.position.3");
        assert_eq!(
            (records_stream(p, era), record(p, era)),
            ("ARENA_RECORDS_3_2".into(), "arena.record.3.2".into())
        );
        assert_eq!((texts_stream(p), text(p)), ("ARENA_TEXTS_3".into(), "arena.text.3".into()));
        assert_eq!((events_stream(p), events(p)), ("ARENA_EVENTS_3".into(), "arena.event.3.>".into()));
        assert_eq!(
            [LEASES_BUCKET, VAULT_BUCKET, PAYLOADS_STORE, SNAPSHOTS_STORE],
            ["ARENA_LEASES", "ARENA_VAULT", "ARENA_PAYLOADS", "ARENA_SNAPSHOTS"]
        );
        let handle = Handle::parse("left-1_x").unwrap();
        assert_eq!(
            event(p, Family::Registry, "agent_registered", &Key::Agent(&handle)),
            "arena.event.3.registry.agent_registered.left-1_x"
        );
        assert_eq!(
            event(p, Family::System, "rules_activated", &Key::None),
            "arena.event.3.system.rules_activated.-"
        );
        let id = MatchId::from_random(p, [0xab; 14]);
        assert_eq!(
            event(p, Family::Matches, "match_ended", &Key::Match(id)),
            "arena.event.3.matches.match_ended.0003abab-abab-8bab-abab-abababababab"
        );
    }

    /// What NATS takes for a token of a literal subject.
    fn is_token(text: &str) -> bool {
        !text.is_empty()
            && !text.contains(['.', '*', '>'])
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    }

    #[test]
    fn a_handle_that_would_break_a_subject_is_none() {
        for hostile in [
            "a.b",
            "a*b",
            "***",
            "a>b",
            ">>>",
            "a b",
            "a\tb",
            "a\nb",
            "a\u{a0}b",
            "a\0b",
            "...",
            "a.>",
            "$js.api",
            "a\u{2028}b",
            "ünï",
            "ABC",
            "",
            "-",
        ] {
            assert_eq!(Handle::parse(hostile), None, "{hostile:?}");
        }
        for odd in
            ["---", "___", "-a-", "null", "0123456789abcdef01234567", "x2345678901234567890123456789012"]
        {
            let handle = Handle::parse(odd).unwrap();
            let key = Key::Agent(&handle).to_string();
            assert!(is_token(&key) && key == odd, "{odd}");
        }
    }

    #[test]
    fn every_subject_of_an_event_has_six_tokens_of_which_none_is_a_wildcard() {
        for decision in DECISIONS {
            let subject = event(Partition(u16::MAX), decision.family(), decision.name, &Key::None);
            assert!(subject.split('.').all(is_token), "{subject}");
            assert_eq!(subject.split('.').count(), 6, "{subject}");
            assert!(covers(&events(Partition(u16::MAX)), &subject));
        }
    }

    #[test]
    fn a_pattern_covers_what_nats_says_it_does() {
        let subject = "arena.event.0.matches.move_played.id";
        for pattern in
            [subject, ">", "arena.>", "arena.event.*.matches.>", "arena.event.0.*.*.id", "*.*.*.*.*.*"]
        {
            assert!(covers(pattern, subject), "{pattern}");
        }
        for pattern in [
            "",
            "arena",
            "arena.event.0.matches.move_played.id.>",
            "arena.event.1.>",
            "*.*.*.*.*",
            "arena.>.id",
            "arena.event.0.match*.>",
        ] {
            assert!(!covers(pattern, subject), "{pattern}");
        }
    }
}
