//! What a switch does now, for a terminal.

use std::fmt::Write as _;

use duetime_study::text;
use duetime_switch::{D3Report, PortReport, Report};

/// Ports with D3 that are shown, those with the most flows first.
const ROUTERS: usize = 8;

/// What happened between two reports and the queues as they are, in one line; then a line for each port whose D3 router
/// knows flows.
pub fn live(before: &Report, now: &Report) -> String {
    let mut shown = summary(before, now);
    let ports = now.ports.iter();
    let with_flows = |port: &&PortReport| port.d3.is_some_and(|d3| d3.flows > 0);
    let mut routers: Vec<&PortReport> = ports.filter(with_flows).collect();
    routers.sort_by_key(|port| std::cmp::Reverse(port.d3.map(|d3| d3.flows)));
    for port in routers.iter().take(ROUTERS) {
        if let Some(d3) = &port.d3 {
            let _ = write!(shown, "\n  {}", router(port, d3));
        }
    }
    if routers.len() > ROUTERS {
        let _ = write!(shown, "\n  and {} ports more", routers.len() - ROUTERS);
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
    let rate = |what: fn(&Report) -> u64| what(now).saturating_sub(what(before)) as f64 / seconds;
    let sent_bytes = |of: &Report| of.interfaces.iter().map(|one| one.sent_bytes).sum();
    let sent = |of: &Report| of.interfaces.iter().map(|one| one.sent_packets).sum();
    let marks = |of: &Report| of.ports.iter().map(|port| port.marks_made).sum();
    let drops = |of: &Report| of.ports.iter().map(|port| port.drops).sum::<u64>() + of.kernel_drops;
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
    fn routers_with_flows_have_a_line_each() {
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
        assert!(shown.ends_with("and 12 ports more"), "{shown}");
    }
}
