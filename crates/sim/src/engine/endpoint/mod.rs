//! The ends of transports in their hosts: what a family of transports is for the engine, and the list of families.
//!
//! The state machines of `proto` decide. An [`Endpoint`] converts between them and the simulator's packets; the glue
//! (`sending`, `receiving`) calls them, keeps their timers and tells the NIC, once for all families.
//!
//! # What a family may do
//!
//! - A sender may transmit as soon as a message is submitted: a handshake is its own affair. A packet whose receiver it
//!   does not know carries an extra that names the message ([`Endpoint::opening`]).
//! - It chooses the strict-priority class of each packet, and with [`Binding::class`] its own among the host's senders.
//! - A receiver belongs to a flow or spans all flows of its host ([`Receiver::key`]): then it schedules all of them, and
//!   each packet that it sends names its destination. What it sends goes before data.
//! - A program at the ports may read and change what its packets carry (see [`Program`](super::wire::Program)).
//!
//! A new family is a module with these types and a line in `families`.

mod families;
mod receiving;
mod sending;

pub use families::{Endpoints, Extra, Family, Handle, Listed, decode, is_request};
pub(super) use families::{dispatch, every};
pub use receiving::ReceivingEnd;
pub use sending::SendingEnd;

use super::context::Context;
use crate::capture::Decoded;
use crate::output::WindowSample;
use crate::packet::Packet;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use std::fmt::Debug;
use std::sync::Arc;

/// A family of transports: those that share their state machines and the form of their packets.
pub trait Endpoint: Listed {
    /// Options of one transport.
    type Config;
    /// The sending end of a connection.
    type Sender: Sender<Config = Self::Config>;
    /// The receiving end of a connection, or of all those into a host.
    type Receiver: Receiver<Config = Self::Config>;
    /// What its packets carry beyond their fixed fields.
    type Extra: Debug;

    /// A packet to a closed receiver starts the time anew for which its state is kept, as in TIME-WAIT (RFC 9293
    /// §3.10.7.8).
    const RESTARTS_LINGER: bool = false;

    /// No packet that opens a connection comes after the last one of its sender: the sender opens before anything else, and
    /// packets of a connection keep their order.
    const OPENS_BEFORE_CLOSING: bool = false;

    /// The options of a transport of the scenario, if it belongs to this family.
    fn config(setup: &Setup, transport: usize) -> Option<Self::Config>;

    /// The long-lived connection that a message belongs to; `None`: it has one of its own.
    fn connection(_setup: &Setup, _message: &Message) -> Option<Connection> {
        None
    }

    /// Of a packet whose receiver its sender may not know: the sender's number, and the message to find or make the
    /// receiver by.
    fn opening(extra: &Self::Extra) -> Option<(u32, &Message)>;

    /// What the wire would show of a packet.
    fn decode(packet: &Packet, extra: Option<&Self::Extra>, headers: u32) -> Decoded;

    /// Whether a packet asks routers for something, so that a fault may lose it.
    fn is_request(_extra: &Self::Extra) -> bool {
        false
    }
}

/// The sending end of a connection: a state machine with the messages that it carries.
pub trait Sender: Sized {
    /// Options of the transport.
    type Config;

    /// A sender for this message and perhaps later ones, without any yet.
    fn open(context: &Context, config: &Arc<Self::Config>, message: &Message) -> Self;

    /// The application submits a message; `record` is the number of its flow's record.
    fn submit(&mut self, context: &mut Context, message: Message, record: u32);

    /// Takes a packet from the receiver.
    fn input(&mut self, binding: &mut Binding, context: &mut Context, packet: Packet);

    /// The next packet that may leave now; `own` is the sender's number, for the receiver to answer to. Called when the
    /// NIC takes the packet.
    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        own: u32,
    ) -> Option<Packet>;

    /// Whether `poll_transmit` would give a packet.
    fn can_transmit(&self) -> bool;

    /// When `timeout` must be called; [`Time::MAX`]: never.
    fn next_timeout(&self) -> Time;

    /// [`Self::next_timeout`] has come.
    fn timeout(&mut self, binding: &mut Binding, context: &mut Context);

    /// Gives up what is left of a message that has not all been sent, if it carries one that `is_meant`: the number of its
    /// record, and what becomes of the sender. It gives up nothing on a connection of several messages, since the bytes
    /// of others follow.
    fn abort(
        &mut self,
        context: &mut Context,
        is_meant: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)>;

    /// Whether [`Self::settle`] has something to do, or the sender is closed.
    fn has_news(&self) -> bool;

    /// Completes the records of messages that are over.
    fn settle(&mut self, context: &mut Context);

    /// Nothing is left to do.
    fn is_closed(&self) -> bool;

    /// Completes the records of all messages: the sender is gone, or the run is over.
    fn finish(&mut self, context: &mut Context);

    /// Bytes that could have left in earlier round trips and still wait: the queue that the sender is at its host.
    fn overdue(&self) -> u64 {
        0
    }

    /// Its congestion window at `now`, if it has one.
    fn window(&self, _now: Time) -> Option<WindowSample> {
        None
    }

    /// Reads what an input will need, ahead of time. The value means nothing.
    fn prefetch(&self) -> u64 {
        0
    }
}

/// What becomes of a sender whose message is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// It is gone at once.
    Gone,
    /// It goes on until its receiver and the routers know.
    Closing,
}

/// The receiving end of a connection, or of all those into a host.
pub trait Receiver: Sized {
    /// Options of the transport.
    type Config;

    /// A receiver for this message and perhaps others.
    fn open(context: &Context, config: &Arc<Self::Config>, message: &Message) -> Self;

    /// Messages of the same key have the same receiver: that of the flow which opened the connection, or the host's.
    fn key(message: &Message) -> u64 {
        message.flow
    }

    /// Whether a packet that names this receiver is meant for it and not for an earlier one of the same number.
    #[inline(always)]
    fn is_addressed(binding: &Binding, packet: &Packet) -> bool {
        binding.hash == packet.flow
    }

    /// Takes a packet from a sender; returns how many messages it completed.
    fn input(&mut self, binding: &mut Binding, context: &mut Context, packet: Packet) -> u32;

    /// A completed message, and how many of its packets came marked.
    fn take_delivered(&mut self) -> Option<(Message, u32)>;

    /// The next packet that it sends; `own` is its number, for senders to send to.
    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        own: u32,
    ) -> Option<Packet>;

    /// Whether `poll_transmit` would give a packet.
    fn can_transmit(&self) -> bool;

    /// When `timeout` must be called; [`Time::MAX`]: never.
    fn next_timeout(&self) -> Time;

    /// [`Self::next_timeout`] has come.
    fn timeout(&mut self, context: &mut Context);

    /// Everything has come and been answered.
    fn is_closed(&self) -> bool;

    /// For how long its state is kept when it is closed, so that repeated packets are answered.
    fn linger(&self) -> Span;

    /// Reads what an input will need, ahead of time. The value means nothing.
    fn prefetch(&self) -> u64 {
        0
    }
}

/// How an end is bound to its host and to the other end.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // with the start of a sender's state one cache line
pub struct Binding {
    /// The hash of the connection, which its packets carry.
    pub hash: u32,
    /// The other end's number in its partition, or [`NONE`](crate::packet::NONE) while it is unknown.
    pub peer: u32,
    /// When the pending timer event is due.
    armed: Time,
    /// The host that it is in.
    pub host: u32,
    /// The other end's host.
    pub remote: u32,
    slot: u32,
    /// Its strict-priority class, 0 the highest.
    pub class: u8,
    /// In the host's ready queue.
    ready: bool,
}

/// A long-lived connection: workload, source and destination.
pub type Connection = (u16, u32, u32);

/// The hash of a connection that its packets carry.
pub fn flow_hash(flow: u64) -> u32 {
    (mix(flow, 0x0f10) >> 32) as u32
}
