//! The door for URLs that somebody outside gave us: endpoints, avatars, client metadata, webhooks.
//! Every host is judged before every request.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use reqwest::{Client, ClientBuilder, Method};

use super::EgressError;
use super::client::IDLE_CONNECTIONS_PER_LINE;
use super::exchange::{Call, Exchange};
use super::refusal::UrlRefusal;
use super::resolver::{Guard, Undialled};
use super::url::EndpointUrl;

/// How long a check at registration waits for the DNS.
pub const CHECK_WAIT: Duration = Duration::from_secs(5);

/// Calls endpoints. Cheap to clone.
#[derive(Clone)]
pub struct Untrusted {
    pub(super) client: Client,
    /// The same, but for keeping connections.
    pub(super) fresh: Client,
    pub(super) guard: Arc<Guard>,
    /// Judges what is only to be registered: its lookups hold up no request.
    pub(super) checks: Arc<Guard>,
    /// Makes another client like `client`.
    pub(super) own: Arc<dyn Fn() -> ClientBuilder + Send + Sync>,
}

impl Untrusted {
    /// The same door with kept connections of its own, which no request through another one meets: for one
    /// endpoint. What an agent leaves behind on a connection is then read by nobody else.
    ///
    /// # Errors
    /// [`EgressError::Client`].
    pub fn line(&self) -> Result<Self, EgressError> {
        let client = (self.own)().pool_max_idle_per_host(IDLE_CONNECTIONS_PER_LINE).build()?;
        Ok(Self { client, ..self.clone() })
    }

    /// Resolves the host and judges all its addresses, for registration. No connection is made, and
    /// at most [`CHECK_WAIT`] is waited for. AA-050, LX-030.
    ///
    /// # Errors
    /// The [`UrlRefusal`], also where the name can't be looked up or has no address.
    pub async fn check(&self, url: &EndpointUrl) -> Result<(), UrlRefusal> {
        let host = || url.url().host_str().unwrap_or_default().to_owned();
        match tokio::time::timeout(CHECK_WAIT, self.checks.dialled(url.url(), None)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(Undialled::Refused(refusal))) => Err(refusal),
            Ok(Err(Undialled::Lookup(error))) => {
                Err(UrlRefusal::Lookup { host: host(), why: error.to_string() })
            }
            Err(_elapsed) => {
                let why = format!("no answer within {} s", CHECK_WAIT.as_secs());
                Err(UrlRefusal::Lookup { host: host(), why })
            }
        }
    }

    /// Posts a body and reads the reply. The headers are sent as given, with `host`,
    /// `content-length`, `accept: */*` and `accept-encoding: identity` besides.
    ///
    /// `deadline` covers everything from resolving to the last byte of the body; `cap_bytes` counts
    /// the body after decoding. The request is sent once, but for one that meets the end of a kept
    /// connection before a reply's head was whole: that one goes out again, byte for byte, on a fresh
    /// connection. So what is posted here must bear to arrive twice. AA-032, AA-034, AA-039, AA-051,
    /// AA-052.
    pub async fn post(
        &self,
        url: &EndpointUrl,
        headers: &[(&'static str, String)],
        body: impl Into<Bytes>,
        deadline: Duration,
        cap_bytes: usize,
    ) -> Exchange {
        self.call(Method::POST, url, headers, Some(body.into()), deadline, cap_bytes).run().await
    }

    /// Gets a document: an avatar, a client's metadata. Otherwise as [`post`](Self::post).
    pub async fn get(
        &self,
        url: &EndpointUrl,
        headers: &[(&'static str, String)],
        deadline: Duration,
        cap_bytes: usize,
    ) -> Exchange {
        self.call(Method::GET, url, headers, None, deadline, cap_bytes).run().await
    }

    fn call<'a>(
        &'a self,
        method: Method,
        url: &'a EndpointUrl,
        headers: &'a [(&'static str, String)],
        body: Option<Bytes>,
        deadline: Duration,
        cap_bytes: usize,
    ) -> Call<'a> {
        let (client, fresh, guard) = (&self.client, Some(&self.fresh), Some(&*self.guard));
        let url = url.url();
        Call { client, fresh, guard, method, url, headers, body, deadline, cap_bytes }
    }
}
