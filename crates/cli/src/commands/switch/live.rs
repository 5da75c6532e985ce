//! Live status of a switch for a terminal.

use std::fmt::Write as _;

use duetime_study::text;
use duetime_switch::{D3Report, PortReport, Report};

/// Maximum number of D3 ports to show, those with the most flows first.
const MAX_ROUTERS: usize = 8;

/// Summarizes the rates between two reports and the longest queue in one line, followed by a
/// line per port with D3 flows.
pub fn live(before: &Report, now: &Report) -> String {
    let mut shown = summary(before, now);
    let ports = now.ports.iter();
    let with_flows = |port: &&PortReport| port.d3.is_some_and(|d3| d3.flows > 0);
    let mut routers: Vec<&PortReport> = ports.filter(with_flows).collect();
    routers.sort_by_key(|port| std::cmp::Reverse(port.d3.map(|d3| d3.flows)));
    for port in routers.iter().take(MAX_ROUTERS) {
        if let Some(d3) = &port.d3 {
            let _ = write!(shown, "\n  {}", router(port, d3));
        }
    }
    if routers.len() > MAX_ROUTERS {
        let _ = write!(shown, "\n  and {} more ports", routers.len() - MAX_ROUTERS);
    }
    shown
}

fn router(port: &PortReport, d3: &D3Report) -> String {
    format!(
        "{}: {} flows, demand {}, allocated {} of {}, queue {} packets",
        port.name,
        d3.flows,
        text::rate(d3.demand_bps as f64),
        text::rate(d3.allocated_bps as f64),
        text::rate(d3.capacity_bps as f64),
        port.queue_packets,
    )
}

fn summary(before: &Report, now: &Report) -> String {
    let seconds = now.wall_ns.saturating_sub(before.wall_ns).max(1) as f64 / 1e9;
    let rate =
        |counter: fn(&Report) -> u64| counter(now).saturating_sub(counter(before)) as f64 / seconds;
    let sent_bytes = |report: &Report| {
        report
            .interfaces
            .iter()
            .map(|interface| interface.sent_bytes)
            .sum()
    };
    let sent = |report: &Report| {
        report
            .interfaces
            .iter()
            .map(|interface| interface.sent_packets)
            .sum()
    };
    let marks = |report: &Report| report.ports.iter().map(|port| port.marks_made).sum();
    let drops = |report: &Report| {
        report.ports.iter().map(|port| port.drops).sum::<u64>() + report.kernel_drops
    };
    let longest = now.ports.iter().max_by_key(|port| port.queue_packets);
    let queue = longest.map_or(String::new(), |port| {
        format!(
            ", longest queue {} packets ({})",
            port.queue_packets, port.name
        )
    });
    format!(
        "{}, {} packets/s, {} marks/s, {} drops/s{queue}",
        text::rate(8.0 * rate(sent_bytes)),
        text::count(rate(sent)),
        text::count(rate(marks)),
        text::count(rate(drops)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: u64, flows: u64) -> PortReport {
        PortReport {
            name: format!("switch->h{number}"),
            queue_packets: 3,
            d3: Some(D3Report {
                flows,
                demand_bps: 60_000_000,
                allocated_bps: 98_000_000,
                capacity_bps: 101_000_000,
                ..D3Report::default()
            }),
            ..PortReport::default()
        }
    }

    #[test]
    fn lines_of_routers_with_flows() {
        let now = Report {
            ports: vec![port(0, 0), port(1, 2), port(2, 5)],
            ..Report::default()
        };
        let shown = live(&Report::default(), &now);
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        let expected = "5 flows, demand 60 Mbps, allocated 98 Mbps of 101 Mbps, queue 3 packets";
        assert_eq!(lines[0], format!("  switch->h2: {expected}"));
        assert!(lines[1].starts_with("  switch->h1: 2 flows"), "{shown}");
        assert_eq!(lines.len(), 2);
        let many = Report {
            ports: (0..20).map(|number| port(number, 1)).collect(),
            ..Report::default()
        };
        let shown = live(&Report::default(), &many);
        assert!(shown.ends_with("and 12 more ports"), "{shown}");
    }
}
