//! A receiver-driven transport: a sender transmits its first packets without a handshake, the others when the receiver
//! grants them. One receiver per host spans all flows into it and grants those with the fewest bytes left; it chooses
//! the class of the packets that it grants, the sender that of the first ones.

use crate::capture::Decoded;
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Endpoint, Listed, Receiver, Sender};
use crate::packet::{Packet, REVERSE};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The transport of this name is this one.
pub const NAME: &str = "grants";
/// Payload of a packet, in bytes.
pub const PAYLOAD: u64 = 1_460;
const HEADER_BYTES: u32 = 40;
/// Packets that a sender transmits at once, and packets that a receiver has under way.
const WINDOW: u64 = 16;
/// Classes: what repairs a loss and control, the first packets, and those granted to the flows with the fewest bytes
/// left and the second fewest.
const REPAIR: u8 = 0;
const FIRST: u8 = 1;
const GRANTED: [u8; 2] = [2, 3];
/// Silence after which something was lost.
const SILENCE: Span = Span::from_ms(4);

/// The family.
pub enum Grants {}

/// What a packet carries.
#[derive(Debug)]
pub enum Extra {
    /// Packet `number` of a message, from sender `reply`.
    Data {
        message: Message,
        number: u64,
        reply: u32,
    },
    /// Packets below `up_to` may be sent, in class `class`.
    Grant { up_to: u64, class: u8 },
    /// This packet is missing.
    Resend { number: u64 },
    /// All have come.
    Done,
}

impl Endpoint for Grants {
    type Config = ();
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;

    fn config(setup: &Setup, transport: usize) -> Option<()> {
        (setup.transports[transport].name == NAME).then_some(())
    }

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

/// The sender of a message.
pub struct Sending {
    message: Message,
    /// The next packet that was never sent.
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
        own: u32,
    ) -> Option<Packet> {
        let again = self.resend.pop_first();
        let number = match again {
            Some(number) => number,
            None if self.next < self.granted => self.next,
            None => return None,
        };
        self.next = self.next.max(number + 1);
        binding.class = match again {
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
            reply: own,
        });
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        !self.done && (self.next < self.granted || !self.resend.is_empty())
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Nothing came back: all packets were lost, or the last answer was.
    fn timeout(&mut self, _binding: &mut Binding, context: &mut Context) {
        self.resend.insert(0);
        self.timer = context.now() + SILENCE;
    }

    fn abort(
        &mut self,
        _context: &mut Context,
        _is_meant: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        None
    }

    fn has_news(&self) -> bool {
        self.done
    }

    fn settle(&mut self, _context: &mut Context) {}

    fn is_closed(&self) -> bool {
        self.done
    }

    fn finish(&mut self, _context: &mut Context) {}
}

/// The receiver of all flows into a host.
pub struct Receiving {
    /// By flow.
    incoming: BTreeMap<u64, Incoming>,
    /// Flows of which all packets have come.
    complete: BTreeSet<u64>,
    delivered: VecDeque<Message>,
    answers: VecDeque<Answer>,
    timer: Time,
}

/// A flow of which packets are missing.
struct Incoming {
    message: Message,
    to: Peer,
    packets: u64,
    received: BTreeSet<u64>,
    granted: u64,
    progress: Time,
}

/// Where a flow's sender is.
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

    fn key(message: &Message) -> u64 {
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
        let ended = incoming.left() == 0;
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
        own: u32,
    ) -> Option<Packet> {
        let Answer { to, extra } = self.answers.pop_front()?;
        let mut packet = Packet::new(
            to.host,
            to.sender,
            to.hash,
            own,
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

    /// Asks silent flows for what is missing.
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
    /// Grants to the two flows with the fewest bytes left, so that each has a window under way.
    fn schedule(&mut self) {
        let mut flows: Vec<&mut Incoming> = self.incoming.values_mut().collect();
        flows.sort_by_key(|flow| (flow.left(), flow.message.flow));
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
    /// Packets that are missing.
    fn left(&self) -> u64 {
        self.packets - self.received.len() as u64
    }
}
