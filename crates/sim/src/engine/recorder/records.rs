//! What a partition leaves behind, and how the partitions' records become those of the run.

use crate::output::{AllocatorState, RunOutput, WindowSample};
use crate::workload::{Note, add_notes, mark_spare};
use duetime_core::Time;
use duetime_results::{
    CapturedPacket, FlowRecord, FlowTrace, PortRecord, QueryRecord, SeriesSample, ServerRecord,
    Totals,
};
use rustc_hash::FxHashMap;

/// A flow's end, as its receiver saw it.
#[derive(Clone, Copy, Debug)]
pub struct Finish {
    /// Which flow.
    pub flow: u64,
    /// Delivery of its last byte.
    pub at: Time,
    /// Data segments that came with CE.
    pub marks: u32,
}

/// What one partition leaves behind.
#[derive(Default)]
pub struct PartRecords {
    /// Flows submitted here; what the receiver knows is missing.
    pub flows: Vec<FlowRecord>,
    /// Flows that ended here.
    pub finishes: Vec<Finish>,
    /// Denials and inversions at routers here, by flow.
    pub denials: FxHashMap<u64, (u32, u32)>,
    /// Queries rooted here.
    pub queries: Vec<QueryRecord>,
    /// What happened to queries here, away from their roots.
    pub notes: Vec<(u64, Note)>,
    /// Answers that came here for nothing, by flow.
    pub spare: Vec<u64>,
    /// Ports of nodes here, by link, over the measurement window.
    pub ports: Vec<(u32, PortRecord)>,
    /// The same over the whole run.
    pub whole_ports: Vec<(u32, PortRecord)>,
    /// Use of the servers of hosts here, by host.
    pub servers: Vec<(u32, ServerRecord)>,
    /// Samples taken here.
    pub series: Vec<SeriesSample>,
    /// What D3's routers here held at the end, by link.
    pub allocators: Vec<(u32, AllocatorState)>,
    /// Samples of TCP windows taken here.
    pub windows: Vec<WindowSample>,
    /// Counts.
    pub totals: Totals,
    /// Watched flows.
    pub traces: Vec<FlowTrace>,
    /// Captured packets.
    pub captures: Vec<CapturedPacket>,
}

/// Joins the partitions' records into those of the run.
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
        let (sum, own) = (&mut run.totals, part.totals);
        sum.end = own.end;
        sum.packet_hops += own.packet_hops;
        sum.events += own.events;
        sum.injected_bytes += own.injected_bytes;
        sum.arrived_bytes += own.arrived_bytes;
        sum.dropped_bytes += own.dropped_bytes;
        sum.in_flight_bytes += own.in_flight_bytes;
    }
    run.flows.sort_unstable_by_key(|flow| flow.flow);
    run.queries.sort_unstable_by_key(|query| query.query);
    add_notes(&mut run.queries, notes);
    mark_spare(&mut run.flows, spare);
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
                // Given up too late: everything had arrived.
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

/// The records of ports in the order of their links. A crossing link has its queue in one partition and its losses in
/// another. Parallel links have one name.
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
