//! The headers of a frame, as far as a switch looks at them, and CE.

use etherparse::{LaxLinkExtSlice, LaxNetSlice, LaxSlicedPacket, LinkSlice, TransportSlice};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::net::Ipv4Addr;

/// Bytes of an Ethernet header without tags.
pub(crate) const ETHERNET: usize = 14;

/// A link-layer address.
pub(crate) type Mac = [u8; 6];

/// What a switch reads of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub source: Mac,
    pub destination: Mac,
    /// The destination of an IPv4 packet.
    pub address: Option<Ipv4Addr>,
    /// Where the IP header begins, and its traffic class: DSCP and ECN.
    ip: Option<Ip>,
    /// 802.1p priority of the outer VLAN tag.
    pub vlan_priority: Option<u8>,
    /// Bytes of the IP packet; of another protocol, of the Ethernet payload.
    pub packet_bytes: u16,
    /// A hash of protocol, addresses and ports; of the addresses alone in fragments and other protocols.
    pub flow: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ip {
    at: u16,
    traffic_class: u8,
}

impl Headers {
    /// Reads an Ethernet frame; `None` if it is too short for its header. What contradicts itself after that is passed
    /// on as an unknown protocol is.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let sliced = LaxSlicedPacket::from_ethernet(frame).ok()?;
        let Some(LinkSlice::Ethernet2(ethernet)) = &sliced.link else {
            return None;
        };
        let mut at = ETHERNET;
        let mut vlan_priority = None;
        for extension in &sliced.link_exts {
            if let LaxLinkExtSlice::Vlan(tag) = extension
                && vlan_priority.is_none()
            {
                vlan_priority = Some(tag.priority_code_point().value());
            }
            at += extension.header_len();
        }
        let payload = frame.len().saturating_sub(at);
        let mut headers = Self {
            source: ethernet.source(),
            destination: ethernet.destination(),
            address: None,
            ip: None,
            vlan_priority,
            packet_bytes: payload.min(usize::from(u16::MAX)) as u16,
            flow: 0,
        };
        let mut hasher = FxHasher::default();
        let length;
        match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                headers.address = Some(header.destination_addr());
                headers.ip = Ip::of(at, header.dcp().value(), header.ecn().value());
                length = usize::from(header.total_len());
                (header.source(), header.destination(), header.protocol().0).hash(&mut hasher);
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                headers.ip = Ip::of(at, header.dscp().value(), header.ecn().value());
                length = usize::from(header.payload_length()) + 40;
                let payload = ip.payload().ip_number.0;
                (header.source(), header.destination(), payload).hash(&mut hasher);
            }
            _ => {
                length = payload;
                (headers.source, headers.destination).hash(&mut hasher);
            }
        }
        // A packet may be padded; it cannot be longer than its frame.
        if (20..=payload).contains(&length) {
            headers.packet_bytes = length.min(usize::from(u16::MAX)) as u16;
        }
        match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                (tcp.source_port(), tcp.destination_port()).hash(&mut hasher);
            }
            Some(TransportSlice::Udp(udp)) => {
                (udp.source_port(), udp.destination_port()).hash(&mut hasher);
            }
            _ => {}
        }
        let hash = hasher.finish();
        headers.flow = (hash ^ (hash >> 32)) as u32;
        Some(headers)
    }

    /// The differentiated-services code point; 0 without IP.
    pub fn dscp(&self) -> u8 {
        self.ip.map_or(0, |ip| ip.traffic_class >> 2)
    }

    /// Whether a queue may mark it instead of dropping it (ECT or CE, RFC 3168 §5).
    pub fn is_ecn_capable(&self) -> bool {
        self.ip.is_some_and(|ip| ip.traffic_class & 3 != 0)
    }

    /// Whether it is for more than one host.
    pub fn is_for_many(&self) -> bool {
        self.destination[0] & 1 != 0
    }
}

impl Ip {
    fn of(at: usize, dscp: u8, ecn: u8) -> Option<Self> {
        let at = u16::try_from(at).ok()?;
        Some(Self {
            at,
            traffic_class: dscp << 2 | ecn,
        })
    }
}

/// Sets CE in the IP header of a frame; an IPv4 header's checksum follows.
pub(crate) fn set_ce(frame: &mut [u8]) {
    let Some(Headers { ip: Some(ip), .. }) = Headers::read(frame) else {
        return;
    };
    let at = usize::from(ip.at);
    if frame[at] >> 4 == 6 {
        frame[at + 1] |= 3 << 4;
        return;
    }
    let word = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let before = word(frame, at);
    frame[at + 1] |= 3;
    let after = word(frame, at);
    // RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
    let sum = u32::from(!word(frame, at + 10)) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    frame[at + 10..at + 12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// Puts a VLAN tag (protocol and control information) behind the addresses of a frame, where the kernel took it out.
pub(crate) fn tag(frame: &mut Vec<u8>, [protocol, control]: [u16; 2]) {
    let at = 2 * size_of::<Mac>();
    if frame.len() >= at {
        let [a, b] = protocol.to_be_bytes();
        let [c, d] = control.to_be_bytes();
        frame.splice(at..at, [a, b, c, d]);
    }
}

/// Completes the checksum of a TCP or UDP packet whose sender left it to its NIC: in its place is the sum of the pseudo
/// header (RFC 9293 §3.1). False: there is none to complete.
pub(crate) fn complete_checksum(frame: &mut [u8]) -> bool {
    let Some((at, checksum)) = checksum(frame) else {
        return false;
    };
    frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Where a TCP or UDP checksum is, and what it must be.
fn checksum(frame: &[u8]) -> Option<(usize, u16)> {
    let sliced = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let (segment, place, none) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => (tcp.slice(), 16, 0),
        // Zero would say that there is none (RFC 768).
        Some(TransportSlice::Udp(udp)) => (udp.slice(), 6, u16::MAX),
        _ => return None,
    };
    let (pairs, last) = segment.as_chunks::<2>();
    let words = pairs
        .iter()
        .map(|pair| u64::from(u16::from_be_bytes(*pair)));
    let odd = last.first().map_or(0, |&byte| u64::from(byte) << 8);
    let mut sum = words.sum::<u64>() + odd;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = !(sum as u16);
    let at = segment.as_ptr().addr() - frame.as_ptr().addr() + place;
    Some((at, if checksum == 0 { none } else { checksum }))
}
