//! Departure of packets through their own host's NIC, even if connections end while they wait for it.

use duetime_core::{Bytes, Rate, Span};
use duetime_proto::tcp;
use duetime_results::digest;
use duetime_scenario::model::{
    Link, Protocol, Scenario, Topology, TraceFlow, Transport, WorkloadKind,
};
use duetime_sim::{Options, run};

const HOSTS: u32 = 8;

/// Returns a scenario of short flows between all hosts, closer together than a packet's time. Timeouts are shorter than
/// the NIC's queue, so segments wait for retransmission while their acknowledgement is on its way.
fn scenario() -> Scenario {
    let link = Link {
        rate: Rate::from_mbps(10),
        latency: Span::from_us(20),
        loss: 0.0,
    };
    let config = tcp::Config {
        rto_min: Span::from_us(300),
        rto_initial: Span::from_us(300),
        rto_max: Span::from_ms(20),
        ..tcp::Config::default()
    };
    let flows = (0..600_u32).map(|number| {
        let source = number * 5 % HOSTS;
        TraceFlow {
            start: Span::from_us(u64::from(number) * 97),
            source,
            destination: (source + 1 + number / 8 % (HOSTS - 1)) % HOSTS,
            size: Bytes(200 + u64::from(number * 37 % 1_900)),
            deadline: None,
        }
    });
    let topology = Topology::Dumbbell {
        left: HOSTS / 2,
        right: HOSTS / 2,
        link,
        bottleneck: Link {
            rate: Rate::from_mbps(100),
            ..link
        },
    };
    let flows = WorkloadKind::Trace {
        flows: flows.collect(),
    };
    Scenario {
        transports: vec![Transport {
            name: "tcp".into(),
            protocol: Protocol::Tcp(config),
            priorities: 1,
        }],
        duration: Span::from_ms(100),
        ..crate::bare::scenario(topology, vec![crate::bare::workload("flows", flows)])
    }
}

#[test]
fn ended_connections_leave_the_nic_queue() {
    let mut scenario = scenario();
    let records = |threads| {
        run(
            &scenario,
            0,
            0,
            &Options {
                threads,
                ..Options::default()
            },
        )
        .expect("a valid scenario")
        .records
    };
    let alone = records(1);
    assert!(alone.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(
        alone.flows.iter().map(|flow| flow.timeouts).sum::<u32>() > 100,
        "too few timeouts to test"
    );
    assert_eq!(digest(&alone), digest(&records(2)));

    let side = |host: u32| if host < HOSTS / 2 { "left" } else { "right" };
    scenario.record.pcap = (0..HOSTS)
        .map(|host| format!("host{host}->{}", side(host)))
        .collect();
    let output = run(&scenario, 0, 0, &Options::default()).expect("a valid scenario");
    let name = |link| {
        &output
            .capture_links
            .iter()
            .find(|(number, _)| *number == link)
            .expect("captured")
            .1
    };
    for packet in &output.captures {
        let source = u32::from(packet.bytes[15]);
        // Address 255 means that the connection closed before the packet crossed the link.
        let plausible =
            source == 255 || name(packet.link).starts_with(&format!("host{}->", source - 1));
        assert!(
            plausible,
            "from host {} over {}",
            source - 1,
            name(packet.link)
        );
    }
}
