//! Writer for pcapng files: one section, one interface per link, raw IP packets, nanosecond timestamps. Format:
//! draft-ietf-opsawg-pcapng.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the format has fields of 16 and 32 bits; packets are truncated to their snap length"
)]

use duetime_core::Time;

/// Packets start with their IP header (`LINKTYPE_RAW`).
const LINKTYPE_RAW: u16 = 101;
/// `if_tsresol`: timestamps in units of 10⁻⁹ s. Some tools do not read finer resolutions.
const NANOSECONDS: u8 = 9;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_SHB_USERAPPL: u16 = 4;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;

/// Packet on a link.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Index into the links of the file.
    pub link: u32,
    /// Capture time.
    pub at: Time,
    /// Length of the IP packet on the wire; `bytes` may be truncated.
    pub original_bytes: u32,
    /// IP packet from its first byte.
    pub bytes: &'a [u8],
}

/// Returns a pcapng file of `packets`, in the given order, with one interface per link.
pub fn to_pcapng<'a>(links: &[String], packets: impl IntoIterator<Item = Packet<'a>>) -> Vec<u8> {
    let mut file = Vec::new();
    block(&mut file, SECTION_HEADER, |body| {
        body.extend(0x1A2B_3C4D_u32.to_le_bytes()); // byte order
        body.extend(1_u16.to_le_bytes()); // version 1.0
        body.extend(0_u16.to_le_bytes());
        body.extend((-1_i64).to_le_bytes()); // section length: unspecified
        option(
            body,
            OPTION_SHB_USERAPPL,
            format!("duetime {}", crate::VERSION).as_bytes(),
        );
        option(body, OPTION_END, &[]);
    });
    for link in links {
        block(&mut file, INTERFACE_DESCRIPTION, |body| {
            body.extend(LINKTYPE_RAW.to_le_bytes());
            body.extend(0_u16.to_le_bytes()); // reserved
            body.extend(0_u32.to_le_bytes()); // snap length: no limit
            option(body, OPTION_IF_NAME, link.as_bytes());
            option(body, OPTION_IF_TSRESOL, &[NANOSECONDS]);
            option(body, OPTION_END, &[]);
        });
    }
    for packet in packets {
        block(&mut file, ENHANCED_PACKET, |body| {
            let at = packet.at.as_ns();
            body.extend(packet.link.to_le_bytes());
            body.extend(((at >> 32) as u32).to_le_bytes());
            body.extend((at as u32).to_le_bytes());
            body.extend((packet.bytes.len() as u32).to_le_bytes());
            body.extend(packet.original_bytes.to_le_bytes());
            body.extend(packet.bytes);
            pad(body);
        });
    }
    file
}

/// Appends a block: type, length, body, and the length again.
fn block(file: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = file.len();
    file.extend(kind.to_le_bytes());
    file.extend([0; 4]);
    body(file);
    let length = ((file.len() - start + 4) as u32).to_le_bytes();
    file[start + 4..start + 8].copy_from_slice(&length);
    file.extend(length);
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Link names can exceed the maximum length of an option.
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// Pads to a multiple of 4, at which every block starts.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_file::DataLink;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};

    #[test]
    fn independent_reader_agrees() {
        let links = ["h0->tor0".to_owned(), "tor0->h1".to_owned()];
        let sent: Vec<(u32, u64, u32, Vec<u8>)> = (0..20_u32)
            .map(|i| {
                (
                    i % 2,
                    u64::from(i) << 30 | 7,
                    1_500,
                    (0..=i as u8).collect(),
                )
            })
            .collect();
        let packets = sent.iter().map(|(link, ns, original_bytes, bytes)| Packet {
            link: *link,
            at: Time::from_ps(ns * 1_000 + 999),
            original_bytes: *original_bytes,
            bytes,
        });
        let file = to_pcapng(&links, packets);

        let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
        let mut seen = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap().into_owned() {
                let ns = packet.timestamp.as_nanos() as u64;
                seen.push((
                    packet.interface_id,
                    ns,
                    packet.original_len,
                    packet.data.into_owned(),
                ));
            }
        }
        assert_eq!(seen, sent);
        for (interface, name) in reader.interfaces().iter().zip(&links) {
            assert_eq!(interface.linktype, DataLink::RAW);
            assert!(
                interface
                    .options
                    .contains(&InterfaceDescriptionOption::IfName(name.into()))
            );
            assert!(
                interface
                    .options
                    .contains(&InterfaceDescriptionOption::IfTsResol(9))
            );
        }
    }
}
