//! Connects workloads and transports: submits messages, delivers them and reports deliveries to the workloads.

use super::Partition;
use crate::engine::endpoints::dispatch;
use crate::engine::hosts::Owner;
use crate::workload::{Abort, Actions, Message, Workloads};

impl Partition {
    /// Schedules the first wake-ups of the hosts for which `owned` returns true.
    pub(super) fn start_applications(&mut self, owned: &dyn Fn(u32) -> bool) {
        self.call(|workloads, actions| workloads.start(owned, actions));
    }

    /// Handles a workload's wake-up at `host`.
    pub(super) fn wake(&mut self, host: u32, workload: u16, token: u64) {
        self.applications.wakes -= 1;
        let now = self.context.now();
        self.call(|workloads, actions| workloads.wake(now, host, workload, token, actions));
    }

    /// Handles the delivery of the last byte of `message`, in order, after `marks` marked segments. A message is
    /// delivered once: a copy that arrives after its receiver forgot the message changes nothing.
    pub(super) fn deliver(&mut self, message: &Message, marks: u32) {
        let now = self.context.now();
        if !self.context.recorder.delivered(message, now, marks) {
            return;
        }
        self.call(|workloads, actions| workloads.delivered(now, message, actions));
    }

    /// Calls the workloads and performs the actions that they request.
    fn call(&mut self, call: impl FnOnce(&mut Workloads, &mut Actions)) {
        let mut actions = std::mem::take(&mut self.applications.actions);
        call(&mut self.applications.workloads, &mut actions);
        let context = &mut self.context;
        context
            .recorder
            .wait_for(std::mem::take(&mut actions.awaited));
        for wake in actions.wakes.drain(..) {
            let at = wake.at.max(context.now());
            let owner = Owner::Wake {
                workload: wake.workload,
                token: wake.token,
                at,
            };
            let slot = self.hosts.take_slot(wake.host, owner);
            context.events.schedule_timer(at, wake.host, slot);
            self.applications.wakes += 1;
        }
        for message in actions.connects.drain(..) {
            self.connect(&message);
        }
        for message in actions.sends.drain(..) {
            self.submit(message);
        }
        for abort in actions.aborts.drain(..) {
            self.abort(&abort);
        }
        let spare = &mut self.context.recorder.records.spare;
        spare.append(&mut actions.spare);
        self.applications.actions = actions;
    }

    /// Aborts an answer that the application no longer wants to send.
    #[cold]
    fn abort(&mut self, abort: &Abort) {
        let setup = &self.context.setup;
        let transport = setup.workload_transport[usize::from(abort.workload)];
        dispatch!(self.endpoints.family(transport), T => self.abort_by::<T>(abort));
    }

    /// Submits a message of the application to its transport.
    fn submit(&mut self, message: Message) {
        let Self {
            context,
            applications,
            ..
        } = self;
        let workloads = &applications.workloads;
        let now = context.now();
        let record = context.recorder.submitted(&message);
        context
            .recorder
            .observe_submission(&message, now, || workloads.tree_node(&message));
        let (transport, class) = self.carrier(&message);
        dispatch!(self.endpoints.family(transport), T => {
            self.send_by::<T>(message, record, transport, class);
        });
    }

    /// Opens the persistent connection whose first message could be `message`.
    #[cold]
    fn connect(&mut self, message: &Message) {
        let (transport, class) = self.carrier(message);
        dispatch!(self.endpoints.family(transport), T => {
            self.connect_by::<T>(message, transport, class);
        });
    }

    /// Returns the index of a message's transport and the message's strict-priority class.
    fn carrier(&self, message: &Message) -> (u8, u8) {
        let setup = &self.context.setup;
        let transport = setup.workload_transport[usize::from(message.workload)];
        let classes = setup.transports[usize::from(transport)].priorities;
        let class = match setup.priorities[usize::from(message.workload)] {
            Some(priority) => priority,
            None if classes > 1 => self.applications.workloads.priority(message, classes),
            None => 0,
        };
        (transport, class)
    }
}
