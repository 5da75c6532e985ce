//! Conservation of bytes at every node and port: all that enters leaves, is dropped or is still queued.

use super::ensure;
use crate::generator::Case;
use duetime_core::{Span, Time};
use duetime_results::{PortRecord, RunRecords};
use duetime_scenario::model::{Amount, Buffer, Protocol};
use duetime_sim::routing::Routing;
use duetime_sim::{AllocatorState, RunOutput};
use std::collections::BTreeMap;

/// Wire size of the largest packet of any case, in bytes.
const LARGEST_PACKET: u64 = 10_100;

/// Bytes that left a link's port or were dropped or lost there.
#[derive(Clone, Copy, Default)]
struct Flux {
    left: u64,
    dropped: u64,
    lost: u64,
}

pub(super) fn check(
    case: &Case,
    records: &RunRecords,
    allocators: &[AllocatorState],
) -> Result<(), String> {
    let flux = by_link(case, records)?;
    for port in &records.ports {
        // Parallel links have the same name.
        let named = allocators.iter().filter(|state| state.link == port.link);
        limits(case, records, port, named.map(|state| state.policed).sum())?;
    }
    conservation(case, records, &flux)?;
    for (number, name) in records.sampled_links.iter().enumerate() {
        let samples = records
            .series
            .iter()
            .filter(|sample| sample.link == number as u32);
        let sent: u64 = samples.clone().map(|sample| sample.sent_bytes).sum();
        let highest = samples.map(|sample| sample.queue_bytes).max().unwrap_or(0);
        let ports = records.ports.iter().filter(|port| port.link == *name);
        let fits = |port: &PortRecord| sent <= port.bytes && highest <= port.queue_max_bytes;
        let fitting = sent == 0 && highest == 0 || ports.clone().any(fits);
        ensure!(
            fitting,
            "{name} sent {sent} B in its samples and held {highest} B"
        );
    }
    Ok(())
}

/// Checks the ports' statistics over the measurement window against those over the whole run.
pub(super) fn check_measured(case: &Case, output: &RunOutput) -> Result<(), String> {
    let (scenario, mut until) = (&case.scenario, output.records.totals.end);
    if scenario.is_endless() {
        until = until.min(Time::ZERO + scenario.duration);
    }
    let from = Time::ZERO + scenario.warm_up;
    let window = until.max(from).since(from);
    let mut whole = output.whole_ports.iter();
    for port in &output.records.ports {
        // Both lists are in network order, so parallel links with the same name match in turn.
        let within = whole.find(|whole| {
            whole.link == port.link
                && whole.bytes >= port.bytes
                && whole.packets >= port.packets
                && whole.drops >= port.drops
                && whole.losses >= port.losses
                && whole.marks >= port.marks
                && whole.queue_max_bytes >= port.queue_max_bytes
        });
        ensure!(within.is_some(), "no match in the whole run: {port:?}");
        ensure!(
            (0.0..=1.0).contains(&port.utilisation) && is_mean(port, window),
            "impossible over {window}: {port:?}"
        );
    }
    Ok(())
}

/// Returns the traffic of each link; parallel links share a name, but have one record each.
fn by_link(case: &Case, records: &RunRecords) -> Result<Vec<Flux>, String> {
    let names: Vec<String> = (0..case.network.links.len() as u32)
        .map(|link| case.network.link_name(link))
        .collect();
    let mut flux = vec![Flux::default(); names.len()];
    for port in &records.ports {
        // The sums are the same for all assignments of records to parallel links.
        let Some(link) = names.iter().position(|name| *name == port.link) else {
            return Err(format!("unknown link: {port:?}"));
        };
        flux[link].left += port.bytes;
        flux[link].dropped += port.drop_bytes;
        flux[link].lost += port.loss_bytes;
    }
    Ok(flux)
}

/// Checks a port against its limits; D3's routers may have dropped up to `policed` packets above their grants.
fn limits(
    case: &Case,
    records: &RunRecords,
    port: &PortRecord,
    policed: u64,
) -> Result<(), String> {
    let named = (0..case.network.links.len() as u32)
        .filter(|&link| case.network.link_name(link) == port.link);
    let mut links = named.map(|link| &case.network.links[link as usize]);
    let lossy = links.clone().any(|link| link.loss > 0.0);
    let from_host = links.all(|link| case.network.nodes[link.from as usize].host.is_some());
    let limit = match case.scenario.switch.buffer {
        _ if from_host => u64::MAX,
        Buffer::Unlimited => u64::MAX,
        Buffer::Static(Amount::Packets(packets)) => u64::from(packets) * LARGEST_PACKET,
        Buffer::Static(Amount::Bytes(bytes)) => bytes,
        Buffer::Dynamic { pool, .. } => pool.0,
    };
    ensure!(
        limit < u64::MAX || port.drops <= policed,
        "drops from an unlimited buffer, {policed} by the policer: {port:?}"
    );
    ensure!(
        port.queue_max_bytes <= limit,
        "queued more than {limit} B: {port:?}"
    );
    ensure!(
        lossy || port.losses == 0,
        "losses on a lossless link: {port:?}"
    );
    let marks = case.protocols().any(Protocol::reacts_to_marks);
    ensure!(
        port.marks == 0 || marks && !from_host,
        "marked without ECN: {port:?}"
    );
    ensure!(
        port.losses <= port.packets,
        "more losses than packets: {port:?}"
    );
    ensure!(
        is_mean(port, records.totals.end.since(Time::ZERO)),
        "mean queue below 0 or above the maximum: {port:?}"
    );
    ensure!(
        (0.0..=1.0 + 1e-9).contains(&port.utilisation),
        "utilisation outside 0 to 1 at {:?}: {port:?}",
        records.totals.end
    );
    Ok(())
}

/// Returns true if the mean queue over `window` is between 0 and the maximum, with a tolerance of one clock tick
/// (1024 ps).
fn is_mean(port: &PortRecord, window: Span) -> bool {
    let window_ps = window.as_ps() as f64;
    let limit = port.queue_max_bytes as f64 * (window_ps + 1024.0) / window_ps;
    (0.0..=limit * (1.0 + 1e-9)).contains(&port.queue_mean_bytes)
}

/// Checks that each node received at least what it sent, and that the difference is still in flight.
fn conservation(case: &Case, records: &RunRecords, flux: &[Flux]) -> Result<(), String> {
    let (network, totals) = (&case.network, &records.totals);
    let accounted = totals.arrived_bytes + totals.dropped_bytes + totals.in_flight_bytes;
    ensure!(
        totals.injected_bytes == accounted,
        "injected is not arrived + dropped + in flight: {totals:?}"
    );
    let removed: u64 = flux.iter().map(|link| link.dropped + link.lost).sum();
    ensure!(
        totals.dropped_bytes == removed,
        "the ports dropped and lost {removed} B: {totals:?}"
    );

    let mut balance = vec![0i128; network.nodes.len()];
    for (link, flux) in network.links.iter().zip(flux) {
        balance[link.from as usize] -= i128::from(flux.left + flux.dropped);
        balance[link.to as usize] += i128::from(flux.left - flux.lost);
    }
    let (hosts, switches) = balance.split_at(network.hosts() as usize);
    for (node, held) in switches.iter().enumerate() {
        let name = &network.nodes[hosts.len() + node].name;
        ensure!(*held >= 0, "{name} sent {} B more than it received", -held);
    }
    let at_hosts = hosts.iter().sum::<i128>() + i128::from(totals.injected_bytes)
        - i128::from(totals.arrived_bytes);
    ensure!(
        at_hosts >= 0,
        "hosts sent {} B more than they injected",
        -at_hosts
    );
    let held = switches.iter().sum::<i128>() + at_hosts;
    ensure!(
        held == i128::from(totals.in_flight_bytes),
        "{held} B remain at nodes or on links: {totals:?}"
    );

    let packets: u64 = records.ports.iter().map(|port| port.packets).sum();
    ensure!(
        totals.packet_hops <= packets,
        "{packets} packets left ports: {totals:?}"
    );
    let complete = totals.in_flight_bytes > 0 || totals.packet_hops == packets;
    ensure!(
        complete,
        "{packets} packets left ports, but nothing is in flight: {totals:?}"
    );
    Ok(())
}

/// Checks that every captured packet followed the routes: each port sent, dropped or holds what it received.
pub fn check_captures(case: &Case, output: &RunOutput) -> Result<(), String> {
    let (network, records) = (&case.network, &output.records);
    let overhead = u64::from(case.scenario.host.frame_overhead);
    let mut arrived = vec![0u64; network.links.len()];
    for packet in &output.captures {
        arrived[packet.link as usize] += u64::from(packet.original_bytes) + overhead;
        ensure!(
            packet.at <= records.totals.end,
            "captured after the end: {packet:?}"
        );
    }
    check_nics(case, output)?;
    let parallel = (0..network.links.len() as u32)
        .any(|link| network.find_link(&network.link_name(link)) != Some(link));
    if parallel {
        return Ok(());
    }
    let ports: BTreeMap<&str, &PortRecord> = output
        .whole_ports
        .iter()
        .map(|port| (port.link.as_str(), port))
        .collect();
    let none = Flux::default();
    let flux = |link: usize| {
        let port = ports.get(network.link_name(link as u32).as_str());
        port.map_or(none, |port| Flux {
            left: port.bytes,
            dropped: port.drop_bytes,
            lost: port.loss_bytes,
        })
    };
    let mut under_way = 0;
    for (link, arrived) in arrived.iter().enumerate() {
        let Flux { left, lost, .. } = flux(link);
        let name = network.link_name(link as u32);
        // Captures include packets that are lost on the link.
        let plausible = lost <= *arrived && *arrived <= left;
        ensure!(
            plausible,
            "{name}: {arrived} B captured, {lost} B of them lost, {left} B sent"
        );
        under_way += left - arrived;
    }
    ensure!(
        under_way <= records.totals.in_flight_bytes,
        "{under_way} B left ports without arriving"
    );
    if !case.is_tree() {
        return Ok(());
    }
    // In a tree, the destination alone determines the port that a packet leaves through.
    let routing = Routing::build(network).map_err(|error| error.to_string())?;
    let mut offered = vec![0u64; network.links.len()];
    for packet in &output.captures {
        let node = network.links[packet.link as usize].to;
        if network.nodes[node as usize].host.is_none() {
            let host =
                u32::from_be_bytes([0, packet.bytes[17], packet.bytes[18], packet.bytes[19]]) - 1;
            offered[routing.next(node, host, 0) as usize] +=
                u64::from(packet.original_bytes) + overhead;
        }
    }
    let (mut queued, mut lost_before) = (0, 0);
    for (link, offered) in offered.iter().enumerate() {
        if network.nodes[network.links[link].to as usize]
            .host
            .is_none()
        {
            lost_before += flux(link).lost;
        }
        if network.nodes[network.links[link].from as usize]
            .host
            .is_some()
        {
            continue;
        }
        let (Flux { left, dropped, .. }, name) = (flux(link), network.link_name(link as u32));
        ensure!(
            left + dropped <= *offered,
            "{name}: received {offered} B, sent {left} B and dropped {dropped} B"
        );
        queued += offered - left - dropped;
    }
    ensure!(
        lost_before <= queued,
        "{lost_before} B lost on links to switches, which miss only {queued} B"
    );
    let (queued, held) = (queued - lost_before, records.totals.in_flight_bytes);
    ensure!(
        queued + under_way <= held,
        "{queued} B queued and {under_way} B on links, but {held} B in flight"
    );
    Ok(())
}

/// Checks that packets leave through the NIC of their source host.
fn check_nics(case: &Case, output: &RunOutput) -> Result<(), String> {
    for packet in &output.captures {
        let from = case.network.links[packet.link as usize].from;
        let Some(host) = case.network.nodes[from as usize].host else {
            continue;
        };
        let source = u32::from_be_bytes([0, packet.bytes[13], packet.bytes[14], packet.bytes[15]]);
        // An address of all ones means that the connection closed before the packet crossed the link.
        let known = source != 0x00ff_ffff;
        ensure!(
            !known || source == host + 1,
            "sent through the NIC of host {host}: {packet:?}"
        );
    }
    Ok(())
}
