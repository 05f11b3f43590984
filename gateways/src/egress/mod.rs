//! The only place that opens connections out. It has two doors: [`Untrusted`] for URLs that somebody
//! outside gave us, [`Operator`] for URLs from the settings.
//!
//! Here belong: which URLs and addresses may be called, the HTTP clients, deadlines and caps, and the
//! names of what can break. Never here: what a request or a reply means, retries of what was answered
//! badly, queues, slots.
//!
//! Invariants:
//! - The untrusted door dials no address that was not checked for the very request that dials it, and
//!   sends nothing over a kept connection before its host was checked again.
//! - No redirect is followed, no proxy is asked, no cookie kept.
//! - No request is sent twice, but for this: one of the untrusted door that went out on a kept
//!   connection, which was closed or reset before a reply's head was whole, is sent once more, the very
//!   same bytes, on a connection that was dialled for it, after its host was checked again, under the
//!   same deadline. The agent did nothing wrong: it may close after a reply that was good, and we had not
//!   noticed yet, so a strike for "connection reset" (AA-032) would be one that no reply earned. It can
//!   happen that the agent had taken the first one and that it sees both: it is asked to be idempotent
//!   for a match and move (AA-039), and the nonce is the same, so that either answer would do. The first
//!   one's connection has ended before the second is sent (AA-053). What fails on a connection that was
//!   dialled for it is not sent again, and neither is anything of the operator's door, where nobody
//!   promised that it may arrive twice.
//! - Two ends are not told apart, as the HTTP client doesn't: that of a connection on which nothing came,
//!   and that of one on which a reply's head had begun. After a status nothing is sent again.
//! - No more of a body is held than the caller's cap; nothing waits longer than the caller's deadline.
//! - The doors share no connection.

mod address;
mod client;
mod exchange;
mod interfaces;
mod kept;
mod operator;
mod refusal;
mod resolver;
#[cfg(test)]
mod tests;
mod untrusted;
mod url;

use std::io;
use std::sync::Arc;

pub use address::{AddressKind, forbidden};
pub use client::{CONNECTION_IDLE_MAX, IDLE_CONNECTIONS_PER_HOST_MAX, IDLE_CONNECTIONS_PER_LINE};
pub use exchange::{Exchange, Fault, Outcome};
pub use operator::{Operator, OperatorUrl};
pub use refusal::UrlRefusal;
pub use resolver::{Resolve, Slot, SystemResolver};
pub use untrusted::{CHECK_WAIT, Untrusted};
pub use url::{EndpointUrl, URL_BYTES_MAX, UrlPolicy};

use interfaces::OwnAddresses;
use kept::NotingDials;
use resolver::{CHECKS_MAX, Guard, LOOKUPS_MAX, Pinned, Unchecked};

/// What the way out depends on.
#[derive(Default)]
pub struct EgressOptions {
    /// Endpoints may also be `http` and loopback.
    pub dev: bool,
    /// Certificates to trust besides the public roots, each one DER certificate or a PEM file.
    pub extra_roots: Vec<Vec<u8>>,
    /// Another resolver than the system's.
    pub resolver: Option<Arc<dyn Resolve>>,
}

/// Why there is no way out.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// One of the extra roots is not a certificate.
    #[error("extra root {index} is not a certificate ({why}); expected one in DER or a PEM file")]
    Root {
        /// Its place in the list, from 0.
        index: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The TLS library does not take its own defaults.
    #[error("TLS could not be set up ({0}); the build lacks a protocol version or cipher")]
    Tls(#[from] rustls::Error),
    /// The HTTP client could not be built.
    #[error("the HTTP client could not be built: {0}")]
    Client(#[from] reqwest::Error),
    /// The machine's interfaces could not be listed, and without them its own addresses are unknown.
    #[error("this machine's network interfaces could not be listed: {0}")]
    Interfaces(#[source] io::Error),
}

/// Both doors, with their connections. Cheap to clone; one for the process.
#[derive(Clone)]
pub struct Egress {
    untrusted: Untrusted,
    operator: Operator,
    policy: UrlPolicy,
}

impl Egress {
    /// Sets up both clients. Nothing is dialled.
    ///
    /// # Errors
    /// An [`EgressError`]: extra roots that are none, or a machine that can't be asked for its interfaces.
    pub fn new(options: EgressOptions) -> Result<Self, EgressError> {
        let EgressOptions { dev, extra_roots, resolver } = options;
        let policy = UrlPolicy::of(dev);
        let addresses = Arc::new(OwnAddresses::new().map_err(EgressError::Interfaces)?);
        let tls = client::tls(&extra_roots)?;
        let resolver = resolver.unwrap_or_else(|| Arc::new(SystemResolver));
        // Each has its own places among the lookups, so that silent names of strangers hold up none of ours, nor
        // registrations those who play.
        let guard = |lookups_max| {
            Arc::new(Guard::new(policy, Arc::clone(&addresses), Arc::clone(&resolver), lookups_max))
        };
        let (requests, checks, ours) = (guard(LOOKUPS_MAX), guard(CHECKS_MAX), guard(LOOKUPS_MAX));
        let https_only = policy == UrlPolicy::Public;
        let strangers = {
            let (tls, requests) = (tls.clone(), Arc::clone(&requests));
            move || {
                client::builder(tls.clone())
                    .https_only(https_only)
                    .dns_resolver(Pinned(Arc::clone(&requests)))
                    .connector_layer(NotingDials)
            }
        };
        let untrusted = strangers().build()?;
        let fresh = strangers().pool_max_idle_per_host(0).build()?;
        let operator = client::builder(tls).dns_resolver(Unchecked(ours)).build()?;
        let own = Arc::new(strangers);
        Ok(Self {
            untrusted: Untrusted { client: untrusted, fresh, guard: requests, checks, own },
            operator: Operator { client: operator },
            policy,
        })
    }

    /// The door for URLs from outside.
    pub fn untrusted(&self) -> &Untrusted {
        &self.untrusted
    }

    /// The door for URLs from the settings.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// What an endpoint's URL may be here, for [`EndpointUrl::parse`].
    pub fn policy(&self) -> UrlPolicy {
        self.policy
    }
}
