//! The sender: sequence numbers, the window, and the four calls. `transmit` makes the segments, `recovery`
//! answers loss, or `selective` in its place.

use super::outgoing::Outgoing;
use super::rtt::Rtt;
use super::selective::Selective;
use super::{Config, Flags, Recovery, Segment, Timer};
use crate::Message;
use crate::window::{Control, Controller, Progress, Window, on};
use duetime_core::fixed::Fraction;
use duetime_core::{Span, Time};

/// The sending end of one direction of a connection.
///
/// After [`input`](Self::input), [`timeout`](Self::timeout), [`send`](Self::send) or [`close`](Self::close) the driver
/// calls [`poll_transmit`](Self::poll_transmit) until it gives `None`, and [`timeout`](Self::timeout) at
/// [`next_timeout`](Self::next_timeout).
#[derive(Clone, Debug)]
#[repr(C)] // what every packet touches comes first, within three cache lines
pub struct Sender {
    /// Everything before is acknowledged (SND.UNA).
    pub(super) una: u64,
    /// What is sent next (SND.NXT); falls back to `una` at a timeout.
    pub(super) next: u64,
    /// The window's right edge; zero until established, and for ever where `selective` is in charge.
    pub(super) limit: u64,
    /// The end of the message at `next`.
    pub(super) message_end: u64,
    /// The end of everything submitted, FIN included.
    pub(super) end: u64,
    /// The end of everything sent so far.
    pub(super) highest: u64,
    pub(super) timer: Time,
    pub(super) window: Window,
    /// No reduction by marks and no growth until more than this is acknowledged.
    pub(super) reduced_end: u64,
    /// ECT if the controller answers marks, and CWR after a reduction.
    pub(super) data_flags: Flags,
    /// What goes out before anything else.
    pub(super) pending: Pending,
    pub(super) phase: Phase,
    /// Timeouts since `una` last moved.
    pub(super) attempts: u8,
    pub(super) closing: bool,
    pub(super) closed: bool,
    /// Duplicate acknowledgements in a row.
    pub(super) duplicates: u8,
    pub(super) last_sent: Time,
    pub(super) rtt: Rtt,
    pub(super) controller: Controller,
    pub(super) outgoing: Outgoing,
    /// Fast recovery, and the repair after a timeout, last until this is acknowledged (RFC 6582).
    pub(super) recover: u64,
    /// In place of what `recovery` does.
    pub(super) selective: Option<Box<Selective>>,
    pub(super) counters: Counters,
    /// Bytes in flight when the first of `duplicates` came; from 2³² - 1 on that.
    pub(super) flight_before_duplicates: u32,
}

/// How losses were repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Times that fast recovery was entered.
    pub fast_retransmits: u32,
}

/// What goes out whatever the window says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Nothing,
    Syn,
    /// The first unacknowledged segment, again.
    Head,
    /// What `selective` chooses, if anything.
    Chosen,
}

/// What the sender is repairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Fast recovery, before its first partial acknowledgement.
    Recovery,
    /// Fast recovery, after it.
    PartialRecovery,
    /// After a timeout, until all that was in flight is acknowledged.
    Loss,
}

impl Sender {
    /// A sender that is silent until the first [`send`](Self::send).
    pub fn new(config: &Config, now: Time) -> Self {
        let mss = u64::from(config.mss);
        Self {
            una: 0,
            next: 0,
            limit: 0,
            message_end: 1,
            end: 1,
            highest: 0,
            timer: Time::MAX,
            window: Window {
                cwnd: initial_window(config),
                ssthresh: config
                    .initial_ssthresh
                    .map_or(u64::MAX, |segments| u64::from(segments) * mss),
                growth: 0,
            },
            reduced_end: 0,
            data_flags: if config.congestion_control.uses_marks() {
                Flags::ECT
            } else {
                Flags::NONE
            },
            pending: Pending::Nothing,
            phase: Phase::Open,
            attempts: 0,
            closing: false,
            closed: false,
            duplicates: 0,
            last_sent: now,
            rtt: Rtt::new(config),
            controller: Controller::new(config.congestion_control),
            outgoing: Outgoing::new(),
            recover: 0,
            selective: (config.recovery == Recovery::Sack).then(|| Box::new(Selective::new())),
            counters: Counters::default(),
            flight_before_duplicates: 0,
        }
    }

    /// Opens the connection before there is a message to send. Ignored after the SYN has left.
    pub fn connect(&mut self) {
        if self.highest == 0 {
            self.pending = Pending::Syn;
        }
    }

    /// Appends a message to the stream; the first one opens the connection. Ignored after [`close`](Self::close).
    pub fn send(&mut self, config: &Config, now: Time, message: Message) {
        if self.closing {
            return;
        }
        if self.end == 1 && !self.is_established() {
            self.connect();
        } else if self.una == self.highest && self.is_established() {
            self.resume(config, now);
        }
        self.message_end = self.outgoing.push(message, self.una, self.next);
        self.end = self.outgoing.end();
    }

    /// Data follows an idle time. RFC 5681 §4.1: after an RTO the old window says nothing about the network.
    fn resume(&mut self, config: &Config, now: Time) {
        let (idle, timeout) = (now.since(self.last_sent), self.rtt.timeout());
        let restarts = config.slow_start_restart && idle > timeout;
        let mut window = self.window.cwnd;
        if restarts {
            let least = window.min(initial_window(config));
            window = if config.window_validation {
                self.window.keep_ssthresh();
                halved(window, idle, timeout).max(least)
            } else {
                least
            };
        }
        let falls = window < self.window.cwnd;
        on!(&mut self.controller, it => it.resume(idle, falls));
        if restarts {
            self.window.cwnd = window;
            self.window.growth = 0;
            if self.selective.is_none() {
                self.update_limit(config);
            }
        }
    }

    /// No more messages: FIN rides on the last data segment, or goes alone if that was sent already.
    pub fn close(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        if self.end == 1 {
            self.closed = true; // nothing was ever opened
        } else {
            self.end += 1;
        }
    }

    /// Takes an acknowledgement from the receiver.
    #[inline(always)]
    pub fn input(&mut self, config: &Config, now: Time, segment: Segment) {
        let ack = segment.seq;
        if ack <= self.una
            || ack > self.highest
            || self.limit == 0
            || !segment.flags.contains(Flags::ACK)
        {
            return self.input_unusual(config, now, segment);
        }
        let bytes = ack - self.una;
        self.una = ack;
        self.attempts = 0;
        if self.next < ack {
            self.next = ack; // data sent before a timeout has arrived after all
        }
        let marked = self.uses_marks() && segment.flags.contains(Flags::ECE);
        if self.uses_marks() {
            let marked = if marked { bytes } else { 0 };
            on!(&mut self.controller, it => it.count(marked, ack, self.highest));
        }
        self.rtt.acknowledged(config, now, ack);
        if ack >= self.outgoing.first_end() {
            self.finish_messages();
        }
        if self.phase != Phase::PartialRecovery {
            self.restart_timer(now);
        }
        if self.phase == Phase::Open {
            self.duplicates = 0;
            if ack > self.reduced_end {
                if marked {
                    self.reduce_by_marks(config, now);
                } else {
                    self.grow(config, now, bytes);
                }
            }
        } else {
            self.repair(config, now, bytes);
        }
        self.update_limit(config);
    }

    /// Call when [`next_timeout`](Self::next_timeout) has come; harmless otherwise. Returns the timer that expired, if
    /// one did.
    #[inline]
    pub fn timeout(&mut self, config: &Config, now: Time) -> Option<Timer> {
        if now >= self.timer && !self.closed {
            return self.expire(config, now);
        }
        None
    }

    /// The next segment to be sent, or `None` if the window is full or there is nothing to send.
    #[inline(always)]
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Segment> {
        if self.pending != Pending::Nothing {
            let segment = self.transmit_pending(config, now)?;
            return Some(segment);
        }
        let seq = self.next;
        let end = self.segment_end(config);
        if end > self.limit || seq >= self.end {
            return None;
        }
        Some(self.transmit(now, seq, end))
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) would give a segment.
    #[inline(always)]
    pub fn can_transmit(&self, config: &Config) -> bool {
        if self.pending != Pending::Nothing {
            return self.can_transmit_pending(config);
        }
        self.segment_end(config) <= self.limit && self.next < self.end
    }

    /// When [`timeout`](Self::timeout) must be called; [`Time::MAX`]: never.
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Whether the receiver has answered the SYN.
    #[inline]
    pub const fn is_established(&self) -> bool {
        self.una > 0
    }

    /// Whether the FIN is acknowledged or given up, or the sender was closed before any message.
    #[inline]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether everything submitted is acknowledged.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.unacknowledged() == 0
    }

    /// How losses were repaired so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The congestion window, in bytes.
    pub const fn window_bytes(&self) -> u64 {
        self.window.cwnd
    }

    /// The slow-start threshold, in bytes; `u64::MAX`: infinite.
    pub const fn ssthresh_bytes(&self) -> u64 {
        self.window.ssthresh
    }

    /// α, the average marked fraction (RFC 8257); zero for NewReno.
    pub fn alpha(&self) -> Fraction {
        on!(&self.controller, it => it.alpha())
    }

    /// Bytes of all messages that are not acknowledged, sent or not.
    pub const fn unacknowledged(&self) -> u64 {
        self.outgoing.end() - 1 - self.acked()
    }

    /// Bytes of all messages that were never sent.
    pub const fn unsent(&self) -> u64 {
        let sent = if self.highest > 1 { self.highest } else { 1 };
        self.outgoing.end().saturating_sub(sent)
    }

    /// Stream position of the first byte that is not acknowledged; the FIN counts as one.
    #[inline(always)]
    pub const fn first_unacknowledged(&self) -> u64 {
        self.una
    }

    /// Bytes of all messages that are acknowledged.
    pub const fn acked(&self) -> u64 {
        let end = self.outgoing.end();
        let una = if self.una < end { self.una } else { end };
        una.saturating_sub(1)
    }

    /// Bytes sent and not acknowledged.
    pub const fn in_flight(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    /// The smoothed round-trip time, after the first sample.
    pub fn srtt(&self) -> Option<Span> {
        let srtt = self.rtt.smoothed();
        (srtt != Span::ZERO).then_some(srtt)
    }

    /// `bytes` were acknowledged: the window may grow.
    #[inline(always)]
    pub(super) fn grow(&mut self, config: &Config, now: Time, bytes: u64) {
        if self.controller.has_custom_growth() {
            on!(&mut self.controller, it => it.grow(config, now, &mut self.window, &self.rtt, bytes));
        } else {
            self.window.grow(config, bytes);
        }
    }

    /// Answers marks, once per window of data.
    #[inline]
    pub(super) fn reduce_by_marks(&mut self, config: &Config, now: Time) {
        let progress = Progress {
            deadline: self.outgoing.deadline(),
            remaining: self.outgoing.first_end().saturating_sub(self.una),
            window: self.window.cwnd,
            mss: config.mss,
            srtt: self.rtt.smoothed(),
        };
        on!(&mut self.controller, it => {
            it.reduce_by_marks(config, now, &mut self.window, &progress);
        });
        self.window.growth = 0;
        self.reduced_end = self.highest;
        self.data_flags.insert(Flags::CWR);
    }

    /// Whether the controller answers marks.
    #[inline]
    pub(super) const fn uses_marks(&self) -> bool {
        self.data_flags.contains(Flags::ECT)
    }

    #[inline]
    pub(super) fn update_limit(&mut self, config: &Config) {
        self.limit = self.una
            + self
                .window
                .cwnd
                .min(config.receive_window.max(u64::from(config.mss)));
    }

    /// RFC 6298 §5.2 and §5.3.
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        self.timer = if self.una == self.highest {
            Time::MAX
        } else {
            now + self.rtt.timeout()
        };
    }

    /// Whole messages are acknowledged, or the FIN.
    #[cold]
    pub(super) fn finish_messages(&mut self) {
        self.outgoing.acknowledged(self.una);
        if self.next == self.una {
            self.message_end = self.outgoing.rewind();
        }
        if self.closing && self.una == self.end {
            self.closed = true;
        }
    }
}

/// Returns the window after an idle time: halved for each timeout in it but the first, as Linux's `tcp_cwnd_restart` does.
fn halved(window: u64, idle: Span, timeout: Span) -> u64 {
    let timeouts = idle
        .as_ps()
        .div_ceil(timeout.as_ps().max(1))
        .saturating_sub(1);
    window.checked_shr(timeouts.min(64) as u32).unwrap_or(0)
}

/// The initial window, in bytes.
fn initial_window(config: &Config) -> u64 {
    u64::from(config.initial_window.max(1)) * u64::from(config.mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_packet_touches_is_within_three_cache_lines() {
        assert_eq!(
            core::mem::offset_of!(Sender, outgoing) + size_of::<u64>(),
            3 * 64
        );
        assert!(size_of::<Sender>() <= 256);
        assert!(size_of::<super::super::Receiver>() <= 64);
    }
}
