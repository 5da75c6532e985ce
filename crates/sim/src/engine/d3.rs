//! D3 endpoints in their hosts: what surrounds the state machines of `proto::d3`.

use super::Partition;
use super::applications::flow_hash;
use crate::host::{Owner, Sender};
use crate::packet::{D3, Extra, NONE, Packet, REVERSE};
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_proto::d3;
use duetime_results::{Class, FlowEventKind};
use slab::Slab;

/// All D3 endpoints of a partition.
#[derive(Default)]
pub struct Endpoints {
    senders: Slab<Sending>,
    receivers: Slab<Receiving>,
}

/// The sending end of a flow.
struct Sending {
    machine: d3::Sender,
    peer: u32,
    hash: u32,
    slot: u32,
    armed: Time,
    transport: u8,
    class: u8,
    ready: bool,
    quenched: bool,
    record: u32,
    message: Message,
}

/// The receiving end of a flow.
struct Receiving {
    machine: d3::Receiver,
    reply: u32,
    hash: u32,
    slot: u32,
    armed: Time,
    transport: u8,
    class: u8,
    forget_at: Time,
    /// The last byte is there.
    finished: bool,
    /// The sender has given the flow up.
    quenched: bool,
    message: Message,
}

impl Partition {
    pub(super) fn send_by_d3(&mut self, message: Message, record: u32, transport: u8, class: u8) {
        let uplink = self.setup.network.uplink[message.source as usize];
        let rate = self.setup.network.links[uplink as usize].rate;
        let index = self.d3.senders.vacant_key() as u32;
        let slot = self.hosts[message.source as usize].take_slot(Owner::D3Sender(index));
        let submitted = duetime_proto::Message {
            bytes: message.bytes,
            deadline: message.deadline,
        };
        let machine = d3::Sender::new(self.setup.d3(transport), self.now, rate, submitted);
        self.d3.senders.insert(Sending {
            machine,
            peer: NONE,
            hash: flow_hash(message.flow),
            slot,
            armed: Time::MAX,
            transport,
            class,
            ready: false,
            quenched: false,
            record,
            message,
        });
        self.after_d3_sender(index);
    }

    /// The network card takes a packet; says whether more is ready.
    pub(super) fn pull_d3(&mut self, index: u32) -> (Option<Packet>, bool) {
        let Some(sending) = self.d3.senders.get_mut(index as usize) else {
            return (None, false);
        };
        let config = self.setup.d3(sending.transport);
        let inner = sending.machine.poll_transmit(config, self.now);
        let more = sending.machine.can_transmit(config);
        sending.ready = more;
        let host = sending.message.source;
        let packet = inner.map(|mut inner| {
            if let Some(faults) = &mut self.faults {
                faults.falsify_request(host, sending.message.flow, &mut inner);
            }
            let opens = inner.flags.contains(d3::Flags::SYN);
            let packet = Packet::new(
                sending.message.destination,
                sending.peer,
                sending.hash,
                inner.seq as u32,
                inner.wire_bytes(config) as u16 + self.setup.frame_overhead,
                D3 | Packet::class_bits(sending.class),
            );
            let extra = Extra::D3 {
                packet: inner,
                reply: index,
                message: opens.then(|| Box::new(sending.message.clone())),
                flow: sending.message.flow,
                deadline: sending.message.deadline,
            };
            (packet, extra)
        });
        let (due, armed, slot) = (sending.machine.next_timeout(), sending.armed, sending.slot);
        if due < armed {
            let armed = self.arm(host, slot, due, armed);
            self.d3.senders[index as usize].armed = armed;
        }
        let Some((mut packet, extra)) = packet else {
            return (None, more);
        };
        if self.observed.is_some() {
            self.observe_d3_sent(packet.flow, &extra);
        }
        packet.extra = self.extras.insert(extra) as u32;
        (Some(packet), more)
    }

    /// A D3 packet reaches its host.
    #[inline(never)]
    pub(super) fn d3_packet(&mut self, host: u32, packet: Packet) {
        if packet.flags() & REVERSE == 0 {
            self.d3_data(host, packet);
        } else {
            self.d3_acknowledgement(packet);
        }
    }

    /// A packet of a flow reaches its receiver.
    fn d3_data(&mut self, host: u32, packet: Packet) {
        let Some(Extra::D3 {
            packet: inner,
            reply,
            message,
            ..
        }) = self.take_extra(packet)
        else {
            return;
        };
        let mut index = packet.endpoint as usize;
        if let Some(message) = message {
            index = self.accept_d3(host, packet, reply, *message) as usize;
        }
        let now = self.now;
        let Some(receiving) = self.d3.receivers.get_mut(index) else {
            return;
        };
        if receiving.hash != packet.flow {
            return;
        }
        let config = self.setup.d3(receiving.transport);
        let newly = receiving.machine.input(config, now, &inner).bytes;
        let delivered = receiving.machine.delivered();
        // A flow ends with its last byte, not with the FIN that may follow it.
        let complete = receiving.machine.delivered() >= receiving.message.bytes;
        let finished = complete && !std::mem::replace(&mut receiving.finished, complete);
        let message = finished.then(|| receiving.message.clone());
        // The receiver decides whether a flow was finished or quenched, so that it closes once.
        let gave_up = inner.flags.contains(d3::Flags::FIN | d3::Flags::QUENCH) && !complete;
        let quenched = gave_up && !std::mem::replace(&mut receiving.quenched, true);
        if newly > 0 {
            self.observe(
                packet.flow,
                FlowEventKind::Delivered {
                    seq: delivered - newly,
                    len: newly as u32,
                },
            );
        }
        let receiving = &self.d3.receivers[index];
        if quenched && receiving.message.measured && receiving.message.class != Class::Long {
            self.open -= 1;
        }
        self.after_d3_receiver(index as u32);
        if let Some(message) = message {
            self.deliver(&message, 0);
        }
    }

    fn accept_d3(&mut self, host: u32, packet: Packet, reply: u32, message: Message) -> u32 {
        if let Some(&known) = self.receivers.get(&message.flow) {
            return known;
        }
        let transport = self.setup.workload_transport[usize::from(message.workload)];
        let index = self.d3.receivers.vacant_key() as u32;
        let slot = self.hosts[host as usize].take_slot(Owner::D3Receiver(index));
        self.receivers.insert(message.flow, index);
        self.d3.receivers.insert(Receiving {
            machine: d3::Receiver::new(self.setup.d3(transport)),
            reply,
            hash: packet.flow,
            slot,
            armed: Time::MAX,
            transport,
            class: packet.class() as u8,
            forget_at: Time::MAX,
            finished: false,
            quenched: false,
            message,
        });
        index
    }

    fn after_d3_receiver(&mut self, index: u32) {
        loop {
            let receiving = &mut self.d3.receivers[index as usize];
            let config = self.setup.d3(receiving.transport);
            let Some(inner) = receiving.machine.poll_transmit(config, self.now) else {
                break;
            };
            let (host, flow) = (receiving.message.destination, receiving.message.flow);
            let extra = self.extras.insert(Extra::D3 {
                packet: inner,
                reply: index,
                message: None,
                flow,
                deadline: None,
            });
            let receiving = &self.d3.receivers[index as usize];
            let mut packet = Packet::new(
                receiving.message.source,
                receiving.reply,
                receiving.hash,
                inner.seq as u32,
                inner.wire_bytes(config) as u16 + self.setup.frame_overhead,
                D3 | REVERSE | Packet::class_bits(receiving.class),
            );
            packet.extra = extra as u32;
            self.send_control(host, packet);
        }
        let receiving = &mut self.d3.receivers[index as usize];
        if receiving.machine.is_closed() && receiving.forget_at == Time::MAX {
            receiving.forget_at = self.now + linger(self.setup.d3(receiving.transport));
        }
        let due = receiving.machine.next_timeout().min(receiving.forget_at);
        if due < receiving.armed {
            let (host, slot, armed) = (
                receiving.message.destination,
                receiving.slot,
                receiving.armed,
            );
            let armed = self.arm(host, slot, due, armed);
            self.d3.receivers[index as usize].armed = armed;
        }
    }

    /// A packet of the receiver reaches the sender.
    fn d3_acknowledgement(&mut self, packet: Packet) {
        let Some(Extra::D3 {
            packet: mut inner,
            reply,
            ..
        }) = self.take_extra(packet)
        else {
            return;
        };
        let now = self.now;
        let Some(sending) = self.d3.senders.get_mut(packet.endpoint as usize) else {
            return;
        };
        if sending.hash != packet.flow {
            return;
        }
        sending.peer = reply;
        if let Some(faults) = &mut self.faults {
            faults.falsify_feedback(sending.message.source, sending.message.flow, &mut inner);
        }
        let config = self.setup.d3(sending.transport);
        sending.machine.input(config, now, &inner);
        if self.observed.is_some() {
            let rate = self.d3.senders[packet.endpoint as usize].machine.rate();
            let allocation_bps = rate.to_rate(config.exponent()).as_bps();
            self.observe(packet.flow, FlowEventKind::Acked { seq: inner.seq });
            if inner.flags.contains(d3::Flags::SYN) {
                self.observe(packet.flow, FlowEventKind::Established);
            }
            if inner.flags.contains(d3::Flags::FEEDBACK) {
                self.observe(packet.flow, FlowEventKind::Granted { allocation_bps });
                if allocation_bps == 0 {
                    self.observe(packet.flow, FlowEventKind::Paused);
                }
            }
        }
        self.after_d3_sender(packet.endpoint);
    }

    fn after_d3_sender(&mut self, index: u32) {
        let sending = &mut self.d3.senders[index as usize];
        if sending.machine.is_quenched() && !sending.quenched {
            sending.quenched = true;
            self.records.flows[sending.record as usize].quenched = true;
            // Hopeless from the start: no receiver will ever know of it.
            let unsent = sending.machine.counters().requests == 0;
            if unsent && sending.message.measured && sending.message.class != Class::Long {
                self.open -= 1;
            }
        }
        if sending.machine.is_closed() {
            return self.remove_d3_sender(index);
        }
        let due = sending.machine.next_timeout();
        let (host, class) = (sending.message.source, sending.class);
        let ready = sending.ready;
        if due < sending.armed {
            let (slot, armed) = (sending.slot, sending.armed);
            let armed = self.arm(host, slot, due, armed);
            self.d3.senders[index as usize].armed = armed;
        }
        if !ready {
            self.offer_sender(host, class, Sender::D3(index));
        }
    }

    /// Notes whether the sender is in the ready queue: it is if it can transmit.
    pub(super) fn set_d3_ready(&mut self, index: u32) -> bool {
        let sending = &mut self.d3.senders[index as usize];
        sending.ready = sending
            .machine
            .can_transmit(self.setup.d3(sending.transport));
        sending.ready
    }

    fn remove_d3_sender(&mut self, index: u32) {
        let sending = self.d3.senders.remove(index as usize);
        let host = sending.message.source;
        self.hosts[host as usize].free_slot(sending.slot);
        if sending.ready {
            self.forget_ready(host, Sender::D3(index));
        }
        self.records.add_d3(sending.record, &sending.machine);
    }

    pub(super) fn d3_sender_timer(&mut self, index: u32) {
        let now = self.now;
        let Some(sending) = self.d3.senders.get_mut(index as usize) else {
            return;
        };
        if sending.armed != now {
            return;
        }
        sending.armed = Time::MAX;
        if sending.machine.next_timeout() <= now {
            let before = sending.machine.counters().timeouts;
            sending
                .machine
                .timeout(self.setup.d3(sending.transport), now);
            if sending.machine.counters().timeouts > before {
                let hash = sending.hash;
                self.observe(hash, FlowEventKind::Timeout);
            }
        }
        self.after_d3_sender(index);
    }

    pub(super) fn d3_receiver_timer(&mut self, index: u32) {
        let now = self.now;
        let Some(receiving) = self.d3.receivers.get_mut(index as usize) else {
            return;
        };
        if receiving.armed != now {
            return;
        }
        receiving.armed = Time::MAX;
        if receiving.forget_at <= now {
            let receiving = self.d3.receivers.remove(index as usize);
            self.hosts[receiving.message.destination as usize].free_slot(receiving.slot);
            self.receivers.remove(&receiving.message.flow);
            return;
        }
        if receiving.machine.next_timeout() <= now {
            receiving
                .machine
                .timeout(self.setup.d3(receiving.transport), now);
        }
        self.after_d3_receiver(index);
    }

    /// The host dies: its endpoints are gone.
    pub(super) fn forget_d3(&mut self, host: u32) {
        let senders: Vec<u32> = self
            .d3
            .senders
            .iter()
            .filter(|(_, s)| s.message.source == host)
            .map(|(i, _)| i as u32)
            .collect();
        for index in senders {
            self.remove_d3_sender(index);
        }
        let receivers: Vec<usize> = self
            .d3
            .receivers
            .iter()
            .filter(|(_, r)| r.message.destination == host)
            .map(|(i, _)| i)
            .collect();
        for index in receivers {
            let receiving = self.d3.receivers.remove(index);
            self.hosts[host as usize].free_slot(receiving.slot);
            self.receivers.remove(&receiving.message.flow);
        }
    }

    pub(super) fn account_open_d3(&mut self) {
        for (_, sending) in &self.d3.senders {
            self.records.add_d3(sending.record, &sending.machine);
        }
    }

    /// Bytes that D3 senders of `host` were granted for an earlier slot and have not sent.
    pub(super) fn overdue(&self, host: u32) -> u64 {
        let queued = self.hosts[host as usize]
            .ready
            .iter()
            .map(|(_, sender)| sender);
        let ready = self.nics[host as usize].next.iter().chain(queued);
        ready
            .filter_map(|sender| match sender {
                Sender::D3(index) => self.d3.senders.get(*index as usize),
                Sender::Tcp(_) => None,
            })
            .map(|sending| sending.machine.overdue())
            .sum()
    }
}

/// How long a receiver remembers a closed flow, so that a repeated FIN is answered.
fn linger(config: &d3::Config) -> Span {
    config.rto_min * 16
}
