//! Sending end of all messages of a host.

use super::queue::priority_of;
use super::{Extra, PFabric, host_link};
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Listed, Sender, flow_hash};
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::pfabric::{self, Body, Config, Counters, HEADER_BYTES};
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Message, with its record and the path of its packets.
#[derive(Clone)]
struct Tag {
    message: Arc<Message>,
    /// Index of the flow record.
    record: u32,
    /// Hash that selects the path, as in [`Packet::flow`].
    flow_hash: u32,
}

/// Sending end of all messages of a host.
pub struct Sending {
    machine: pfabric::Sender<Tag>,
    config: Arc<Config>,
}

impl Sending {
    fn complete_record(context: &mut Context, tag: &Tag, counters: Counters, bytes: u64) {
        let flow = &mut context.recorder.records.flows[tag.record as usize];
        flow.delivered_bytes = bytes.min(tag.message.bytes);
        flow.retransmits = counters.retransmissions;
        flow.timeouts = counters.timeouts;
    }
}

impl Sender for Sending {
    type Config = Config;

    fn open(context: &Context, config: &Arc<Config>, message: &Message) -> Self {
        let setup = &context.setup;
        let uplink = setup.network.uplink[message.source as usize];
        Self {
            machine: pfabric::Sender::new(config, &host_link(setup, uplink)),
            config: Arc::clone(config),
        }
    }

    fn is_addressed(_binding: &Binding, _packet: &Packet) -> bool {
        true
    }

    fn submit(&mut self, context: &mut Context, message: Message, record: u32) {
        let (number, bytes) = (message.flow, message.bytes);
        let tag = Tag {
            message: Arc::new(message),
            record,
            flow_hash: flow_hash(number),
        };
        self.machine
            .send(&self.config, context.now(), number, bytes, tag);
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) {
        let Some(Extra::Ack { flow, ack }) = context.take::<PFabric>(&packet) else {
            return;
        };
        if context.recorder.is_observing() {
            let seq = ack.up_to.saturating_mul(self.config.payload());
            context.observe(packet.flow, FlowEventKind::Acked { seq });
        }
        let now = context.now();
        if let Some((tag, counters)) = self.machine.input(&self.config, now, flow, ack) {
            Self::complete_record(context, &tag, counters, tag.message.bytes);
        }
    }

    fn poll_transmit(
        &mut self,
        _binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let config = &*self.config;
        let (data, tag) = self.machine.poll_transmit(config, context.now())?;
        let mut seq = 0;
        if let Body::Payload {
            number,
            is_retransmission,
            ..
        } = data.body
        {
            seq = number.saturating_mul(config.payload());
            if context.recorder.is_observing() {
                let sent = FlowEventKind::Sent {
                    seq,
                    len: data.len,
                    retransmit: is_retransmission,
                };
                context.observe(tag.flow_hash, sent);
            }
        }
        let mut packet = Packet::new(
            tag.message.destination,
            NONE,
            tag.flow_hash,
            priority_of(data.remaining),
            (HEADER_BYTES + data.len) as u16 + context.frame_overhead,
            Packet::label(PFabric::FAMILY as u16, 0),
        );
        packet.extra = context.attach::<PFabric>(Extra::Data {
            message: tag.message,
            body: data.body,
            len: data.len,
            seq,
            reply: index,
        });
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    fn timeout(&mut self, _binding: &mut Binding, context: &mut Context) {
        for tag in self.machine.timeout(&self.config, context.now()) {
            let timer = FlowEventKind::Timer(Timer::Retransmission);
            context.observe(tag.flow_hash, timer);
        }
    }

    #[cold]
    fn abort(
        &mut self,
        context: &mut Context,
        matches: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        let aborted = self.machine.abort(|tag| matches(&tag.message));
        let (tag, counters, bytes) = aborted?;
        Self::complete_record(context, &tag, counters, bytes);
        context.recorder.abandoned(&tag.message);
        Some((tag.record, Aborted::Closing))
    }

    fn needs_settling(&self) -> bool {
        false
    }

    fn settle(&mut self, _context: &mut Context) {}

    fn is_closed(&self) -> bool {
        false
    }

    fn finish(&mut self, context: &mut Context) {
        for (tag, counters, bytes) in self.machine.open() {
            Self::complete_record(context, tag, counters, bytes);
        }
    }
}
