//! D3 at the ports (D3 §4.3, §4.4): what surrounds the port drivers of `proto::d3`.

use super::Partition;
use crate::AllocatorState;
use crate::packet::{Extra, Packet};
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_proto::d3::{PortDriver, Reading};
use duetime_results::FlowEventKind;
use std::collections::VecDeque;

/// D3 at one port, with what the simulator measures about it.
pub struct PortState {
    driver: PortDriver,
    /// The host whose NIC pulls packets through this port: they wait in its senders, and the port has no queue.
    puller: Option<u32>,
    grants: Grants,
}

/// Recent grants above the base rate: when, and the flow's deadline. For priority inversions only.
#[derive(Default)]
struct Grants(VecDeque<(Time, Time)>);

impl Grants {
    /// Forgets grants before `since`.
    fn forget(&mut self, since: Time) {
        while self.0.front().is_some_and(|(at, _)| *at < since) {
            self.0.pop_front();
        }
    }

    /// Whether a flow that is due after `deadline` holds a grant.
    fn invert(&self, deadline: Time) -> bool {
        self.0.iter().any(|(_, other)| *other > deadline)
    }
}

impl Partition {
    /// A packet comes to a port with a D3 allocator: samples the queue that it finds.
    pub(super) fn sample_queue(&mut self, link: u32) {
        let Some(state) = &self.allocators[link as usize] else {
            return;
        };
        let config = self.setup.d3.as_ref().expect("D3");
        if state.puller.is_some() || !state.driver.needs_sample(config) {
            return;
        }
        let queue = self.d3_queue(link);
        if let Some(state) = &mut self.allocators[link as usize] {
            state.driver.sample(queue);
        }
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
        let setup = &*self.setup;
        let config = setup.d3.as_ref().expect("a D3 packet needs a D3 transport");
        let state = self.allocators[link as usize].get_or_insert_with(|| {
            let ends = &setup.network.links[link as usize];
            let phase = setup.streams.key(u64::from(link), Purpose::Phase);
            Box::new(PortState {
                driver: PortDriver::new(config, ends.rate, Span::from_ps(phase)),
                puller: setup.network.nodes[ends.from as usize]
                    .host
                    .filter(|_| setup.nic_pulls),
                grants: Grants::default(),
            })
        });
        let starts = state.driver.next_timeout() == Time::MAX;
        let outcome = state.driver.process(config, self.now, inner.flags, request);
        let due = state.driver.next_timeout();
        if let Some(deadline) = *deadline {
            let window = setup.base_round_trip;
            state.grants.forget(Time::from_ps(
                self.now.as_ps().saturating_sub(window.as_ps()),
            ));
            if outcome.denied {
                let inverted = state.grants.invert(deadline);
                let counts = self.records.denials.entry(*flow).or_default();
                counts.0 += 1;
                counts.1 += u32::from(inverted);
                self.observe(packet.flow, FlowEventKind::Denied { link });
            } else if outcome.granted > state.driver.allocator().base() {
                state.grants.0.push_back((self.now, deadline));
            }
        }
        if starts {
            self.schedule_tick(due, link, link);
        }
    }

    /// Capacity adaptation at the port of `link` (D3 §4.4).
    pub(super) fn update_allocator(&mut self, link: u32) {
        let config = *self.setup.d3.as_ref().expect("D3");
        let queue = self.d3_queue(link);
        let departed_bytes = self.ports[link as usize].departed_bytes();
        let puller = self.allocators[link as usize]
            .as_ref()
            .and_then(|state| state.puller);
        let reading = Reading {
            departed_bytes,
            queue_bytes: puller.map_or(queue, |host| self.overdue(host)),
        };
        let Some(state) = &mut self.allocators[link as usize] else {
            return;
        };
        state.driver.timeout(&config, self.now, reading);
        let due = state.driver.next_timeout();
        if due != Time::MAX {
            self.schedule_tick(due, link, link);
        }
    }

    /// What the routers hold, by link.
    pub(super) fn allocator_states(&self) -> impl Iterator<Item = (u32, AllocatorState)> + '_ {
        (0..).zip(&self.allocators).filter_map(|(link, state)| {
            let allocator = state.as_ref()?.driver.allocator();
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
