//! TCP segments from a pcap or pcapng file, read packet by packet.

use duetime_scenario::Diagnostic;
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};
use std::io::{Cursor, Read};
use std::net::IpAddr;

type Result<T> = std::result::Result<T, Diagnostic>;

/// End of a connection: address and port.
pub(crate) type End = (IpAddr, u16);

/// Captured TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Capture time in nanoseconds.
    pub at_ns: u64,
    pub from: End,
    pub to: End,
    pub sequence: u32,
    /// Size of the payload on the wire, of which the capture may contain only a part.
    pub payload: u32,
    /// Size of the IP packet on the wire.
    pub packet: u32,
    pub syn: bool,
    pub ack: bool,
    pub rst: bool,
    pub psh: bool,
}

/// Packet counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets of other protocols, IP fragments and packets with incomplete headers.
    pub others: u64,
}

/// First bytes of captures.
const MAGIC: [[u8; 4]; 5] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];
const ALLOWED: &str = "a complete capture in pcap or pcapng";

/// Returns true if the first bytes of a file are those of a capture.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    MAGIC.iter().any(|magic| head.starts_with(magic))
}

/// Calls `on` with each TCP segment of the capture `file`, in the order of the file.
pub(crate) fn read(
    file: &str,
    mut input: impl Read,
    on: &mut dyn FnMut(&Segment) -> Result<()>,
) -> Result<Counts> {
    let mut head = [0; 4];
    let mut filled = 0;
    while filled < head.len() {
        match input.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(why) => return Err(Diagnostic::of_file(file, format!("cannot be read: {why}"))),
        }
    }
    if filled == 0 {
        return Err(Diagnostic::of_file(file, "the file is empty").allowed(ALLOWED));
    }
    if !is_capture(&head[..filled]) {
        let message = "neither pcap nor pcapng: unknown first bytes";
        return Err(Diagnostic::of_file(file, message).allowed(ALLOWED));
    }
    let complete = Cursor::new(head).chain(input);
    let mut reader = Packets {
        file,
        on,
        counts: Counts::default(),
        last_ns: None,
    };
    if head == MAGIC[0] {
        reader.pcapng(complete)?;
    } else {
        reader.pcap(complete)?;
    }
    Ok(reader.counts)
}

struct Packets<'r> {
    file: &'r str,
    on: &'r mut dyn FnMut(&Segment) -> Result<()>,
    counts: Counts,
    last_ns: Option<u64>,
}

impl Packets<'_> {
    fn pcap(&mut self, input: impl Read) -> Result<()> {
        let mut reader = PcapReader::new(input).map_err(|why| self.read_error(&why))?;
        let header = reader.header();
        let unit = match header.ts_resolution {
            TsResolution::MicroSecond => 1_000,
            TsResolution::NanoSecond => 1,
        };
        // Read raw packets, because the reader's check rejects truncated packets.
        while let Some(packet) = reader.next_raw_packet() {
            let packet = packet.map_err(|why| self.read_error(&why))?;
            let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * unit;
            self.packet(header.datalink, at, packet.orig_len, &packet.data)?;
        }
        Ok(())
    }

    fn pcapng(&mut self, input: impl Read) -> Result<()> {
        let mut reader = PcapNgReader::new(input).map_err(|why| self.read_error(&why))?;
        // Link type and nanoseconds per time unit of each interface of the section.
        let mut interfaces: Vec<(DataLink, f64)> = Vec::new();
        while let Some(block) = reader.next_block() {
            match block.map_err(|why| self.read_error(&why))? {
                Block::SectionHeader(_) => interfaces.clear(),
                Block::InterfaceDescription(description) => {
                    let resolution = description.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                        _ => None,
                    });
                    interfaces.push((description.linktype, unit_ns(resolution.unwrap_or(6))));
                }
                Block::EnhancedPacket(packet) => {
                    let interface = interfaces.get(packet.interface_id as usize);
                    let Some(&(link, unit)) = interface else {
                        let message =
                            format!("a packet of the unknown interface {}", packet.interface_id);
                        return Err(self.damaged(&message));
                    };
                    // The reader assumes nanoseconds for every unit.
                    let at = scaled(packet.timestamp.as_nanos(), unit);
                    self.packet(link, at, packet.original_len, &packet.data)?;
                }
                Block::SimplePacket(_) | Block::Packet(_) => {
                    let message = "packets without timestamps";
                    return Err(self.damaged(message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Converts an error of the reader, with the position up to which the file was read.
    fn read_error(&self, why: &PcapError) -> Diagnostic {
        match why {
            PcapError::IncompleteBuffer => self.ends(),
            PcapError::IoError(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => self.ends(),
            other => self.damaged(&other.to_string()),
        }
    }

    fn ends(&self) -> Diagnostic {
        let message = format!(
            "the capture ends in the middle of a packet: {}",
            self.so_far()
        );
        Diagnostic::of_file(self.file, message)
            .allowed(ALLOWED)
            .help("to keep the complete packets, use `editcap` or `tcpdump -r FILE -w COMPLETE`")
    }

    fn damaged(&self, why: &str) -> Diagnostic {
        let message = format!("the capture is damaged: {why}; {}", self.so_far());
        Diagnostic::of_file(self.file, message).allowed(ALLOWED)
    }

    fn so_far(&self) -> String {
        match (self.counts.packets, self.last_ns) {
            (0, _) | (_, None) => "no packet is complete".to_owned(),
            (packets, Some(at)) => {
                let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
                format!("after packet {packets}, captured at {s}.{ns:09} s")
            }
        }
    }

    fn packet(&mut self, link: DataLink, at_ns: u64, length: u32, data: &[u8]) -> Result<()> {
        self.counts.packets += 1;
        self.last_ns = Some(at_ns);
        let Some(network) = network(link, data) else {
            let message = format!("unknown link type {}", u32::from(link));
            let error = Diagnostic::of_file(self.file, message);
            return Err(
                error.allowed("Ethernet, raw IP, Linux cooked (SLL, SLL2) and BSD loopback")
            );
        };
        let before = data.len().saturating_sub(network.1);
        let on_wire = length.saturating_sub(u32::try_from(before).unwrap_or(u32::MAX));
        if let Some(segment) = network
            .0
            .and_then(|packet| segment(&packet, at_ns, on_wire))
        {
            (self.on)(&segment)
        } else {
            self.counts.others += 1;
            Ok(())
        }
    }
}

/// Returns the unit of `if_tsresol` in nanoseconds: a negative power of ten or, if the first bit is set, of two.
fn unit_ns(resolution: u8) -> f64 {
    let power = f64::from(resolution & 0x7f);
    let base: f64 = if resolution & 0x80 == 0 { 10.0 } else { 2.0 };
    1e9 / libm::pow(base, power)
}

fn scaled(units: u128, unit_ns: f64) -> u64 {
    let units = u64::try_from(units).unwrap_or(u64::MAX);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::float_cmp,
        reason = "whole factors stay exact; other casts saturate"
    )]
    if (1.0..1e18).contains(&unit_ns) && unit_ns == libm::floor(unit_ns) {
        units.saturating_mul(unit_ns as u64)
    } else {
        (units as f64 * unit_ns) as u64
    }
}

/// Returns the packet from its IP header on, if it has one, and its number of bytes from there. Returns `None` for an
/// unknown link type.
fn network(link: DataLink, data: &[u8]) -> Option<(Option<LaxSlicedPacket<'_>>, usize)> {
    let of_type = |protocol: Option<&[u8]>, from: usize| {
        let parsed = protocol.zip(data.get(from..)).and_then(|(protocol, rest)| {
            let protocol = u16::from_be_bytes(protocol.try_into().ok()?);
            Some(LaxSlicedPacket::from_ether_type(EtherType(protocol), rest))
        });
        (parsed, data.len().saturating_sub(from))
    };
    let of_ip = |from: usize| {
        let parsed = data
            .get(from..)
            .and_then(|rest| LaxSlicedPacket::from_ip(rest).ok());
        (parsed, data.len().saturating_sub(from))
    };
    Some(match link {
        DataLink::ETHERNET => of_type(data.get(12..14), 14),
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => of_ip(0),
        DataLink::NULL | DataLink::LOOP => of_ip(4),
        DataLink::LINUX_SLL => of_type(data.get(14..16), 16),
        other if u32::from(other) == LINUX_SLL2 => of_type(data.get(..2), 20),
        // Older BSD link types of raw IP.
        other if matches!(u32::from(other), 12 | 14) => of_ip(0),
        _ => return None,
    })
}

const LINUX_SLL2: u32 = 276;

/// Returns the TCP segment of a packet with `on_wire` bytes from its IP header on, or `None` if it is not TCP.
fn segment(packet: &LaxSlicedPacket<'_>, at_ns: u64, on_wire: u32) -> Option<Segment> {
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else {
        return None;
    };
    let (from, to, whole, headers) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let whole = match header.total_len() {
                // A large packet before segmentation offload has no length.
                0 => on_wire,
                length => u32::from(length),
            };
            let ends: (IpAddr, IpAddr) = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (ends.0, ends.1, whole, u32::from(header.ihl()) * 4)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let whole = match header.payload_length() {
                0 => on_wire,
                length => u32::from(length) + 40,
            };
            let extensions = u32::try_from(ip.extensions().slice().len()).unwrap_or(u32::MAX);
            let ends: (IpAddr, IpAddr) = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (ends.0, ends.1, whole, extensions.saturating_add(40))
        }
        LaxNetSlice::Arp(_) => return None,
    };
    Some(Segment {
        at_ns,
        from: (from, tcp.source_port()),
        to: (to, tcp.destination_port()),
        sequence: tcp.sequence_number(),
        payload: whole.saturating_sub(headers.saturating_add(u32::from(tcp.data_offset()) * 4)),
        packet: whole,
        syn: tcp.syn(),
        ack: tcp.ack(),
        rst: tcp.rst(),
        psh: tcp.psh(),
    })
}
