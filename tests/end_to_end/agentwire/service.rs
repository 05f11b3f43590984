//! An access service that says what a test lets it say, over real HTTP, and notes all that it is asked.

use super::relay::Relay;
use arena_tests::agent::read_request;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{io::AsyncWriteExt, net::TcpListener, task::JoinHandle};

/// A question of the relay.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// `POST /join`, `POST /read` or `GET /sessions/…`.
    pub(super) what: String,
    /// The body, null where there is none.
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn token(&self) -> Option<&str> {
        self.body["token"].as_str()
    }
}

/// What the service answers.
#[derive(Debug, Clone)]
pub(super) enum Says {
    /// A status line's rest and a body.
    Status(&'static str, String),
    /// The connection's end without a word.
    Nothing,
    /// Not before anyone has lost patience.
    Silence,
}

impl Says {
    pub(super) fn yes() -> Self {
        Self::with(&json!({}))
    }

    pub(super) fn with(value: &Value) -> Self {
        Self::Status("200 OK", value.to_string())
    }

    pub(super) fn account(account: &str) -> Self {
        Self::with(&json!({"account": account}))
    }

    pub(super) fn no() -> Self {
        Self::Status("403 Forbidden", "not you\n".to_owned())
    }

    pub(super) fn status(line: &'static str) -> Self {
        Self::Status(line, String::new())
    }
}

type Rule = Box<dyn Fn(&Asked) -> Says + Send>;

/// The service.
pub(super) struct Service {
    pub(super) url: String,
    rule: Arc<Mutex<Rule>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Service {
    pub(super) async fn start(rule: impl Fn(&Asked) -> Says + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/access", listener.local_addr().unwrap());
        let rule: Arc<Mutex<Rule>> = Arc::new(Mutex::new(Box::new(rule)));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (rules, all) = (Arc::clone(&rule), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (rule, asked) = (Arc::clone(&rules), Arc::clone(&all));
                tokio::spawn(async move {
                    while let Some(seen) = read_request(&mut stream).await {
                        let mut words = seen.head.split(' ');
                        let (method, path) = (words.next().unwrap(), words.next().unwrap());
                        let what = format!("{method} {}", path.strip_prefix("/access").unwrap_or(path));
                        let question = Asked { what, body: seen.body };
                        let says = (rule.lock().unwrap())(&question);
                        asked.lock().unwrap().push(question);
                        match says {
                            Says::Nothing => return,
                            Says::Silence => tokio::time::sleep(Duration::from_secs(600)).await,
                            Says::Status(line, body) => {
                                let head = format!("HTTP/1.1 {line}\r\ncontent-length: {}\r\n", body.len());
                                let more = "location: /access/elsewhere\r\n\r\n";
                                if stream.write_all(format!("{head}{more}{body}").as_bytes()).await.is_err() {
                                    return;
                                }
                            }
                        }
                    }
                });
            }
        });
        Self { url, rule, asked, task }
    }

    /// Vouches for `NAME-token` as account `NAME`, refuses the token `bad`, lets in whoever has none, keeps every session.
    pub(super) async fn vouching() -> Self {
        Self::start(vouch).await
    }

    /// From now on it answers so.
    pub(super) fn now(&self, rule: impl Fn(&Asked) -> Says + Send + 'static) {
        *self.rule.lock().unwrap() = Box::new(rule);
    }

    /// What it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// What it was asked since the last look, which this is.
    pub(super) fn taken(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// A relay that asks it anew each time.
    pub(super) fn relay(&self) -> Relay {
        self.relay_with(&[("ACCESS_CACHE_S", "0")], &[])
    }

    pub(super) fn relay_with(&self, settings: &[(&str, &str)], flags: &[&str]) -> Relay {
        let all: Vec<_> = [("ACCESS_URL", self.url.as_str())].iter().chain(settings).copied().collect();
        Relay::with(&all, flags)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The rule of [`Service::vouching`].
pub(super) fn vouch(asked: &Asked) -> Says {
    match asked.token() {
        Some("bad") => Says::no(),
        Some(token) => Says::account(token.split("-token").next().unwrap()),
        None => Says::yes(),
    }
}

impl super::relay::Session {
    /// How many entries it has, read as the service lets anyone for that while.
    pub(super) async fn entries_len(&self, service: &Service) -> usize {
        let kept = std::mem::replace(&mut *service.rule.lock().unwrap(), Box::new(vouch));
        let count = self.entries().await.len();
        *service.rule.lock().unwrap() = kept;
        count
    }

    /// Its presence, read so.
    pub(super) async fn read_presence(&self, service: &Service) -> Value {
        let kept = std::mem::replace(&mut *service.rule.lock().unwrap(), Box::new(vouch));
        let presence = self.presence().await;
        *service.rule.lock().unwrap() = kept;
        presence
    }
}
