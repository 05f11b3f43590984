//! The file with one's own link.

use super::run::{Client, SESSION, ended, shells};
use arena_tests::Reply;
use std::{fs, os::unix::fs::PermissionsExt};

/// A client whose relay answers each joining with its own link.
async fn joining(shell: &[&'static str]) -> Client {
    let client = Client::with(shell, |_| Reply::Silence).await;
    drop(client);
    // The answer holds the relay's address, which is known once it listens.
    let url: std::sync::Arc<std::sync::OnceLock<String>> = std::sync::Arc::default();
    let known = std::sync::Arc::clone(&url);
    let client = Client::with(shell, move |_| Client::join_answer(known.get().unwrap(), 3)).await;
    url.set(client.url.clone()).unwrap();
    client
}

#[tokio::test]
async fn join_keeps_the_link_where_nobody_else_reads_it() {
    for shell in shells() {
        let client = joining(&shell).await;
        let printed = client.run(&["join", &client.at(SESSION), "luis/claude"]).await;
        ended(&printed, 0);
        assert!(printed.out.contains("\"name\":\"luis\""), "{printed:?}");
        assert_eq!(client.asked(), [format!("POST {SESSION}/join?as=luis/claude")]);
        let file = client.path(".agentwire");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let kept = fs::read_to_string(&file).unwrap();
        assert_eq!(kept.lines().take(2).collect::<Vec<_>>(), [client.own_link().as_str(), "3"]);
        assert!(!client.path(".agentwire.new").exists());
    }
}

#[tokio::test]
async fn a_link_is_not_written_over_until_it_was_left() {
    for shell in shells() {
        let client = joining(&shell).await;
        let session = client.at(SESSION);
        ended(&client.run(&["join", &session, "luis"]).await, 0);
        let kept = fs::read_to_string(client.path(".agentwire")).unwrap();
        ended(&client.run(&["join", &session, "other"]).await, 2);
        assert_eq!(fs::read_to_string(client.path(".agentwire")).unwrap(), kept);
        ended(&client.run(&["leave"]).await, 0);
        ended(&client.run(&["join"]).await, 0);
        ended(&client.run(&["join", &session, "other"]).await, 2);
        ended(&client.run(&["leave"]).await, 0);
        ended(&client.run(&["join", &session, "other"]).await, 0);
        let own = format!("{SESSION}/own-secret");
        let expected = [
            format!("POST {SESSION}/join?as=luis"),
            format!("POST {own}/leave"),
            format!("POST {own}/join"),
            format!("POST {own}/leave"),
            format!("POST {SESSION}/join?as=other"),
        ];
        assert_eq!(client.asked(), expected);
        assert_eq!(fs::metadata(client.path(".agentwire")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn several_participants_use_a_file_each() {
    for shell in shells() {
        let mut client = joining(&shell).await;
        client.joined(7);
        let before = fs::read_to_string(client.path(".agentwire")).unwrap();
        let other = client.path("a folder");
        fs::create_dir(&other).unwrap();
        client.set("AGENTWIRE_ME", "a folder/me");
        ended(&client.run(&["join", &client.at(SESSION), "luis"]).await, 0);
        assert!(fs::read_to_string(other.join("me")).unwrap().starts_with(&client.own_link()));
        assert_eq!(fs::read_to_string(client.path(".agentwire")).unwrap(), before);
    }
}

#[tokio::test]
async fn a_refused_join_keeps_nothing() {
    for shell in shells() {
        let client = Client::new(&shell, vec![Reply::status("409 Conflict", "taken\n")]).await;
        ended(&client.run(&["join", &client.at(SESSION), "luis"]).await, 5);
        assert!(!client.path(".agentwire").exists());
        let client = Client::new(&shell, vec![Reply::Body("{\"n\":1}\n".to_owned())]).await;
        ended(&client.run(&["join", &client.at(SESSION), "luis"]).await, 1);
        assert!(!client.path(".agentwire").exists());
    }
}

#[tokio::test]
async fn where_the_link_cannot_be_kept_it_is_still_printed() {
    for shell in shells() {
        let mut client = joining(&shell).await;
        client.set("AGENTWIRE_ME", "no such folder/me");
        let printed = client.run(&["join", &client.at(SESSION), "luis"]).await;
        ended(&printed, 1);
        assert!(printed.out.contains("own-secret"), "{printed:?}");
    }
}
