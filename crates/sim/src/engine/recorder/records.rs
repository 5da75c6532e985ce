//! Records of a partition, and their merge into the records of the run.

use crate::output::{AllocatorState, RunOutput, WindowSample};
use crate::workload::{Note, add_notes, mark_unneeded};
use duetime_core::Time;
use duetime_results::{
    CapturedPacket, FlowRecord, FlowTrace, PortRecord, QueryRecord, SeriesSample, ServerRecord,
    Totals,
};
use rustc_hash::FxHashMap;

/// End of a flow, recorded at its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Finish {
    /// Index of the flow.
    pub flow: u64,
    /// Time at which the last byte was delivered.
    pub at: Time,
    /// Number of data segments that arrived with CE.
    pub marks: u32,
}

/// Records of one partition.
#[derive(Default)]
pub struct PartRecords {
    /// Flows submitted in this partition, without the fields that only the receiver knows.
    pub flows: Vec<FlowRecord>,
    /// Flows that ended in this partition.
    pub finishes: Vec<Finish>,
    /// Denials and inversions at the partition's routers, by flow.
    pub denials: FxHashMap<u64, (u32, u32)>,
    /// Queries rooted in this partition.
    pub queries: Vec<QueryRecord>,
    /// Notes about queries whose roots may be in other partitions, by query.
    pub notes: Vec<(u64, Note)>,
    /// Flows whose answers arrived in this partition but were not needed.
    pub spare: Vec<u64>,
    /// Ports of this partition by link, over the measurement window.
    pub ports: Vec<(u32, PortRecord)>,
    /// Ports of this partition by link, over the whole run.
    pub whole_ports: Vec<(u32, PortRecord)>,
    /// Server use of the partition's hosts, by host.
    pub servers: Vec<(u32, ServerRecord)>,
    /// Samples of links taken in this partition.
    pub series: Vec<SeriesSample>,
    /// Final state of the partition's D3 allocators, by link.
    pub allocators: Vec<(u32, AllocatorState)>,
    /// Samples of TCP windows taken in this partition.
    pub windows: Vec<WindowSample>,
    /// Totals of packets and bytes.
    pub totals: Totals,
    /// Traces of watched flows.
    pub traces: Vec<FlowTrace>,
    /// Captured packets.
    pub captures: Vec<CapturedPacket>,
}

/// Merges the partitions' records into the output of the run.
pub fn merge(parts: Vec<PartRecords>, sampled_links: Vec<String>) -> RunOutput {
    let mut run = duetime_results::RunRecords {
        sampled_links,
        ..Default::default()
    };
    let (mut finishes, mut ports, mut whole_ports, mut traces, mut captures) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut denials: FxHashMap<u64, (u32, u32)> = FxHashMap::default();
    let mut windows = Vec::new();
    let (mut notes, mut spare, mut servers) = (Vec::new(), Vec::new(), Vec::new());
    for mut part in parts {
        notes.append(&mut part.notes);
        spare.append(&mut part.spare);
        servers.append(&mut part.servers);
        windows.append(&mut part.windows);
        run.flows.append(&mut part.flows);
        run.queries.append(&mut part.queries);
        run.series.append(&mut part.series);
        finishes.append(&mut part.finishes);
        ports.append(&mut part.ports);
        whole_ports.append(&mut part.whole_ports);
        traces.append(&mut part.traces);
        captures.append(&mut part.captures);
        for (flow, (denied, inverted)) in part.denials {
            let sum = denials.entry(flow).or_default();
            sum.0 += denied;
            sum.1 += inverted;
        }
        let (sum, part) = (&mut run.totals, part.totals);
        sum.end = part.end;
        sum.packet_hops += part.packet_hops;
        sum.events += part.events;
        sum.injected_bytes += part.injected_bytes;
        sum.arrived_bytes += part.arrived_bytes;
        sum.dropped_bytes += part.dropped_bytes;
        sum.in_flight_bytes += part.in_flight_bytes;
    }
    run.flows.sort_unstable_by_key(|flow| flow.flow);
    run.queries.sort_unstable_by_key(|query| query.query);
    add_notes(&mut run.queries, notes);
    mark_unneeded(&mut run.flows, spare);
    run.series
        .sort_unstable_by_key(|sample| (sample.at, sample.link));
    finishes.sort_unstable_by_key(|finish: &Finish| finish.flow);
    let mut ends = finishes.iter().peekable();
    for flow in &mut run.flows {
        while let Some(finish) = ends.next_if(|finish| finish.flow <= flow.flow) {
            if finish.flow == flow.flow {
                flow.finish = Some(finish.at);
                flow.marks = finish.marks;
                flow.delivered_bytes = flow.size_bytes;
                // The flow was quenched too late: everything had arrived.
                flow.quenched = false;
            }
        }
        if let Some(&(denied, inverted)) = denials.get(&flow.flow) {
            (flow.denials, flow.inversions) = (denied, inverted);
        }
    }
    run.ports = by_link(ports);
    servers.sort_unstable_by_key(|(host, _)| *host);
    run.servers = servers.into_iter().map(|(_, servers)| servers).collect();
    traces.sort_by_key(|trace: &FlowTrace| trace.flow);
    captures.sort_by_key(|capture: &CapturedPacket| (capture.at, capture.link));
    windows.sort_by_key(|sample: &WindowSample| (sample.at, sample.flow));
    RunOutput {
        records: run,
        traces,
        captures,
        windows,
        whole_ports: by_link(whole_ports),
        ..RunOutput::default()
    }
}

/// Returns the records of ports in link order, with the records of each link merged: a crossing link has its queue in
/// one partition and its losses in another. Parallel links share a name, so the link index identifies them.
fn by_link(mut ports: Vec<(u32, PortRecord)>) -> Vec<PortRecord> {
    ports.sort_by_key(|(link, _)| *link);
    let mut joined: Vec<PortRecord> = Vec::with_capacity(ports.len());
    let mut last_link = None;
    for (link, port) in ports {
        match joined.last_mut() {
            Some(last) if last_link == Some(link) => {
                last.packets += port.packets;
                last.bytes += port.bytes;
                last.drops += port.drops;
                last.drop_bytes += port.drop_bytes;
                last.losses += port.losses;
                last.loss_bytes += port.loss_bytes;
                last.marks += port.marks;
                last.queue_max_bytes = last.queue_max_bytes.max(port.queue_max_bytes);
                last.queue_mean_bytes += port.queue_mean_bytes;
                last.utilisation += port.utilisation;
            }
            _ => joined.push(port),
        }
        last_link = Some(link);
    }
    joined
}
