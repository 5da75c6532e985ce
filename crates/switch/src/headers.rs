//! Parsing of frame headers and CE marking.

use duetime_proto::d3::wire;
use etherparse::{LaxLinkExtSlice, LaxNetSlice, LaxSlicedPacket, LinkSlice, TransportSlice};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::net::Ipv4Addr;

/// Bytes of an Ethernet header without tags.
pub(crate) const ETHERNET: usize = 14;

pub(crate) type Mac = [u8; 6];

/// Header fields that the switch uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub source: Mac,
    pub destination: Mac,
    /// Destination of an IPv4 packet.
    pub address: Option<Ipv4Addr>,
    /// Offset of the IP header, and its traffic class (DSCP and ECN).
    ip: Option<Ip>,
    /// 802.1p priority of the outer VLAN tag.
    pub vlan_priority: Option<u8>,
    /// Length of the IP packet, or of the Ethernet payload for other protocols.
    pub packet_bytes: u16,
    /// Hash of protocol, addresses and ports; in fragments and other protocols, of the addresses only.
    pub flow: u32,
    /// Offset of a D3 datagram with a request, after a UDP header with a correct length field; zero if there is none.
    pub request_at: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ip {
    at: u16,
    traffic_class: u8,
}

impl Headers {
    /// Parses an Ethernet frame. Returns `None` if it is shorter than an Ethernet header. Frames with inconsistent
    /// inner headers count as an unknown protocol.
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
            request_at: 0,
        };
        let mut hasher = FxHasher::default();
        let length;
        match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                headers.address = Some(header.destination_addr());
                headers.ip = Ip::new(at, header.dcp().value(), header.ecn().value());
                length = usize::from(header.total_len());
                (header.source(), header.destination(), header.protocol().0).hash(&mut hasher);
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                headers.ip = Ip::new(at, header.dscp().value(), header.ecn().value());
                length = usize::from(header.payload_length()) + 40;
                let payload = ip.payload().ip_number.0;
                (header.source(), header.destination(), payload).hash(&mut hasher);
            }
            _ => {
                length = payload;
                (headers.source, headers.destination).hash(&mut hasher);
            }
        }
        // A packet may be padded but cannot be longer than its frame.
        if (20..=payload).contains(&length) {
            headers.packet_bytes = length.min(usize::from(u16::MAX)) as u16;
        }
        match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                (tcp.source_port(), tcp.destination_port()).hash(&mut hasher);
            }
            Some(TransportSlice::Udp(udp)) => {
                (udp.source_port(), udp.destination_port()).hash(&mut hasher);
                let whole = usize::from(udp.length()) == udp.slice().len();
                if whole && wire::has_request(udp.payload()) {
                    let at = udp.payload().as_ptr().addr() - frame.as_ptr().addr();
                    headers.request_at = u16::try_from(at).unwrap_or(0);
                }
            }
            _ => {}
        }
        let hash = hasher.finish();
        headers.flow = (hash ^ (hash >> 32)) as u32;
        Some(headers)
    }

    /// Returns the differentiated-services code point, or 0 without IP.
    pub fn dscp(&self) -> u8 {
        self.ip.map_or(0, |ip| ip.traffic_class >> 2)
    }

    /// Returns true if a queue may mark the packet instead of dropping it (ECT or CE, RFC 3168 §5).
    pub fn is_ecn_capable(&self) -> bool {
        self.ip.is_some_and(|ip| ip.traffic_class & 3 != 0)
    }

    /// Returns true if the destination is a group address.
    pub fn is_multicast(&self) -> bool {
        self.destination[0] & 1 != 0
    }
}

impl Ip {
    fn new(at: usize, dscp: u8, ecn: u8) -> Option<Self> {
        let at = u16::try_from(at).ok()?;
        Some(Self {
            at,
            traffic_class: dscp << 2 | ecn,
        })
    }
}

/// Sets CE in the IP header of a frame and updates the IPv4 header checksum.
pub(crate) fn set_ce(frame: &mut [u8]) {
    let Some(Headers { ip: Some(ip), .. }) = Headers::read(frame) else {
        return;
    };
    let at = usize::from(ip.at);
    if frame[at] >> 4 == 6 {
        frame[at + 1] |= 3 << 4;
        return;
    }
    let before = frame[at + 1];
    frame[at + 1] |= 3;
    let checksum = u16::from_be_bytes([frame[at + 10], frame[at + 11]]);
    let checksum = changed_checksum(checksum, 0xffff + u64::from(frame[at + 1] - before));
    frame[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
}

/// Returns an Internet checksum after the sum of the covered words has grown by `words` modulo 2^16 - 1, which must be
/// above zero and below 2^40 (RFC 1624 §3, equation 3). Works in either byte order, as long as both arguments use the
/// same.
#[inline]
pub(crate) fn changed_checksum(checksum: u16, words: u64) -> u16 {
    let sum = u64::from(!checksum) + words;
    let (sum, carry) = (sum as u32).overflowing_add((sum >> 32) as u32);
    let sum = sum + u32::from(carry);
    // The upper half is the sum of both halves with their carry.
    !(sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

/// Reinserts a VLAN tag (protocol and control information), which the kernel has removed, after the addresses.
pub(crate) fn tag(frame: &mut Vec<u8>, [protocol, control]: [u16; 2]) {
    let at = 2 * size_of::<Mac>();
    if frame.len() >= at {
        let [a, b] = protocol.to_be_bytes();
        let [c, d] = control.to_be_bytes();
        frame.splice(at..at, [a, b, c, d]);
    }
}

/// Completes the checksum of a TCP or UDP packet whose sender left it to its NIC, with only the sum of the pseudo
/// header in the field (RFC 9293 §3.1). Returns false if the packet has no such checksum.
pub(crate) fn complete_checksum(frame: &mut [u8]) -> bool {
    let Some((at, checksum)) = checksum(frame) else {
        return false;
    };
    frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Returns the offset and the correct value of a TCP or UDP checksum.
fn checksum(frame: &[u8]) -> Option<(usize, u16)> {
    let sliced = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let (segment, offset, zero) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => (tcp.slice(), 16, 0),
        // Zero means no checksum (RFC 768).
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
    let at = segment.as_ptr().addr() - frame.as_ptr().addr() + offset;
    Some((at, if checksum == 0 { zero } else { checksum }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// Returns the sum that a receiver computes over an IPv4 header with its checksum; 0xffff if it is correct.
    fn header_sum(header: &[u8]) -> u32 {
        let words = header
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)));
        words.fold(0, |sum, word| {
            let sum = sum + word;
            (sum & 0xffff) + (sum >> 16)
        })
    }

    /// Returns a frame with these IPv4 header bytes, with version, length and checksum corrected.
    fn v4(mut header: Vec<u8>, payload: &[u8]) -> Vec<u8> {
        header.resize(header.len() / 4 * 4, 0);
        header[0] = 0x40 | (header.len() / 4) as u8;
        let length = (header.len() + payload.len()) as u16;
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[10..12].fill(0);
        let checksum = !(header_sum(&header) as u16);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        [&[2; 12], &[8, 0][..], &header, payload].concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 20_000,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..ProptestConfig::default()
        })]

        #[test]
        fn marks_keep_the_checksum_valid(header in proptest::collection::vec(any::<u8>(), 20..=60)) {
            let before = v4(header, &[7; 8]);
            let end = 14 + 4 * usize::from(before[14] & 15);
            let mut frame = before.clone();
            set_ce(&mut frame);
            prop_assert_eq!(header_sum(&frame[14..end]), 0xffff);
            prop_assert_eq!(frame[15], before[15] | 3);
            let others = |frame: &[u8]| [&frame[..15], &frame[16..24], &frame[26..]].concat();
            prop_assert_eq!(others(&frame), others(&before));
        }
    }

    #[test]
    fn marks_change_one_nibble_of_ipv6() {
        let mut before = vec![2; 12];
        before.extend([0x86, 0xdd, 0x6a, 0xb1, 0x23, 0x45, 0, 0, 59, 64]);
        before.extend([0xfd; 32]);
        let headers = Headers::read(&before).expect("a whole header");
        assert_eq!(
            (headers.dscp(), headers.is_ecn_capable()),
            (0xab >> 2, true)
        );
        let mut after = before.clone();
        set_ce(&mut after);
        before[15] = 0xb1 | 0x30;
        assert_eq!(after, before);
    }

    #[test]
    fn other_protocols_are_not_marked() {
        for kind in [[8, 6], [0x88, 0xb5], [0, 46]] {
            let frame = [&[2; 12], &kind[..], &[0x45; 46]].concat();
            let mut after = frame.clone();
            set_ce(&mut after);
            assert_eq!(after, frame);
        }
    }

    #[test]
    fn tags_follow_the_addresses() {
        let mut frame = [&[1; 6], &[2; 6][..], &[8, 0, 0x45]].concat();
        tag(&mut frame, [0x8100, 0xe00a]);
        assert_eq!(frame[12..], [0x81, 0, 0xe0, 0x0a, 8, 0, 0x45]);
        assert_eq!(
            Headers::read(&frame).and_then(|headers| headers.vlan_priority),
            Some(7)
        );
        let mut runt = vec![1; 11];
        tag(&mut runt, [0x8100, 1]);
        assert_eq!(runt, [1; 11]);
    }

    /// Returns an IPv4 packet with this protocol and, at `offset` in `segment`, the sum of the pseudo header, as a
    /// sender leaves it to its NIC.
    fn unfinished(protocol: u8, mut segment: Vec<u8>, offset: usize) -> Vec<u8> {
        let mut header = vec![0; 20];
        header[9] = protocol;
        header[12..20].copy_from_slice(&[10, 9, 0, 1, 10, 9, 0, 2]);
        let pseudo = [
            &header[12..20],
            &[0, protocol],
            &(segment.len() as u16).to_be_bytes(),
        ];
        let sum = header_sum(&pseudo.concat()) as u16;
        segment[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
        v4(header, &segment)
    }

    #[test]
    fn offloaded_checksums_are_completed() {
        for (protocol, offset, length) in [(6, 16, 20), (6, 16, 33), (17, 6, 8), (17, 6, 1_001)] {
            let mut segment: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            segment[12 % length] = 0x50;
            if protocol == 17 {
                segment[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            }
            let mut frame = unfinished(protocol, segment, offset);
            assert!(complete_checksum(&mut frame));
            let mut all = frame[26..34].to_vec();
            all.extend([0, protocol]);
            all.extend((length as u16).to_be_bytes());
            all.extend(&frame[34..]);
            assert_eq!(
                header_sum(&all),
                0xffff,
                "protocol {protocol}, {length} bytes"
            );
        }
        // ICMP and frames that are too short have no such checksum.
        assert!(!complete_checksum(&mut v4(vec![1; 20], &[8; 8])));
        assert!(!complete_checksum(&mut [2; 13]));
    }
}
