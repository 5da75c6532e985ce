//! The receiving host of a flow: acknowledges data, returns allocations, and registers the way back as a flow of its
//! own.

use super::{Config, EncodedRate, Flags, MAX_HOPS, Packet, Request, Tag};
use duetime_core::Time;

/// Data further ahead than this is not accepted: bounds what a misbehaving peer can make a driver hold.
const WINDOW: u64 = 1 << 30;
/// Ranges kept beyond a gap; data that would need more is dropped and sent again.
const MAX_RANGES: usize = 1_024;

/// One flow's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Every byte below has been delivered.
    next: u64,
    /// Received ranges beyond `next`, ascending, neither touching nor overlapping.
    ahead: Vec<(u64, u64)>,
    /// The flow's length, once its FIN has come.
    end: Option<u64>,
    /// Feedback owed to the sender.
    feedback: Option<Feedback>,
    /// What the routers of the way back hold for our acknowledgements.
    held: Held,
    /// Our own request that is on its way.
    number: u16,
    outstanding: bool,
    opened: bool,
    gave_up: bool,
    acknowledge: bool,
    /// The FIN came without a request: what answers it says that it has come.
    plain_fin: bool,
    gaps: u8,
}

/// Feedback to a request, and what has to go with it.
#[derive(Clone, Copy, Debug)]
struct Feedback {
    allocations: [EncodedRate; MAX_HOPS],
    tag: Tag,
    kind: Flags,
    again: bool,
    /// The answers come as seldom as the requests.
    pace: u8,
}

/// Registered with the routers of a path. A reverse flow always asks for nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    allocations: [EncodedRate; MAX_HOPS],
    stamps: u8,
}

/// What a packet brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes that became readable, in order.
    pub bytes: u64,
    /// With them the flow is complete. Never for a quenched flow.
    pub finished: bool,
}

impl Receiver {
    /// A receiver that waits for the SYN.
    pub fn new(_config: &Config) -> Self {
        Self {
            next: 0,
            ahead: Vec::new(),
            end: None,
            feedback: None,
            held: Held::default(),
            number: 0,
            outstanding: false,
            opened: false,
            gave_up: false,
            acknowledge: false,
            plain_fin: false,
            gaps: 0,
        }
    }

    /// A packet from the sender.
    pub fn input(&mut self, _config: &Config, _now: Time, packet: &Packet) -> Delivery {
        let flags = packet.flags;
        self.opened |= flags.contains(Flags::SYN);
        if !self.opened || flags.contains(Flags::ACK) {
            return Delivery::default();
        }
        if let Some(request) = &packet.request {
            self.answer(flags, packet.tag, request);
        }
        let before = self.next;
        if packet.len > 0 && !self.gave_up {
            self.accept(packet.seq, packet.len);
        }
        let was_complete = self.end == Some(before);
        if flags.contains(Flags::FIN) && !flags.contains(Flags::SYN) {
            if packet.request.is_none() {
                (self.acknowledge, self.plain_fin) = (true, true);
            }
            self.gave_up |= flags.contains(Flags::QUENCH);
            let end = packet.seq.saturating_add(u64::from(packet.len));
            // The first FIN decides; a flow cannot end before what has been received.
            let received = self.ahead.last().map_or(self.next, |range| range.1);
            if self.end.is_none() && end >= received {
                self.end = Some(end);
            }
        }
        Delivery {
            bytes: self.next - before,
            finished: self.end == Some(self.next) && !was_complete && !self.gave_up,
        }
    }

    /// Takes over the path's allocations, to be sent back, and our own feedback.
    fn answer(&mut self, flags: Flags, tag: Tag, request: &Request) {
        if flags.contains(Flags::FEEDBACK) && self.outstanding && tag.echo == self.number {
            self.outstanding = false;
            self.held = Held {
                allocations: request.feedback,
                stamps: tag.stamps,
            };
        }
        // Both: the flow rests, and so does ours.
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
            again: flags.contains(Flags::RETRANSMIT),
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
            self.keep(seq, end);
            return;
        }
        self.next = end;
        let reached = self.ahead.iter().take_while(|range| range.0 <= end).count();
        if reached > 0 {
            self.next = end.max(self.ahead[reached - 1].1);
            self.ahead.drain(..reached);
        }
    }

    /// Merges a range beyond the gap into those already there.
    fn keep(&mut self, seq: u64, end: u64) {
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

    /// Nothing here waits for a time.
    pub fn timeout(&mut self, _config: &Config, _now: Time) {}

    /// The next acknowledgement, if one is due.
    pub fn poll_transmit(&mut self, config: &Config, _now: Time) -> Option<Packet> {
        if !self.owes_an_answer() {
            return None;
        }
        // Each arrival beyond a gap is told of (the sender counts them); all else is covered by the newest.
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
        // D3 §5, Fig 7: the answer to a request carries the feedback and, for the way back, a request of its own.
        let mut request = Request {
            scale: config.exponent(),
            // No free slot: routers leave it alone.
            index: MAX_HOPS as u8,
            feedback: feedback.allocations,
            ..Request::default()
        };
        let mut tag = feedback.tag;
        if config.reverse_request {
            request.index = 0;
            self.number = self.number.wrapping_add(1);
            self.outstanding = true;
            tag.number = self.number;
            request.previous_allocations = self.held.allocations;
            request.stamps = self.held.stamps;
            request.pace = feedback.pace;
        }
        let flags =
            (flags | feedback.kind | Flags::FEEDBACK).with(Flags::RETRANSMIT, feedback.again);
        Some(Packet {
            seq,
            len: 0,
            flags,
            tag,
            request: Some(request),
        })
    }

    /// Whether `poll_transmit` would give a packet.
    #[inline]
    pub const fn can_transmit(&self, _config: &Config) -> bool {
        self.owes_an_answer()
    }

    const fn owes_an_answer(&self) -> bool {
        self.acknowledge || self.gaps > 0 || self.feedback.is_some()
    }

    /// Never: see `timeout`.
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        Time::MAX
    }

    /// An acknowledgement leaves although nothing has come: the driver has buffer space again.
    pub fn acknowledge_again(&mut self) {
        self.acknowledge = self.opened;
    }

    /// The FIN has come, and every byte before it. Never for a quenched flow.
    pub fn is_finished(&self) -> bool {
        self.end == Some(self.next) && !self.gave_up
    }

    /// The sender has given the flow up.
    pub fn is_given_up(&self) -> bool {
        self.gave_up
    }

    /// Bytes delivered in order so far.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Complete or given up by the sender, and answered. It still answers when a FIN is repeated.
    pub fn is_closed(&self) -> bool {
        (self.gave_up || self.end == Some(self.next)) && !self.owes_an_answer()
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
        let mut receiver = Receiver::new(&config);
        receiver.input(
            &config,
            Time::ZERO,
            &Packet {
                flags: Flags::SYN,
                ..Packet::default()
            },
        );
        (config, receiver)
    }

    #[test]
    fn data_is_delivered_in_order_whatever_its_order_of_arrival() {
        let (config, mut receiver) = open();
        let mut input = |seq, len| receiver.input(&config, Time::ZERO, &data(seq, len)).bytes;
        assert_eq!(input(20, 10), 0);
        assert_eq!(input(40, 10), 0);
        assert_eq!(input(25, 20), 0);
        assert_eq!(input(60, 5), 0);
        assert_eq!(input(0, 20), 50);
        assert_eq!(input(0, 55), 5, "partly old");
        assert_eq!(input(10, 20), 0, "all old");
        assert_eq!(input(55, 5), 10);
    }

    #[test]
    fn every_arrival_beyond_a_gap_is_told_of() {
        let (config, mut receiver) = open();
        for seq in [10, 20, 30] {
            receiver.input(&config, Time::ZERO, &data(seq, 10));
        }
        for _ in 0..3 {
            let ack = receiver.poll_transmit(&config, Time::ZERO).unwrap();
            assert_eq!((ack.seq, ack.flags), (0, Flags::ACK | Flags::GAP));
        }
        assert_eq!(receiver.poll_transmit(&config, Time::ZERO), None);
        receiver.input(&config, Time::ZERO, &data(0, 10));
        let ack = receiver.poll_transmit(&config, Time::ZERO).unwrap();
        assert_eq!((ack.seq, ack.flags), (40, Flags::ACK));
    }

    #[test]
    fn a_quenched_flow_closes_and_never_finishes() {
        let (config, mut receiver) = open();
        receiver.input(&config, Time::ZERO, &data(0, 10));
        let fin = Packet {
            flags: Flags::FIN | Flags::QUENCH,
            ..data(10, 0)
        };
        assert_eq!(
            receiver.input(&config, Time::ZERO, &fin),
            Delivery::default()
        );
        while receiver.poll_transmit(&config, Time::ZERO).is_some() {}
        assert!(receiver.is_closed());
    }

    #[test]
    fn wild_positions_are_survived() {
        let (config, mut receiver) = open();
        for (seq, len) in [
            (u64::MAX, u32::MAX),
            (u64::MAX - 5, 5),
            (WINDOW + 1, 1),
            (0, u32::MAX),
        ] {
            assert_eq!(
                receiver.input(&config, Time::ZERO, &data(seq, len)).bytes,
                0
            );
        }
        for i in 0..5_000 {
            receiver.input(&config, Time::ZERO, &data(2 * i + 1, 1));
        }
        assert!(receiver.ahead.len() <= MAX_RANGES);
    }
}
