//! Prometheus metrics of a switch.

use std::fmt;
use std::iter::once;

use duetime_switch::{D3Report, PortReport, Report};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{self, Counter, Gauge};

use crate::metrics::{self, encode};

/// Name, type, help text and value of a metric of a `T`.
type Metric<T> = (&'static str, MetricType, &'static str, fn(&T) -> u64);

/// Metrics of a port.
const PORT: [Metric<PortReport>; 8] = [
    (
        "duetime_switch_packets",
        Counter,
        "Packets accepted",
        |port| port.packets,
    ),
    ("duetime_switch_bytes", Counter, "Bytes accepted", |port| {
        port.bytes
    }),
    (
        "duetime_switch_drops",
        Counter,
        "Packets dropped because the buffer was full",
        |port| port.drops,
    ),
    (
        "duetime_switch_losses",
        Counter,
        "Packets lost at random on the link behind the port",
        |port| port.losses,
    ),
    (
        "duetime_switch_marks",
        Counter,
        "Packets marked CE",
        |port| port.marks_made,
    ),
    (
        "duetime_switch_queue_packets",
        Gauge,
        "Packets in the port",
        |port| u64::from(port.queue_packets),
    ),
    (
        "duetime_switch_queue_bytes",
        Gauge,
        "Bytes in the port",
        |port| port.queue_bytes,
    ),
    (
        "duetime_switch_queue_max_bytes",
        Gauge,
        "Largest number of bytes in the port",
        |port| port.queue_max_bytes,
    ),
];

/// Metrics of the D3 router at a port.
const ROUTER: [Metric<D3Report>; 8] = [
    (
        "duetime_d3_flows",
        Gauge,
        "N: flows registered at the port",
        |d3| d3.flows,
    ),
    (
        "duetime_d3_demand_bits_per_second",
        Gauge,
        "D: sum of the desired rates",
        |d3| d3.demand_bps,
    ),
    (
        "duetime_d3_allocated_bits_per_second",
        Gauge,
        "A: sum of the granted rates",
        |d3| d3.allocated_bps,
    ),
    (
        "duetime_d3_capacity_bits_per_second",
        Gauge,
        "C: capacity, adapted every update interval",
        |d3| d3.capacity_bps,
    ),
    ("duetime_d3_requests", Counter, "Rate requests", |d3| {
        d3.requests
    }),
    (
        "duetime_d3_denied",
        Counter,
        "Rate requests granted less than the desired rate",
        |d3| d3.denied,
    ),
    (
        "duetime_d3_unanswered",
        Counter,
        "Rate requests with another scale or without a free slot",
        |d3| d3.unanswered,
    ),
    (
        "duetime_d3_policed",
        Counter,
        "Packets dropped because their interface exceeded its granted rate",
        |d3| d3.policed,
    ),
];

/// Renders the metrics page.
pub fn page(report: Report) -> String {
    metrics::page(Ports(report))
}

#[derive(Debug)]
struct Ports(Report);

impl Collector for Ports {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let name = "duetime_switch_kernel_drops";
        let help = "Packets lost before reaching the switch";
        let drops = once(([("", ""); 0], self.0.kernel_drops));
        encode(&mut encoder, (name, Counter, help), drops)?;
        let ports = &self.0.ports;
        for (name, kind, help, value) in PORT {
            let values = ports.iter();
            let values = values.map(|port| ([("port", port.name.as_str())], value(port)));
            encode(&mut encoder, (name, kind, help), values)?;
        }
        if ports.iter().all(|port| port.d3.is_none()) {
            return Ok(());
        }
        for (name, kind, help, value) in ROUTER {
            let values = ports.iter();
            let values = values.filter_map(|port| {
                Some(([("port", port.name.as_str())], value(port.d3.as_ref()?)))
            });
            encode(&mut encoder, (name, kind, help), values)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_a_line_per_metric() {
        let plain = PortReport {
            name: "h0->switch".to_owned(),
            packets: 7,
            ..PortReport::default()
        };
        let routed = PortReport {
            name: "switch->h0".to_owned(),
            queue_bytes: 3_000,
            d3: Some(D3Report {
                flows: 2,
                demand_bps: 60_000_000,
                ..D3Report::default()
            }),
            ..PortReport::default()
        };
        let report = Report {
            ports: vec![plain.clone(), routed],
            ..Report::default()
        };
        let shown = page(report);
        for line in [
            "# TYPE duetime_switch_packets_total counter",
            "duetime_switch_packets_total{port=\"h0->switch\"} 7",
            "duetime_switch_queue_bytes{port=\"switch->h0\"} 3000",
            "duetime_d3_flows{port=\"switch->h0\"} 2",
            "duetime_d3_demand_bits_per_second{port=\"switch->h0\"} 60000000",
        ] {
            assert!(
                shown.lines().any(|found| found == line),
                "{line} in\n{shown}"
            );
        }
        assert!(!shown.contains("duetime_d3_flows{port=\"h0->switch\"}"));
        let without = page(Report {
            ports: vec![plain],
            ..Report::default()
        });
        assert!(!without.contains("duetime_d3"), "{without}");
    }
}
