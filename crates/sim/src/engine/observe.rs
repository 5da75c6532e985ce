//! What is watched packet by packet: one traced flow, and captured links. A watched run is one partition.

use super::{Partition, flow_hash};
use crate::packet::{Extra, Packet, REVERSE};
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer};
use duetime_proto::d3;
use duetime_results::{CapturedPacket, FlowEvent, FlowEventKind};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What is watched, and what has to be remembered for it.
pub struct Observed {
    /// The flow that is traced.
    flow: Option<u64>,
    /// Hash of its connection, which an earlier flow may have opened.
    connection: Option<u32>,
    /// Links captured.
    taps: Vec<u32>,
    /// Bytes kept of each captured packet.
    snap_length: u32,
    /// Per link: when the packets of the traced connection that have not crossed it came to its port.
    waiting: FxHashMap<u32, VecDeque<Time>>,
    /// Who sends the packets of a connection, either way.
    sources: FxHashMap<(u32, bool), u32>,
}

impl Observed {
    /// Watches one flow and some links.
    pub fn new(flow: Option<u64>, taps: Vec<u32>, snap_length: u32) -> Self {
        Self {
            flow,
            connection: flow.map(flow_hash),
            taps,
            snap_length,
            waiting: FxHashMap::default(),
            sources: FxHashMap::default(),
        }
    }
}

impl Partition {
    /// Notes an event of the connection whose packets carry `hash`, if it is traced.
    #[inline]
    pub(super) fn observe(&mut self, hash: u32, what: FlowEventKind) {
        if self
            .observed
            .as_ref()
            .is_some_and(|observed| observed.connection == Some(hash))
        {
            self.records.events.push(FlowEvent { at: self.now, what });
        }
    }

    /// Notes an event of a flow itself, if it is traced.
    pub(super) fn observe_flow(&mut self, flow: u64, what: FlowEventKind) {
        if self
            .observed
            .as_ref()
            .is_some_and(|observed| observed.flow == Some(flow))
        {
            self.records.events.push(FlowEvent { at: self.now, what });
        }
    }

    /// The packets of `flow` carry `hash`: those of a long-lived connection carry that of its first flow.
    pub(super) fn observe_connection(&mut self, flow: u64, hash: u32) {
        if let Some(observed) = &mut self.observed
            && observed.flow == Some(flow)
        {
            observed.connection = Some(hash);
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
        if observed.connection == Some(packet.flow) {
            observed
                .waiting
                .entry(link)
                .or_default()
                .push_back(self.now);
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
        if observed.connection != Some(packet.flow) {
            return;
        }
        let came = observed
            .waiting
            .get_mut(&link)
            .and_then(VecDeque::pop_front);
        if lost {
            return self.observe(packet.flow, FlowEventKind::Lost { link });
        }
        let waited = came.map_or(Span::ZERO, |came| {
            departed.since(came).saturating_sub(sending)
        });
        let what = FlowEventKind::Departed {
            link,
            seq,
            len,
            waited,
            sending,
        };
        self.records.events.push(FlowEvent { at: departed, what });
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
