//! How much one client adds, and how many receives it keeps waiting (agentwire, *Limits*). A client is known by its address; one
//! whose receives the access service vouches an account for, by that account. What is counted is this process's own: over several
//! gateways each has its own count.

use super::{Relay, failure::Failure};
use crate::settings::{Network, Settings};
use arena_schema::id::SessionId;
use axum::http::HeaderMap;
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// How many receives and reads one client keeps waiting.
const WAITING_MAX: usize = 4_096;
/// How many clients there may be before those that have nothing any more are forgotten.
const CLIENTS_MAX: usize = 65_536;
/// Before a client at its limit comes again, in seconds.
const RETRY_AFTER_S: u32 = 60;
/// Behind this many leading bits a network's own IPv6 addresses count as one client.
const IPV6_CLIENT_BITS: u32 = 64;
/// The header in which a proxy says whom it asks for.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Whose request it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// Whoever is at this address; where it is unknown all are one.
    Address(Option<IpAddr>),
    /// Whoever the access service vouches this account for.
    Account(Arc<str>),
}

impl Client {
    /// By the other end of the connection, or where that is a proxy that is trusted by the last address that none of ours wrote.
    pub(super) fn of(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[Network]) -> Self {
        let is_ours = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
        let lines = headers.get_all(FORWARDED_FOR);
        let told: Vec<&str> =
            lines.iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).collect();
        let mut client = peer;
        for one in told.iter().rev() {
            if !client.is_some_and(is_ours) {
                break;
            }
            let Ok(before) = one.trim().parse() else { break };
            client = Some(before);
        }
        Self::Address(client.map(whole))
    }
}

/// The address that stands for all that one client has.
fn whole(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> IPV6_CLIENT_BITS << IPV6_CLIENT_BITS))
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// What is counted.
pub(super) struct Limits {
    sessions_max: Option<u64>,
    waiting_max: Option<usize>,
    pub(super) trusted: Vec<Network>,
    sessions: Mutex<HashMap<Client, Vec<Session>>>,
    waiting: Arc<Mutex<HashMap<Client, usize>>>,
}

struct Session {
    id: SessionId,
    /// Whether it came to be; until then it counts.
    created: Arc<AtomicBool>,
}

/// A session that is being created.
pub(super) struct Creating(Arc<AtomicBool>);

impl Drop for Creating {
    fn drop(&mut self) {
        // Whether it came to be the state says from here on.
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A receive that waits, until it is dropped.
pub(super) struct Waits {
    client: Client,
    waiting: Arc<Mutex<HashMap<Client, usize>>>,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let mut waiting = locked(&self.waiting);
        if let Some(count) = waiting.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.client);
            }
        }
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn full(what: &str) -> Failure {
    Failure::busy_for(format!("one client has at most so many {what} at a time"), RETRY_AFTER_S)
}

impl Limits {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            sessions_max: settings.agentwire.sessions_per_client_max,
            // Limits per client are off for trying.
            waiting_max: (!settings.dev).then_some(WAITING_MAX),
            trusted: settings.trusted_proxies.clone(),
            sessions: Mutex::default(),
            waiting: Arc::default(),
        }
    }

    /// One client creates one more.
    ///
    /// # Errors
    /// 503 where it has as many as it may.
    fn create(
        &self,
        client: &Client,
        id: SessionId,
        is_open: impl Fn(SessionId) -> bool,
    ) -> Result<Option<Creating>, Failure> {
        let Some(most) = self.sessions_max else { return Ok(None) };
        let mut sessions = locked(&self.sessions);
        let counts = |session: &Session| !session.created.load(Ordering::SeqCst) || is_open(session.id);
        if sessions.len() >= CLIENTS_MAX {
            sessions.retain(|_, own| {
                own.retain(counts);
                !own.is_empty()
            });
        }
        let own = sessions.entry(client.clone()).or_default();
        own.retain(counts);
        if own.len() as u64 >= most {
            return Err(full("sessions"));
        }
        let created = Arc::new(AtomicBool::new(false));
        own.push(Session { id, created: Arc::clone(&created) });
        Ok(Some(Creating(created)))
    }

    /// A receive of a client begins to wait.
    ///
    /// # Errors
    /// 503 where as many of it wait as may.
    pub(super) fn wait(&self, client: &Client) -> Result<Waits, Failure> {
        let mut waiting = locked(&self.waiting);
        let count = waiting.entry(client.clone()).or_default();
        if self.waiting_max.is_some_and(|most| *count >= most) {
            return Err(full("receives waiting"));
        }
        *count += 1;
        Ok(Waits { client: client.clone(), waiting: Arc::clone(&self.waiting) })
    }
}

impl Relay {
    /// A client creates a session.
    ///
    /// # Errors
    /// 503 where it has as many as it may.
    pub(super) fn may_create(&self, client: &Client, id: SessionId) -> Result<Option<Creating>, Failure> {
        self.limits.create(client, id, |id| {
            let part = self.parts.get(id.partition());
            part.is_some_and(|part| part.handle.state().sessions().by_id(&id).is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn limits(sessions: u64) -> Limits {
        let mut settings = Settings::default();
        settings.agentwire.sessions_per_client_max = Some(sessions);
        Limits::new(&settings)
    }

    #[test]
    fn a_client_has_so_many_sessions_at_a_time_and_no_more() {
        let limits = limits(2);
        let client = Client::Address(Some(IpAddr::from([10, 0, 0, 1])));
        let id = |n: u8| SessionId([n; 16]);
        let first = limits.create(&client, id(1), |_| false).unwrap();
        drop(limits.create(&client, id(2), |_| false).unwrap());
        // The first is on its way yet, the second was refused.
        drop(limits.create(&client, id(3), |_| false).unwrap());
        assert!(limits.create(&client, id(4), |id| id.0[0] == 3).is_err());
        assert!(limits.create(&Client::Address(None), id(4), |_| true).is_ok(), "another client");
        drop(first);
        assert!(limits.create(&client, id(4), |id| id.0[0] == 3).is_ok(), "the first did not come to be");
    }

    #[test]
    fn so_many_receives_of_a_client_wait_and_each_gives_its_place_back() {
        let limits = limits(1);
        let client = Client::Account("luis".into());
        let mut waits: Vec<_> = (0..WAITING_MAX).map(|_| limits.wait(&client).unwrap()).collect();
        assert!(limits.wait(&client).is_err());
        assert!(limits.wait(&Client::Account("ada".into())).is_ok());
        waits.pop();
        assert!(limits.wait(&client).is_ok());
        drop(waits);
        assert!(locked(&limits.waiting).is_empty());
    }

    #[test]
    fn a_proxys_word_counts_where_it_is_trusted_alone() {
        let variables = [("ARENA_TRUSTED_PROXIES", "10.0.0.0/8")];
        let trusted = Settings::load(None, variables, &[]).unwrap().trusted_proxies;
        let of = |peer: &str, told: &'static str| {
            let headers =
                HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), HeaderValue::from_static(told))]);
            Client::of(Some(peer.parse().unwrap()), &headers, &trusted)
        };
        let is = |address: &str| Client::Address(Some(address.parse().unwrap()));
        assert_eq!(of("192.0.2.1", "198.51.100.7"), is("192.0.2.1"));
        assert_eq!(of("10.0.0.1", "198.51.100.7"), is("198.51.100.7"));
        assert_eq!(
            of("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.2.3.4"),
            is("198.51.100.7"),
            "what was there before is nobody's word"
        );
        assert_eq!(of("10.0.0.1", "nonsense"), is("10.0.0.1"));
        assert_eq!(of("2001:db8::1:2:3:4", ""), is("2001:db8::"));
    }
}
