//! One output port and the link behind it.

use crate::classes::Classes;
use crate::{Frame, Ring};
use duetime_core::{Rate, Span, Time, TransmitCost};

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

/// What became of a packet offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The port, or the memory that it shares, was full.
    Dropped,
    /// It will arrive at the far end.
    Sent(Sent),
    /// Strict priority: it waits.
    Queued {
        /// After [`Port::tell_departures`]: when the link is free, for the driver to call [`Port::departure`] then;
        /// `None` when the driver already knows.
        wake: Option<Time>,
    },
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its last bit arrives at the far end.
    pub arrival: Time,
    /// Nothing was on the way before it, so the driver must ask to be woken then.
    pub first: bool,
}

/// What a port has done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted.
    pub bytes: u64,
    /// Packets dropped for want of buffer.
    pub drops: u64,
    /// Bytes dropped for want of buffer.
    pub drop_bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Largest occupancy in bytes, the packet in service included.
    pub queue_max_bytes: u64,
    /// Σ bytes × time in the port, without delays, over the packets whose departure is known, in bytes × 1024 ps: by
    /// Little's law the time integral of the queue when none is left. [`Port::queue_integral`] is exact at any time.
    pub queue_integral: u64,
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

    /// With this many strict-priority classes, at most 32, instead of FIFO. Which packet follows is decided when the port is next
    /// looked at, so that a packet costs no event of its own: the driver takes what arrives by
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

    /// Whether the link is free: nothing is being sent, and in a FIFO port nothing waits either. Strict priority: as of
    /// the last drain.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// When the link is next free.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Whether packets are served by class.
    pub fn has_classes(&self) -> bool {
        self.rare.service != Service::Fifo
    }

    /// Bytes in the port as of the last drain, the packet in service included.
    #[inline(always)]
    pub fn queue_bytes(&self) -> u64 {
        u64::from(self.queue_bytes)
    }

    /// Packets in the port as of the last drain, the packet in service included.
    #[inline]
    pub fn queue_packets(&self) -> u32 {
        self.staying + self.waiting
    }

    /// Bytes in the port as of the last drain without the packet in service (D3's q).
    pub fn queue_bytes_waiting(&self) -> u64 {
        if self.staying == 0 {
            return self.queue_bytes();
        }
        u64::from(self.queue_bytes - self.wire.back(self.staying).frame.wire_bytes())
    }

    /// Bytes whose packets had left whole by the last drain, since the start (D3's u is a difference of two).
    pub fn departed_bytes(&self) -> u64 {
        self.accepted_bytes - self.queue_bytes()
    }

    /// What the port has done.
    pub fn counters(&self) -> Counters {
        Counters {
            packets: self.wire.pushed() + u64::from(self.waiting),
            bytes: self.accepted_bytes,
            drops: self.rare.drops,
            drop_bytes: self.rare.drop_bytes,
            marks: self.rare.marks,
            queue_max_bytes: u64::from(self.queue_max_bytes),
            queue_integral: self.queue_integral,
        }
    }

    /// Forgets the largest occupancy so far: from here on it is the largest since the last drain.
    pub fn restart_maximum(&mut self) {
        self.queue_max_bytes = self.queue_bytes;
    }

    /// The packet that was sent last, if it has not been taken.
    pub fn last_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.back(1).frame)
    }

    /// The packet that arrives next.
    #[inline]
    pub fn first_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.back(self.wire.len()).frame)
    }

    /// Reads what an arrival at the far end needs of the port: a driver of many ports calls this for several before it
    /// works on the first, so that the processor waits for all of them at once. The value means nothing.
    #[inline]
    pub fn prefetch_arrival(&self) -> u64 {
        u64::from(self.wire.len())
    }

    /// The same for the packet that arrives next.
    #[inline(always)]
    pub fn prefetch_first(&self) -> u64 {
        self.wire.prefetch_first()
    }

    /// The same for an offer.
    #[inline]
    pub fn prefetch_offer(&self) -> u64 {
        u64::from(self.wire.len()) ^ self.accepted_bytes
    }

    /// The same for what lies behind the port: the places of the next packets.
    #[inline]
    pub fn prefetch_wire(&self) -> u64 {
        self.wire.prefetch()
    }

    /// Packets in the port or on the link.
    pub fn frames(&self) -> impl Iterator<Item = F> + '_ {
        self.sent_frames().chain(self.waiting_frames())
    }

    /// Packets in service or on the link; of a FIFO port also those that wait.
    pub fn sent_frames(&self) -> impl Iterator<Item = F> + '_ {
        self.wire.iter()
    }

    /// Packets that wait in the classes of a strict-priority port.
    pub fn waiting_frames(&self) -> impl Iterator<Item = F> + '_ {
        self.waiting_in_classes().map(|(_, frame)| frame)
    }

    fn waiting_in_classes(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        self.rare.classes.iter().flat_map(Classes::iter)
    }

    /// The time integral of the queue, the packet in service included, up to `now`, to which the port was drained;
    /// in bytes × 1024 ps. A delay ([`Port::delay_last`]) is no time in the queue: the link may send the next packet
    /// meanwhile.
    pub fn queue_integral(&self, now: Time) -> u64 {
        // From the last packet back: the link sends what stays without a gap.
        let mut end = self.busy_until;
        let mut ahead = 0;
        for count in 1..=self.staying {
            let frame = self.wire.back(count).frame;
            ahead += byte_time(frame, now.min(end), end);
            end = Time::from_ps(end.as_ps() - self.transmission_ps(frame));
        }
        let waiting = self
            .waiting_in_classes()
            .map(|(since, frame)| byte_time(frame, since, now));
        self.queue_integral + waiting.sum::<u64>() - ahead
    }

    /// Lets every packet whose last bit has left by `now` go.
    #[inline(always)]
    pub fn drain(&mut self, now: Time) {
        if self.waiting != 0 && self.busy_until <= now {
            self.serve(now);
        }
        self.let_go(now);
    }

    /// As [`Port::drain`], where nothing waits in classes.
    #[inline(always)]
    fn let_go(&mut self, now: Time) {
        let horizon = now.as_ps() + self.latency.as_ps();
        while self.staying != 0 {
            let slot = self.wire.back(self.staying);
            if slot.arrival.as_ps() > horizon {
                break;
            }
            self.queue_bytes -= slot.frame.wire_bytes();
            self.staying -= 1;
        }
    }

    /// Offers a packet at `now`.
    pub fn offer(&mut self, now: Time, frame: F) -> Offer {
        self.drain(now);
        if self.admits(frame.wire_bytes()) {
            self.accept(now, frame)
        } else {
            self.refuse(frame)
        }
    }

    /// Offers a packet at `now` to a port without classes; `None`: dropped.
    #[inline(always)]
    pub fn offer_fifo(&mut self, now: Time, frame: F) -> Option<Sent> {
        debug_assert!(!self.has_classes());
        let bytes = frame.wire_bytes();
        // Without a drain the port seems to hold more than it does. Where even that is below the limit, the threshold
        // and the largest occupancy so far, what has left since changes nothing.
        if self.staying < self.sure_packets
            && self.queue_bytes() + u64::from(bytes)
                <= u64::from(self.queue_max_bytes.min(self.sure_bytes))
        {
            self.accepted_bytes += u64::from(bytes);
            self.queue_bytes += bytes;
            return Some(self.append(now, frame));
        }
        self.let_go(now);
        if !self.admits_fifo(bytes) {
            self.refuse(frame);
            return None;
        }
        Some(self.accept_fifo(now, frame))
    }

    /// Sends a packet at `now` from an idle port without classes, limits or marking: a NIC that pulls. The
    /// packet leaves later by `delay`; see [`Port::delay_last`].
    #[inline(always)]
    pub fn send_at_once(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        debug_assert!(!self.has_classes() && self.is_idle(now));
        self.staying = 0;
        self.accepted_bytes += u64::from(frame.wire_bytes());
        self.queue_bytes = frame.wire_bytes();
        self.queue_max_bytes = self.queue_max_bytes.max(self.queue_bytes);
        let sending = self.transmission_ps(frame);
        self.busy_until = Time::from_ps(now.as_ps() + sending);
        self.queue_integral += byte_time(frame, now, self.busy_until);
        self.put_on_wire(self.busy_until.as_ps() + delay.as_ps(), frame)
    }

    /// Whether the port's own limit admits `bytes` more, as of the last drain.
    #[inline]
    pub fn admits(&self, bytes: u32) -> bool {
        self.queue_packets() < self.limit_packets && self.fits(bytes)
    }

    #[inline(always)]
    fn fits(&self, bytes: u32) -> bool {
        self.queue_bytes() + u64::from(bytes) <= u64::from(self.limit_bytes)
    }

    /// Counts a packet as dropped.
    #[cold]
    pub fn refuse(&mut self, frame: F) -> Offer {
        self.rare.drops += 1;
        self.rare.drop_bytes += u64::from(frame.wire_bytes());
        Offer::Dropped
    }

    /// Accepts a packet that was found to fit, after a drain at `now`.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, frame: F) -> Offer {
        if !self.has_classes() {
            return Offer::Sent(self.accept_fifo(now, frame));
        }
        let frame = self.admit(frame, self.queue_packets());
        if self.busy_until > now || self.waiting != 0 {
            let classes = self.rare.classes.as_mut().expect("checked above");
            classes.push(now, frame);
            self.waiting += 1;
            let tells = self.rare.service == Service::AtDeparture && self.waiting == 1;
            let wake = tells.then_some(self.busy_until);
            return Offer::Queued { wake };
        }
        Offer::Sent(self.transmit(now, now, frame))
    }

    /// As [`Port::accept`], by a port without classes.
    #[inline(always)]
    pub(crate) fn accept_fifo(&mut self, now: Time, frame: F) -> Sent {
        let frame = self.admit(frame, self.staying);
        self.append(now, frame)
    }

    /// Puts an accepted packet behind those that wait.
    #[inline(always)]
    fn append(&mut self, now: Time, frame: F) -> Sent {
        let departure = self.busy_until.max(now).as_ps() + self.transmission_ps(frame);
        self.busy_until = Time::from_ps(departure);
        self.queue_integral += byte_time(frame, now, self.busy_until);
        self.put_on_wire(departure, frame)
    }

    #[inline(always)]
    fn transmission_ps(&self, frame: F) -> u64 {
        if self.ps_per_byte != 0 {
            return u64::from(frame.wire_bytes()) * u64::from(self.ps_per_byte);
        }
        self.divided_ps(frame)
    }

    /// At a rate that has no whole number of picoseconds per byte.
    #[cold]
    #[inline(never)]
    fn divided_ps(&self, frame: F) -> u64 {
        self.rare.cost.of(frame.wire_bytes()).as_ps()
    }

    /// Marks and counts a packet that finds `packets` in the port.
    #[inline(always)]
    fn admit(&mut self, mut frame: F, packets: u32) -> F {
        // D2TCP §3: instantaneous occupancy before the packet is added, against K.
        if (packets >= self.mark_packets || self.queue_bytes >= self.mark_bytes)
            && frame.is_ecn_capable()
        {
            frame.mark();
            self.rare.marks += 1;
        }
        self.accepted_bytes += u64::from(frame.wire_bytes());
        self.queue_bytes += frame.wire_bytes();
        self.queue_max_bytes = self.queue_max_bytes.max(self.queue_bytes);
        frame
    }

    /// Strict priority: the link is free at `now`; sends the next packet of the first class that has one. Returns
    /// it and when to call again, if packets still wait. Comes before all offers at `now`, which would else compete.
    pub fn departure(&mut self, now: Time) -> Option<(Sent, Option<Time>)> {
        if self.waiting == 0 {
            return None;
        }
        let sent = self.transmit_next(now);
        Some((sent, (self.waiting != 0).then_some(self.busy_until)))
    }

    /// Strict priority on demand: sends what the link has begun to send by `until`.
    #[inline(never)]
    fn serve(&mut self, until: Time) {
        if self.rare.service == Service::OnDemand {
            while self.waiting != 0 && self.busy_until <= until {
                self.transmit_next(self.busy_until);
            }
        }
    }

    /// Puts the first packet of the first class that has one, which there must be, into service at `now`.
    #[inline(always)]
    fn transmit_next(&mut self, now: Time) -> Sent {
        let classes = self.rare.classes.as_mut().expect("a packet waits in them");
        let first = classes.pop();
        self.waiting -= 1;
        self.transmit(now, first.arrival, first.frame)
    }

    /// Puts a packet that came at `since` into service at `now`.
    #[inline(always)]
    fn transmit(&mut self, now: Time, since: Time, frame: F) -> Sent {
        self.busy_until = Time::from_ps(now.as_ps() + self.transmission_ps(frame));
        self.queue_integral += byte_time(frame, since, self.busy_until);
        self.put_on_wire(self.busy_until.as_ps(), frame)
    }

    #[inline(always)]
    fn put_on_wire(&mut self, departure_ps: u64, frame: F) -> Sent {
        let arrival = Time::from_ps(departure_ps + self.latency.as_ps());
        let first = self.wire.is_empty();
        self.wire.push(arrival, frame);
        self.staying += 1;
        Sent { arrival, first }
    }

    /// Lets the packet that has just been sent leave later by `by`, at the cost of the gap behind it and not of the
    /// link's time: the next one is not put off. To keep the packets in order, `by` must be at most the transmission
    /// time of the smallest.
    pub fn delay_last(&mut self, sent: Sent, by: Span) -> Sent {
        let arrival = sent.arrival + by;
        self.wire.delay_last(arrival);
        Sent { arrival, ..sent }
    }

    /// Takes the packet that arrives at the far end now.
    ///
    /// # Panics
    /// If nothing is on the way; unchecked in release builds.
    #[inline(always)]
    pub fn arrive(&mut self) -> F {
        let frame = self.arriving();
        self.arrived(frame);
        frame
    }

    /// The packet that arrives at the far end next.
    ///
    /// # Panics
    /// If nothing is on the way; unchecked in release builds.
    #[inline(always)]
    pub fn arriving(&self) -> F {
        self.wire.first()
    }

    /// [`Port::arriving`], which is given, has arrived at the far end; gives when the one after it does. The two in turn
    /// are [`Port::arrive`] with a copy less.
    #[inline(always)]
    pub fn arrived(&mut self, frame: F) -> Option<Time> {
        let next = self.wire.drop_first();
        let left = self.wire.len();
        if self.staying > left {
            self.staying = left;
            self.queue_bytes -= frame.wire_bytes();
        }
        next
    }

    /// As [`Port::arrived`], at `now`, of a port that may have classes: the next packet, if there is one, has then begun to
    /// leave.
    #[inline]
    pub fn arrived_classed(&mut self, now: Time, frame: F) -> Option<Time> {
        let next = self.arrived(frame);
        if self.waiting != 0 && self.busy_until.as_ps() + self.latency.as_ps() <= now.as_ps() {
            // What came to the port after this packet had left is none of the far end's business yet: its clock may be
            // ahead of the port's by as much as the link takes.
            self.serve(now - self.latency);
            return self.wire.next_arrival();
        }
        next
    }

    /// When the next packet arrives at the far end.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        self.wire.next_arrival()
    }

    /// Whether the next packet that is sent takes more memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.wire.is_full()
    }

    /// For a link whose far end lies elsewhere: forgets packets that have left. Their arrivals are the driver's.
    pub fn forget_departed(&mut self, now: Time) {
        self.drain(now);
        self.wire.keep_last(self.staying);
    }

    /// Adds to what a shared memory, which is smaller than 2³² bytes, believes this port to hold.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: u32) {
        self.charged_bytes += bytes;
    }

    /// Sets what a shared memory believes to what the port held at the last drain; returns the difference.
    #[inline]
    pub(crate) fn settle(&mut self) -> u64 {
        let released = self.charged_bytes - self.queue_bytes;
        self.charged_bytes = self.queue_bytes;
        u64::from(released)
    }

    /// As [`Port::admits`], of a port without classes.
    #[inline]
    pub(crate) fn admits_fifo(&self, bytes: u32) -> bool {
        self.staying < self.limit_packets && self.fits(bytes)
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

#[cfg(test)]
mod tests;
