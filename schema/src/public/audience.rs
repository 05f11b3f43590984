//! Who may see which kind of event, as a table. What belongs here: one row a kind and the reason. What never does: how a public
//! one looks.

use crate::{Event, family::Family};

/// Whom an event is for (DESIGN, *What is public*).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Everybody: it is in the public stream.
    Public,
    /// Those whom it is about: they learn of it by their own door.
    Participants,
    /// Whoever runs the arena, and auditors, who get the records.
    Operator,
}

impl Audience {
    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Participants => "participants",
            Self::Operator => "operator",
        }
    }
}

/// What was decided for a kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The kind's code.
    pub kind: u16,
    /// The kind's name in subjects and public JSON.
    pub name: &'static str,
    /// Whom it is for.
    pub audience: Audience,
    /// Why.
    pub why: &'static str,
}

const fn row(kind: u16, name: &'static str, audience: Audience, why: &'static str) -> Decision {
    Decision { kind, name, audience, why }
}

use Audience::{Operator, Participants, Public};

/// One row for each kind of event, in the order of their codes. What a replay, a profile or a leaderboard shows is public, and
/// nothing else; a kind without a row does not compile.
pub const DECISIONS: &[Decision] = &[
    row(
        0x0001,
        "rejected",
        Participants,
        "whoever asked is told; a refusal that raced changes nothing for others",
    ),
    row(0x0002, "number_seen", Operator, "the numbering between a gateway and the journal"),
    row(0x0003, "second_key_kept", Operator, "a tag of a key that its caller keeps to itself"),
    row(0x0004, "second_key_expired", Operator, "a tag of a key that its caller keeps to itself"),
    row(
        0x0005,
        "sequencer_announced",
        Public,
        "deadlines move by the outage, for everybody who plays; not which process leads",
    ),
    row(0x0006, "gateway_announced", Operator, "which processes run is no fact of play"),
    row(0x0007, "gateway_removed", Operator, "which processes run is no fact of play"),
    row(0x0008, "rules_activated", Public, "a replay names the rules that it was played under"),
    row(0x0009, "era_closed", Operator, "where records are stored is no fact of play"),
    row(
        0x000a,
        "lineage_begun",
        Public,
        "ids of events name their lineage: readers must know up to where the old one holds",
    ),
    row(0x000b, "partition_opened", Operator, "where things are kept is no fact of play"),
    row(0x000c, "outbox_sent", Operator, "a word between partitions; what comes of it is public there"),
    row(0x000d, "outbox_trimmed", Operator, "the numbering between two partitions"),
    row(
        0x0101,
        "agent_registered",
        Public,
        "what its profile shows; not its address, not its credentials, its name by the profile's address",
    ),
    row(0x0102, "credential_rotated", Participants, "the owner's own affair"),
    row(
        0x0103,
        "endpoint_set",
        Public,
        "where the policy for challenges is another than before, as the profile shows; a change of address alone is the owner's own affair",
    ),
    row(0x0104, "guest_arrived", Operator, "a copy of what its registration made public"),
    row(0x0105, "guest_left", Operator, "the copy is thrown away"),
    row(
        0x0301,
        "match_opened",
        Public,
        "the head of the replay; not the seed, which is the operator's while the match runs",
    ),
    row(
        0x0302,
        "turn_opened",
        Participants,
        "the agent that is asked gets the request; by which gateway is the operator's affair",
    ),
    row(0x0303, "move_played", Public, "on the replay; what was said of it by the replay's address"),
    row(0x0304, "strike_recorded", Public, "on the replay; what was answered is the striker's own affair"),
    row(0x0305, "match_ended", Public, "on the replay"),
    row(0x0306, "match_sent", Operator, "the match's own partition tells that it opened"),
    row(0x0307, "match_returned", Operator, "the match's own partition told that it ended"),
    row(
        0x0701,
        "session_created",
        Operator,
        "a session is reached by its link alone; that there is one is nobody's",
    ),
    row(0x0702, "session_joined", Participants, "an entry of a log that those who have its link read"),
    row(0x0703, "session_rejoined", Participants, "an entry of a log that those who have its link read"),
    row(0x0704, "entry_sent", Participants, "an entry of a log that those who have its link read"),
    row(0x0705, "reads_moved", Participants, "the presence shows it to those who are in"),
    row(0x0706, "session_left", Participants, "an entry of a log that those who have its link read"),
    row(0x0707, "participant_replaced", Participants, "whoever had the link is told that it is nobody's"),
    row(0x0708, "account_set", Participants, "the presence shows it to those who are in"),
    row(0x0709, "session_touched", Operator, "how long a session lasts yet, and by which gateway"),
    row(0x070a, "deletion_due", Operator, "which gateway asks the access service"),
    row(0x070b, "deletion_answered", Operator, "what the access service said"),
    row(0x070c, "session_ended", Participants, "its link leads nowhere from here on"),
];

/// Every kind has its row: who adds one decides here, or nothing compiles.
const _: () = {
    assert!(
        DECISIONS.len() == Event::KINDS.len(),
        "a kind of event has no row in DECISIONS, or one too many"
    );
    let mut at = 0;
    while at < DECISIONS.len() {
        assert!(DECISIONS[at].kind == Event::KINDS[at].0, "DECISIONS is not in the order of Event::KINDS");
        assert!(Family::of_kind(DECISIONS[at].kind).is_some(), "a kind of event is of no family");
        at += 1;
    }
};

impl Decision {
    /// What was decided for the kind of this event.
    pub fn of(event: &Event) -> &'static Self {
        let kind = event.kind();
        let at = DECISIONS.binary_search_by_key(&kind, |decision| decision.kind);
        &DECISIONS[at.expect("every kind has its row, in order")]
    }

    /// The public kind of this name.
    pub fn public(name: &str) -> Option<&'static Self> {
        DECISIONS.iter().find(|decision| decision.audience == Public && decision.name == name)
    }

    /// The family that the kind is of.
    pub fn family(&self) -> Family {
        Family::of_kind(self.kind).expect("every row's kind is of a family")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_as_in_the_schema_and_by_one_name_in_all_families() {
        for (at, (decision, (kind, name))) in DECISIONS.iter().zip(Event::KINDS).enumerate() {
            let mut snake = String::new();
            for (place, c) in name.chars().enumerate() {
                if c.is_ascii_uppercase() && place > 0 {
                    snake.push('_');
                }
                snake.push(c.to_ascii_lowercase());
            }
            assert_eq!((decision.kind, decision.name), (*kind, snake.as_str()));
            assert!(DECISIONS[..at].iter().all(|before| before.name != decision.name), "{snake} twice");
            assert!(DECISIONS[..at].iter().all(|before| before.kind < decision.kind), "{snake} out of order");
            assert!(!decision.why.is_empty() && !decision.why.contains('|'));
        }
    }

    /// From DESIGN and the protocols, not from the table: what never leaves the house.
    #[test]
    fn numbers_keys_credentials_and_processes_are_not_public() {
        for name in [
            "rejected",
            "number_seen",
            "second_key_kept",
            "second_key_expired",
            "gateway_announced",
            "gateway_removed",
            "era_closed",
            "credential_rotated",
            "turn_opened",
            "partition_opened",
            "outbox_sent",
            "outbox_trimmed",
            "guest_arrived",
            "guest_left",
            "match_sent",
            "match_returned",
            "session_created",
            "session_joined",
            "session_rejoined",
            "entry_sent",
            "reads_moved",
            "session_left",
            "participant_replaced",
            "account_set",
            "session_touched",
            "deletion_due",
            "deletion_answered",
            "session_ended",
        ] {
            assert_eq!(Decision::public(name), None, "{name}");
        }
        for name in ["agent_registered", "match_opened", "move_played", "strike_recorded", "match_ended"] {
            assert!(Decision::public(name).is_some(), "{name}");
        }
    }
}
