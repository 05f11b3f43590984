//! The page of a session as a real browser shows it, next to a participant that makes its requests itself.

use super::browser::{Browser, path};
use crate::agentwire::relay::{Me, Relay, Session, until};
use arena_tests::{ServeOptions, Served};
use serde_json::{Value, json};
use std::fs;

/// What a participant sends that must stay text.
const MARKUP: &str = "<img src=x onerror=\"window.mark = 'ran'\"><b>bold</b>\nsecond line";

/// A relay, a session in it, and somebody who is in.
async fn begun() -> (Relay, Session, Me) {
    let relay = Relay::start();
    let session = relay.create().await;
    let ada = session.join("ada").await;
    (relay, session, ada)
}

fn opened(path: &str, relay: &Relay, session: &Session) -> Browser {
    let mut browser = Browser::open(path, "about:blank");
    browser.call("Network.enable", &json!({}));
    browser.call("Page.navigate", &json!({"url": format!("{}/s#{}", relay.at(""), session.link)}));
    browser.until("document.querySelector('#join')?.hidden === false");
    browser
}

impl Browser {
    /// Writes into the field that has the focus.
    fn types(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    fn press(&mut self, key: &str, modifiers: u32) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            " " => (32, " "),
            _ => panic!("{key}"),
        };
        let mut event =
            json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers});
        if !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &event);
        event["type"] = json!("keyUp");
        event.as_object_mut().unwrap().remove("text");
        self.call("Input.dispatchKeyEvent", &event);
    }

    /// Joins under a name with the keys alone.
    fn joins(&mut self, name: &str) {
        self.until("document.activeElement.id === 'name'");
        self.value("document.activeElement.select()");
        self.types(name);
        self.press("Enter", 0);
    }

    fn is_in(&mut self, name: &str) {
        self.until("document.querySelector('#inside').hidden === false");
        self.until(&format!("document.querySelector('#who li[data-name=\"{name}\"]') !== null"));
    }

    fn shows_entry(&mut self, n: u64, text: &str) {
        let text = json!(text);
        self.until(&format!(
            "document.querySelector('[data-n=\"{n}\"]')?.innerText.includes({text}) === true"
        ));
    }

    /// What it says of somebody who is in.
    fn says_of(&mut self, name: &str, text: &str) {
        let text = json!(text);
        self.until(&format!(
            "document.querySelector('#who li[data-name=\"{name}\"]')?.innerText.includes({text}) === true"
        ));
    }

    /// Chooses a file that is on the disk.
    fn choose(&mut self, file: &std::path::Path) {
        let field = self.call("Runtime.evaluate", &json!({"expression": "document.querySelector('#file')"}));
        let params = json!({"files": [file], "objectId": field["result"]["objectId"]});
        self.call("DOM.setFileInputFiles", &params);
    }

    /// The secret of the own link that it keeps.
    fn kept_secret(&mut self, session: &Session) -> String {
        let kept = self.value("JSON.stringify(sessionStorage)");
        let kept = kept.as_str().unwrap();
        let own = kept.split(session.address()).last().unwrap();
        let secret: String =
            own.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(secret.len() > 20, "the own link is kept: {kept}");
        secret
    }

    fn says(&mut self, text: &str) {
        let text = json!(text);
        self.until(&format!("document.querySelector('#status').textContent.includes({text})"));
    }

    /// Exceptions and what the policy forbade; that an answer was an error is said on the page.
    fn faults(&self) -> Vec<&Value> {
        let is_fault = |complaint: &&Value| {
            complaint.get("exceptionDetails").is_some()
                || complaint["entry"]["source"].as_str().is_some_and(|source| source != "network")
        };
        self.complaints.iter().filter(is_fault).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_joins_reads_live_sends_text_and_files_and_leaves() {
    let Some(path) = path() else { return };
    let (relay, session, ada) = begun().await;
    ada.send(MARKUP).await;
    let mut browser = opened(&path, &relay, &session);

    // What the relay says of a name is said at its field.
    for (name, said) in [("", "name"), ("Luis!", "name"), ("ada", "taken")] {
        browser.joins(name);
        browser.until(&format!("document.querySelector('#name-error').textContent.includes('{said}')"));
        assert_eq!(browser.value("document.querySelector('#name').getAttribute('aria-invalid')"), "true");
        browser.value("document.querySelector('#name-error').textContent = ''");
    }
    browser.joins("luis");
    browser.is_in("luis");
    browser.shows_entry(1, "ada joined");
    browser.shows_entry(2, MARKUP);
    browser.shows_entry(3, "luis (you) joined");
    assert_eq!(browser.value("window.mark ?? document.querySelectorAll('#log img, #log b').length"), 0);

    // Live, and who is receiving and has read what.
    browser.until("document.querySelector('#log').getAttribute('aria-busy') === 'false'");
    browser.says_of("ada", "not receiving since");
    browser.says_of("ada", "has read nothing");
    assert_eq!(ada.send("hello from a plain client").await, 4);
    browser.shows_entry(4, "hello from a plain client");
    let waiting = ada.waiting(&session, "?after=4").await;
    browser.says_of("ada", "has read all");
    browser.until("document.querySelector('#who li[data-name=ada] > div').innerText === 'receiving'");
    session.shows("luis read", |presence| presence["luis"]["read"] == 4).await;

    // Enter sends, and with Shift it begins a line.
    browser.until("document.activeElement.id === 'text'");
    browser.types("one");
    browser.press("Enter", 8);
    browser.types("two");
    browser.press("Enter", 0);
    let received = waiting.received().await;
    assert_eq!(received.texts(), ["one\ntwo"]);
    assert_eq!(received.entries[0]["type"], "text/plain; charset=utf-8");
    assert_eq!(received.entries[0]["from"], "luis");
    browser.shows_entry(5, "luis (you)");
    browser.until("document.querySelector('#status').textContent === 'Sent.'");
    assert_eq!(browser.value("document.querySelector('#text').value"), "");
    browser.says_of("ada", "not receiving since");
    browser.says_of("ada", "has read up to #4");

    // A file goes by the keys too: from the message over its button to the file.
    let file = browser.folder.path().join("plot é.png");
    fs::write(&file, b"\x89PNG\0bytes").unwrap();
    browser.choose(&file);
    for id in ["", "file", ""] {
        browser.press("Tab", 0);
        assert_eq!(browser.value("document.activeElement.id"), id);
    }
    browser.press("Enter", 0);
    browser.shows_entry(6, "plot é.png, image/png, 10 bytes");
    let entry = session.entries().await.pop().unwrap();
    assert_eq!((&entry["type"], &entry["filename"]), (&json!("image/png"), &json!("plot é.png")));
    let payload = ada.get("/6").await.is(200);
    assert_eq!(payload.body, b"\x89PNG\0bytes");

    // It is downloaded again by the own link.
    let folder = browser.folder.path().join("downloads");
    let allowed = json!({"behavior": "allow", "downloadPath": folder});
    browser.call("Browser.setDownloadBehavior", &allowed);
    browser.value("document.querySelector('[data-n=\"6\"] button').click()");
    until("the download", async || {
        fs::read(folder.join("plot é.png")).is_ok_and(|bytes| bytes == payload.body)
    })
    .await;

    let shot = browser.call("Page.captureScreenshot", &json!({"format": "png"}));
    let picture = browser.folder.path().join("session.png.base64");
    fs::write(&picture, shot["data"].as_str().unwrap()).unwrap();
    assert!(fs::metadata(&picture).unwrap().len() > 2_000, "a picture of something");

    browser.value("document.querySelector('#leave').click()");
    session.shows("luis left", |presence| presence.get("luis").is_none()).await;
    browser.until("document.querySelector('#status').textContent === 'You left the session.'");
    browser.until("document.activeElement.textContent === 'Join again as luis'");
    browser.press("Enter", 0);
    browser.is_in("luis");
    assert!(browser.faults().is_empty(), "{:?}", browser.faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_goes_on_under_the_same_name_and_no_link_is_where_it_must_not_be() {
    let Some(path) = path() else { return };
    let variables = vec![("RUST_LOG".to_owned(), "trace".to_owned())];
    let relay = Relay { served: Served::with(ServeOptions { variables, ..ServeOptions::default() }) };
    let session = relay.create().await;
    let ada = session.join("ada").await;
    let mut browser = opened(&path, &relay, &session);
    browser.joins("luis");
    browser.is_in("luis");
    ada.send("before").await;
    browser.shows_entry(3, "before");

    browser.value("window.mark = 'the document before'");
    browser.call("Page.reload", &json!({}));
    browser.until("window.mark === undefined && document.querySelector('#inside')?.hidden === false");
    browser.is_in("luis");
    browser.shows_entry(2, "luis (you) joined");
    browser.shows_entry(3, "before");
    assert_eq!(session.entries().await.len(), 3, "nobody joined anew");

    let kept = browser.value("JSON.stringify(sessionStorage)");
    let kept = kept.as_str().unwrap();
    let own = kept.split(session.address()).last().unwrap();
    let secret: String =
        own.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
    assert!(secret.len() > 20, "the own link is kept: {kept}");
    assert_eq!(browser.value("localStorage.length"), 0);
    assert_eq!(browser.value("document.cookie"), "");
    let address = browser.value("location.href");
    assert!(!address.as_str().unwrap().contains(&secret), "{address}");
    let shown = browser.value("document.documentElement.outerHTML");
    assert!(!shown.as_str().unwrap().contains(&secret), "it is shown nowhere");

    let relays = format!("{}/v2/s/{}", relay.at(""), session.address());
    for (method, url) in &browser.requests {
        let (before_fragment, _) = url.split_once('#').unwrap_or((url, ""));
        let is_relays = before_fragment.starts_with(&relays);
        assert!(is_relays || !before_fragment.contains(session.address()), "{method} {url}");
        assert!(is_relays || !before_fragment.contains(&secret), "{method} {url}");
        assert!(before_fragment.starts_with(&relay.at("/")), "{method} {url}");
    }
    assert!(browser.requests.iter().any(|(_, url)| url.starts_with(&relays)), "{:?}", browser.requests);
    let log = relay.served.log();
    assert!(!log.contains(session.address()) && !log.contains(&secret), "{log}");
    assert!(browser.faults().is_empty(), "{:?}", browser.faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_pasted_and_one_that_is_no_sessions_is_refused_and_forgotten() {
    let Some(path) = path() else { return };
    let (relay, session, ada) = begun().await;
    let mut browser = Browser::open(&path, &relay.at("/s"));
    let elsewhere = format!("https://elsewhere.example/v2/s/{}", session.address());
    let pasted = |browser: &mut Browser, link: &str| {
        browser.until("document.activeElement?.id === 'link'");
        browser.value("document.activeElement.select()");
        browser.types(link);
        browser.press("Enter", 0);
    };
    for (link, said) in [("nonsense", "no link"), (&elsewhere, "another relay"), (&ada.link, "own link")] {
        pasted(&mut browser, link);
        browser.until(&format!("document.querySelector('#link-error').textContent.includes('{said}')"));
    }
    pasted(&mut browser, &session.link);
    browser.joins("luis");
    browser.is_in("luis");

    // Whoever has somebody's own link in the address does not keep it there.
    browser.call("Page.navigate", &json!({"url": "about:blank"}));
    browser.call("Page.navigate", &json!({"url": format!("{}#{}", relay.at("/s"), ada.link)}));
    browser.until("document.querySelector('#link-error')?.textContent.includes('own link') === true");
    assert_eq!(browser.value("location.hash"), "");

    // A session that has ended says so.
    let over = relay.create().await;
    over.join("eve").await.leave().await;
    over.gone().await;
    pasted(&mut browser, &over.link);
    browser.joins("luis");
    browser.until("document.querySelector('#name-error').textContent.includes('no such session')");
    assert!(browser.faults().is_empty(), "{:?}", browser.faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_says_that_it_does_not_receive_and_goes_on_without_losing_anything() {
    let Some(path) = path() else { return };
    let (relay, session, ada) = begun().await;
    let mut browser = opened(&path, &relay, &session);
    browser.joins("luis");
    browser.is_in("luis");
    browser.shows_entry(2, "luis (you) joined");
    let own = format!("{}/{}", session.link, browser.kept_secret(&session));

    // The relay cannot be reached for a while: what was written is kept, and what came meanwhile comes.
    browser.call("Network.setBlockedURLs", &json!({"urls": ["*/v2/*"]}));
    browser.types("kept");
    browser.press("Enter", 0);
    browser.until("document.querySelector('#text').value === 'kept'");
    browser.says("Not connected");
    ada.send("meanwhile").await;
    browser.call("Network.setBlockedURLs", &json!({"urls": []}));
    browser.says("Connected again.");
    browser.shows_entry(3, "meanwhile");
    browser.press("Enter", 0);
    browser.shows_entry(4, "kept");

    // Another program receives by the same link: they do not take it from each other for ever.
    let other = Me { link: own, name: "luis".to_owned(), n: 2 };
    until("the page's receive", async || session.presence().await["luis"]["receiving"] == true).await;
    let waiting = other.begins("?after=4");
    browser.says("Not receiving here");
    ada.send("to the other").await;
    assert_eq!(waiting.received().await.texts(), ["to the other"]);
    assert_eq!(browser.value("document.querySelector('[data-n=\"5\"]')"), Value::Null);
    browser.value("document.querySelector('#resume').click()");
    browser.shows_entry(5, "to the other");
    assert_eq!(browser.value("document.querySelectorAll('[data-n=\"4\"]').length"), 1, "none twice");

    // Whoever left elsewhere is not in here either.
    other.leave().await;
    browser.until("document.querySelector('#join').hidden === false");
    assert!(browser.faults().is_empty(), "{:?}", browser.faults());
}
