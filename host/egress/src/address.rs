//! Classifies IP addresses. IPv6 addresses that carry an IPv4 address are judged by the latter. Addresses
//! that are not known to be public or private are reserved. Plain data, no I/O.
//!
//! Sources: the special-purpose registries of IANA (RFC 6890), the allocated IPv6 space (2000::/3), and the
//! addresses of the clouds' metadata services.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Public,
    /// RFC 1918, shared address space (RFC 6598), unique local IPv6.
    Private,
    Loopback,
    LinkLocal,
    /// A cloud's service that hands out credentials.
    Metadata,
    Unspecified,
    Multicast,
    Broadcast,
    Reserved,
}

impl Kind {
    pub fn of(address: IpAddr) -> Kind {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether it may be reached without a rule.
    pub fn is_open(self) -> bool {
        matches!(self, Kind::Public | Kind::Private)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Kind::Public => "a public address",
            Kind::Private => "a private address",
            Kind::Loopback => "a loopback address",
            Kind::LinkLocal => "a link-local address",
            Kind::Metadata => "a cloud's metadata address",
            Kind::Unspecified => "an unspecified address",
            Kind::Multicast => "a multicast address",
            Kind::Broadcast => "a broadcast address",
            Kind::Reserved => "a reserved address",
        })
    }
}

/// AWS, Google, Azure and others; AWS tasks; Azure's host; Alibaba; Oracle.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// AWS; AWS pods; Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

fn of_v4(address: Ipv4Addr) -> Kind {
    if METADATA_V4.contains(&address) {
        return Kind::Metadata;
    }
    match address.octets() {
        [0, ..] => Kind::Unspecified,
        [127, ..] => Kind::Loopback,
        [169, 254, ..] => Kind::LinkLocal,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => Kind::Private,
        // Protocol assignments; documentation, three times; the old 6to4 relays; benchmarks.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Kind::Reserved,
        [192, 88, 99, _] | [198, 18 | 19, ..] => Kind::Reserved,
        [224..=239, ..] => Kind::Multicast,
        [255, 255, 255, 255] => Kind::Broadcast,
        [240..=255, ..] => Kind::Reserved,
        _ => Kind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Kind {
    if METADATA_V6.contains(&address) {
        return Kind::Metadata;
    }
    if let Some(carried) = carried(address) {
        return of_v4(carried);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xfc00..=0xfdff, ..] => Kind::Private,
        [0xff00..=0xffff, ..] => Kind::Multicast,
        // Protocol assignments, Teredo among them; documentation, twice.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Reserved,
    }
}

/// The embedded IPv4 address: mapped, NAT64 (RFC 6052) and 6to4 (RFC 3056).
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => (high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (high, low),
        [0x2002, high, low, ..] => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(expected: Kind, addresses: &[&str]) {
        for text in addresses {
            assert_eq!(Kind::of(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn public_and_private_addresses_are_open() {
        kinds(Kind::Public, &["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "192.0.1.1"]);
        kinds(Kind::Public, &["2606:4700::1111", "2001:200::1", "3ffe::1", "::ffff:1.1.1.1"]);
        kinds(Kind::Private, &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"]);
        kinds(Kind::Private, &["fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"]);
        assert!(Kind::Public.is_open() && Kind::Private.is_open());
    }

    #[test]
    fn everything_else_is_not() {
        kinds(Kind::Loopback, &["127.0.0.1", "127.255.255.254", "::1"]);
        kinds(Kind::LinkLocal, &["169.254.0.1", "fe80::1", "febf::1"]);
        kinds(Kind::Unspecified, &["0.0.0.0", "0.1.2.3", "::"]);
        kinds(Kind::Multicast, &["224.0.0.1", "239.255.255.255", "ff02::1"]);
        kinds(Kind::Broadcast, &["255.255.255.255"]);
        kinds(Kind::Reserved, &["240.0.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255"]);
        kinds(Kind::Reserved, &["198.51.100.1", "203.0.113.1", "192.88.99.1"]);
        kinds(Kind::Reserved, &["2001:db8::1", "2001::1", "2001:20::1", "3fff::1", "100::1", "fec0::1"]);
        kinds(Kind::Reserved, &["::7f00:1", "64:ff9b:1::7f00:1", "4000::1", "5f00::1"]);
    }

    #[test]
    fn metadata_services_are_known() {
        kinds(Kind::Metadata, &["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "168.63.129.16"]);
    }

    #[test]
    fn what_an_ipv6_form_carries_is_judged() {
        kinds(Kind::Loopback, &["::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"]);
        kinds(Kind::Metadata, &["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"]);
        kinds(Kind::Unspecified, &["::ffff:0.0.0.0"]);
    }
}
