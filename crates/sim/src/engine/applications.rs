//! Between the workloads and the transports: messages are handed over, delivered, and answered.

use super::Partition;
use crate::host::Owner;
use crate::workload::{Actions, Message};
use duetime_core::random::mix;
use duetime_results::Class;
use duetime_scenario::model::Protocol;

impl Partition {
    /// A workload's wake-up at `host`.
    pub(super) fn wake(&mut self, host: u32, workload: u16, token: u64) {
        self.wakes -= 1;
        let mut actions = std::mem::take(&mut self.actions);
        self.workloads
            .wake(self.now, host, workload, token, &mut actions);
        self.perform(&mut actions);
        self.actions = actions;
    }

    /// The last byte of `message` reached its destination in order.
    pub(super) fn deliver(&mut self, message: &Message, marks: u32) {
        self.records.finishes.push(super::Finish {
            flow: message.flow,
            at: self.now,
            marks,
        });
        if message.measured && message.class != Class::Long {
            self.open -= 1;
        }
        self.observe_end(message.flow);
        let mut actions = std::mem::take(&mut self.actions);
        self.workloads.delivered(self.now, message, &mut actions);
        self.perform(&mut actions);
        self.actions = actions;
    }

    /// Does what the workloads asked for; `actions` is empty afterwards.
    pub(super) fn perform(&mut self, actions: &mut Actions) {
        self.open += std::mem::take(&mut actions.awaited);
        for wake in actions.wakes.drain(..) {
            let at = wake.at.max(self.now);
            let owner = Owner::Wake {
                workload: wake.workload,
                token: wake.token,
                at,
            };
            let slot = self.hosts[wake.host as usize].take_slot(owner);
            self.schedule_timer(at, wake.host, slot);
            self.wakes += 1;
        }
        for message in actions.sends.drain(..) {
            self.hand_over(message);
        }
    }

    /// The application hands a message to its transport.
    fn hand_over(&mut self, message: Message) {
        let record = self.records.flows.len() as u32;
        self.records.flows.push(message.record());
        if message.measured && message.class != Class::Long {
            self.open += 1;
        }
        self.observe_hand_over(&message);
        let transport = self.setup.workload_transport[usize::from(message.workload)];
        let classes = self.setup.transports[usize::from(transport)].priorities;
        let class = if classes > 1 {
            self.workloads.priority(&message, classes)
        } else {
            0
        };
        match self.setup.transports[usize::from(transport)].protocol {
            Protocol::Tcp(_) => self.send_by_tcp(message, record, transport, class),
            Protocol::D3(_) => self.send_by_d3(message, record, transport, class),
        }
    }
}

/// The hash of a connection that its packets carry.
pub fn flow_hash(flow: u64) -> u32 {
    (mix(flow, 0x0f10) >> 32) as u32
}
