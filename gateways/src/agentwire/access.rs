//! The access service: what it is asked, and what its answers mean (agentwire, *Access*). What never belongs here: what is kept of
//! an answer, or what comes of one.

use super::failure::Failure;
use crate::{
    egress::{Exchange, Operator, OperatorUrl, Outcome},
    settings,
};
use arena_schema::{SecretHash, command::sessions::DeletionAnswer};
use axum::http::{HeaderMap, header};
use serde::Serialize;
use serde_json::value::RawValue;
use std::{collections::HashMap, sync::Arc, time::Duration};
use zeroize::Zeroizing;

/// How long the service has to answer (CHOICES, *a yes of the access service*).
const DEADLINE: Duration = Duration::from_secs(5);
/// How long an answer is at most.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// How long an account is at most, in bytes: one that is longer is none.
const ACCOUNT_BYTES_MAX: usize = 1_024;
/// How many characters of a refusal are passed on.
const LINE_CHARS_MAX: usize = 500;
/// Before a request is made again that the service did not answer for, in seconds.
const RETRY_AFTER_S: u32 = 5;

/// What somebody presents.
pub(super) struct Token(Zeroizing<String>);

impl Token {
    /// The one of a request; of another scheme it is none (CHOICES-agentwire 64).
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        let token = token.trim();
        let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty();
        fits.then(|| Self(Zeroizing::new(token.to_owned())))
    }

    pub(super) fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }
}

/// What a participant is asked about by.
#[derive(Clone, Default)]
pub(super) enum Credential {
    /// It presented nothing.
    #[default]
    None,
    /// What it presented.
    Token(Zeroizing<String>),
    /// What the service gave in its place.
    Grant(Zeroizing<String>),
}

impl Credential {
    pub(super) fn presented(token: &Token) -> Self {
        Self::Token(token.0.clone())
    }

    pub(super) fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// As it is kept; nothing where there is none.
    pub(super) fn kept(&self) -> Option<Zeroizing<Vec<u8>>> {
        let (mark, text) = match self {
            Self::None => return None,
            Self::Token(text) => (b't', text),
            Self::Grant(text) => (b'g', text),
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(1 + text.len()));
        bytes.push(mark);
        bytes.extend_from_slice(text.as_bytes());
        Some(bytes)
    }

    /// What was kept.
    pub(super) fn read(kept: &[u8]) -> Option<Self> {
        let (mark, text) = kept.split_first()?;
        let text = Zeroizing::new(std::str::from_utf8(text).ok()?.to_owned());
        match mark {
            b't' => Some(Self::Token(text)),
            b'g' => Some(Self::Grant(text)),
            _ => None,
        }
    }
}

/// What the service says about the session, which the relay doesn't read.
pub(super) type About = Arc<RawValue>;

/// A yes.
#[derive(Default)]
pub(super) struct Yes {
    pub(super) account: Option<String>,
    pub(super) about: Option<About>,
    pub(super) grant: Option<Zeroizing<String>>,
}

/// What the service says.
pub(super) enum Said {
    Yes(Yes),
    /// A no, with its line.
    No(Failure),
    /// Anything else, or nothing.
    Nothing,
}

/// That there is no answer where one is needed.
pub(super) fn unanswered() -> Failure {
    Failure::busy_for("the access service of this relay does not answer", RETRY_AFTER_S)
}

/// The way to the service.
pub(super) struct Access {
    operator: Operator,
    url: OperatorUrl,
    /// The path of its own URL.
    path: String,
}

#[derive(Serialize)]
struct JoinQuestion<'a> {
    session: &'a str,
    name: &'a str,
    #[serde(flatten)]
    by: By<'a>,
    owned: bool,
}

/// What somebody is asked about by: a token, null where it has none, or a grant.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum By<'a> {
    Token(Option<&'a str>),
    Grant(&'a str),
}

#[derive(Serialize)]
struct ReadQuestion<'a> {
    session: &'a str,
    token: Option<&'a str>,
    owned: bool,
}

impl Access {
    pub(super) fn new(setting: &settings::OperatorUrl, operator: &Operator) -> Self {
        let path = setting.as_url().path().trim_end_matches('/').to_owned();
        Self { operator: operator.clone(), url: OperatorUrl::from_settings(setting), path }
    }

    /// Whether a participant may be in.
    pub(super) async fn join(&self, session: &str, name: &str, by: &Credential, owned: bool) -> Said {
        let by = match by {
            Credential::None => By::Token(None),
            Credential::Token(token) => By::Token(Some(token)),
            Credential::Grant(grant) => By::Grant(grant),
        };
        self.ask("/join", &JoinQuestion { session, name, by, owned }).await
    }

    /// Whether somebody may read.
    pub(super) async fn read(&self, session: &str, token: Option<&Token>, owned: bool) -> Said {
        let token = token.map(|token| token.0.as_str());
        self.ask("/read", &ReadQuestion { session, token, owned }).await
    }

    /// Whether an owned session may be deleted.
    pub(super) async fn may_be_deleted(&self, session: &str) -> DeletionAnswer {
        let Ok(url) = self.url.at(&format!("{}/sessions/{session}", self.path)) else {
            return DeletionAnswer::Silence;
        };
        match self.operator.get(&url, &[], DEADLINE, ANSWER_BYTES_MAX).await.outcome {
            Outcome::Reply { status: 200, .. } => DeletionAnswer::Keep,
            Outcome::Reply { status: 404, .. } => DeletionAnswer::Delete,
            _ => DeletionAnswer::Silence,
        }
    }

    async fn ask(&self, what: &str, question: &impl Serialize) -> Said {
        let (Ok(url), Ok(body)) =
            (self.url.at(&format!("{}{what}", self.path)), serde_json::to_vec(question))
        else {
            return Said::Nothing;
        };
        let headers = [("content-type", "application/json".to_owned())];
        said(self.operator.post(&url, &headers, body, DEADLINE, ANSWER_BYTES_MAX).await)
    }
}

fn said(exchange: Exchange) -> Said {
    match exchange.outcome {
        Outcome::Reply { status: 200, body, too_large: false } => Said::Yes(yes(&body)),
        Outcome::Reply { status: 403, body, .. } => Said::No(Failure::refused(line(&body))),
        Outcome::Reply { status, .. } => {
            tracing::warn!(status, "the access service answers neither yes nor no");
            Said::Nothing
        }
        Outcome::Fault { fault, .. } => {
            tracing::warn!(?fault, "the access service does not answer");
            Said::Nothing
        }
    }
}

/// A body that is no JSON is a yes all the same (CHOICES-agentwire 57).
fn yes(body: &[u8]) -> Yes {
    let mut fields: HashMap<String, Box<RawValue>> = serde_json::from_slice(body).unwrap_or_default();
    let text = |value: Option<Box<RawValue>>| serde_json::from_str::<String>(value?.get()).ok();
    let account = text(fields.remove("account"));
    Yes {
        account: account.filter(|account| (1..=ACCOUNT_BYTES_MAX).contains(&account.len())),
        grant: text(fields.remove("grant")).map(Zeroizing::new),
        about: fields.remove("about").filter(|about| about.get().starts_with('{')).map(Arc::from),
    }
}

/// The line of a refusal that is passed on (CHOICES-agentwire 58).
fn line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let first = text.lines().next().unwrap_or_default();
    let line: String = first.chars().filter(|c| !c.is_control()).take(LINE_CHARS_MAX).collect();
    match line.trim() {
        "" => "the access service of this relay does not let you in".to_owned(),
        line => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_token_is_what_stands_behind_bearer() {
        let of = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            Token::of(&headers).map(|token| token.0.to_string())
        };
        assert_eq!(of("Bearer a.b-c").as_deref(), Some("a.b-c"));
        assert_eq!(of("bearer  a").as_deref(), Some("a"));
        for none in ["Basic YTpi", "Bearer", "Bearer ", "a"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        for credential in
            [Credential::Token(Zeroizing::new("ü".into())), Credential::Grant(Zeroizing::new(String::new()))]
        {
            let kept = credential.kept().unwrap();
            assert_eq!(Credential::read(&kept).unwrap().kept(), Some(kept));
        }
        assert!(Credential::None.kept().is_none() && Credential::read(b"").is_none());
    }

    #[test]
    fn a_yes_says_what_it_says_and_nothing_else() {
        let full = yes(br#"{"account":"luis","grant":"g","about":{"a": 1.0},"more":[]}"#);
        assert_eq!(full.account.as_deref(), Some("luis"));
        assert_eq!(full.grant.unwrap().as_str(), "g");
        assert_eq!(full.about.unwrap().get(), r#"{"a": 1.0}"#);
        for none in ["", "welcome", "[]", "{}", r#"{"account":7,"about":"x"}"#, r#"{"account":""}"#] {
            let none = yes(none.as_bytes());
            assert!(none.account.is_none() && none.about.is_none() && none.grant.is_none());
        }
    }

    #[test]
    fn a_refusal_is_one_line_of_text() {
        assert_eq!(line(b"not you\nand more"), "not you");
        assert_eq!(line(b"a\x07b\r\n"), "ab");
        assert!(!line(b"").is_empty() && !line(b"\n").is_empty());
        assert_eq!(line(&[b'x'; 9_000]).len(), LINE_CHARS_MAX);
    }
}
