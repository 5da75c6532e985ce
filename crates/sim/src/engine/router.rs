//! D3's routers at the ports (D3 §4.3, §4.4): what surrounds the allocators of `proto::d3`.

use super::Partition;
use crate::AllocatorState;
use crate::packet::{Extra, Packet};
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_proto::d3;
use duetime_results::FlowEventKind;
use std::collections::VecDeque;

/// The router at one port (D3 §4.3), with what the simulator measures about it.
pub struct Seat {
    allocator: d3::Allocator,
    ticking: bool,
    /// The next tick only sets `sent_before`.
    fresh: bool,
    /// Bytes that had left the port at the last tick.
    sent_before: u64,
    /// The smallest queue since the last tick.
    queue_smallest: u64,
    /// Recent grants above the base rate: when, and the flow's deadline. For priority inversions only.
    grants: VecDeque<(Time, Time)>,
}

impl Partition {
    /// A packet comes to a port with an allocator: samples the queue that it finds.
    pub(super) fn sample_queue(&mut self, link: u32) {
        if self.allocators[link as usize].is_none() {
            return;
        }
        let queue = self.d3_queue(link);
        let seat = self.allocators[link as usize]
            .as_mut()
            .expect("checked above");
        seat.queue_smallest = seat.queue_smallest.min(queue);
    }

    /// q of capacity adaptation at this instant (D3 §4.4).
    fn d3_queue(&mut self, link: u32) -> u64 {
        let port = &mut self.ports[link as usize];
        port.drain(self.now);
        let in_service = self
            .setup
            .d3
            .as_ref()
            .is_some_and(|config| config.queue_in_service);
        if in_service {
            port.queue_bytes()
        } else {
            port.queue_bytes_waiting()
        }
    }

    /// The router at the port of `link` answers a packet's rate request, if it has one.
    pub(super) fn allocate(&mut self, link: u32, packet: Packet) {
        let Some(Extra::D3 {
            packet: inner,
            flow,
            deadline,
            ..
        }) = self.extras.get_mut(packet.extra as usize)
        else {
            return;
        };
        let Some(request) = &mut inner.request else {
            return;
        };
        let config = self
            .setup
            .d3
            .as_ref()
            .expect("a D3 packet needs a D3 transport");
        let seat = self.allocators[link as usize].get_or_insert_with(|| {
            Box::new(Seat {
                allocator: d3::Allocator::new(config, self.setup.network.links[link as usize].rate),
                ticking: false,
                fresh: true,
                sent_before: 0,
                queue_smallest: u64::MAX,
                grants: VecDeque::new(),
            })
        });
        let outcome = seat
            .allocator
            .process(config, self.now, inner.flags, request);
        let (flow, deadline) = (*flow, *deadline);
        let starts = !std::mem::replace(&mut seat.ticking, true);
        if let Some(deadline) = deadline {
            let window = self.setup.base_round_trip;
            while seat
                .grants
                .front()
                .is_some_and(|(at, _)| *at + window < self.now)
            {
                seat.grants.pop_front();
            }
            if outcome.denied {
                let inverted = seat.grants.iter().any(|(_, other)| *other > deadline);
                let counts = self.records.denials.entry(flow).or_default();
                counts.0 += 1;
                counts.1 += u32::from(inverted);
                self.observe(packet.flow, FlowEventKind::Denied { link });
            } else if outcome.granted > seat.allocator.base() {
                seat.grants.push_back((self.now, deadline));
            }
        }
        if starts {
            self.schedule_update(link);
        }
    }

    fn schedule_update(&mut self, link: u32) {
        let interval = self.setup.d3.as_ref().expect("D3").update_interval.as_ps();
        let phase = self.setup.streams.key(u64::from(link), Purpose::Phase) % interval;
        let past = (self.now.as_ps() + interval - phase) % interval;
        let at = self.now + Span::from_ps(interval - past);
        self.schedule_tick(at, link, link);
    }

    /// Capacity adaptation at the port of `link` (D3 §4.4).
    pub(super) fn update_allocator(&mut self, link: u32) {
        let config = *self.setup.d3.as_ref().expect("D3");
        let mut queue = self.d3_queue(link);
        let sent = self.ports[link as usize].departed_bytes();
        let from = self.setup.network.links[link as usize].from;
        let pulled = self.setup.network.nodes[from as usize]
            .host
            .filter(|_| self.setup.nic_pulls);
        let overdue = pulled.map(|host| self.overdue(host));
        let Some(seat) = &mut self.allocators[link as usize] else {
            return;
        };
        if config.queue_sample == d3::QueueSample::Smallest {
            queue = queue.min(seat.queue_smallest);
        }
        seat.queue_smallest = u64::MAX;
        // At hop 0, q is what was granted and not sent in its slot.
        queue = overdue.unwrap_or(queue);
        if !std::mem::take(&mut seat.fresh) {
            seat.allocator
                .tick(&config, self.now, sent - seat.sent_before, queue);
        }
        seat.sent_before = sent;
        if seat.allocator.is_idle() {
            seat.ticking = false;
            seat.fresh = true;
            return;
        }
        self.schedule_update(link);
    }

    /// What the routers hold, by link.
    pub(super) fn allocator_states(&self) -> impl Iterator<Item = (u32, AllocatorState)> + '_ {
        (0..).zip(&self.allocators).filter_map(|(link, seat)| {
            let allocator = &seat.as_ref()?.allocator;
            let state = AllocatorState {
                link: self.setup.network.link_name(link),
                flows: allocator.flows(),
                demand: allocator.demand(),
                allocated: allocator.allocated(),
                capacity: allocator.capacity(),
            };
            Some((link, state))
        })
    }
}
