//! Receiving host of a flow: acknowledges data, returns allocations, and registers the reverse path as a separate flow.

use super::{Config, EncodedRate, Flags, MAX_HOPS, Packet, Request, Tag};

/// Maximum distance of accepted data beyond the next byte. Bounds the memory that a misbehaving peer can make a driver
/// use.
const WINDOW: u64 = 1 << 30;
/// Maximum number of ranges stored beyond a gap; data that would need more is dropped and retransmitted.
const MAX_RANGES: usize = 1_024;

/// Receiver of one flow. It has no timers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Receiver {
    /// Next byte to deliver.
    next: u64,
    /// Received ranges beyond `next`, ascending, disjoint and non-adjacent.
    ahead: Vec<(u64, u64)>,
    /// Length of the flow, after its FIN has arrived.
    end: Option<u64>,
    /// Feedback to send to the sender.
    feedback: Option<Feedback>,
    /// Rates that the routers of the reverse path have registered for our acknowledgements.
    registered: Registered,
    /// Number of our own last request.
    number: u16,
    outstanding: bool,
    opened: bool,
    abandoned: bool,
    acknowledge: bool,
    /// True if the FIN had no request, so that the acknowledgement must confirm it.
    plain_fin: bool,
    gaps: u8,
}

/// Feedback to a request, with the fields sent with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Feedback {
    allocations: [EncodedRate; MAX_HOPS],
    tag: Tag,
    kind: Flags,
    retransmit: bool,
    /// Pace of the sender's requests, which is also that of our answers.
    pace: u8,
}

/// State registered with the routers of a path. A reverse flow always has a desired rate of zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Registered {
    allocations: [EncodedRate; MAX_HOPS],
    stamps: u8,
}

/// Data delivered by a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes that became readable, in order.
    pub bytes: u64,
    /// True if these bytes complete the flow. Never true for a quenched flow.
    pub finished: bool,
}

impl Receiver {
    /// Creates a receiver that waits for the SYN.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes a packet from the sender.
    pub fn input(&mut self, packet: &Packet) -> Delivery {
        let flags = packet.flags;
        self.opened |= flags.contains(Flags::SYN);
        if !self.opened || flags.contains(Flags::ACK) {
            return Delivery::default();
        }
        if let Some(request) = &packet.request {
            self.store_feedback(flags, packet.tag, request);
        }
        let before = self.next;
        if packet.len > 0 && !self.abandoned {
            self.accept(packet.seq, packet.len);
        }
        let was_complete = self.end == Some(before);
        if flags.contains(Flags::FIN) && !flags.contains(Flags::SYN) {
            if packet.request.is_none() {
                (self.acknowledge, self.plain_fin) = (true, true);
            }
            self.abandoned |= flags.contains(Flags::QUENCH);
            let end = packet.seq.saturating_add(u64::from(packet.len));
            // The first FIN decides; a flow cannot end before data that was received.
            let received = self.ahead.last().map_or(self.next, |range| range.1);
            if self.end.is_none() && end >= received {
                self.end = Some(end);
            }
        }
        Delivery {
            bytes: self.next - before,
            finished: self.end == Some(self.next) && !was_complete && !self.abandoned,
        }
    }

    /// Processes a data packet without request and flags, like [`input`](Self::input). Returns the bytes that became
    /// readable, in order.
    #[inline]
    pub fn input_plain(&mut self, seq: u64, len: u32) -> u64 {
        let is_usual = self.opened && !self.abandoned && self.end.is_none();
        let is_in_order = seq == self.next && self.ahead.is_empty();
        if !is_usual || !is_in_order || u64::from(len) > WINDOW {
            return self.input_plain_rarely(seq, len);
        }
        self.next += u64::from(len);
        self.acknowledge |= len > 0;
        u64::from(len)
    }

    /// Processes a plain data packet in a state that is not usual.
    #[inline(never)]
    fn input_plain_rarely(&mut self, seq: u64, len: u32) -> u64 {
        let packet = Packet {
            seq,
            len,
            ..Packet::default()
        };
        self.input(&packet).bytes
    }

    /// Stores the path's allocations, to be returned, and the feedback for our own request.
    fn store_feedback(&mut self, flags: Flags, tag: Tag, request: &Request) {
        if flags.contains(Flags::FEEDBACK) && self.outstanding && tag.echo == self.number {
            self.outstanding = false;
            self.registered = Registered {
                allocations: request.feedback,
                stamps: tag.stamps,
            };
        }
        // SYN and FIN together pause the flow, and our reverse flow too.
        let kind = Flags(flags.0 & (Flags::SYN | Flags::FIN).0);
        if self.end.is_some() && kind != Flags::FIN {
            return;
        }
        self.feedback = Some(Feedback {
            allocations: request.allocations,
            tag: Tag {
                number: 0,
                echo: tag.number,
                hops: request.index,
                stamps: request.stamps,
            },
            kind,
            retransmit: flags.contains(Flags::RETRANSMIT),
            pace: request.pace,
        });
    }

    fn accept(&mut self, seq: u64, len: u32) {
        self.acknowledge = true;
        let Some(end) = seq.checked_add(u64::from(len)) else {
            return;
        };
        let limit = self
            .end
            .unwrap_or(u64::MAX)
            .min(self.next.saturating_add(WINDOW));
        if end > limit || end <= self.next {
            return;
        }
        if seq > self.next {
            self.gaps = self.gaps.saturating_add(1);
            self.store(seq, end);
            return;
        }
        self.next = end;
        let reached = self.ahead.iter().take_while(|range| range.0 <= end).count();
        if reached > 0 {
            self.next = end.max(self.ahead[reached - 1].1);
            self.ahead.drain(..reached);
        }
    }

    /// Merges a range beyond the gap into the stored ranges.
    fn store(&mut self, seq: u64, end: u64) {
        let first = self.ahead.partition_point(|range| range.1 < seq);
        let last = self.ahead.partition_point(|range| range.0 <= end);
        if first == last {
            if self.ahead.len() < MAX_RANGES {
                self.ahead.insert(first, (seq, end));
            }
            return;
        }
        self.ahead[first] = (
            seq.min(self.ahead[first].0),
            end.max(self.ahead[last - 1].1),
        );
        self.ahead.drain(first + 1..last);
    }

    /// Returns the next acknowledgement, or `None` if none is due.
    pub fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        if !self.can_transmit() {
            return None;
        }
        // Each arrival beyond a gap is acknowledged, because the sender counts them; all others are covered by the
        // newest.
        let gap = self.gaps > 0;
        self.gaps = self.gaps.saturating_sub(1);
        self.acknowledge = false;
        let seq = self.next + u64::from(self.end == Some(self.next));
        let flags = Flags::ACK.with(Flags::GAP, gap);
        let Some(feedback) = self.feedback.take() else {
            return Some(Packet {
                seq,
                flags: flags.with(Flags::FIN, self.plain_fin),
                ..Packet::default()
            });
        };
        // D3 §5, Fig 7: the answer to a request carries the feedback and a request for the reverse path.
        let mut request = Request {
            scale: config.exponent(),
            // No free slot, so that routers ignore it.
            index: MAX_HOPS as u8,
            feedback: feedback.allocations,
            ..Request::default()
        };
        let mut tag = feedback.tag;
        if config.host.reverse_request {
            request.index = 0;
            self.number = self.number.wrapping_add(1);
            self.outstanding = true;
            tag.number = self.number;
            request.previous_allocations = self.registered.allocations;
            request.stamps = self.registered.stamps;
            request.pace = feedback.pace;
        }
        let flags =
            (flags | feedback.kind | Flags::FEEDBACK).with(Flags::RETRANSMIT, feedback.retransmit);
        Some(Packet {
            seq,
            len: 0,
            flags,
            tag,
            request: Some(request),
        })
    }

    /// Returns the position of the next acknowledgement if the acknowledgement has no request and no flag other than
    /// [`Flags::ACK`]. [`poll_transmit`](Self::poll_transmit) would return the same packet; this is faster, and most
    /// acknowledgements are such.
    #[inline]
    pub fn poll_plain(&mut self) -> Option<u64> {
        let is_plain = self.gaps == 0 && self.feedback.is_none();
        if !self.acknowledge || !is_plain || self.end.is_some() || self.plain_fin {
            return None;
        }
        self.acknowledge = false;
        Some(self.next)
    }

    /// Returns true if `poll_transmit` would return a packet.
    #[inline]
    pub const fn can_transmit(&self) -> bool {
        self.acknowledge || self.gaps > 0 || self.feedback.is_some()
    }

    /// Requests an acknowledgement without new data. Called when the driver has buffer space again.
    pub fn request_acknowledgement(&mut self) {
        self.acknowledge = self.opened;
    }

    /// Returns true if the FIN and every byte before it have arrived. Never true for a quenched flow.
    pub fn is_finished(&self) -> bool {
        self.end == Some(self.next) && !self.abandoned
    }

    /// Returns true if the sender has abandoned the flow.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Returns the number of bytes delivered in order so far.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Returns true if the flow was completed, or abandoned by the sender, and everything is acknowledged. The receiver
    /// still answers a repeated FIN.
    pub fn is_closed(&self) -> bool {
        (self.abandoned || self.end == Some(self.next)) && !self.can_transmit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u64, len: u32) -> Packet {
        Packet {
            seq,
            len,
            ..Packet::default()
        }
    }

    fn open() -> (Config, Receiver) {
        let config = Config::default();
        let mut receiver = Receiver::new();
        receiver.input(&Packet {
            flags: Flags::SYN,
            ..Packet::default()
        });
        (config, receiver)
    }

    #[test]
    fn delivers_in_order_for_any_arrival_order() {
        let (_, mut receiver) = open();
        let mut input = |seq, len| receiver.input(&data(seq, len)).bytes;
        assert_eq!(input(20, 10), 0);
        assert_eq!(input(40, 10), 0);
        assert_eq!(input(25, 20), 0);
        assert_eq!(input(60, 5), 0);
        assert_eq!(input(0, 20), 50);
        assert_eq!(input(0, 55), 5, "partial duplicate");
        assert_eq!(input(10, 20), 0, "complete duplicate");
        assert_eq!(input(55, 5), 10);
    }

    #[test]
    fn acknowledges_each_arrival_beyond_a_gap() {
        let (config, mut receiver) = open();
        for seq in [10, 20, 30] {
            receiver.input(&data(seq, 10));
        }
        for _ in 0..3 {
            let ack = receiver.poll_transmit(&config).unwrap();
            assert_eq!((ack.seq, ack.flags), (0, Flags::ACK | Flags::GAP));
        }
        assert_eq!(receiver.poll_transmit(&config), None);
        receiver.input(&data(0, 10));
        let ack = receiver.poll_transmit(&config).unwrap();
        assert_eq!((ack.seq, ack.flags), (40, Flags::ACK));
    }

    #[test]
    fn quenched_flow_closes_without_finishing() {
        let (config, mut receiver) = open();
        receiver.input(&data(0, 10));
        let fin = Packet {
            flags: Flags::FIN | Flags::QUENCH,
            ..data(10, 0)
        };
        assert_eq!(receiver.input(&fin), Delivery::default());
        while receiver.poll_transmit(&config).is_some() {}
        assert!(receiver.is_closed());
    }

    #[test]
    fn extreme_positions_are_handled() {
        let (_, mut receiver) = open();
        for (seq, len) in [
            (u64::MAX, u32::MAX),
            (u64::MAX - 5, 5),
            (WINDOW + 1, 1),
            (0, u32::MAX),
        ] {
            assert_eq!(receiver.input(&data(seq, len)).bytes, 0);
        }
        for i in 0..5_000 {
            receiver.input(&data(2 * i + 1, 1));
        }
        assert!(receiver.ahead.len() <= MAX_RANGES);
    }
}
