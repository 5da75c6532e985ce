//! Slot by slot: which rate a flow needs, what it got, and when it gives up.

use super::super::desired::{Desire, Need, desire};
use super::super::repair::{pace, patience};
use super::super::{Config, EncodedRate, MAX_HOPS, Request, RequestBytes, Tag};
use super::transmit::burst_cost;
use super::{Held, RequestState, Sender, State};
use duetime_core::{Span, Time};

impl Sender {
    /// The routers' answer has come: a new slot begins (D3 §4.3).
    pub(super) fn feedback(&mut self, config: &Config, now: Time, tag: Tag, request: &Request) {
        self.sample(now.since(self.emission(tag.echo)));
        self.request = RequestState::Due;
        self.request_backoff = 0;
        self.request_timer = Time::MAX;
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
        self.state = State::Open;
        self.counted = true;
        self.slot = self.rate.bytes_in(self.srtt, config.exponent());
        self.grant_slot(config);
        self.quenched = self.quenched || self.is_hopeless(config, now);
        if self.limit <= self.size && !self.quenched && self.has_nothing_to_send() {
            self.request = RequestState::Resting;
            self.request_timer = (self.emitted + self.silence_told(config)).max(now);
        } else if config.request_backoff > 0 && !self.quenched {
            self.back_off(config, now);
        }
        self.paused = if self.rate == EncodedRate::ZERO {
            self.paused.saturating_add(1)
        } else {
            0
        };
    }

    /// A grant of zero after another one: the next request waits. It waits for half of the time to the deadline at most,
    /// so that the flow asks while its deadline can still be met, and learns in time if it cannot.
    fn back_off(&mut self, config: &Config, now: Time) {
        if self.rate != EncodedRate::ZERO || self.paused == 0 {
            return;
        }
        let mut due = self.emitted + self.pause(config).min(self.silence_told(config));
        if self.deadline > now {
            due = due.min(now + self.deadline.since(now) / 2);
        }
        if due > now {
            self.request = RequestState::BackingOff;
            self.request_timer = due;
            self.counters.backoffs += 1;
        }
    }

    /// How long after the newest request the next one may leave at the latest, so that no router misses the flow.
    fn silence_told(&self, config: &Config) -> Span {
        patience(config, self.pace).saturating_sub(self.srtt)
    }

    /// From the newest request to the next one, if its answer is zero as well.
    fn pause(&self, config: &Config) -> Span {
        let most = config.request_backoff.min(Config::MAX_REQUEST_BACKOFF);
        self.srtt * (1 << self.paused.min(most))
    }

    /// How long the routers have to wait to hear this flow again: a power of four of their usual patience.
    pub(super) fn next_pace(&self, config: &Config) -> u8 {
        if !config.repair {
            return 0;
        }
        let mut wait = self.request_wait();
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
    pub(super) fn grant_slot(&mut self, config: &Config) {
        let mtu = u64::from(config.mtu);
        let carried = self.budget.min(self.slot.max(mtu));
        self.overdue = if carried >= mtu { carried } else { 0 };
        self.budget = carried.saturating_add(self.slot);
    }

    pub(super) fn desire(&mut self, config: &Config, now: Time) -> Desire {
        let remaining = self.size - self.next + (self.resend_end.saturating_sub(self.resend));
        let need = Need {
            remaining: match config.request_bytes {
                RequestBytes::Wire if remaining > 0 => burst_cost(config, remaining),
                _ => remaining,
            },
            in_slot: self.slot,
            rtt: self.srtt,
            uplink: self.uplink,
        };
        desire(config, now, need, &mut self.deadline, self.allowance)
    }
}
