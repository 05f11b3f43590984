//! From names to addresses that may be dialled. A name is asked for at every request; one forbidden
//! answer refuses it whole; and what was checked is what the HTTP client dials, as it asks no other
//! resolver. AA-050, AA-051.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolving};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::{Host, Url};

use super::address::AddressKind;
use super::interfaces::OwnAddresses;
use super::refusal::UrlRefusal;
use super::url::{UrlPolicy, judge};

/// How many lookups for requests may be open at the system at once. It has no timeout that we could
/// set, so a name whose servers are silent holds one for as long as the system likes. The wait for a
/// place among them is our queue's, and counts against nobody (AA-054).
pub(super) const LOOKUPS_MAX: usize = 256;
/// The same for registrations, which anybody may ask for: they hold up no request.
pub(super) const CHECKS_MAX: usize = 32;

/// Turns names into addresses. Tests bring their own.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of the name, of both families, in the order to try them.
    ///
    /// The error is the resolver's: an unknown name, or no answer from its servers.
    ///
    /// `slot` is the lookup's place among those that may be open, to be given back when nothing is
    /// done for it any more.
    fn resolve<'a>(&'a self, host: &'a str, slot: Slot) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// A place among the lookups that may be open at once; given back when it is dropped.
#[derive(Debug)]
pub struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// The system's resolver, with its hosts file.
#[derive(Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, slot: Slot) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let host = host.to_owned();
            // Not tokio's lookup_host: the slot must be held until the thread is free again, also
            // when nobody waits for the answer any more.
            let lookup = move || {
                let _slot = slot;
                (host.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(lookup).await.map_err(io::Error::other)?
        })
    }
}

/// Why a host may not, or can't, be dialled.
#[derive(Debug)]
pub(super) enum Undialled {
    Refused(UrlRefusal),
    Lookup(io::Error),
}

/// The judgement of hosts for the untrusted door.
pub(super) struct Guard {
    policy: UrlPolicy,
    own: Arc<OwnAddresses>,
    resolver: Arc<dyn Resolve>,
    slots: Arc<Semaphore>,
}

impl Guard {
    pub(super) fn new(
        policy: UrlPolicy,
        own: Arc<OwnAddresses>,
        resolver: Arc<dyn Resolve>,
        lookups_max: usize,
    ) -> Self {
        Self { policy, own, resolver, slots: Arc::new(Semaphore::new(lookups_max)) }
    }

    /// Waits for a lookup's place; none where the host is an address and nothing is looked up.
    pub(super) async fn slot(&self, url: &Url) -> Option<Slot> {
        match url.host() {
            Some(Host::Domain(_)) => Some(self.place().await),
            _ => None,
        }
    }

    async fn place(&self) -> Slot {
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        Slot { _permit: permit.expect("nobody closes the places") }
    }

    /// The addresses to dial for this URL: `None` where the host is an address itself, for which the
    /// HTTP client asks nobody.
    pub(super) async fn dialled(&self, url: &Url, slot: Option<Slot>) -> Result<Option<Dialled>, Undialled> {
        match (url.scheme(), self.policy) {
            ("https", _) | ("http", UrlPolicy::Dev) => {}
            // A URL that was registered while the arena ran with --dev.
            (scheme, _) => {
                let scheme = scheme.to_owned();
                return Err(Undialled::Refused(UrlRefusal::Scheme { scheme, expected: "https" }));
            }
        }
        let literal = match url.host() {
            Some(Host::Domain(name)) => {
                let slot = match slot {
                    Some(slot) => slot,
                    None => self.place().await,
                };
                let addresses = self.addresses(name, slot).await?;
                return Ok(Some(Dialled { host: name.to_owned(), addresses }));
            }
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            None => {
                let why = "there is no host".to_owned();
                return Err(Undialled::Refused(UrlRefusal::Malformed { why }));
            }
        };
        match self.judge(literal) {
            Some(kind) => Err(Undialled::Refused(UrlRefusal::Address {
                host: literal.to_string(),
                address: literal,
                kind,
            })),
            None => Ok(None),
        }
    }

    /// All addresses of a name, none of them forbidden, at least one.
    async fn addresses(&self, name: &str, slot: Slot) -> Result<Vec<IpAddr>, Undialled> {
        let addresses = self.resolver.resolve(name, slot).await.map_err(Undialled::Lookup)?;
        for &address in &addresses {
            if let Some(kind) = self.judge(address) {
                let host = name.to_owned();
                return Err(Undialled::Refused(UrlRefusal::Address { host, address, kind }));
            }
        }
        if addresses.is_empty() {
            return Err(Undialled::Refused(UrlRefusal::NoAddress { host: name.to_owned() }));
        }
        Ok(addresses)
    }

    fn judge(&self, address: IpAddr) -> Option<AddressKind> {
        judge(address, self.policy)
            .or_else(|| self.own.contains(address).then_some(AddressKind::OwnInterface))
    }
}

/// A name and its checked addresses, for one request.
#[derive(Debug, Clone)]
pub(super) struct Dialled {
    host: String,
    addresses: Vec<IpAddr>,
}

tokio::task_local! {
    /// What the request that this task is sending was checked for. Where a connection is needed, the
    /// client asks for the name within the request's own future, and finds the answer here.
    pub(super) static DIALLED: Dialled;
}

/// The HTTP client's resolver for the untrusted door.
pub(super) struct Pinned(pub(super) Arc<Guard>);

impl reqwest::dns::Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = DIALLED.try_with(|dialled| {
            dialled.host.eq_ignore_ascii_case(name.as_str()).then(|| dialled.addresses.clone())
        });
        if let Ok(Some(addresses)) = checked {
            return Box::pin(std::future::ready(Ok(dialable(addresses))));
        }
        // Asked from elsewhere than a request of ours: the name is resolved and checked here.
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let slot = guard.place().await;
            match guard.addresses(name.as_str(), slot).await {
                Ok(addresses) => Ok(dialable(addresses)),
                Err(Undialled::Refused(refusal)) => Err(refusal.into()),
                Err(Undialled::Lookup(error)) => Err(error.into()),
            }
        })
    }
}

/// The HTTP client's resolver for the operator's door: nothing is refused.
pub(super) struct Unchecked(pub(super) Arc<Guard>);

impl reqwest::dns::Resolve for Unchecked {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let slot = guard.place().await;
            Ok(dialable(guard.resolver.resolve(name.as_str(), slot).await?))
        })
    }
}

/// Port 0 stands for the URL's own.
fn dialable(addresses: Vec<IpAddr>) -> Addrs {
    Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)))
}
