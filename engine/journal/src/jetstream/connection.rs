//! The connection to NATS and the questions that are put over it. What belongs here: connecting, the least server, one request
//! and its answer, waiting for the connection. What never does: a word of records.

use async_nats::{
    Client, ConnectOptions, Event, HeaderMap, Message, RequestErrorKind,
    connection::State,
    jetstream::{
        self,
        context::ContextBuilder,
        message::StreamMessage,
        stream::{RawMessageBuilder, RawMessageErrorKind, WithHeaders},
    },
};
use bytes::Bytes;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{runtime::Handle, sync::watch};

use super::durability::Durability;
use arena_schema::record::RECORD_BYTES_MAX;

/// The oldest server that keeps what the journal relies on.
const LEAST_VERSION: [u64; 3] = [2, 12, 3];
/// How often a silent connection is tried.
const PING: Duration = Duration::from_secs(10);
/// How long one request waits for its answer.
pub(super) const ANSWER: Duration = Duration::from_secs(2);
/// The longest wait between two attempts to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(1);
/// What a message takes beside a record: its headers.
const HEADERS_BYTES_MAX: usize = 64 * 1024;
/// The first and the longest pause between two attempts at anything.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// How to reach NATS, and what is asked of it.
#[derive(Clone)]
pub struct NatsOptions {
    /// `nats://HOST:PORT`; several servers with commas between.
    pub url: String,
    /// How many servers keep each stream: 1, 3 or 5.
    pub replicas: usize,
    /// A credentials file as NATS tools write it (a JWT and a seed), or one line `USER:PASSWORD`.
    pub credentials: Option<PathBuf>,
    /// Where the servers' monitoring answers, `http://HOST:PORT`; several with commas between.
    pub monitor_url: Option<String>,
    /// The same as [`NatsOptions::credentials`], of the system account.
    pub system_credentials: Option<PathBuf>,
    /// Whether servers that acknowledge before they sync are taken.
    pub relaxed: bool,
}

impl NatsOptions {
    /// This server, one replica, strict, nothing else.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            replicas: 1,
            credentials: None,
            monitor_url: None,
            system_credentials: None,
            relaxed: false,
        }
    }
}

impl std::fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsOptions")
            .field("url", &without_password(&self.url))
            .field("replicas", &self.replicas)
            .field("credentials", &self.credentials)
            .field("monitor_url", &self.monitor_url)
            .field("system_credentials", &self.system_credentials)
            .field("relaxed", &self.relaxed)
            .finish()
    }
}

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// Nobody answers there, or who answers refuses.
    #[error("NATS at {url} cannot be reached: {why}")]
    Connect {
        /// The address, without a password.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// The credentials file cannot be used.
    #[error("the NATS credentials {path} cannot be used: {why}")]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The server is too old.
    #[error("nats-server {found} is too old: the journal needs 2.12.3 or newer")]
    Version {
        /// The version it says.
        found: String,
    },
    /// Another server of the cluster, which may come to lead a stream, is too old.
    #[error(
        "nats-server {found} on {server} is too old: the journal needs 2.12.3 or newer on every server, since any of them may \
         come to lead its streams"
    )]
    OldServer {
        /// The server's name.
        server: String,
        /// The version it says.
        found: String,
    },
    /// The server takes no message that is as large as a record.
    #[error("the NATS server's max_payload is {found} bytes, the journal needs at least {least}")]
    MaxPayload {
        /// What the server says.
        found: usize,
        /// What is needed.
        least: usize,
    },
    /// A server acknowledges before it syncs, and that was not allowed.
    #[error(
        "nats-server {server} acknowledges before it syncs (sync_interval {interval}): set sync_interval: always \
         in its jetstream block, or durability = \"relaxed\" here"
    )]
    Lazy {
        /// The server's name.
        server: String,
        /// How often it syncs.
        interval: String,
    },
}

/// How the connection fared so far.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    made: u64,
    broken: u64,
}

/// A connection to NATS that is made anew for ever. A clone is the same connection.
#[derive(Debug, Clone)]
pub struct Nats {
    client: Client,
    jetstream: jetstream::Context,
    runtime: Handle,
    options: Arc<NatsOptions>,
    link: watch::Receiver<Link>,
}

/// What JetStream answered instead of doing it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{description} (code {code}, error {error})")]
pub(super) struct Refusal {
    pub(super) code: u64,
    pub(super) error: u64,
    pub(super) description: String,
}

impl Refusal {
    /// Reads the error of an answer, if it is one.
    pub(super) fn of(answer: &Value) -> Option<Self> {
        let error = answer.get("error")?;
        let number = |name: &str| error.get(name).and_then(Value::as_u64).unwrap_or_default();
        let description =
            error.get("description").and_then(Value::as_str).unwrap_or("no reason given").to_owned();
        Some(Self { code: number("code"), error: number("err_code"), description })
    }
}

/// A question for a message, which is put to the stream's leader.
type Question = RawMessageBuilder<WithHeaders>;

/// Why a request brought nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Failure {
    /// It was refused.
    #[error("the server refuses: {0}")]
    Refused(Refusal),
    /// Nobody was there to ask.
    #[error("nobody answers: JetStream is not enabled there, or has no leader")]
    Nobody,
    /// No answer: it may have been done, or may yet be.
    #[error("no answer: {0}")]
    Lost(String),
}

impl Nats {
    /// Connects, and refuses a server that is too old or takes too little. From then on it reconnects for ever.
    /// Called on a runtime of several threads, on which the connection lives.
    ///
    /// # Errors
    /// [`NatsError`], all but [`NatsError::Lazy`] and [`NatsError::OldServer`].
    pub async fn connect(options: &NatsOptions) -> Result<Self, NatsError> {
        let (sender, link) = watch::channel(Link::default());
        let connect = connect_options(options.credentials.as_deref()).await?.event_callback(move |event| {
            sender.send_modify(|link| match event {
                Event::Connected => link.made += 1,
                Event::Disconnected | Event::Closed => link.broken += 1,
                _ => {}
            });
            log_event(&event);
            std::future::ready(())
        });
        let client = connect_to(&options.url, connect).await?;
        let info = client.server_info();
        check_version(&info.version)?;
        check_payload(info.max_payload)?;
        let jetstream = ContextBuilder::new().timeout(ANSWER).build(client.clone());
        Ok(Self { client, jetstream, runtime: Handle::current(), options: Arc::new(options.clone()), link })
    }

    /// The same connection with other settings.
    #[cfg(test)]
    pub(crate) fn with_options(&self, options: NatsOptions) -> Self {
        Self { options: Arc::new(options), ..self.clone() }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// JetStream over it.
    pub fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    /// The runtime that the connection lives on.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// What it was connected with.
    pub fn options(&self) -> &NatsOptions {
        &self.options
    }

    /// The version of the server that it is connected to.
    pub fn server_version(&self) -> String {
        self.client.server_info().version
    }

    /// Whether the servers sync before they acknowledge, as far as the settings allow to see it.
    pub async fn durability(&self) -> Durability {
        super::durability::look(&self.options).await
    }

    /// The same, and refuses servers that were seen not to sync unless the settings take them.
    ///
    /// # Errors
    /// [`NatsError::Lazy`].
    pub async fn require_durability(&self) -> Result<Durability, NatsError> {
        match self.durability().await {
            Durability::Lazy { server, interval } if !self.options.relaxed => {
                Err(NatsError::Lazy { server, interval })
            }
            durability => Ok(durability),
        }
    }

    /// The address for messages, without a password.
    pub(super) fn address(&self) -> String {
        without_password(&self.options.url)
    }

    /// How often the connection broke so far.
    pub(super) fn breaks(&self) -> u64 {
        self.link.borrow().broken
    }

    /// Until the connection has broken more often than so.
    pub(super) async fn broken(&self, breaks: u64) {
        let mut link = self.link.clone();
        // Its sender lives as long as the client does: where it is gone, so is the connection.
        let _ = link.wait_for(|link| link.broken != breaks).await;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Runs a question until it is answered or the connection breaks. Where there is no connection nothing is asked, so that
    /// nothing queues up for when there is one again.
    async fn asked<T>(&self, question: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let breaks = self.breaks();
        if !self.is_connected() {
            return Err(Failure::Lost("there is no connection".to_owned()));
        }
        tokio::select! {
            answer = question => answer,
            () = self.broken(breaks) => Err(Failure::Lost("the connection broke".to_owned())),
        }
    }

    /// One message and the answer to it.
    pub(super) async fn request(
        &self,
        subject: String,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<Message, Failure> {
        let mut request = async_nats::Request::new().payload(payload).timeout(Some(ANSWER));
        if !headers.is_empty() {
            request = request.headers(headers);
        }
        let fail = |why: async_nats::RequestError| match why.kind() {
            RequestErrorKind::NoResponders => Failure::Nobody,
            _ => Failure::Lost(why.to_string()),
        };
        self.asked(async { self.client.send_request(subject, request).await.map_err(fail) }).await
    }

    /// One question to JetStream's API, such as `STREAM.INFO.<name>`, and the answer.
    pub(super) async fn api(&self, operation: &str, body: &Value) -> Result<Value, Failure> {
        let payload = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let answer = self.request(format!("$JS.API.{operation}"), HeaderMap::new(), payload).await?;
        read_answer(&answer)
    }

    /// What the stream's leader has at this sequence; none where there is nothing.
    pub(super) async fn stored(&self, stream: &str, sequence: u64) -> Result<Option<StreamMessage>, Failure> {
        self.look(stream, |question| question.sequence(sequence)).await
    }

    /// The last that the stream's leader has under a subject, which may have wildcards.
    pub(super) async fn stored_last(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, Failure> {
        self.look(stream, |question| question.last_by_subject(subject)).await
    }

    /// The first that the stream's leader has under a subject, which may have wildcards.
    pub(super) async fn stored_first(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, Failure> {
        self.stored_next(stream, subject, 1).await
    }

    /// The first that the stream's leader has under a subject from this sequence on.
    pub(super) async fn stored_next(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
    ) -> Result<Option<StreamMessage>, Failure> {
        self.look(stream, |question| question.sequence(from).next_by_subject(subject)).await
    }

    async fn look(
        &self,
        stream: &str,
        ask: impl FnOnce(Question) -> Question,
    ) -> Result<Option<StreamMessage>, Failure> {
        self.asked(async {
            let lost = |why: String| Failure::Lost(why);
            let stream =
                self.jetstream.get_stream_no_info(stream).await.map_err(|why| lost(why.to_string()))?;
            match ask(stream.raw_message_builder()).send().await {
                Ok(message) => Ok(Some(message)),
                Err(why) if why.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
                Err(why) => Err(lost(why.to_string())),
            }
        })
        .await
    }
}

/// The answer to a publish or to a question of the API.
pub(super) fn read_answer(answer: &Message) -> Result<Value, Failure> {
    let value: Value = serde_json::from_slice(&answer.payload)
        .map_err(|why| Failure::Lost(format!("the answer cannot be read: {why}")))?;
    match Refusal::of(&value) {
        Some(refusal) => Err(Failure::Refused(refusal)),
        None => Ok(value),
    }
}

/// Pauses between attempts, each longer than the one before; a connection that comes back ends one.
#[derive(Debug)]
pub(super) struct Pauses {
    next: Duration,
}

impl Pauses {
    pub(super) const fn new() -> Self {
        Self { next: PAUSE }
    }

    pub(super) async fn pause(&mut self, nats: &Nats) {
        let pause = self.next;
        self.next = (pause * 2).min(PAUSE_MAX);
        let mut link = nats.link.clone();
        let made = link.borrow_and_update().made;
        // No connection comes back, or none can any more: the pause is over by itself.
        let _ = tokio::time::timeout(pause, async {
            if link.wait_for(|link| link.made != made).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
        .await;
    }
}

fn log_event(event: &Event) {
    match event {
        Event::Connected => tracing::debug!("NATS: {event}"),
        event => tracing::warn!("NATS: {event}"),
    }
}

/// The options of every connection that we make.
pub(super) async fn connect_options(credentials: Option<&Path>) -> Result<ConnectOptions, NatsError> {
    let options = ConnectOptions::new()
        .name("arena")
        .ping_interval(PING)
        .request_timeout(Some(ANSWER))
        .reconnect_delay_callback(|attempt| (PAUSE * attempt.min(1_000) as u32).min(RECONNECT_MAX));
    let Some(path) = credentials else {
        return Ok(options);
    };
    let fail = |why: std::io::Error| NatsError::Credentials { path: path.to_owned(), why: why.to_string() };
    let text = zeroize::Zeroizing::new(tokio::fs::read_to_string(path).await.map_err(fail)?);
    match text.trim().split_once(':') {
        Some((user, password)) if !text.contains("-----") && !password.contains('\n') => {
            let options = options.user_and_password(user.to_owned(), password.to_owned());
            // Users of one account hear each other's answers, but where each has a prefix of its own (the schema's README,
            // Permissions).
            let plain = user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            Ok(if plain { options.custom_inbox_prefix(format!("_INBOX_{user}")) } else { options })
        }
        _ => options.credentials(&text).map_err(fail),
    }
}

/// Connects to the first of these servers that answers.
pub(super) async fn connect_to(url: &str, options: ConnectOptions) -> Result<Client, NatsError> {
    let fail = |why: String| NatsError::Connect { url: without_password(url), why };
    let servers: Vec<&str> = url.split(',').map(str::trim).filter(|server| !server.is_empty()).collect();
    options.connect(servers).await.map_err(|why| fail(error_chain(&why)))
}

/// An error and what is behind it.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

pub(super) fn without_password(url: &str) -> String {
    let server = |server: &str| match (server.split_once("://"), server.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        (_, None) => server.to_owned(),
    };
    url.split(',').map(|part| server(part.trim())).collect::<Vec<_>>().join(",")
}

/// Whether a server of this version is new enough; a release candidate is older than its release.
pub(super) fn check_version(version: &str) -> Result<(), NatsError> {
    let old = || NatsError::Version { found: version.to_owned() };
    let (release, candidate) = match version.trim_start_matches('v').split_once('-') {
        Some((release, _)) => (release, true),
        None => (version.trim_start_matches('v'), false),
    };
    let numbers: Option<Vec<u64>> = release.split('.').map(|number| number.parse().ok()).collect();
    let numbers: [u64; 3] = numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(old)?;
    if numbers < LEAST_VERSION || (numbers == LEAST_VERSION && candidate) {
        return Err(old());
    }
    Ok(())
}

fn check_payload(found: usize) -> Result<(), NatsError> {
    let least = RECORD_BYTES_MAX + HEADERS_BYTES_MAX;
    if found < least { Err(NatsError::MaxPayload { found, least }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_a_file_of_nats_tools_or_one_line() {
        let folder = tempfile::TempDir::new().unwrap();
        let read = |text: &str| {
            let path = folder.path().join("credentials");
            std::fs::write(&path, text).unwrap();
            crate::testing::run(connect_options(Some(&path))).map(|_| ()).map_err(|why| why.to_string())
        };
        // The example of NATS' own documentation: a key of nobody's.
        let seed = "SUACH75SWCM5D2JMJM6EKLR2WDARVGZT4QC6LX3AGHSWOMVAKERABBBRWM";
        let file = format!(
            "-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJqd3QifQ.e30.c2ln\n------END NATS USER JWT------\n\n\
             *** IMPORTANT: keep it secret ***\n-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        read(&file).unwrap();
        read("me:secret\n").unwrap();
        for wrong in ["", "secret", "-----BEGIN NATS USER JWT-----\nme:secret"] {
            let why = read(wrong).unwrap_err();
            assert!(why.contains("credentials cannot be used") && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn a_server_older_than_the_least_is_refused() {
        for new in ["2.12.3", "2.12.10", "2.13.0-RC.1", "2.15.1", "3.0.0", "v2.14.0"] {
            assert!(check_version(new).is_ok(), "{new}");
        }
        for old in ["2.12.2", "2.12.3-RC.2", "2.9.10", "2.11.99", "1.99.99", "", "2.15", "new"] {
            let error = check_version(old).unwrap_err().to_string();
            assert!(error.contains("2.12.3") && error.contains(old), "{error}");
        }
    }

    #[test]
    fn a_server_that_takes_no_whole_record_is_refused() {
        assert!(check_payload(1024 * 1024).is_ok());
        assert!(matches!(check_payload(RECORD_BYTES_MAX), Err(NatsError::MaxPayload { .. })));
    }

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(without_password("nats://me:secret@one:4222,two:4222"), "nats://one:4222,two:4222");
        assert_eq!(without_password("me:secret@one"), "one");
        assert!(!format!("{:?}", NatsOptions::new("nats://me:secret@one")).contains("secret"));
    }
}
