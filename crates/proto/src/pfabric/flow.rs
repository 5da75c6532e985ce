//! One message at its sender: acknowledged and lost packets, window, timeouts and probe mode.

use super::{Ack, Body, Config, Data, MAX_SPAN};
use duetime_core::{Span, Time};
use std::collections::VecDeque;

/// Smallest slow-start threshold in packets (RFC 5681 §3.1).
const MIN_THRESHOLD: u32 = 2;
/// Unanswered probes after which the interval between probes doubles with each probe. The paper's interval is constant;
/// this bounds the work for a receiver that is gone.
const PERIODIC_PROBES: u32 = 64;
/// Limit of the interval between probes, in timeouts.
const MAX_PROBE_TIMEOUTS: u64 = 256;
/// Timeouts without an acknowledgement after which the receiver may have forgotten the message, so that all packets are
/// sent again.
pub(super) const RESTART_TIMEOUTS: u64 = 1_024;

/// Counters of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that were sent again.
    pub retransmissions: u32,
    /// Timeouts, probes included.
    pub timeouts: u32,
}

/// State of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sent,
    Lost,
    Acknowledged,
}

/// One message at its sender.
#[derive(Debug)]
pub(super) struct Flow<T> {
    pub tag: T,
    pub counters: Counters,
    /// Position in the sender's order, or `None` if the message has nothing to send.
    pub position: Option<u64>,
    /// Entry in the sender's timers, which is not later than [`Flow::deadline`].
    pub timer: Option<Time>,
    bytes: u64,
    packets: u64,
    acknowledged_bytes: u64,
    /// All packets below are acknowledged.
    base: u64,
    /// States of the packets from `base` up to the next packet to be sent for the first time.
    states: VecDeque<State>,
    /// Packets that were sent at least once.
    high: u64,
    in_flight: u32,
    lost: u32,
    /// No packet below is lost.
    first_lost: u64,
    /// Packets in flight in the order of transmission, with their times; some may have been acknowledged.
    sent: VecDeque<(Time, u64)>,
    window: u32,
    /// Acknowledgements since the window grew (congestion avoidance).
    credit: u32,
    /// Window from which it grows by one packet per round trip.
    threshold: u32,
    /// Timeouts since the last acknowledgement.
    consecutive: u32,
    probe: Option<Probe>,
    /// Time of the last acknowledgement, or of the submission.
    last_ack: Time,
}

/// State of the probe mode.
#[derive(Clone, Copy, Debug)]
struct Probe {
    unanswered: u32,
    /// Time of the next probe; [`Time::MAX`] while a probe waits for the interface.
    next: Time,
}

impl<T> Flow<T> {
    pub fn new(config: &Config, now: Time, bytes: u64, window: u32, tag: T) -> Self {
        Self {
            tag,
            counters: Counters::default(),
            position: None,
            timer: None,
            bytes,
            packets: config.packets(bytes),
            acknowledged_bytes: 0,
            base: 0,
            states: VecDeque::new(),
            high: 0,
            in_flight: 0,
            lost: 0,
            first_lost: 0,
            sent: VecDeque::new(),
            window,
            credit: 0,
            // Additive increase from the start: the initial window is the bandwidth-delay product (pFabric §4.3).
            threshold: window,
            consecutive: 0,
            probe: None,
            last_ack: now,
        }
    }

    /// Returns the bytes that are not acknowledged.
    pub const fn remaining(&self) -> u64 {
        self.bytes.saturating_sub(self.acknowledged_bytes)
    }

    pub const fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged_bytes
    }

    /// Returns true if a packet of the message was sent.
    pub const fn has_begun(&self) -> bool {
        self.high > 0
    }

    /// Returns true if a packet of the message was never sent.
    pub const fn has_unsent(&self) -> bool {
        self.high < self.packets
    }

    fn next(&self) -> u64 {
        self.base + self.states.len() as u64
    }

    /// Returns true if the message may send a packet.
    pub fn can_send(&self) -> bool {
        if let Some(probe) = self.probe {
            return probe.next == Time::MAX;
        }
        let has_new = self.next() < self.packets && (self.states.len() as u64) < MAX_SPAN;
        self.in_flight < self.window && (self.lost > 0 || has_new)
    }

    /// Returns the next packet: a probe, the first lost packet, or a new one. Must be called only if [`Self::can_send`].
    pub fn transmit(&mut self, config: &Config, now: Time, timeout: Span, message: u64) -> Data {
        let remaining = self.remaining();
        if let Some(probe) = &mut self.probe {
            probe.next = now + probe.interval(timeout);
            probe.unanswered = probe.unanswered.saturating_add(1);
            return Data {
                message,
                body: Body::Probe,
                remaining,
                len: 0,
            };
        }
        let number = self.take_lost().unwrap_or_else(|| {
            self.states.push_back(State::Sent);
            self.next() - 1
        });
        self.in_flight += 1;
        self.sent.push_back((now, number));
        let is_retransmission = number < self.high;
        self.high = self.high.max(number + 1);
        self.counters.retransmissions += u32::from(is_retransmission);
        Data {
            message,
            body: Body::Payload {
                number,
                is_retransmission,
                is_last: number + 1 == self.packets,
            },
            remaining,
            len: config.payload_of(self.bytes, number),
        }
    }

    /// Puts the first lost packet in flight and returns its number.
    fn take_lost(&mut self) -> Option<u64> {
        if self.lost == 0 {
            return None;
        }
        let from = self.first_lost.saturating_sub(self.base) as usize;
        let mut states = self.states.range(from.min(self.states.len())..);
        let lost = states.position(|state| *state == State::Lost)?;
        self.states[from + lost] = State::Sent;
        self.lost -= 1;
        self.first_lost = self.base + (from + lost) as u64;
        Some(self.first_lost)
    }

    /// Processes an acknowledgement. Returns true if the message is complete.
    pub fn input(&mut self, config: &Config, now: Time, ack: Ack) -> bool {
        self.last_ack = now;
        self.consecutive = 0;
        // Leaves the probe mode in slow start (pFabric §4.3): the last timeout set the window.
        self.probe = None;
        let is_limited = self.in_flight >= self.window;
        let mut newly = 0;
        let up_to = ack.up_to.min(self.packets);
        while self.base < up_to {
            // A restarted message has sent nothing, but the receiver still knows what it received.
            let state = self.states.pop_front();
            newly += u32::from(self.acknowledge(config, self.base, state));
            self.base += 1;
        }
        if let Some(number) = ack.number
            && let Some(position) = number.checked_sub(self.base)
            && let Some(state) = self.states.get_mut(position as usize)
        {
            let old = std::mem::replace(state, State::Acknowledged);
            newly += u32::from(self.acknowledge(config, number, Some(old)));
        }
        while self.states.front() == Some(&State::Acknowledged) {
            self.states.pop_front();
            self.base += 1;
        }
        self.high = self.high.max(self.base);
        // Acknowledgements of a window that is not used do not grow it (RFC 7661).
        if is_limited {
            self.grow(newly);
        }
        ack.is_complete || self.base >= self.packets
    }

    /// Counts a packet that was in `state` as acknowledged. Returns true if it was not before.
    fn acknowledge(&mut self, config: &Config, number: u64, state: Option<State>) -> bool {
        match state {
            Some(State::Acknowledged) => return false,
            Some(State::Sent) => self.in_flight -= 1,
            Some(State::Lost) => self.lost -= 1,
            None => {}
        }
        self.acknowledged_bytes += u64::from(config.payload_of(self.bytes, number));
        true
    }

    /// Grows the window: by a packet per acknowledgement in slow start, by one per round trip after it.
    fn grow(&mut self, acknowledgements: u32) {
        for _ in 0..acknowledgements {
            if self.window < self.threshold {
                self.window += 1;
            } else {
                self.credit += 1;
                if self.credit >= self.window {
                    (self.window, self.credit) = (self.window + 1, 0);
                }
            }
        }
        self.window = self.window.min(MAX_SPAN as u32);
    }

    /// Returns the time of the next timeout or probe, or [`Time::MAX`].
    pub fn deadline(&mut self, timeout: Span) -> Time {
        if let Some(probe) = self.probe {
            return probe.next;
        }
        while let Some(&(at, number)) = self.sent.front() {
            let position = number.checked_sub(self.base);
            let state = position.and_then(|position| self.states.get(position as usize));
            if state == Some(&State::Sent) {
                return at + timeout;
            }
            self.sent.pop_front();
        }
        Time::MAX
    }

    /// Handles the timeout or probe that is due at [`Self::deadline`].
    pub fn expire(&mut self, config: &Config, now: Time, timeout: Span) {
        self.counters.timeouts = self.counters.timeouts.saturating_add(1);
        if let Some(probe) = &mut self.probe {
            probe.next = Time::MAX;
            if now.since(self.last_ack) > timeout * RESTART_TIMEOUTS {
                self.restart(now);
            }
            return;
        }
        // As TCP after a timeout (pFabric §4.3): what is in flight counts as lost, and slow start begins.
        self.consecutive += 1;
        self.threshold = (self.window / 2).max(MIN_THRESHOLD);
        (self.window, self.credit) = (1, 0);
        self.lose_all();
        if self.consecutive >= config.probe_after {
            self.probe = Some(Probe {
                unanswered: 0,
                next: Time::MAX,
            });
        }
    }

    fn lose_all(&mut self) {
        for state in &mut self.states {
            if *state == State::Sent {
                *state = State::Lost;
            }
        }
        self.lost += self.in_flight;
        self.in_flight = 0;
        self.first_lost = self.base;
        self.sent.clear();
    }

    /// Forgets the acknowledgements, because the receiver may have forgotten the message.
    fn restart(&mut self, now: Time) {
        self.states.clear();
        self.sent.clear();
        (self.base, self.first_lost, self.acknowledged_bytes) = (0, 0, 0);
        (self.in_flight, self.lost) = (0, 0);
        self.last_ack = now;
    }
}

impl Probe {
    /// Returns the time until the probe after the next.
    fn interval(self, timeout: Span) -> Span {
        let doublings = self.unanswered.saturating_sub(PERIODIC_PROBES).min(63);
        timeout * (1_u64 << doublings).min(MAX_PROBE_TIMEOUTS)
    }
}
