//! Construction of segments: new data, FIN, SYN and retransmissions.

use super::sender::{Pending, Sender};
use super::{Config, Flags, Segment};
use duetime_core::Time;

impl Sender {
    /// Returns the end of the segment at `next`: full-sized, or the last of its message.
    #[inline]
    pub(super) fn segment_end(&self, config: &Config) -> u64 {
        (self.next + u64::from(config.mss)).min(self.message_end)
    }

    /// Returns the segment `seq..end` and advances `next`.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, seq: u64, end: u64) -> Segment {
        let mut flags = self.data_flags;
        self.data_flags.0 &= !Flags::CWR.0;
        self.next = end;
        if end == self.message_end {
            flags.insert(self.end_message(seq, end));
        }
        if seq < self.highest {
            flags.insert(Flags::RETRANSMIT);
            self.counters.retransmits += 1;
            self.highest = self.highest.max(self.next);
        } else {
            self.rtt.sent(now, self.next);
            self.highest = self.next;
        }
        if self.timer == Time::MAX {
            self.timer = now + self.rtt.timeout();
        }
        self.last_sent = now;
        Segment {
            seq,
            len: (end - seq) as u32,
            flags,
        }
    }

    /// Ends a message: returns the flags of its last segment and moves to the next message.
    #[cold]
    fn end_message(&mut self, seq: u64, end: u64) -> Flags {
        let mut flags = if end > seq { Flags::PUSH } else { Flags::NONE };
        if end == self.outgoing.end() {
            if self.closing {
                flags.insert(Flags::FIN);
                self.next = end + 1;
            }
        } else {
            self.message_end = self.outgoing.next_message();
        }
        flags
    }

    /// Returns true if there is a pending segment to send.
    #[cold]
    pub(super) fn can_transmit_pending(&self, config: &Config) -> bool {
        match &self.selective {
            Some(selective) if self.pending == Pending::Chosen => {
                self.can_transmit_selective(config, selective)
            }
            _ => true,
        }
    }

    /// Returns the SYN, the first unacknowledged segment, or the segment chosen by selective recovery.
    #[cold]
    pub(super) fn transmit_pending(&mut self, config: &Config, now: Time) -> Option<Segment> {
        match self.pending {
            Pending::Nothing | Pending::InOrder => None,
            Pending::Syn => Some(self.transmit_syn(now)),
            Pending::Head => Some(self.transmit_head(config, now)),
            Pending::Chosen => {
                let mut selective = self.selective.take()?;
                let segment = self.transmit_selective(config, now, &mut selective);
                self.selective = Some(selective);
                segment
            }
        }
    }

    fn transmit_syn(&mut self, now: Time) -> Segment {
        self.pending = Pending::Nothing;
        let mut flags = Flags::SYN | Flags(self.data_flags.0 & Flags::ECT.0);
        if self.highest == 0 {
            self.rtt.sent(now, 1);
        } else {
            flags.insert(Flags::RETRANSMIT);
            self.counters.retransmits += 1;
        }
        (self.next, self.highest) = (1, 1);
        self.timer = now + self.rtt.timeout();
        self.last_sent = now;
        Segment {
            seq: 0,
            len: 0,
            flags,
        }
    }

    /// Retransmits the first unacknowledged segment, regardless of `next`.
    fn transmit_head(&mut self, config: &Config, now: Time) -> Segment {
        self.pending = Pending::Nothing;
        let seq = self.una;
        let message_end = self.outgoing.first_end();
        let end = (seq + u64::from(config.mss)).min(message_end).max(seq);
        let mut flags = Flags(self.data_flags.0 & Flags::ECT.0) | Flags::RETRANSMIT;
        if end == message_end && end > seq {
            flags.insert(Flags::PUSH);
        }
        let mut past = end;
        if end >= self.outgoing.end() && self.closing {
            flags.insert(Flags::FIN);
            past += 1;
        }
        self.next = self.next.max(past);
        self.highest = self.highest.max(past);
        self.counters.retransmits += 1;
        if self.timer == Time::MAX {
            self.timer = now + self.rtt.timeout();
        }
        self.last_sent = now;
        Segment {
            seq,
            len: (end - seq) as u32,
            flags,
        }
    }
}
