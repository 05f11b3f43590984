//! Entries: their line, their fields, their order.

use super::{
    relay::{Relay, number},
    wire::Request,
};
use serde_json::{Value, json};

/// Whether it is a time in UTC in whole seconds, as the text shows it.
pub(super) fn is_time(value: &Value) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:ddZ";
    let fits = |(c, p): (char, char)| if p == 'd' { c.is_ascii_digit() } else { c == p };
    value
        .as_str()
        .is_some_and(|text| text.len() == pattern.len() && text.chars().zip(pattern.chars()).all(fits))
}

#[tokio::test]
async fn an_entry_is_one_line_with_these_fields() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    luis.send("Hello.").await;
    Request::post(format!("{}?filename=p.png", luis.link))
        .header("Content-Type", "image/png")
        .body("12345")
        .send()
        .await
        .is(200);
    let lines = luis.receive("?after=0&own=1").await.lines;
    let time = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(is_time(&value["time"]), "{value}");
        value["time"].as_str().unwrap().to_owned()
    };
    let join = format!(
        r#"{{"n":1,"time":"{}","from":"luis","type":"application/vnd.agentwire.join","size":0}}"#,
        time(&lines[0])
    );
    let text = format!(
        r#"{{"n":2,"time":"{}","from":"luis","type":"text/plain; charset=utf-8","size":6,"text":"Hello."}}"#,
        time(&lines[1])
    );
    let file = format!(
        r#"{{"n":3,"time":"{}","from":"luis","type":"image/png","size":5,"filename":"p.png"}}"#,
        time(&lines[2])
    );
    assert_eq!(lines[..3], [join, text, file]);
}

#[tokio::test]
async fn leaving_is_an_entry_without_more() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, _ada) = (session.join("luis").await, session.join("ada").await);
    luis.leave().await;
    let entry = session.entries().await.pop().unwrap();
    let time = entry["time"].clone();
    assert_eq!(
        entry,
        json!({"n": 3, "time": time, "from": "luis", "type": "application/vnd.agentwire.leave", "size": 0})
    );
}

#[tokio::test]
async fn text_is_there_for_text_and_json_alone() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let rows = [
        ("text/plain", true),
        ("text/html; charset=latin1", true),
        ("TEXT/Markdown", true),
        ("application/json", true),
        ("Application/JSON; charset=utf-8", true),
        ("application/vnd.agentwire.secret+json", true),
        ("image/svg+json; a=b", true),
        ("application/octet-stream", false),
        ("application/json5", false),
        ("application/jsonl", false),
        ("application/x-ndjson", false),
        ("application/geojson", false),
        ("image/svg+xml", false),
        ("application/vnd.agentwire.key", false),
        ("nontext/plain", false),
    ];
    for (kind, has) in rows {
        luis.send_as(kind, "no JSON, and \"ü\"").await;
        let entry = session.entries().await.pop().unwrap();
        let expected = has.then(|| json!("no JSON, and \"ü\""));
        assert_eq!(entry.get("text"), expected.as_ref(), "{kind}");
        assert_eq!(entry["size"], 17);
    }
}

#[tokio::test]
async fn text_is_there_up_to_64_kb_and_only_where_it_is_utf_8() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let wide = [vec![b'x'], "ü".repeat(32_768).into_bytes()].concat();
    let rows: [(Vec<u8>, bool); 6] = [
        (vec![b'x'; 65_536], true),
        (vec![b'x'; 65_537], false),
        ("ü".repeat(32_768).into_bytes(), true),
        (wide, false),
        (b"\xff\xfe".to_vec(), false),
        (b"a\x00b\r\n\x1b\xe2\x80\xa8".to_vec(), true),
    ];
    for (bytes, has) in rows {
        luis.send_as("text/plain", bytes.clone()).await;
        let entry = session.entries().await.pop().unwrap();
        assert_eq!(entry["size"], bytes.len());
        let text = entry.get("text").map(|text| text.as_str().unwrap().as_bytes());
        assert!(text == has.then_some(bytes.as_slice()), "{} bytes", bytes.len());
    }
}

#[tokio::test]
async fn entries_are_numbered_from_1_and_everyone_sees_the_same() {
    let relay = Relay::start();
    let session = relay.create().await;
    let names = ["luis", "ada", "grace"];
    let mut all = Vec::new();
    for name in names {
        all.push(session.join(name).await);
    }
    for round in 0..5 {
        for me in &all {
            me.send(&format!("{} {round}", me.name)).await;
        }
    }
    let log = session.entries().await;
    assert_eq!(log.iter().map(number).collect::<Vec<_>>(), (1..=18).collect::<Vec<u64>>());
    for me in &all {
        assert_eq!(me.receive("?after=0&own=1").await.entries, log);
    }
    let times: Vec<_> = log.iter().map(|entry| entry["time"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[tokio::test]
async fn an_entry_never_changes() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    luis.send("as it is").await;
    let before = ada.receive("?after=0&own=1").await.lines;
    luis.leave().await;
    luis.post("join").await.is(200);
    ada.receive("").await;
    let after = ada.receive("?after=0&own=1").await.lines;
    assert_eq!(before[..3], after[..3]);
}

#[tokio::test]
async fn without_an_access_service_no_entry_names_an_account() {
    let relay = Relay::start();
    let session = relay.create().await;
    let me = session.join_with("luis", "a-token").await;
    me.send("x").await;
    assert!(session.entries().await.iter().all(|entry| entry.get("account").is_none()));
    assert!(session.presence().await["luis"].get("account").is_none());
}
