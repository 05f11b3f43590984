//! Every `curl` line that the text prints, as printed, in its order.

use super::{
    printed_words::{fill, sh, text},
    relay::{Me, Received, Session},
    service::Service,
    wire::Answer,
};
use arena_tests::shared;
use serde_json::{Value, json};
use std::{fs, path::Path, time::Duration};

/// A session that Ada and Luis are in; the lines are Luis's.
struct Scene {
    folder: tempfile::TempDir,
    relay: String,
    session: Session,
    luis: Me,
    ada: Me,
}

impl Scene {
    async fn run(&self, line: &str, more: &[(&str, &str)]) -> String {
        let mut values =
            vec![("relay", self.relay.as_str()), ("link", &self.session.link), ("me", &self.luis.link)];
        values.extend(more);
        sh(self.folder.path(), &fill(line, &values)).await
    }

    async fn received(&self, line: &str, more: &[(&str, &str)]) -> Received {
        lines(self.run(line, more).await)
    }

    fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).unwrap()
    }

    async fn last(&self) -> Value {
        self.session.entries().await.pop().unwrap()
    }
}

fn lines(text: String) -> Received {
    Received::of(&Answer { status: 200, headers: Vec::new(), body: text.into_bytes(), took: Duration::ZERO })
}

#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Runs one line and checks what the text says about its answer.
async fn check(scene: &Scene, line: &str) {
    let Scene { luis, ada, session, .. } = scene;
    match line {
        "curl -s -X POST '<relay>/v2/s'" => {
            let out = scene.run(line, &[]).await;
            assert!(out.starts_with(&format!("{}/v2/s/", scene.relay)) && out.lines().count() == 1, "{out}");
        }
        "curl -s -X POST '<link>/join?as=<name>'" => {
            let joined = json(&scene.run(line, &[("name", "grace/claude-2")]).await);
            assert_eq!((&joined["name"], &joined["read"]), (&json!("grace/claude-2"), &json!(0)));
            assert!(joined["link"].as_str().unwrap().starts_with(&session.link));
        }
        "curl -s -X POST '<me>/join'" => {
            luis.leave().await;
            let again = json(&scene.run(line, &[]).await);
            assert_eq!((&again["name"], &again["link"]), (&json!("luis"), &json!(luis.link)));
            assert_eq!(json(&scene.run(line, &[]).await), again, "while in it does nothing");
        }
        "curl -s --data-binary 'Hello.' '<me>'" => {
            let n = json(&scene.run(line, &[]).await)["n"].clone();
            let entry = scene.last().await;
            let kind = json!("text/plain; charset=utf-8");
            assert_eq!((&entry["n"], &entry["type"], &entry["text"]), (&n, &kind, &json!("Hello.")));
        }
        "curl -s -H 'Content-Type: text/markdown' --data-binary @notes.md '<me>'" => {
            scene.run(line, &[]).await;
            let entry = scene.last().await;
            assert_eq!((&entry["type"], &entry["text"]), (&json!("text/markdown"), &json!("# Notes\n")));
        }
        "curl -s -H 'Content-Type: image/png' --data-binary @plot.png '<me>?filename=plot.png'" => {
            scene.run(line, &[]).await;
            let entry = scene.last().await;
            assert_eq!((&entry["type"], &entry["filename"]), (&json!("image/png"), &json!("plot.png")));
            assert_eq!(entry["size"], scene.file("plot.png").len());
        }
        "curl -s '<me>'" => {
            ada.send("to luis").await;
            let received = scene.received(line, &[]).await;
            assert_eq!(received.texts().last(), Some(&"to luis"));
            let read = received.entries.last().unwrap()["n"].clone();
            assert_eq!(session.presence().await["luis"]["read"], read);
        }
        "curl -s '<me>?wait=<seconds>'" => {
            assert_eq!(scene.received(line, &[("seconds", "1")]).await.lines.len(), 1);
            assert_eq!(scene.received(line, &[("seconds", "0")]).await.lines.len(), 1);
        }
        "curl -s '<me>?after=<n>'" => {
            let n = ada.send("after").await;
            let after = (n - 1).to_string();
            assert_eq!(scene.received(line, &[("n", &after)]).await.numbers(), [n]);
        }
        "curl -s '<me>?after=<n>&read=<m>'" => {
            let n = ada.send("read").await;
            let (after, read) = ((n - 1).to_string(), (n - 1).to_string());
            assert_eq!(scene.received(line, &[("n", &after), ("m", &read)]).await.numbers(), [n]);
            assert_eq!(luis.position(session).await, n - 1);
        }
        "curl -s '<me>?only=<type>'" => {
            ada.send("not this").await;
            let n = ada.send_as("image/gif", "g").await;
            assert_eq!(scene.received(line, &[("type", "image/")]).await.numbers(), [n]);
        }
        "curl -s '<me>?skip=<type>'" => {
            ada.send_as("image/gif", "g").await;
            let n = ada.send("this").await;
            assert_eq!(scene.received(line, &[("type", "image/")]).await.numbers(), [n]);
        }
        "curl -s '<link>/log'" => {
            let received = scene.received(line, &[]).await;
            assert_eq!(received.entries, session.entries().await);
        }
        "curl -s '<link>/log?after=<n>&wait=<seconds>'" => {
            let received = scene.received(line, &[("n", "3"), ("seconds", "1")]).await;
            assert_eq!(received.numbers()[0], 4);
        }
        "curl -s -o plot.png '<me>/<n>'" => {
            let bytes = scene.file("plot.png");
            let all = session.entries().await;
            let n = all.iter().find(|entry| entry["filename"] == "plot.png").unwrap()["n"].to_string();
            fs::remove_file(scene.folder.path().join("plot.png")).unwrap();
            scene.run(line, &[("n", &n)]).await;
            assert_eq!(scene.file("plot.png"), bytes);
        }
        "curl -s -X POST '<me>/leave'" => {
            let left = json(&scene.run(line, &[]).await);
            assert_eq!(left, json!({"n": scene.last().await["n"]}));
            assert_eq!(json(&scene.run(line, &[]).await), left, "twice does nothing");
            luis.post("join").await.is(200);
        }
        "curl -s -X POST -H 'Authorization: Bearer <token>' '<link>/join?as=<name>'" => {
            scene.run(line, &[("token", "heidi-token"), ("name", "heidi")]).await;
            assert_eq!(session.presence().await["heidi"]["account"], "heidi");
        }
        line => panic!("the text prints a line that nothing is checked for: {line}"),
    }
}

#[tokio::test]
async fn every_curl_line_does_what_the_text_says() {
    let Some(text) = text() else { return };
    if shared::core_only() {
        return;
    }
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("notes.md", b"# Notes\n");
    write("plot.png", &[137, 80, 78, 71, 13, 10, 26, 10, 0, 255]);
    let scene = Scene { relay: relay.served.url.clone(), folder, session, luis, ada };
    let mut checked = 0;
    for block in shared::code_blocks(&text, "sh") {
        if block.lines().any(|line| !line.starts_with("curl ")) {
            // The one for secrets, which the next test runs whole.
            assert!(block.contains("openssl"), "a block that nothing is checked for: {block}");
            continue;
        }
        for line in block.lines() {
            check(&scene, line).await;
            checked += 1;
        }
    }
    assert!(checked >= 17, "the text prints no fewer lines than it did: {checked}");
}

async fn openssl(folder: &Path, arguments: &str) -> String {
    sh(folder, &format!("openssl {arguments}")).await
}

#[tokio::test]
async fn a_secret_goes_to_its_recipient_as_printed() {
    let Some(text) = text() else { return };
    if shared::core_only() {
        return;
    }
    let relay = super::relay::Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let (luis_folder, ada_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Ada asks for a secret.
    let theirs = ada_folder.path();
    openssl(theirs, "genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out own.pem 2>&1").await;
    openssl(theirs, "pkey -in own.pem -pubout -out public.pem").await;
    let key =
        ada.send_as("application/vnd.agentwire.key", fs::read(theirs.join("public.pem")).unwrap()).await;
    let key = key.to_string();
    // Luis fetches the key and sends one, as long as it may be.
    let fetch =
        text.lines().filter_map(|line| line.split('`').find(|part| part.starts_with("curl -s -o key.pem")));
    let fetch: Vec<&str> = fetch.collect();
    assert_eq!(fetch.len(), 1, "the text says how to fetch a key");
    let mine = luis_folder.path();
    let secret = "s".repeat(317) + "!";
    fs::write(mine.join("api-key"), &secret).unwrap();
    let values = [
        ("me", luis.link.as_str()),
        ("n", key.as_str()),
        ("file", "api-key"),
        ("name of the secret", "elevenlabs"),
    ];
    sh(mine, &fill(fetch[0], &values)).await;
    let blocks = shared::code_blocks(&text, "sh");
    let printed =
        blocks.iter().find(|block| block.contains("openssl")).expect("the text says how to send one");
    sh(mine, &fill(printed, &values)).await;
    // Ada opens it.
    let entry = ada.receive("?only=application/vnd.agentwire.secret").await.entries.remove(0);
    assert_eq!(entry["type"], "application/vnd.agentwire.secret+json");
    let sealed = json(entry["text"].as_str().expect("it is JSON"));
    assert_eq!((sealed["key"].to_string(), &sealed["name"]), (key, &json!("elevenlabs")));
    fs::write(theirs.join("data"), sealed["data"].as_str().unwrap()).unwrap();
    let open = "base64 -d <data | openssl pkeyutl -decrypt -inkey own.pem -pkeyopt rsa_padding_mode:oaep \
                -pkeyopt rsa_oaep_md:sha256 -pkeyopt rsa_mgf1_md:sha256";
    assert_eq!(sh(theirs, open).await, secret);
    let log = session.read("?wait=0").await.is(200).text();
    assert!(!log.contains(&secret), "the log has it encrypted alone");
}

#[tokio::test]
async fn the_script_is_served_with_the_relays_address_and_takes_part() {
    if shared::core_only() {
        return;
    }
    let relay = super::relay::Relay::start();
    let folder = tempfile::tempdir().unwrap();
    let run = async |line: &str| sh(folder.path(), &fill(line, &[("relay", &relay.served.url)])).await;
    run("curl -fso agentwire <relay>/agentwire").await;
    assert!(run("sh agentwire help").await.contains("usage"));
    let link = run("sh agentwire create").await;
    assert!(link.starts_with(&relay.at("/v2/s/")), "{link}");
    let session = Session { link: link.trim_end().to_owned() };
    let ada = session.join("ada").await;
    run(&format!("AGENTWIRE_ME=$PWD/me sh agentwire join '{}' luis", session.link)).await;
    let n = ada.send("to luis").await;
    let received = lines(run("AGENTWIRE_ME=$PWD/me sh agentwire recv").await);
    assert_eq!((received.numbers().last(), received.texts()), (Some(&n), vec!["to luis"]));
    run("AGENTWIRE_ME=$PWD/me sh agentwire send Hello.").await;
    assert_eq!(ada.receive("").await.texts(), ["Hello."]);
    run("AGENTWIRE_ME=$PWD/me sh agentwire leave").await;
}
