//! The addresses of this machine's own interfaces: a public one may lead past the firewall to a
//! port that was never meant for the world.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use super::address::embedded;

/// How long a list of interfaces is believed. They seldom change, and asking the system for each
/// request would cost more than the rest of the check.
const INTERFACES_AGE_MAX: Duration = Duration::from_secs(10);

/// The list, asked for again when it is old.
#[derive(Debug)]
pub(super) struct OwnAddresses {
    listed: RwLock<Listed>,
}

#[derive(Debug)]
struct Listed {
    at: Instant,
    addresses: Arc<[IpAddr]>,
}

impl OwnAddresses {
    /// # Errors
    /// Where the system does not tell its interfaces.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { listed: RwLock::new(Listed { at: Instant::now(), addresses: list()? }) })
    }

    /// A machine with these, for tests.
    #[cfg(test)]
    pub(super) fn of(addresses: &[IpAddr]) -> Self {
        Self { listed: RwLock::new(Listed { at: Instant::now(), addresses: addresses.into() }) }
    }

    /// Is it one of ours, plain or carried in a form of IPv6?
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let carried = match address {
            IpAddr::V6(v6) => embedded(v6).map(IpAddr::V4),
            IpAddr::V4(_) => None,
        };
        self.current().iter().any(|own| *own == address || Some(*own) == carried)
    }

    fn current(&self) -> Arc<[IpAddr]> {
        const UNPOISONED: &str = "nothing panics while the list is locked";
        {
            let listed = self.listed.read().expect(UNPOISONED);
            if listed.at.elapsed() < INTERFACES_AGE_MAX {
                return Arc::clone(&listed.addresses);
            }
        }
        let fresh = list();
        let mut listed = self.listed.write().expect(UNPOISONED);
        listed.at = Instant::now();
        match fresh {
            Ok(addresses) => listed.addresses = addresses,
            Err(error) => tracing::warn!(%error, "interfaces could not be listed; the last list stands"),
        }
        Arc::clone(&listed.addresses)
    }
}

fn list() -> io::Result<Arc<[IpAddr]>> {
    // Loopback is judged by its range, and by the policy.
    let addresses = if_addrs::get_if_addrs()?.into_iter().map(|interface| interface.ip());
    Ok(addresses.filter(|address| !address.is_loopback()).collect())
}
