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

/// One end of a connection.
pub(crate) type End = (IpAddr, u16);

/// What one TCP segment shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// When it was seen, ns.
    pub at_ns: u64,
    pub from: End,
    pub to: End,
    pub sequence: u32,
    /// Bytes of payload on the wire; the capture may hold fewer.
    pub payload: u32,
    /// Bytes of the IP packet on the wire.
    pub packet: u32,
    pub syn: bool,
    pub ack: bool,
    pub rst: bool,
    pub psh: bool,
}

/// What a capture holds beside segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// All packets.
    pub packets: u64,
    /// Those of other protocols, fragments of IP, and headers that were not captured whole.
    pub others: u64,
}

/// The first bytes by which captures are known.
const MAGIC: [[u8; 4]; 5] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];
const ALLOWED: &str = "a whole capture in pcap or pcapng";

/// Whether a file that begins so is a capture.
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
    let mut got = 0;
    while got < head.len() {
        match input.read(&mut head[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(why) => return Err(Diagnostic::of_file(file, format!("cannot be read: {why}"))),
        }
    }
    if got == 0 {
        return Err(Diagnostic::of_file(file, "the file is empty").allowed(ALLOWED));
    }
    if !is_capture(&head[..got]) {
        let message = "neither pcap nor pcapng: its first bytes are those of no capture";
        return Err(Diagnostic::of_file(file, message).allowed(ALLOWED));
    }
    let whole = Cursor::new(head).chain(input);
    let mut reader = Packets {
        file,
        on,
        counts: Counts::default(),
        last_ns: None,
    };
    if head == MAGIC[0] {
        reader.pcapng(whole)?;
    } else {
        reader.pcap(whole)?;
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
        let mut reader = PcapReader::new(input).map_err(|why| self.wrong(&why))?;
        let header = reader.header();
        let unit = match header.ts_resolution {
            TsResolution::MicroSecond => 1_000,
            TsResolution::NanoSecond => 1,
        };
        // Raw packets: the reader's own check refuses packets that were longer than what was captured of them.
        while let Some(packet) = reader.next_raw_packet() {
            let packet = packet.map_err(|why| self.wrong(&why))?;
            let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * unit;
            self.packet(header.datalink, at, packet.orig_len, &packet.data)?;
        }
        Ok(())
    }

    fn pcapng(&mut self, input: impl Read) -> Result<()> {
        let mut reader = PcapNgReader::new(input).map_err(|why| self.wrong(&why))?;
        // Link type and nanoseconds per unit of time of each interface of the section.
        let mut interfaces: Vec<(DataLink, f64)> = Vec::new();
        while let Some(block) = reader.next_block() {
            match block.map_err(|why| self.wrong(&why))? {
                Block::SectionHeader(_) => interfaces.clear(),
                Block::InterfaceDescription(of) => {
                    let resolution = of.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                        _ => None,
                    });
                    interfaces.push((of.linktype, unit_ns(resolution.unwrap_or(6))));
                }
                Block::EnhancedPacket(packet) => {
                    let of = interfaces.get(packet.interface_id as usize);
                    let Some(&(link, unit)) = of else {
                        let message = format!("a packet of interface {}", packet.interface_id);
                        return Err(self.damaged(&message));
                    };
                    // The reader takes every unit for a nanosecond.
                    let at = scaled(packet.timestamp.as_nanos(), unit);
                    self.packet(link, at, packet.original_len, &packet.data)?;
                }
                Block::SimplePacket(_) | Block::Packet(_) => {
                    let message = "packets without the time at which they were seen";
                    return Err(self.damaged(message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Why the file cannot be read further, and how far it could be.
    fn wrong(&self, why: &PcapError) -> Diagnostic {
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
            .help("`editcap` or `tcpdump -r FILE -w WHOLE` keep the packets that are whole")
    }

    fn damaged(&self, why: &str) -> Diagnostic {
        let message = format!("the capture is damaged: {why}; {}", self.so_far());
        Diagnostic::of_file(self.file, message).allowed(ALLOWED)
    }

    fn so_far(&self) -> String {
        match (self.counts.packets, self.last_ns) {
            (0, _) | (_, None) => "no packet is whole".to_owned(),
            (packets, Some(at)) => {
                let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
                format!("after packet {packets}, which was seen at {s}.{ns:09} s")
            }
        }
    }

    fn packet(&mut self, link: DataLink, at_ns: u64, length: u32, data: &[u8]) -> Result<()> {
        self.counts.packets += 1;
        self.last_ns = Some(at_ns);
        let Some(network) = network(link, data) else {
            let message = format!("a link of type {}", u32::from(link));
            let error = Diagnostic::of_file(self.file, message);
            return Err(
                error.allowed("Ethernet, raw IP, Linux cooked (SLL, SLL2) and BSD loopback")
            );
        };
        let before = data.len().saturating_sub(network.1);
        let on_wire = length.saturating_sub(u32::try_from(before).unwrap_or(u32::MAX));
        if let Some(segment) = network.0.and_then(|of| segment(&of, at_ns, on_wire)) {
            (self.on)(&segment)
        } else {
            self.counts.others += 1;
            Ok(())
        }
    }
}

/// Nanoseconds in the unit that `if_tsresol` names: powers of ten or, with the first bit set, of two.
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

/// The packet from its IP header on, where it has one, and the bytes from there to its end; `None`: an unknown type of link.
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
        // BSD's older numbers of raw IP.
        other if matches!(u32::from(other), 12 | 14) => of_ip(0),
        _ => return None,
    })
}

const LINUX_SLL2: u32 = 276;

/// The segment of a packet whose IP header and all behind it had `on_wire` bytes; `None` for what is no TCP.
fn segment(packet: &LaxSlicedPacket<'_>, at_ns: u64, on_wire: u32) -> Option<Segment> {
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else {
        return None;
    };
    let (from, to, whole, headers) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let whole = match header.total_len() {
                // A large packet that the host's network card was to divide.
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
