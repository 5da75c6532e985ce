//! What the packet path needs to know of a link.

use crate::packet::Packet;
use duetime_link::Port;

/// In [`Link::target`]: the target is a host.
pub const TO_HOST: u32 = 1 << 31;

/// What the packet path needs to know of a link; it lies in the tag of the link's port.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// What is at its far end: a host's number with [`TO_HOST`], or a switch's.
    pub target: u32,
    /// What takes its packets off the fast path: some of the constants below.
    pub special: u32,
}

impl Link {
    /// The link behind a port.
    #[inline(always)]
    pub const fn of(port: &Port<Packet>) -> Self {
        let [target, special] = port.tag;
        Self { target, special }
    }

    /// Its far end belongs to another partition.
    pub const CROSSING: u32 = 1;
    /// It loses packets at random.
    pub const LOSSY: u32 = 2;
    /// Its port has a program.
    pub const PROGRAMMED: u32 = 4;
    /// Its port is more than a FIFO with memory of its own.
    pub const DISCIPLINED: u32 = 8;
    /// Its port serves by class.
    pub const CLASSED: u32 = 16;
    /// Its packets are watched.
    pub const OBSERVED: u32 = 32;
    /// It loses requests.
    pub const FAULTY: u32 = 64;
    /// Its partition is run as several sub-partitions.
    pub const SUBPARTITIONED: u32 = 128;

    /// Ports hold the links that lead to them to what they granted: its port does, or the ports behind it.
    pub const POLICED: u32 = 512;

    /// A program at its far end, a host, takes note of what arrives.
    pub const WATCHED_BY_HOST: u32 = 256;

    /// Its far end is a host in a run in which hosts die.
    pub const MORTAL: u32 = 2048;

    /// A program, a discipline or a policer reads the queue of its port.
    pub const QUEUES: u32 = Self::PROGRAMMED | Self::DISCIPLINED | Self::CLASSED | Self::POLICED;

    /// Arrivals need the slow path.
    pub const SLOW_ARRIVAL: u32 = Self::MAY_LOSE
        | Self::CROSSING
        | Self::CLASSED
        | Self::SUBPARTITIONED
        | Self::WATCHED_BY_HOST
        | Self::MORTAL
        | Self::POLICED;
    /// Only arrivals differ: its port takes packets as any.
    pub const ON_ARRIVAL: u32 = Self::LOSSY | Self::WATCHED_BY_HOST | Self::MORTAL;
    /// Packets may be lost, or what becomes of them is watched.
    pub const MAY_LOSE: u32 = Self::LOSSY | Self::OBSERVED | Self::FAULTY;
}
