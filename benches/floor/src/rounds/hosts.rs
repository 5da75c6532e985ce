//! Hosts: flows start, data is acknowledged, and acknowledgements let flows send.

use super::{Rounds, bits};
use crate::flow::Flow;
use crate::network::{HEADERS, Kind, PAYLOAD, packets};
use crate::random::Random;
use crate::traffic::Demand;
use crate::window::Packet;
use duetime_core::prefetch::prefetch;

/// Flow in progress, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Active {
    flow: Flow,
    /// Paths of data and of acknowledgements.
    forward: u32,
    back: u32,
    /// Size of the last packet with headers.
    last: u16,
}

impl Rounds {
    /// Processes the arrivals and the starts of flows at the hosts of a rack from `begin` to before `end`.
    pub(super) fn visit_hosts(&mut self, rack: u32, begin: u64, end: u64) {
        let node = (self.tree.switches() + rack) as usize;
        let busy = std::mem::take(&mut self.busy[node]);
        let first = (rack * self.tree.k) as usize;
        for place in bits(busy) {
            self.links[first + place].ring.prefetch_front();
        }
        for place in bits(busy) {
            if let Some(packet) = self.links[first + place].ring.front() {
                prefetch(&self.flows[packet.flow as usize]);
            }
        }
        for place in bits(busy) {
            let host = rack * self.tree.half() + place as u32;
            let link = first + place;
            while let Some(&packet) = self.links[link].ring.front() {
                if packet.arrival >= end {
                    self.busy[node] |= 1 << place;
                    break;
                }
                debug_assert!(packet.arrival >= begin, "{packet:?}");
                self.links[link].ring.pop();
                self.start_flows(host, packet.arrival);
                self.receive(host, packet);
            }
            self.links[link].ring.rewind_if_empty();
            self.start_flows(host, end);
        }
    }

    /// Finds the flows that start before `end`, so that their hosts are visited.
    pub(super) fn prepare_starts(&mut self, end: u64) {
        let later = self.demands[self.started..].iter();
        self.starting.clear();
        self.starting
            .extend(later.take_while(|demand| demand.start < end));
        self.starting
            .sort_unstable_by_key(|demand| (demand.source, demand.start));
        self.started += self.starting.len();
        self.next_start = 0;
        let half = self.tree.half();
        for demand in &self.starting {
            let node = self.tree.switches() + demand.source / half;
            self.busy[node as usize] |= 1 << (demand.source % half);
        }
    }

    /// Starts the flows of a host that start until `now`. Hosts are visited in order.
    #[inline]
    fn start_flows(&mut self, host: u32, now: u64) {
        while let Some(&demand) = self.starting.get(self.next_start)
            && demand.source == host
            && demand.start <= now
        {
            self.next_start += 1;
            self.start(demand);
        }
    }

    fn start(&mut self, demand: Demand) {
        let Demand {
            start,
            source,
            destination,
            bytes,
        } = demand;
        let bytes = u64::from(bytes);
        // Equal-cost paths are chosen by a hash of the flow.
        let mut hash = Random(start << 20 ^ u64::from(source) << 10 ^ u64::from(destination));
        let active = Active {
            flow: Flow::new(packets(bytes) as u32),
            forward: self.tree.path(source, destination, &mut hash),
            back: self.tree.path(destination, source, &mut hash),
            last: (HEADERS + bytes - (packets(bytes) - 1) * PAYLOAD) as u16,
        };
        let index = self.free.pop().unwrap_or(self.flows.len() as u32);
        if let Some(place) = self.flows.get_mut(index as usize) {
            *place = active;
        } else {
            self.flows.push(active);
        }
        self.pull(start, source, index);
    }

    /// Processes a packet at its destination: data is acknowledged, and an acknowledgement may let the flow send.
    #[inline]
    fn receive(&mut self, host: u32, packet: Packet) {
        self.outcome.packet_hops += 1;
        let now = packet.arrival;
        let active = &mut self.flows[packet.flow as usize];
        if packet.is_ack {
            active.flow.acknowledged(packet.sequence, packet.marked);
            if active.flow.is_complete() {
                self.free.push(packet.flow);
            } else {
                self.pull(now, host, packet.flow);
            }
        } else {
            self.outcome.marked += u64::from(packet.marked);
            if active.flow.delivered() {
                self.outcome.finished_ps = self.outcome.finished_ps.max(now);
            }
            let ack = Packet {
                path: active.back,
                bytes: HEADERS as u16,
                is_ack: true,
                ..packet
            };
            self.send(now, self.host_link(host), ack);
        }
    }

    /// Sends packets on the host's own link as far as the window allows.
    fn pull(&mut self, now: u64, host: u32, index: u32) {
        let link = self.host_link(host);
        while self.flows[index as usize].flow.can_send() {
            let active = &mut self.flows[index as usize];
            let (sequence, kind) = active.flow.next_packet();
            let packet = Packet {
                arrival: 0,
                flow: index,
                sequence,
                path: active.forward,
                bytes: match kind {
                    Kind::Last => active.last,
                    _ => (HEADERS + PAYLOAD) as u16,
                },
                is_ack: false,
                marked: false,
            };
            self.send(now, link, packet);
        }
    }

    /// Returns the host's own link.
    fn host_link(&self, host: u32) -> u32 {
        self.tree.switches() * self.tree.k + host
    }
}
