//! What a switch has done, as Prometheus reads it.

use std::fmt::Write as _;

use duetime_switch::{D3Report, PortReport, Report};

use crate::metrics::{begin, label};

/// Name, type, help and value of a metric of something.
type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> u64);

/// Of a port.
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
        "Packets that the link behind the port lost at random",
        |port| port.losses,
    ),
    (
        "duetime_switch_marks_total",
        "counter",
        "Packets that got CE",
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
        "The most bytes that were in the port",
        |port| port.queue_max_bytes,
    ),
];

/// Of D3's router at a port.
const ROUTER: [Metric<D3Report>; 8] = [
    (
        "duetime_d3_flows",
        "gauge",
        "N: flows that the port believes alive",
        |d3| d3.flows,
    ),
    (
        "duetime_d3_demand_bits_per_second",
        "gauge",
        "D: sum of the rates that deadlines need",
        |d3| d3.demand_bps,
    ),
    (
        "duetime_d3_allocated_bits_per_second",
        "gauge",
        "A: sum of the rates granted",
        |d3| d3.allocated_bps,
    ),
    (
        "duetime_d3_capacity_bits_per_second",
        "gauge",
        "C: the capacity, adapted every update interval",
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
        "Rate requests granted less than they desired",
        |d3| d3.denied,
    ),
    (
        "duetime_d3_unanswered_total",
        "counter",
        "Rate requests of another scale or with no free slot",
        |d3| d3.unanswered,
    ),
    (
        "duetime_d3_policed_total",
        "counter",
        "Packets dropped because their interface sent more than it was granted",
        |d3| d3.policed,
    ),
];

/// The page that Prometheus reads.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    begin(
        &mut page,
        "duetime_switch_kernel_drops_total",
        "counter",
        "Packets lost before the switch saw them",
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
    for (port, of) in ports {
        let _ = writeln!(page, "{name}{{port=\"{}\"}} {}", label(port), value(of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_a_line_of_each_metric() {
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
            assert!(shown.lines().any(|it| it == line), "{line} in\n{shown}");
        }
        assert!(!shown.contains("duetime_d3_flows{port=\"h0->switch\"}"));
        let without = page(&Report {
            ports: vec![plain],
            ..Report::default()
        });
        assert!(!without.contains("duetime_d3"), "{without}");
    }
}
