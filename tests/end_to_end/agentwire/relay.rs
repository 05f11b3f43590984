//! A relay, its sessions and their participants, as a caller meets them: each operation in one line of a test.

use super::wire::{Answer, Request};
use arena_tests::{ServeOptions, Served, served::PATIENCE, served::poll_async};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// What most tests set the pause of failed receives to; one test has the default.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// A relay in a process of its own.
pub(crate) struct Relay {
    pub(crate) served: Served,
}

impl Relay {
    pub(crate) fn start() -> Self {
        Self::with(&[], &[])
    }

    /// With these settings below `agentwire`, by their name in an environment variable, and these flags.
    pub(crate) fn with(settings: &[(&str, &str)], flags: &[&str]) -> Self {
        Self::over(None, settings, flags)
    }

    /// Over a data folder that is there already.
    pub(crate) fn over(data: Option<PathBuf>, settings: &[(&str, &str)], flags: &[&str]) -> Self {
        let pause = ("FAILED_RECEIVE_PAUSE_S", "1");
        let all = [pause].into_iter().chain(settings.iter().copied());
        let variables = all.map(|(name, value)| (format!("ARENA_AGENTWIRE__{name}"), value.to_owned()));
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let options = ServeOptions { data, flags, variables: variables.collect(), ..ServeOptions::default() };
        Self { served: Served::with(options) }
    }

    /// A path's URL.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.served.url)
    }

    pub(crate) async fn create(&self) -> Session {
        Session::of(Request::post(self.at("/v2/s")).send().await)
    }

    pub(crate) async fn create_owned(&self) -> Session {
        Session::of(Request::post(self.at("/v2/s?owned")).send().await)
    }

    /// Moves the clock of a relay with `--test-clock`.
    pub(crate) async fn advance(&self, by: Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap();
        let (status, said) = self.served.post("/dev/clock", None, &json!({"advance_ms": by_ms})).await;
        assert_eq!(status, 200, "{said}");
    }
}

/// A session by its link.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) link: String,
}

impl Session {
    #[track_caller]
    fn of(answer: Answer) -> Self {
        Self { link: answer.is(200).text().trim_end().to_owned() }
    }

    /// The secret part of its link.
    pub(crate) fn address(&self) -> &str {
        self.link.rsplit('/').next().unwrap()
    }

    /// The same session where the relay listens now.
    pub(crate) fn moved(&self, relay: &Relay) -> Self {
        Self { link: moved(&self.link, relay) }
    }

    pub(crate) async fn try_join(&self, name: &str, token: Option<&str>) -> Answer {
        Request::post(format!("{}/join?as={name}", self.link)).token(token).send().await
    }

    pub(crate) async fn join(&self, name: &str) -> Me {
        Me::of(&self.try_join(name, None).await.is(200))
    }

    pub(crate) async fn join_with(&self, name: &str, token: &str) -> Me {
        Me::of(&self.try_join(name, Some(token)).await.is(200))
    }

    /// Reads without joining. The query is as it stands after the path.
    pub(crate) async fn read(&self, query: &str) -> Answer {
        Request::get(format!("{}/log{query}", self.link)).send().await
    }

    /// All entries, as they stand in the log.
    pub(crate) async fn entries(&self) -> Vec<Value> {
        let mut entries = Vec::new();
        loop {
            let after = entries.last().map_or(0, number);
            let more = Received::of(&self.read(&format!("?after={after}&wait=0")).await.is(200)).entries;
            if more.is_empty() {
                return entries;
            }
            entries.extend(more);
        }
    }

    /// Who is in, as a reader sees it.
    pub(crate) async fn presence(&self) -> Value {
        Received::of(&self.read("?after=1000000&wait=0").await.is(200)).presence
    }

    /// Waits until the presence is as it must become.
    pub(crate) async fn shows(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let presence = self.presence().await;
            if holds(&presence) {
                return presence;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} did not come: {presence}");
            poll_async().await;
        }
    }

    /// Waits until a participant is receiving.
    pub(crate) async fn receiving(&self, name: &str) {
        self.shows("receiving", |presence| presence[name]["receiving"] == true).await;
    }

    /// Waits until nothing of it is left. What it asks for meanwhile nobody gets, so that it changes nothing.
    pub(crate) async fn gone(&self) {
        until("its end", async || self.try_join("*", None).await.status == 404).await;
    }

    /// A read that waits.
    pub(crate) fn reading(&self, query: &str) -> Waiting {
        Waiting::on(Request::get(format!("{}/log{query}", self.link)))
    }
}

/// A participant by its own link.
#[derive(Debug, Clone)]
pub(crate) struct Me {
    pub(crate) link: String,
    pub(crate) name: String,
    /// The number of its join entry.
    pub(crate) n: u64,
}

impl Me {
    #[track_caller]
    pub(crate) fn of(answer: &Answer) -> Self {
        let value = answer.json();
        let text = |key: &str| value[key].as_str().unwrap_or_else(|| panic!("{key}: {value}")).to_owned();
        Self { link: text("link"), name: text("name"), n: number(&value) }
    }

    pub(crate) fn moved(&self, relay: &Relay) -> Self {
        Self { link: moved(&self.link, relay), ..self.clone() }
    }

    /// Sends a text and gives its number.
    pub(crate) async fn send(&self, text: &str) -> u64 {
        number(&Request::post(&self.link).body(text).send().await.is(200).json())
    }

    /// Sends bytes of a type and gives their number.
    pub(crate) async fn send_as(&self, kind: &str, bytes: impl Into<Vec<u8>>) -> u64 {
        let request = Request::post(&self.link).header("Content-Type", kind).body(bytes);
        number(&request.send().await.is(200).json())
    }

    /// Receives, whatever the answer. The query is as it stands after the path.
    pub(crate) async fn get(&self, query: &str) -> Answer {
        Request::get(format!("{}{query}", self.link)).send().await
    }

    pub(crate) async fn receive(&self, query: &str) -> Received {
        Received::of(&self.get(query).await.is(200))
    }

    /// Begins a receive and waits until others see it waiting.
    pub(crate) async fn waiting(&self, session: &Session, query: &str) -> Waiting {
        let waiting = self.begins(query);
        session.receiving(&self.name).await;
        waiting
    }

    /// Begins a receive.
    pub(crate) fn begins(&self, query: &str) -> Waiting {
        Waiting::on(Request::get(format!("{}{query}", self.link)))
    }

    pub(crate) async fn post(&self, operation: &str) -> Answer {
        Request::post(format!("{}/{operation}", self.link)).send().await
    }

    pub(crate) async fn leave(&self) -> u64 {
        number(&self.post("leave").await.is(200).json())
    }

    /// Its read position, as everyone sees it.
    pub(crate) async fn position(&self, session: &Session) -> u64 {
        session.presence().await[&self.name]["read"].as_u64().expect("it is in")
    }
}

/// What a receive or read returned.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) entries: Vec<Value>,
    pub(crate) presence: Value,
    /// The lines as they came.
    pub(crate) lines: Vec<String>,
}

impl Received {
    #[track_caller]
    pub(crate) fn of(answer: &Answer) -> Self {
        let text = String::from_utf8(answer.body.clone()).expect("lines of JSON are UTF-8");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let parse = |line: &String| serde_json::from_str::<Value>(line).expect("each line is JSON");
        let mut values: Vec<Value> = lines.iter().map(parse).collect();
        let mut last = values.pop().expect("there is a last line");
        assert!(last["presence"].is_object(), "the last line is the presence: {last}");
        assert!(values.iter().all(|value| value["n"].is_u64()), "all lines before are entries: {values:?}");
        Self { entries: values, presence: last["presence"].take(), lines }
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.entries.iter().map(number).collect()
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        self.entries.iter().filter_map(|entry| entry["text"].as_str()).collect()
    }
}

/// A receive or read on its way. It is given up when dropped.
pub(crate) struct Waiting {
    task: JoinHandle<Answer>,
}

impl Waiting {
    fn on(request: Request) -> Self {
        Self { task: tokio::spawn(request.send()) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    pub(crate) async fn answer(mut self) -> Answer {
        (&mut self.task).await.expect("the receive is answered")
    }

    pub(crate) async fn received(self) -> Received {
        Received::of(&self.answer().await.is(200))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The `n` of an entry or an answer.
#[track_caller]
pub(crate) fn number(value: &Value) -> u64 {
    value["n"].as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come");
        poll_async().await;
    }
}

fn moved(link: &str, relay: &Relay) -> String {
    let at = link.find("/v2/").expect("a link of this version");
    relay.at(&link[at..])
}
