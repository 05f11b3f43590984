//! The settings of an arena, from `arena.toml`, then `ARENA_*` variables, then flags.
//!
//! What belongs here: each setting's name, unit, default and allowed values, where it may come from, and the rules between
//! two of them. What never does: acting on a setting, reading the process's environment (the caller hands it in), or a limit
//! that nobody may set.
//!
//! Invariants:
//! - Every name stands once, in `rows`: reading, the nearest known name and printing all go through that list.
//! - An unknown name or a value that does not fit is an error, also where a later source overrides it.
//! - A [`Secret`] is shown by no `Debug`, no error and no printed settings.
//! - An [`OperatorUrl`] is made here and nowhere else.

mod error;
mod nearest;
mod rows;
mod slot;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod words;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

pub use error::SettingsError;
pub use source::{Flag, Origin};
pub use value::{
    Durability, Embedder, NatsUrl, Network, OperatorUrl, ProviderKind, PublicUrl, Registration, Role, Secret,
};

/// The file that is read where `--config` names none.
pub const DEFAULT_FILE: &str = "arena.toml";

/// The deadlines that a turn may have, in milliseconds, as a setting or in `POST /api/v1/matches`.
pub const DEADLINE_MS: std::ops::RangeInclusive<u64> = 500..=60_000;

/// All settings of one process. `Settings::default()` is what holds without a file, a variable or a flag.
///
/// Paths are relative to the directory that the process was started in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of the embedded journal, its views and the vault. Default `./arena-data`.
    pub data: PathBuf,
    /// Below so many free bytes on the volume of `data` an embedded journal takes only what ends or frees things. Default: 1 GiB, or a
    /// tenth of a volume of which that is less.
    pub free_bytes_min: Option<u64>,
    /// The address to listen on; port 0 lets the system choose. Default `127.0.0.1:7171`.
    pub listen: SocketAddr,
    /// Where clients reach this arena, for links and metadata. Default: `http://` and the address listened on. See
    /// [`Settings::public_url_at`].
    pub public_url: Option<PublicUrl>,
    /// The key that seals secrets and texts.
    pub vault: Vault,
    /// The journal on NATS JetStream.
    pub nats: Nats,
    /// What is asked of the NATS server's disk. Default `strict`.
    pub durability: Durability,
    /// What this process does where the journal is on NATS. Default `all`.
    pub role: Role,
    /// Over how many partitions new matches are spread where the journal is on NATS; what exists is followed whatever this says.
    /// Default 1.
    pub partitions: u64,
    /// Who may register an agent. Default `open`.
    pub registration: Registration,
    /// The codes that let an agent register where `registration` is `invite`. Default none, which lets nobody in.
    pub invitations: Vec<Secret>,
    /// The proxies whose `X-Forwarded-For` counts, as addresses or networks. Default none.
    pub trusted_proxies: Vec<Network>,
    /// The protocol `agentarena/1`.
    pub agentarena: AgentArena,
    /// The protocol `ludux/1`.
    pub ludux: Ludux,
    /// The protocol `evalduel-agent-v0`.
    pub evalduel: EvalDuel,
    /// The relay of `/v2`.
    pub agentwire: AgentWire,
    /// Who people sign in with.
    pub auth: Auth,
    /// How DealArena's search compares texts.
    pub search: Search,
    /// Connections out.
    pub egress: Egress,
    /// For trying and testing on one machine (`--dev`, a flag only): loopback endpoints, sign-in without a provider, `/dev/*`
    /// routes, no limits per client unless set.
    pub dev: bool,
    /// The journal's clock stands still and is moved by `/dev/clock` (`--test-clock`, a flag only, with `--dev`).
    pub test_clock: bool,
}

/// `vault.*`: the key that seals secrets and texts.
#[derive(Clone, Debug, Default)]
pub struct Vault {
    /// A file of 32 bytes. Default `<data>/vault.key`; see [`Settings::vault_key_file`].
    pub key_file: Option<PathBuf>,
    /// Keys of before, which still open what they sealed. Default none.
    pub old_key_files: Vec<PathBuf>,
}

/// `nats.*`: the journal on JetStream instead of in `data`.
#[derive(Clone, Debug)]
pub struct Nats {
    /// The server. Default none: the journal is embedded.
    pub url: Option<NatsUrl>,
    /// Copies of each stream, 1 to 5. Default 1.
    pub replicas: u64,
    /// A `.creds` file. Default none.
    pub credentials: Option<PathBuf>,
    /// The server's monitoring port, where it says whether it syncs before it acknowledges. Default none.
    pub monitor_url: Option<OperatorUrl>,
    /// A `.creds` file of the system account, to ask the same through NATS. Default none.
    pub system_credentials: Option<PathBuf>,
}

/// `agentarena.*`.
#[derive(Clone, Debug)]
pub struct AgentArena {
    /// The time that an agent has for a turn, in milliseconds, within [`DEADLINE_MS`]. Default 10000.
    pub deadline_ms: u64,
}

/// `ludux.*`.
#[derive(Clone, Debug)]
pub struct Ludux {
    /// The time that an agent has for a turn, in milliseconds, within [`DEADLINE_MS`]. Default 15000.
    pub deadline_ms: u64,
}

/// `evalduel.*`.
#[derive(Clone, Debug)]
pub struct EvalDuel {
    /// The time that both agents have for a turn, in milliseconds, 500 to 600000. Default 30000.
    pub deadline_ms: u64,
    /// Turns in a battle, 1 to 100. Default 10.
    pub turn_count: u64,
    /// The largest frame that an agent may send, in bytes, 1024 to 16777216. Default 262144.
    pub frame_bytes_max: u64,
    /// How long a lost connection may come back before it ends a battle, in seconds, 0 to 600. Default 0.
    pub reconnect_grace_s: u64,
    /// A folder of task packs. Default none: the starter pack.
    pub tasks: Option<PathBuf>,
}

/// `agentwire.*`.
#[derive(Clone, Debug)]
pub struct AgentWire {
    /// The service that owns sessions. Default none: there are no owned sessions.
    pub access_url: Option<OperatorUrl>,
    /// How long an answer of that service holds, in seconds, 0 to 3600. Default 5.
    pub access_cache_s: u64,
    /// The pause before a failed receive, read or fetch is answered, in seconds, 0 to 600. Default 10.
    pub failed_receive_pause_s: u64,
    /// The largest payload, in bytes, 1 to 10000000, which is the protocol's own limit and the default.
    pub payload_bytes_max: u64,
    /// Sessions that one client may have at a time; none (written 0) is no limit. Default 100, with `--dev` none.
    pub sessions_per_client_max: Option<u64>,
}

/// `auth.*`.
#[derive(Clone, Debug, Default)]
pub struct Auth {
    /// `auth.providers.<name>`, by name. Default none.
    pub providers: BTreeMap<String, Provider>,
}

/// `auth.providers.<name>.*`: one way to sign in.
#[derive(Clone, Debug, Default)]
pub struct Provider {
    /// What it speaks. Required.
    pub kind: Option<ProviderKind>,
    /// OpenID Connect's issuer. Required with `oidc`, refused with `github`.
    pub issuer: Option<OperatorUrl>,
    /// Our name at the provider. Required.
    pub client_id: Option<String>,
    /// Our secret at the provider. Required.
    pub client_secret: Option<Secret>,
    /// GitHub's page that asks the person. Default GitHub's own; refused with `oidc`, whose issuer tells.
    pub authorize_url: Option<OperatorUrl>,
    /// Where GitHub changes a code into a token. Default GitHub's own; refused with `oidc`.
    pub token_url: Option<OperatorUrl>,
    /// Where GitHub says whose token it is. Default GitHub's own; refused with `oidc`.
    pub user_url: Option<OperatorUrl>,
}

/// `search.*`.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// What turns a text into a vector. Default `auto`.
    pub embedder: Embedder,
    /// An OpenAI-compatible endpoint. Required with `openai`, else unused. Default none.
    pub url: Option<OperatorUrl>,
    /// The model to ask it for. Required with `openai`, else unused. Default none.
    pub model: Option<String>,
    /// The key to show it. Default none.
    pub key: Option<Secret>,
}

/// `egress.*`.
#[derive(Clone, Debug, Default)]
pub struct Egress {
    /// PEM files of certificates to trust beside the public ones, for tests; with `--dev` only. Default none.
    pub extra_roots: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data: PathBuf::from("./arena-data"),
            free_bytes_min: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7171)),
            public_url: None,
            vault: Vault::default(),
            nats: Nats::default(),
            durability: Durability::default(),
            role: Role::default(),
            partitions: 1,
            registration: Registration::default(),
            invitations: Vec::new(),
            trusted_proxies: Vec::new(),
            agentarena: AgentArena { deadline_ms: 10_000 },
            ludux: Ludux { deadline_ms: 15_000 },
            evalduel: EvalDuel::default(),
            agentwire: AgentWire::default(),
            auth: Auth::default(),
            search: Search::default(),
            egress: Egress::default(),
            dev: false,
            test_clock: false,
        }
    }
}

impl Default for Nats {
    fn default() -> Self {
        Self { url: None, replicas: 1, credentials: None, monitor_url: None, system_credentials: None }
    }
}

impl Default for EvalDuel {
    fn default() -> Self {
        Self {
            deadline_ms: 30_000,
            turn_count: 10,
            frame_bytes_max: 262_144,
            reconnect_grace_s: 0,
            tasks: None,
        }
    }
}

impl Default for AgentWire {
    fn default() -> Self {
        Self {
            access_url: None,
            access_cache_s: 5,
            failed_receive_pause_s: 10,
            payload_bytes_max: 10_000_000,
            sessions_per_client_max: Some(100),
        }
    }
}

impl Settings {
    /// Reads the settings: the file `config`, or [`DEFAULT_FILE`] where `config` is none and that file exists, then those of
    /// `variables` that begin with `ARENA_` (the process's own are `std::env::vars_os()`), then `flags`.
    /// Those that begin with `ARENA_TESTS_` are the tests' own and are passed over.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML, an unknown name, a value that does not fit, or two settings that do not go
    /// together, each with where it came from and what was expected.
    pub fn load<V, T>(config: Option<&Path>, variables: V, flags: &[Flag]) -> Result<Self, SettingsError>
    where
        V: IntoIterator<Item = (T, T)>,
        T: Into<OsString>,
    {
        let table = if let Some(path) = config {
            Some((path, source::read(path)?))
        } else {
            let path = Path::new(DEFAULT_FILE);
            source::read_if_present(path)?.map(|table| (path, table))
        };
        let variables = source::arena_variables(variables)?;
        rows::assemble(table, &variables, flags)
    }

    /// A file with every setting, each as a comment with its default.
    pub fn template() -> String {
        rows::template()
    }

    /// The address of this arena for links and metadata, without a slash at its end: `public_url`, else `http://` and `bound`,
    /// the address that the listener got.
    pub fn public_url_at(&self, bound: SocketAddr) -> PublicUrl {
        self.public_url.clone().unwrap_or_else(|| PublicUrl::of(bound))
    }

    /// The file with the vault's key: `vault.key_file`, else `vault.key` in `data`.
    pub fn vault_key_file(&self) -> PathBuf {
        self.vault.key_file.clone().unwrap_or_else(|| self.data.join("vault.key"))
    }

    /// The settings in effect as TOML, secrets shown as `"<hidden>"` and flags as comments: what `--print-config` prints. What
    /// is not set and has no default is left out.
    pub fn to_toml_redacted(&self) -> String {
        let mut effective = self.clone();
        effective.vault.key_file = Some(self.vault_key_file());
        effective.public_url = Some(self.public_url_at(self.listen));
        rows::print(&mut effective)
    }
}
