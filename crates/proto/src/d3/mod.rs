//! D3: deadline-driven delivery by explicit rates, and RCPdc, which is D3 without deadlines.
//!
//! A [`Sender`] asks every router on its path, once per round trip, for the rate that its deadline needs; an
//! [`Allocator`] at each outgoing interface answers without keeping state of flows; the [`Receiver`] brings the
//! answers back. `repair` tells how the routers' counters survive loss and dead hosts.

mod checksum;
pub mod datagram;
mod desired;
mod downlink;
pub mod endpoint;
mod header;
mod hop;
mod packet;
mod police;
mod port;
mod rate;
mod receiver;
mod repair;
mod router;
mod sender;
pub mod wire;

pub use downlink::{Answer, Downlink, Grants, Offer};
pub use header::{HeaderError, MAX_HOPS, Request};
pub use hop::{HopAnswer, HopRequest};
pub use packet::{Flags, Packet, Tag};
pub use police::{Claim, Police, Policer};
pub use port::{PortDriver, Reading};
pub use rate::{EncodedRate, FixedRate};
pub use receiver::{Delivery, Receiver};
pub use router::{Allocator, Outcome};
pub use sender::{Counters, Sender, Timer};

use duetime_core::{Rate, Span};

/// Options of D3, hosts and routers together: one network, one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Treat every flow as one without a deadline: RCPdc.
    pub ignore_deadlines: bool,
    /// Signed exponent: rate = byte × 2^scale B/us; `None`: chosen so that the slowest link encodes to 64..=127.
    pub scale: Option<i8>,
    /// How rates are rounded to bytes.
    pub rounding: Rounding,
    /// What a paused flow may send.
    pub base_rate: BaseRate,
    /// End hopeless flows early (D3 §6.1.3).
    pub quench: bool,
    /// Quench by the paper's formula literally, lag terms included.
    pub quench_strict: bool,
    /// End flows early whose desired rate keeps rising (D3 §7, "speculative flow quenching"), whatever `quench` says.
    pub speculative: bool,
    /// What `speculative` takes for rising.
    pub speculation: Speculation,
    /// What to ask for after the deadline. With `quench` there is no after.
    pub late: Late,
    /// By how much [`Late::Extend`] moves a deadline, in 1/1000 of the flow's original allowance; at least 1.
    pub late_extension_permille: u32,
    /// Period of capacity adaptation, T; `None`: chosen for the slowest link by [`Config::interval_for`].
    pub update_interval: Option<Span>,
    /// Gain α of capacity adaptation, in 1/256.
    pub alpha_256: u32,
    /// Gain β of capacity adaptation, in 1/256.
    pub beta_256: u32,
    /// Share of the link's rate that capacity adaptation steers to, in 1/256, with [`AlphaReference::Physical`]. A few
    /// per cent below 256 keep queues as short as published (D3 §6.1.4: 0.95 of the link whatever the number of flows,
    /// and a median queue of one packet); at 256 bursts that meet leave two or three more.
    pub target_256: u32,
    /// What the spare capacity is measured against.
    pub alpha_reference: AlphaReference,
    /// Whether q includes the packet in service.
    pub queue_in_service: bool,
    /// Which queue capacity adaptation sees.
    pub queue_sample: QueueSample,
    /// Never grant more than what is left.
    pub cap_to_left: bool,
    /// Which bytes a flow asks for.
    pub request_bytes: RequestBytes,
    /// Ask for what will be left after this round trip, over the time to the deadline less two round trips (D3 §5);
    /// otherwise for what is left now over the time to the deadline, as in the first request.
    pub request_lag: bool,
    /// Never ask for more than what is left to send can use in one round trip, which is as long as a grant holds
    /// (D3 §4.1). The formula of §5 asks for more as soon as the deadline is nearer than three round trips.
    pub cap_to_remaining: bool,
    /// How often a paused flow doubles its wait before it asks again: it asks 1, 2, 4, … round trips after its last
    /// request, 2^`request_backoff` at most. 0: once per round trip (D3 §4.5). At most [`Config::MAX_REQUEST_BACKOFF`].
    pub request_backoff: u8,
    /// A flow asks at most once in the time in which its uplink sends so many of the largest packets, and a grant holds
    /// until it asks again. 0: once per round trip, however short (D3 §4.5).
    pub request_packets: u32,
    /// Data leaves at the allocated rate, packet by packet, over the time for which the grant holds; otherwise as one
    /// burst when the grant comes, as in the paper's stack (D3 §5).
    pub pacing: bool,
    /// A paced packet may leave so much before its time, so that a driver's timer lets several leave.
    pub pacing_batch: Span,
    /// Take the answer to a request that was given up for lost and sent again, whichever of the two is answered first.
    /// Otherwise only the newest one's answer counts, and a flow whose round trip has become longer than its wait for
    /// feedback waits for ever: each answer comes after the next request, and no round trip is measured. `None`: `false`,
    /// unless whoever drives the flow knows better.
    pub late_answers: Option<bool>,
    /// Grant new flows only the base rate as fair share (D3 §4.5).
    pub pause_new: bool,
    /// Acknowledgements register as a flow of their own.
    pub reverse_request: bool,
    /// Who allocates the links.
    pub allocation: Allocation,
    /// Heal the counters under load (see `repair`).
    pub repair: bool,
    /// Update intervals within which a live flow is heard, if its round trip is below one of them. After as many
    /// without any request and with an empty queue a port resets (D3 §4.4, "low load"); half as many are an epoch of
    /// the repair.
    pub reset_intervals: u32,
    /// Routers hold each ingress to what they have granted to its flows, and to this rate beside it for what D3 does not
    /// account for ([`Police`]); `None`: they trust the hosts (D3 §4.4). Needs `repair`.
    pub police: Option<Rate>,
    /// Largest packet, all headers included, in bytes.
    pub mtu: u32,
    /// IP and transport headers of each packet, in bytes: [`wire::IP_BYTES`] where datagrams ride on IP itself, as they
    /// do in the simulator, [`datagram::UDP_IPV4_BYTES`] where they ride on UDP.
    pub header_bytes: u32,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
}

/// How rates are rounded to the header's byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Down, with each port and sender carrying the remainder into its next rounding.
    Carry,
    /// Requests up, grants down.
    CeilFloor,
    /// Both down.
    FloorFloor,
    /// None: for comparison in simulation only.
    Exact,
}

/// What a paused flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseRate {
    /// A header-only request per round trip, unaccounted (D3 §4.5).
    HeaderOnly,
    /// One full segment per round trip of the given length, accounted (how D2TCP's authors ran D3).
    Segment(Span),
}

/// When a rising desired rate is taken for a deadline that will be missed. D3 §7 names the sign, "successive increases
/// of the desired rate over multiple RTTs", and leaves both numbers open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speculation {
    /// k: so many increases running end the flow; at least 1.
    pub rises: u8,
    /// The smallest growth from one round trip's request to the next that counts, in 1/1000.
    pub growth_permille: u32,
}

impl Default for Speculation {
    /// Four increases of 10 %.
    fn default() -> Self {
        Self {
            rises: 4,
            growth_permille: 100,
        }
    }
}

/// What a late flow asks for: ways to live with soft deadlines (D3 §7), by the host alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Nothing: it becomes a flow without deadline, in fair share mode.
    FairShare,
    /// Its deadline moves by `late_extension_permille` of the original allowance, as often as it is missed.
    Extend,
    /// Its uplink's rate.
    Max,
}

/// Which bytes a desired rate counts. An allocation is charged with whole packets (D3 §5: k = s·rtt / 1500 packets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBytes {
    /// The application's: the flow size that D3 §4.1 divides by the time to the deadline. Headers are then missing in
    /// what is asked for, 2.7 % with packets of 1500 B.
    Payload,
    /// Those on the wire: the headers of each packet, and each round trip's request.
    Wire,
}

/// What the spare capacity is measured against (capacity adaptation's α term).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaReference {
    /// The link's rate, or `target_256` of it.
    Physical,
    /// C(t), as printed.
    Literal,
}

/// Which queue capacity adaptation sees at the end of an update interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSample {
    /// The smallest since the last update: the queue that stands. Hosts may send each round trip's allocation as one burst,
    /// so queues come and go within a round trip although capacity is not exceeded; XCP, whose controller this is,
    /// takes the queue that does not drain within a round trip.
    Smallest,
    /// The queue at that instant, as printed (D3 §4.4): bursts that overlap cost up to half of the capacity.
    Instant,
}

/// Who allocates the links of a path. The sender's interface, hop 0, is the sending host's in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The routers in front of them (D3 §4).
    Routers,
    /// The receiving host its own downlink, where no router has answered a request ([`Downlink`]); nobody the links
    /// between.
    Edge,
}

/// The period of capacity adaptation on D3's testbed (§4.4, footnote 4).
const INTERVAL: Span = Span::from_us(800);

impl Default for Config {
    /// The paper's profile with the resolutions of the documentation.
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
            header_bytes: wire::IP_BYTES,
            rto_min: Span::from_ms(10),
        }
    }
}

impl Config {
    /// The largest [`request_backoff`](Self::request_backoff).
    pub const MAX_REQUEST_BACKOFF: u8 = 10;

    /// The exponent with which `slowest` encodes to 64..=127 (1 Gbps: 0, 10 Gbps: 4, 100 Mbps: -3), within -16..=15.
    pub const fn scale_for(slowest: Rate) -> i8 {
        // 64 units of 2^-16 B/us, in bits per second, times 2^16 to stay whole.
        let unit = 64 * 8_000_000_u128;
        let rate = (slowest.as_bps() as u128) << 16;
        let mut scale = -16_i8;
        while scale < 15 && unit << (scale + 17) <= rate {
            scale += 1;
        }
        scale
    }

    /// What routers read of the options: those that only hosts read stand at their defaults. Two transports can share a
    /// network if this is equal.
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

    /// The period of capacity adaptation for a network whose slowest link has this rate: D3's 800 us (§4.4), which are 67
    /// of the largest packets at 1 Gbps, and as many on a slower link. In an interval of few packets a queue that never
    /// empties is mere chance, and the controller takes the capacity away.
    pub const fn interval_for(slowest: Rate) -> Span {
        let packets = slowest.transmit(100_000);
        if packets.as_ps() > INTERVAL.as_ps() {
            packets
        } else {
            INTERVAL
        }
    }

    /// Chooses what follows from the slowest link's rate, if it is not chosen.
    #[must_use]
    pub fn for_slowest(mut self, slowest: Rate) -> Self {
        self.scale.get_or_insert(Self::scale_for(slowest));
        self.update_interval
            .get_or_insert(Self::interval_for(slowest));
        self
    }

    /// The period of capacity adaptation in use: `update_interval`, or 800 us while nobody has chosen one.
    pub const fn interval(&self) -> Span {
        match self.update_interval {
            Some(interval) => interval,
            None => INTERVAL,
        }
    }

    /// The exponent in use: `scale`, or 0 (made for 1 Gbps) while nobody has chosen one.
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
    fn an_update_interval_holds_67_packets_of_the_slowest_link() {
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
    fn the_slowest_link_encodes_to_the_upper_half_of_seven_bits() {
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
