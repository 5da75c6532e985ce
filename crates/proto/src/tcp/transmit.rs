//! How a sender makes its segments: new data, FIN, SYN, and what is sent again.

use super::sender::{Pending, Sender};
use super::{Config, Flags, Segment};
use duetime_core::Time;

impl Sender {
    /// The end of the segment at `next`: full, or the last of its message.
    #[inline]
    pub(super) fn segment_end(&self, config: &Config) -> u64 {
        (self.next + u64::from(config.mss)).min(self.message_end)
    }

    /// Sends `seq..end` from `next`.
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
        } else {
            self.rtt.sent(now, self.next);
        }
        self.highest = self.highest.max(self.next);
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

    /// The segment ends a message: gives its flags and moves on to the next message.
    #[cold]
    fn end_message(&mut self, seq: u64, end: u64) -> Flags {
        let mut flags = if end > seq { Flags::PUSH } else { Flags::NONE };
        if end == self.outgoing.end() {
            if self.closing {
                flags.insert(Flags::FIN);
                self.next = end + 1;
            }
        } else {
            self.message_end = self.outgoing.sent_one();
        }
        flags
    }

    /// Whether what goes out before anything else is there.
    #[cold]
    pub(super) fn can_transmit_pending(&self, config: &Config) -> bool {
        match &self.selective {
            Some(selective) if self.pending == Pending::Chosen => {
                self.can_transmit_selective(config, selective)
            }
            _ => true,
        }
    }

    /// SYN, the first unacknowledged segment again, or what selective recovery chooses.
    #[cold]
    pub(super) fn transmit_pending(&mut self, config: &Config, now: Time) -> Option<Segment> {
        match self.pending {
            Pending::Nothing => None,
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

    /// The first unacknowledged segment again, whatever `next` is.
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
