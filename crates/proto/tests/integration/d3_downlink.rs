//! Edge allocation: the receiving host's downlink answers like a router in front of it, and estimates the queue from
//! its grants.

use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{
    Answer, Config, Downlink, EncodedRate, Flags, Grants, Outcome, PortDriver, Reading, Request,
};

const GIGABIT: Rate = Rate::from_gbps(1);
/// Bytes of the request packets in these tests, including headers.
const BYTES: u64 = 64;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Flow with a grant of 100 units from its own uplink.
#[derive(Clone, Copy, Default)]
struct Flow {
    desired: EncodedRate,
    granted: EncodedRate,
    stamps: u8,
    open: bool,
}

impl Flow {
    fn request(self, desired: u8) -> Request {
        let mut request = Request {
            index: 1,
            desired: EncodedRate::from_byte(desired),
            previous_desired: self.desired,
            stamps: self.stamps,
            ..Request::default()
        };
        request.allocations[0] = EncodedRate::from_byte(100);
        request.previous_allocations[1] = self.granted;
        request
    }

    fn take(&mut self, request: &Request, outcome: Outcome) {
        assert_eq!(
            (request.index, request.allocations[1]),
            (2, outcome.granted)
        );
        *self = Self {
            desired: request.desired,
            granted: outcome.granted,
            stamps: request.stamps,
            open: true,
        };
    }
}

#[test]
fn edge_grants_like_a_router() {
    let config = Config::default();
    for seed in 0..20 {
        let mut stream = Streams::new(seed, 0).stream(0, Purpose::Arrival);
        let mut router = PortDriver::new(&config, GIGABIT, Span::ZERO);
        let mut edge = Downlink::new(&config, GIGABIT, Span::ZERO);
        let mut flows = [[Flow::default(); 2]; 12];
        let (mut sent, mut granted) = (0, 0);
        for step in 0..2_000 {
            let now = at(step * 37);
            if router.next_timeout() <= now {
                let reading = Reading {
                    departed_bytes: sent,
                    queue_bytes: 0,
                };
                router.timeout(&config, now, reading);
                edge.timeout(&config, now);
            }
            assert_eq!(router.next_timeout(), edge.next_timeout());
            let pair = &mut flows[stream.below(12) as usize];
            let flags = match (pair[0].open, stream.chance(0.2)) {
                (false, _) => Flags::SYN,
                (true, true) => Flags::FIN,
                (true, false) => Flags::default(),
            };
            let desired = if flags == Flags::FIN {
                0
            } else {
                stream.below(30) as u8
            };
            let (mut in_front, mut behind) = (pair[0].request(desired), pair[1].request(desired));
            let outcome = router.process(&config, now, flags, &mut in_front);
            let answer = edge.arrive(&config, now, BYTES, flags, Some(&mut behind));
            sent += BYTES;
            assert_eq!((answer, behind), (Answer::Edge(outcome), in_front));
            granted += u64::from(outcome.granted.0);
            pair[0].take(&in_front, outcome);
            pair[1].take(&behind, outcome);
            if flags == Flags::FIN {
                *pair = [Flow::default(); 2];
            }
        }
        assert!(granted > 0);
        for pair in flows.iter().filter(|pair| pair[0].open) {
            let request = &mut pair[1].request(0);
            edge.arrive(&config, at(74_000), BYTES, Flags::FIN, Some(request));
        }
        let left = edge.port().allocator();
        assert_eq!((left.flows(), left.demand(), left.allocated()), (0, 0, 0));
    }
}

#[test]
fn requests_answered_by_routers_are_unchanged() {
    let config = Config::default();
    let mut edge = Downlink::new(&config, GIGABIT, Span::ZERO);
    for index in [0, 2, 3, 6] {
        let mut request = Request {
            index,
            ..Flow::default().request(20)
        };
        let before = request;
        let answer = edge.arrive(&config, at(1), BYTES, Flags::SYN, Some(&mut request));
        let routed = index > 1;
        assert_eq!(
            answer,
            if routed {
                Answer::Routers
            } else {
                Answer::Unanswered
            }
        );
        assert_eq!(request, before);
    }
    assert_eq!(
        edge.arrive(&config, at(1), 1_500, Flags::default(), None),
        Answer::Unanswered
    );
    let mut other = Flow::default().request(10);
    other.scale = 4;
    let before = other;
    assert_eq!(
        edge.arrive(&config, at(1), BYTES, Flags::SYN, Some(&mut other)),
        Answer::OtherScale
    );
    assert_eq!(other, before);
    assert_eq!(
        edge.grants(),
        Grants {
            edge: 0,
            routers: 3,
            other_scale: 1
        }
    );
    assert_eq!(edge.next_timeout(), Time::MAX, "nothing to update");
}

/// Returns the queue of a downlink that has granted `units` to each of two flows, after `intervals` with `arrived`
/// bytes each.
fn queue_after(intervals: u64, units: u8, arrived: u64) -> u64 {
    let config = Config::default().with(|c| c.router.variant.pause_new = false);
    let mut edge = Downlink::new(&config, GIGABIT, Span::ZERO);
    let mut flows = [Flow::default(); 2];
    for flow in &mut flows {
        let mut request = flow.request(units);
        match edge.arrive(&config, at(1), BYTES, Flags::SYN, Some(&mut request)) {
            Answer::Edge(outcome) => flow.take(&request, outcome),
            other => panic!("{other:?}"),
        }
    }
    for _ in 0..=intervals {
        edge.timeout(&config, edge.next_timeout());
        edge.arrive(&config, at(1), arrived, Flags::default(), None);
    }
    edge.queue_bytes()
}

#[test]
fn excess_grants_on_a_busy_link_queue() {
    // Two flows that request 10 units receive 100, the grant of their uplinks, and 10 plus half of the remainder: 162
    // in total, where 125 can be sent. At most 100000 B can arrive in an interval of 800 us.
    let one = queue_after(1, 10, 100_000);
    let two = queue_after(2, 10, 100_000);
    assert!((20_000..40_000).contains(&one), "{one}");
    assert_eq!(two, 2 * one);
    assert_eq!(queue_after(2, 10, 90_000), 0, "the link was partly idle");
    // Two flows that request 60 units receive 100 and 25.
    assert_eq!(
        queue_after(2, 60, 100_000),
        0,
        "grants equal the link's rate"
    );
}
