//! The receiver: cumulative, delayed and selective acknowledgements, and DCTCP's exact echo of marks.

use super::reassembly::Reassembly;
use super::{Coalescing, Config, Flags, Recovery, Sack, Segment};
use duetime_core::Time;

/// Acknowledgements that wait for a driver that does not take them; further ones replace the last.
const MOST_WAITING: usize = 256;

/// The receiving end of one direction of a connection.
///
/// After [`input`](Self::input) and [`timeout`](Self::timeout) the driver calls
/// [`poll_transmit`](Self::poll_transmit) until it gives `None`. An acknowledgement is made at the moment of the input
/// that causes it, so a driver that takes it later sends the same one.
#[derive(Clone, Debug)]
#[repr(C)] // what every packet touches comes first
pub struct Receiver {
    /// The next position expected (RCV.NXT); zero until the SYN.
    expected: u64,
    timer: Time,
    /// Segments that arrived since the last acknowledgement.
    unacknowledged: u32,
    /// Acknowledgements to be taken: `ready`, and those that wait behind it.
    due: u32,
    /// Its length is always zero.
    ready: Segment,
    /// The last data packet was marked (RFC 8257 §3.2, DCTCP.CE).
    ce: bool,
    /// Opened, not closed, and nothing kept beyond `expected`.
    in_order: bool,
    closed: bool,
    /// In order, and every segment is acknowledged as the last.
    usual: bool,
    ect: Flags,
    /// Segments that are still acknowledged one by one.
    quick: u8,
    kept: Option<Box<Reassembly>>,
}

/// What an input has delivered to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes newly in order.
    pub bytes: u64,
    /// Messages newly complete.
    pub messages: u32,
}

impl Receiver {
    /// A receiver that waits for a SYN.
    pub fn new(config: &Config) -> Self {
        Self {
            expected: 0,
            timer: Time::MAX,
            unacknowledged: 0,
            due: 0,
            ready: Segment {
                seq: 0,
                len: 0,
                flags: Flags::NONE,
            },
            ce: false,
            in_order: false,
            closed: false,
            usual: false,
            ect: if config.congestion_control.uses_marks() {
                Flags::ECT
            } else {
                Flags::NONE
            },
            quick: 0,
            kept: None,
        }
    }

    /// Takes a segment from the sender.
    #[inline(always)]
    pub fn input(&mut self, config: &Config, now: Time, segment: Segment) -> Delivery {
        const UNUSUAL: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::ACK.0);
        let flags = segment.flags;
        if segment.seq != self.expected
            || !self.usual
            || flags.intersects(UNUSUAL)
            || flags.contains(Flags::CE) != self.ce
            || segment.len == 0
        {
            return self.input_unusual(config, now, segment);
        }
        self.expected += u64::from(segment.len);
        self.acknowledge_later(config, now, flags.contains(Flags::PUSH));
        Delivery {
            bytes: u64::from(segment.len),
            messages: u32::from(flags.contains(Flags::PUSH)),
        }
    }

    /// Call when [`next_timeout`](Self::next_timeout) has come; harmless otherwise.
    #[inline]
    pub fn timeout(&mut self, config: &Config, now: Time) {
        if now >= self.timer {
            self.acknowledge_with_blocks(config, None);
        }
    }

    /// The next acknowledgement to be sent, if any.
    #[inline(always)]
    pub fn poll_transmit(&mut self, _config: &Config, _now: Time) -> Option<Segment> {
        if self.due == 0 {
            return None;
        }
        let segment = self.ready;
        self.due -= 1;
        if self.due > 0 {
            self.ready_next();
        }
        Some(segment)
    }

    /// The blocks that go with the acknowledgement that [`poll_transmit`](Self::poll_transmit) gave last, if its flags have
    /// [`Flags::SACK`]; to be asked for before anything else happens.
    pub fn sack(&self) -> Sack {
        match &self.kept {
            Some(kept) if self.due > 0 => kept.taken,
            Some(kept) => kept.ready,
            None => Sack::NONE,
        }
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) would give an acknowledgement.
    #[inline]
    pub const fn can_transmit(&self, _config: &Config) -> bool {
        self.due > 0
    }

    /// When [`timeout`](Self::timeout) must be called; [`Time::MAX`]: never.
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Stream position of the next byte in order.
    #[inline(always)]
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// Bytes delivered in order so far.
    pub const fn delivered(&self) -> u64 {
        self.expected.saturating_sub(1 + self.closed as u64)
    }

    /// Whether the FIN was received in order.
    #[inline]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Anything but data in order with the mark of the packet before it.
    #[cold]
    fn input_unusual(&mut self, config: &Config, now: Time, segment: Segment) -> Delivery {
        let flags = segment.flags;
        if flags.contains(Flags::ACK) {
            return Delivery::default();
        }
        if flags.contains(Flags::SYN) {
            self.answer_syn(config);
            return Delivery::default();
        }
        if self.expected == 0 {
            return Delivery::default(); // nothing is open
        }
        let mut at_once = !self.in_order;
        let mut twice = None;
        let ce = flags.contains(Flags::CE);
        if ce != self.ce {
            // RFC 8257 §3.2: what came before this packet is acknowledged with its own mark.
            if self.unacknowledged > 0 {
                self.acknowledge_with_blocks(config, None);
            }
            self.ce = ce;
            at_once = true;
        }
        let end = segment.seq.saturating_add(u64::from(segment.len));
        let before = self.expected;
        let mut messages = 0;
        if segment.seq > before {
            if self.unacknowledged >= config.delayed_ack.max(1) {
                // Receive offload passes on what it holds before what is out of order.
                self.acknowledge_with_blocks(config, None);
            }
            twice = self.keep(config, segment, end);
            at_once = true;
        } else if self.closed || (end <= before && !flags.contains(Flags::FIN)) || end < before {
            at_once = true; // again what is here already
            twice = Some((segment.seq, end));
        } else {
            at_once |= segment.seq < before || flags.contains(Flags::FIN);
            if segment.seq < before {
                twice = Some((segment.seq, before));
            }
            messages = self.advance(end, flags);
            self.usual = self.in_order && config.quick_ack == 0;
        }
        if config.quick_ack > 0 && segment.len > 0 {
            at_once |= self.is_quick(config, now, twice.is_some());
        }
        let bytes = self.expected - before - u64::from(self.closed && self.expected > before);
        if at_once {
            self.acknowledge_with_blocks(config, twice);
        } else {
            self.acknowledge_later(config, now, flags.contains(Flags::PUSH));
        }
        Delivery { bytes, messages }
    }

    /// Whether data that has come now is acknowledged at once because the connection is new, was idle, or sent `again`
    /// what was here: then the sender waits for acknowledgements (RFC 5681 §4.2 allows one for each segment).
    fn is_quick(&mut self, config: &Config, now: Time, again: bool) -> bool {
        let last = &mut self.kept.get_or_insert_default().last_data;
        if last.is_none_or(|last| now.since(last) > config.rto_min) || again {
            self.quick = config.quick_ack;
        }
        *last = Some(now);
        let is_quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        is_quick
    }

    fn answer_syn(&mut self, config: &Config) {
        if self.expected == 0 {
            self.expected = 1;
            self.in_order = true;
            self.usual = config.quick_ack == 0;
        }
        let kind = if self.expected == 1 {
            Flags::SYN | Flags::ACK
        } else {
            Flags::ACK
        };
        self.make_due(self.expected, kind | self.ect);
    }

    /// Keeps data that came too early, if the window allows; gives it back if it was kept already.
    fn keep(&mut self, config: &Config, segment: Segment, end: u64) -> Option<(u64, u64)> {
        let fin = segment.flags.contains(Flags::FIN);
        if segment.len == 0 && !fin {
            return None;
        }
        if self.closed || end - self.expected > config.receive_window {
            return None;
        }
        let kept = self.kept.get_or_insert_default();
        let mut twice = None;
        if segment.len > 0 {
            if config.recovery == Recovery::Sack || config.quick_ack > 0 {
                if kept.has(segment.seq, end) {
                    twice = Some((segment.seq, end));
                }
                kept.insert(segment.seq, end);
                kept.note(segment.seq);
            } else {
                kept.insert(segment.seq, end);
            }
        }
        if segment.flags.contains(Flags::PUSH) {
            kept.insert_message_end(end);
        }
        if fin {
            kept.fin = Some(end);
        }
        self.in_order = !kept.has_gaps();
        self.usual &= self.in_order;
        twice
    }

    /// Everything up to `end` is here: gives the messages newly complete.
    fn advance(&mut self, end: u64, flags: Flags) -> u32 {
        let push = flags.contains(Flags::PUSH) && end > self.expected;
        let mut fin = flags.contains(Flags::FIN).then_some(end);
        self.expected = end;
        let mut messages = u32::from(push);
        if let Some(kept) = &mut self.kept {
            if push {
                kept.insert_message_end(end); // it may be known already
            }
            self.expected = kept.advance(end);
            messages = kept.take_message_ends(self.expected);
            fin = fin.or(kept.fin);
            self.in_order = !kept.has_gaps();
        }
        if fin == Some(self.expected) {
            self.expected += 1;
            self.closed = true;
            self.in_order = false;
            self.usual = false;
        }
        messages
    }

    /// Every `delayed_ack`-th segment is acknowledged at once, the others after a delay (RFC 5681 §4.2).
    #[inline]
    fn acknowledge_later(&mut self, config: &Config, now: Time, push: bool) {
        self.unacknowledged += 1;
        if self.unacknowledged >= config.delayed_ack {
            match config.ack_coalescing {
                Some(coalescing) if !push => self.coalesce(config, coalescing, now),
                _ => self.acknowledge(),
            }
        } else if self.timer == Time::MAX {
            self.timer = now + config.delayed_ack_timeout;
        }
    }

    /// An acknowledgement is due: holds it back as receive offload does.
    #[cold]
    fn coalesce(&mut self, config: &Config, coalescing: Coalescing, now: Time) {
        if self.unacknowledged >= coalescing.segments {
            self.acknowledge();
        } else if self.unacknowledged == config.delayed_ack.max(1) {
            self.timer = self.timer.min(now + coalescing.within);
        }
    }

    /// Makes an acknowledgement of everything so far due, with the blocks that it carries: the data that came `twice`
    /// first.
    #[cold]
    fn acknowledge_with_blocks(&mut self, config: &Config, twice: Option<(u64, u64)>) {
        let tells = config.recovery == Recovery::Sack && (twice.is_some() || !self.in_order);
        if !tells {
            return self.acknowledge();
        }
        let kept = self.kept.get_or_insert_default();
        let sack = kept.blocks(self.expected, twice);
        if sack.is_empty() {
            return self.acknowledge();
        }
        if self.due == 0 {
            kept.ready = sack;
        }
        self.unacknowledged = 0;
        self.timer = Time::MAX;
        let flags = self.acknowledgement() | Flags::SACK;
        let segment = Segment {
            seq: self.expected,
            len: 0,
            flags,
        };
        if self.due == 0 {
            (self.due, self.ready) = (1, segment);
        } else {
            self.make_wait(segment, sack);
        }
    }

    /// The flags of an acknowledgement.
    #[inline]
    fn acknowledgement(&self) -> Flags {
        let echo = if self.ce { Flags::ECE } else { Flags::NONE };
        Flags::ACK | self.ect | echo
    }

    /// Makes an acknowledgement of everything so far due.
    #[inline]
    fn acknowledge(&mut self) {
        self.unacknowledged = 0;
        self.timer = Time::MAX;
        self.make_due(self.expected, self.acknowledgement());
    }

    #[inline]
    fn make_due(&mut self, seq: u64, flags: Flags) {
        if self.due > 0 {
            return self.make_wait(Segment { seq, len: 0, flags }, Sack::NONE);
        }
        self.due = 1;
        self.ready.seq = seq;
        self.ready.flags = flags;
    }

    #[cold]
    fn make_wait(&mut self, segment: Segment, sack: Sack) {
        let waiting = &mut self.kept.get_or_insert_default().waiting;
        if waiting.len() < MOST_WAITING {
            waiting.push_back((segment, sack));
            self.due += 1;
        } else if let Some(last) = waiting.back_mut() {
            *last = (segment, sack);
        }
    }

    #[cold]
    fn ready_next(&mut self) {
        if let Some(kept) = &mut self.kept
            && let Some((next, sack)) = kept.waiting.pop_front()
        {
            kept.taken = kept.ready;
            (self.ready, kept.ready) = (next, sack);
        }
    }
}
