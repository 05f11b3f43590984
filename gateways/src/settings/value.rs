//! The types of settings' values, each with what it takes and how it shows.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use url::Url;

/// A text that no log, error or printed settings shows.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A secret for a test or a tool; the settings' own come from their sources.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Compare it in constant time.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(<hidden>)")
    }
}

/// An address that the operator names, `http` or `https`, without credentials or fragment. The egress's operator door takes
/// nothing else, so whoever holds one of these may be dialled on private networks too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorUrl(Url);

impl OperatorUrl {
    /// The address, with `http` or `https` and a host.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        web_url(text).filter(|url| url.fragment().is_none()).map(Self)
    }
}

impl fmt::Display for OperatorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The origin that clients see, such as `https://arena.example`; shows without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// The origin's text, to put a path behind.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http://` and an address.
    pub fn of(address: SocketAddr) -> Self {
        Self(format!("http://{address}"))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let url = web_url(text)?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        bare.then(|| Self(url.origin().ascii_serialization()))
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn web_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let web = matches!(url.scheme(), "http" | "https") && url.has_host();
    (web && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// NATS servers' addresses, each `nats`, `tls`, `ws` or `wss`, with commas between. They may hold passwords, so they do not
/// show but by [`NatsUrl::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct NatsUrl(String);

impl NatsUrl {
    /// The addresses with their passwords, for the connection alone.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_address = |text: &str| {
            Url::parse(text.trim()).is_ok_and(|url| {
                matches!(url.scheme(), "nats" | "tls" | "ws" | "wss")
                    && url.host_str().is_some_and(|host| !host.is_empty())
            })
        };
        text.split(',').all(is_address).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for NatsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.split(',').map(|url| without_credentials(url.trim())).collect();
        f.write_str(&shown.join(","))
    }
}

impl fmt::Debug for NatsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NatsUrl({self})")
    }
}

/// A text that may be an address, with what stands before its `@` hidden.
pub(super) fn without_credentials(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            format!("{}<hidden>{}", &text[..scheme + 3], &text[at..])
        }
        _ => text.to_owned(),
    }
}

/// An address or a network: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Whether `address` lies in it; an IPv4 address written as IPv6 counts as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let differ = ours.to_bits() ^ other.to_bits();
                differ.checked_shr(32 - self.prefix_bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let differ = ours.to_bits() ^ other.to_bits();
                differ.checked_shr(128 - self.prefix_bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().ok()?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            None => bits_max,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
            Some(_) => return None,
        };
        (prefix_bits <= bits_max).then_some(Self { address, prefix_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// A value that is written as a text, a number or a flag, alone or in a list.
pub(super) trait Scalar: Sized {
    /// What fits, for messages.
    const EXPECTED: &'static str;
    /// Whether its value must not be shown.
    const SECRET: bool = false;
    /// The value that `text` means.
    fn parse(text: &str) -> Option<Self>;
    /// As it is printed.
    fn show(&self) -> String;
}

impl Scalar for String {
    const EXPECTED: &'static str = "a text";
    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.to_owned())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl Scalar for PathBuf {
    const EXPECTED: &'static str = "a path";
    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty() && !text.contains('\0')).then(|| Self::from(text))
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Scalar for SocketAddr {
    const EXPECTED: &'static str = "an address and a port, such as 127.0.0.1:7171 or [::1]:7171";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Scalar for Secret {
    const EXPECTED: &'static str = "a text (a secret)";
    const SECRET: bool = true;
    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::new(text))
    }
    fn show(&self) -> String {
        "<hidden>".to_owned()
    }
}

impl Scalar for OperatorUrl {
    const EXPECTED: &'static str = "an http or https address without credentials or fragment";
    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Scalar for PublicUrl {
    const EXPECTED: &'static str = "an http or https address without a path, credentials, query or fragment, such as https://arena.example";
    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Scalar for NatsUrl {
    const EXPECTED: &'static str = "a NATS address, such as nats://127.0.0.1:4222";
    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Scalar for Network {
    const EXPECTED: &'static str = "an address or a network, such as 10.0.0.7 or 10.0.0.0/8";
    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// An enum of which each value has one word.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The word in the settings.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl Scalar for $name {
            const EXPECTED: &'static str = $expected;
            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
            fn show(&self) -> String {
                self.as_str().to_owned()
            }
        }
    };
}

words! {
    /// What is asked of the NATS server's disk.
    #[derive(Default)]
    Durability, "\"strict\" or \"relaxed\"",
    /// A server that is seen to acknowledge before it syncs is refused.
    #[default]
    Strict = "strict",
    /// It is taken as it is.
    Relaxed = "relaxed",
}

words! {
    /// What a process does for an arena whose journal is on NATS.
    #[derive(Default)]
    Role, "\"all\", \"engine\" or \"gateway\"",
    /// Both.
    #[default]
    All = "all",
    /// It follows, and leads when it is its turn; no door of it is open but that of its health.
    Engine = "engine",
    /// It serves agents and people, and submits to whoever leads.
    Gateway = "gateway",
}

words! {
    /// Who may register an agent.
    #[derive(Default)]
    Registration, "\"open\", \"invite\" or \"closed\"",
    /// Anyone.
    #[default]
    Open = "open",
    /// Who has one of the `invitations`.
    Invite = "invite",
    /// Nobody.
    Closed = "closed",
}

words! {
    /// What a way to sign in speaks.
    ProviderKind, "\"oidc\" or \"github\"",
    /// OpenID Connect.
    Oidc = "oidc",
    /// GitHub's OAuth 2.0; the account is `GET /user`'s `id`.
    Github = "github",
}

words! {
    /// What turns a text into a vector.
    #[derive(Default)]
    Embedder, "\"auto\", \"e5\", \"openai\" or \"lexical\"",
    /// `e5` where its file is, else `lexical`.
    #[default]
    Auto = "auto",
    /// The multilingual model from a file.
    E5 = "e5",
    /// An OpenAI-compatible endpoint.
    OpenAi = "openai",
    /// Hashed n-grams.
    Lexical = "lexical",
}
