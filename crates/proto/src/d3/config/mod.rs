//! Options of D3, grouped by reader: hosts, routers, or both.

mod host;
mod router;

pub use host::{HostOptions, HostVariant, Late, Policy, RequestBytes, Speculation};
pub use router::{Allocation, AlphaReference, BaseRate, QueueSample, RouterOptions, RouterVariant};

use super::wire::lengths::IP_BYTES;
use duetime_core::{Rate, Span};

/// Options of D3. The defaults are the paper's profile with the documented interpretations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Options of the hosts.
    pub host: HostOptions,
    /// Options of the routers.
    pub router: RouterOptions,
    /// Options of the packets, which hosts and routers share.
    pub wire: WireOptions,
}

/// Options of packets: the encoding of rates and the lengths that hosts and routers account for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireOptions {
    /// Signed exponent: rate = byte × 2^scale B/us, or `None` to choose it so that the slowest link encodes to
    /// 64..=127.
    pub scale: Option<i8>,
    /// Rounding of rates to bytes.
    pub rounding: Rounding,
    /// Largest packet, including all headers, in bytes.
    pub mtu: u32,
    /// Length of the IP and transport headers of each packet, in bytes: [`IP_BYTES`](super::wire::capture::IP_BYTES)
    /// for datagrams directly on IP, as in the simulator, and [`UDP_IPV4_BYTES`](super::wire::UDP_IPV4_BYTES) for UDP.
    pub header_bytes: u32,
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

/// Period of capacity adaptation on D3's testbed (§4.4, footnote 4).
const INTERVAL: Span = Span::from_us(800);

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            scale: None,
            rounding: Rounding::Carry,
            mtu: 1500,
            header_bytes: IP_BYTES,
        }
    }
}

impl Config {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the options with all host-only options reset to their defaults. Two transports can share a network if
    /// these values are equal.
    #[must_use]
    pub fn for_routers(&self) -> Self {
        let default = Self::default();
        Self {
            host: default.host,
            router: self.router,
            wire: WireOptions {
                mtu: match self.router.base_rate {
                    BaseRate::HeaderOnly => default.wire.mtu,
                    BaseRate::Segment(_) => self.wire.mtu,
                },
                ..self.wire
            },
        }
    }

    /// Sets the scale and the update interval for the slowest link's rate, unless already set.
    #[must_use]
    pub fn for_slowest(mut self, slowest: Rate) -> Self {
        self.wire.scale.get_or_insert(Self::scale_for(slowest));
        self.router
            .update_interval
            .get_or_insert(Self::interval_for(slowest));
        self
    }

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

    /// Returns the period of capacity adaptation: `router.update_interval`, or 800 us if unset.
    pub const fn interval(&self) -> Span {
        match self.router.update_interval {
            Some(interval) => interval,
            None => INTERVAL,
        }
    }

    /// Returns the exponent: `wire.scale`, or 0 (for 1 Gbps) if unset.
    pub const fn exponent(&self) -> i8 {
        match self.wire.scale {
            Some(scale) => scale,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::d3::rate;

    #[test]
    fn update_interval_is_67_packets() {
        let intervals =
            [10_000, 1_000, 100, 10].map(|mbps| Config::interval_for(Rate::from_mbps(mbps)));
        assert_eq!(intervals, [800, 800, 8_000, 80_000].map(Span::from_us));
        let chosen = Config::default().with(|c| c.router.update_interval = Some(Span::from_us(50)));
        let resolved = chosen.for_slowest(Rate::from_mbps(100));
        assert_eq!(
            (resolved.interval(), resolved.wire.scale),
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
