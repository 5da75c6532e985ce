//! Link properties used by the packet path.

use crate::packet::Packet;
use duetime_link::Port;

/// Flag in [`Link::target`]: the target is a host.
pub const TO_HOST: u32 = 1 << 31;

/// Link properties used by the packet path, stored in the tag of the link's port.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Node at the far end: a host's index with [`TO_HOST`], or a switch's index.
    pub target: u32,
    /// Flags that take the link's packets off the fast path.
    pub special: u32,
}

impl Link {
    /// Returns the link behind a port.
    #[inline(always)]
    pub const fn of(port: &Port<Packet>) -> Self {
        let [target, special] = port.tag;
        Self { target, special }
    }

    /// Sets or clears [`Link::SAMPLED`].
    pub fn set_sampled(port: &mut Port<Packet>, sampled: bool) {
        let flag = if sampled { Self::SAMPLED } else { 0 };
        port.tag[1] = port.tag[1] & !Self::SAMPLED | flag;
    }

    /// Updates [`Link::WAITING`] after packets started or ceased to wait at a port.
    #[inline(always)]
    pub fn update_waiting(port: &mut Port<Packet>) {
        let flag = if port.has_waiting() { Self::WAITING } else { 0 };
        port.tag[1] = port.tag[1] & !Self::WAITING | flag;
    }

    /// Sets or clears [`Link::BACKLOGGED`].
    #[inline(always)]
    pub fn set_backlogged(port: &mut Port<Packet>, backlogged: bool) {
        let flag = if backlogged { Self::BACKLOGGED } else { 0 };
        port.tag[1] = port.tag[1] & !Self::BACKLOGGED | flag;
    }

    /// The far end belongs to another partition.
    pub const CROSSING: u32 = 1;
    /// The link loses packets at random.
    pub const LOSSY: u32 = 2;
    /// The port has a program.
    pub const PROGRAMMED: u32 = 4;
    /// The port is not a FIFO with its own memory.
    pub const DISCIPLINED: u32 = 8;
    /// The port serves by class.
    pub const CLASSED: u32 = 16;
    /// The link's packets are watched.
    pub const OBSERVED: u32 = 32;
    /// The link loses packets with requests.
    pub const FAULTY: u32 = 64;
    /// The partition has several sub-partitions.
    pub const SUBPARTITIONED: u32 = 128;

    /// The run polices: the ports behind this link, or its own port, limit links to the rates that they granted.
    pub const POLICED: u32 = 512;

    /// The far end is a host with a program that processes arrivals.
    pub const WATCHED_BY_HOST: u32 = 256;

    /// The far end is a host in a run in which hosts die.
    pub const MORTAL: u32 = 2048;

    /// Packets wait in the classes of the port. This flag changes during a run.
    pub const WAITING: u32 = 4096;

    /// The program at the port samples the queue that each packet finds. This flag changes during a run.
    pub const SAMPLED: u32 = 8192;

    /// The program at the port of the reversed link processes the replies that arrive over this link.
    pub const REPLIES: u32 = 1024;

    /// The link leads to a switch from another sub-partition, and its arrivals need no special handling: they are
    /// gathered window by window (see [`inlets`](super::inlets)).
    pub const INLET: u32 = 16384;

    /// Several packets are in the port of an inlet. This flag changes during a run.
    pub const BACKLOGGED: u32 = 32768;

    /// Flags of a link whose port has a program that samples the queue, without further special handling.
    pub const PROGRAMMED_SAMPLED: u32 = Self::PROGRAMMED | Self::SAMPLED;
    /// Flags of a link whose port serves by class, without further special handling.
    pub const BY_CLASS: u32 = Self::DISCIPLINED | Self::CLASSED;

    /// A program, a discipline or a policer uses the port's queue.
    pub const QUEUES: u32 = Self::PROGRAMMED | Self::DISCIPLINED | Self::CLASSED | Self::POLICED;

    /// Arrivals take the slow path.
    pub const SLOW_ARRIVAL: u32 = Self::MAY_LOSE
        | Self::CROSSING
        | Self::WAITING
        | Self::WATCHED_BY_HOST
        | Self::MORTAL
        | Self::REPLIES
        | Self::POLICED;
    /// Only arrivals differ; the port takes packets as usual.
    pub const ON_ARRIVAL: u32 = Self::LOSSY
        | Self::WATCHED_BY_HOST
        | Self::MORTAL
        | Self::REPLIES
        | Self::WAITING
        | Self::INLET
        | Self::BACKLOGGED;
    /// Packets may be lost, or their fate is watched.
    pub const MAY_LOSE: u32 = Self::LOSSY | Self::OBSERVED | Self::FAULTY;
}
