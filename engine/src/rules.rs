//! Which rules this build knows. Behaviour changes only by `ActivateRules`; old rules stay in the tree.

use arena_schema::id::RulesVersion;

/// The rules of a journal's first record.
pub(crate) const RULES_FIRST: RulesVersion = RulesVersion(1);

/// The newest rules that this build knows: it knows all from 1 on.
pub const RULES_NEWEST: RulesVersion = RulesVersion(1);
