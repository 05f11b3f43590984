//! Every form of every forbidden address, and the edges of each range.

use AddressKind::{
    Benchmark, Broadcast, Discard, Documentation, LinkLocal, Loopback, Metadata, Multicast, Private,
    Reserved, Shared, SiteLocal, Transition, UniqueLocal, Unspecified,
};

use crate::egress::{AddressKind, forbidden};

#[track_caller]
fn check(table: &[(&str, Option<AddressKind>)]) {
    for (text, expected) in table {
        assert_eq!(forbidden(text.parse().unwrap()), *expected, "{text}");
    }
}

#[test]
fn ipv4_ranges_are_forbidden_from_edge_to_edge() {
    check(&[
        ("0.0.0.0", Some(Unspecified)),
        ("0.255.255.255", Some(Unspecified)),
        ("1.0.0.0", None),
        ("9.255.255.255", None),
        ("10.0.0.0", Some(Private)),
        ("10.255.255.255", Some(Private)),
        ("11.0.0.0", None),
        ("100.63.255.255", None),
        ("100.64.0.0", Some(Shared)),
        ("100.127.255.255", Some(Shared)),
        ("100.128.0.0", None),
        ("126.255.255.255", None),
        ("127.0.0.1", Some(Loopback)),
        ("127.255.255.255", Some(Loopback)),
        ("128.0.0.0", None),
        ("169.253.255.255", None),
        ("169.254.0.0", Some(LinkLocal)),
        ("169.254.255.255", Some(LinkLocal)),
        ("169.255.0.0", None),
        ("172.15.255.255", None),
        ("172.16.0.0", Some(Private)),
        ("172.31.255.255", Some(Private)),
        ("172.32.0.0", None),
        ("191.255.255.255", None),
        ("192.0.0.0", Some(Reserved)),
        ("192.0.0.255", Some(Reserved)),
        ("192.0.1.0", None),
        ("192.0.2.0", Some(Documentation)),
        ("192.0.2.255", Some(Documentation)),
        ("192.0.3.0", None),
        ("192.88.98.255", None),
        ("192.88.99.1", Some(Transition)),
        ("192.88.100.0", None),
        ("192.167.255.255", None),
        ("192.168.0.0", Some(Private)),
        ("192.168.255.255", Some(Private)),
        ("192.169.0.0", None),
        ("198.17.255.255", None),
        ("198.18.0.0", Some(Benchmark)),
        ("198.19.255.255", Some(Benchmark)),
        ("198.20.0.0", None),
        ("198.51.99.255", None),
        ("198.51.100.7", Some(Documentation)),
        ("198.51.101.0", None),
        ("203.0.112.255", None),
        ("203.0.113.7", Some(Documentation)),
        ("203.0.114.0", None),
        ("223.255.255.255", None),
        ("224.0.0.0", Some(Multicast)),
        ("239.255.255.255", Some(Multicast)),
        ("240.0.0.0", Some(Reserved)),
        ("255.255.255.254", Some(Reserved)),
        ("255.255.255.255", Some(Broadcast)),
        ("8.8.8.8", None),
        ("93.184.216.34", None),
    ]);
}

#[test]
fn ipv6_ranges_are_forbidden_from_edge_to_edge() {
    check(&[
        ("::", Some(Unspecified)),
        ("::1", Some(Loopback)),
        ("64:ff9b:1::", Some(Transition)),
        ("64:ff9b:1:ffff:ffff:ffff:808:808", Some(Transition)),
        ("64:ff9b:2::808:808", Some(Reserved)),
        ("100::", Some(Discard)),
        ("100::ffff:ffff:ffff:ffff", Some(Discard)),
        ("100:0:0:1::", Some(Reserved)),
        ("1fff:ffff::", Some(Reserved)),
        ("2000::1", None),
        ("2001::", Some(Transition)),
        ("2001:0:ffff:ffff:ffff:ffff:ffff:ffff", Some(Transition)),
        ("2001:2::1", Some(Benchmark)),
        ("2001:2:1::1", Some(Reserved)),
        ("2001:20::1", Some(Reserved)),
        ("2001:1ff:ffff::1", Some(Reserved)),
        ("2001:200::1", None),
        ("2001:db7:ffff::1", None),
        ("2001:db8::1", Some(Documentation)),
        ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Some(Documentation)),
        ("2001:db9::1", None),
        ("2606:4700:4700::1111", None),
        ("2a00:1450:4001:80b::200e", None),
        ("3ffe:ffff::1", None),
        ("3fff::1", Some(Documentation)),
        ("3fff:fff:ffff::1", Some(Documentation)),
        ("3fff:1000::1", None),
        ("4000::1", Some(Reserved)),
        ("5f00::1", Some(Reserved)),
        ("fbff::1", Some(Reserved)),
        ("fc00::1", Some(UniqueLocal)),
        ("fdff:ffff::1", Some(UniqueLocal)),
        ("fe00::1", Some(Reserved)),
        ("fe80::1", Some(LinkLocal)),
        ("febf:ffff::1", Some(LinkLocal)),
        ("fec0::1", Some(SiteLocal)),
        ("feff:ffff::1", Some(SiteLocal)),
        ("ff00::1", Some(Multicast)),
        ("ff02::1", Some(Multicast)),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Multicast)),
    ]);
}

#[test]
fn metadata_addresses_are_called_so() {
    check(&[
        ("169.254.169.254", Some(Metadata)),
        ("100.100.100.200", Some(Metadata)),
        ("168.63.129.16", Some(Metadata)),
        ("192.0.0.192", Some(Metadata)),
        ("fd00:ec2::254", Some(Metadata)),
        ("fd20:ce::254", Some(Metadata)),
        ("::ffff:169.254.169.254", Some(Metadata)),
        ("64:ff9b::169.254.169.254", Some(Metadata)),
        ("2002:a9fe:a9fe::1", Some(Metadata)),
    ]);
}

#[test]
fn what_carries_an_ipv4_address_is_judged_by_it_or_refused() {
    check(&[
        // Mapped.
        ("::ffff:127.0.0.1", Some(Loopback)),
        ("::ffff:10.1.2.3", Some(Private)),
        ("::ffff:0.0.0.0", Some(Unspecified)),
        ("::ffff:255.255.255.255", Some(Broadcast)),
        ("::ffff:8.8.8.8", None),
        // Compatible, and translated as SIIT does: never of use.
        ("::127.0.0.1", Some(Transition)),
        ("::8.8.8.8", Some(Transition)),
        ("::ffff:0:8.8.8.8", Some(Reserved)),
        // NAT64.
        ("64:ff9b::10.0.0.1", Some(Private)),
        ("64:ff9b::127.0.0.1", Some(Loopback)),
        ("64:ff9b::8.8.8.8", None),
        ("64:ff9b::1:808:808", Some(Reserved)),
        // 6to4.
        ("2002:a00:1::", Some(Private)),
        ("2002:7f00:1::1", Some(Loopback)),
        ("2002:c0a8:101:1::1", Some(Private)),
        ("2002:808:808::1", None),
        // ISATAP, under a public prefix and with either interface id.
        ("2606:4700::5efe:10.0.0.1", Some(Private)),
        ("2606:4700::200:5efe:127.0.0.1", Some(Loopback)),
        ("2606:4700::5efe:8.8.8.8", None),
        ("fe80::5efe:8.8.8.8", Some(LinkLocal)),
        // 6to4 outside, ISATAP inside.
        ("2002:808:808::5efe:10.0.0.1", Some(Private)),
    ]);
}
