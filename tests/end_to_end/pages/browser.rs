//! A real browser, and a match's page as it shows it.

use arena_tests::{
    Agent, Reply, Served,
    served::{PATIENCE, poll},
    shared,
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Instant,
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

const FLAGS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--window-size=1000,700",
];

/// Where the tests' browser is; none where there is to be none.
pub(super) fn path() -> Option<String> {
    if shared::core_only() {
        return None;
    }
    let path = std::env::var("ARENA_TESTS_BROWSER").ok().filter(|path| !path.is_empty());
    if path.is_none() {
        eprintln!("left out: ARENA_TESTS_BROWSER names no browser (tests/browser finds one)");
    }
    path
}

/// A browser that is spoken to over a pair of pipes, with one page open. It is killed when dropped.
pub(super) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    asked: u64,
    /// What the page complained of.
    pub(super) complaints: Vec<Value>,
    /// What it asked for, as a method and a URL, where `Network.enable` was called.
    pub(super) requests: Vec<(String, String)>,
    pub(super) folder: TempDir,
}

impl Browser {
    pub(super) fn open(path: &str, url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [to, from, profile] = ["to", "from", "profile"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        // The protocol is spoken on descriptors 3 and 4, which only a shell can hand over.
        let child = Command::new("sh")
            .args(["-c", "exec \"$BROWSER\" \"$@\" 3<\"$TO\" 4>\"$FROM\"", "sh"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .envs([("BROWSER", path.as_ref()), ("TO", to.as_os_str()), ("FROM", from.as_os_str())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let (session, complaints, requests) = (String::new(), Vec::new(), Vec::new());
        let mut browser = Self { child, to, from, session, asked: 0, complaints, requests, folder };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, &json!({}));
        }
        browser.call("Page.navigate", &json!({"url": url}));
        browser
    }

    pub(super) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser is gone");
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            let complaints = ["Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed"];
            let complains = answer["method"].as_str().is_some_and(|method| complaints.contains(&method));
            if complains {
                self.complaints.push(answer["params"].clone());
            }
            if answer["method"] == "Network.requestWillBeSent" {
                let text = |name: &str| answer["params"]["request"][name].as_str().unwrap().to_owned();
                self.requests.push((text("method"), text("url")));
            }
            if answer["id"] == self.asked {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression on the page.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let result = self.call("Runtime.evaluate", &json!({"expression": expression, "returnByValue": true}));
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until the page complained of something, and forgets it.
    fn until_complaint(&mut self) -> Value {
        let begun = Instant::now();
        loop {
            if let Some(complaint) = self.complaints.pop() {
                return complaint;
            }
            assert!(begun.elapsed() < PATIENCE, "it complains of nothing");
            // Any call takes in what the browser has to say.
            self.value("0");
            poll();
        }
    }

    /// Waits until an expression on the page is true.
    pub(super) fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != true {
            assert!(begun.elapsed() < PATIENCE, "{expression}: {}", self.value("document.body.innerText"));
            poll();
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent that answers as often as there are permits.
async fn held() -> (Agent, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(1));
    let given = Arc::clone(&permits);
    let agent = Agent::start(move |_, request| {
        let body = json!({"move": request["legal"][0], "nonce": request["nonce"], "reason": "<b>bold</b>"});
        Reply::Held(Arc::clone(&given), body.to_string())
    })
    .await;
    (agent, permits)
}

/// A match against the house with a move of each side made.
async fn begun(arena: &Served, agent: &Agent) -> String {
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.challenge(&me, "copper-4", json!({"first": "left-1", "deadline_ms": 60_000})).await;
    arena.until(&id, "a move each", |replay| replay["events"].as_array().unwrap().len() == 2).await;
    id
}

/// Several threads: the agent answers while the test waits for the browser.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_running_match_follows_it_to_the_end_by_itself() {
    let Some(path) = path() else { return };
    let arena = Served::start();
    let (agent, permits) = held().await;
    let id = begun(&arena, &agent).await;
    let mut browser = Browser::open(&path, &format!("{}/m/{id}", arena.url));
    browser.until("document.querySelector('main')?.dataset.status === 'running'");
    browser.until("document.readyState === 'complete'");
    assert_eq!(browser.value("document.querySelectorAll('.events li').length"), 2);
    assert_eq!(browser.value("document.querySelector('[role=status]').textContent"), "To move: Left-1.");
    browser.value("window.mark = 'the same document'");

    permits.add_permits(1);
    browser.until("document.querySelectorAll('.events li').length === 4");
    permits.add_permits(100);
    let replay = arena.finished(&id).await;
    browser.until("document.querySelector('main').dataset.status === 'finished'");
    let events = replay["events"].as_array().unwrap().len();
    browser.until(&format!("document.querySelectorAll('.events li').length === {events}"));
    assert_eq!(browser.value("window.mark"), "the same document", "nobody loaded it anew");
    let status = browser.value("document.querySelector('[role=status]').textContent");
    assert!(status.as_str().unwrap().contains(" wins."), "{status}");
    let discs = browser.value("document.querySelectorAll('.board .X, .board .O').length");
    assert_eq!(discs, crate::look::events(&replay, "move").len());
    assert_eq!(browser.value("document.querySelectorAll('.board .won').length"), 4);
    assert_eq!(
        browser.value("document.querySelectorAll('.events b').length"),
        0,
        "an agent's words are text"
    );
    let display = browser.value("getComputedStyle(document.querySelector('.board')).display");
    assert_eq!(display, "inline-grid", "it has its style");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);

    let shot = browser.call("Page.captureScreenshot", &json!({"format": "png"}));
    let picture = browser.folder.path().join("match.png.base64");
    fs::write(&picture, shot["data"].as_str().unwrap()).unwrap();
    assert!(fs::metadata(&picture).unwrap().len() > 2_000, "a picture of something");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_missed_the_end_for_a_broken_connection_catches_up() {
    let Some(path) = path() else { return };
    let arena = Served::start();
    let (agent, permits) = held().await;
    let id = begun(&arena, &agent).await;
    let url = format!("{}/m/{id}", arena.url);
    let mut browser = Browser::open(&path, &url);
    browser
        .until("document.readyState === 'complete' && document.querySelectorAll('.events li').length === 2");
    // The events still come; what the page then asks for does not.
    browser.call("Network.enable", &json!({}));
    browser.call("Network.setBlockedURLs", &json!({"urls": [url]}));
    permits.add_permits(100);
    arena.finished(&id).await;
    browser.until_complaint();
    assert_eq!(browser.value("document.querySelector('main').dataset.status"), "running");
    browser.call("Network.setBlockedURLs", &json!({"urls": []}));
    browser.until("document.querySelector('main').dataset.status === 'finished'");
}
