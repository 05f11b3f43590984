//! Each rule of the settings. Nothing here reads the process's own environment.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;

const FILE: &str = "arena.toml";

fn load(file: &str, variables: &[(&str, &str)], flags: &[Flag]) -> Result<Settings, SettingsError> {
    let path = Path::new(FILE);
    let variables = source::arena_variables(variables.iter().copied())?;
    rows::assemble(Some((path, source::parse(path, file)?)), &variables, flags)
}

#[track_caller]
fn accepted(file: &str, variables: &[(&str, &str)], flags: &[Flag]) -> Settings {
    load(file, variables, flags).unwrap_or_else(|error| panic!("refused: {error}"))
}

/// Asserts the whole message.
#[track_caller]
fn refused(file: &str, variables: &[(&str, &str)], flags: &[Flag], message: &str) {
    match load(file, variables, flags) {
        Ok(_) => panic!("accepted, and should have been refused: {message}"),
        Err(error) => assert_eq!(error.to_string(), message),
    }
}

fn dev() -> Flag {
    Flag::new("--dev", "dev", "true")
}

#[test]
fn without_any_source_the_defaults_hold() {
    let settings = accepted("", &[], &[]);
    assert_eq!(
        settings.to_toml_redacted(),
        r#"data = "./arena-data"
durability = "strict"
invitations = []
listen = "127.0.0.1:7171"
partitions = 1
public_url = "http://127.0.0.1:7171"
registration = "open"
role = "all"
trusted_proxies = []

[agentarena]
deadline_ms = 10000

[agentwire]
access_cache_s = 5
failed_receive_pause_s = 10
payload_bytes_max = 10000000
sessions_per_client_max = 100

[egress]
extra_roots = []

[evalduel]
deadline_ms = 30000
frame_bytes_max = 262144
reconnect_grace_s = 0
turn_count = 10

[ludux]
deadline_ms = 15000

[nats]
replicas = 1

[search]
embedder = "auto"

[vault]
key_file = "./arena-data/vault.key"
old_key_files = []
"#
    );
}

#[test]
fn a_variable_overrides_the_file_and_a_flag_overrides_both() {
    let file = "data = 'a'\nlisten = '127.0.0.1:1'\nregistration = 'closed'";
    let variables = [("ARENA_DATA", "b"), ("ARENA_LISTEN", "127.0.0.1:2")];
    let settings = accepted(file, &variables, &[Flag::new("--data", "data", "c")]);
    assert_eq!(settings.data, Path::new("c"));
    assert_eq!(settings.listen.port(), 2);
    assert_eq!(settings.registration, Registration::Closed);
}

#[test]
fn two_underscores_in_a_variable_are_a_dot() {
    let settings = accepted("", &[("ARENA_AGENTWIRE__ACCESS_URL", "http://10.0.0.2:90/x")], &[]);
    assert_eq!(settings.agentwire.access_url.unwrap().to_string(), "http://10.0.0.2:90/x");
}

#[test]
fn a_variable_is_read_by_the_type_of_its_setting() {
    let variables = [
        ("ARENA_NATS__REPLICAS", "3"),
        ("ARENA_DURABILITY", "relaxed"),
        ("ARENA_INVITATIONS", "one, two"),
        ("ARENA_TRUSTED_PROXIES", "10.0.0.0/8,::1"),
    ];
    let settings = accepted("invitations = ['zero']", &variables, &[]);
    assert_eq!(settings.nats.replicas, 3);
    assert_eq!(settings.durability, Durability::Relaxed);
    let codes: Vec<_> = settings.invitations.iter().map(Secret::expose).collect();
    assert_eq!(codes, ["one", "two"]);
    assert_eq!(settings.trusted_proxies.len(), 2);
}

#[test]
fn an_empty_variable_undoes_what_the_file_sets() {
    let file = "invitations = ['a']\nnats.url = 'nats://n:4222'";
    let settings = accepted(file, &[("ARENA_NATS__URL", ""), ("ARENA_INVITATIONS", "")], &[]);
    assert!(settings.nats.url.is_none());
    assert!(settings.invitations.is_empty());
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_one_and_its_place() {
    refused(
        "[agentwire]\nacess_url = 'http://a'",
        &[],
        &[],
        "unknown setting agentwire.acess_url in arena.toml; the nearest known one is agentwire.access_url",
    );
    refused(
        "",
        &[("ARENA_AGENTWIRE__ACES_URL", "http://a")],
        &[],
        "unknown variable ARENA_AGENTWIRE__ACES_URL; the nearest known one is ARENA_AGENTWIRE__ACCESS_URL",
    );
    refused(
        "[agentwir]",
        &[],
        &[],
        "unknown setting agentwir in arena.toml; the nearest known one is agentwire.access_url",
    );
    refused(
        "'nats.url' = 'nats://n'",
        &[],
        &[],
        "unknown setting \"nats.url\" in arena.toml; the nearest known one is nats.url",
    );
    refused(
        "auth.providers.google.client = 'x'",
        &[],
        &[],
        "unknown setting auth.providers.google.client in arena.toml; the nearest known one is auth.providers.google.client_id",
    );
}

#[test]
fn what_only_a_flag_may_set_is_no_hint_for_a_file() {
    refused("devs = 1", &[], &[], "unknown setting devs in arena.toml; the nearest known one is data");
}

#[test]
fn a_flag_of_the_program_that_sets_nothing_is_refused() {
    refused(
        "",
        &[],
        &[Flag::new("--nats", "nats.uri", "nats://n")],
        "unknown setting nats.uri from the flag --nats; the nearest known one is nats.url",
    );
}

#[test]
fn variables_of_others_and_of_the_tests_are_left_alone() {
    accepted("", &[("PATH", "/bin"), ("ARENA_TESTS_CORE", "1"), ("ARENAS", "x")], &[]);
}

#[test]
fn a_group_without_settings_is_nothing() {
    accepted("[agentwire]\n[auth.providers]", &[], &[]);
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_what_was_expected() {
    refused(
        "agentarena.deadline_ms = '800'",
        &[],
        &[],
        "agentarena.deadline_ms in arena.toml: expected a whole number from 500 to 60000, came \"800\"",
    );
    refused("data = 7", &[], &[], "data in arena.toml: expected a path, came 7");
    refused(
        "[listen]",
        &[],
        &[],
        "listen in arena.toml: expected an address and a port, such as 127.0.0.1:7171 or [::1]:7171, came a value of the type table",
    );
    refused(
        "agentwire = 5",
        &[],
        &[],
        "agentwire in arena.toml: expected a table, came a value of the type integer",
    );
    refused(
        "registration = 'maybe'",
        &[],
        &[],
        "registration in arena.toml: expected \"open\", \"invite\" or \"closed\", came \"maybe\"",
    );
}

#[test]
fn a_number_out_of_its_range_is_refused_and_its_bounds_are_not() {
    for (name, bounds) in [("AGENTARENA", [500, 60_000]), ("LUDUX", [500, 60_000])] {
        let variable = format!("ARENA_{name}__DEADLINE_MS");
        for inside in bounds {
            accepted("", &[(&variable, &inside.to_string())], &[]);
        }
        for outside in [bounds[0] - 1, bounds[1] + 1] {
            assert!(load("", &[(&variable, &outside.to_string())], &[]).is_err(), "{variable}={outside}");
        }
    }
    refused(
        "",
        &[("ARENA_LUDUX__DEADLINE_MS", "-1")],
        &[],
        "ludux.deadline_ms from the variable ARENA_LUDUX__DEADLINE_MS: expected a whole number from 500 to 60000, came \"-1\"",
    );
    refused(
        "nats.replicas = 6",
        &[],
        &[],
        "nats.replicas in arena.toml: expected a whole number from 1 to 5, came 6",
    );
}

#[test]
fn a_bad_value_is_refused_also_where_a_flag_overrides_it() {
    refused(
        "data = 7",
        &[],
        &[Flag::new("--data", "data", "d")],
        "data in arena.toml: expected a path, came 7",
    );
}

#[test]
fn a_limit_of_zero_is_none_and_dev_lifts_only_what_is_not_set() {
    let limit = |settings: Settings| settings.agentwire.sessions_per_client_max;
    assert_eq!(limit(accepted("", &[], &[])), Some(100));
    assert_eq!(limit(accepted("", &[], &[dev()])), None);
    assert_eq!(limit(accepted("agentwire.sessions_per_client_max = 3", &[], &[dev()])), Some(3));
    assert_eq!(limit(accepted("agentwire.sessions_per_client_max = 0", &[], &[])), None);
}

#[test]
fn free_bytes_are_as_many_as_are_set_and_an_empty_text_takes_them_back() {
    let least = |settings: Settings| settings.free_bytes_min;
    assert_eq!(least(accepted("", &[], &[])), None);
    let file = "free_bytes_min = 5_000_000_000";
    assert_eq!(least(accepted(file, &[], &[])), Some(5_000_000_000));
    assert_eq!(least(accepted(file, &[("ARENA_FREE_BYTES_MIN", "0")], &[])), Some(0));
    assert_eq!(least(accepted(file, &[("ARENA_FREE_BYTES_MIN", "")], &[])), None);
    refused(
        "free_bytes_min = -1",
        &[],
        &[],
        &format!("free_bytes_min in arena.toml: expected a whole number from 0 to {}, came -1", 1_u64 << 53),
    );
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line_and_without_its_text() {
    let error = load("data = 'd'\nsearch.key = 'planted\n", &[], &[]).unwrap_err().to_string();
    assert!(error.starts_with("arena.toml is not valid TOML, line 2: "), "{error}");
    assert!(!error.contains("planted"), "{error}");
}

#[test]
fn a_secret_shows_nowhere() {
    let file = "
        invitations = ['planted-1']
        nats.url = 'nats://user:planted-2@n:4222'
        [search]
        embedder = 'openai'
        url = 'http://embeddings/v1'
        model = 'm'
        key = 'planted-3'
        [auth.providers.hub]
        kind = 'github'
        client_id = 'public'
        client_secret = 'planted-4'";
    let settings = accepted(file, &[], &[]);
    for shown in [settings.to_toml_redacted(), format!("{settings:?}")] {
        assert!(!shown.contains("planted"), "{shown}");
        assert!(shown.contains("<hidden>"), "{shown}");
    }
    assert_eq!(settings.nats.url.unwrap().expose(), "nats://user:planted-2@n:4222");

    refused(
        "search.key = 4711",
        &[],
        &[],
        "search.key in arena.toml: expected a text (a secret), came a value of the type integer",
    );
    for (file, variables) in [
        ("invitations = 'planted'", &[][..]),
        ("agentwire.access_url = 'http://u:planted@h'", &[]),
        ("public_url = 'http://u:planted@h'", &[]),
        ("", &[("ARENA_NATS__URL", "http://u:planted@h")]),
    ] {
        let error = load(file, variables, &[]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("planted"), "{error:?}");
    }
}

#[test]
fn what_is_printed_can_be_read_again() {
    let file = "public_url = 'https://arena.example/'\ntrusted_proxies = ['10.0.0.7']\nagentwire.sessions_per_client_max = 0";
    let printed = accepted(file, &[], &[dev()]).to_toml_redacted();
    assert!(printed.starts_with("# --dev\n"), "{printed}");
    assert_eq!(accepted(&printed, &[], &[dev()]).to_toml_redacted(), printed);
}

#[test]
fn the_public_address_follows_the_listener_unless_it_is_set() {
    let bound = "[::1]:4711".parse().unwrap();
    assert_eq!(accepted("", &[], &[]).public_url_at(bound).as_str(), "http://[::1]:4711");
    let set = accepted("public_url = 'https://arena.example:8443/'", &[], &[]);
    assert_eq!(set.public_url_at(bound).as_str(), "https://arena.example:8443");
    for odd in ["arena.example", "ftp://a", "https://a/path", "https://a/?q", "https://a/#f", "https://u@a"] {
        assert!(load("", &[("ARENA_PUBLIC_URL", odd)], &[]).is_err(), "{odd}");
    }
}

#[test]
fn the_vaults_key_lies_in_the_data_folder_unless_it_is_set() {
    assert_eq!(accepted("data = 'd'", &[], &[]).vault_key_file(), Path::new("d/vault.key"));
    assert_eq!(accepted("vault.key_file = 'k'", &[], &[]).vault_key_file(), Path::new("k"));
}

#[test]
fn dev_and_the_test_clock_are_flags_only() {
    refused(
        "dev = true",
        &[],
        &[],
        "dev in arena.toml: only the flag --dev may set it, so that nothing but a command line turns it on",
    );
    assert!(matches!(
        load("", &[("ARENA_TEST_CLOCK", "true")], &[dev()]),
        Err(SettingsError::FlagOnly { .. })
    ));
    let clock = Flag::new("--test-clock", "test_clock", "true");
    assert!(accepted("", &[], &[dev(), clock.clone()]).test_clock);
    refused("", &[], &[clock], "--test-clock goes with --dev only; add --dev, or drop --test-clock");
}

#[test]
fn several_partitions_and_roles_go_with_nats_alone() {
    let (several, nats) = (("ARENA_PARTITIONS", "3"), ("ARENA_NATS__URL", "nats://127.0.0.1:4222"));
    let words = "several partitions go with a journal on NATS only; add --nats, or drop --partitions";
    refused("", &[several], &[], words);
    assert_eq!(accepted("", &[several, nats], &[]).partitions, 3);
    refused(
        "role = 'engine'",
        &[],
        &[],
        "a role goes with a journal on NATS only; add --nats, or drop --role",
    );
    for odd in ["0", "65", "many", "-1"] {
        assert!(load("", &[("ARENA_PARTITIONS", odd), nats], &[]).is_err(), "{odd}");
    }
}

#[test]
fn dev_refuses_to_listen_beyond_loopback() {
    for near in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        accepted("", &[("ARENA_LISTEN", near)], &[dev()]);
    }
    for far in ["10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"] {
        assert!(load("", &[("ARENA_LISTEN", far)], &[dev()]).is_err(), "{far}");
    }
    refused(
        "listen = '0.0.0.0:7171'",
        &[],
        &[dev()],
        "--dev refuses to listen beyond loopback, and listen is 0.0.0.0:7171; use 127.0.0.1 or [::1], or drop --dev",
    );
    accepted("listen = '0.0.0.0:7171'", &[], &[]);
}

#[test]
fn extra_roots_are_for_dev_alone() {
    let file = "egress.extra_roots = ['ca.pem']";
    assert_eq!(accepted(file, &[], &[dev()]).egress.extra_roots, [Path::new("ca.pem")]);
    refused(
        file,
        &[],
        &[],
        "egress.extra_roots in arena.toml is for tests and goes with --dev only; remove it, or add --dev",
    );
    accepted(file, &[("ARENA_EGRESS__EXTRA_ROOTS", "")], &[]);
}

#[test]
fn a_provider_needs_what_its_kind_takes_and_nothing_else() {
    let base = "client_id = 'i'\nclient_secret = 's'\n";
    let oidc = format!("[auth.providers.idp]\nkind = 'oidc'\nissuer = 'https://idp.example'\n{base}");
    let github = format!("[auth.providers.hub]\nkind = 'github'\n{base}");
    accepted(&format!("{oidc}{github}user_url = 'http://127.0.0.1:1/user'"), &[], &[]);
    refused(
        &format!("[auth.providers.idp]\nkind = 'oidc'\n{base}"),
        &[],
        &[],
        "auth.providers.idp: issuer is missing",
    );
    refused("[auth.providers.idp]", &[], &[], "auth.providers.idp: kind is missing");
    refused(
        &format!("{oidc}token_url = 'https://x'"),
        &[],
        &[],
        "auth.providers.idp: token_url does not go with kind \"oidc\"; leave it out",
    );
    refused(
        &format!("{github}issuer = 'https://x'"),
        &[],
        &[],
        "auth.providers.hub: issuer does not go with kind \"github\"; leave it out",
    );
    refused(
        "[auth.providers.'a.b']",
        &[],
        &[],
        "auth.providers in arena.toml: expected a name of a-z, 0-9, - and _, came \"a.b\"",
    );
}

#[test]
fn a_provider_may_come_from_variables_or_from_both() {
    let variables = [
        ("ARENA_AUTH__PROVIDERS__HUB__KIND", "github"),
        ("ARENA_AUTH__PROVIDERS__HUB__CLIENT_ID", "i"),
        ("ARENA_AUTH__PROVIDERS__HUB__CLIENT_SECRET", "s"),
        ("ARENA_AUTH__PROVIDERS__MY_IDP__CLIENT_SECRET", "t"),
    ];
    let file = "[auth.providers.my-idp]\nkind = 'oidc'\nissuer = 'https://idp.example'\nclient_id = 'j'";
    let providers: BTreeMap<_, _> = accepted(file, &variables, &[]).auth.providers;
    assert_eq!(providers.keys().collect::<Vec<_>>(), ["hub", "my-idp"]);
    assert_eq!(providers["my-idp"].client_secret.as_ref().unwrap().expose(), "t");
}

#[test]
fn the_openai_embedder_needs_an_address_and_a_model() {
    refused(
        "search.embedder = 'openai'",
        &[],
        &[],
        "search.embedder is \"openai\", but search.url is missing",
    );
    accepted("search = { embedder = 'openai', url = 'http://127.0.0.1:1/v1', model = 'm' }", &[], &[]);
}

#[test]
fn a_network_contains_its_addresses_alone() {
    #[track_caller]
    fn check(network: &str, inside: &[&str], outside: &[&str]) {
        let network = Network::parse(network).unwrap();
        for address in inside {
            assert!(network.contains(address.parse().unwrap()), "{network} {address}");
        }
        for address in outside {
            assert!(!network.contains(address.parse().unwrap()), "{network} {address}");
        }
    }
    check("10.0.0.7", &["10.0.0.7", "::ffff:10.0.0.7"], &["10.0.0.6", "::1"]);
    check("10.0.0.0/8", &["10.255.0.1"], &["11.0.0.0"]);
    check("0.0.0.0/0", &["1.2.3.4"], &["::1"]);
    check("fd00::/8", &["fd12::1"], &["fe80::1"]);
    check("::/0", &["fe80::1"], &["10.0.0.1"]);
    for odd in ["10.0.0.0/33", "::/129", "10.0.0.0/+8", "10.0.0.0/", "10.0.0", "proxy"] {
        assert!(Network::parse(odd).is_none(), "{odd}");
    }
}

#[test]
fn a_named_file_must_be_there_and_the_default_one_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    let none: [(&str, &str); 0] = [];
    let error = Settings::load(Some(&path), none, &[]).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot read the settings in {}: ", path.display())), "{error}");
    std::fs::write(&path, "data = 'elsewhere'").unwrap();
    assert_eq!(Settings::load(Some(&path), none, &[]).unwrap().data, Path::new("elsewhere"));
    assert!(source::read_if_present(&folder.path().join(DEFAULT_FILE)).unwrap().is_none());
    assert!(source::read_if_present(&path).unwrap().is_some());
}

#[test]
fn the_template_has_every_setting_and_says_nothing_until_something_is_uncommented() {
    let template = Settings::template();
    let defaults = Settings::default().to_toml_redacted();
    assert_eq!(accepted(&template, &[], &[]).to_toml_redacted(), defaults, "{template}");
    assert!(!template.contains("# \n"), "each setting has its words: {template}");
    // With every setting taken out of its comment the same holds: each default fits.
    let set: String = template
        .lines()
        .take_while(|line| !line.contains("[auth.providers.someone]"))
        .map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.contains(" = ") => format!("{setting}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let dev = [dev()];
    let with_dev = accepted(&set, &[], &dev).to_toml_redacted();
    for line in defaults.lines() {
        assert!(with_dev.contains(line), "{line}: {with_dev}");
    }
    assert!(set.lines().filter(|line| line.contains(" = ")).count() >= 30, "{set}");
}
