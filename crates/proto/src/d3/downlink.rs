//! Edge allocation: the receiving host allocates its own downlink if no router does.
//!
//! Flows of partition-aggregate traffic meet at the last link, into the host that sent the query. That host sees every
//! request that crosses the link, so the link's allocator can run there: it answers a request on arrival, before the
//! feedback is generated, exactly as the router at the other end of the link would have answered in front of its queue.
//!
//! It answers only requests that no hop other than the sender's own interface, hop 0, has answered. If a router has
//! answered, the path has routers, and the last of them allocates this link. It ignores requests of another scale, for
//! which the allocator could grant only zero: a sender with a faster interface whose configuration does not include
//! this link would otherwise be blocked for ever.
//!
//! A SYN may be forged. Until its sender has proven its address, its flow only receives an *offer*: the grant of a new
//! flow, computed from the capacity left by other offers. The flow is not counted in N, D and A. The first request that
//! shows that its sender knows our identifier is answered like the second request of a counted flow. Forged SYNs
//! therefore take nothing from real flows; if all spare capacity is offered, a new flow is paused for the round trip of
//! its SYN.
//!
//! The host cannot see the queue in front of the link, which the β term of capacity adaptation needs, so it estimates
//! it from grants and arrivals: while the link is busy throughout, grants beyond its rate accumulate in the queue; when
//! it is not, the queue is empty.

use super::rate::{bytes_from_fixed, fixed_from_bytes, fixed_from_rate};
use super::{Config, EncodedRate, Flags, MAX_HOPS, Outcome, PortDriver, Reading, Request};
use duetime_core::{Rate, Span, Time};

/// Share of the link, in 1/256, above which it counts as busy throughout an update interval. It is below one because
/// packets that end in the next interval, and gaps between frames, do not count as arrived.
const BUSY_256: i64 = 250;
/// Index of a request that only its sender's interface has answered.
const OWN_HOP: u8 = 1;

/// Allocator of a host's downlink, running on the host.
#[derive(Clone, Debug)]
pub struct Downlink {
    port: PortDriver,
    rate: Rate,
    arrived_bytes: u64,
    /// Time and `arrived_bytes` at the last update.
    before: Option<(Time, u64)>,
    /// Estimated queue in front of the link, in bytes.
    queue_bytes: u64,
    grants: Grants,
    /// Sum of the outstanding offers, in fixed point.
    offered: i64,
}

/// Offer to a flow whose sender has not proven its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer(EncodedRate);

/// Origin of the answer to an arrived request, in addition to the sender's own interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No answer, or no request.
    Unanswered,
    /// Answered by this host for its downlink.
    Edge(Outcome),
    /// Answered by routers.
    Routers,
    /// Not answered, because the request has another scale than this host, whose allocator could grant only zero. Its
    /// flow keeps the grant of its own interface.
    OtherScale,
}

/// Counts of arrived requests by the origin of their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Requests that this host answered for its downlink.
    pub edge: u64,
    /// Requests that routers had answered.
    pub routers: u64,
    /// Requests of another scale, which this host ignored.
    pub other_scale: u64,
}

impl Grants {
    pub(super) fn count(&mut self, answer: Answer) {
        self.edge += u64::from(matches!(answer, Answer::Edge(_)));
        self.routers += u64::from(answer == Answer::Routers);
        self.other_scale += u64::from(answer == Answer::OtherScale);
    }
}

impl Downlink {
    /// Creates an idle allocator for a downlink of the given rate. `phase` is passed to [`PortDriver::new`].
    pub fn new(config: &Config, rate: Rate, phase: Span) -> Self {
        Self {
            port: PortDriver::new(config, rate, phase),
            rate,
            arrived_bytes: 0,
            before: None,
            queue_bytes: 0,
            grants: Grants::default(),
            offered: 0,
        }
    }

    /// Counts an arrived packet of `bytes`, including all headers, and answers its request, if any, unless routers have
    /// done so. Must be called before the packet is passed to its flow, which returns the request's allocations.
    pub fn arrive(
        &mut self,
        config: &Config,
        now: Time,
        bytes: u64,
        flags: Flags,
        request: Option<&mut Request>,
    ) -> Answer {
        self.arrive_with(config, bytes, request, |downlink, request| {
            downlink.port.process(config, now, flags, request)
        })
    }

    /// Like [`arrive`](Self::arrive), for the SYN of a flow whose sender has not proven its address. Replaces the
    /// flow's previous `offer`.
    pub fn offer(
        &mut self,
        config: &Config,
        bytes: u64,
        flags: Flags,
        request: Option<&mut Request>,
        offer: &mut Offer,
    ) -> Answer {
        self.withdraw(offer);
        self.arrive_with(config, bytes, request, |downlink, request| {
            let (port, offered) = (&downlink.port, downlink.offered);
            let outcome = port.offer(config, flags, request, offered);
            *offer = Offer(outcome.granted);
            downlink.offered += outcome.granted.fixed();
            outcome
        })
    }

    /// Withdraws an offer. Called when the sender has proven its address or the flow is removed.
    pub fn withdraw(&mut self, offer: &mut Offer) {
        self.offered -= std::mem::take(offer).0.fixed();
    }

    /// Like [`arrive`](Self::arrive), for the first request (not a FIN) of a flow that had an offer. The flow is
    /// counted from now on.
    pub fn admit(
        &mut self,
        config: &Config,
        now: Time,
        bytes: u64,
        flags: Flags,
        request: Option<&mut Request>,
    ) -> Answer {
        self.arrive_with(config, bytes, request, |downlink, request| {
            downlink.port.admit(config, now, flags, request)
        })
    }

    fn arrive_with(
        &mut self,
        config: &Config,
        bytes: u64,
        request: Option<&mut Request>,
        answer: impl FnOnce(&mut Self, &mut Request) -> Outcome,
    ) -> Answer {
        self.arrived_bytes += bytes;
        let answer = match request {
            Some(request) if request.index == OWN_HOP && request.scale != config.exponent() => {
                Answer::OtherScale
            }
            Some(request) if request.index == OWN_HOP => Answer::Edge(answer(self, request)),
            Some(request) if (OWN_HOP + 1..MAX_HOPS as u8 + 1).contains(&request.index) => {
                Answer::Routers
            }
            _ => Answer::Unanswered,
        };
        self.grants.count(answer);
        answer
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), or [`Time::MAX`] for never. It may change with
    /// every call.
    pub const fn next_timeout(&self) -> Time {
        self.port.next_timeout()
    }

    /// Runs capacity adaptation (D3 §4.4). No effect before [`next_timeout`](Self::next_timeout).
    pub fn timeout(&mut self, config: &Config, now: Time) {
        if now < self.port.next_timeout() {
            return;
        }
        self.estimate(config, now);
        let reading = Reading {
            departed_bytes: self.arrived_bytes,
            queue_bytes: self.queue_bytes,
        };
        self.port.timeout(config, now, reading);
        if self.port.next_timeout() == Time::MAX {
            self.before = None;
        }
    }

    /// Updates the estimated queue for the time since the last update.
    fn estimate(&mut self, config: &Config, now: Time) {
        let Some((since, before)) = self.before.replace((now, self.arrived_bytes)) else {
            self.queue_bytes = 0;
            return;
        };
        let scale = config.exponent();
        let span = now.since(since).max(Span::from_ps(1));
        let used = fixed_from_bytes(self.arrived_bytes - before, span, scale);
        let physical = fixed_from_rate(self.rate, scale);
        if used * 256 < physical * BUSY_256 {
            self.queue_bytes = 0;
            return;
        }
        let granted = self.port.allocator().allocated_fixed();
        let queued = bytes_from_fixed(granted - physical, span, scale);
        let left = bytes_from_fixed(physical - granted, span, scale);
        self.queue_bytes = (self.queue_bytes + queued).saturating_sub(left);
    }

    /// Returns the port driver with the allocator.
    pub const fn port(&self) -> &PortDriver {
        &self.port
    }

    /// Returns the estimated queue in front of the link, in bytes.
    pub const fn queue_bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Returns the counts of arrived requests.
    pub const fn grants(&self) -> Grants {
        self.grants
    }
}
