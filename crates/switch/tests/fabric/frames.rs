//! Hand-built Ethernet frames.

/// IPv4 or IPv6 packet with a UDP or TCP header and a number in its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub from: u8,
    pub to: u8,
    /// Upper six bits of the traffic class.
    pub dscp: u8,
    /// ECN bits: 0 is not ECN-capable, 3 is CE.
    pub ecn: u8,
    /// Length of the IP packet in bytes; at least [`MIN_BYTES`].
    pub bytes: u16,
    pub number: u32,
    /// Source and destination port.
    pub ports: [u16; 2],
    pub tcp: bool,
    pub v6: bool,
    /// Number of 32-bit words of IPv4 options.
    pub options: u8,
    /// Control information of a VLAN tag.
    pub vlan: Option<u16>,
}

/// Maximum length of all headers and the number.
pub const MIN_BYTES: u16 = 40 + 40 + 20 + 4;

impl Packet {
    pub fn new(from: u8, to: u8, bytes: u16, number: u32) -> Self {
        Self {
            from,
            to,
            dscp: 0,
            ecn: 0,
            bytes,
            number,
            ports: [1_000, 2_000],
            tcp: false,
            v6: false,
            options: 0,
            vlan: None,
        }
    }

    /// Builds the frame, with a correct header checksum.
    pub fn frame(&self) -> Vec<u8> {
        let mut frame = [mac(self.to), mac(self.from)].concat();
        if let Some(control) = self.vlan {
            frame.extend([0x81, 0x00]);
            frame.extend(control.to_be_bytes());
        }
        let ip = frame.len() + 2;
        frame.extend(if self.v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        let class = self.dscp << 2 | self.ecn;
        let protocol = if self.tcp { 6 } else { 17 };
        if self.v6 {
            frame.extend([0x60 | class >> 4, class << 4, 0, 0]);
            frame.extend((self.bytes - 40).to_be_bytes());
            frame.extend([protocol, 64]);
            for host in [self.from, self.to] {
                frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host + 1]);
            }
        } else {
            frame.extend([0x45 + self.options, class]);
            frame.extend(self.bytes.to_be_bytes());
            frame.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend([10, 9, 0, self.from + 1, 10, 9, 0, self.to + 1]);
            // No-operation options.
            frame.extend(vec![1; 4 * usize::from(self.options)]);
            let checksum = header_checksum(&frame[ip..]);
            frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        let transport = frame.len();
        frame.extend(self.ports.map(u16::to_be_bytes).concat());
        let end = ip + usize::from(self.bytes);
        if self.tcp {
            frame.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        } else {
            frame.extend(((end - transport) as u16).to_be_bytes());
            frame.extend([0, 0]);
        }
        frame.extend(self.number.to_be_bytes());
        assert!(frame.len() <= end, "{self:?} is too short for its headers");
        frame.resize(end, 0x5a);
        frame
    }

    /// Returns the same packet with CE.
    pub fn marked(&self) -> Self {
        Self {
            ecn: 3,
            ..self.clone()
        }
    }
}

/// Returns the link-layer address of a host.
pub fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host + 1]
}

/// Computes the checksum of an IPv4 header (RFC 1071 §1), ignoring the field's current value.
fn header_checksum(header: &[u8]) -> u16 {
    let length = 4 * usize::from(header[0] & 15);
    let words = (0..length).step_by(2).filter(|&at| at != 10);
    let sum = words.fold(0_u32, |sum, at| {
        let sum = sum + u32::from(u16::from_be_bytes([header[at], header[at + 1]]));
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}
