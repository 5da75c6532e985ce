//! Senders of a partition: calls of the families' senders, their timers, and the NIC. Shared by all families.

use super::Partition;
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Endpoint, Sender, SendingEnd, Table};
use crate::engine::endpoints::Listed;
use crate::engine::extras::Stored;
use crate::engine::family::Handle;
use crate::engine::hosts::{Hosts, Owner};
use crate::engine::wire::Wire;
use crate::packet::{Packet, flow_hash};
use crate::workload::{Abort, Message};
use duetime_results::FlowEventKind;

impl<S: Sender> SendingEnd<S> {
    /// Completes ended messages, arms the timer and notifies the NIC, after every call but `pull`. Returns true if the
    /// sender is closed.
    #[inline(always)]
    fn follow_up(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        hosts: &mut Hosts,
        sender: Handle,
    ) -> bool {
        if self.machine.needs_settling() {
            self.machine.settle(context);
            if self.machine.is_closed() {
                return true;
            }
        }
        // A packet that leaves now may set an earlier timer, which makes one for the present state needless.
        if !self.binding.ready && self.machine.may_transmit() {
            hosts.offer(context, wire, self, sender);
        }
        self.binding.arm(context, self.machine.next_timeout());
        false
    }
}

/// Returns the handle of a family's endpoint.
pub(super) const fn handle<T: Endpoint>(index: u32) -> Handle {
    Handle {
        family: T::Extra::FAMILY,
        index,
    }
}

impl<T: Endpoint> Table<T> {
    /// Returns the sender of a message's connection, which is created if it does not exist.
    fn sender_for(
        &mut self,
        context: &Context,
        hosts: &mut Hosts,
        message: &Message,
        transport: u8,
        class: u8,
    ) -> u32 {
        let connection = T::connection(&context.setup, message);
        if let Some(&known) = connection.and_then(|key| self.connections.get(&key)) {
            return known;
        }
        let machine = T::Sender::open(context, self.config(transport), message);
        let index = self.senders.next_index();
        let slot = hosts.take_slot(message.source, Owner::Sender(handle::<T>(index)));
        let hash = flow_hash(message.flow);
        let binding = Binding::new(message.source, slot, message.destination, hash);
        self.senders.insert(SendingEnd {
            binding: Binding { class, ..binding },
            machine,
            is_shared: connection.is_some(),
        });
        if let Some(key) = connection {
            self.connections.insert(key, index);
        }
        index
    }

    /// Removes a closed sender and completes its records.
    fn remove_sender(&mut self, context: &mut Context, hosts: &mut Hosts, index: u32) {
        let mut end = self.senders.remove(index);
        hosts.free_slot(end.binding.host, end.binding.slot);
        if end.binding.ready {
            hosts.forget_ready(end.binding.host, handle::<T>(index));
        }
        if end.is_shared {
            self.connections.retain(|_, sender| *sender != index);
        }
        end.machine.finish(context);
    }

    /// Removes the senders of a host that died.
    pub(super) fn forget_senders(&mut self, context: &mut Context, hosts: &mut Hosts, host: u32) {
        let of_host =
            |(index, end): (u32, &SendingEnd<_>)| (end.binding.host == host).then_some(index);
        let removed: Vec<u32> = self.senders.iter().filter_map(of_host).collect();
        for index in removed {
            self.remove_sender(context, hosts, index);
        }
    }
}

impl Partition {
    /// Submits a message to its transport.
    pub(super) fn send_by<T: Listed>(
        &mut self,
        message: Message,
        record: u32,
        transport: u8,
        class: u8,
    ) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let index = table.sender_for(context, hosts, &message, transport, class);
        let end = &mut table.senders[index];
        let hash = T::hash(&end.binding, &message);
        context.recorder.observe_connection(message.flow, hash);
        end.machine.submit(context, message, record);
        if end.follow_up(context, wire, hosts, handle::<T>(index)) {
            table.remove_sender(context, hosts, index);
        }
    }

    /// Opens the persistent connection whose first message could be `message`, unless it exists.
    #[cold]
    pub(super) fn connect_by<T: Listed>(&mut self, message: &Message, transport: u8, class: u8) {
        let (context, wire, hosts, table) = self.parts::<T>();
        if T::connection(&context.setup, message).is_none() {
            return;
        }
        let index = table.sender_for(context, hosts, message, transport, class);
        let end = &mut table.senders[index];
        end.machine.connect(message);
        end.follow_up(context, wire, hosts, handle::<T>(index));
    }

    /// Aborts an answer that is no longer wanted, if some of it is unsent.
    #[cold]
    pub(super) fn abort_by<T: Listed>(&mut self, abort: &Abort) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let ends = table.senders.iter_mut();
        let aborted = ends
            .filter(|(_, end)| end.binding.host == abort.host)
            .find_map(|(index, end)| {
                let matches = |message: &Message| abort.is_of(message);
                let (record, fate) = end.machine.abort(context, &matches)?;
                Some((index, record, fate))
            });
        let Some((index, record, fate)) = aborted else {
            return;
        };
        context.recorder.records.flows[record as usize].spare = true.into();
        let end = &mut table.senders[index];
        context.observe(end.binding.hash, FlowEventKind::Aborted);
        if fate == Aborted::Removed || end.follow_up(context, wire, hosts, handle::<T>(index)) {
            table.remove_sender(context, hosts, index);
        }
    }

    /// Passes a packet of a receiver to its sender.
    #[inline(always)]
    pub(super) fn acknowledgement<T: Listed>(&mut self, packet: Packet) {
        let (context, wire, hosts, table) = self.parts::<T>();
        match table.senders.get_mut(packet.endpoint) {
            Some(end) if T::Sender::is_addressed(&end.binding, &packet) => {
                end.machine.input(&mut end.binding, context, packet);
                if end.follow_up(context, wire, hosts, handle::<T>(packet.endpoint)) {
                    table.remove_sender(context, hosts, packet.endpoint);
                }
            }
            _ => context.discard_extra(packet),
        }
    }

    /// Handles the timer of a sender.
    pub(super) fn sender_timer<T: Listed>(&mut self, index: u32) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let Some(end) = table.senders.get_mut(index) else {
            return;
        };
        if !end.binding.fires(context) {
            return;
        }
        if end.machine.next_timeout() <= context.now() {
            end.machine.timeout(&mut end.binding, context);
        }
        if end.follow_up(context, wire, hosts, handle::<T>(index)) {
            table.remove_sender(context, hosts, index);
        }
    }
}
