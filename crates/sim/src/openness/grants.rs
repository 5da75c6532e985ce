//! A receiver-driven transport: a sender transmits its first packets without a handshake, and further packets when the
//! receiver grants them. One receiver per host schedules all flows into it and grants packets of the flows with the
//! fewest remaining bytes. The receiver chooses the class of the packets that it grants; the sender chooses the class
//! of the first packets.

use crate::capture::Decoded;
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Endpoint, Listed, Receiver, Sender};
use crate::packet::{Packet, REVERSE};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Name of the transport that uses this family.
pub const NAME: &str = "grants";
/// Payload of a packet, in bytes.
pub const PAYLOAD: u64 = 1_460;
const HEADER_BYTES: u32 = 40;
/// Number of packets that a sender transmits at once, and that a receiver keeps in flight.
const WINDOW: u64 = 16;
/// Classes: retransmissions and control packets, first packets, and packets granted to the flows with the fewest and
/// second fewest remaining bytes.
const REPAIR: u8 = 0;
const FIRST: u8 = 1;
const GRANTED: [u8; 2] = [2, 3];
/// Period of silence after which a packet is assumed lost.
const SILENCE: Span = Span::from_ms(4);

/// Family of the transport.
pub enum Grants {}

/// Contents of a packet.
#[derive(Debug)]
pub enum Extra {
    /// Packet `number` of a message from the sender with index `reply`.
    Data {
        message: Message,
        number: u64,
        reply: u32,
    },
    /// Grant of the packets below `up_to`, to be sent in class `class`.
    Grant { up_to: u64, class: u8 },
    /// Request to retransmit packet `number`.
    Resend { number: u64 },
    /// Notice that all packets arrived.
    Done,
}

impl Endpoint for Grants {
    type Config = ();
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;

    fn opening(extra: &Extra) -> Option<(u32, &Message)> {
        match extra {
            Extra::Data { message, reply, .. } => Some((*reply, message)),
            _ => None,
        }
    }

    fn decode(packet: &Packet, _extra: Option<&Extra>, _overhead: u32) -> Decoded {
        Decoded {
            seq: u64::from(packet.seq),
            ..Decoded::default()
        }
    }
}

/// Sending end of a message.
pub struct Sending {
    message: Message,
    /// Next packet that was never sent.
    next: u64,
    granted: u64,
    class: u8,
    resend: BTreeSet<u64>,
    done: bool,
    timer: Time,
}

impl Sender for Sending {
    type Config = ();

    fn open(context: &Context, _config: &Arc<()>, message: &Message) -> Self {
        Self {
            message: message.clone(),
            next: 0,
            granted: message.bytes.div_ceil(PAYLOAD).min(WINDOW),
            class: FIRST,
            resend: BTreeSet::new(),
            done: false,
            timer: context.now() + SILENCE,
        }
    }

    fn submit(&mut self, _context: &mut Context, _message: Message, _record: u32) {}

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) {
        self.timer = context.now() + SILENCE;
        match context.take::<Grants>(&packet) {
            Some(Extra::Grant { up_to, class }) => {
                self.granted = self.granted.max(up_to);
                self.class = class;
            }
            Some(Extra::Resend { number }) => {
                self.resend.insert(number);
            }
            Some(Extra::Done) => self.done = true,
            Some(Extra::Data { .. }) | None => {}
        }
    }

    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let resent = self.resend.pop_first();
        let number = match resent {
            Some(number) => number,
            None if self.next < self.granted => self.next,
            None => return None,
        };
        self.next = self.next.max(number + 1);
        binding.class = match resent {
            Some(_) => REPAIR,
            None if number < WINDOW => FIRST,
            None => self.class,
        };
        let payload = PAYLOAD.min(self.message.bytes - number * PAYLOAD) as u32;
        let mut packet = Packet::new(
            binding.remote,
            binding.peer,
            binding.hash,
            number as u32,
            (HEADER_BYTES + payload) as u16,
            Packet::label(Grants::FAMILY as u16, binding.class),
        );
        packet.extra = context.attach::<Grants>(Extra::Data {
            message: self.message.clone(),
            number,
            reply: index,
        });
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        !self.done && (self.next < self.granted || !self.resend.is_empty())
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    /// All packets or the last answer may have been lost, so the first packet is sent again.
    fn timeout(&mut self, _binding: &mut Binding, context: &mut Context) {
        self.resend.insert(0);
        self.timer = context.now() + SILENCE;
    }

    fn abort(
        &mut self,
        _context: &mut Context,
        _matches: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        None
    }

    fn needs_settling(&self) -> bool {
        self.done
    }

    fn settle(&mut self, _context: &mut Context) {}

    fn is_closed(&self) -> bool {
        self.done
    }

    fn finish(&mut self, _context: &mut Context) {}
}

/// Receiving end of all flows into a host.
pub struct Receiving {
    /// Incomplete flows, by flow.
    incoming: BTreeMap<u64, Incoming>,
    /// Flows of which all packets arrived.
    complete: BTreeSet<u64>,
    delivered: VecDeque<Message>,
    answers: VecDeque<Answer>,
    timer: Time,
}

/// A flow with missing packets.
struct Incoming {
    message: Message,
    to: Peer,
    packets: u64,
    received: BTreeSet<u64>,
    granted: u64,
    progress: Time,
}

/// Address of a flow's sender.
#[derive(Clone, Copy)]
struct Peer {
    host: u32,
    sender: u32,
    hash: u32,
}

struct Answer {
    to: Peer,
    extra: Extra,
}

impl Receiver for Receiving {
    type Config = ();

    fn open(_context: &Context, _config: &Arc<()>, _message: &Message) -> Self {
        Self {
            incoming: BTreeMap::new(),
            complete: BTreeSet::new(),
            delivered: VecDeque::new(),
            answers: VecDeque::new(),
            timer: Time::MAX,
        }
    }

    fn key(_setup: &Setup, message: &Message) -> u64 {
        u64::from(message.destination)
    }

    fn is_addressed(_binding: &Binding, _packet: &Packet) -> bool {
        true
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) -> u32 {
        let Some(Extra::Data {
            message,
            number,
            reply,
        }) = context.take::<Grants>(&packet)
        else {
            return 0;
        };
        let to = Peer {
            host: message.source,
            sender: reply,
            hash: packet.flow,
        };
        let flow = message.flow;
        if self.complete.contains(&flow) {
            let extra = Extra::Done;
            self.answers.push_back(Answer { to, extra });
            return 0;
        }
        let packets = message.bytes.div_ceil(PAYLOAD);
        let incoming = self.incoming.entry(flow).or_insert_with(|| Incoming {
            message,
            to,
            packets,
            received: BTreeSet::new(),
            granted: packets.min(WINDOW),
            progress: Time::ZERO,
        });
        if incoming.received.insert(number) {
            incoming.progress = context.now();
        }
        let ended = incoming.missing() == 0;
        if ended {
            let over = self.incoming.remove(&flow).expect("just found");
            self.complete.insert(flow);
            self.delivered.push_back(over.message);
            let extra = Extra::Done;
            self.answers.push_back(Answer { to, extra });
        }
        self.schedule();
        self.timer = if self.incoming.is_empty() {
            Time::MAX
        } else {
            self.timer.min(context.now() + SILENCE)
        };
        u32::from(ended)
    }

    fn take_delivered(&mut self) -> Option<(Message, u32)> {
        Some((self.delivered.pop_front()?, 0))
    }

    fn poll_transmit(
        &mut self,
        _binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let Answer { to, extra } = self.answers.pop_front()?;
        let mut packet = Packet::new(
            to.host,
            to.sender,
            to.hash,
            index,
            HEADER_BYTES as u16,
            REVERSE | Packet::label(Grants::FAMILY as u16, REPAIR),
        );
        packet.extra = context.attach::<Grants>(extra);
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        !self.answers.is_empty()
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Requests the missing packets of silent flows.
    fn timeout(&mut self, context: &mut Context) {
        let now = context.now();
        let silent = self.incoming.values_mut();
        for flow in silent.filter(|flow| flow.progress + SILENCE <= now) {
            flow.progress = now;
            let missing = (0..flow.granted).filter(|number| !flow.received.contains(number));
            for number in missing {
                let extra = Extra::Resend { number };
                self.answers.push_back(Answer { to: flow.to, extra });
            }
        }
        self.timer = now + SILENCE;
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn linger(&self) -> Span {
        Span::ZERO
    }
}

impl Receiving {
    /// Grants packets of the two flows with the fewest remaining packets, so that each has a window in flight.
    fn schedule(&mut self) {
        let mut flows: Vec<&mut Incoming> = self.incoming.values_mut().collect();
        flows.sort_by_key(|flow| (flow.missing(), flow.message.flow));
        for (flow, class) in flows.into_iter().zip(GRANTED) {
            let up_to = (flow.received.len() as u64 + WINDOW).min(flow.packets);
            if up_to > flow.granted {
                flow.granted = up_to;
                let extra = Extra::Grant { up_to, class };
                self.answers.push_back(Answer { to: flow.to, extra });
            }
        }
    }
}

impl Incoming {
    /// Returns the number of missing packets.
    fn missing(&self) -> u64 {
        self.packets - self.received.len() as u64
    }
}
