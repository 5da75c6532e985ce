//! Choice of the next segment with selective recovery (RFC 6675 §4, `NextSeg`).

use super::Selective;
use crate::tcp::sender::{Phase, Sender};
use crate::tcp::{Config, Flags, Segment};
use duetime_core::Time;

/// Next transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Nothing,
    New,
    /// Retransmission of a segment.
    Repair(usize),
    /// Retransmission of the last segment that has not arrived (rule 4).
    Rescue(usize),
    /// Retransmission of the last segment (RFC 8985 §7.3).
    Probe(usize),
}

impl Sender {
    /// Returns true if the window allows new data. `pending` must be [`Pending::InOrder`].
    #[inline(always)]
    pub(in crate::tcp) fn can_transmit_in_order(&self, config: &Config) -> bool {
        let allowed = config.receive_window.max(u64::from(config.mss));
        let limit = self.una + allowed.min(self.window.cwnd);
        self.next < self.end && self.segment_end(config) <= limit
    }

    /// Returns new data if the window allows it (RFC 6675 §4, `NextSeg` rule 2). `pending` must be
    /// [`Pending::InOrder`].
    #[inline(never)]
    pub(in crate::tcp) fn transmit_in_order(
        &mut self,
        config: &Config,
        now: Time,
    ) -> Option<Segment> {
        if !self.can_transmit_in_order(config) {
            return None;
        }
        let mut selective = self.selective.take()?;
        debug_assert!(selective.board.is_undisturbed() && !selective.probe.due);
        debug_assert_eq!(selective.board.flight(), self.next - self.una);
        debug_assert_eq!(self.phase, Phase::Open);
        let segment = self.send_new(config, now, &mut selective);
        self.timer = selective.timers.earliest();
        self.selective = Some(selective);
        Some(segment)
    }

    /// Returns the next segment to send, or `None`.
    pub(in crate::tcp) fn transmit_selective(
        &mut self,
        config: &Config,
        now: Time,
        selective: &mut Selective,
    ) -> Option<Segment> {
        let segment = match self.next_to_send(config, selective) {
            Next::Nothing => return None,
            Next::New => self.send_new(config, now, selective),
            Next::Repair(index) => {
                selective.urgent = false;
                self.send_again(now, index, true, selective)
            }
            Next::Rescue(index) => {
                selective.rescued = true;
                self.send_again(now, index, false, selective)
            }
            Next::Probe(index) => {
                let segment = self.send_again(now, index, false, selective);
                selective.probe.sent(self.highest, true);
                segment
            }
        };
        if let Some(rate) = &mut selective.rate {
            rate.sent += u64::from(segment.len);
        }
        self.timer = selective.timers.earliest();
        self.update_pending(selective);
        Some(segment)
    }

    /// Returns true if there is a segment to send.
    pub(in crate::tcp) fn can_transmit_selective(
        &self,
        config: &Config,
        selective: &Selective,
    ) -> bool {
        self.next_to_send(config, selective) != Next::Nothing
    }

    fn next_to_send(&self, config: &Config, selective: &Selective) -> Next {
        let board = &selective.board;
        let in_flight = if config.limited_transmit || self.phase != Phase::Open {
            board.pipe()
        } else {
            board.flight() // out-of-order arrivals allow no new segments
        };
        let fits = |bytes: u64| in_flight + bytes <= self.window.cwnd;
        if let Some(index) = board.first_waiting() {
            // Rule 1.
            let fits = selective.urgent || fits(u64::from(board.get(index).len()));
            return if fits {
                Next::Repair(index)
            } else {
                Next::Nothing
            };
        }
        let end = self.segment_end(config);
        let allowed = config.receive_window.max(u64::from(config.mss));
        let has_new = self.next < self.end && end <= self.una + allowed;
        if selective.probe.due {
            let tail = board.last().map_or(Next::Nothing, Next::Probe);
            return if has_new { Next::New } else { tail };
        }
        if has_new && fits(end - self.next) {
            return Next::New; // rule 2
        }
        if self.phase != Phase::Recovery || config.rack || !fits(u64::from(config.mss)) {
            return Next::Nothing;
        }
        if let Some(index) = board.first_unrepaired() {
            return Next::Repair(index); // rule 3
        }
        let rescue = board.last_missing().filter(|_| !selective.rescued);
        rescue.map_or(Next::Nothing, Next::Rescue) // rule 4
    }

    /// Sends the segment at `next`, which is new data.
    #[inline(always)]
    fn send_new(&mut self, config: &Config, now: Time, selective: &mut Selective) -> Segment {
        let start = self.next;
        let segment = self.transmit(now, start, self.segment_end(config));
        (selective.board).push(start, self.next, now, segment.flags);
        if selective.probe.due {
            selective.probe.sent(self.highest, false);
        }
        (selective.timers).start_retransmission(now, &self.rtt);
        self.restart_probe(config, now, selective);
        (selective.usage).validate(config, &self.window, self.una, self.end);
        segment
    }

    fn send_again(
        &mut self,
        now: Time,
        index: usize,
        counts: bool,
        selective: &mut Selective,
    ) -> Segment {
        let sent = selective.board.resend(index, now, counts);
        if index == 0 {
            // RFC 6675 §6: a repair may take longer than the timeout while acknowledgements arrive.
            selective.timers.retransmission = now + self.rtt.timeout();
        } else {
            (selective.timers).start_retransmission(now, &self.rtt);
        }
        self.counters.retransmits += 1;
        self.last_sent = now;
        Segment {
            seq: sent.start,
            len: sent.len(),
            flags: Flags(self.data_flags.0 & Flags::ECT.0) | Flags::RETRANSMIT | sent.flags,
        }
    }
}
