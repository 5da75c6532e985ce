//! D3: deadline-driven delivery with explicit rates; and RCPdc, which is D3 without deadlines.
//!
//! A [`Sender`] requests the rate that its deadline needs from every router on its path, once per round trip. An
//! [`Allocator`] at each outgoing interface answers without per-flow state. The [`Receiver`] returns the answers.
//! `repair` describes how the routers' counters recover from loss and host failures.

mod desired;
mod downlink;
pub mod endpoint;
mod police;
mod port;
mod rate;
mod receiver;
mod repair;
mod router;
mod sender;
pub mod wire;

pub use downlink::{Answer, Downlink, Grants, Offer};
pub use police::{Claim, Police, Policer};
pub use port::{PortDriver, Reading};
pub use rate::{EncodedRate, FixedRate};
pub use receiver::{Delivery, Receiver};
pub use router::{Allocator, Outcome};
pub use sender::{Counters, Sender, Timer};
pub use wire::{Flags, HopAnswer, HopRequest, MAX_HOPS, Packet, Request, Tag};

use duetime_core::{Rate, Span};

/// Options of D3. Hosts and routers of a network share one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// True to treat every flow as one without a deadline (RCPdc).
    pub ignore_deadlines: bool,
    /// Signed exponent: rate = byte × 2^scale B/us, or `None` to choose it so that the slowest link encodes to
    /// 64..=127.
    pub scale: Option<i8>,
    /// Rounding of rates to bytes.
    pub rounding: Rounding,
    /// Rate that a paused flow may use.
    pub base_rate: BaseRate,
    /// True to end flows early that cannot meet their deadline (D3 §6.1.3).
    pub quench: bool,
    /// True to quench by the literal formula of the paper, including the lag terms.
    pub quench_strict: bool,
    /// True to end flows early whose desired rate keeps rising (D3 §7, "speculative flow quenching"). Independent of
    /// `quench`.
    pub speculative: bool,
    /// Definition of a rising rate for `speculative`.
    pub speculation: Speculation,
    /// Rate requested after the deadline. Not used with `quench`.
    pub late: Late,
    /// Step by which [`Late::Extend`] moves a deadline, in 1/1000 of the flow's original allowance; at least 1.
    pub late_extension_permille: u32,
    /// Period of capacity adaptation, T, or `None` to choose it for the slowest link by [`Config::interval_for`].
    pub update_interval: Option<Span>,
    /// Gain α of capacity adaptation, in 1/256.
    pub alpha_256: u32,
    /// Gain β of capacity adaptation, in 1/256.
    pub beta_256: u32,
    /// Share of the link's rate that capacity adaptation aims for with [`AlphaReference::Physical`], in 1/256. A few
    /// per cent below 256 keep queues as short as published (D3 §6.1.4: 0.95 of the link for any number of flows, and a
    /// median queue of one packet); at 256, colliding bursts leave two or three more packets.
    pub target_256: u32,
    /// Reference for the spare capacity.
    pub alpha_reference: AlphaReference,
    /// True if q includes the packet in service.
    pub queue_in_service: bool,
    /// Queue length that capacity adaptation uses.
    pub queue_sample: QueueSample,
    /// True to never grant more than the capacity left.
    pub cap_to_left: bool,
    /// Bytes that a desired rate counts.
    pub request_bytes: RequestBytes,
    /// True to request the bytes left after this round trip over the time to the deadline less two round trips (D3 §5).
    /// Otherwise requests are for the bytes left now over the time to the deadline, like the first request.
    pub request_lag: bool,
    /// True to cap requests at the bytes left to send over one round trip, the duration of a grant (D3 §4.1). The
    /// formula of §5 exceeds this when the deadline is less than three round trips away.
    pub cap_to_remaining: bool,
    /// Number of times that a paused flow doubles its wait between requests: it waits 1, 2, 4, … up to
    /// 2^`request_backoff` round trips. 0 requests once per round trip (D3 §4.5). At most
    /// [`Config::MAX_REQUEST_BACKOFF`].
    pub request_backoff: u8,
    /// Minimum time between requests of a flow, in transmission times of the largest packet on its uplink; a grant is
    /// valid until the next request. 0 requests once per round trip, however short (D3 §4.5).
    pub request_packets: u32,
    /// True to send data at the allocated rate, packet by packet, while the grant is valid. Otherwise it is sent as one
    /// burst on each grant, as in the paper's stack (D3 §5).
    pub pacing: bool,
    /// Time by which a paced packet may be sent early, so that one timer event can send several.
    pub pacing_batch: Span,
    /// True to accept answers to requests that were declared lost and repeated, whichever is answered first. Otherwise
    /// only the answer to the newest request counts. A flow whose round trip has become longer than its wait for
    /// feedback then waits for ever, because each answer arrives after the next request and no round trip is measured.
    /// `None` means false unless the driver overrides it.
    pub late_answers: Option<bool>,
    /// True to grant new flows only the base rate as fair share (D3 §4.5).
    pub pause_new: bool,
    /// True if acknowledgements are registered as a separate flow.
    pub reverse_request: bool,
    /// Allocators of the links.
    pub allocation: Allocation,
    /// True to repair the counters under load (see `repair`).
    pub repair: bool,
    /// Number of update intervals within which a live flow sends a request, if its round trip is below one interval.
    /// After this many intervals without a request and with an empty queue, a port resets (D3 §4.4, "low load"). Half
    /// as many are an epoch of the repair.
    pub reset_intervals: u32,
    /// Allowance per ingress for traffic that D3 does not account for, if routers limit each ingress to the grants of
    /// its flows plus this rate ([`Police`]). `None` trusts the hosts (D3 §4.4). Requires `repair`.
    pub police: Option<Rate>,
    /// Largest packet, including all headers, in bytes.
    pub mtu: u32,
    /// Length of the IP and transport headers of each packet, in bytes: [`wire::capture::IP_BYTES`] for datagrams
    /// directly on IP, as in the simulator, and [`wire::UDP_IPV4_BYTES`] for UDP.
    pub header_bytes: u32,
    /// Minimum retransmission timeout.
    pub rto_min: Span,
}

/// Rounding of rates to the header's byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Round down; each port and sender carries the remainder to its next rounding.
    Carry,
    /// Round requests up and grants down.
    CeilFloor,
    /// Round both down.
    FloorFloor,
    /// Do not round; for comparison in simulation only.
    Exact,
}

/// Rate that a paused flow may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseRate {
    /// A header-only request per round trip, not accounted (D3 §4.5).
    HeaderOnly,
    /// A full segment per round trip of the given length, accounted (as D2TCP's authors ran D3).
    Segment(Span),
}

/// Criterion by which a rising desired rate predicts a missed deadline. D3 §7 names the sign, "successive increases of
/// the desired rate over multiple RTTs", and leaves both numbers open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speculation {
    /// k: number of successive increases that end the flow; at least 1.
    pub rises: u8,
    /// Minimum growth between the requests of successive round trips, in 1/1000.
    pub growth_permille: u32,
}

impl Default for Speculation {
    /// Returns four increases of 10 %.
    fn default() -> Self {
        Self {
            rises: 4,
            growth_permille: 100,
        }
    }
}

/// Rate requested by a late flow: host-only policies for soft deadlines (D3 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Zero: the flow becomes a flow without a deadline, in fair-share mode.
    FairShare,
    /// Deadline moved by `late_extension_permille` of the original allowance each time it is missed.
    Extend,
    /// Rate of the flow's uplink.
    Max,
}

/// Bytes that a desired rate counts. Allocations are charged with whole packets (D3 §5: k = s·rtt / 1500 packets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBytes {
    /// Application bytes: the flow size that D3 §4.1 divides by the time to the deadline. Requests then lack the
    /// headers, 2.7 % with packets of 1500 B.
    Payload,
    /// Bytes on the wire: includes the headers of each packet and the request of each round trip.
    Wire,
}

/// Reference for the spare capacity (the α term of capacity adaptation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaReference {
    /// Rate of the link, or `target_256` of it.
    Physical,
    /// C(t), as printed in the paper.
    Literal,
}

/// Queue length that capacity adaptation uses at the end of an update interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSample {
    /// Minimum since the last update: the standing queue. Hosts may send each round trip's allocation as one burst, so
    /// queues form and drain within a round trip although capacity is not exceeded. XCP, the origin of this controller,
    /// also uses the queue that does not drain within a round trip.
    Smallest,
    /// Queue at that instant, as printed (D3 §4.4): overlapping bursts cost up to half of the capacity.
    Instant,
}

/// Allocators of the links of a path. The sender's interface, hop 0, is always allocated by the sending host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Routers in front of the links (D3 §4).
    Routers,
    /// Receiving host, for its own downlink, if no router has answered a request ([`Downlink`]). Links in between are
    /// not allocated.
    Edge,
}

/// Period of capacity adaptation on D3's testbed (§4.4, footnote 4).
const INTERVAL: Span = Span::from_us(800);

impl Default for Config {
    /// Returns the paper's profile with the documented interpretations.
    fn default() -> Self {
        Self {
            ignore_deadlines: false,
            scale: None,
            rounding: Rounding::Carry,
            base_rate: BaseRate::HeaderOnly,
            quench: false,
            quench_strict: false,
            speculative: false,
            speculation: Speculation::default(),
            late: Late::FairShare,
            late_extension_permille: 1_000,
            update_interval: None,
            alpha_256: 26,
            beta_256: 256,
            target_256: 256,
            alpha_reference: AlphaReference::Physical,
            queue_in_service: false,
            queue_sample: QueueSample::Smallest,
            cap_to_left: false,
            request_bytes: RequestBytes::Payload,
            request_lag: true,
            cap_to_remaining: false,
            request_backoff: 0,
            request_packets: 16,
            pacing: true,
            pacing_batch: Span::ZERO,
            late_answers: None,
            pause_new: true,
            reverse_request: true,
            allocation: Allocation::Routers,
            repair: true,
            reset_intervals: 4,
            police: None,
            mtu: 1500,
            header_bytes: wire::capture::IP_BYTES,
            rto_min: Span::from_ms(10),
        }
    }
}

impl Config {
    /// Maximum [`request_backoff`](Self::request_backoff).
    pub const MAX_REQUEST_BACKOFF: u8 = 10;

    /// Returns the exponent with which `slowest` encodes to 64..=127 (1 Gbps: 0, 10 Gbps: 4, 100 Mbps: -3), within
    /// -16..=15.
    pub const fn scale_for(slowest: Rate) -> i8 {
        // 64 units of 2^-16 B/us in bits per second, times 2^16 to remain an integer.
        let unit = 64 * 8_000_000_u128;
        let rate = (slowest.as_bps() as u128) << 16;
        let mut scale = -16_i8;
        while scale < 15 && unit << (scale + 17) <= rate {
            scale += 1;
        }
        scale
    }

    /// Returns the options with all host-only options reset to their defaults. Two transports can share a network if
    /// these values are equal.
    #[must_use]
    pub fn for_routers(&self) -> Self {
        let hosts = Self::default();
        Self {
            ignore_deadlines: hosts.ignore_deadlines,
            quench: hosts.quench,
            quench_strict: hosts.quench_strict,
            speculative: hosts.speculative,
            speculation: hosts.speculation,
            late: hosts.late,
            late_extension_permille: hosts.late_extension_permille,
            request_bytes: hosts.request_bytes,
            request_lag: hosts.request_lag,
            cap_to_remaining: hosts.cap_to_remaining,
            request_backoff: hosts.request_backoff,
            request_packets: hosts.request_packets,
            pacing: hosts.pacing,
            pacing_batch: hosts.pacing_batch,
            late_answers: hosts.late_answers,
            reverse_request: hosts.reverse_request,
            mtu: match self.base_rate {
                BaseRate::HeaderOnly => hosts.mtu,
                BaseRate::Segment(_) => self.mtu,
            },
            rto_min: hosts.rto_min,
            ..*self
        }
    }

    /// Returns the period of capacity adaptation for a network with this slowest link: D3's 800 us (§4.4), which is 67
    /// of the largest packets at 1 Gbps, and the time of as many packets on a slower link. In an interval of few
    /// packets, a queue that never empties is mere chance, and the controller would reduce the capacity.
    pub const fn interval_for(slowest: Rate) -> Span {
        let packets = slowest.transmit(100_000);
        if packets.as_ps() > INTERVAL.as_ps() {
            packets
        } else {
            INTERVAL
        }
    }

    /// Sets the scale and the update interval for the slowest link's rate, unless already set.
    #[must_use]
    pub fn for_slowest(mut self, slowest: Rate) -> Self {
        self.scale.get_or_insert(Self::scale_for(slowest));
        self.update_interval
            .get_or_insert(Self::interval_for(slowest));
        self
    }

    /// Returns the period of capacity adaptation: `update_interval`, or 800 us if unset.
    pub const fn interval(&self) -> Span {
        match self.update_interval {
            Some(interval) => interval,
            None => INTERVAL,
        }
    }

    /// Returns the exponent: `scale`, or 0 (for 1 Gbps) if unset.
    pub const fn exponent(&self) -> i8 {
        match self.scale {
            Some(scale) => scale,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_interval_is_67_packets() {
        let intervals =
            [10_000, 1_000, 100, 10].map(|mbps| Config::interval_for(Rate::from_mbps(mbps)));
        assert_eq!(intervals, [800, 800, 8_000, 80_000].map(Span::from_us));
        let chosen = Config {
            update_interval: Some(Span::from_us(50)),
            ..Config::default()
        };
        let resolved = chosen.for_slowest(Rate::from_mbps(100));
        assert_eq!(
            (resolved.interval(), resolved.scale),
            (Span::from_us(50), Some(-3))
        );
    }

    #[test]
    fn slowest_link_encodes_to_64_to_127() {
        assert_eq!(Config::scale_for(Rate::from_gbps(1)), 0);
        assert_eq!(Config::scale_for(Rate::from_gbps(10)), 4);
        assert_eq!(Config::scale_for(Rate::from_mbps(100)), -3);
        for mbps in [1, 2, 9, 40, 333, 2_500, 25_000, 40_000, 100_000, 400_000] {
            let rate = Rate::from_mbps(mbps);
            let units = rate::fixed_from_rate(rate, Config::scale_for(rate)) >> rate::FRACTION_BITS;
            assert!((64..128).contains(&units), "{rate}: {units}");
        }
    }
}
