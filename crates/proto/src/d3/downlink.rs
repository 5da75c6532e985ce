//! Edge allocation: the receiving host allocates its own downlink where no router does.
//!
//! Flows of partition-aggregate traffic meet at the last link, into the host that asked. That host sees every request that
//! crosses it, so the allocator of that link may as well stand behind it: it answers a request on arrival, before the
//! feedback is made, as the router at the link's other end would have answered it in front of its queue.
//!
//! It answers a request to which nothing but the sender's own interface, hop 0, has written. Where a router has, the
//! path has routers, and the last of them allocates this link. It lets a request of another scale be, for which an allocator
//! has no answer but zero: a sender with a faster interface that was not told of this link is not held back for ever.
//!
//! A SYN may be a forgery: until its sender has proven its address, its flow gets an *offer*. It is what a new flow would be
//! granted, from what is left beside the offers to others; the flow is not counted in N, D and A. The first request that
//! shows that its sender knows our identifier is answered as the second of a flow that was counted. So whatever is forged
//! takes nothing from flows whose senders are real; where all that is left is offered, a new flow is paused for the round
//! trip of its SYN.
//!
//! What it does not see is the queue in front of the link, which the β term of capacity adaptation needs. It knows what it
//! has granted, though, and what has arrived: while the link was busy throughout, whatever was granted beyond its rate
//! has queued; once it was not, the queue was empty.

use super::rate::{bytes_from_fixed, fixed_from_bytes, fixed_from_rate};
use super::{Config, EncodedRate, Flags, MAX_HOPS, Outcome, PortDriver, Reading, Request};
use duetime_core::{Rate, Span, Time};

/// A link is taken for busy throughout an update interval if at least this much of it was used, in 1/256: packets that
/// end in the next interval, and frames' gaps, are not counted as arrived.
const BUSY_256: i64 = 250;
/// How many hops have written to a request that only its sender's interface has seen.
const OWN_HOP: u8 = 1;

/// The allocator of a host's downlink, at the host.
#[derive(Clone, Debug)]
pub struct Downlink {
    port: PortDriver,
    rate: Rate,
    arrived_bytes: u64,
    /// `arrived_bytes` and the time at the last update.
    before: Option<(Time, u64)>,
    /// What is believed to wait in front of the link.
    queue_bytes: u64,
    grants: Grants,
    /// The sum of offers that stand, in fixed point.
    offered: i64,
}

/// What a flow was offered whose sender has not proven its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer(EncodedRate);

/// Who answered the request of a packet that arrived, beside its sender's own interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is none, or nobody has.
    Nobody,
    /// This host, for its downlink.
    Edge(Outcome),
    /// Routers.
    Routers,
    /// Nobody: it is in another scale than this host's, whose allocator could grant nothing. It keeps to its own interface's
    /// grant.
    OtherScale,
}

/// Who answered the requests that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Requests that this host answered for its downlink.
    pub edge: u64,
    /// Requests that routers had answered.
    pub routers: u64,
    /// Requests of another scale, which this host let be.
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
    /// The allocator of a downlink of the given rate, idle; `phase` is that of [`PortDriver::new`].
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

    /// A packet of `bytes`, all headers included, has arrived; its request, if it has one, is answered unless routers
    /// have done so. Call it before the packet is given to its flow, which returns what the request then holds.
    pub fn arrive(
        &mut self,
        config: &Config,
        now: Time,
        bytes: u64,
        flags: Flags,
        request: Option<&mut Request>,
    ) -> Answer {
        self.arriving(config, bytes, request, |downlink, request| {
            downlink.port.process(config, now, flags, request)
        })
    }

    /// The same for the SYN of a flow whose sender has not proven its address, and that was offered `offer` before.
    pub fn offer(
        &mut self,
        config: &Config,
        bytes: u64,
        flags: Flags,
        request: Option<&mut Request>,
        offer: &mut Offer,
    ) -> Answer {
        self.withdraw(offer);
        self.arriving(config, bytes, request, |downlink, request| {
            let (port, offered) = (&downlink.port, downlink.offered);
            let outcome = port.offer(config, flags, request, offered);
            *offer = Offer(outcome.granted);
            downlink.offered += outcome.granted.fixed();
            outcome
        })
    }

    /// The sender has proven its address, or the flow is forgotten.
    pub fn withdraw(&mut self, offer: &mut Offer) {
        self.offered -= std::mem::take(offer).0.fixed();
    }

    /// As [`arrive`](Self::arrive), for the first request, not a FIN, of a flow that had an offer: it is counted from now on.
    pub fn admit(
        &mut self,
        config: &Config,
        now: Time,
        bytes: u64,
        flags: Flags,
        request: Option<&mut Request>,
    ) -> Answer {
        self.arriving(config, bytes, request, |downlink, request| {
            downlink.port.admit(config, now, flags, request)
        })
    }

    fn arriving(
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
            _ => Answer::Nobody,
        };
        self.grants.count(answer);
        answer
    }

    /// When [`timeout`](Self::timeout) must be called; [`Time::MAX`]: never. It moves with every call.
    pub const fn next_timeout(&self) -> Time {
        self.port.next_timeout()
    }

    /// Capacity adaptation (D3 §4.4); harmless before [`next_timeout`](Self::next_timeout).
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

    /// Brings the queue up to date with the time since the last update.
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

    /// The port's allocator and updates.
    pub const fn port(&self) -> &PortDriver {
        &self.port
    }

    /// What is believed to wait in front of the link, in bytes.
    pub const fn queue_bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Who has answered the requests that came.
    pub const fn grants(&self) -> Grants {
        self.grants
    }
}
