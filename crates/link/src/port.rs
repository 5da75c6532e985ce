//! One output port and the link behind it.

use crate::classes::Classes;
use crate::{Frame, Ring};
use duetime_core::{Rate, Span, Time, TransmitCost};

mod offer;
mod outcome;
mod prefetch;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use outcome::{Counters, Offer, Sent};

/// How much a port may hold, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Anything; less than 2³² bytes, which no port holds.
    Unlimited,
    /// This many packets of any size.
    Packets(u32),
    /// This many bytes; a packet is charged whole until its last bit has left.
    Bytes(u64),
}

/// One output port and its link: queue, marking, transmission and propagation.
///
/// Time only moves forward between calls. A departure at t comes before an arrival at t. What the packet path touches
/// fits into two cache lines; the rest lies apart.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port<F> {
    // First what an arrival at the far end needs.
    /// Packets in service or on the link; of a FIFO port also those that wait.
    wire: Ring<F>,
    /// When the last accepted packet (FIFO) or the packet in service (strict priority) has left.
    busy_until: Time,
    latency: Span,
    /// Two words of the driver's own, where an arrival and an offer find them at hand.
    pub tag: [u32; 2],
    /// Of the bytes accepted, what was still here at the last drain.
    queue_bytes: u32,
    /// How many packets at the end of `wire` had not left at the last drain.
    staying: u32,
    // Then what a packet that is offered needs besides.
    /// Picoseconds per byte, or 0 where that is not a whole number of 32 bits.
    ps_per_byte: u32,
    /// What a shared memory believes this port to hold.
    charged_bytes: u32,
    mark_packets: u32,
    mark_bytes: u32,
    limit_packets: u32,
    limit_bytes: u32,
    /// The lower of limit and threshold: with less in the port a packet is accepted and not marked.
    sure_packets: u32,
    /// The same in bytes, with the packet itself.
    sure_bytes: u32,
    queue_max_bytes: u32,
    /// Packets that wait in `rare.classes`.
    waiting: u32,
    accepted_bytes: u64,
    queue_integral: u64,
    rare: Box<Rare<F>>,
}

/// Which packet is next, and when that is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// The one that came first; on arrival.
    Fifo,
    /// The first of the first class that has one; when anybody next looks at the port. Nothing that comes later can
    /// change what was to be decided before.
    OnDemand,
    /// The same; when the driver says that the link is free.
    AtDeparture,
}

/// What a port rarely needs.
#[derive(Clone, Debug)]
struct Rare<F> {
    cost: TransmitCost,
    marks: u64,
    drops: u64,
    drop_bytes: u64,
    service: Service,
    classes: Option<Classes<F>>,
}

impl<F: Frame> Port<F> {
    /// A FIFO port of this rate, in front of a link with this propagation delay.
    pub fn new(rate: Rate, latency: Span) -> Self {
        let cost = rate.transmit_cost();
        Self {
            wire: Ring::default(),
            busy_until: Time::ZERO,
            latency,
            tag: [0; 2],
            queue_bytes: 0,
            staying: 0,
            ps_per_byte: cost
                .ps_per_byte()
                .and_then(|ps| u32::try_from(ps).ok())
                .unwrap_or(0),
            charged_bytes: 0,
            mark_packets: u32::MAX,
            mark_bytes: u32::MAX,
            limit_packets: u32::MAX,
            limit_bytes: u32::MAX,
            sure_packets: u32::MAX,
            sure_bytes: u32::MAX,
            queue_max_bytes: 0,
            waiting: 0,
            accepted_bytes: 0,
            queue_integral: 0,
            rare: Box::new(Rare {
                cost,
                marks: 0,
                drops: 0,
                drop_bytes: 0,
                service: Service::Fifo,
                classes: None,
            }),
        }
    }

    /// With a limit on its occupancy.
    #[must_use]
    pub fn with_limit(mut self, limit: Limit) -> Self {
        (self.limit_packets, self.limit_bytes) = limit.parts();
        self.made_sure()
    }

    /// Marks packets that find at least this much in the port, the packet in service included (D2TCP §3, K).
    #[must_use]
    pub fn with_mark_at(mut self, threshold: Limit) -> Self {
        (self.mark_packets, self.mark_bytes) = threshold.parts();
        self.made_sure()
    }

    fn made_sure(mut self) -> Self {
        self.sure_packets = self.mark_packets.min(self.limit_packets);
        self.sure_bytes = self.mark_bytes.min(self.limit_bytes);
        self
    }

    /// With this many strict-priority classes, at most 32, instead of FIFO. Which packet follows is decided when the
    /// port is next looked at, so that a packet costs no event of its own: the driver takes what arrives by
    /// [`Port::arrived_classed`].
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Self {
        if classes > 1 {
            self.rare.classes = Some(Classes::new(classes));
            self.rare.service = Service::OnDemand;
        }
        self
    }

    /// Strict priority whose driver must know of each packet when the link begins to send it: [`Offer::Queued`] and
    /// [`Port::departure`] say when the driver is to call the latter next. Only before the first packet.
    pub fn tell_departures(&mut self) {
        if self.rare.service == Service::OnDemand {
            self.rare.service = Service::AtDeparture;
        }
    }
}

impl Limit {
    /// In packets and in bytes.
    fn parts(self) -> (u32, u32) {
        match self {
            Self::Unlimited => (u32::MAX, u32::MAX),
            Self::Packets(packets) => (packets, u32::MAX),
            Self::Bytes(bytes) => (u32::MAX, u32::try_from(bytes).unwrap_or(u32::MAX)),
        }
    }
}

// The packet path touches two cache lines of a port.
const _: () = assert!(size_of::<Port<()>>() == 128);

/// Bytes × time from `since` to `until` on a clock of 1024 ps: stays that follow each other add up exactly.
#[inline(always)]
fn byte_time<F: Frame>(frame: F, since: Time, until: Time) -> u64 {
    u64::from(frame.wire_bytes()) * ((until.as_ps() >> 10) - (since.as_ps() >> 10))
}
