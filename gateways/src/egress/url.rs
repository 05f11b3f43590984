//! The URL of an endpoint, checked as far as its text goes. What its name resolves to is
//! [`resolver`](super::resolver)'s to judge, at registration and again at every request.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::address::{AddressKind, forbidden};
use super::refusal::UrlRefusal;

/// The longest URL that is taken, in bytes.
pub const URL_BYTES_MAX: usize = 2048;

/// The longest DNS name and its longest label, in bytes (RFC 1035).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Last labels, and last pairs of labels, that never lead out of some network.
const LOCAL_SUFFIXES: [&str; 8] =
    ["localhost", "internal", "local", "localdomain", "home.arpa", "lan", "cluster.local", "svc"];

/// Metadata services that have a name of their own. (Google's and Azure's end in `.internal`, and a
/// single label such as `metadata` is refused as such.)
const METADATA_NAMES: [&str; 4] =
    ["metadata.goog", "metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"];

/// What an endpoint's URL may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlPolicy {
    /// `https` and public hosts: the venue's rule.
    Public,
    /// Also `http`, and also loopback: for trying an agent on one's own machine (`--dev`).
    Dev,
}

impl UrlPolicy {
    /// The policy of a process that was started with or without `--dev`.
    pub fn of(dev: bool) -> Self {
        if dev { Self::Dev } else { Self::Public }
    }
}

/// A URL that somebody outside gave us, in a form that may be called. AA-050.
///
/// It says nothing about where its name leads: that is checked by
/// [`Untrusted::check`](super::Untrusted::check) and again before each request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EndpointUrl {
    url: Url,
}

impl EndpointUrl {
    /// Takes `https` URLs of at most [`URL_BYTES_MAX`] bytes, with a port or without, and refuses
    /// credentials, fragments, local names, odd spellings of addresses and forbidden addresses.
    ///
    /// # Errors
    /// The first [`UrlRefusal`] that applies; never `NoAddress` or `Lookup`, as nothing is looked up.
    pub fn parse(text: &str, policy: UrlPolicy) -> Result<Self, UrlRefusal> {
        let (url, raw_host) = parse_http(text)?;
        match (url.scheme(), policy) {
            ("https", _) | ("http", UrlPolicy::Dev) => {}
            (scheme, policy) => {
                let expected = if policy == UrlPolicy::Dev { "https or http" } else { "https" };
                return Err(UrlRefusal::Scheme { scheme: scheme.to_owned(), expected });
            }
        }
        match url.host() {
            Some(Host::Ipv4(address)) => {
                let canonical = address.to_string();
                if raw_host != canonical {
                    return Err(UrlRefusal::OddAddress { host: raw_host.to_owned(), canonical });
                }
                literal_allowed(IpAddr::V4(address), policy)?;
            }
            Some(Host::Ipv6(address)) => literal_allowed(IpAddr::V6(address), policy)?,
            Some(Host::Domain(name)) => name_allowed(name, policy)?,
            None => return Err(malformed("there is no host")),
        }
        Ok(Self { url })
    }

    /// The URL as it is called, which may differ from the text in case and escapes.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Without path and query: secrets ride there, and debug output ends in logs.
impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointUrl({}://{}/…)", self.url.scheme(), self.url.authority())
    }
}

/// The form, whatever the host. Returns the host as it was written, too.
fn parse_http(text: &str) -> Result<(Url, &str), UrlRefusal> {
    if text.len() > URL_BYTES_MAX {
        return Err(UrlRefusal::TooLong { bytes: text.len(), max: URL_BYTES_MAX });
    }
    // The URL standard drops or turns these in silence; what we check must be what was written.
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(malformed("it has white space, control characters or a backslash"));
    }
    let (scheme, rest) = text.split_once("://").ok_or_else(|| malformed("there is no ://"))?;
    let url = Url::parse(text).map_err(|error| malformed(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlRefusal::Scheme { scheme: scheme.to_owned(), expected: "https" });
    }
    if url.port() == Some(0) {
        return Err(malformed("nothing listens on port 0"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(UrlRefusal::Userinfo);
    }
    if url.fragment().is_some() {
        return Err(UrlRefusal::Fragment);
    }
    let host = match authority.find(']') {
        Some(end) => &authority[..=end],
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return Err(malformed("there is no host"));
    }
    if host.contains('%') {
        return Err(malformed("the host has percent escapes"));
    }
    // The HTTP client reads the text once more by stricter rules: what it can't send is refused here.
    axum::http::Uri::try_from(url.as_str()).map_err(|error| malformed(&error.to_string()))?;
    Ok((url, host))
}

fn malformed(why: &str) -> UrlRefusal {
    UrlRefusal::Malformed { why: why.to_owned() }
}

fn literal_allowed(address: IpAddr, policy: UrlPolicy) -> Result<(), UrlRefusal> {
    match judge(address, policy) {
        Some(kind) => Err(UrlRefusal::Address { host: address.to_string(), address, kind }),
        None => Ok(()),
    }
}

/// [`forbidden`] but for loopback proper under the policy for development: a mapped or embedded
/// loopback address stays refused.
pub(super) fn judge(address: IpAddr, policy: UrlPolicy) -> Option<AddressKind> {
    if policy == UrlPolicy::Dev && address.is_loopback() {
        return None;
    }
    forbidden(address)
}

fn name_allowed(name: &str, policy: UrlPolicy) -> Result<(), UrlRefusal> {
    if name.ends_with('.') {
        return Err(UrlRefusal::TrailingDot { host: name.to_owned() });
    }
    if name.len() > NAME_BYTES_MAX
        || name.split('.').any(|label| label.is_empty() || label.len() > LABEL_BYTES_MAX)
    {
        return Err(malformed("the host is not a DNS name"));
    }
    let under = |suffix: &str| {
        name.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    if policy == UrlPolicy::Dev && under("localhost") {
        return Ok(());
    }
    let local = !name.contains('.')
        || LOCAL_SUFFIXES.iter().any(|suffix| under(suffix))
        || METADATA_NAMES.iter().any(|suffix| under(suffix));
    if local { Err(UrlRefusal::LocalName { host: name.to_owned() }) } else { Ok(()) }
}
