//! Homa's state machines: examples worked by hand, and messages over a link with faults.

mod faults;
mod grants;
mod levels;
mod losses;
mod network;

use duetime_core::{Rate, Span, Time};
use duetime_proto::homa::{Config, Network as Link, Plan};

/// Payload of a full packet.
pub const PAYLOAD: u64 = 1_440;
/// Transmission time of a full packet.
pub const PACKET_TIME: Span = Span::from_us(12);
/// Rate of all links: a full packet takes 12 us.
pub const RATE: Rate = Rate::from_gbps(1);

/// Returns options with `RTTbytes` of ten packets and requests after 1 ms.
pub fn config() -> Config {
    Config {
        rtt_bytes: Some(15_000),
        resend_interval: Some(Span::from_ms(1)),
        ..Config::default()
    }
}

/// Returns the plan of a network with eight classes and messages of these sizes.
pub fn plan(config: &Config, sizes: &[(u64, u64)]) -> Plan {
    let link = Link {
        rate: RATE,
        round_trip: Span::from_us(100),
        framing_bytes: 0,
        classes: 8,
    };
    Plan::new(config, &link, sizes)
}

/// Returns a time after the start.
pub fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
