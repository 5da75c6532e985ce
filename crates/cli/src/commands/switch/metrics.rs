//! Prometheus metrics of a switch.

use std::fmt::Write as _;

use duetime_switch::{D3Report, PortReport, Report};

use crate::metrics::{begin, label};

/// Name, type, help text and value of a metric of a `T`.
type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> u64);

/// Metrics of a port.
const PORT: [Metric<PortReport>; 8] = [
    (
        "duetime_switch_packets_total",
        "counter",
        "Packets accepted",
        |port| port.packets,
    ),
    (
        "duetime_switch_bytes_total",
        "counter",
        "Bytes accepted",
        |port| port.bytes,
    ),
    (
        "duetime_switch_drops_total",
        "counter",
        "Packets dropped because the buffer was full",
        |port| port.drops,
    ),
    (
        "duetime_switch_losses_total",
        "counter",
        "Packets lost at random on the link behind the port",
        |port| port.losses,
    ),
    (
        "duetime_switch_marks_total",
        "counter",
        "Packets marked CE",
        |port| port.marks_made,
    ),
    (
        "duetime_switch_queue_packets",
        "gauge",
        "Packets in the port",
        |port| u64::from(port.queue_packets),
    ),
    (
        "duetime_switch_queue_bytes",
        "gauge",
        "Bytes in the port",
        |port| port.queue_bytes,
    ),
    (
        "duetime_switch_queue_max_bytes",
        "gauge",
        "Largest number of bytes in the port",
        |port| port.queue_max_bytes,
    ),
];

/// Metrics of the D3 router at a port.
const ROUTER: [Metric<D3Report>; 8] = [
    (
        "duetime_d3_flows",
        "gauge",
        "N: flows registered at the port",
        |d3| d3.flows,
    ),
    (
        "duetime_d3_demand_bits_per_second",
        "gauge",
        "D: sum of the desired rates",
        |d3| d3.demand_bps,
    ),
    (
        "duetime_d3_allocated_bits_per_second",
        "gauge",
        "A: sum of the granted rates",
        |d3| d3.allocated_bps,
    ),
    (
        "duetime_d3_capacity_bits_per_second",
        "gauge",
        "C: capacity, adapted every update interval",
        |d3| d3.capacity_bps,
    ),
    (
        "duetime_d3_requests_total",
        "counter",
        "Rate requests",
        |d3| d3.requests,
    ),
    (
        "duetime_d3_denied_total",
        "counter",
        "Rate requests granted less than the desired rate",
        |d3| d3.denied,
    ),
    (
        "duetime_d3_unanswered_total",
        "counter",
        "Rate requests with another scale or without a free slot",
        |d3| d3.unanswered,
    ),
    (
        "duetime_d3_policed_total",
        "counter",
        "Packets dropped because their interface exceeded its granted rate",
        |d3| d3.policed,
    ),
];

/// Renders the metrics page.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    begin(
        &mut page,
        "duetime_switch_kernel_drops_total",
        "counter",
        "Packets lost before reaching the switch",
    );
    let _ = writeln!(
        page,
        "duetime_switch_kernel_drops_total {}",
        report.kernel_drops
    );
    for metric in &PORT {
        let ports = report.ports.iter().map(|port| (port.name.as_str(), port));
        write(&mut page, metric, ports);
    }
    let routers = || {
        let ports = report.ports.iter();
        ports.filter_map(|port| Some((port.name.as_str(), port.d3.as_ref()?)))
    };
    if routers().next().is_some() {
        for metric in &ROUTER {
            write(&mut page, metric, routers());
        }
    }
    page
}

fn write<'a, T: 'a>(
    page: &mut String,
    (name, kind, help, value): &Metric<T>,
    ports: impl Iterator<Item = (&'a str, &'a T)>,
) {
    begin(page, name, kind, help);
    for (port, item) in ports {
        let _ = writeln!(page, "{name}{{port=\"{}\"}} {}", label(port), value(item));
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
        let shown = page(&report);
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
        let without = page(&Report {
            ports: vec![plain],
            ..Report::default()
        });
        assert!(!without.contains("duetime_d3"), "{without}");
    }
}
