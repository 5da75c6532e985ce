//! What a D3 router spends on a rate request (D3 §5: 0.208 us per packet, and no more than for plain forwarding).
//! Ten million requests of forty flows go through one interface's allocator: from the 22 bytes on the wire and back to
//! them. Beside it, what a plain router does with a packet: it copies it into a queue and out again.
//!
//! `cargo run --release -p duetime-proto --example d3_router_time`

#![expect(clippy::disallowed_types, reason = "a program that measures")]
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use duetime_core::{Rate, Time};
use duetime_proto::d3::{Allocator, Config, EncodedRate, Flags, HeaderError, Request};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

const FLOWS: usize = 40;
const ROUNDS: u32 = 250_000;
const PACKET_BYTES: usize = 1500;
/// Packets in the plain router's queue.
const QUEUE: usize = 16;

/// One flow's header on the wire. With a desired rate of 3 B/us for each of forty, the link is nearly full.
fn ask(header: &mut [u8; Request::WIRE_BYTES], held: Request) -> Result<(), HeaderError> {
    let request = Request {
        desired: EncodedRate::from_byte(3),
        previous_desired: held.desired,
        previous_allocations: held.allocations,
        ..Request::default()
    };
    request.encode(header)
}

/// Decodes, asks the allocator, and encodes.
fn handle(
    allocator: &mut Allocator,
    config: &Config,
    flags: Flags,
    header: &mut [u8; Request::WIRE_BYTES],
) -> Result<Request, HeaderError> {
    let mut request = Request::decode(header)?;
    allocator.process(config, Time::ZERO, flags, &mut request);
    request.encode(header)?;
    Ok(request)
}

fn requests(handled: bool) -> Result<f64, HeaderError> {
    let config = Config::default();
    let mut allocator = Allocator::new(&config, Rate::from_gbps(1));
    let mut headers = [[0; Request::WIRE_BYTES]; FLOWS];
    for header in &mut headers {
        ask(header, Request::default())?;
        handle(&mut allocator, &config, Flags::SYN, header)?;
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for header in &mut headers {
            let held = Request::decode(header)?;
            ask(header, held)?;
            if handled {
                handle(&mut allocator, &config, Flags::default(), black_box(header))?;
            }
            black_box(&header);
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS) / FLOWS as f64)
}

fn plain() -> f64 {
    let mut queue: VecDeque<Box<[u8; PACKET_BYTES]>> =
        (0..QUEUE).map(|_| Box::new([0; PACKET_BYTES])).collect();
    let mut wire = [1_u8; PACKET_BYTES];
    let packets = ROUNDS * 4;
    let start = Instant::now();
    for _ in 0..packets {
        if let Some(mut packet) = queue.pop_front() {
            packet.copy_from_slice(black_box(&wire));
            queue.push_back(packet);
            if let Some(oldest) = queue.front() {
                wire.copy_from_slice(black_box(&oldest[..]));
            }
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(packets)
}

fn main() -> Result<(), HeaderError> {
    println!("header              {} B", Request::WIRE_BYTES);
    let (both, host) = (requests(true)?, requests(false)?);
    println!(
        "router, per request {:.0} ns (host's part {host:.0} ns apart)",
        both - host
    );
    println!(
        "plain forwarding    {:.0} ns per packet of {PACKET_BYTES} B",
        plain()
    );
    Ok(())
}
