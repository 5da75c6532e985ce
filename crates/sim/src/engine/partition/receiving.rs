//! Receivers of a partition: calls of the families' receivers, their timers, and the NIC. Shared by all families.

use super::Partition;
use super::sending::handle;
use crate::engine::contents::Contents;
use crate::engine::context::Context;
use crate::engine::endpoint::{Binding, Endpoint, Receiver, ReceivingEnd, Table};
use crate::engine::endpoints::Listed;
use crate::engine::hosts::{Hosts, Owner};
use crate::engine::wire::Wire;
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_link::Frame;

impl<R: Receiver> ReceivingEnd<R> {
    /// Sends the receiver's pending packets and arms its timer. `received` is true after a packet arrived.
    #[inline(always)]
    fn follow_up<T: Endpoint<Receiver = R>>(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        hosts: &mut Hosts,
        index: u32,
        received: bool,
    ) {
        while let Some(packet) = self
            .machine
            .poll_transmit(&mut self.binding, context, index)
        {
            let more = self.machine.can_transmit();
            hosts.send_control(context, wire, self.binding.host, packet);
            if !more {
                break;
            }
        }
        let restarts = T::RESTARTS_LINGER && received || self.forget_at == Time::MAX;
        if self.machine.is_closed() && restarts {
            self.forget_at = context.now() + self.machine.linger();
        }
        let due = self.machine.next_timeout().min(self.forget_at);
        self.binding.arm(context, due);
    }
}

impl<T: Endpoint> Table<T> {
    fn remove_receiver(&mut self, hosts: &mut Hosts, index: u32) {
        let end = self.receivers.remove(index);
        hosts.free_slot(end.binding.host, end.binding.slot);
        if end.is_known {
            self.known.remove(&end.key);
        }
    }

    /// Removes the receivers of a host that died.
    pub(super) fn forget_receivers(&mut self, hosts: &mut Hosts, host: u32) {
        let of_host =
            |(index, end): (u32, &ReceivingEnd<_>)| (end.binding.host == host).then_some(index);
        let removed: Vec<u32> = self.receivers.iter().filter_map(of_host).collect();
        for index in removed {
            self.remove_receiver(hosts, index);
        }
    }

    /// Returns the receiver of an opening packet, which is created if it does not exist, or `None` if the packet
    /// addresses its receiver by index.
    #[inline(never)]
    fn receiver_for(
        &mut self,
        context: &Context,
        hosts: &mut Hosts,
        host: u32,
        packet: &Packet,
    ) -> Option<u32> {
        let (reply, message) = context.extras.peek::<T::Extra>(packet)?.opening()?;
        let key = T::Receiver::key(&context.setup, message);
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        Some(self.open_receiver(context, hosts, (host, packet), (reply, message), key))
    }

    /// Returns the receiver of a packet that addresses an earlier receiver of its connection, or `None` if the connection
    /// has none. The index that the new receiver got depends on the partition; whether it gets the packet must not.
    #[cold]
    fn reopened_receiver(&self, host: u32, packet: &Packet) -> Option<u32> {
        let (index, _) = self.receivers.iter().find(|(_, end)| {
            let is_addressed = T::Receiver::is_addressed(&end.binding, packet);
            end.is_known && end.binding.host == host && is_addressed
        })?;
        Some(index)
    }

    /// Creates the receiver of an opening packet that arrives at a host. Returns its index.
    #[cold]
    fn open_receiver(
        &mut self,
        context: &Context,
        hosts: &mut Hosts,
        (host, packet): (u32, &Packet),
        (reply, message): (u32, &Message),
        key: u64,
    ) -> u32 {
        let transport = context.setup.workload_transport[usize::from(message.workload)];
        let machine = T::Receiver::open(context, self.config(transport), message);
        let index = self.receivers.next_index();
        let slot = hosts.take_slot(host, Owner::Receiver(handle::<T>(index)));
        let binding = Binding::new(host, slot, message.source, packet.flow);
        self.receivers.insert(ReceivingEnd {
            binding: Binding {
                peer: reply,
                class: packet.class() as u8,
                ..binding
            },
            forget_at: Time::MAX,
            machine,
            key,
            is_known: true,
        });
        self.known.insert(key, index);
        index
    }
}

impl Partition {
    /// Passes a packet of a sender to its receiver at `host`.
    #[inline(always)]
    pub(super) fn data<T: Listed>(&mut self, host: u32, packet: Packet) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let mut index = packet.endpoint;
        if packet.extra != NONE
            && let Some(found) = table.receiver_for(context, hosts, host, &packet)
        {
            index = found;
        }
        let end = loop {
            match table.receivers.get_mut(index) {
                Some(end) if T::Receiver::is_addressed(&end.binding, &packet) => break end,
                _ => match table.reopened_receiver(host, &packet) {
                    Some(found) => index = found,
                    None => return context.discard_extra(packet),
                },
            }
        };
        let messages = end.machine.input(&mut end.binding, context, packet);
        end.follow_up::<T>(context, wire, hosts, index, true);
        if T::OPENS_BEFORE_CLOSING && end.is_known && end.machine.is_closed() {
            end.is_known = false;
            table.known.remove(&end.key);
        }
        for _ in 0..messages {
            let end = &mut T::table(&mut self.endpoints).receivers[index];
            let Some((message, marks)) = end.machine.take_delivered() else {
                return;
            };
            self.deliver(&message, marks);
        }
    }

    /// Handles the timer of a receiver.
    pub(super) fn receiver_timer<T: Listed>(&mut self, index: u32) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let Some(end) = table.receivers.get_mut(index) else {
            return;
        };
        if !end.binding.fires(context) {
            return;
        }
        if end.forget_at <= context.now() {
            return table.remove_receiver(hosts, index);
        }
        if end.machine.next_timeout() <= context.now() {
            end.machine.timeout(&end.binding, context);
        }
        end.follow_up::<T>(context, wire, hosts, index, false);
    }
}
