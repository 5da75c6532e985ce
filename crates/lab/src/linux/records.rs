//! Converts the reports of switch and applications to the records of a simulated run.

use duetime_core::{Span, Time};
use duetime_results::{PortRecord, RunRecords, SeriesSample, Totals};
use duetime_scenario::Scenario;
use duetime_sim::RunOutput;
use duetime_sim::topology::Network;
use duetime_switch::{PortReport, Report};

use crate::linux::clock::Clock;
use crate::linux::traffic::Results;

/// Reports of the switch at the ends of the measurement window, taken up to 0.2 s before them.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Report at the end of the warm-up, if any.
    pub begin: Option<Report>,
    /// Report at the end of the scenario's duration, if that ends the window.
    pub end: Option<Report>,
}

/// Creates the records of a run.
pub fn output(
    scenario: &Scenario,
    network: &Network,
    clock: Clock,
    sampled_links: &[u32],
    window: &Window,
    last: &Report,
    results: Results,
) -> RunOutput {
    let end = results.end;
    let warm_up = Time::ZERO + scenario.warm_up;
    let until = match &window.end {
        Some(_) => (Time::ZERO + scenario.duration).min(end),
        None => end,
    };
    let measured_end = window.end.as_ref().unwrap_or(last);
    let ports = if warm_up < end {
        ports(
            network,
            window.begin.as_ref(),
            measured_end,
            until.since(warm_up),
        )
    } else {
        Vec::new()
    };
    let names: Vec<String> = sampled_links
        .iter()
        .map(|&link| network.link_name(link))
        .collect();
    let series = series(scenario, clock, &names, last);
    let totals = totals(network, last, end);
    RunOutput {
        whole_ports: self::ports(network, None, last, end.since(Time::ZERO)),
        records: RunRecords {
            flows: results.flows,
            queries: results.queries,
            servers: Vec::new(),
            ports,
            sampled_links: names,
            series,
            totals,
        },
        complete: true,
        ..RunOutput::default()
    }
}

/// Returns the ports with traffic between two reports, in the order of the network's links.
fn ports(
    network: &Network,
    before: Option<&Report>,
    after: &Report,
    time: Span,
) -> Vec<PortRecord> {
    let seconds = time.as_secs_f64().max(f64::MIN_POSITIVE);
    let empty = PortReport::default();
    let find = |report: Option<&Report>, name: &str| {
        report
            .and_then(|report| report.ports.iter().find(|port| port.name == name))
            .unwrap_or(&empty)
            .clone()
    };
    let before_s = before.map_or(0.0, |report| report.wall_ns as f64 * 1e-9);
    let after_s = after.wall_ns as f64 * 1e-9;
    let mut records = Vec::new();
    for (number, link) in network.links.iter().enumerate() {
        let name = network.link_name(number as u32);
        let (old, new) = (find(before, &name), find(Some(after), &name));
        if (new.packets, new.drops) == (old.packets, old.drops) {
            continue;
        }
        let departed = |port: &PortReport| {
            (
                port.packets - u64::from(port.queue_packets),
                port.bytes - port.queue_bytes,
            )
        };
        let bytes = departed(&new).1.saturating_sub(departed(&old).1);
        // Integral of the queue over the interval; the switch's mean starts when it was opened.
        let queue_integral = new.queue_mean_bytes * after_s - old.queue_mean_bytes * before_s;
        records.push(PortRecord {
            packets: departed(&new).0.saturating_sub(departed(&old).0),
            bytes,
            drops: new.drops - old.drops,
            drop_bytes: new.drop_bytes - old.drop_bytes,
            losses: new.losses - old.losses,
            loss_bytes: new.loss_bytes - old.loss_bytes,
            marks: new.marks_made - old.marks_made,
            queue_max_bytes: new.queue_max_bytes,
            queue_mean_bytes: queue_integral.max(0.0) / seconds,
            utilisation: (link.rate.transmit(bytes).as_secs_f64() / seconds).min(1.0),
            link: name,
        });
    }
    records
}

fn series(scenario: &Scenario, clock: Clock, names: &[String], last: &Report) -> Vec<SeriesSample> {
    let duration = Time::ZERO + scenario.duration;
    // The switch was opened before the run began.
    let opened = i64::try_from(last.opened_monotonic_ns).unwrap_or(i64::MAX);
    let offset = u64::try_from(clock.start_ns().saturating_sub(opened)).unwrap_or(0);
    let mut samples = Vec::new();
    for (link, name) in (0..).zip(names) {
        let Some(series) = last.series.iter().find(|series| series.port == *name) else {
            continue;
        };
        let mut sent = 0;
        for sample in &series.samples {
            let before = std::mem::replace(&mut sent, sample.departed_bytes);
            let Some(at) = sample.time_ns.checked_sub(offset) else {
                continue;
            };
            let at = Time::ZERO + Span::from_ns(at);
            if at > duration {
                break;
            }
            samples.push(SeriesSample {
                link,
                at,
                queue_bytes: u64::from(sample.bytes),
                queue_packets: sample.packets,
                sent_bytes: sample.departed_bytes - before,
            });
        }
    }
    samples.sort_by_key(|sample| (sample.at, sample.link));
    samples
}

fn totals(network: &Network, last: &Report, end: Time) -> Totals {
    let mut totals = Totals {
        end,
        ..Totals::default()
    };
    for (number, link) in network.links.iter().enumerate() {
        let name = network.link_name(number as u32);
        let Some(port) = last.ports.iter().find(|port| port.name == name) else {
            continue;
        };
        totals.packet_hops += port.packets;
        totals.dropped_bytes += port.drop_bytes;
        totals.in_flight_bytes += port.queue_bytes;
        if network.nodes[link.from as usize].host.is_some() {
            totals.injected_bytes += port.bytes;
        }
        if network.nodes[link.to as usize].host.is_some() {
            totals.arrived_bytes += port.bytes - port.queue_bytes;
        }
    }
    totals
}
