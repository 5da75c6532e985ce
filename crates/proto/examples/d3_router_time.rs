//! Measures the time of a D3 router per rate request (D3 §5: 0.208 us per packet, no more than for plain forwarding).
//! Ten million requests of forty flows pass through the allocator of one interface, decoded from and encoded to the 22
//! bytes on the wire. For comparison, it measures plain forwarding: copying a packet into a queue and out again.
//!
//! `cargo run --release -p duetime-proto --example d3_router_time`

#![expect(clippy::disallowed_types, reason = "the example measures time")]
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use duetime_core::Rate;
use duetime_proto::d3::wire::HeaderError;
use duetime_proto::d3::{Allocator, Config, EncodedRate, Flags, Request};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

const FLOWS: usize = 40;
const ROUNDS: u32 = 250_000;
const PACKET_BYTES: usize = 1500;
/// Number of packets in the plain router's queue.
const QUEUE: usize = 16;

/// Writes one flow's header. With a desired rate of 3 B/us each, forty flows nearly fill the link.
fn write_request(
    header: &mut [u8; Request::WIRE_BYTES],
    previous: Request,
) -> Result<(), HeaderError> {
    let request = Request {
        desired: EncodedRate::from_byte(3),
        previous_desired: previous.desired,
        previous_allocations: previous.allocations,
        ..Request::default()
    };
    request.encode(header)
}

/// Decodes the header, calls the allocator, and encodes the header.
fn handle(
    allocator: &mut Allocator,
    config: &Config,
    flags: Flags,
    header: &mut [u8; Request::WIRE_BYTES],
) -> Result<Request, HeaderError> {
    let mut request = Request::decode(header)?;
    allocator.process(config, flags, &mut request);
    request.encode(header)?;
    Ok(request)
}

fn time_requests(handled: bool) -> Result<f64, HeaderError> {
    let config = Config::default();
    let mut allocator = Allocator::new(&config, Rate::from_gbps(1));
    let mut headers = [[0; Request::WIRE_BYTES]; FLOWS];
    for header in &mut headers {
        write_request(header, Request::default())?;
        handle(&mut allocator, &config, Flags::SYN, header)?;
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for header in &mut headers {
            let previous = Request::decode(header)?;
            write_request(header, previous)?;
            if handled {
                handle(&mut allocator, &config, Flags::default(), black_box(header))?;
            }
            black_box(&header);
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS) / FLOWS as f64)
}

fn time_plain() -> f64 {
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
    let (both, host) = (time_requests(true)?, time_requests(false)?);
    println!(
        "router, per request {:.0} ns (excluding {host:.0} ns of the host)",
        both - host
    );
    println!(
        "plain forwarding    {:.0} ns per packet of {PACKET_BYTES} B",
        time_plain()
    );
    Ok(())
}
