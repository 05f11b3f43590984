//! The door for URLs that the operator wrote into the settings: access service, identity providers,
//! embeddings. Any host may be called, `http` too; redirects are not followed here either.

use std::fmt;
use std::time::Duration;

use axum::body::Bytes;
use reqwest::{Client, Method};
use url::Url;

use super::exchange::{Call, Exchange};
use super::refusal::UrlRefusal;
use crate::settings;

/// A URL that may be called without a judgement of its host. It starts from one that the settings'
/// parser made: nothing that came over the wire may become one, or the checks of the untrusted door
/// are gone around.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OperatorUrl {
    url: Url,
}

impl OperatorUrl {
    /// The URL as the settings have it.
    pub fn from_settings(setting: &settings::OperatorUrl) -> Self {
        Self { url: setting.as_url().clone() }
    }

    /// The URL that whoever runs a command gave on its command line: their own word, as a setting is.
    ///
    /// # Errors
    /// [`UrlRefusal`] where it is no http or https URL.
    pub(crate) fn from_command_line(text: &str) -> Result<Self, UrlRefusal> {
        let url = Url::parse(text).map_err(|why| UrlRefusal::Malformed { why: why.to_string() })?;
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme().to_owned();
            return Err(UrlRefusal::Scheme { scheme, expected: "http or https" });
        }
        Ok(Self { url })
    }

    /// For tests, which have servers but no settings.
    #[cfg(test)]
    pub(crate) fn for_test(text: &str) -> Self {
        Self { url: Url::parse(text).unwrap() }
    }

    /// The URL of another place at the same service: `path` is taken from the host's root
    /// (`/v1/check`), with a query or without. Scheme, host and port stay, whatever it says.
    ///
    /// # Errors
    /// [`UrlRefusal::Malformed`] where `path` does not start with one `/` or holds a fragment.
    pub fn at(&self, path: &str) -> Result<Self, UrlRefusal> {
        let why = || UrlRefusal::Malformed { why: "expected a path that starts with one /".to_owned() };
        if !path.starts_with('/') || path.contains('#') {
            return Err(why());
        }
        let url = self.url.join(path).map_err(|_| why())?;
        if url.origin() == self.url.origin() { Ok(Self { url }) } else { Err(why()) }
    }

    /// The URL as it is called.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }
}

/// Without path and query: secrets ride there, and debug output ends in logs.
impl fmt::Debug for OperatorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorUrl({}://{}/…)", self.url.scheme(), self.url.authority())
    }
}

/// Calls the operator's own services. Cheap to clone.
#[derive(Clone)]
pub struct Operator {
    pub(super) client: Client,
}

impl Operator {
    /// Gets a document, within `deadline` from resolving to the last byte, of at most `cap_bytes`
    /// after decoding.
    pub async fn get(
        &self,
        url: &OperatorUrl,
        headers: &[(&'static str, String)],
        deadline: Duration,
        cap_bytes: usize,
    ) -> Exchange {
        self.call(Method::GET, url, headers, None, deadline, cap_bytes).run().await
    }

    /// Posts a body and reads the reply, with the same limits as [`get`](Self::get).
    pub async fn post(
        &self,
        url: &OperatorUrl,
        headers: &[(&'static str, String)],
        body: impl Into<Bytes>,
        deadline: Duration,
        cap_bytes: usize,
    ) -> Exchange {
        self.call(Method::POST, url, headers, Some(body.into()), deadline, cap_bytes).run().await
    }

    fn call<'a>(
        &'a self,
        method: Method,
        url: &'a OperatorUrl,
        headers: &'a [(&'static str, String)],
        body: Option<Bytes>,
        deadline: Duration,
        cap_bytes: usize,
    ) -> Call<'a> {
        // Never twice: what these services are told need not bear it.
        let (client, fresh, guard, url) = (&self.client, None, None, &url.url);
        Call { client, fresh, guard, method, url, headers, body, deadline, cap_bytes }
    }
}
