//! Sending end of a D3 flow.

use super::contents::{Extra, is_plain, is_short, plain};
use super::packets::{create, header_bytes};
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Sender};
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::d3;
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Sending end of a D3 flow. Most packets have no request; they take a short path.
pub struct Sending {
    machine: d3::Sender,
    config: Arc<d3::Config>,
    /// True after the quenching of the flow was recorded.
    quenched: bool,
    /// Index of the flow's record.
    record: u32,
    message: Message,
}

impl Sending {
    /// Processes any packet from the receiver.
    #[inline(never)]
    fn input_any(&mut self, binding: &mut Binding, context: &mut Context, packet: Packet) {
        let mut inner = match context.take::<Extra>(&packet) {
            Some(extra) => {
                binding.peer = extra.reply;
                extra.packet
            }
            None => plain(&packet, header_bytes(&self.config, context)),
        };
        if let Some(faults) = &mut context.faults {
            faults.falsify_feedback(binding.host, self.message.flow, &mut inner);
        }
        self.machine.input(&self.config, context.now(), &inner);
        if !context.recorder.is_observing() {
            return;
        }
        let allocation_bps = self.machine.rate().to_rate(self.config.exponent()).as_bps();
        context.observe(packet.flow, FlowEventKind::Acked { seq: inner.seq });
        if inner.flags.contains(d3::Flags::SYN) {
            context.observe(packet.flow, FlowEventKind::Established);
        }
        if inner.flags.contains(d3::Flags::FEEDBACK) {
            context.observe(packet.flow, FlowEventKind::Granted { allocation_bps });
            if allocation_bps == 0 {
                context.observe(packet.flow, FlowEventKind::Paused);
            }
        }
    }

    /// Returns the next packet: `polled` if the machine already returned a plain one, given by position and length.
    #[inline(never)]
    fn poll_any(
        &mut self,
        binding: &Binding,
        context: &mut Context,
        index: u32,
        polled: Option<(u64, u32)>,
    ) -> Option<Packet> {
        // The packet is large: refer to it instead of moving it.
        let mut polled = match polled {
            Some((seq, len)) => Some(d3::Packet {
                seq,
                len,
                ..d3::Packet::default()
            }),
            None => self.machine.poll_transmit(&self.config, context.now()),
        };
        let inner = polled.as_mut()?;
        if let Some(faults) = &mut context.faults {
            faults.falsify_request(binding.host, self.message.flow, inner);
        }
        if context.recorder.is_observing() {
            observe_sent(context, binding.hash, inner);
        }
        let bytes = inner.wire_bytes(&self.config);
        let mut packet = create(binding, context, inner.seq, bytes, 0);
        if !is_plain(inner, 0) {
            let opens = inner.flags.contains(d3::Flags::SYN);
            packet.extra = context.attach(Extra {
                packet: *inner,
                reply: index,
                message: opens.then(|| Box::new(self.message.clone())),
                flow: self.message.flow,
                deadline: self.message.deadline,
            });
        }
        Some(packet)
    }
}

impl Sender for Sending {
    type Config = d3::Config;

    fn open(context: &Context, config: &Arc<d3::Config>, message: &Message) -> Self {
        let network = &context.setup.network;
        let uplink = network.uplink[message.source as usize];
        let rate = network.links[uplink as usize].rate;
        let submitted = duetime_proto::Message::new(message.length(), message.deadline);
        Self {
            machine: d3::Sender::new(config, context.now(), rate, submitted),
            config: Arc::clone(config),
            quenched: false,
            record: NONE,
            message: message.clone(),
        }
    }

    fn submit(&mut self, _context: &mut Context, _message: Message, record: u32) {
        self.record = record;
    }

    #[inline(always)]
    fn input(&mut self, binding: &mut Binding, context: &mut Context, packet: Packet) {
        if packet.extra != NONE || context.recorder.is_observing() {
            return self.input_any(binding, context, packet);
        }
        let seq = u64::from(packet.seq);
        self.machine.input_plain(&self.config, context.now(), seq);
    }

    #[inline(always)]
    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        match self.machine.poll_plain(&self.config, context.now()) {
            Some((seq, len)) if is_short(seq) && !context.recorder.is_observing() => {
                let bytes = self.config.wire.header_bytes + len;
                Some(create(binding, context, seq, bytes, 0))
            }
            polled => self.poll_any(binding, context, index, polled),
        }
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit(&self.config)
    }

    #[inline(always)]
    fn may_transmit(&self) -> bool {
        self.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    #[inline(always)]
    fn timeout(&mut self, binding: &mut Binding, context: &mut Context) {
        let expired = self.machine.timeout(&self.config, context.now());
        if !context.recorder.is_observing() {
            return;
        }
        let Some(timer) = expired else {
            return;
        };
        let timer = match timer {
            d3::Timer::Handshake => Timer::Handshake,
            d3::Timer::Request => Timer::Request,
            d3::Timer::Retransmission => Timer::Retransmission,
            d3::Timer::Pause => Timer::Pause,
            d3::Timer::Pace => Timer::Pace,
        };
        context.observe(binding.hash, FlowEventKind::Timer(timer));
    }

    /// Quenches the flow. A FIN notifies the routers and the receiver.
    #[cold]
    fn abort(
        &mut self,
        _context: &mut Context,
        matches: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        if self.machine.is_quenched() || !matches(&self.message) {
            return None;
        }
        self.machine.close();
        let closes = self.machine.is_quenched();
        closes.then_some((self.record, Aborted::Closing))
    }

    fn needs_settling(&self) -> bool {
        self.machine.is_closed() || self.machine.is_quenched()
    }

    fn settle(&mut self, context: &mut Context) {
        if !self.machine.is_quenched() || std::mem::replace(&mut self.quenched, true) {
            return;
        }
        context.recorder.records.flows[self.record as usize].quenched = true;
        // A flow that was hopeless from the start never reaches a receiver that could record its end.
        if self.machine.counters().requests == 0 {
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
        flow.requests = counters.requests;
        flow.delivered_bytes = self.machine.acked().min(flow.size_bytes);
    }

    fn overdue(&self) -> u64 {
        self.machine.overdue()
    }
}

/// Records the transmission of a packet and the rate that it requests.
fn observe_sent(context: &mut Context, hash: u32, packet: &d3::Packet) {
    let kind = FlowEventKind::Sent {
        seq: packet.seq,
        len: packet.len,
        retransmit: packet.flags.contains(d3::Flags::RETRANSMIT),
    };
    context.observe(hash, kind);
    if let Some(request) = &packet.request {
        let desired_bps = request.desired.to_rate(request.scale).as_bps();
        context.observe(hash, FlowEventKind::RequestSent { desired_bps });
    }
}
