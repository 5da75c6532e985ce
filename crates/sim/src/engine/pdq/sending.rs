//! Sending end of a PDQ flow.

use super::contents::{Extra, Path};
use super::packets::create;
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Sender};
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::pdq::{self, Kind};
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Sending end of a PDQ flow.
pub struct Sending {
    machine: pdq::Sender,
    config: Arc<pdq::Config>,
    /// True after the end of an abandoned flow was recorded.
    recorded: bool,
    /// Index of the flow's record.
    record: u32,
    message: Message,
}

impl Sender for Sending {
    type Config = pdq::Config;

    fn open(context: &Context, config: &Arc<pdq::Config>, message: &Message) -> Self {
        let network = &context.setup.network;
        let uplink = network.uplink[message.source as usize];
        let rate = network.links[uplink as usize].rate;
        let framing = u32::from(context.frame_overhead);
        let submitted = duetime_proto::Message::new(message.length(), message.deadline);
        Self {
            machine: pdq::Sender::new(config, context.now(), rate, framing, submitted),
            config: Arc::clone(config),
            recorded: false,
            record: NONE,
            message: message.clone(),
        }
    }

    fn submit(&mut self, _context: &mut Context, _message: Message, record: u32) {
        self.record = record;
    }

    fn input(&mut self, binding: &mut Binding, context: &mut Context, packet: Packet) {
        let Some(extra) = context.take::<Extra>(&packet) else {
            return;
        };
        let inner = extra.packet;
        binding.peer = extra.reply;
        let before = self.machine.rate();
        self.machine.input(&self.config, context.now(), &inner);
        if !context.recorder.is_observing() {
            return;
        }
        let allocation_bps = self.machine.rate().as_bps();
        context.observe(packet.flow, FlowEventKind::Acked { seq: inner.seq });
        if inner.kind == Kind::Syn {
            context.observe(packet.flow, FlowEventKind::Established);
        }
        if inner.kind != Kind::Data || before.as_bps() != allocation_bps {
            context.observe(packet.flow, FlowEventKind::Granted { allocation_bps });
            if allocation_bps == 0 {
                context.observe(packet.flow, FlowEventKind::Paused);
            }
        }
    }

    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let inner = self.machine.poll_transmit(&self.config, context.now())?;
        if context.recorder.is_observing() {
            let kind = FlowEventKind::Sent {
                seq: inner.seq,
                len: inner.len,
                retransmit: inner.retransmit,
            };
            context.observe(binding.hash, kind);
        }
        let opens = inner.kind == Kind::Syn;
        let extra = Extra {
            packet: inner,
            reply: index,
            message: opens.then(|| Box::new(self.message.clone())),
            flow: self.message.flow,
            path: Path::default(),
        };
        Some(create(binding, context, extra, 0))
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    fn timeout(&mut self, binding: &mut Binding, context: &mut Context) {
        let timer = match self.machine.timeout(&self.config, context.now()) {
            Some(pdq::Timer::Handshake) => Timer::Handshake,
            Some(pdq::Timer::Retransmission) => Timer::Retransmission,
            Some(pdq::Timer::Probe) => Timer::Pause,
            Some(pdq::Timer::Pace) => Timer::Pace,
            Some(pdq::Timer::Termination) | None => return,
        };
        context.observe(binding.hash, FlowEventKind::Timer(timer));
    }

    /// Abandons the flow. A TERM notifies the ports and the receiver.
    #[cold]
    fn abort(
        &mut self,
        _context: &mut Context,
        matches: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        if self.machine.is_abandoned() || !matches(&self.message) {
            return None;
        }
        self.machine.close();
        let closes = self.machine.is_abandoned();
        closes.then_some((self.record, Aborted::Closing))
    }

    fn needs_settling(&self) -> bool {
        self.machine.is_closed() || self.machine.is_abandoned()
    }

    fn settle(&mut self, context: &mut Context) {
        if !self.machine.is_abandoned() || std::mem::replace(&mut self.recorded, true) {
            return;
        }
        context.recorder.records.flows[self.record as usize].quenched = true;
        // A flow that was infeasible from the start never reaches a receiver that could record its end.
        if self.machine.counters().packets == 0 {
            context.recorder.abandoned(&self.message);
        }
    }

    fn is_closed(&self) -> bool {
        self.machine.is_closed()
    }

    fn finish(&mut self, context: &mut Context) {
        let counters = self.machine.counters();
        let flow = &mut context.recorder.records.flows[self.record as usize];
        flow.timeouts = counters.timeouts;
        flow.retransmits = counters.retransmits;
        flow.requests = counters.packets;
        flow.delivered_bytes = self.machine.acked().min(flow.size_bytes);
    }
}
