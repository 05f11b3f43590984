//! What it says about itself, and to who misuses it.

use super::run::{Client, ended, shells, source};
use arena_tests::Reply;
use std::process::Command;

#[tokio::test]
async fn help_names_every_command_variable_and_exit_code() {
    for shell in shells() {
        let client = Client::new(&shell, vec![Reply::Silence]).await;
        for word in ["help", "--help", "-h"] {
            let printed = client.run(&[word]).await;
            ended(&printed, 0);
            for command in ["create", "join LINK NAME", "send", "recv", "log", "get N", "leave", "help"] {
                assert!(printed.out.contains(&format!("\n  {command} ")), "{command}: {}", printed.out);
            }
            for name in [
                "AGENTWIRE_ME",
                "AGENTWIRE_RELAY",
                "AGENTWIRE_RETRIES",
                "AGENTWIRE_TOKEN",
                "exit codes",
                "600",
            ] {
                assert!(printed.out.contains(name), "{name}: {}", printed.out);
            }
        }
        assert_eq!(client.asked().len(), 0);
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_said_with_code_2_before_anything_is_asked() {
    for shell in shells() {
        let client = Client::new(&shell, vec![Reply::Silence]).await;
        let link = client.at("/v2/s/x");
        let without_joining: [&[&str]; 14] = [
            &[],
            &["receive"],
            &["create", "x"],
            &["join", &link],
            &["join", &link, "a", "b"],
            &["join", "no-link", "a"],
            &["join", "http://x/v2/s/a\" b", "a"],
            &["join"],
            &["send", "x"],
            &["recv"],
            &["get", "1"],
            &["leave"],
            &["log"],
            &["log", &link, "wait"],
        ];
        for arguments in without_joining {
            ended(&client.run(arguments).await, 2);
        }
        client.joined(0);
        let with: [&[&str]; 9] = [
            &["send", "-x", "y"],
            &["send", "-f"],
            &["send", "-f", "missing.png"],
            &["send", "-f", "agentwire", "and text"],
            &["recv", "wait"],
            &["recv", "=1"],
            &["get", "x"],
            &["get"],
            &["leave", "now"],
        ];
        for arguments in with {
            ended(&client.run(arguments).await, 2);
        }
        assert_eq!(client.asked(), [] as [String; 0]);
    }
}

#[tokio::test]
async fn each_refusal_has_its_exit_code_and_is_passed_on() {
    for shell in shells() {
        for (line, code) in [
            ("400 Bad Request", 1),
            ("410 Gone", 1),
            ("413 Content Too Large", 1),
            ("403 Forbidden", 4),
            ("404 Not Found", 4),
            ("409 Conflict", 5),
            ("503 Service Unavailable", 3),
        ] {
            let client = Client::new(&shell, vec![Reply::status(line, "this is why\n")]).await;
            client.joined(0);
            for arguments in [&["send", "x"][..], &["get", "1"], &["leave"], &["log"], &["create"], &["join"]]
            {
                let printed = client.run(arguments).await;
                ended(&printed, code);
                assert!(
                    printed.err.contains("this is why") && printed.err.contains(&line[..3]),
                    "{printed:?}"
                );
                assert_eq!(printed.out, "", "what is refused is no output");
            }
        }
        let mut client = Client::new(&shell, vec![Reply::Reset]).await;
        client.joined(0);
        client.set("AGENTWIRE_RETRIES", "0");
        for arguments in [&["send", "x"][..], &["recv"], &["leave"]] {
            ended(&client.run(arguments).await, 3);
        }
    }
}

#[test]
fn shellcheck_finds_nothing() {
    let Ok(output) = Command::new("shellcheck").args(["--shell", "sh"]).arg(source()).output() else {
        eprintln!("left out: ShellCheck is not here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
