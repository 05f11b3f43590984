//! Which rules this build knows, and what each brought. Behaviour changes only by `ActivateRules`; old rules stay in the tree.
//!
//! | rules | brought |
//! |---|---|
//! | 1 | all that is not named below |
//! | 2 | partitions: `OpenPartition`, `AcknowledgeOutbox`, `TakeMatch`, `ReturnMatch`; a match is opened in the partition that its id names; what only partition 0 decides is refused in every other |
//! | 3 | the family sessions, kinds `0x07__` |

use arena_schema::id::RulesVersion;

/// The rules of a journal's first record.
pub(crate) const RULES_FIRST: RulesVersion = RulesVersion(1);

/// The rules that brought partitions.
pub const RULES_PARTITIONS: RulesVersion = RulesVersion(2);

/// The rules that brought sessions.
pub const RULES_SESSIONS: RulesVersion = RulesVersion(3);

/// The newest rules that this build knows: it knows all from 1 on.
pub const RULES_NEWEST: RulesVersion = RULES_SESSIONS;

/// The rules that brought a kind of command; under older ones it is unknown, as it was to the builds of their day.
pub(crate) const fn brought(kind: u16) -> RulesVersion {
    match kind {
        0x0008 | 0x0009 | 0x0305 | 0x0306 => RULES_PARTITIONS,
        0x0700..=0x07ff => RULES_SESSIONS,
        _ => RULES_FIRST,
    }
}
