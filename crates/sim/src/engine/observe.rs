//! What is watched packet by packet: flows, and captured links. A watched run is one partition.

use super::{Partition, flow_hash};
use crate::packet::{Extra, Packet, REVERSE};
use crate::run::Watch;
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer};
use duetime_proto::d3;
use duetime_results::{CapturedPacket, FlowEvent, FlowEventKind, FlowTrace};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What is watched, and what has to be remembered for it.
pub struct Observed {
    watch: Watch,
    /// The watched flows that were handed over, each with the hash of its connection.
    traces: Vec<(FlowTrace, u32)>,
    /// Index into `traces`, by flow.
    by_flow: FxHashMap<u64, usize>,
    /// Indices into `traces`, by hash of the connection: flows of a long-lived one may overlap.
    by_connection: FxHashMap<u32, Vec<usize>>,
    /// Links captured.
    taps: Vec<u32>,
    /// Bytes kept of each captured packet.
    snap_length: u32,
    /// By link and connection: the packets that have not crossed the link, with the time that each came to its port.
    waiting: FxHashMap<(u32, u32), VecDeque<(Packet, Time)>>,
    /// Who sends the packets of a connection, either way.
    sources: FxHashMap<(u32, bool), u32>,
}

impl Observed {
    /// Watches some flows and some links.
    pub fn new(watch: Watch, taps: Vec<u32>, snap_length: u32) -> Self {
        Self {
            watch,
            traces: Vec::new(),
            by_flow: FxHashMap::default(),
            by_connection: FxHashMap::default(),
            taps,
            snap_length,
            waiting: FxHashMap::default(),
            sources: FxHashMap::default(),
        }
    }

    /// What the watched flows did.
    pub fn into_traces(self) -> Vec<FlowTrace> {
        let traces = self.traces.into_iter().map(|(mut trace, _)| {
            trace.events.sort_by_key(|event| event.at);
            trace
        });
        traces.collect()
    }

    fn watches(&self, message: &Message) -> bool {
        match &self.watch {
            Watch::Nothing => false,
            Watch::Flows(flows) => flows.contains(&message.flow),
            Watch::Query(query) => message.query == Some(*query),
        }
    }

    fn note(&mut self, hash: u32, event: FlowEvent) {
        for &index in self.by_connection.get(&hash).into_iter().flatten() {
            self.traces[index].0.events.push(event);
        }
    }

    fn connect(&mut self, index: usize, hash: u32) {
        self.disconnect(index);
        self.traces[index].1 = hash;
        self.by_connection.entry(hash).or_default().push(index);
    }

    fn disconnect(&mut self, index: usize) {
        if let Some(indices) = self.by_connection.get_mut(&self.traces[index].1) {
            indices.retain(|&other| other != index);
            if indices.is_empty() {
                self.by_connection.remove(&self.traces[index].1);
            }
        }
    }
}

impl Partition {
    /// Notes an event of the connection whose packets carry `hash`, if it is watched.
    #[inline]
    pub(super) fn observe(&mut self, hash: u32, what: FlowEventKind) {
        if let Some(observed) = &mut self.observed {
            observed.note(hash, FlowEvent { at: self.now, what });
        }
    }

    /// A message is handed over.
    pub(super) fn observe_hand_over(&mut self, message: &Message) {
        let Some(observed) = &mut self.observed else {
            return;
        };
        if !observed.watches(message) {
            return;
        }
        let index = observed.traces.len();
        let trace = FlowTrace {
            flow: message.flow,
            node: self.workloads.tree_node(message),
            events: vec![FlowEvent {
                at: self.now,
                what: FlowEventKind::Submitted,
            }],
        };
        let hash = flow_hash(message.flow);
        observed.traces.push((trace, hash));
        observed.by_flow.insert(message.flow, index);
        observed.connect(index, hash);
    }

    /// The last byte of a flow was delivered.
    pub(super) fn observe_end(&mut self, flow: u64) {
        let Some(observed) = &mut self.observed else {
            return;
        };
        let Some(&index) = observed.by_flow.get(&flow) else {
            return;
        };
        observed.traces[index].0.events.push(FlowEvent {
            at: self.now,
            what: FlowEventKind::Finished,
        });
        // A long-lived connection of a query may carry many others.
        if matches!(observed.watch, Watch::Query(_)) {
            observed.disconnect(index);
        }
    }

    /// The packets of `flow` carry `hash`: those of a long-lived connection carry that of its first flow.
    pub(super) fn observe_connection(&mut self, flow: u64, hash: u32) {
        if let Some(observed) = &mut self.observed
            && let Some(&index) = observed.by_flow.get(&flow)
        {
            observed.connect(index, hash);
        }
    }

    /// A packet is offered to the port of `link`.
    #[cold]
    pub(super) fn observe_offer(
        &mut self,
        link: u32,
        packet: Packet,
        offer: Offer,
        marks_before: u64,
    ) {
        if self.ports[link as usize].counters().marks > marks_before {
            self.observe(packet.flow, FlowEventKind::Marked { link });
        }
        let network = &self.setup.network;
        let from = network.nodes[network.links[link as usize].from as usize].host;
        let Some(observed) = &mut self.observed else {
            return;
        };
        if let Some(host) = from {
            observed.sources.insert(direction(&packet), host);
        }
        if matches!(offer, Offer::Dropped) {
            return self.observe(packet.flow, FlowEventKind::Dropped { link });
        }
        if observed.by_connection.contains_key(&packet.flow) {
            observed
                .waiting
                .entry((link, packet.flow))
                .or_default()
                .push_back((packet, self.now));
        }
    }

    /// A packet has crossed `link`, so it left one latency ago; and it was lost on the way, or arrives.
    #[cold]
    pub(super) fn observe_crossing(&mut self, link: u32, packet: Packet, lost: bool) {
        let wire = &self.setup.network.links[link as usize];
        let departed = self.now - wire.latency;
        let sending = wire.rate.transmit_cost().of(packet.wire_bytes());
        let (seq, len) = self.position(&packet);
        let Some(observed) = &mut self.observed else {
            return;
        };
        let extra = self.extras.get(packet.extra as usize);
        if observed.taps.contains(&link) {
            let source = observed
                .sources
                .get(&direction(&packet))
                .copied()
                .unwrap_or_default();
            // Framing is not part of the IP packet.
            let ip = packet.without_framing(self.frame_overhead);
            let bytes = crate::capture::ip_packet(&ip, extra, source, observed.snap_length);
            let original_bytes = ip.wire_bytes();
            self.records.captures.push(CapturedPacket {
                link,
                at: departed,
                original_bytes,
                bytes,
            });
        }
        // What came to the port before its connection was watched is not there.
        let came = observed
            .waiting
            .get_mut(&(link, packet.flow))
            .and_then(|waiting| waiting.pop_front_if(|(first, _)| same(first, &packet)));
        if lost {
            return self.observe(packet.flow, FlowEventKind::Lost { link });
        }
        let waited = came.map_or(Span::ZERO, |(_, came)| {
            departed.since(came).saturating_sub(sending)
        });
        let what = FlowEventKind::Departed {
            link,
            seq,
            len,
            waited,
            sending,
        };
        if let Some(observed) = &mut self.observed {
            observed.note(packet.flow, FlowEvent { at: departed, what });
        }
    }

    /// Position and payload of a packet in its stream.
    fn position(&self, packet: &Packet) -> (u64, u32) {
        if let Some(Extra::D3 { packet, .. }) = self.extras.get(packet.extra as usize) {
            return (packet.seq, packet.len);
        }
        let reverse = packet.flags() & REVERSE != 0;
        let headers = u32::from(self.setup.frame_overhead) + super::tcp::HEADER_BYTES;
        (
            u64::from(packet.seq),
            if reverse {
                0
            } else {
                packet.wire_bytes() - headers
            },
        )
    }

    pub(super) fn observe_d3_sent(&mut self, hash: u32, extra: &Extra) {
        let Extra::D3 { packet, .. } = extra else {
            return;
        };
        let retransmit = packet.flags.contains(d3::Flags::RETRANSMIT);
        self.observe(
            hash,
            FlowEventKind::Sent {
                seq: packet.seq,
                len: packet.len,
                retransmit,
            },
        );
        if let Some(request) = &packet.request {
            let desired_bps = request.desired.to_rate(request.scale).as_bps();
            self.observe(hash, FlowEventKind::RequestSent { desired_bps });
        }
    }
}

/// A connection and one of its two directions.
fn direction(packet: &Packet) -> (u32, bool) {
    (packet.flow, packet.flags() & REVERSE != 0)
}

/// Whether two packets of a connection are one: a port may have marked it since.
fn same(a: &Packet, b: &Packet) -> bool {
    (a.seq, a.wire_bytes(), direction(a)) == (b.seq, b.wire_bytes(), direction(b))
}
