//! One output port and the link behind it.

use crate::classes::Classes;
use crate::{Frame, Ring};
use duetime_core::{Rate, Span, Time, TransmitCost};

/// How much a port may hold, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Anything.
    Unlimited,
    /// This many packets of any size.
    Packets(u32),
    /// This many bytes; a packet is charged whole until its last bit has left.
    Bytes(u64),
}

/// What became of a packet offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// There was no room.
    Dropped,
    /// It will arrive at the far end at this instant. `first`: nothing else is on the way, so the driver must ask to
    /// be woken then.
    Sent {
        /// When its last bit arrives at the far end.
        arrival: Time,
        /// Nothing was on the way before it.
        first: bool,
    },
    /// Strict priority: it waits. The driver calls [`Port::departure`] at `wake`, if given.
    Queued {
        /// When the link is free; `None` when the driver already knows.
        wake: Option<Time>,
    },
}

/// What a port has done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted.
    pub bytes: u64,
    /// Packets dropped for want of room.
    pub drops: u64,
    /// Bytes dropped for want of room.
    pub drop_bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Largest occupancy in bytes, the packet in service included.
    pub queue_max_bytes: u64,
    /// Σ bytes × time in the port, in bytes × 1024 ps: by Little's law the time integral of the queue.
    pub queue_integral: u64,
}

/// One output port and its link: queue, marking, transmission and propagation.
///
/// Time only moves forward between calls. A departure at t comes before an arrival at t.
#[derive(Clone, Debug)]
pub struct Port<F> {
    /// When the last accepted packet (FIFO) or the packet in service (strict priority) has left.
    busy_until: Time,
    cost: TransmitCost,
    latency: Span,
    wire: Ring<F>,
    /// Position in `wire` of the first packet whose last bit has not left, as of the last drain.
    departed: u32,
    /// Packets in the port as of the last drain: waiting classes and `wire` from `departed` on.
    queue_packets: u32,
    queue_bytes: u64,
    /// What a shared memory believes this port to hold.
    charged_bytes: u64,
    limit: Limit,
    mark_packets: u32,
    mark_bytes: u64,
    counters: Counters,
    classes: Option<Box<Classes<F>>>,
}

impl<F: Frame> Port<F> {
    /// A FIFO port of this rate, in front of a link with this propagation delay.
    pub fn new(rate: Rate, latency: Span) -> Self {
        Self {
            busy_until: Time::ZERO,
            cost: rate.transmit_cost(),
            latency,
            wire: Ring::default(),
            departed: 0,
            queue_packets: 0,
            queue_bytes: 0,
            charged_bytes: 0,
            limit: Limit::Unlimited,
            mark_packets: u32::MAX,
            mark_bytes: u64::MAX,
            counters: Counters::default(),
            classes: None,
        }
    }

    /// With a limit on its occupancy.
    #[must_use]
    pub fn with_limit(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    /// Marks packets that find at least this much in the port, the packet in service included (D2TCP §3, K).
    #[must_use]
    pub fn with_mark_at(mut self, threshold: Limit) -> Self {
        (self.mark_packets, self.mark_bytes) = match threshold {
            Limit::Unlimited => (u32::MAX, u64::MAX),
            Limit::Packets(packets) => (packets, u64::MAX),
            Limit::Bytes(bytes) => (u32::MAX, bytes),
        };
        self
    }

    /// With this many strict-priority classes instead of FIFO.
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Self {
        self.classes = (classes > 1).then(|| Box::new(Classes::new(classes)));
        self
    }

    /// Whether nothing is being sent or waits to be.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// When the link is next free.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Propagation delay of the link.
    pub fn latency(&self) -> Span {
        self.latency
    }

    /// Bytes in the port as of the last drain, the packet in service included.
    #[inline]
    pub fn queue_bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Packets in the port as of the last drain, the packet in service included.
    #[inline]
    pub fn queue_packets(&self) -> u32 {
        self.queue_packets
    }

    /// Bytes in the port as of the last drain without the packet in service (D3's q).
    pub fn queue_bytes_waiting(&self) -> u64 {
        if self.departed == self.wire.end() {
            return self.queue_bytes;
        }
        self.queue_bytes - u64::from(self.wire.at(self.departed).frame.wire_bytes())
    }

    /// Bytes whose packets had left whole by the last drain, since the start (D3's u is a difference of two).
    pub fn departed_bytes(&self) -> u64 {
        self.counters.bytes - self.queue_bytes
    }

    /// What the port has done.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The packet that was sent last, if it has not been taken.
    pub fn last_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.at(self.wire.end().wrapping_sub(1)).frame)
    }

    /// Packets in the port or on the link.
    pub fn frames(&self) -> impl Iterator<Item = F> + '_ {
        self.wire.iter().chain(self.classes.iter().flat_map(|classes| classes.iter()))
    }

    /// Adds to what a shared memory believes this port to hold.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: u32) {
        self.charged_bytes += u64::from(bytes);
    }

    /// Sets what a shared memory believes to what the port held at the last drain; returns the difference.
    #[inline]
    pub(crate) fn settle(&mut self) -> u64 {
        let released = self.charged_bytes - self.queue_bytes;
        self.charged_bytes = self.queue_bytes;
        released
    }

    /// Lets every packet whose last bit has left by `now` go.
    #[inline]
    pub fn drain(&mut self, now: Time) {
        let horizon = now + self.latency;
        while self.departed != self.wire.end() {
            let slot = self.wire.at(self.departed);
            if slot.arrival > horizon {
                break;
            }
            self.queue_bytes -= u64::from(slot.frame.wire_bytes());
            self.queue_packets -= 1;
            self.departed = self.departed.wrapping_add(1);
        }
    }

    /// Offers a packet at `now`.
    #[inline]
    pub fn offer(&mut self, now: Time, frame: F) -> Offer {
        self.drain(now);
        if self.has_room(frame.wire_bytes()) { self.accept(now, frame) } else { self.refuse(frame) }
    }

    /// Whether the port's own limit admits `bytes` more, as of the last drain.
    #[inline]
    pub fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(packets) => self.queue_packets < packets,
            Limit::Bytes(limit) => self.queue_bytes + u64::from(bytes) <= limit,
        }
    }

    /// Counts a packet as dropped.
    #[cold]
    pub fn refuse(&mut self, frame: F) -> Offer {
        self.counters.drops += 1;
        self.counters.drop_bytes += u64::from(frame.wire_bytes());
        Offer::Dropped
    }

    /// Accepts a packet that was found to fit, after a drain at `now`.
    #[inline]
    pub fn accept(&mut self, now: Time, mut frame: F) -> Offer {
        // D2TCP §3: instantaneous occupancy before the packet is added, against K.
        if (self.queue_packets >= self.mark_packets || self.queue_bytes >= self.mark_bytes) && frame.is_ecn_capable() {
            frame.mark();
            self.counters.marks += 1;
        }
        let bytes = u64::from(frame.wire_bytes());
        self.queue_packets += 1;
        self.queue_bytes += bytes;
        self.counters.packets += 1;
        self.counters.bytes += bytes;
        self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(self.queue_bytes);
        if self.classes.is_some() {
            return self.accept_by_class(now, frame);
        }
        let departure = self.busy_until.max(now) + self.cost.of(frame.wire_bytes());
        self.busy_until = departure;
        self.counters.queue_integral += bytes * (departure.since(now).as_ps() >> 10);
        let arrival = departure + self.latency;
        let first = self.wire.is_empty();
        self.wire.push(arrival, frame);
        Offer::Sent { arrival, first }
    }

    fn accept_by_class(&mut self, now: Time, frame: F) -> Offer {
        // A class's queueing time is known only when it ends: charge the entry now and the exit on transmission.
        self.counters.queue_integral = self
            .counters
            .queue_integral
            .wrapping_sub(u64::from(frame.wire_bytes()).wrapping_mul(now.as_ps() >> 10));
        let busy = self.busy_until > now;
        let classes = self.classes.as_mut().expect("strict priority");
        if busy || !classes.is_empty() {
            classes.push(frame);
            let wake = (!classes.wake_pending).then_some(self.busy_until);
            classes.wake_pending = true;
            return Offer::Queued { wake };
        }
        self.transmit(now, frame)
    }

    /// Strict priority: the link is free at `now`; sends the next packet of the first class that has one. Returns
    /// what became of it and when to call again, if packets still wait.
    pub fn departure(&mut self, now: Time) -> Option<(Offer, Option<Time>)> {
        let classes = self.classes.as_mut()?;
        classes.wake_pending = false;
        let frame = classes.pop()?;
        let more = !classes.is_empty();
        classes.wake_pending = more;
        let offer = self.transmit(now, frame);
        Some((offer, more.then_some(self.busy_until)))
    }

    fn transmit(&mut self, now: Time, frame: F) -> Offer {
        let departure = now + self.cost.of(frame.wire_bytes());
        self.busy_until = departure;
        self.counters.queue_integral = self
            .counters
            .queue_integral
            .wrapping_add(u64::from(frame.wire_bytes()).wrapping_mul(departure.as_ps() >> 10));
        let arrival = departure + self.latency;
        let first = self.wire.is_empty();
        self.wire.push(arrival, frame);
        Offer::Sent { arrival, first }
    }

    /// Takes the packet that arrives at the far end now, with the arrival of the one behind it.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<(F, Option<Time>)> {
        if self.departed == self.wire.end().wrapping_sub(self.wire.len()) {
            self.drain(now);
        }
        let frame = self.wire.pop()?;
        Some((frame, self.wire.next_arrival()))
    }

    /// For a link whose far end lies elsewhere: forgets packets that have left. Their arrivals are the driver's.
    pub fn forget_departed(&mut self, now: Time) {
        self.drain(now);
        while self.wire.end().wrapping_sub(self.wire.len()) != self.departed {
            self.wire.pop();
        }
    }
}
