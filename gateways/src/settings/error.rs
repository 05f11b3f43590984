//! What can be wrong with settings, each said with where it came from and what to do. Values of secrets never stand here.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::source::Origin;

/// Why the settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file could not be read.
    #[error("cannot read the settings in {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said; in the message already, and so no cause behind it.
        why: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{} is not valid TOML, line {line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser said, without the line's text, which may hold a secret.
        message: String,
    },
    /// No setting has this name.
    #[error("unknown {}; the nearest known one is {nearest}", unknown(name, origin))]
    Unknown {
        /// The name as it was written: a dotted key, or a variable.
        name: String,
        /// Where it stood.
        origin: Origin,
        /// The known name that is most like it.
        nearest: String,
    },
    /// The value does not fit the setting.
    #[error("{key} {origin}: expected {expected}, came {came}")]
    Value {
        /// The setting.
        key: String,
        /// Where the value stood.
        origin: Origin,
        /// What would fit.
        expected: String,
        /// What stood there; only its type where the setting is a secret.
        came: String,
    },
    /// A setting that only a flag may set.
    #[error(
        "{key} {origin}: only the flag {flag} may set it, so that nothing but a command line turns it on"
    )]
    FlagOnly {
        /// The setting.
        key: String,
        /// Where it stood.
        origin: Origin,
        /// The flag.
        flag: String,
    },
    /// A way to sign in lacks something.
    #[error("auth.providers.{provider}: {missing} is missing")]
    ProviderLacks {
        /// The provider's name.
        provider: String,
        /// What it lacks.
        missing: &'static str,
    },
    /// A way to sign in has what its kind does not take.
    #[error("auth.providers.{provider}: {excess} does not go with kind \"{kind}\"; leave it out")]
    ProviderExcess {
        /// The provider's name.
        provider: String,
        /// What it has.
        excess: &'static str,
        /// Its kind.
        kind: &'static str,
    },
    /// A provider's name has other characters than it may.
    #[error("auth.providers {origin}: expected a name of a-z, 0-9, - and _, came {name:?}")]
    ProviderName {
        /// The name.
        name: String,
        /// Where it stood.
        origin: Origin,
    },
    /// The embedder `openai` lacks something.
    #[error("search.embedder is \"openai\", but {missing} is missing")]
    SearchLacks {
        /// What it lacks.
        missing: &'static str,
    },
    /// Certificates for tests, outside tests.
    #[error("egress.extra_roots {origin} is for tests and goes with --dev only; remove it, or add --dev")]
    ExtraRootsWithoutDev {
        /// Where it stood.
        origin: Origin,
    },
    /// `--dev` where others could reach it.
    #[error(
        "--dev refuses to listen beyond loopback, and listen is {listen}; use 127.0.0.1 or [::1], or drop --dev"
    )]
    DevBeyondLoopback {
        /// The address asked for.
        listen: SocketAddr,
    },
    /// A role where there is nobody to share with.
    #[error("a role goes with a journal on NATS only; add --nats, or drop --role")]
    RoleWithoutNats,
    /// Several partitions where one process has it all.
    #[error("several partitions go with a journal on NATS only; add --nats, or drop --partitions")]
    PartitionsWithoutNats,
    /// `--test-clock` without `--dev`.
    #[error("--test-clock goes with --dev only; add --dev, or drop --test-clock")]
    TestClockWithoutDev,
}

fn unknown(name: &str, origin: &Origin) -> String {
    match origin {
        Origin::Variable(variable) => format!("variable {variable}"),
        Origin::File(_) | Origin::Flag(_) => format!("setting {name} {origin}"),
    }
}
