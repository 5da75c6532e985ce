//! Packet-by-packet traces of watched flows and captured links. A watched run has one partition.

use super::Recorder;
use crate::engine::extras::Extras;
use crate::options::{Keep, Watch};
use crate::packet::{Packet, flow_hash};
use crate::setup::Setup;
use crate::topology::Network;
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_results::{CapturedPacket, FlowEvent, FlowEventKind, FlowTrace, TreeNode};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// State of the watched flows and links.
pub struct Observed {
    watch: Watch,
    keep: Keep,
    /// Watched flows that were submitted, each with the hash of its connection.
    traces: Vec<(FlowTrace, u32)>,
    /// Indices into `traces` by flow.
    by_flow: FxHashMap<u64, usize>,
    /// Indices into `traces` by connection hash. Flows of a persistent connection may overlap.
    by_connection: FxHashMap<u32, Vec<usize>>,
    /// Captured links.
    taps: Vec<u32>,
    /// Number of bytes kept of each captured packet.
    snap_length: u32,
    /// Packets that have not crossed their link, by link and connection.
    waiting: FxHashMap<(u32, u32), VecDeque<Waiting>>,
    /// Host that sends the packets of a connection, by direction.
    sources: FxHashMap<(u32, bool), u32>,
}

/// Packet that was offered to a port.
struct Waiting {
    packet: Packet,
    /// Time of the offer.
    offered_at: Time,
    /// Random delay of a host's packet (`send_jitter`).
    delayed: Span,
}

impl Observed {
    /// Creates the state for the flows of `watch` and the links of `taps`.
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

    /// Returns the traces of the watched flows, sorted by time.
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

    pub(super) fn record(&mut self, hash: u32, at: Time, kind: FlowEventKind) {
        if !self.keep.holds(&kind) {
            return;
        }
        for &index in self.by_connection.get(&hash).into_iter().flatten() {
            let event = FlowEvent { at, what: kind };
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

impl Recorder {
    /// Starts the trace of a submitted message if it is watched. `node` returns the tree node that the message belongs
    /// to.
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

    /// Records the delivery of a flow's last byte.
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
        // A persistent connection may carry many other flows after this one.
        if matches!(observed.watch, Watch::Query(_) | Watch::Deliveries(_)) {
            observed.disconnect(index);
        }
    }

    /// Notes that the packets of `flow` carry `hash`. On a persistent connection this is the hash of the first flow.
    pub fn observe_connection(&mut self, flow: u64, hash: u32) {
        if let Some(observed) = &mut self.observed
            && let Some(&index) = observed.by_flow.get(&flow)
        {
            observed.connect(index, hash);
        }
    }

    /// Handles the offer of a packet to the port of `link` at `now`. The port may have marked the packet, and a host's
    /// packet leaves later by `delayed`.
    #[cold]
    pub fn observe_offer(
        &mut self,
        network: &Network,
        now: Time,
        (link, packet): (u32, Packet),
        marked: bool,
        delayed: Span,
    ) {
        if marked {
            self.observe(now, packet.flow, FlowEventKind::Marked { link });
        }
        let from = network.nodes[network.links[link as usize].from as usize].host;
        let Some(observed) = &mut self.observed else {
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
                    offered_at: now,
                    delayed,
                });
        }
    }

    /// Handles the departure of a packet that has waited at the port of `link` and leaves later by `delayed`.
    #[cold]
    pub fn observe_delay(&mut self, link: u32, packet: &Packet, delayed: Span) {
        if let Some(observed) = &mut self.observed
            && let Some(waiting) = observed.waiting.get_mut(&(link, packet.flow))
            && let Some(offer) = (waiting.iter_mut()).find(|offer| is_same(&offer.packet, packet))
        {
            offer.delayed = delayed;
        }
    }

    /// Records that the port of `link` drops, at `now`, a packet that was offered to it.
    #[cold]
    pub fn observe_drop(&mut self, now: Time, link: u32, packet: &Packet) {
        if let Some(observed) = &mut self.observed
            && let Some(waiting) = observed.waiting.get_mut(&(link, packet.flow))
            && let Some(index) = waiting
                .iter()
                .rposition(|other| is_same(&other.packet, packet))
        {
            waiting.remove(index);
        }
        self.observe(now, packet.flow, FlowEventKind::Dropped { link });
    }

    /// Records that a packet crossed `link` and reaches its far end at `arrival`, one latency after its departure, or
    /// that it was lost on the link.
    #[cold]
    pub fn observe_crossing(
        &mut self,
        now: Time,
        setup: &Setup,
        extras: &Extras,
        (link, packet): (u32, Packet),
        (arrival, lost): (Time, bool),
    ) {
        let wire = &setup.network.links[link as usize];
        let departed = arrival - wire.latency;
        let sending = wire.rate.transmit_cost().of(packet.wire_bytes());
        let decoded = extras.decode(&packet, setup.frame_overhead);
        let Some(observed) = &mut self.observed else {
            return;
        };
        if observed.taps.contains(&link) {
            let source = observed
                .sources
                .get(&direction(&packet))
                .copied()
                .unwrap_or_default();
            // Framing is not part of the IP packet.
            let ip = packet.without_framing(setup.frame_overhead);
            let bytes = crate::capture::ip_packet(&ip, &decoded, source, observed.snap_length);
            let original_bytes = ip.wire_bytes();
            self.records.captures.push(CapturedPacket {
                link,
                at: departed,
                original_bytes,
                bytes,
            });
        }
        // A packet offered before its connection was watched has no entry.
        let offer = observed
            .waiting
            .get_mut(&(link, packet.flow))
            .and_then(|waiting| waiting.pop_front_if(|first| is_same(&first.packet, &packet)));
        if lost {
            return self.observe(now, packet.flow, FlowEventKind::Lost { link });
        }
        let [waited, delayed] = offer.map_or([Span::ZERO; 2], |offer| {
            let waited = departed.since(offer.offered_at).saturating_sub(sending);
            [waited, offer.delayed]
        });
        let kind = FlowEventKind::Departed {
            link,
            reverse: packet.is_reverse(),
            seq: decoded.seq,
            len: decoded.len,
            waited,
            delayed,
            sending,
            latency: wire.latency,
        };
        self.observe(departed, packet.flow, kind);
    }

    /// Records that the transport of `host` receives a packet at `now`, after the host has held it for `held`.
    pub fn observe_reception(
        &mut self,
        now: Time,
        setup: &Setup,
        extras: &Extras,
        (host, packet): (u32, Packet),
        held: Span,
    ) {
        if self.observed.is_none() {
            return;
        }
        let decoded = extras.decode(&packet, setup.frame_overhead);
        let kind = FlowEventKind::Received {
            host,
            seq: decoded.seq,
            len: decoded.len,
            held,
        };
        self.observe(now, packet.flow, kind);
    }
}

/// Returns a packet's connection and direction.
fn direction(packet: &Packet) -> (u32, bool) {
    (packet.flow, packet.is_reverse())
}

/// Returns true if both are the same packet of a connection. Marks are ignored, because a port may have added one.
fn is_same(a: &Packet, b: &Packet) -> bool {
    (a.seq, a.wire_bytes(), direction(a)) == (b.seq, b.wire_bytes(), direction(b))
}
