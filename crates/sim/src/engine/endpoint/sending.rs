//! Engine side of senders, shared by all families.

use super::{Aborted, Binding, Endpoint, Sender, Table};
use crate::engine::Partition;
use crate::engine::context::Context;
use crate::engine::endpoints::Listed;
use crate::engine::extras::Stored;
use crate::engine::family::Handle;
use crate::engine::hosts::{Hosts, Owner};
use crate::engine::wire::Wire;
use crate::packet::{NONE, Packet, flow_hash};
use crate::workload::{Abort, Message};
use duetime_core::Time;
use duetime_results::FlowEventKind;

/// A sender at its host. For TCP, the state that every acknowledgement touches fills the first cache line and the first
/// three of the state machine.
#[repr(C, align(64))]
pub struct SendingEnd<S> {
    pub(in crate::engine) binding: Binding,
    pub(in crate::engine) machine: S,
    /// True if the sender serves a persistent connection, so that later messages find it in [`Table::connections`].
    is_shared: bool,
}

impl<S: Sender> SendingEnd<S> {
    /// Pulls a packet for the NIC. Returns the packet and true if the sender has more.
    #[inline(always)]
    pub fn pull(&mut self, context: &mut Context, index: u32) -> (Option<Packet>, bool) {
        let packet = self
            .machine
            .poll_transmit(&mut self.binding, context, index);
        if packet.is_none() {
            self.binding.ready = false;
            return (None, false);
        }
        let more = self.machine.can_transmit();
        self.binding.ready = more;
        self.binding.arm(context, self.machine.next_timeout());
        (packet, more)
    }

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
        if !self.binding.ready {
            hosts.offer(context, wire, self, sender);
        }
        self.binding.arm(context, self.machine.next_timeout());
        false
    }

    /// Updates the ready flag and returns true if the sender can transmit and belongs in the ready queue.
    #[inline(never)]
    pub fn set_ready(&mut self) -> bool {
        self.binding.ready = self.machine.can_transmit();
        self.binding.ready
    }

    /// Prefetches the state that `input` will read. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.machine.prefetch() ^ u64::from(self.binding.hash)
    }
}

impl Binding {
    /// Ensures that the timer fires at `due` or earlier, or now if that has passed. A timer is re-armed lazily: a new
    /// event is scheduled only if it must be earlier than the pending one, and a stale event does nothing.
    #[inline(always)]
    pub(super) fn arm(&mut self, context: &mut Context, due: Time) {
        if due < self.timer_due {
            // No event may be in the past; `fires` compares with its time.
            self.timer_due = due.max(context.now());
            let at = self.timer_due;
            context.events.schedule_timer(at, self.host, self.slot);
        }
    }

    /// Returns true if the event that is due now is the pending timer event, which is then cleared.
    pub(super) fn fires(&mut self, context: &Context) -> bool {
        let fires = self.timer_due == context.now();
        if fires {
            self.timer_due = Time::MAX;
        }
        fires
    }

    /// Creates the binding of `owner` to `host` with a timer slot.
    pub(super) fn new(hosts: &mut Hosts, host: u32, remote: u32, owner: Owner, hash: u32) -> Self {
        Self {
            hash,
            peer: NONE,
            timer_due: Time::MAX,
            host,
            remote,
            slot: hosts.take_slot(host, owner),
            class: 0,
            ready: false,
        }
    }

    /// Frees the timer slot.
    pub(super) fn release(&self, hosts: &mut Hosts) {
        hosts.free_slot(self.host, self.slot);
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
        let index = self.senders.vacant_key() as u32;
        let owner = Owner::Sender(handle::<T>(index));
        let hash = flow_hash(message.flow);
        let binding = Binding::new(hosts, message.source, message.destination, owner, hash);
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
        let mut end = self.senders.remove(index as usize);
        end.binding.release(hosts);
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
        let of_host = |(index, end): (usize, &SendingEnd<_>)| {
            (end.binding.host == host).then_some(index as u32)
        };
        let removed: Vec<u32> = self.senders.iter().filter_map(of_host).collect();
        for index in removed {
            self.remove_sender(context, hosts, index);
        }
    }
}

impl Partition {
    /// Returns the parts of the partition that an endpoint needs, and its family's table.
    #[inline(always)]
    pub(super) fn parts<T: Listed>(
        &mut self,
    ) -> (&mut Context, &mut Wire, &mut Hosts, &mut Table<T>) {
        let table = T::table(&mut self.endpoints);
        (&mut self.context, &mut self.wire, &mut self.hosts, table)
    }

    /// Submits a message to its transport.
    pub(in crate::engine) fn send_by<T: Listed>(
        &mut self,
        message: Message,
        record: u32,
        transport: u8,
        class: u8,
    ) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let index = table.sender_for(context, hosts, &message, transport, class);
        let end = &mut table.senders[index as usize];
        let hash = T::hash(&end.binding, &message);
        context.recorder.observe_connection(message.flow, hash);
        end.machine.submit(context, message, record);
        if end.follow_up(context, wire, hosts, handle::<T>(index)) {
            table.remove_sender(context, hosts, index);
        }
    }

    /// Opens the persistent connection whose first message could be `message`, unless it exists.
    #[cold]
    pub(in crate::engine) fn connect_by<T: Listed>(
        &mut self,
        message: &Message,
        transport: u8,
        class: u8,
    ) {
        let (context, wire, hosts, table) = self.parts::<T>();
        if T::connection(&context.setup, message).is_none() {
            return;
        }
        let index = table.sender_for(context, hosts, message, transport, class);
        let end = &mut table.senders[index as usize];
        end.machine.connect(message);
        end.follow_up(context, wire, hosts, handle::<T>(index));
    }

    /// Aborts an answer that is no longer wanted, if some of it is unsent.
    #[cold]
    pub(in crate::engine) fn abort_by<T: Listed>(&mut self, abort: &Abort) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let ends = table.senders.iter_mut();
        let aborted = ends
            .filter(|(_, end)| end.binding.host == abort.host)
            .find_map(|(index, end)| {
                let matches = |message: &Message| abort.is_of(message);
                let (record, fate) = end.machine.abort(context, &matches)?;
                Some((index as u32, record, fate))
            });
        let Some((index, record, fate)) = aborted else {
            return;
        };
        context.recorder.records.flows[record as usize].spare = true.into();
        let end = &mut table.senders[index as usize];
        context.observe(end.binding.hash, FlowEventKind::Aborted);
        if fate == Aborted::Removed || end.follow_up(context, wire, hosts, handle::<T>(index)) {
            table.remove_sender(context, hosts, index);
        }
    }

    /// Passes a packet of a receiver to its sender.
    #[inline(always)]
    pub(in crate::engine) fn acknowledgement<T: Listed>(&mut self, packet: Packet) {
        let (context, wire, hosts, table) = self.parts::<T>();
        match table.senders.get_mut(packet.endpoint as usize) {
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
    pub(in crate::engine) fn sender_timer<T: Listed>(&mut self, index: u32) {
        let (context, wire, hosts, table) = self.parts::<T>();
        let Some(end) = table.senders.get_mut(index as usize) else {
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
