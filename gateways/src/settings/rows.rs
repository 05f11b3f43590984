//! The list of all settings, and what is done along it: putting sources together, checking, printing.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::SettingsError;
use super::nearest::nearest;
use super::slot::{Field, Limit, Optional, Slot, Within};
use super::source::{Flag, Given, Origin, Written, flatten, variable_of};
use super::value::without_credentials;
use super::words::about;
use super::{DEADLINE_MS, Embedder, Provider, ProviderKind, Role, Settings};

/// What stands before a provider's name.
const PROVIDERS: &str = "auth.providers.";

/// One setting.
struct Row<'a> {
    key: String,
    slot: Box<dyn Slot + 'a>,
    /// The flag that alone may set it, where only one may.
    flag_only: Option<&'static str>,
}

fn row<'a>(key: &str, field: &'a mut (impl Slot + 'a)) -> Row<'a> {
    bounded(key, Field(field))
}

fn bounded<'a>(key: &str, slot: impl Slot + 'a) -> Row<'a> {
    Row { key: key.to_owned(), slot: Box::new(slot), flag_only: None }
}

/// Every setting, in the order in which it is documented. A new one is a field and a line here.
fn rows(settings: &mut Settings) -> Vec<Row<'_>> {
    let Settings { vault, nats, evalduel, agentwire, search, .. } = settings;
    let mut rows = vec![
        row("data", &mut settings.data),
        bounded("free_bytes_min", Optional(&mut settings.free_bytes_min)),
        row("listen", &mut settings.listen),
        row("public_url", &mut settings.public_url),
        row("vault.key_file", &mut vault.key_file),
        row("vault.old_key_files", &mut vault.old_key_files),
        row("nats.url", &mut nats.url),
        bounded("nats.replicas", Within(&mut nats.replicas, 1..=5)),
        row("nats.credentials", &mut nats.credentials),
        row("nats.monitor_url", &mut nats.monitor_url),
        row("nats.system_credentials", &mut nats.system_credentials),
        row("durability", &mut settings.durability),
        row("role", &mut settings.role),
        bounded("partitions", Within(&mut settings.partitions, 1..=64)),
        row("registration", &mut settings.registration),
        row("invitations", &mut settings.invitations),
        row("trusted_proxies", &mut settings.trusted_proxies),
        bounded("agentarena.deadline_ms", Within(&mut settings.agentarena.deadline_ms, DEADLINE_MS)),
        bounded("ludux.deadline_ms", Within(&mut settings.ludux.deadline_ms, DEADLINE_MS)),
        bounded("evalduel.deadline_ms", Within(&mut evalduel.deadline_ms, 500..=600_000)),
        bounded("evalduel.turn_count", Within(&mut evalduel.turn_count, 1..=100)),
        bounded("evalduel.frame_bytes_max", Within(&mut evalduel.frame_bytes_max, 1_024..=16_777_216)),
        bounded("evalduel.reconnect_grace_s", Within(&mut evalduel.reconnect_grace_s, 0..=600)),
        row("evalduel.tasks", &mut evalduel.tasks),
        row("agentwire.access_url", &mut agentwire.access_url),
        bounded("agentwire.access_cache_s", Within(&mut agentwire.access_cache_s, 0..=3_600)),
        bounded("agentwire.failed_receive_pause_s", Within(&mut agentwire.failed_receive_pause_s, 0..=600)),
        bounded("agentwire.payload_bytes_max", Within(&mut agentwire.payload_bytes_max, 1..=10_000_000)),
        bounded("agentwire.sessions_per_client_max", Limit(&mut agentwire.sessions_per_client_max)),
        row("search.embedder", &mut search.embedder),
        row("search.url", &mut search.url),
        row("search.model", &mut search.model),
        row("search.key", &mut search.key),
        row("egress.extra_roots", &mut settings.egress.extra_roots),
        Row { flag_only: Some("--dev"), ..row("dev", &mut settings.dev) },
        Row { flag_only: Some("--test-clock"), ..row("test_clock", &mut settings.test_clock) },
    ];
    for (name, provider) in &mut settings.auth.providers {
        rows.extend(provider_rows(name, provider));
    }
    rows
}

fn provider_rows<'a>(name: &str, provider: &'a mut Provider) -> [Row<'a>; 7] {
    let Provider { kind, issuer, client_id, client_secret, authorize_url, token_url, user_url } = provider;
    let key = |field: &str| format!("{PROVIDERS}{name}.{field}");
    [
        row(&key("kind"), kind),
        row(&key("issuer"), issuer),
        row(&key("client_id"), client_id),
        row(&key("client_secret"), client_secret),
        row(&key("authorize_url"), authorize_url),
        row(&key("token_url"), token_url),
        row(&key("user_url"), user_url),
    ]
}

/// The settings of a file's table, then variables, then flags, over the defaults.
pub(super) fn assemble(
    file: Option<(&Path, toml::Table)>,
    variables: &BTreeMap<String, String>,
    flags: &[Flag],
) -> Result<Settings, SettingsError> {
    let mut settings = Settings::default();
    if flags.iter().any(|flag| flag.key == "dev" && flag.text == "true") {
        // Limits per client are off with --dev, unless set.
        settings.agentwire.sessions_per_client_max = None;
    }
    name_providers(&mut settings, file.as_ref(), variables)?;

    let given = gather(&mut settings, file, variables, flags)?;
    let mut rows = rows(&mut settings);
    for Given { key, written, origin } in &given {
        let row = rows.iter_mut().find(|row| row.key == *key).expect("gather passes known keys only");
        if let (Some(flag), Origin::File(_) | Origin::Variable(_)) = (row.flag_only, origin) {
            let (key, origin, flag) = (key.clone(), origin.clone(), flag.to_owned());
            return Err(SettingsError::FlagOnly { key, origin, flag });
        }
        if row.slot.accept(written).is_none() {
            return Err(SettingsError::Value {
                key: key.clone(),
                origin: origin.clone(),
                expected: row.slot.expected(),
                came: came(written, row.slot.is_secret()),
            });
        }
    }
    drop(rows);
    check(&settings, &given)?;
    Ok(settings)
}

/// Makes an empty provider for each name that a source has, so that its settings are known.
fn name_providers(
    settings: &mut Settings,
    file: Option<&(&Path, toml::Table)>,
    variables: &BTreeMap<String, String>,
) -> Result<(), SettingsError> {
    let providers = &mut settings.auth.providers;
    let mut add = |name: &str, origin: Origin| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(fits) {
            return Err(SettingsError::ProviderName { name: name.to_owned(), origin });
        }
        // my-login in the file and MY_LOGIN in a variable are one.
        if !providers.keys().any(|known| variable_of(known) == variable_of(name)) {
            providers.insert(name.to_owned(), Provider::default());
        }
        Ok(())
    };
    let named = file.and_then(|(path, table)| {
        let providers = table.get("auth")?.as_table()?.get("providers")?.as_table()?;
        Some((*path, providers))
    });
    if let Some((path, table)) = named {
        for (name, _) in table.iter().filter(|(_, value)| value.is_table()) {
            add(name, Origin::File(path.to_owned()))?;
        }
    }
    let prefix = variable_of(PROVIDERS);
    for variable in variables.keys() {
        if let Some((name, _)) = variable.strip_prefix(&prefix).and_then(|rest| rest.split_once("__")) {
            add(&name.to_lowercase(), Origin::Variable(variable.clone()))?;
        }
    }
    Ok(())
}

/// What all sources give, in their order, each under a key that there is.
fn gather(
    settings: &mut Settings,
    file: Option<(&Path, toml::Table)>,
    variables: &BTreeMap<String, String>,
    flags: &[Flag],
) -> Result<Vec<Given>, SettingsError> {
    let rows = rows(settings);
    let is_setting = |key: &str| rows.iter().any(|row| row.key == key);
    let is_group = |key: &str| {
        key == PROVIDERS.trim_end_matches('.')
            || rows.iter().any(|row| row.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
    };
    // What only a flag may set is no hint for a file.
    let settable = || rows.iter().filter(|row| row.flag_only.is_none());

    let mut given = Vec::new();
    if let Some((path, table)) = file {
        let origin = Origin::File(path.to_owned());
        for (key, value) in flatten(&table, &is_setting, &is_group) {
            let written = Written::Toml(value);
            let origin = origin.clone();
            if is_setting(&key) {
                given.push(Given { key, written, origin });
            } else if is_group(&key) {
                let expected = "a table".to_owned();
                let came = came(&written, true);
                return Err(SettingsError::Value { key, origin, expected, came });
            } else {
                let nearest = nearest(&key, ".", settable().map(|row| row.key.as_str())).to_owned();
                return Err(SettingsError::Unknown { name: key, origin, nearest });
            }
        }
    }
    for (name, text) in variables {
        let origin = Origin::Variable(name.clone());
        let Some(row) = rows.iter().find(|row| variable_of(&row.key) == *name) else {
            let known: Vec<_> = settable().map(|row| variable_of(&row.key)).collect();
            let nearest = nearest(name, "__", known.iter().map(String::as_str)).to_owned();
            return Err(SettingsError::Unknown { name: name.clone(), origin, nearest });
        };
        given.push(Given { key: row.key.clone(), written: Written::Text(text.clone()), origin });
    }
    for flag in flags {
        let (key, origin) = (flag.key.to_owned(), Origin::Flag(flag.name));
        if !is_setting(&key) {
            let nearest = nearest(&key, ".", rows.iter().map(|row| row.key.as_str())).to_owned();
            return Err(SettingsError::Unknown { name: key, origin, nearest });
        }
        given.push(Given { key, written: Written::Text(flag.text.clone()), origin });
    }
    Ok(given)
}

/// The rules between settings.
fn check(settings: &Settings, given: &[Given]) -> Result<(), SettingsError> {
    if settings.dev && !settings.listen.ip().to_canonical().is_loopback() {
        return Err(SettingsError::DevBeyondLoopback { listen: settings.listen });
    }
    if settings.role != Role::All && settings.nats.url.is_none() {
        return Err(SettingsError::RoleWithoutNats);
    }
    if settings.partitions > 1 && settings.nats.url.is_none() {
        return Err(SettingsError::PartitionsWithoutNats);
    }
    if settings.test_clock && !settings.dev {
        return Err(SettingsError::TestClockWithoutDev);
    }
    if !settings.egress.extra_roots.is_empty() && !settings.dev {
        let last = given.iter().rfind(|given| given.key == "egress.extra_roots");
        let origin = last.expect("there are none by default").origin.clone();
        return Err(SettingsError::ExtraRootsWithoutDev { origin });
    }
    if settings.search.embedder == Embedder::OpenAi {
        let lacks = [
            (settings.search.url.is_none(), "search.url"),
            (settings.search.model.is_none(), "search.model"),
        ];
        if let Some((_, missing)) = lacks.into_iter().find(|(lacks, _)| *lacks) {
            return Err(SettingsError::SearchLacks { missing });
        }
    }
    settings.auth.providers.iter().try_for_each(|(name, provider)| check_provider(name, provider))
}

fn check_provider(name: &str, provider: &Provider) -> Result<(), SettingsError> {
    let lacks = |missing| SettingsError::ProviderLacks { provider: name.to_owned(), missing };
    let kind = provider.kind.ok_or_else(|| lacks("kind"))?;
    if provider.client_id.is_none() {
        return Err(lacks("client_id"));
    }
    if provider.client_secret.is_none() {
        return Err(lacks("client_secret"));
    }
    if kind == ProviderKind::Oidc && provider.issuer.is_none() {
        return Err(lacks("issuer"));
    }
    let oidc = kind == ProviderKind::Oidc;
    let excess = [
        (!oidc && provider.issuer.is_some(), "issuer"),
        (oidc && provider.authorize_url.is_some(), "authorize_url"),
        (oidc && provider.token_url.is_some(), "token_url"),
        (oidc && provider.user_url.is_some(), "user_url"),
    ];
    match excess.into_iter().find(|(excess, _)| *excess) {
        Some((_, excess)) => {
            let provider = name.to_owned();
            Err(SettingsError::ProviderExcess { provider, excess, kind: kind.as_str() })
        }
        None => Ok(()),
    }
}

/// What stood where another value was expected.
fn came(written: &Written, hidden: bool) -> String {
    match written {
        Written::Toml(value) if hidden || matches!(value, toml::Value::Table(_)) => {
            format!("a value of the type {}", value.type_str())
        }
        Written::Toml(toml::Value::String(text)) => format!("{:?}", without_credentials(text)),
        Written::Toml(value) => without_credentials(&value.to_string()),
        Written::Text(_) if hidden => "another text".to_owned(),
        Written::Text(text) => format!("{:?}", without_credentials(text)),
    }
}

/// The settings as TOML, secrets hidden, flags as comments.
pub(super) fn print(settings: &mut Settings) -> String {
    let mut flags = String::new();
    let mut table = toml::Table::new();
    for row in rows(settings) {
        let Some(value) = row.slot.show() else { continue };
        if let Some(flag) = row.flag_only {
            if value.as_bool() == Some(true) {
                flags.extend(["# ", flag, "\n"]);
            }
            continue;
        }
        let mut parts: Vec<&str> = row.key.split('.').collect();
        let name = parts.pop().expect("a key has a last part");
        let mut place = &mut table;
        for part in parts {
            let inner = place.entry(part).or_insert_with(|| toml::Table::new().into());
            place = inner.as_table_mut().expect("no setting is a part of another's key");
        }
        place.insert(name.to_owned(), value);
    }
    flags + &toml::to_string(&table).expect("a table of texts, numbers and lists is TOML")
}

/// A provider's name in the template.
const SOMEONE: &str = "someone";

/// A settings' file with every setting as a comment: what it is, what it takes, its default.
pub(super) fn template() -> String {
    let mut settings = Settings::default();
    settings.auth.providers.insert(SOMEONE.to_owned(), Provider::default());
    let someones = format!("{PROVIDERS}{SOMEONE}");
    // The groups in the order of their first settings; what is in none stands first, as TOML has it.
    let mut groups: Vec<(String, String)> = vec![(String::new(), String::new())];
    for row in rows(&mut settings).iter().filter(|row| row.flag_only.is_none()) {
        let (group, name) = row.key.rsplit_once('.').unwrap_or(("", &row.key));
        let key = if group == someones { format!("{PROVIDERS}{name}") } else { row.key.clone() };
        let about = about(&key).unwrap_or_default();
        let value = row.slot.show().unwrap_or_else(|| String::new().into());
        let text = format!("# {about}\n# ({})\n# {name} = {value}\n\n", row.slot.expected());
        match groups.iter_mut().find(|(known, _)| known == group) {
            Some((_, texts)) => texts.push_str(&text),
            None => groups.push((group.to_owned(), text)),
        }
    }
    let mut file = "# The settings of an arena. Each stands here as a comment with its default: take the # away to set it.\n\
                    # A variable overrides the file (ARENA_NATS__URL is nats.url), a flag overrides both.\n\n"
        .to_owned();
    for (group, texts) in groups {
        if group == someones {
            file.push_str("# One way to sign in; its name is yours to choose, and there may be more.\n");
            file.extend(["# [", &group, "]\n"]);
        } else if !group.is_empty() {
            file.extend(["[", &group, "]\n"]);
        }
        file.push_str(&texts);
    }
    file.truncate(file.trim_end().len());
    file.push('\n');
    file
}
