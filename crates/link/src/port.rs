//! Output port and its link.

use crate::classes::Classes;
use crate::{Frame, Ring};
use duetime_core::{Rate, Span, Time, TransmitCost};

mod offer;
mod outcome;
mod prefetch;
mod ranked;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use outcome::{Counters, Offer, Sent};
use ranked::Ranked;

/// Limit on the occupancy of a port, or threshold for marking; the packet in service is included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit other than 2³² bytes, which no port reaches.
    Unlimited,
    /// Number of packets of any size.
    Packets(u32),
    /// Number of bytes. A packet is counted in full until its last bit has left.
    Bytes(u64),
}

/// Output port and its link: queue, marking, transmission and propagation.
///
/// Time never goes backwards between calls. A departure at time t precedes an arrival at t. The packet path touches
/// only the first two cache lines; the remaining state is boxed.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port<F> {
    // Fields used by an arrival at the far end.
    /// Packets in service or on the link. A FIFO port also keeps its waiting packets here; a port with
    /// [`Service::OnDemand`] does so until a packet overtakes them.
    wire: Ring<F>,
    /// Departure time of the last packet put on `wire`.
    busy_until: Time,
    latency: Span,
    /// Two words for the driver, in the cache line that arrivals and offers use.
    pub tag: [u32; 2],
    /// Bytes accepted that were still in the port at the last drain.
    queue_bytes: u32,
    /// Number of packets at the end of `wire` that had not left at the last drain.
    staying: u32,
    // Additional fields used by an offer.
    /// Picoseconds per byte, or 0 if that is not an integer of 32 bits.
    ps_per_byte: u32,
    /// Bytes that the shared memory has charged to this port.
    charged_bytes: u32,
    mark_packets: u32,
    mark_bytes: u32,
    limit_packets: u32,
    limit_bytes: u32,
    /// Lower of limit and threshold: below it, a packet is accepted without a mark.
    sure_packets: u32,
    /// Lowest of limit, threshold and `queue_max_bytes`, in bytes, or less, with the new packet included.
    sure_bytes: u32,
    queue_max_bytes: u32,
    /// Packets waiting in `rare.classes`.
    waiting: u32,
    accepted_bytes: u64,
    queue_integral: u64,
    rare: Box<Rare<F>>,
}

/// Scheduling discipline: the choice of the next packet and the time of the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// First come, first served; decided on arrival.
    Fifo,
    /// First packet of the highest-priority class. As long as packets arrive in the order of their classes, they are
    /// planned as in a FIFO port. A packet that overtakes others returns those to their classes; until these are empty,
    /// the next packet is chosen when the port is next accessed. Later arrivals cannot change earlier choices.
    OnDemand,
    /// First packet of the highest-priority class, chosen when the driver reports that the link is free.
    AtDeparture,
}

/// State outside the packet path.
#[derive(Clone, Debug)]
struct Rare<F> {
    cost: TransmitCost,
    marks: u64,
    drops: u64,
    drop_bytes: u64,
    service: Service,
    classes: Option<Classes<F>>,
    ranked: Option<Ranked<F>>,
}

impl<F: Frame> Port<F> {
    /// Creates a FIFO port of this rate in front of a link with this propagation delay.
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
            sure_bytes: 0,
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
                ranked: None,
            }),
        }
    }

    /// Sets the limit on the occupancy.
    #[must_use]
    pub fn with_limit(mut self, limit: Limit) -> Self {
        (self.limit_packets, self.limit_bytes) = limit.parts();
        self.with_thresholds_updated()
    }

    /// Marks packets that find at least this occupancy, the packet in service included (D2TCP §3, K).
    #[must_use]
    pub fn with_mark_at(mut self, threshold: Limit) -> Self {
        (self.mark_packets, self.mark_bytes) = threshold.parts();
        self.with_thresholds_updated()
    }

    fn with_thresholds_updated(mut self) -> Self {
        self.sure_packets = self.mark_packets.min(self.limit_packets);
        self
    }

    /// Replaces FIFO by strict priority with this number of classes, at most 32. The next packet is chosen when the
    /// port is next accessed, so packets need no departure event. The driver takes arriving packets with
    /// [`Port::arrived_classed`].
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Self {
        if classes > 1 {
            self.rare.classes = Some(Classes::new(classes));
            self.rare.service = Service::OnDemand;
        }
        self
    }

    /// Notifies the driver of each departure under strict priority: [`Offer::Queued`] and [`Port::departure`] return
    /// the time at which to call [`Port::departure`] next. Must be called before the first packet.
    pub fn notify_departures(&mut self) {
        if self.rare.service == Service::OnDemand {
            self.rare.service = Service::AtDeparture;
        }
    }
}

impl Limit {
    /// Returns the limit in packets and in bytes.
    fn parts(self) -> (u32, u32) {
        match self {
            Self::Unlimited => (u32::MAX, u32::MAX),
            Self::Packets(packets) => (packets, u32::MAX),
            Self::Bytes(bytes) => (u32::MAX, u32::try_from(bytes).unwrap_or(u32::MAX)),
        }
    }
}

const _: () = assert!(size_of::<Port<()>>() == 128);

/// Returns bytes × time from `since` to `until` on a clock of 1024 ps, so that consecutive intervals add up exactly.
#[inline(always)]
fn byte_time<F: Frame>(frame: F, since: Time, until: Time) -> u64 {
    u64::from(frame.wire_bytes()) * ((until.as_ps() >> 10) - (since.as_ps() >> 10))
}
