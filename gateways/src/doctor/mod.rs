//! What `arena doctor` looks at: the settings, the disk, the clock, the vault's key, the journal, NATS. What belongs here: each
//! check with what is fine, what is not and what to do next. What never does: changing anything; what a check writes, it
//! deletes.

mod local;
mod shared;
mod snapshots;

use crate::settings::Settings;

/// What a limit that is near means.
const ONLY_ENDS: &str = "so only what ends or frees things is taken";

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Fine,
    /// A start goes on, and whoever runs the arena should know.
    Note,
    /// A start is refused.
    Refuses,
}

impl Verdict {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Refuses => "refuses",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What, in a word or two.
    pub what: &'static str,
    /// What it came to.
    pub verdict: Verdict,
    /// What was seen.
    pub says: String,
    /// What to do, where something is to be done.
    pub next: Option<String>,
}

impl Check {
    fn fine(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Fine, says: says.into(), next: None }
    }

    fn note(what: &'static str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Note, says: says.into(), next: Some(next.into()) }
    }

    fn refuses(what: &'static str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Refuses, says: says.into(), next: Some(next.into()) }
    }
}

/// Looks at everything that these settings name. It blocks, and is called outside of a runtime, which it is given.
pub fn examine(settings: &Settings, runtime: &tokio::runtime::Runtime) -> Vec<Check> {
    let mut checks = vec![Check::fine("settings", "every setting is known and fits")];
    local::disk(settings, &mut checks);
    local::clock(settings, &mut checks);
    local::vault(settings, &mut checks);
    if settings.nats.url.is_some() {
        shared::nats(settings, runtime, &mut checks);
    }
    checks
}

/// Settings that do not hold are all that can be said.
pub fn unsettled(why: &dyn std::fmt::Display) -> Vec<Check> {
    vec![Check::refuses(
        "settings",
        why.to_string(),
        "mend it; `arena init` writes a file with every setting",
    )]
}
