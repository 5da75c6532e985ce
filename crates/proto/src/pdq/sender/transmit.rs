//! Construction of packets, and the choice of the next one.

use super::super::{Config, Header, Kind, Packet};
use super::{Sender, State};
use duetime_core::{Rate, Time};

/// Next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Syn,
    Data,
    Probe,
    Term,
}

impl Sender {
    /// Returns the next packet that may be sent now. Its round trip starts here, so call this only when the packet can
    /// be sent.
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Packet> {
        let plan = self.planned?;
        self.counters.packets = self.counters.packets.saturating_add(1);
        self.last_sent = now;
        let mut packet = Packet {
            kind: Kind::Data,
            reply: false,
            retransmit: false,
            abandoned: false,
            seq: self.next,
            len: 0,
            gap_end: 0,
            sent: now,
            // PDQ §3.2.
            header: Header {
                rate: self.max_rate,
                paused_by: self.paused_by,
                deadline: self.deadline,
                remaining: self.remaining(),
                rtt: self.srtt,
                probe_every: 0,
            },
        };
        match plan {
            Plan::Data => {
                self.fill(config, &mut packet);
                self.last_data = Some((now, packet.wire_bytes() + self.framing));
                if self.data_timer == Time::MAX {
                    self.arm_data_timer(config, now);
                }
            }
            Plan::Probe => {
                packet.kind = Kind::Probe;
                self.counters.probes = self.counters.probes.saturating_add(1);
                self.is_due = false;
                self.probe_timer = now + self.probe_wait(config);
                self.silence = self.silence.saturating_add(1);
            }
            Plan::Syn | Plan::Term => {
                packet.kind = if plan == Plan::Syn {
                    Kind::Syn
                } else {
                    Kind::Term
                };
                packet.abandoned = self.abandoned && plan == Plan::Term;
                packet.retransmit = self.silence > 0;
                self.is_due = false;
                self.arm_data_timer(config, now);
            }
        }
        self.replan(config, now);
        Some(packet)
    }

    /// Takes the next bytes to send.
    fn fill(&mut self, config: &Config, packet: &mut Packet) {
        let payload = u64::from(config.payload());
        if self.resend < self.resend_end {
            packet.seq = self.resend;
            packet.len = payload.min(self.resend_end - self.resend) as u32;
            packet.retransmit = true;
            self.counters.retransmits = self.counters.retransmits.saturating_add(1);
            if self.resend == self.acked {
                self.repaired = packet.sent;
            }
            self.resend += u64::from(packet.len);
        } else {
            packet.len = payload.min(self.size - self.next) as u32;
            self.next += u64::from(packet.len);
        }
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) would return a packet.
    #[inline]
    pub const fn can_transmit(&self) -> bool {
        self.planned.is_some()
    }

    /// Chooses the next packet, or arms the timer for it.
    pub(super) fn replan(&mut self, config: &Config, now: Time) {
        self.pace_timer = Time::MAX;
        self.termination = self.terminate_at(config);
        self.planned = match self.state {
            State::Opening => self.is_due.then_some(Plan::Syn),
            State::Closing => self.is_due.then_some(Plan::Term),
            State::Closed => None,
            State::Open if !self.has_data() => {
                self.is_due = false;
                self.probe_timer = Time::MAX;
                None
            }
            State::Open if self.rate > 0 => {
                let release = self.release();
                if release > now {
                    self.pace_timer = release;
                    None
                } else {
                    Some(Plan::Data)
                }
            }
            State::Open => {
                if !self.is_due && self.probe_timer == Time::MAX {
                    self.probe_timer = now.max(self.last_sent + self.probe_wait(config));
                }
                self.is_due.then_some(Plan::Probe)
            }
        };
    }

    /// Returns the time of the next data packet: the last one has left at the granted rate.
    fn release(&self) -> Time {
        match self.last_data {
            Some((at, bytes)) => at + Rate::from_bps(self.rate.max(1)).transmit(u64::from(bytes)),
            None => Time::ZERO,
        }
    }
}
