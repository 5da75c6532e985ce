//! What travels: a segment of data or an acknowledgement, and its place in the stream.

use core::ops::{BitOr, BitOrAssign};

/// One TCP segment of either direction.
///
/// Positions are 64 bits wide and never wrap: SYN is 0, the first data byte 1, FIN takes one after the data. Drivers
/// put 32 bits on the wire and restore them by [`expand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Data: the position of its first byte. Acknowledgement: the next position expected, cumulative.
    pub seq: u64,
    /// Payload, in bytes.
    pub len: u32,
    /// What kind of segment it is, and its marks.
    pub flags: Flags,
}

/// A set of flags.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Flags(pub u16);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// Opens the connection.
    pub const SYN: Self = Self(1);
    /// The sender has no more data.
    pub const FIN: Self = Self(1 << 1);
    /// From receiver to sender: `seq` acknowledges.
    pub const ACK: Self = Self(1 << 2);
    /// The last segment of a message.
    pub const PUSH: Self = Self(1 << 3);
    /// Echoes a mark.
    pub const ECE: Self = Self(1 << 4);
    /// The packet may be marked.
    pub const ECT: Self = Self(1 << 5);
    /// Marked by the network.
    pub const CE: Self = Self(1 << 6);
    /// The window was reduced; DCTCP's receiver does not need it, drivers to other stacks may.
    pub const CWR: Self = Self(1 << 7);
    /// Sent before; known to the simulator's statistics, not on the wire.
    pub const RETRANSMIT: Self = Self(1 << 8);

    /// An acknowledgement that carries blocks ([`Sack`](super::Sack)); known to its driver, on the wire it is the option.
    pub const SACK: Self = Self(1 << 9);

    /// Whether all of `other` is in the set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` is in the set.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Adds `other`.
    #[inline]
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The set with `other` added.
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

/// The stream position nearest to `near` whose low 32 bits are `wire`.
#[inline]
pub const fn expand(wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(near as u32);
    if ahead < 1 << 31 {
        return near.wrapping_add(ahead as u64);
    }
    let behind = (near as u32).wrapping_sub(wire) as u64;
    match near.checked_sub(behind) {
        Some(position) => position,
        None => near.wrapping_add(ahead as u64), // there is nothing before the start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_the_wire() {
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
    fn flags_are_a_set() {
        let mut flags = Flags::SYN | Flags::ACK;
        assert!(flags.contains(Flags::SYN) && !flags.contains(Flags::SYN | Flags::FIN));
        flags |= Flags::ECE;
        assert!(flags.intersects(Flags::ECE | Flags::FIN));
    }
}
