//! What a partition writes down, and how the partitions' notes become the records of the run.

use super::Partition;
use crate::packet::{D3, Extra, Packet, REVERSE};
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer};
use duetime_proto::{d3, tcp};
use duetime_results::{CapturedPacket, FlowEvent, FlowEventKind, FlowRecord, PortRecord, QueryRecord, SeriesSample, Totals};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

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

/// What one partition wrote down.
#[derive(Default)]
pub struct PartRecords {
    /// Flows handed over here; what the receiver knows is missing.
    pub flows: Vec<FlowRecord>,
    /// Flows that ended here.
    pub finishes: Vec<Finish>,
    /// Denials and inversions at routers here, by flow.
    pub denials: FxHashMap<u64, (u32, u32)>,
    /// Queries rooted here.
    pub queries: Vec<QueryRecord>,
    /// Ports of nodes here, by link.
    pub ports: Vec<(u32, PortRecord)>,
    /// Samples taken here.
    pub series: Vec<SeriesSample>,
    /// Counts.
    pub totals: Totals,
    /// Events of the traced flow.
    pub events: Vec<FlowEvent>,
    /// Captured packets.
    pub captures: Vec<CapturedPacket>,
}

impl PartRecords {
    pub(super) fn add_tcp(&mut self, record: u32, cost: tcp::Counters) {
        let flow = &mut self.flows[record as usize];
        flow.timeouts += cost.timeouts;
        flow.retransmits += cost.retransmits;
    }

    pub(super) fn add_d3(&mut self, record: u32, machine: &d3::Sender) {
        let flow = &mut self.flows[record as usize];
        let counters = machine.counters();
        flow.timeouts = counters.timeouts;
        flow.retransmits = counters.retransmits;
        flow.requests = counters.requests;
        flow.delivered_bytes = machine.acked().min(flow.size_bytes);
    }
}

/// What is watched packet by packet, when a flow is traced or a link captured.
#[derive(Default)]
pub struct Observed {
    /// Hash of the connection that is traced.
    pub hash: Option<u32>,
    /// Links captured.
    pub taps: Vec<u32>,
    /// Bytes kept of each captured packet.
    pub snap_length: u32,
    /// Per link: when the traced flow's waiting packets came to its port.
    waiting: FxHashMap<u32, VecDeque<Time>>,
}

impl Observed {
    /// Watches one connection and some links.
    pub fn new(hash: Option<u32>, taps: Vec<u32>, snap_length: u32) -> Self {
        Self { hash, taps, snap_length, waiting: FxHashMap::default() }
    }
}

impl Partition {
    /// Notes an event of the flow whose packets carry `hash`, if it is traced.
    #[inline]
    pub(super) fn observe(&mut self, hash: u32, what: FlowEventKind) {
        if let Some(observed) = &self.observed
            && observed.hash == Some(hash)
        {
            self.records.events.push(FlowEvent { at: self.now, what });
        }
    }

    #[cold]
    pub(super) fn observe_offer(&mut self, link: u32, packet: Packet, offer: Offer, marks_before: u64) {
        let marked = self.ports[link as usize].counters().marks > marks_before;
        if marked {
            self.observe(packet.flow, FlowEventKind::Marked { link });
        }
        if matches!(offer, Offer::Dropped) {
            return self.observe(packet.flow, FlowEventKind::Dropped { link });
        }
        if let Some(observed) = &mut self.observed
            && observed.hash == Some(packet.flow)
        {
            observed.waiting.entry(link).or_default().push_back(self.now);
        }
    }

    /// A packet has crossed `link`: its departure is one latency ago.
    #[cold]
    pub(super) fn observe_arrival(&mut self, link: u32, packet: Packet) {
        let wire = &self.setup.network.links[link as usize];
        let departed = self.now - wire.latency;
        let source = self.source_of(&packet);
        let Some(observed) = &mut self.observed else { return };
        if observed.taps.contains(&link) {
            let extra = self.extras.get(packet.extra as usize);
            // Framing is not part of the IP packet.
            let original_bytes = packet.wire_bytes() - u32::from(self.setup.frame_overhead);
            let ends = (source, packet.destination());
            let bytes = crate::capture::ip_packet(&packet, original_bytes, extra, ends, observed.snap_length);
            self.records.captures.push(CapturedPacket { link, at: departed, original_bytes, bytes });
        }
        let Some(observed) = &mut self.observed else { return };
        if observed.hash != Some(packet.flow) {
            return;
        }
        let sending = wire.rate.transmit_cost().of(packet.wire_bytes());
        let came = observed.waiting.get_mut(&link).and_then(VecDeque::pop_front);
        let waited = came.map_or(Span::ZERO, |came| departed.since(came).saturating_sub(sending));
        let (seq, len) = position(&packet, self.extras.get(packet.extra as usize), self.setup.frame_overhead);
        let what = FlowEventKind::Departed { link, seq, len, waited, sending };
        self.records.events.push(FlowEvent { at: departed, what });
    }

    /// The host that sent a packet, as far as its destination's endpoint knows.
    fn source_of(&self, packet: &Packet) -> u32 {
        match (self.extras.get(packet.extra as usize), packet.flags() & (D3 | REVERSE)) {
            (Some(Extra::D3 { flow, .. }), D3) => (flow >> 32) as u32,
            (Some(Extra::Syn { message, .. } | Extra::Last { message }), _) => message.source,
            (_, 0) => self.tcp_source(packet.endpoint),
            (_, REVERSE) => self.tcp_destination(packet.endpoint),
            _ => self.d3_destination(packet.endpoint),
        }
    }

    pub(super) fn observe_d3_sent(&mut self, hash: u32, extra: &Extra) {
        let Extra::D3 { packet, .. } = extra else { return };
        let retransmit = packet.flags.contains(d3::Flags::RETRANSMIT);
        self.observe(hash, FlowEventKind::Sent { seq: packet.seq, len: packet.len, retransmit });
        if let Some(request) = &packet.request {
            let desired_bps = request.desired.to_rate(request.scale).as_bps();
            self.observe(hash, FlowEventKind::RequestSent { desired_bps });
        }
    }

    /// Closes the books of this partition at `end`.
    pub fn finish(mut self, end: Time) -> PartRecords {
        self.now = end;
        self.account_open_tcp();
        self.account_open_d3();
        let mut records = std::mem::take(&mut self.records);
        records.queries = self.workloads.take_queries();
        self.totals.in_flight_bytes = self.bytes_in_flight();
        self.totals.end = end;
        // Every packet-hop is one event; the loop counts the others.
        self.totals.events += self.totals.packet_hops;
        records.totals = self.totals;
        records.series = self.series.take();
        let seconds = end.as_secs_f64().max(f64::MIN_POSITIVE);
        for (number, port) in self.ports.iter_mut().enumerate() {
            port.drain(end);
            let link = number as u32;
            let (losses, loss_bytes) = self.losses.get(&link).copied().unwrap_or_default();
            let (counters, info) = (port.counters(), &self.setup.network.links[number]);
            if counters.packets == 0 && counters.drops == 0 && losses == 0 {
                continue;
            }
            let sent = port.departed_bytes();
            let record = PortRecord {
                link: self.setup.network.link_name(link),
                packets: counters.packets - u64::from(port.queue_packets()),
                bytes: sent,
                drops: counters.drops,
                drop_bytes: counters.drop_bytes,
                losses,
                loss_bytes,
                marks: counters.marks,
                queue_max_bytes: counters.queue_max_bytes,
                queue_mean_bytes: port.queue_integral(end) as f64 * 1024e-12 / seconds,
                utilisation: info.rate.transmit(sent).as_secs_f64() / seconds,
            };
            records.ports.push((link, record));
        }
        records
    }
}

/// Position and payload of a packet in its stream.
fn position(packet: &Packet, extra: Option<&Extra>, overhead: u16) -> (u64, u32) {
    if packet.flags() & D3 != 0 {
        if let Some(Extra::D3 { packet, .. }) = extra {
            return (packet.seq, packet.len);
        }
    }
    let len = if packet.flags() & REVERSE != 0 { 0 } else { packet.wire_bytes() - u32::from(overhead) - super::tcp::HEADER_BYTES };
    (u64::from(packet.seq), len)
}

/// Joins what the partitions wrote down into the records of the run.
pub fn merge(parts: Vec<PartRecords>, sampled_links: Vec<String>) -> (duetime_results::RunRecords, Vec<FlowEvent>, Vec<CapturedPacket>) {
    let mut run = duetime_results::RunRecords { sampled_links, ..Default::default() };
    let (mut finishes, mut ports, mut events, mut captures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut denials: FxHashMap<u64, (u32, u32)> = FxHashMap::default();
    for mut part in parts {
        run.flows.append(&mut part.flows);
        run.queries.append(&mut part.queries);
        run.series.append(&mut part.series);
        finishes.append(&mut part.finishes);
        ports.append(&mut part.ports);
        events.append(&mut part.events);
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
    run.series.sort_unstable_by_key(|sample| (sample.at, sample.link));
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
    // A crossing link has its queue in one partition and its losses in another. Parallel links have one name.
    ports.sort_by_key(|(link, _)| *link);
    let mut last_link = None;
    for (link, port) in ports {
        match run.ports.last_mut() {
            Some(last) if last_link == Some(link) => {
                let (losses, loss_bytes) = (last.losses + port.losses, last.loss_bytes + port.loss_bytes);
                if port.packets > 0 {
                    *last = port;
                }
                (last.losses, last.loss_bytes) = (losses, loss_bytes);
            }
            _ => run.ports.push(port),
        }
        last_link = Some(link);
    }
    events.sort_by_key(|event: &FlowEvent| event.at);
    captures.sort_by_key(|capture: &CapturedPacket| (capture.at, capture.link));
    (run, events, captures)
}

