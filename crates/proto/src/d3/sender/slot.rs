//! Slots: desired rates, grants, pacing and quenching.

use super::super::desired::{Desire, Need, desired_rate};
use super::super::repair::{max_silence, pace};
use super::super::{Config, EncodedRate, HostOptions, MAX_HOPS, Request, RequestBytes, Tag};
use super::transmit::burst_cost;
use super::{Registered, RequestState, Sender, State};
use duetime_core::{Span, Time};

/// Number of fraction bits of the time per byte.
pub(super) const GAP_BITS: u32 = 8;

impl Sender {
    /// Starts a new slot with the answers of the routers (D3 §4.3).
    pub(super) fn feedback(&mut self, config: &Config, now: Time, tag: Tag, request: &Request) {
        self.sample(now.since(self.emission(tag.echo)));
        self.request = RequestState::Due;
        self.request_timer = Time::MAX;
        if config.host.pacing && self.request_backoff == 0 {
            self.settle_slot(config, now);
        }
        let hops = usize::from(tag.hops).min(MAX_HOPS);
        self.registered = Registered {
            desired: self.requested,
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
        self.counters.denials += u32::from(self.rate < self.requested);
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
        self.quenched = self.quenched || self.must_quench(config, now);
        if self.limit <= self.size && !self.quenched && self.has_nothing_to_send() {
            self.request = RequestState::Idle;
            self.request_timer = (self.emitted + self.max_wait(config)).max(now);
        } else if !self.quenched {
            self.delay_request(config, now, is_new);
        }
        self.paused = if self.rate == EncodedRate::ZERO {
            self.paused.saturating_add(1)
        } else {
            0
        };
    }

    /// Delays the next request to the end of a slot that is longer than the round trip, and for longer after a second
    /// grant of zero. The wait is limited to half of the time to the deadline, so that the flow sends a request while
    /// its deadline can still be met, and detects in time that it cannot. A new flow, which has been paused for a round
    /// trip, sends its request at once (D3 §4.5).
    fn delay_request(&mut self, config: &Config, now: Time, is_new: bool) {
        let backs_off =
            config.host.request_backoff > 0 && self.rate == EncodedRate::ZERO && self.paused > 0;
        let wait = match backs_off {
            _ if is_new => return,
            true => self.pause(config),
            false => self.request_interval,
        };
        let mut due = self.emitted + wait.min(self.max_wait(config));
        if !config.host.ignore_deadlines && self.deadline > now {
            due = due.min(now + self.deadline.since(now) / 2);
        }
        if due > now {
            self.request = RequestState::BackingOff;
            self.request_timer = due;
            self.counters.backoffs += u32::from(backs_off);
        }
    }

    /// Returns the validity of a grant: a round trip (D3 §4.3), but at least the time between two requests.
    fn slot_length(&self) -> Span {
        self.srtt.max(self.request_interval)
    }

    /// Returns the maximum time between the newest request and the next one, so that no router misses the flow.
    fn max_wait(&self, config: &Config) -> Span {
        max_silence(config, self.pace).saturating_sub(self.srtt)
    }

    /// Returns the time between the newest request and the next one, if its answer is zero again.
    fn pause(&self, config: &Config) -> Span {
        let max = config
            .host
            .request_backoff
            .min(HostOptions::MAX_REQUEST_BACKOFF);
        self.slot_length() * (1 << self.paused.min(max))
    }

    /// Returns the pace to announce: the power of four of epochs within which the flow's next request reaches the
    /// routers.
    pub(super) fn next_pace(&self, config: &Config) -> u8 {
        if !config.router.repair {
            return 0;
        }
        let mut wait = self.request_wait().max(self.request_interval + self.srtt);
        if self.paused > 0 {
            wait = wait.max(self.pause(config) + self.srtt);
        }
        pace(config, wait)
    }

    /// Returns true if all permitted data has been sent.
    pub(super) fn has_nothing_to_send(&self) -> bool {
        self.limit <= self.size && self.next >= self.limit && self.resend >= self.resend_end
    }

    /// Returns true if the flow should end at the start of a slot: its deadline cannot be met, or its rising rate
    /// predicts a miss. The SYN's desired rate, which has no lag terms, is not compared with later ones.
    fn must_quench(&mut self, config: &Config, now: Time) -> bool {
        match self.desired_rate(config, now) {
            Desire::Quench => true,
            Desire::Rate(rate) => {
                config.host.policy.speculative
                    && self.rises.record(config.host.policy.speculation, rate) // D3 §7
            }
        }
    }

    /// Adds a slot to the budget. D3 §5: unused allocation is carried, but a paused flow cannot accumulate it.
    pub(super) fn grant_slot(&mut self, config: &Config, now: Time) {
        let mtu = u64::from(config.wire.mtu);
        let carried = self.budget.min(self.slot.max(mtu));
        self.overdue = if carried >= mtu { carried } else { 0 };
        self.budget = carried.saturating_add(self.slot);
        self.release = self.release.max(now);
    }

    /// Corrects the budget for the actual length of the slot, in which the flow had its rate, up to the planned slot
    /// length.
    fn settle_slot(&mut self, config: &Config, now: Time) {
        let max = self.slot_length();
        let lasted = now.since(self.slot_start).min(max);
        let due = self.rate.bytes_in(lasted, config.exponent());
        self.budget = (self.budget + due).saturating_sub(self.slot);
    }

    /// Sets the pace that spreads the budget, including the carried part, evenly over a slot of this length.
    fn set_pace(&mut self, config: &Config, length: Span) {
        self.gap = if config.host.pacing && self.budget > 0 {
            (length.as_ps().min(u64::MAX >> (GAP_BITS + 1)) << GAP_BITS) / self.budget
        } else {
            0
        };
    }

    pub(super) fn desired_rate(&mut self, config: &Config, now: Time) -> Desire {
        let remaining = self.size - self.next + (self.resend_end.saturating_sub(self.resend));
        // Bytes sent until the answer arrives.
        let in_slot = if self.request_interval > self.srtt {
            self.rate.bytes_in(self.srtt, config.exponent())
        } else {
            self.slot
        };
        let need = Need {
            remaining: match config.host.variant.request_bytes {
                RequestBytes::Wire if remaining > 0 => burst_cost(config, remaining),
                _ => remaining,
            },
            in_slot,
            rtt: self.srtt,
            uplink: self.uplink,
        };
        desired_rate(config, now, need, &mut self.deadline, self.allowance)
    }
}
