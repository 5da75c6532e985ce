//! Slot by slot: which rate a flow needs, what it got, and when it gives up.

use super::super::desired::{Desire, Need, desire};
use super::super::repair::{pace, patience};
use super::super::{Config, EncodedRate, MAX_HOPS, Request, RequestBytes, Tag};
use super::transmit::burst_cost;
use super::{Held, RequestState, Sender, State};
use duetime_core::{Span, Time};

/// Fraction bits of the time that a byte takes.
pub(super) const GAP_BITS: u32 = 8;

impl Sender {
    /// The routers' answer has come: a new slot begins (D3 §4.3).
    pub(super) fn feedback(&mut self, config: &Config, now: Time, tag: Tag, request: &Request) {
        self.sample(now.since(self.emission(tag.echo)));
        self.request = RequestState::Due;
        self.request_timer = Time::MAX;
        if config.pacing && self.request_backoff == 0 {
            self.settle_slot(config, now);
        }
        let hops = usize::from(tag.hops).min(MAX_HOPS);
        self.held = Held {
            desired: self.asked,
            allocations: request.feedback,
            stamps: tag.stamps,
            hops: hops as u8,
        };
        let whole_uplink = EncodedRate::floor(self.uplink, false);
        self.rate = request.feedback[..hops]
            .iter()
            .min()
            .copied()
            .unwrap_or(whole_uplink); // D3 §4.1
        self.counters.denials += u32::from(self.rate < self.asked);
        self.counters.pauses += u32::from(self.rate == EncodedRate::ZERO);
        let is_new = self.state == State::Opening || !self.counted;
        self.state = State::Open;
        self.counted = true;
        let length = if is_new {
            self.srtt
        } else {
            self.slot_length()
        };
        self.slot = self.rate.bytes_in(length, config.exponent());
        self.slot_start = now;
        self.request_backoff = 0;
        self.grant_slot(config, now);
        self.set_pace(config, length);
        self.set_gate(config, now);
        self.quenched = self.quenched || self.is_hopeless(config, now);
        if self.limit <= self.size && !self.quenched && self.has_nothing_to_send() {
            self.request = RequestState::Resting;
            self.request_timer = (self.emitted + self.silence_told(config)).max(now);
        } else if !self.quenched {
            self.delay_request(config, now, is_new);
        }
        self.paused = if self.rate == EncodedRate::ZERO {
            self.paused.saturating_add(1)
        } else {
            0
        };
    }

    /// Delays the next request to the end of a slot that is longer than the round trip, and after a second grant of zero
    /// for longer. It waits for half of the time to the deadline at most, so that the flow asks while its deadline can
    /// still be met, and learns in time if it cannot. A new flow, which has been paused for a round trip, asks at once
    /// (D3 §4.5).
    fn delay_request(&mut self, config: &Config, now: Time, is_new: bool) {
        let backs_off =
            config.request_backoff > 0 && self.rate == EncodedRate::ZERO && self.paused > 0;
        let wait = match backs_off {
            _ if is_new => return,
            true => self.pause(config),
            false => self.request_interval,
        };
        let mut due = self.emitted + wait.min(self.silence_told(config));
        if !config.ignore_deadlines && self.deadline > now {
            due = due.min(now + self.deadline.since(now) / 2);
        }
        if due > now {
            self.request = RequestState::BackingOff;
            self.request_timer = due;
            self.counters.backoffs += u32::from(backs_off);
        }
    }

    /// How long a grant holds: a round trip (D3 §4.3), but no shorter than the time between two requests.
    fn slot_length(&self) -> Span {
        self.srtt.max(self.request_interval)
    }

    /// How long after the newest request the next one may leave at the latest, so that no router misses the flow.
    fn silence_told(&self, config: &Config) -> Span {
        patience(config, self.pace).saturating_sub(self.srtt)
    }

    /// From the newest request to the next one, if its answer is zero as well.
    fn pause(&self, config: &Config) -> Span {
        let most = config.request_backoff.min(Config::MAX_REQUEST_BACKOFF);
        self.slot_length() * (1 << self.paused.min(most))
    }

    /// How long the routers have to wait to hear this flow again: a power of four of their usual patience.
    pub(super) fn next_pace(&self, config: &Config) -> u8 {
        if !config.repair {
            return 0;
        }
        let mut wait = self.request_wait().max(self.request_interval + self.srtt);
        if self.paused > 0 {
            wait = wait.max(self.pause(config) + self.srtt);
        }
        pace(config, wait)
    }

    /// All that may leave has left.
    pub(super) fn has_nothing_to_send(&self) -> bool {
        self.limit <= self.size && self.next >= self.limit && self.resend >= self.resend_end
    }

    /// Whether to end the flow now, at a slot's begin: its deadline cannot be met, or it is taken for one that will
    /// miss. The SYN's desired rate, which has no lag terms, is not compared with the later ones.
    fn is_hopeless(&mut self, config: &Config, now: Time) -> bool {
        match self.desire(config, now) {
            Desire::Quench => true,
            Desire::Rate(rate) => {
                config.speculative && self.rises.see(config.speculation, rate) // D3 §7
            }
        }
    }

    /// One more slot may be sent. D3 §5: unused allocation is carried; but a paused flow cannot hoard.
    pub(super) fn grant_slot(&mut self, config: &Config, now: Time) {
        let mtu = u64::from(config.mtu);
        let carried = self.budget.min(self.slot.max(mtu));
        self.overdue = if carried >= mtu { carried } else { 0 };
        self.budget = carried.saturating_add(self.slot);
        self.release = self.release.max(now);
    }

    /// The slot ends after another time than was expected: the flow had its rate for that long, and for twice the slot at
    /// most.
    fn settle_slot(&mut self, config: &Config, now: Time) {
        let most = self.slot_length();
        let lasted = now.since(self.slot_start).min(most);
        let due = self.rate.bytes_in(lasted, config.exponent());
        self.budget = (self.budget + due).saturating_sub(self.slot);
    }

    /// The budget, with what is carried, leaves evenly over a slot of this length.
    fn set_pace(&mut self, config: &Config, length: Span) {
        self.gap = if config.pacing && self.budget > 0 {
            (length.as_ps().min(u64::MAX >> (GAP_BITS + 1)) << GAP_BITS) / self.budget
        } else {
            0
        };
    }

    pub(super) fn desire(&mut self, config: &Config, now: Time) -> Desire {
        let remaining = self.size - self.next + (self.resend_end.saturating_sub(self.resend));
        // What leaves until the answer comes.
        let in_slot = if self.request_interval > self.srtt {
            self.rate.bytes_in(self.srtt, config.exponent())
        } else {
            self.slot
        };
        let need = Need {
            remaining: match config.request_bytes {
                RequestBytes::Wire if remaining > 0 => burst_cost(config, remaining),
                _ => remaining,
            },
            in_slot,
            rtt: self.srtt,
            uplink: self.uplink,
        };
        desire(config, now, need, &mut self.deadline, self.allowance)
    }
}
