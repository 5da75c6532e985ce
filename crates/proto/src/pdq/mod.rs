//! PDQ: preemptive distributed quick flow scheduling (Hong, Caesar and Godfrey, SIGCOMM 2012).
//!
//! A [`Sender`] attaches a scheduling [`Header`] to each packet. Every [`Port`] on the path either grants the flow a rate
//! or pauses it: the most critical flow gets the link, by earliest deadline, then by shortest remaining time. The
//! [`Receiver`] returns the header, and on the way back each port learns the decision of the whole path. A paused sender
//! probes until it is granted a rate.

mod port;
mod receiver;
mod sender;

pub use port::{Port, PortId};
pub use receiver::{Delivery, Receiver};
pub use sender::{Counters, Sender, Timer};

use duetime_core::{Rate, Span, Time};

/// Length of the IP and transport headers and of the scheduling header, which has 16 bytes (PDQ §3), in bytes.
pub const HEADER_BYTES: u32 = 40 + 16;

/// Maximum number of links of a path: a driver records the path of a packet to send its reply back over the same links.
pub const MAX_LINKS: usize = 8;

/// Options of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum packet size in bytes, with all headers.
    pub mtu: u32,
    /// K of Early Start: a port ignores flows that end within K round trips when it allocates to less critical ones, up
    /// to K round trips in all; in thousandths.
    pub early_start_permille: u32,
    /// X of Suppressed Probing: a paused flow at index i of a port's list probes every X·i round trips, at least every
    /// round trip; in thousandths.
    pub probing_permille: u32,
    /// Dampening: time after the acceptance of a flow in which a port accepts no other paused flow, as a share of the
    /// accepted flow's transmission time, or of its round trip if that is shorter; in thousandths.
    pub dampening_permille: u32,
    /// True if senders end flows that cannot meet their deadline.
    pub early_termination: bool,
    /// True if the hosts' own interfaces schedule flows like the ports of switches.
    pub host_ports: bool,
    /// Minimum retransmission timeout.
    pub rto_min: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            early_start_permille: 2_000,
            probing_permille: 200,
            dampening_permille: 500,
            early_termination: true,
            host_ports: false,
            rto_min: Span::from_ms(10),
        }
    }
}

impl Config {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the options with all host-only options reset to their defaults. Two transports can share a network if
    /// these values are equal.
    #[must_use]
    pub fn for_routers(&self) -> Self {
        let default = Self::default();
        Self {
            early_termination: default.early_termination,
            rto_min: default.rto_min,
            ..*self
        }
    }

    /// Returns the payload of a full packet in bytes, at least 1.
    pub fn payload(&self) -> u32 {
        self.mtu.saturating_sub(HEADER_BYTES).max(1)
    }
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Initialises the flow.
    Syn,
    /// Carries data.
    #[default]
    Data,
    /// Asks for a rate without data, from a paused flow.
    Probe,
    /// Ends the flow.
    Term,
}

/// Scheduling header (PDQ §3). The wire format has 16 bytes because I and RTT, which only replies need, replace D and T
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// `R_H`: rate that the path grants.
    pub rate: Rate,
    /// `P_H`: port that paused the flow, or `None`.
    pub paused_by: Option<PortId>,
    /// `D_H`: deadline, or [`Time::MAX`].
    pub deadline: Time,
    /// `T_H`: expected transmission time of the remaining data at the sender's maximum rate.
    pub remaining: Span,
    /// `RTT_H`: round trip that the sender measured, or zero before the first measurement.
    pub rtt: Span,
    /// `I_H`: time between two probes of a paused flow in round trips, in thousandths.
    pub probe_every: u32,
}

/// A packet without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Kind; a reply has the kind of the packet it answers.
    pub kind: Kind,
    /// True for a packet from the receiver.
    pub reply: bool,
    /// True for a retransmission.
    pub retransmit: bool,
    /// With [`Kind::Term`]: true if the sender abandons the flow.
    pub abandoned: bool,
    /// Position of the first byte; in a reply: position up to which all bytes have arrived.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// In a reply: position of the first byte received beyond `seq`, or `seq` if none was.
    pub gap_end: u64,
    /// Time at which the sender sent the packet; a reply returns it.
    pub sent: Time,
    /// Scheduling header.
    pub header: Header,
}

impl Packet {
    /// Returns the size of the IP packet in bytes.
    pub const fn wire_bytes(&self) -> u32 {
        HEADER_BYTES + if self.reply { 0 } else { self.len }
    }
}

#[cfg(test)]
mod tests;
