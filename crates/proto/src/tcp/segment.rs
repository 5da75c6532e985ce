//! Segments of data, acknowledgements, and their positions in the stream.

use core::ops::{BitOr, BitOrAssign};

/// TCP segment of either direction.
///
/// Positions are 64 bits wide and never wrap: the SYN is at 0, the first data byte at 1, and the FIN takes the position
/// after the data. Drivers put 32 bits on the wire and restore the position with [`expand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Position of the first byte of data. In an acknowledgement, the next expected position (cumulative).
    pub seq: u64,
    /// Payload length in bytes.
    pub len: u32,
    /// Kind of the segment, and its marks.
    pub flags: Flags,
}

/// Set of flags.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Flags(pub u16);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Opens the connection.
    pub const SYN: Self = Self(1);
    /// The sender has no more data.
    pub const FIN: Self = Self(1 << 1);
    /// Acknowledgement from the receiver to the sender; `seq` is the acknowledged position.
    pub const ACK: Self = Self(1 << 2);
    /// Last segment of a message.
    pub const PUSH: Self = Self(1 << 3);
    /// Echoes a mark.
    pub const ECE: Self = Self(1 << 4);
    /// ECN-capable: the network may mark the packet.
    pub const ECT: Self = Self(1 << 5);
    /// Marked by the network.
    pub const CE: Self = Self(1 << 6);
    /// Reports that the window was reduced. DCTCP's receiver does not need it; drivers to other stacks may.
    pub const CWR: Self = Self(1 << 7);
    /// Retransmission. Used by the simulator's statistics; not on the wire.
    pub const RETRANSMIT: Self = Self(1 << 8);

    /// Acknowledgement with blocks ([`Sack`](super::Sack)). Set for the driver; on the wire, the option itself is
    /// present.
    pub const SACK: Self = Self(1 << 9);

    /// Returns true if the set includes all of `other`.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the set includes any of `other`.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Adds `other`.
    #[inline]
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Returns the set with `other` added.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.insert(other);
    }
}

/// Returns the stream position nearest to `near` whose low 32 bits are `wire`.
#[inline]
pub const fn expand(wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(near as u32);
    if ahead < 1 << 31 {
        return near.wrapping_add(ahead as u64);
    }
    let behind = (near as u32).wrapping_sub(wire) as u64;
    match near.checked_sub(behind) {
        Some(position) => position,
        None => near.wrapping_add(ahead as u64), // positions start at zero
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expand_inverts_truncation() {
        for near in [
            0,
            1,
            5_000,
            u64::from(u32::MAX),
            1 << 32,
            (7 << 32) + 3,
            1 << 60,
        ] {
            for offset in [0, 1, 1_460, (1 << 31) - 1] {
                assert_eq!(expand((near + offset) as u32, near), near + offset);
                if let Some(position) = near.checked_sub(offset) {
                    assert_eq!(expand(position as u32, near), position);
                }
            }
        }
    }

    #[test]
    fn flags_form_a_set() {
        let mut flags = Flags::SYN | Flags::ACK;
        assert!(flags.contains(Flags::SYN) && !flags.contains(Flags::SYN | Flags::FIN));
        flags |= Flags::ECE;
        assert!(flags.intersects(Flags::ECE | Flags::FIN));
    }
}
