//! SIRD: its two buckets, its marks and its recovery, on the state machines. A bandwidth-delay product (BDP) has 100 kB
//! and a full packet 1,500 B, as in the paper's evaluation.

mod buckets;
mod congested_sender;
mod order;
mod recovery;
mod start;
mod world;

use duetime_core::random::mix;
use duetime_core::{Rate, Span, Time};
use duetime_proto::sird::{
    Announcement, Body, Config, Control, Link, MessageId, Policy, Receiver, Sender,
};
use std::collections::{BTreeMap, VecDeque};
use world::World;

/// Payload of a full packet.
const PAYLOAD: u64 = 1_444;
/// Transmission time of a full packet.
const PACKET_TIME: Span = Span::from_ns(120);
/// Time between two credits: 50 / 49 of the transmission time.
const PACE: Span = Span::from_ps(122_448);

fn config() -> Config {
    Config {
        host_delay: Span::ZERO,
        ..Config::default()
    }
}

/// Returns a link with a BDP of 100 kB: 100 Gbps for 8 us, of which four packets take 480 ns.
fn link() -> Link {
    Link {
        rate: Rate::from_gbps(100),
        round_trip: Span::from_ns(7_520),
        framing_bytes: 0,
        classes: 2,
        keeps_order: false,
    }
}

fn sender(config: &Config) -> Sender<u32> {
    Sender::new(config, &link())
}

fn receiver(config: &Config) -> Receiver<u32> {
    Receiver::new(config, &link())
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Sends a request for a message of full packets from a host. Its number is the host's.
fn request(receiver: &mut Receiver<u32>, config: &Config, now: Time, host: u32, packets: u64) {
    let id = MessageId {
        source: host,
        number: host.into(),
    };
    let announcement = Announcement {
        bytes: packets * PAYLOAD,
        unscheduled: 0,
    };
    receiver.input(config, now, id, Body::Request, (announcement, host), false);
}

/// Reply to a request that gets no credit at once.
const CONFIRMATION: Control = Control::Credit {
    up_to: 0,
    arrived: 0,
};

/// Calls the timer until `end`. Returns the credits with their times.
fn credits(receiver: &mut Receiver<u32>, mut now: Time, end: Time) -> Vec<(Time, u32, Control)> {
    let mut all = Vec::new();
    loop {
        while let Some((host, control)) = receiver.poll_transmit() {
            if control != CONFIRMATION {
                all.push((now, host, control));
            }
        }
        now = receiver.next_timeout();
        if now > end {
            return all;
        }
        receiver.timeout(now);
    }
}

/// Returns the number of credits of a host.
fn count(credits: &[(Time, u32, Control)], host: u32) -> usize {
    credits.iter().filter(|credit| credit.1 == host).count()
}
