//! Sending end of all messages of a host.

use super::contents::Extra;
use super::host_link::host_link;
use super::queue::priority_of;
use crate::engine::context::Context;
use crate::engine::endpoint::host_wide::Outgoing;
use crate::engine::endpoint::{Aborted, Binding, Sender};
use crate::engine::family::Family;
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::pfabric::{self, Body, Config, HEADER_BYTES};
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Sending end of all messages of a host.
pub struct Sending {
    machine: pfabric::Sender<Outgoing>,
    config: Arc<Config>,
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
        let tag = Outgoing::new(message, record);
        self.machine
            .send(&self.config, context.now(), number, bytes, tag);
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) {
        let Some(Extra::Ack { flow, ack }) = context.take::<Extra>(&packet) else {
            return;
        };
        if context.recorder.is_observing() {
            let seq = ack.up_to.saturating_mul(self.config.payload());
            context.observe(packet.flow, FlowEventKind::Acked { seq });
        }
        let now = context.now();
        if let Some((tag, counters)) = self.machine.input(&self.config, now, flow, ack) {
            tag.complete_record(
                context,
                counters.retransmissions,
                counters.timeouts,
                tag.message.bytes,
            );
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
            Packet::label(Family::PFabric as u16, 0),
        );
        packet.extra = context.attach(Extra::Data {
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
        tag.complete_record(context, counters.retransmissions, counters.timeouts, bytes);
        context.recorder.abandoned(&tag.message);
        Some((tag.record, Aborted::Closing))
    }

    fn finish(&mut self, context: &mut Context) {
        for (tag, counters, bytes) in self.machine.open() {
            tag.complete_record(context, counters.retransmissions, counters.timeouts, bytes);
        }
    }
}
