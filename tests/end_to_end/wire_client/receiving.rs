//! Receiving from a kept position, and again where it was cut off.

use super::run::{Client, SESSION, ended, shells};
use arena_tests::Reply;
use std::fs;

fn entries(numbers: &[u64]) -> String {
    let line = |n: &u64| format!("{{\"n\":{n},\"from\":\"ada\",\"text\":\"x\"}}\n");
    numbers.iter().map(line).collect::<String>() + PRESENCE
}

const PRESENCE: &str = "{\"presence\":{\"luis\":{\"read\":1,\"receiving\":true}}}\n";

fn asked(after: u64) -> String {
    format!("GET {SESSION}/own-secret?after={after}")
}

fn position(client: &Client) -> String {
    fs::read_to_string(client.path(".agentwire")).unwrap().lines().nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn each_recv_begins_after_what_the_last_one_printed() {
    for shell in shells() {
        let answers = [entries(&[4, 5]), entries(&[]), entries(&[9])];
        let client = Client::new(&shell, answers.iter().cloned().map(Reply::Body).collect()).await;
        client.joined(3);
        for (answer, kept) in answers.iter().zip(["5", "5", "9"]) {
            let printed = client.run(&["recv"]).await;
            ended(&printed, 0);
            assert_eq!((&printed.out, position(&client).as_str()), (answer, kept));
        }
        assert_eq!(client.asked(), [asked(3), asked(5), asked(5)]);
    }
}

#[tokio::test]
async fn parameters_are_passed_on_and_after_leaves_the_kept_position() {
    for shell in shells() {
        let client = Client::new(&shell, vec![Reply::Body(entries(&[8]))]).await;
        client.joined(3);
        ended(&client.run(&["recv", "after=2", "read=1", "only=text/", "skip=a+json; x", "wait=0"]).await, 0);
        assert_eq!(position(&client), "3");
        ended(&client.run(&["recv", "wait=60"]).await, 0);
        assert_eq!(position(&client), "8");
        let expected = [
            format!("{}&read=1&only=text/&skip=a%2Bjson%3B%20x&wait=0", asked(2)),
            format!("{}&wait=60", asked(3)),
        ];
        assert_eq!(client.asked(), expected);
    }
}

#[tokio::test]
async fn a_recv_that_was_cut_off_is_tried_again_from_the_same_position() {
    for shell in shells() {
        let whole = entries(&[4, 5]);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", whole.len());
        let cut = format!("{head}{}", &whole[..20]);
        // Without a length, a cut looks like an end.
        let short = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", &whole[..whole.len() / 2]);
        let answers =
            vec![Reply::Raw(cut.into_bytes()), Reply::Raw(short.into_bytes()), Reply::Body(whole.clone())];
        let client = Client::new(&shell, answers).await;
        client.joined(3);
        let printed = client.run(&["recv"]).await;
        ended(&printed, 0);
        assert_eq!(printed.out, whole, "nothing of the ones that were cut off");
        assert_eq!(client.asked(), [asked(3), asked(3), asked(3)]);
        assert_eq!(position(&client), "5");
    }
}

#[tokio::test]
async fn a_recv_gives_up_after_its_retries_and_loses_nothing() {
    for shell in shells() {
        for answer in [Reply::Reset, Reply::status("503 Service Unavailable", "full\n")] {
            let mut client = Client::new(&shell, vec![answer]).await;
            client.joined(3);
            client.set("AGENTWIRE_RETRIES", "1");
            let printed = client.run(&["recv"]).await;
            ended(&printed, 3);
            assert_eq!((printed.out.as_str(), position(&client).as_str()), ("", "3"));
            assert_eq!(client.asked(), [asked(3), asked(3)]);
        }
    }
}

#[tokio::test]
async fn a_recv_that_was_refused_or_replaced_is_not_tried_again() {
    for shell in shells() {
        for (line, code) in
            [("409 Conflict", 5), ("403 Forbidden", 4), ("404 Not Found", 4), ("400 Bad Request", 1)]
        {
            let client = Client::new(&shell, vec![Reply::status(line, "no\n")]).await;
            client.joined(3);
            ended(&client.run(&["recv"]).await, code);
            assert_eq!(client.asked().len(), 1, "{line}");
        }
    }
}
