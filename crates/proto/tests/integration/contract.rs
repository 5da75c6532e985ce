//! The driver contract: timeouts may be early, and then have no effect, or late, and packets may be delayed
//! arbitrarily.

use crate::common::{d2tcp, dctcp, plain};
use crate::d3_plain;
use duetime_core::random::mix;
use duetime_core::{Rate, Span, Time};
use duetime_proto::window::CongestionControl;
use duetime_proto::{Message, d3, tcp};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::fmt::Debug;

/// One direction between the two ends, with random loss.
struct Wire<P> {
    packets: VecDeque<(Time, P)>,
    seed: u64,
    loss_percent: u64,
    sent: u64,
}

impl<P> Wire<P> {
    fn new(seed: u64, loss_percent: u64) -> Self {
        Self {
            packets: VecDeque::new(),
            seed,
            loss_percent,
            sent: 0,
        }
    }

    fn push(&mut self, now: Time, packet: P) {
        self.sent += 1;
        if mix(self.seed, self.sent) % 100 >= self.loss_percent {
            self.packets.push_back((now + Span::from_us(50), packet));
        }
    }

    fn arrival(&mut self, now: Time) -> Option<P> {
        self.packets
            .pop_front_if(|(at, _)| *at <= now)
            .map(|(_, packet)| packet)
    }
}

/// Calls a state machine's `timeout` at `now`, and checks that an early call does not change the machine.
fn timeout<M: Debug>(machine: &mut M, now: Time, due: Time, call: impl FnOnce(&mut M)) {
    let before = (now < due).then(|| format!("{machine:?}"));
    call(machine);
    if let Some(before) = before {
        assert_eq!(
            before,
            format!("{machine:?}"),
            "a timeout at {now}, due {due}"
        );
    }
}

/// Generates the driver's delays between steps, in microseconds. One of at most 100 is 3 ms, so that [`MAX_STEPS`] last
/// at least 3 s.
fn delays() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![4 => 1_u64..60, 1 => 1_u64..3_000], 1..100).prop_map(
        |mut delays| {
            delays.push(3_000);
            delays
        },
    )
}

/// Number of steps after which a transfer counts as stuck. They must last for many of the longest retransmission
/// timeouts, 100 ms.
const MAX_STEPS: usize = 100_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn tcp_tolerates_a_late_driver(
        bytes in 1_u64..200_000,
        control in prop_oneof![Just(CongestionControl::NewReno), Just(dctcp(0.5)), Just(d2tcp(0.5, 0.5, 2.0))],
        delayed_ack in 1_u32..4,
        delays in delays(),
        (seed, loss) in (any::<u64>(), 0_u64..20),
        (selective, by_time) in any::<(bool, bool)>(),
    ) {
        let config = tcp::Config {
            congestion_control: control,
            recovery: if selective { tcp::Recovery::Sack } else { tcp::Recovery::NewReno },
            rack: by_time,
            tail_loss_probe: by_time,
            delayed_ack,
            rto_max: Span::from_ms(100),
            ..plain()
        };
        let (mut forward, mut back) = (Wire::new(seed, loss), Wire::new(!seed, loss));
        let mut now = Time::ZERO;
        let mut sender = tcp::Sender::new(&config, now);
        let mut receiver = tcp::Receiver::new(&config);
        sender.send(&config, now, Message::new(bytes, Some(now + Span::from_ms(20))));
        sender.close();
        for delay in delays.iter().cycle().take(MAX_STEPS) {
            while let Some(segment) = forward.arrival(now) {
                receiver.input(&config, now, segment);
            }
            while let Some((segment, sack)) = back.arrival(now) {
                sender.input_sack(&config, now, segment, &sack);
            }
            let due = sender.next_timeout();
            timeout(&mut sender, now, due, |machine| {
                let _ = machine.timeout(&config, now);
            });
            let due = receiver.next_timeout();
            timeout(&mut receiver, now, due, |machine| machine.timeout(&config, now));
            while let Some(segment) = sender.poll_transmit(&config, now) {
                forward.push(now, segment);
            }
            while let Some(segment) = receiver.poll_transmit() {
                let sack = segment.flags.contains(tcp::Flags::SACK).then(|| receiver.sack());
                back.push(now, (segment, sack.unwrap_or_default()));
            }
            prop_assert!(!sender.can_transmit(&config) && !receiver.can_transmit());
            if sender.is_closed() {
                break;
            }
            now += Span::from_us(*delay);
        }
        prop_assert!(sender.is_closed());
        prop_assert_eq!(receiver.delivered(), bytes);
    }

    #[test]
    fn d3_tolerates_a_late_driver(
        bytes in 0_u64..200_000,
        deadline in prop::option::of(1_u64..100),
        delays in delays(),
        (seed, loss) in (any::<u64>(), 0_u64..20),
    ) {
        let config = d3::Config::default();
        let rate = Rate::from_gbps(1);
        let (mut forward, mut back) = (Wire::new(seed, loss), Wire::new(!seed, loss));
        let mut now = Time::ZERO;
        let deadline = deadline.map(|ms| now + Span::from_ms(ms));
        let mut sender = d3::Sender::new(&config, now, rate, Message::new(bytes, deadline));
        let mut receiver = d3::Receiver::new();
        let mut port = d3::PortDriver::new(&config, rate, Span::from_us(seed % 800));
        let mut departed_bytes = 0;
        for delay in delays.iter().cycle().take(MAX_STEPS) {
            while let Some(packet) = forward.arrival(now) {
                d3_plain::receive(&mut receiver, &packet);
            }
            while let Some(packet) = back.arrival(now) {
                d3_plain::acknowledge(&mut sender, &config, now, &packet);
            }
            let due = sender.next_timeout();
            timeout(&mut sender, now, due, |machine| {
                let _ = machine.timeout(&config, now);
            });
            let reading = d3::Reading { departed_bytes, queue_bytes: sender.overdue() };
            let due = port.next_timeout();
            timeout(&mut port, now, due, |machine| machine.timeout(&config, now, reading));
            while let Some(mut packet) = d3_plain::poll_sender(&mut sender, &config, now) {
                departed_bytes += u64::from(packet.wire_bytes(&config));
                if let Some(request) = &mut packet.request {
                    port.process(&config, now, packet.flags, request);
                }
                forward.push(now, packet);
            }
            while let Some(packet) = d3_plain::poll_receiver(&mut receiver, &config) {
                back.push(now, packet);
            }
            prop_assert!(!sender.can_transmit(&config) && !receiver.can_transmit());
            if sender.is_closed() {
                break;
            }
            now += Span::from_us(*delay);
        }
        prop_assert!(sender.is_closed());
        prop_assert_eq!(receiver.delivered(), bytes);
    }

    /// When the application abandons a D3 flow at any time, both ends close and the port releases the allocation,
    /// unless a request counts as lost.
    #[test]
    fn d3_flows_can_be_abandoned_at_any_time(
        bytes in 1_u64..1_000_000,
        after in 0_usize..100,
        deadline in prop::option::of(5_u64..100),
        delays in prop::collection::vec(1_u64..60, 1..100),
    ) {
        let config = d3::Config::default().with(|c| c.router.repair = false);
        let rate = Rate::from_gbps(1);
        let (mut forward, mut back) = (Wire::new(0, 0), Wire::new(0, 0));
        let mut now = Time::ZERO;
        let deadline = deadline.map(|ms| now + Span::from_ms(ms));
        let mut sender = d3::Sender::new(&config, now, rate, Message::new(bytes, deadline));
        let mut receiver = d3::Receiver::new();
        let mut port = d3::PortDriver::new(&config, rate, Span::ZERO);
        for (step, delay) in delays.iter().cycle().enumerate().take(MAX_STEPS) {
            if step == after {
                sender.close();
            }
            while let Some(packet) = forward.arrival(now) {
                receiver.input(&packet);
            }
            while let Some(packet) = back.arrival(now) {
                sender.input(&config, now, &packet);
            }
            sender.timeout(&config, now);
            while let Some(mut packet) = sender.poll_transmit(&config, now) {
                if let Some(request) = &mut packet.request {
                    port.process(&config, now, packet.flags, request);
                }
                forward.push(now, packet);
            }
            while let Some(packet) = receiver.poll_transmit(&config) {
                back.push(now, packet);
            }
            if sender.is_closed() {
                break;
            }
            now += Span::from_us(*delay);
        }
        prop_assert!(sender.is_closed());
        let all = receiver.delivered() == bytes;
        prop_assert!(all != sender.is_quenched());
        prop_assert!(receiver.is_closed() || sender.counters().requests == 0);
        let port = port.allocator();
        prop_assert_eq!((port.flows(), port.demand(), port.allocated()), (0, 0, 0));
    }
}
