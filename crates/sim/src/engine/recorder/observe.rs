//! What is watched packet by packet: flows, and captured links. A watched run is one partition.

use super::Recorder;
use crate::engine::context::Context;
use crate::engine::endpoint::{decode, flow_hash};
use crate::options::{Keep, Watch};
use crate::packet::Packet;
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_results::{CapturedPacket, FlowEvent, FlowEventKind, FlowTrace, TreeNode};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What is watched, and what has to be remembered for it.
pub struct Observed {
    watch: Watch,
    keep: Keep,
    /// The watched flows that were submitted, each with the hash of its connection.
    traces: Vec<(FlowTrace, u32)>,
    /// Index into `traces`, by flow.
    by_flow: FxHashMap<u64, usize>,
    /// Indices into `traces`, by hash of the connection: flows of a long-lived one may overlap.
    by_connection: FxHashMap<u32, Vec<usize>>,
    /// Links captured.
    taps: Vec<u32>,
    /// Bytes kept of each captured packet.
    snap_length: u32,
    /// Packets that have not crossed a link, by link and connection.
    waiting: FxHashMap<(u32, u32), VecDeque<Waiting>>,
    /// Who sends the packets of a connection, either way.
    sources: FxHashMap<(u32, bool), u32>,
}

/// Packet that was offered to a port.
struct Waiting {
    packet: Packet,
    /// Time of the offer.
    came: Time,
    /// Random delay of a host's packet (`send_jitter`).
    delayed: Span,
}

impl Observed {
    /// Watches some flows and some links.
    pub fn new((watch, keep): (Watch, Keep), taps: Vec<u32>, snap_length: u32) -> Self {
        Self {
            watch,
            keep,
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
            Watch::Flows(flows) | Watch::Deliveries(flows) => flows.contains(&message.flow),
            Watch::Query(query) => message.query == Some(*query),
        }
    }

    pub(super) fn record(&mut self, hash: u32, at: Time, what: FlowEventKind) {
        if !self.keep.holds(&what) {
            return;
        }
        for &index in self.by_connection.get(&hash).into_iter().flatten() {
            self.traces[index].0.events.push(FlowEvent { at, what });
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

impl Recorder {
    /// A message is submitted that belongs to this node of a tree.
    pub fn observe_submission(
        &mut self,
        message: &Message,
        at: Time,
        node: impl FnOnce() -> Option<TreeNode>,
    ) {
        let Some(observed) = &mut self.observed else {
            return;
        };
        if !observed.watches(message) {
            return;
        }
        let index = observed.traces.len();
        let trace = FlowTrace {
            flow: message.flow,
            node: node(),
            events: vec![FlowEvent {
                at,
                what: FlowEventKind::Submitted,
            }],
        };
        let hash = flow_hash(message.flow);
        observed.traces.push((trace, hash));
        observed.by_flow.insert(message.flow, index);
        observed.connect(index, hash);
    }

    /// The last byte of a flow was delivered.
    pub(super) fn observe_end(&mut self, flow: u64, at: Time) {
        let Some(observed) = &mut self.observed else {
            return;
        };
        let Some(&index) = observed.by_flow.get(&flow) else {
            return;
        };
        observed.traces[index].0.events.push(FlowEvent {
            at,
            what: FlowEventKind::Finished,
        });
        // A long-lived connection of a query may carry many others.
        if matches!(observed.watch, Watch::Query(_) | Watch::Deliveries(_)) {
            observed.disconnect(index);
        }
    }

    /// The packets of `flow` carry `hash`: those of a long-lived connection carry that of its first flow.
    pub fn observe_connection(&mut self, flow: u64, hash: u32) {
        if let Some(observed) = &mut self.observed
            && let Some(&index) = observed.by_flow.get(&flow)
        {
            observed.connect(index, hash);
        }
    }
}

impl Context {
    /// Handles the offer of a packet to the port of `link`, which may mark it. A host's packet leaves later by `delayed`.
    #[cold]
    pub fn observe_offer(&mut self, link: u32, packet: Packet, marked: bool, delayed: Span) {
        if marked {
            self.observe(packet.flow, FlowEventKind::Marked { link });
        }
        let network = &self.setup.network;
        let from = network.nodes[network.links[link as usize].from as usize].host;
        let Some(observed) = &mut self.recorder.observed else {
            return;
        };
        if let Some(host) = from {
            observed.sources.insert(direction(&packet), host);
        }
        if observed.by_connection.contains_key(&packet.flow) {
            observed
                .waiting
                .entry((link, packet.flow))
                .or_default()
                .push_back(Waiting {
                    packet,
                    came: self.events.now,
                    delayed,
                });
        }
    }

    /// Handles the departure of a packet that has waited at the port of `link` and leaves later by `delayed`.
    #[cold]
    pub fn observe_delay(&mut self, link: u32, packet: &Packet, delayed: Span) {
        if let Some(observed) = &mut self.recorder.observed
            && let Some(waiting) = observed.waiting.get_mut(&(link, packet.flow))
            && let Some(offer) = (waiting.iter_mut()).find(|offer| same(&offer.packet, packet))
        {
            offer.delayed = delayed;
        }
    }

    /// The port of `link` drops a packet, which has been offered to it.
    #[cold]
    pub fn observe_drop(&mut self, link: u32, packet: &Packet) {
        if let Some(observed) = &mut self.recorder.observed
            && let Some(waiting) = observed.waiting.get_mut(&(link, packet.flow))
            && let Some(place) = waiting
                .iter()
                .rposition(|other| same(&other.packet, packet))
        {
            waiting.remove(place);
        }
        self.observe(packet.flow, FlowEventKind::Dropped { link });
    }

    /// A packet has crossed `link` and reached its far end at `arrival`, so it left one latency before; or it was lost on
    /// the way.
    #[cold]
    pub fn observe_crossing(&mut self, link: u32, packet: Packet, arrival: Time, lost: bool) {
        let wire = &self.setup.network.links[link as usize];
        let departed = arrival - wire.latency;
        let sending = wire.rate.transmit_cost().of(packet.wire_bytes());
        let extra = self.extras.get(packet.extra as usize);
        let decoded = decode(&packet, extra, self.frame_overhead);
        let Some(observed) = &mut self.recorder.observed else {
            return;
        };
        if observed.taps.contains(&link) {
            let source = observed
                .sources
                .get(&direction(&packet))
                .copied()
                .unwrap_or_default();
            // Framing is not part of the IP packet.
            let ip = packet.without_framing(self.frame_overhead);
            let bytes = crate::capture::ip_packet(&ip, &decoded, source, observed.snap_length);
            let original_bytes = ip.wire_bytes();
            self.recorder.records.captures.push(CapturedPacket {
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
            .and_then(|waiting| waiting.pop_front_if(|first| same(&first.packet, &packet)));
        if lost {
            return self.observe(packet.flow, FlowEventKind::Lost { link });
        }
        let [waited, delayed] = came.map_or([Span::ZERO; 2], |offer| {
            let waited = departed.since(offer.came).saturating_sub(sending);
            [waited, offer.delayed]
        });
        let what = FlowEventKind::Departed {
            link,
            reverse: packet.is_reverse(),
            seq: decoded.seq,
            len: decoded.len,
            waited,
            delayed,
            sending,
            latency: wire.latency,
        };
        self.recorder.observe(departed, packet.flow, what);
    }
}

impl Context {
    /// The transport of `host` gets a packet which the host has held for so long.
    pub fn observe_reception(&mut self, host: u32, packet: Packet, held: Span) {
        if self.recorder.observed.is_none() {
            return;
        }
        let extra = self.extras.get(packet.extra as usize);
        let decoded = decode(&packet, extra, self.frame_overhead);
        let what = FlowEventKind::Received {
            host,
            seq: decoded.seq,
            len: decoded.len,
            held,
        };
        self.observe(packet.flow, what);
    }
}

/// A connection and one of its two directions.
fn direction(packet: &Packet) -> (u32, bool) {
    (packet.flow, packet.is_reverse())
}

/// Whether two packets of a connection are one: a port may have marked it since.
fn same(a: &Packet, b: &Packet) -> bool {
    (a.seq, a.wire_bytes(), direction(a)) == (b.seq, b.wire_bytes(), direction(b))
}
