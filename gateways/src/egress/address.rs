//! Which addresses an agent's endpoint must never have: a pure judgement of one address, without
//! names, sockets or settings. AA-050.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// `0.0.0.0/8` and `::`: "this host", which many systems take for loopback.
    Unspecified,
    /// `127.0.0.0/8` and `::1`.
    Loopback,
    /// `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`.
    Private,
    /// `100.64.0.0/10`, the carriers' shared space.
    Shared,
    /// `169.254.0.0/16` and `fe80::/10`.
    LinkLocal,
    /// An address where a cloud hands out its machines' credentials.
    Metadata,
    /// `198.18.0.0/15` and `2001:2::/48`.
    Benchmark,
    /// `192.0.2.0/24`, `198.51.100.0/24`, `203.0.113.0/24`, `2001:db8::/32`, `3fff::/20`.
    Documentation,
    /// `224.0.0.0/4` and `ff00::/8`.
    Multicast,
    /// `255.255.255.255`.
    Broadcast,
    /// What is set aside for protocols or not given to anyone: `192.0.0.0/24`, `240.0.0.0/4`,
    /// `2001::/23`, and all of IPv6 outside `2000::/3` that has no kind of its own here.
    Reserved,
    /// `fc00::/7`.
    UniqueLocal,
    /// `fec0::/10`.
    SiteLocal,
    /// `100::/64`, which swallows everything.
    Discard,
    /// A form that carries an IPv4 address we can't judge: `::/96`, `64:ff9b:1::/48`, Teredo,
    /// `192.88.99.0/24`. (Mapped, NAT64, 6to4 and ISATAP forms get the kind of what they carry.)
    Transition,
    /// An address of one of this machine's own interfaces.
    OwnInterface,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Shared => "carrier-shared",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud-metadata",
            Self::Benchmark => "benchmark",
            Self::Documentation => "documentation",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Reserved => "reserved",
            Self::UniqueLocal => "unique-local",
            Self::SiteLocal => "site-local",
            Self::Discard => "discard-only",
            Self::Transition => "transition",
            Self::OwnInterface => "arena's own",
        })
    }
}

/// Metadata services of the clouds. First in the judgement, so that the reason is told by its name:
/// most of these lie in ranges that are refused anyway, Azure's does not.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

/// Ranges of IPv4, the first that holds the address decides.
const RANGES_V4: [(Ipv4Addr, u32, AddressKind); 17] = [
    (Ipv4Addr::UNSPECIFIED, 8, AddressKind::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, AddressKind::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, AddressKind::Shared),
    (Ipv4Addr::new(127, 0, 0, 0), 8, AddressKind::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, AddressKind::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, AddressKind::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, AddressKind::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, AddressKind::Documentation),
    (Ipv4Addr::new(192, 88, 99, 0), 24, AddressKind::Transition),
    (Ipv4Addr::new(192, 168, 0, 0), 16, AddressKind::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, AddressKind::Benchmark),
    (Ipv4Addr::new(198, 51, 100, 0), 24, AddressKind::Documentation),
    (Ipv4Addr::new(203, 0, 113, 0), 24, AddressKind::Documentation),
    (Ipv4Addr::new(224, 0, 0, 0), 4, AddressKind::Multicast),
    (Ipv4Addr::BROADCAST, 32, AddressKind::Broadcast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, AddressKind::Reserved),
    (Ipv4Addr::new(233, 252, 0, 0), 24, AddressKind::Documentation),
];

/// Ranges of IPv6, the first that holds the address decides.
const RANGES_V6: [(Ipv6Addr, u32, AddressKind); 14] = [
    (Ipv6Addr::UNSPECIFIED, 128, AddressKind::Unspecified),
    (Ipv6Addr::LOCALHOST, 128, AddressKind::Loopback),
    (Ipv6Addr::UNSPECIFIED, 96, AddressKind::Transition),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, AddressKind::Transition),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, AddressKind::Discard),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, AddressKind::Transition),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, AddressKind::Benchmark),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, AddressKind::Reserved),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, AddressKind::Documentation),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, AddressKind::Documentation),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, AddressKind::UniqueLocal),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, AddressKind::LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, AddressKind::SiteLocal),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, AddressKind::Multicast),
];

/// Why this address may not be dialled for an agent, or `None` where it may.
///
/// Forms that carry an IPv4 address (mapped, NAT64's well-known prefix, 6to4, ISATAP) are judged by
/// what they carry. A NAT64 prefix that some network chose for itself can't be known here.
pub fn forbidden(address: IpAddr) -> Option<AddressKind> {
    match address {
        IpAddr::V4(v4) => forbidden_v4(v4),
        IpAddr::V6(v6) => forbidden_v6(v6),
    }
}

fn forbidden_v4(address: Ipv4Addr) -> Option<AddressKind> {
    if METADATA_V4.contains(&address) {
        return Some(AddressKind::Metadata);
    }
    let bits = u32::from(address);
    let holds = |base: Ipv4Addr, length: u32| (bits ^ u32::from(base)) >> (32 - length) == 0;
    RANGES_V4.iter().find(|(base, length, _)| holds(*base, *length)).map(|(_, _, kind)| *kind)
}

fn forbidden_v6(address: Ipv6Addr) -> Option<AddressKind> {
    if METADATA_V6.contains(&address) {
        return Some(AddressKind::Metadata);
    }
    if let Some(kind) = embedded(address).and_then(forbidden_v4) {
        return Some(kind);
    }
    let bits = u128::from(address);
    let holds = |base: Ipv6Addr, length: u32| (bits ^ u128::from(base)) >> (128 - length) == 0;
    if let Some((_, _, kind)) = RANGES_V6.iter().find(|(base, length, _)| holds(*base, *length)) {
        return Some(*kind);
    }
    // Global unicast is 2000::/3; the only forms outside it that lead anywhere are these two.
    let leads_somewhere = bits >> 125 == 0b001 || mapped(address) || nat64(address);
    if leads_somewhere { None } else { Some(AddressKind::Reserved) }
}

/// The IPv4 address that an IPv6 address carries, where its form has a place for one.
pub(super) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., _, _, _, _, ia, ib, ic, id, a, b, c, d] = address.octets();
    let last = Ipv4Addr::new(a, b, c, d);
    let isatap = matches!([ia, ib, ic, id], [0 | 2, 0, 0x5e, 0xfe]);
    if mapped(address) || nat64(address) || isatap {
        return Some(last);
    }
    let [first, second, ..] = address.octets();
    if [first, second] == [0x20, 0x02] {
        let [_, _, a, b, c, d, ..] = address.octets();
        return Some(Ipv4Addr::new(a, b, c, d));
    }
    None
}

fn mapped(address: Ipv6Addr) -> bool {
    address.to_ipv4_mapped().is_some()
}

fn nat64(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 0, 0, 0, 0, _, _])
}
