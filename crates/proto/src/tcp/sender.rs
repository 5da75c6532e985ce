//! Sender: sequence numbers, the window, and the driver's calls. `transmit` builds segments; `recovery`, or `selective`
//! in its place, handles losses.

use super::outgoing::Outgoing;
use super::rtt::Rtt;
use super::selective::Selective;
use super::{Config, Flags, Recovery, Segment, Timer};
use crate::Message;
use crate::window::{Control, Controller, Progress, Window, on};
use duetime_core::fixed::Fraction;
use duetime_core::prefetch::prefetch_lines;
use duetime_core::{Span, Time};

/// Sending end of one direction of a connection.
///
/// After [`input`](Self::input), [`timeout`](Self::timeout), [`send`](Self::send) or [`close`](Self::close) the driver
/// calls [`poll_transmit`](Self::poll_transmit) until it returns `None`. It calls [`timeout`](Self::timeout) at
/// [`next_timeout`](Self::next_timeout).
#[derive(Clone, Debug)]
#[repr(C)] // fields used by every packet come first, within three cache lines
pub struct Sender {
    /// First unacknowledged position (SND.UNA).
    pub(super) una: u64,
    /// Next position to send (SND.NXT); returns to `una` at a timeout.
    pub(super) next: u64,
    /// Right edge of the window; zero until established, and always zero with `selective`.
    pub(super) limit: u64,
    /// End of the message at `next`.
    pub(super) message_end: u64,
    /// End of all submitted data, including the FIN.
    pub(super) end: u64,
    /// End of all data sent so far.
    pub(super) highest: u64,
    pub(super) timer: Time,
    pub(super) window: Window,
    /// Position that must be acknowledged before the window grows or marks reduce it again.
    pub(super) reduced_end: u64,
    /// ECT if the controller responds to marks, and CWR after a reduction.
    pub(super) data_flags: Flags,
    pub(super) pending: Pending,
    pub(super) phase: Phase,
    /// Timeouts since `una` last advanced.
    pub(super) attempts: u8,
    pub(super) closing: bool,
    pub(super) closed: bool,
    /// Consecutive duplicate acknowledgements.
    pub(super) duplicates: u8,
    pub(super) last_sent: Time,
    pub(super) rtt: Rtt,
    pub(super) controller: Controller,
    pub(super) outgoing: Outgoing,
    /// Position up to which fast recovery, or the repair after a timeout, lasts (RFC 6582).
    pub(super) recover: u64,
    /// Selective recovery, which replaces `recovery`.
    pub(super) selective: Option<Box<Selective>>,
    pub(super) counters: Counters,
    /// Bytes in flight at the first of `duplicates`, capped at 2³² - 1.
    pub(super) flight_before_duplicates: u32,
}

/// Loss statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Entries into fast recovery.
    pub fast_retransmits: u32,
}

/// Choice of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// New data up to `limit`.
    Nothing,
    Syn,
    /// Retransmission of the first unacknowledged segment.
    Head,
    /// With selective recovery while nothing is known of a loss: new data as far as the window allows.
    InOrder,
    /// Segment chosen by `selective`, if any.
    Chosen,
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Fast recovery before its first partial acknowledgement.
    Recovery,
    /// Fast recovery after a partial acknowledgement.
    PartialRecovery,
    /// Repair after a timeout, until all data then in flight is acknowledged.
    Loss,
}

impl Sender {
    /// Creates a sender that is idle until the first [`send`](Self::send).
    pub fn new(config: &Config, now: Time) -> Self {
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
                ssthresh: u64::MAX,
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

    /// Opens the connection before there is a message to send. No effect after the SYN was sent.
    pub fn connect(&mut self) {
        if self.highest == 0 {
            self.pending = Pending::Syn;
        }
    }

    /// Appends a message to the stream; the first message opens the connection. No effect after [`close`](Self::close).
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

    /// Reduces the window before data follows an idle time. RFC 5681 §4.1: after an RTO the old window no longer
    /// reflects the state of the network.
    fn resume(&mut self, config: &Config, now: Time) {
        let (idle, timeout) = (now.since(self.last_sent), self.rtt.timeout());
        let restarts = config.slow_start_restart && idle > timeout;
        let mut window = self.window.cwnd;
        if restarts {
            let restart_window = window.min(initial_window(config));
            window = if config.window_validation {
                self.window.keep_ssthresh();
                halved(window, idle, timeout).max(restart_window)
            } else {
                restart_window
            };
        }
        let is_reduced = window < self.window.cwnd;
        on!(&mut self.controller, control => control.on_idle_end(idle, is_reduced));
        if restarts {
            self.window.cwnd = window;
            self.window.growth = 0;
            if self.selective.is_none() {
                self.update_limit(config);
            }
        }
    }

    /// Ends the stream after the submitted messages: the FIN is sent with the last data segment, or alone if that was
    /// already sent.
    pub fn close(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        if self.end == 1 {
            self.closed = true; // never opened
        } else {
            self.end += 1;
        }
    }

    /// Processes an acknowledgement from the receiver.
    #[inline(always)]
    pub fn input(&mut self, config: &Config, now: Time, segment: Segment) {
        let ack = segment.seq;
        let bytes = ack.wrapping_sub(self.una);
        // One comparison for una < ack and ack <= highest.
        let is_new = bytes.wrapping_sub(1) < self.highest.wrapping_sub(self.una);
        if !is_new || self.limit == 0 || !segment.flags.contains(Flags::ACK) {
            return self.input_slow(config, now, ack, segment.flags);
        }
        self.una = ack;
        self.attempts = 0;
        if self.next < ack {
            self.next = ack; // data sent before a timeout arrived
        }
        let marked = self.uses_marks() && segment.flags.contains(Flags::ECE);
        if self.uses_marks() {
            let marked = if marked { bytes } else { 0 };
            on!(&mut self.controller, control => control.on_ecn_feedback(marked, ack, self.highest));
        }
        self.rtt.acknowledged(config, now, ack);
        if ack >= self.outgoing.first_end() {
            self.finish_messages();
        }
        if self.phase == Phase::Open {
            self.restart_timer(now);
            self.duplicates = 0;
            if ack > self.reduced_end {
                if marked {
                    self.reduce_by_marks(config, now);
                } else {
                    self.grow(config, now, bytes);
                }
            }
        } else {
            if self.phase != Phase::PartialRecovery {
                self.restart_timer(now);
            }
            self.repair(config, now, bytes);
        }
        self.update_limit(config);
    }

    /// Handles the timer. Called at [`next_timeout`](Self::next_timeout); no effect if called early. Returns the timer
    /// that expired, or `None`.
    #[inline]
    pub fn timeout(&mut self, config: &Config, now: Time) -> Option<Timer> {
        if now >= self.timer && !self.closed {
            return self.expire(config, now);
        }
        None
    }

    /// Returns the next segment to send, or `None` if the window is full or there is nothing to send.
    #[inline(always)]
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Segment> {
        if self.pending != Pending::Nothing {
            let segment = if self.pending == Pending::InOrder {
                self.transmit_in_order(config, now)?
            } else {
                self.transmit_pending(config, now)?
            };
            return Some(segment);
        }
        let seq = self.next;
        let end = self.segment_end(config);
        if end > self.limit || seq >= self.end {
            return None;
        }
        Some(self.transmit(now, seq, end))
    }

    /// Prefetches the state of selective recovery into the processor's caches, for a driver of very many senders.
    #[inline]
    pub fn prefetch_recovery(&self) {
        if let Some(selective) = &self.selective {
            prefetch_lines::<4, _>(&**selective);
        }
    }

    /// Prefetches the first and last segments in flight, after [`prefetch_recovery`](Self::prefetch_recovery).
    #[inline]
    pub fn prefetch_segments(&self) {
        if let Some(selective) = &self.selective {
            selective.prefetch_segments();
        }
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) would return a segment.
    #[inline(always)]
    pub fn can_transmit(&self, config: &Config) -> bool {
        if self.pending != Pending::Nothing {
            return if self.pending == Pending::InOrder {
                self.can_transmit_in_order(config)
            } else {
                self.can_transmit_pending(config)
            };
        }
        self.segment_end(config) <= self.limit && self.next < self.end
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), or [`Time::MAX`] if no timer is running.
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Returns true if the receiver has answered the SYN.
    #[inline]
    pub const fn is_established(&self) -> bool {
        self.una > 0
    }

    /// Returns true if the FIN was acknowledged or abandoned, or if the sender was closed before any message.
    #[inline]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true if all submitted data is acknowledged.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.unacknowledged() == 0
    }

    /// Returns the loss statistics so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the congestion window in bytes.
    pub const fn window_bytes(&self) -> u64 {
        self.window.cwnd
    }

    /// Returns the slow-start threshold in bytes; `u64::MAX` means infinity.
    pub const fn ssthresh_bytes(&self) -> u64 {
        self.window.ssthresh
    }

    /// Returns α, the average marked fraction (RFC 8257), or zero for controllers that do not use marks.
    pub fn alpha(&self) -> Fraction {
        on!(&self.controller, control => control.alpha())
    }

    /// Returns the number of unacknowledged bytes of all messages, sent or not.
    pub const fn unacknowledged(&self) -> u64 {
        self.outgoing.end() - 1 - self.acked()
    }

    /// Returns the number of bytes of all messages that were never sent.
    pub const fn unsent(&self) -> u64 {
        let sent = if self.highest > 1 { self.highest } else { 1 };
        self.outgoing.end().saturating_sub(sent)
    }

    /// Returns the stream position of the first unacknowledged byte; the FIN counts as one byte.
    #[inline(always)]
    pub const fn first_unacknowledged(&self) -> u64 {
        self.una
    }

    /// Returns the number of acknowledged bytes of all messages.
    pub const fn acked(&self) -> u64 {
        let end = self.outgoing.end();
        let una = if self.una < end { self.una } else { end };
        una.saturating_sub(1)
    }

    /// Returns the number of bytes sent and not acknowledged.
    pub const fn in_flight(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    /// Returns the smoothed round-trip time, or `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        let srtt = self.rtt.smoothed();
        (srtt != Span::ZERO).then_some(srtt)
    }

    /// Grows the window after `bytes` were acknowledged.
    #[inline(always)]
    pub(super) fn grow(&mut self, config: &Config, now: Time, bytes: u64) {
        if self.controller.has_custom_growth() {
            on!(&mut self.controller, control => control.on_ack(config, now, &mut self.window, &self.rtt, bytes));
        } else {
            self.window.grow(config, bytes);
        }
    }

    /// Reduces the window by marks, once per window of data.
    #[inline(always)]
    pub(super) fn reduce_by_marks(&mut self, config: &Config, now: Time) {
        let window = self.window.cwnd;
        let progress = || Progress {
            deadline: self.outgoing.deadline(),
            remaining: self.outgoing.first_end().saturating_sub(self.una),
            window,
            mss: config.mss,
            srtt: self.rtt.smoothed(),
        };
        on!(&mut self.controller, control => {
            control.on_explicit_congestion(config, now, &mut self.window, progress);
        });
        self.window.growth = 0;
        self.reduced_end = self.highest;
        self.data_flags.insert(Flags::CWR);
    }

    /// Returns true if the controller responds to marks.
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

    /// Restarts the retransmission timer (RFC 6298 §5.2 and §5.3).
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        self.timer = if self.una == self.highest {
            Time::MAX
        } else {
            now + self.rtt.timeout()
        };
    }

    /// Updates the messages after whole messages, or the FIN, were acknowledged.
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

/// Returns the window after an idle time: halved per timeout except the first, like Linux's `tcp_cwnd_restart`.
fn halved(window: u64, idle: Span, timeout: Span) -> u64 {
    let timeouts = idle
        .as_ps()
        .div_ceil(timeout.as_ps().max(1))
        .saturating_sub(1);
    window.checked_shr(timeouts.min(64) as u32).unwrap_or(0)
}

/// Returns the initial window in bytes.
fn initial_window(config: &Config) -> u64 {
    u64::from(config.initial_window.max(1)) * u64::from(config.mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_fields_fit_three_cache_lines() {
        assert_eq!(
            core::mem::offset_of!(Sender, outgoing) + size_of::<u64>(),
            3 * 64
        );
        assert!(size_of::<Sender>() <= 256);
        assert!(size_of::<super::super::Receiver>() <= 64);
    }
}
