//! Requests for a D3 port from hosts that may send false values. None breaks the port, every answer can be encoded and
//! respects the previous hop, C stays within its bounds, and all counters are zero after the requests stop. The first
//! two bytes choose options. Each request is preceded by flags, the time since the last request in 10 us, the queue in
//! kB, and the bytes that left since then in kB.

use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{
    BaseRate, Config, EncodedRate, Flags, MAX_HOPS, PortDriver, Reading, Request, Rounding,
};

const RATE: Rate = Rate::from_gbps(1);
/// Updates after which a port without requests must be idle: more than sixteen epochs at the slowest pace.
const UPDATES: u32 = 3_000;

fn config(first: u8, second: u8) -> Config {
    let rounding = [Rounding::Carry, Rounding::CeilFloor, Rounding::FloorFloor];
    Config::default().with(|c| {
        c.wire.scale = Some((first & 7).cast_signed() - 4);
        c.wire.rounding = rounding[usize::from(first >> 3) % 3];
        c.router.repair = first & 32 == 0;
        c.router.variant.cap_to_left = first & 64 != 0;
        c.router.variant.pause_new = first & 128 == 0;
        c.router.base_rate = match second % 3 {
            0 => BaseRate::Segment(Span::from_us(u64::from(second))),
            _ => BaseRate::HeaderOnly,
        };
    })
}

pub fn check(bytes: &[u8]) {
    let [first, second, requests @ ..] = bytes else {
        return;
    };
    let config = config(*first, *second);
    let mut port = PortDriver::new(&config, RATE, Span::ZERO);
    let physical = port.allocator().capacity();
    let (mut now, mut departed_bytes) = (Time::ZERO, 0);
    for input in requests.chunks_exact(4 + Request::WIRE_BYTES) {
        now += Span::from_us(u64::from(input[1]) * 10);
        departed_bytes += u64::from(input[3]) * 1_000;
        let queue_bytes = u64::from(input[2]) * 1_000;
        port.sample(queue_bytes);
        let reading = Reading {
            departed_bytes,
            queue_bytes,
        };
        port.timeout(&config, now, reading);
        let Ok(mut request) = Request::decode(&input[4..]) else {
            continue;
        };
        let before = request;
        let flags = Flags(u16::from(input[0]));
        let outcome = port.process(&config, now, flags, &mut request);
        let slot = usize::from(before.index);
        if slot < MAX_HOPS {
            assert_eq!(request.index, before.index + 1);
            let above = if slot > 0 {
                before.allocations[slot - 1]
            } else {
                EncodedRate::from_byte(255)
            };
            assert!(
                request.allocations[slot] <= above,
                "more than the previous hop granted"
            );
            assert_eq!(request.allocations[slot], outcome.granted);
        } else {
            assert_eq!(request, before, "no slot was free for an answer");
        }
        request
            .encode(&mut [0; 22])
            .expect("an answer can be encoded");
        let capacity = port.allocator().capacity();
        assert!((physical / 10..=physical * 2).contains(&capacity));
    }
    for _ in 0..UPDATES {
        let due = port.next_timeout();
        if due == Time::MAX {
            break;
        }
        let reading = Reading {
            departed_bytes,
            queue_bytes: 0,
        };
        port.timeout(&config, due, reading);
    }
    let allocator = port.allocator();
    assert!(allocator.is_idle(), "{allocator:?}");
    let counters = (allocator.flows(), allocator.demand(), allocator.allocated());
    assert_eq!(counters, (0, 0, 0));
}
