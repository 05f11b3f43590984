//! Why a URL is refused: one enum for the door at registration and the check at each request.

use std::net::IpAddr;

use super::address::AddressKind;

/// Why a URL may not be called. Each says what was expected, what came and what to do.
///
/// No message shows the address that a name led to: it may be one of a network that the caller
/// can't see. The field has it, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// Longer than [`URL_BYTES_MAX`](super::URL_BYTES_MAX).
    #[error("the URL has {bytes} bytes, at most {max} are taken; register a shorter one")]
    TooLong {
        /// Bytes that came.
        bytes: usize,
        /// Bytes that are taken.
        max: usize,
    },
    /// Not a URL with a host.
    #[error("not a URL that can be called ({why}); write it as https://host/path")]
    Malformed {
        /// What is wrong with it.
        why: String,
    },
    /// Another scheme than is taken here.
    #[error("the URL's scheme is {scheme:?}, expected {expected}; serve the endpoint over {expected}")]
    Scheme {
        /// The scheme that came.
        scheme: String,
        /// The schemes that are taken.
        expected: &'static str,
    },
    /// `user:password@` before the host.
    #[error("the URL carries credentials before the host; leave them out")]
    Userinfo,
    /// `#…` at the end.
    #[error("the URL has a fragment, which no server ever sees; leave out everything from the #")]
    Fragment,
    /// An IPv4 address not written as four decimal numbers.
    #[error("the host {host:?} is an odd spelling of an IPv4 address; write it as {canonical}")]
    OddAddress {
        /// The host as it came.
        host: String,
        /// The same address, spelt plainly.
        canonical: String,
    },
    /// A dot at the end of the host.
    #[error("the host {host:?} ends in a dot; leave the dot out")]
    TrailingDot {
        /// The host as it came.
        host: String,
    },
    /// A name that means something only inside some network, or a cloud's metadata service.
    #[error("the host {host:?} is a local name; use one that the public DNS knows")]
    LocalName {
        /// The host.
        host: String,
    },
    /// The host is, or its name leads to, an address that is not dialled.
    #[error(
        "the host {host:?} leads to a {kind} address; only public addresses are called, all that its name has"
    )]
    Address {
        /// The host.
        host: String,
        /// The address. Not for the caller's eyes.
        address: IpAddr,
        /// What sort of address it is.
        kind: AddressKind,
    },
    /// The name has no address.
    #[error("the host {host:?} has no address; add an A or AAAA record for it")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// The name could not be looked up (only from a check: in an exchange this is a fault of transport).
    #[error("the host {host:?} could not be looked up ({why}); check the name, then try again")]
    Lookup {
        /// The host.
        host: String,
        /// What the resolver said.
        why: String,
    },
}
