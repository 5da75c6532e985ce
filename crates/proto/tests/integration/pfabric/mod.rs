//! pFabric's rate control (Alizadeh et al., SIGCOMM 2013, §4.3): worked examples, faults and forged packets.

mod faults;
mod worked;

use duetime_core::{Rate, Span, Time};
use duetime_proto::pfabric::{Ack, Body, Config, Data, Link, Sender};

/// Link of the paper's experiments: 10 Gbps, and a round trip of 15 us with five packet times of 1.2 us.
fn link() -> Link {
    Link {
        rate: Rate::from_gbps(10),
        round_trip: Span::from_us(9),
        host_delay: Span::ZERO,
        framing_bytes: 0,
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Sends all that the sender may send at `now`.
fn transmit(sender: &mut Sender<u64>, now: Time) -> Vec<Data> {
    let sent = std::iter::from_fn(|| Some(sender.poll_transmit(&Config::default(), now)?.0));
    let sent: Vec<Data> = sent.collect();
    assert!(!sender.can_transmit());
    sent
}

/// Returns the numbers of packets with payload.
fn numbers(sent: &[Data]) -> Vec<u64> {
    let number = |data: &Data| match data.body {
        Body::Payload { number, .. } => Some(number),
        Body::Probe | Body::Abort => None,
    };
    sent.iter().filter_map(number).collect()
}

/// Acknowledges packet `number`, and all below `up_to`.
fn ack(number: u64, up_to: u64) -> Ack {
    Ack {
        number: Some(number),
        up_to,
        is_complete: false,
    }
}
