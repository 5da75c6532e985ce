//! Receiver: cumulative, delayed and selective acknowledgements, and DCTCP's exact echo of marks.

use super::reassembly::Reassembly;
use super::{Coalescing, Config, Flags, Recovery, Sack, Segment};
use duetime_core::Time;

/// Maximum number of queued acknowledgements if the driver does not poll; further ones replace the last.
const MAX_WAITING: usize = 256;

/// Flags that decide whether a segment takes the fast path.
const CHECKED: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::ACK.0 | Flags::CE.0);
/// Differs from the flags in [`CHECKED`] of every segment.
const NO_FLAGS: Flags = Flags(u16::MAX);

/// Receiving end of one direction of a connection.
///
/// After [`input`](Self::input) and [`timeout`](Self::timeout) the driver calls [`poll_transmit`](Self::poll_transmit)
/// until it returns `None`. The content of an acknowledgement is fixed by the input that causes it, even if the driver
/// polls later.
#[derive(Clone, Debug)]
#[repr(C)] // fields used by every packet come first
pub struct Receiver {
    /// Next expected position (RCV.NXT); zero before the SYN.
    expected: u64,
    timer: Time,
    /// Segments received since the last acknowledgement.
    unacknowledged: u32,
    /// Number of acknowledgements to send: `ready` and those queued behind it.
    due: u32,
    /// Next acknowledgement; its length is always zero.
    ready: Segment,
    /// True if the last data packet was marked (RFC 8257 §3.2, DCTCP.CE).
    ce: bool,
    /// True if open, not closed, and nothing is stored beyond `expected`.
    in_order: bool,
    closed: bool,
    /// Number of segments still to be acknowledged individually.
    quick: u8,
    /// Flags in [`CHECKED`] of a segment that takes the fast path: the mark of the last data packet. [`NO_FLAGS`] if no
    /// segment may, because the stream is not in order or segments are acknowledged individually.
    usual: Flags,
    ect: Flags,
    /// Time of the last data, or `Time::MAX` before the first.
    last_data: Time,
    reassembly: Option<Box<Reassembly>>,
}

/// Data that an input delivered to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes newly in order.
    pub bytes: u64,
    /// Messages newly complete.
    pub messages: u32,
}

impl Receiver {
    /// Creates a receiver that waits for a SYN.
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
            usual: NO_FLAGS,
            ect: if config.congestion_control.uses_marks() {
                Flags::ECT
            } else {
                Flags::NONE
            },
            quick: 0,
            last_data: Time::MAX,
            reassembly: None,
        }
    }

    /// Processes a segment from the sender.
    #[inline(always)]
    pub fn input(&mut self, config: &Config, now: Time, segment: Segment) -> Delivery {
        let flags = segment.flags;
        if segment.seq != self.expected
            || flags.0 & CHECKED.0 != self.usual.0
            || segment.len == 0
            || config.quick_ack > 0 && self.was_idle(config, now)
        {
            return self.input_slow(config, now, segment.seq, segment.len, flags);
        }
        self.last_data = now;
        self.expected += u64::from(segment.len);
        self.acknowledge_later(config, now, flags.contains(Flags::PUSH));
        Delivery {
            bytes: u64::from(segment.len),
            messages: u32::from(flags.contains(Flags::PUSH)),
        }
    }

    /// Handles the timer. Called at [`next_timeout`](Self::next_timeout); no effect if called early.
    #[inline]
    pub fn timeout(&mut self, config: &Config, now: Time) {
        if now >= self.timer {
            self.acknowledge_with_blocks(config, None);
        }
    }

    /// Returns the next acknowledgement to send, or `None`.
    #[inline(always)]
    pub fn poll_transmit(&mut self) -> Option<Segment> {
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

    /// Returns the blocks of the acknowledgement last returned by [`poll_transmit`](Self::poll_transmit), if its flags
    /// include [`Flags::SACK`]. Must be called before any other method.
    pub fn sack(&self) -> Sack {
        match &self.reassembly {
            Some(reassembly) if self.due > 0 => reassembly.taken,
            Some(reassembly) => reassembly.ready,
            None => Sack::NONE,
        }
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) would return an acknowledgement.
    #[inline]
    pub const fn can_transmit(&self) -> bool {
        self.due > 0
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), or [`Time::MAX`] if no timer is running.
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Returns the stream position of the next byte in order.
    #[inline(always)]
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// Returns the number of bytes delivered in order so far.
    pub const fn delivered(&self) -> u64 {
        self.expected.saturating_sub(1 + self.closed as u64)
    }

    /// Returns true if the FIN was received in order.
    #[inline]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Handles every segment other than in-order data whose mark equals that of the previous packet.
    #[cold]
    #[inline(never)]
    fn input_slow(
        &mut self,
        config: &Config,
        now: Time,
        seq: u64,
        len: u32,
        flags: Flags,
    ) -> Delivery {
        let segment = Segment { seq, len, flags };
        let flags = segment.flags;
        if flags.contains(Flags::ACK) {
            return Delivery::default();
        }
        if flags.contains(Flags::SYN) {
            self.answer_syn();
            return Delivery::default();
        }
        if self.expected == 0 {
            return Delivery::default(); // not open
        }
        let mut at_once = !self.in_order;
        let mut duplicate = None;
        let ce = flags.contains(Flags::CE);
        if ce != self.ce {
            // RFC 8257 §3.2: packets before this one are acknowledged with their own mark.
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
                // Receive offload delivers its held segments before an out-of-order one.
                self.acknowledge_with_blocks(config, None);
            }
            duplicate = self.store(config, segment, end);
            at_once = true;
        } else if self.closed || (end <= before && !flags.contains(Flags::FIN)) || end < before {
            at_once = true; // duplicate
            duplicate = Some((segment.seq, end));
        } else {
            at_once |= segment.seq < before || flags.contains(Flags::FIN);
            if segment.seq < before {
                duplicate = Some((segment.seq, before));
            }
            messages = self.advance(end, flags);
        }
        if config.quick_ack > 0 && segment.len > 0 {
            at_once |= self.is_quick(config, now, duplicate.is_some());
        }
        self.usual = if self.in_order && self.quick == 0 {
            Flags(flags.0 & Flags::CE.0)
        } else {
            NO_FLAGS
        };
        let bytes = self.expected - before - u64::from(self.closed && self.expected > before);
        if at_once {
            self.acknowledge_with_blocks(config, duplicate);
        } else {
            self.acknowledge_later(config, now, flags.contains(Flags::PUSH));
        }
        Delivery { bytes, messages }
    }

    /// Returns true if data must be acknowledged at once because the connection is new, was idle, or the data is a
    /// `duplicate`: in these cases the sender waits for acknowledgements (RFC 5681 §4.2 allows one per segment).
    fn is_quick(&mut self, config: &Config, now: Time, duplicate: bool) -> bool {
        if self.was_idle(config, now) || duplicate {
            self.quick = config.quick_ack;
        }
        self.last_data = now;
        let is_quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        is_quick
    }

    /// Returns true if no data has arrived for a timeout, or ever.
    #[inline(always)]
    fn was_idle(&self, config: &Config, now: Time) -> bool {
        self.last_data == Time::MAX || now.since(self.last_data) > config.rto_min
    }

    fn answer_syn(&mut self) {
        if self.expected == 0 {
            self.expected = 1;
            self.in_order = true;
            self.usual = Flags::NONE;
        }
        let kind = if self.expected == 1 {
            Flags::SYN | Flags::ACK
        } else {
            Flags::ACK
        };
        self.queue(self.expected, kind | self.ect);
    }

    /// Stores out-of-order data, if the window allows. Returns the range if it was stored already.
    fn store(&mut self, config: &Config, segment: Segment, end: u64) -> Option<(u64, u64)> {
        let fin = segment.flags.contains(Flags::FIN);
        if segment.len == 0 && !fin {
            return None;
        }
        if self.closed || end - self.expected > config.receive_window {
            return None;
        }
        let reassembly = self.reassembly.get_or_insert_default();
        let mut duplicate = None;
        if segment.len > 0 {
            if config.recovery == Recovery::Sack || config.quick_ack > 0 {
                if reassembly.has(segment.seq, end) {
                    duplicate = Some((segment.seq, end));
                }
                reassembly.insert(segment.seq, end);
                reassembly.note(segment.seq);
            } else {
                reassembly.insert(segment.seq, end);
            }
        }
        if segment.flags.contains(Flags::PUSH) {
            reassembly.insert_message_end(end);
        }
        if fin {
            reassembly.fin = Some(end);
        }
        self.in_order = !reassembly.has_gaps();
        duplicate
    }

    /// Advances the stream to `end`. Returns the number of messages newly complete.
    fn advance(&mut self, end: u64, flags: Flags) -> u32 {
        let push = flags.contains(Flags::PUSH) && end > self.expected;
        let mut fin = flags.contains(Flags::FIN).then_some(end);
        self.expected = end;
        let mut messages = u32::from(push);
        if let Some(reassembly) = &mut self.reassembly {
            if push {
                reassembly.insert_message_end(end); // may be recorded already
            }
            self.expected = reassembly.advance(end);
            messages = reassembly.take_message_ends(self.expected);
            fin = fin.or(reassembly.fin);
            self.in_order = !reassembly.has_gaps();
        }
        if fin == Some(self.expected) {
            self.expected += 1;
            self.closed = true;
            self.in_order = false;
        }
        messages
    }

    /// Acknowledges every `delayed_ack`-th segment at once, and others after a delay (RFC 5681 §4.2).
    #[inline]
    fn acknowledge_later(&mut self, config: &Config, now: Time, push: bool) {
        let unacknowledged = self.unacknowledged + 1;
        if unacknowledged >= config.delayed_ack {
            match config.ack_coalescing {
                Some(coalescing) if !push => {
                    self.unacknowledged = unacknowledged;
                    self.coalesce(config, coalescing, now);
                }
                _ => self.acknowledge(),
            }
            return;
        }
        self.unacknowledged = unacknowledged;
        if self.timer == Time::MAX {
            self.timer = now + config.delayed_ack_timeout;
        }
    }

    /// Delays an acknowledgement that is due, as receive offload does.
    #[cold]
    fn coalesce(&mut self, config: &Config, coalescing: Coalescing, now: Time) {
        if self.unacknowledged >= coalescing.segments {
            self.acknowledge();
        } else if self.unacknowledged == config.delayed_ack.max(1) {
            self.timer = self.timer.min(now + coalescing.within);
        }
    }

    /// Queues an acknowledgement of all data so far with its blocks, a `duplicate` first.
    #[cold]
    fn acknowledge_with_blocks(&mut self, config: &Config, duplicate: Option<(u64, u64)>) {
        let needs_blocks =
            config.recovery == Recovery::Sack && (duplicate.is_some() || !self.in_order);
        if !needs_blocks {
            return self.acknowledge();
        }
        let reassembly = self.reassembly.get_or_insert_default();
        let sack = reassembly.blocks(self.expected, duplicate);
        if sack.is_empty() {
            return self.acknowledge();
        }
        if self.due == 0 {
            reassembly.ready = sack;
        }
        self.unacknowledged = 0;
        self.timer = Time::MAX;
        let flags = self.ack_flags() | Flags::SACK;
        let segment = Segment {
            seq: self.expected,
            len: 0,
            flags,
        };
        if self.due == 0 {
            (self.due, self.ready) = (1, segment);
        } else {
            self.enqueue(segment, sack);
        }
    }

    /// Returns the flags of an acknowledgement.
    #[inline]
    fn ack_flags(&self) -> Flags {
        let echo = if self.ce { Flags::ECE } else { Flags::NONE };
        Flags::ACK | self.ect | echo
    }

    /// Queues an acknowledgement of all data so far.
    #[inline]
    fn acknowledge(&mut self) {
        self.unacknowledged = 0;
        self.timer = Time::MAX;
        self.queue(self.expected, self.ack_flags());
    }

    #[inline]
    fn queue(&mut self, seq: u64, flags: Flags) {
        if self.due > 0 {
            return self.enqueue(Segment { seq, len: 0, flags }, Sack::NONE);
        }
        self.due = 1;
        self.ready.seq = seq;
        self.ready.flags = flags;
    }

    #[cold]
    fn enqueue(&mut self, segment: Segment, sack: Sack) {
        let waiting = &mut self.reassembly.get_or_insert_default().waiting;
        if waiting.len() < MAX_WAITING {
            waiting.push_back((segment, sack));
            self.due += 1;
        } else if let Some(last) = waiting.back_mut() {
            *last = (segment, sack);
        }
    }

    #[cold]
    fn ready_next(&mut self) {
        if let Some(reassembly) = &mut self.reassembly
            && let Some((next, sack)) = reassembly.waiting.pop_front()
        {
            reassembly.taken = reassembly.ready;
            (self.ready, reassembly.ready) = (next, sack);
        }
    }
}
