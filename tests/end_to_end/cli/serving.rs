//! `arena serve`: settings, and one process for each data folder.

use super::run;
use arena_tests::{ServeOptions, Served};
use std::{
    fs,
    process::{Command, Stdio},
};

/// `arena serve --print-config` with a settings' file and variables: what it printed, on both ways out.
fn printed_config(file: &str, variables: &[(&str, &str)], flags: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("arena.toml"), file).unwrap();
    let output = Command::new(arena_tests::served::binary())
        .args(["serve", "--print-config"])
        .args(flags)
        .envs(variables.iter().copied())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(!folder.path().join("arena-data").exists(), "nothing is made");
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn print_config_shows_what_is_in_effect_with_flags_over_variables_over_the_file_and_no_secret() {
    let file = "registration = 'invite'\ninvitations = ['very-secret']\npublic_url = 'https://file.example'\nlisten = '127.0.0.1:1'\n\
                [agentarena]\ndeadline_ms = 7000\n";
    let variables = [("ARENA_PUBLIC_URL", "https://variable.example"), ("ARENA_LISTEN", "127.0.0.1:2")];
    let (fine, text) = printed_config(file, &variables, &["--listen", "127.0.0.1:3"]);
    assert!(fine, "{text}");
    for line in [
        "listen = \"127.0.0.1:3\"",
        "https://variable.example",
        "deadline_ms = 7000",
        "registration = \"invite\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for gone in ["very-secret", "file.example"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
}

#[test]
fn an_unknown_setting_is_an_error_that_names_the_nearest() {
    for (file, variables, nearest) in [
        ("[agentarena]\ndeadline = 7000\n", &[][..], "agentarena.deadline_ms"),
        ("registratoin = 'open'\n", &[], "registration"),
        ("", &[("ARENA_PUBLIC_URI", "https://x.example")], "ARENA_PUBLIC_URL"),
    ] {
        let (fine, text) = printed_config(file, variables, &[]);
        assert!(!fine, "{text}");
        assert!(
            text.contains("unknown") && text.contains(&format!("nearest known one is {nearest}")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_deadline_of_the_settings_is_that_of_every_match() {
    let variables = vec![("ARENA_AGENTARENA__DEADLINE_MS".to_owned(), "2500".to_owned())];
    let arena = Served::with(ServeOptions { variables, ..ServeOptions::default() });
    let agent = arena_tests::Agent::good().await;
    let me = arena.register("left", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    assert_eq!(arena.finished(&id).await["deadline_ms"], 2_500);
    assert_eq!(agent.seen()[0].body["deadline_ms"], 2_500);
}

#[tokio::test]
async fn registration_can_be_by_invitation_or_closed() {
    let body = |invitation: Option<&str>| {
        let mut body = serde_json::json!({
            "name": "left", "connection_method": "remote_endpoint", "protocol": "agentarena/1",
            "endpoint_url": "http://127.0.0.1:9/play",
        });
        if let Some(code) = invitation {
            body["invitation"] = serde_json::json!(code);
        }
        body
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arena.toml");
    fs::write(&file, "registration = 'invite'\ninvitations = ['come-in-0123456789']\n").unwrap();
    let flags = vec!["--config".to_owned(), file.display().to_string()];
    let arena = Served::with(ServeOptions { flags, ..ServeOptions::default() });
    for wrong in [None, Some(""), Some("come-in"), Some("COME-IN-0123456789")] {
        let (status, problem) = arena.post("/api/v1/agents", None, &body(wrong)).await;
        assert_eq!((status, &problem["code"]), (403, &serde_json::json!("invitation_needed")), "{wrong:?}");
    }
    let (status, _) = arena.post("/api/v1/agents", None, &body(Some("come-in-0123456789"))).await;
    assert_eq!(status, 201);

    let variables = vec![("ARENA_REGISTRATION".to_owned(), "closed".to_owned())];
    let arena = Served::with(ServeOptions { variables, ..ServeOptions::default() });
    let (status, problem) = arena.post("/api/v1/agents", None, &body(None)).await;
    assert_eq!((status, &problem["code"]), (403, &serde_json::json!("registration_closed")));
}

#[tokio::test]
async fn a_second_process_on_one_data_folder_says_so_and_ends_and_the_first_goes_on() {
    let arena = Served::start();
    let data = arena.data.to_str().unwrap();
    let printed = run(&["serve", "--dev", "--listen", "127.0.0.1:0", "--data", data]).await;
    assert_eq!(printed.code(), 1, "{printed:?}");
    assert!(printed.err.contains(data) && !printed.err.contains("listening on"), "{}", printed.err);
    assert!(printed.err.contains("another") || printed.err.contains("already"), "{}", printed.err);
    arena.register("left", "http://127.0.0.1:9/play").await;
    let stopped = arena.stop();
    stopped.start();
}

#[tokio::test]
async fn dev_refuses_to_listen_beyond_this_machine_and_a_taken_address_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let printed = run(&["serve", "--dev", "--listen", "0.0.0.0:0", "--data", data]).await;
    assert_ne!(printed.code(), 0, "{printed:?}");
    assert!(printed.err.contains("--dev") && printed.err.contains("0.0.0.0"), "{}", printed.err);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let printed = run(&["serve", "--listen", &address, "--data", data]).await;
    assert_eq!(printed.code(), 1, "{printed:?}");
    assert!(printed.err.contains(&format!("cannot listen on {address}")), "{}", printed.err);
}

#[test]
fn a_start_says_where_it_is_how_to_try_it_and_what_is_off_and_dev_loudly() {
    let arena = Served::start();
    let log = arena.log();
    for words in ["data in ", "try it:", "arena agent register", "off: ", "--dev", "NEVER", "GREMLIN-9"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    let arena = Served::with(ServeOptions { no_dev: true, ..ServeOptions::default() });
    assert!(!arena.log().contains("NEVER"), "{}", arena.log());
}
