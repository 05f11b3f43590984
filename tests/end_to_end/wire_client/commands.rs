//! Each command is the request that the protocol's text prints.

use super::run::{Client, SESSION, ended, header, shells};
use arena_tests::Reply;
use std::fs;

#[tokio::test]
async fn create_prints_the_link() {
    for shell in shells() {
        let mut client = Client::new(&shell, vec![Reply::Body("http://relay/v2/s/abc\n".to_owned())]).await;
        let printed = client.run(&["create"]).await;
        ended(&printed, 0);
        assert_eq!(printed.out, "http://relay/v2/s/abc\n");
        ended(&client.run(&["create", "--owned"]).await, 0);
        assert_eq!(client.asked(), ["POST /v2/s", "POST /v2/s?owned"]);
        let elsewhere = client.at("/below/");
        client.set("AGENTWIRE_RELAY", &elsewhere);
        ended(&client.run(&["create"]).await, 0);
        assert_eq!(client.asked()[2], "POST /below/v2/s");
    }
}

#[tokio::test]
async fn send_sends_texts_standard_input_and_files() {
    for shell in shells() {
        let client = Client::new(&shell, vec![Reply::Body("{\"n\":6}\n".to_owned())]).await;
        client.joined(0);
        fs::write(client.path("plot one+.png"), "pixels").unwrap();
        fs::write(client.path("@notes"), "# Notes\n").unwrap();
        let rows: [(&str, &[&str], &str, &str, &str); 10] = [
            ("", &["send", "Hello."], "", "application/x-www-form-urlencoded", "Hello."),
            ("", &["send", "two", "words"], "", "application/x-www-form-urlencoded", "two words"),
            ("", &["send", "@notes"], "", "application/x-www-form-urlencoded", "@notes"),
            ("", &["send", "--", "-f"], "", "application/x-www-form-urlencoded", "-f"),
            (
                "",
                &["send", "a\\nb %s \"$HOME\" ü"],
                "",
                "application/x-www-form-urlencoded",
                "a\\nb %s \"$HOME\" ü",
            ),
            ("", &["send", ""], "", "application/x-www-form-urlencoded", ""),
            ("line 1\nline 2\n", &["send"], "", "application/x-www-form-urlencoded", "line 1\nline 2\n"),
            ("from a pipe", &["send", "-t", "text/markdown", "-"], "", "text/markdown", "from a pipe"),
            (
                "",
                &["send", "-t", "image/png", "-f", "plot one+.png"],
                "?filename=plot%20one%2B.png",
                "image/png",
                "pixels",
            ),
            ("", &["send", "-f", "./@notes"], "?filename=%40notes", "application/octet-stream", "# Notes\n"),
        ];
        for (input, arguments, query, kind, body) in rows {
            let printed = client.run_on(input, arguments).await;
            ended(&printed, 0);
            assert_eq!(printed.out, "{\"n\":6}\n");
            let seen = client.seen().pop().unwrap();
            assert_eq!(
                client.asked().pop().unwrap(),
                format!("POST {SESSION}/own-secret{query}"),
                "{arguments:?}"
            );
            assert_eq!((header(&seen, "content-type").as_deref(), seen.text.as_str()), (Some(kind), body));
        }
    }
}

#[tokio::test]
async fn get_fetches_a_payload_to_a_file_or_to_the_output() {
    for shell in shells() {
        let client = Client::new(&shell, vec![Reply::Body("pixels".to_owned())]).await;
        client.joined(0);
        let printed = client.run(&["get", "7"]).await;
        ended(&printed, 0);
        assert_eq!(printed.out, "pixels");
        let printed = client.run(&["get", "8", "plot.png"]).await;
        ended(&printed, 0);
        assert_eq!(
            (printed.out.as_str(), fs::read(client.path("plot.png")).unwrap()),
            ("", b"pixels".to_vec())
        );
        assert_eq!(
            client.asked(),
            [format!("GET {SESSION}/own-secret/7"), format!("GET {SESSION}/own-secret/8")]
        );
    }
}

#[tokio::test]
async fn log_reads_all_of_a_session_without_joining() {
    let entry = |n: u64| format!("{{\"n\":{n},\"text\":\"{{\\\"n\\\":99,\"}}\n");
    let presence = |n: u64| format!("{{\"presence\":{{\"luis\":{{\"read\":{n}}}}}}}\n");
    for shell in shells() {
        let parts = [entry(1) + &entry(2) + &presence(1), entry(3) + &presence(2), presence(3)];
        let client = Client::new(&shell, parts.iter().cloned().map(Reply::Body).collect()).await;
        let printed = client.run(&["log", &client.at(SESSION), "skip=a/b+c"]).await;
        ended(&printed, 0);
        assert_eq!(
            printed.out,
            entry(1) + &entry(2) + &entry(3) + &presence(3),
            "the presence once, at the end"
        );
        let expected = [0, 2, 3].map(|n| format!("GET {SESSION}/log?after={n}&skip=a/b%2Bc&wait=0"));
        assert_eq!(client.asked(), expected);
        client.joined(2);
        ended(&client.run(&["log", "after=1", "wait=9"]).await, 0);
        assert_eq!(
            client.asked()[3],
            format!("GET {SESSION}/log?after=1&wait=9"),
            "its own session without a link"
        );
    }
}

#[tokio::test]
async fn a_token_goes_with_joining_and_reading_alone_and_in_no_argument() {
    for shell in shells() {
        let mut client = Client::with(&shell, |_| Reply::Body("{\"presence\":{}}\n".to_owned())).await;
        client.joined(0);
        client.set("AGENTWIRE_TOKEN", "t0k.en-~+/=");
        for (arguments, has) in [
            (&["join"][..], true),
            (&["log"], true),
            (&["send", "x"], false),
            (&["recv", "wait=0"], false),
            (&["leave"], false),
        ] {
            ended(&client.run(arguments).await, 0);
            let seen = client.seen().pop().unwrap();
            let expected = has.then(|| "Bearer t0k.en-~+/=".to_owned());
            assert_eq!(header(&seen, "authorization"), expected, "{arguments:?}");
        }
        for bad in ["a\"b", "a\nb", "a\\b"] {
            client.set("AGENTWIRE_TOKEN", bad);
            ended(&client.run(&["join"]).await, 2);
        }
    }
}
