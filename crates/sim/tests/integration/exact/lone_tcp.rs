//! Exact completion times of a lone TCP flow: handshake, slow start by acknowledgements, and a line of
//! store-and-forward links.

use super::line::{Line, chains};
use crate::common::{chain, finish, flows, gigabit, newreno, run, scenario};
use duetime_core::Span;
use duetime_proto::tcp;
use duetime_proto::window::{CongestionControl, Dctcp};
use duetime_scenario::model::*;
use std::collections::VecDeque;

const SIZES: [u64; 9] = [
    1, 40, 1_460, 1_461, 2_921, 10_000, 65_536, 300_001, 1_000_000,
];

/// Parameters that determine the time of a lone flow.
#[derive(Clone, Copy)]
struct Stack {
    mss: u64,
    initial_window: u64,
    /// Idle time after which the window returns to the initial window.
    restart: u64,
}

const STACK: Stack = Stack {
    mss: 1_460,
    initial_window: 2,
    restart: u64::MAX,
};

/// State of the sender.
struct Sender {
    acknowledged: u64,
    window: u64,
    /// Time of the last packet from the receiver.
    last_received: u64,
    /// Acknowledgements in flight: (arrival, bytes).
    acks: VecDeque<(u64, u64)>,
}

impl Sender {
    /// Processes the next acknowledgement: slow start grows the window by the acknowledged bytes.
    fn process_ack(&mut self) {
        let (at, bytes) = self.acks.pop_front().expect("an acknowledgement");
        self.acknowledged += bytes;
        self.window += bytes;
        self.last_received = at;
    }
}

/// Returns the delivery time of each message, for messages (submitted, bytes) on one connection.
fn deliveries(stack: Stack, links: &[Link], overhead: u64, messages: &[(u64, u64)]) -> Vec<u64> {
    let [mut forward, mut back] = Line::both(links, overhead);
    let initial = stack.initial_window * stack.mss;
    let mut sender = Sender {
        acknowledged: 0,
        window: initial,
        last_received: back.carry(forward.carry(messages[0].0, 40), 40),
        acks: VecDeque::new(),
    };
    let (mut sent, mut last_sent) = (0, sender.last_received);
    let mut delivered = Vec::new();
    for &(submitted, bytes) in messages {
        while sender.acks.front().is_some_and(|&(at, _)| at <= submitted) {
            sender.process_ack();
        }
        if sent > 0 && submitted.saturating_sub(last_sent) > stack.restart {
            sender.window = sender.window.min(initial);
        }
        let end = sent + bytes;
        let mut arrived = 0;
        while sent < end {
            let len = stack.mss.min(end - sent);
            while sender.acknowledged + sender.window < sent + len {
                sender.process_ack();
            }
            let ready = submitted.max(sender.last_received);
            last_sent = ready.max(forward.free());
            arrived = forward.carry(ready, 40 + len);
            sender.acks.push_back((back.carry(arrived, 40), len));
            sent += len;
        }
        delivered.push(arrived);
    }
    delivered
}

/// Sets a timeout that no queue of a lone flow reaches, so that nothing is retransmitted.
fn with_long_timeout(protocol: &mut Protocol) -> &mut tcp::Config {
    let Protocol::Tcp(config) = protocol else {
        unreachable!("TCP");
    };
    config.rto_min = Span::from_secs(2);
    config
}

fn simulated(
    links: &[Link],
    overhead: u32,
    protocol: Protocol,
    messages: &[(u64, u64)],
) -> Vec<u64> {
    let list: Vec<_> = messages
        .iter()
        .map(|&(at, bytes)| (Span::from_ps(at), 0, 1, bytes, None))
        .collect();
    let mut scenario = scenario(chain(links), protocol, vec![flows(&list)]);
    scenario.host.frame_overhead = overhead;
    if messages.len() > 1 {
        scenario.workloads[0].connection = Connection::Persistent;
    }
    let records = run(&scenario).records;
    assert!(records.flows.iter().all(|flow| flow.retransmits == 0));
    (0..messages.len())
        .map(|flow| finish(&records, flow).as_ps())
        .collect()
}

#[test]
fn one_segment_by_hand() {
    // 1 Gbps, 20 us, one switch. SYN and SYN-ACK: 4 × (40 B × 8 ns + 20 us) = 81.28 us. 1000 B of data over two links:
    // 2 × (1040 B × 8 ns + 20 us) = 56.64 us.
    let expected = 1_000_000 + 81_280_000 + 56_640_000;
    assert_eq!(
        simulated(&[gigabit(); 2], 0, newreno(), &[(1_000_000, 1_000)]),
        [expected]
    );
    assert_eq!(
        deliveries(STACK, &[gigabit(); 2], 0, &[(1_000_000, 1_000)]),
        [expected]
    );
}

#[test]
fn three_segments_by_hand() {
    // Two full segments fit the initial window; a third with 80 B of data waits for an acknowledgement. Handshake:
    // 81.28 us. The first segment arrives 2 × (1500 B × 8 ns + 20 us) = 64 us later, its acknowledgement 2 × 20.32 us
    // after that, and the third segment takes 2 × (120 B × 8 ns + 20 us).
    let expected = 81_280_000 + 64_000_000 + 40_640_000 + 41_920_000;
    assert_eq!(
        simulated(&[gigabit(); 2], 0, newreno(), &[(0, 3_000)]),
        [expected]
    );
}

#[test]
fn every_size_over_every_chain() {
    for links in chains() {
        for bytes in SIZES {
            let mut protocol = newreno();
            with_long_timeout(&mut protocol);
            let (at, case) = (123_457, format!("{bytes} B over {links:?}"));
            let expected = deliveries(STACK, &links, 0, &[(at, bytes)]);
            assert_eq!(
                simulated(&links, 0, protocol, &[(at, bytes)]),
                expected,
                "{case}"
            );
        }
    }
}

#[test]
fn other_windows_segments_and_frames() {
    for (initial_window, mss, overhead) in
        [(1, 1_460, 0), (10, 1_460, 38), (3, 536, 0), (4, 8_960, 38)]
    {
        let stack = Stack {
            mss,
            initial_window,
            ..STACK
        };
        for links in chains() {
            let mut protocol = newreno();
            let config = with_long_timeout(&mut protocol);
            (config.initial_window, config.mss) = (initial_window as u32, mss as u32);
            let expected = deliveries(stack, &links, u64::from(overhead), &[(0, 200_000)]);
            assert_eq!(
                simulated(&links, overhead, protocol, &[(0, 200_000)]),
                expected,
                "{initial_window} × {mss} B"
            );
        }
    }
}

#[test]
fn unmarked_dctcp_is_tcp() {
    let mut protocol = newreno();
    with_long_timeout(&mut protocol).congestion_control = CongestionControl::Dctcp(Dctcp {
        gain_shift: 4,
        initial_alpha: 1.0,
    });
    let links = &chains()[5];
    assert_eq!(
        simulated(links, 0, protocol, &[(0, 300_001)]),
        deliveries(STACK, links, 0, &[(0, 300_001)])
    );
}

#[test]
fn later_messages_need_no_handshake() {
    // The second message is submitted while the first is in flight, the third long after.
    for links in chains() {
        for (first, second) in [(1, 1), (1_000, 50_000), (100_000, 1_461), (30_000, 30_001)] {
            let messages = [(5, first), (200_000_000, second), (500_000_000_000, 20_000)];
            let mut protocol = newreno();
            with_long_timeout(&mut protocol);
            let expected = deliveries(STACK, &links, 0, &messages);
            assert_eq!(
                simulated(&links, 0, protocol, &messages),
                expected,
                "{messages:?} over {links:?}"
            );
        }
    }
}

#[test]
fn second_message_saves_a_round_trip() {
    let links = [gigabit(); 2];
    let times = simulated(&links, 0, newreno(), &[(0, 1_000), (1_000_000_000, 1_000)]);
    assert_eq!(times, [81_280_000 + 56_640_000, 1_000_000_000 + 56_640_000]);
}

#[test]
fn idle_connection_restarts_slow_start() {
    let links = [gigabit(); 3];
    let messages = [(0, 100_000), (500_000_000_000, 100_000)];
    let restart = Stack {
        restart: 10_000_000_000,
        ..STACK
    };
    let expected = deliveries(restart, &links, 0, &messages);
    assert_eq!(simulated(&links, 0, newreno(), &messages), expected);
    let mut kept = newreno();
    let Protocol::Tcp(config) = &mut kept else {
        unreachable!("TCP")
    };
    config.slow_start_restart = false;
    let faster = deliveries(STACK, &links, 0, &messages);
    assert_eq!(simulated(&links, 0, kept, &messages), faster);
    assert!(faster[1] < expected[1]);
}
