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
//! - Packets of its own are told to programs at the ports by [`super::program`].

mod receiving;
mod sending;

pub use receiving::ReceivingEnd;
pub use sending::SendingEnd;

use super::context::Context;
pub use crate::capture::Decoded;
use crate::output::WindowSample;
use crate::packet::{NONE, Packet};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use rustc_hash::FxHashMap;
use slab::Slab;
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
    /// The other end's number in its partition, or [`NONE`] while it is unknown.
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

/// The sender of a family and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Which family.
    pub family: Family,
    /// Its number among the family's senders, or receivers.
    pub index: u32,
}

/// The ends of one family in a partition.
pub struct Table<T: Endpoint> {
    pub(super) senders: Slab<SendingEnd<T::Sender>>,
    pub(super) receivers: Slab<ReceivingEnd<T::Receiver>>,
    /// Long-lived connections.
    connections: FxHashMap<Connection, u32>,
    /// Receivers by [`Receiver::key`].
    known: FxHashMap<u64, u32>,
    /// By transport of the run; `None`: of another family.
    configs: Vec<Option<Arc<T::Config>>>,
}

impl<T: Endpoint> Table<T> {
    fn new() -> Self {
        Self {
            senders: Slab::new(),
            receivers: Slab::new(),
            connections: FxHashMap::default(),
            known: FxHashMap::default(),
            configs: Vec::new(),
        }
    }

    fn config(&self, transport: u8) -> &Arc<T::Config> {
        let config = &self.configs[usize::from(transport)];
        config.as_ref().expect("the transport is of this family")
    }
}

/// What [`families!`] says of a family.
pub trait Listed: Sized {
    /// Its place in the list.
    const FAMILY: Family;

    /// Its ends.
    fn table(endpoints: &mut Endpoints) -> &mut Table<Self>
    where
        Self: Endpoint;

    /// The same to look at.
    fn table_ref(endpoints: &Endpoints) -> &Table<Self>
    where
        Self: Endpoint;

    /// What one of its packets carries, as what any packet does.
    fn wrap(extra: <Self as Endpoint>::Extra) -> Extra
    where
        Self: Endpoint;

    /// The way back.
    fn unwrap(extra: Extra) -> Option<<Self as Endpoint>::Extra>
    where
        Self: Endpoint;

    /// The same to look at.
    fn peek(extra: &Extra) -> Option<&<Self as Endpoint>::Extra>
    where
        Self: Endpoint;

    /// The same to change.
    fn peek_mut(extra: &mut Extra) -> Option<&mut <Self as Endpoint>::Extra>
    where
        Self: Endpoint;
}

/// Makes the enums of a list of families, and the macros that dispatch over it: `dispatch!(family, T => …)` for one,
/// `every!(T => …)` for all.
macro_rules! families {
    (($d:tt) $($(#[$attribute:meta])* $family:ident, $field:ident: $endpoint:ty;)+) => {
        /// A family of transports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Family {
            $($(#[$attribute])* #[doc = stringify!($endpoint)] $family,)+
        }

        impl Family {
            /// The family of a packet.
            #[inline(always)]
            pub fn of(packet: &Packet) -> Self {
                let number = packet.family();
                $($(#[$attribute])* if number == Self::$family as u16 {
                    return Self::$family;
                })+
                unreachable!("a packet carries the number of a family")
            }
        }

        /// All ends of a partition.
        pub struct Endpoints {
            $($(#[$attribute])* $field: Table<$endpoint>,)+
            /// By transport of the run.
            families: Vec<Family>,
        }

        impl Endpoints {
            /// None yet.
            pub fn new(setup: &Setup) -> Self {
                let mut endpoints = Self {
                    $($(#[$attribute])* $field: Table::new(),)+
                    families: Vec::new(),
                };
                for transport in 0..setup.transports.len() {
                    let mut family = None;
                    $($(#[$attribute])* {
                        let config = <$endpoint>::config(setup, transport).map(Arc::new);
                        if config.is_some() {
                            family = Some(Family::$family);
                        }
                        endpoints.$field.configs.push(config);
                    })+
                    let family = family.expect("a family for each transport");
                    endpoints.families.push(family);
                }
                endpoints
            }
        }

        /// What a packet carries beyond its fixed fields.
        #[derive(Debug)]
        pub enum Extra {
            $($(#[$attribute])* #[doc = stringify!($endpoint)] $family(<$endpoint as Endpoint>::Extra),)+
        }

        $($(#[$attribute])* impl Listed for $endpoint {
            const FAMILY: Family = Family::$family;

            #[inline(always)]
            fn table(endpoints: &mut Endpoints) -> &mut Table<Self> {
                &mut endpoints.$field
            }

            #[inline(always)]
            fn table_ref(endpoints: &Endpoints) -> &Table<Self> {
                &endpoints.$field
            }

            fn wrap(extra: <Self as Endpoint>::Extra) -> Extra {
                Extra::$family(extra)
            }

            fn unwrap(extra: Extra) -> Option<<Self as Endpoint>::Extra> {
                match extra {
                    Extra::$family(extra) => Some(extra),
                    _ => None,
                }
            }

            fn peek(extra: &Extra) -> Option<&<Self as Endpoint>::Extra> {
                match extra {
                    Extra::$family(extra) => Some(extra),
                    _ => None,
                }
            }

            fn peek_mut(extra: &mut Extra) -> Option<&mut <Self as Endpoint>::Extra> {
                match extra {
                    Extra::$family(extra) => Some(extra),
                    _ => None,
                }
            }
        })+

        macro_rules! dispatch {
            ($d family:expr, $d T:ident => $d body:expr) => {
                match $d family {
                    $($(#[$attribute])* crate::engine::endpoint::Family::$family => {
                        type $d T = $endpoint;
                        $d body
                    })+
                }
            };
        }

        macro_rules! every {
            ($d T:ident => $d body:expr) => {
                $($(#[$attribute])* {
                    type $d T = $endpoint;
                    $d body;
                })+
            };
        }
    };
}

// The list of families.
families! { ($)
    Tcp, tcp: crate::engine::tcp::Tcp;
    D3, d3: crate::engine::d3::D3;
    #[cfg(test)] Grants, grants: crate::openness::Grants;
}

pub(super) use {dispatch, every};

impl Endpoints {
    /// The family of a transport of the run.
    pub fn family(&self, transport: u8) -> Family {
        self.families[usize::from(transport)]
    }

    /// The NIC takes a packet from a sender that is in its ready queue; says whether more is ready.
    #[inline(never)]
    pub fn pull(&mut self, context: &mut Context, sender: Handle) -> (Option<Packet>, bool) {
        dispatch!(sender.family, T => match T::table(self).senders.get_mut(sender.index as usize) {
            Some(end) => end.pull(context, sender.index),
            None => (None, false),
        })
    }

    /// Bytes that could have left in earlier round trips and still wait in a sender.
    pub fn overdue(&self, sender: Handle) -> u64 {
        let index = sender.index as usize;
        dispatch!(sender.family, T => T::table_ref(self)
            .senders
            .get(index)
            .map_or(0, |end| end.machine.overdue()))
    }

    /// The congestion windows of all senders that have one.
    pub fn windows(&self, now: Time) -> Vec<WindowSample> {
        let mut windows = Vec::new();
        every!(T => windows.extend(
            T::table_ref(self)
                .senders
                .iter()
                .filter_map(|(_, end)| end.machine.window(now))
        ));
        windows
    }

    /// Completes the records of all messages under way, at the end of a run.
    pub fn finish(&mut self, context: &mut Context) {
        every!(T => for (_, end) in &mut T::table(self).senders {
            end.machine.finish(context);
        });
    }

    /// Reads what the end that a packet reaches will need, ahead of time. The value means nothing.
    #[inline(always)]
    pub fn prefetch_input(&self, packet: &Packet) -> u64 {
        let index = packet.endpoint as usize;
        dispatch!(Family::of(packet), T => if packet.is_reverse() {
            T::table_ref(self).senders.get(index).map_or(0, SendingEnd::prefetch)
        } else {
            T::table_ref(self).receivers.get(index).map_or(0, ReceivingEnd::prefetch)
        })
    }

    /// The same for a sender that the NIC will pull from.
    #[inline(always)]
    pub fn prefetch_sender(&self, sender: Handle) -> u64 {
        let index = sender.index as usize;
        dispatch!(sender.family, T => T::table_ref(self)
            .senders
            .get(index)
            .map_or(0, SendingEnd::prefetch))
    }
}

impl Context {
    /// Puts what a packet carries into the table; returns its place for [`Packet::extra`].
    pub fn attach<T: Endpoint>(&mut self, extra: T::Extra) -> u32 {
        self.extras.insert(T::wrap(extra)) as u32
    }

    /// Takes what a packet carries out of the table.
    pub fn take<T: Endpoint>(&mut self, packet: &Packet) -> Option<T::Extra> {
        if packet.extra == NONE {
            return None;
        }
        T::unwrap(self.extras.remove(packet.extra as usize))
    }

    /// What a packet carries.
    pub fn peek<T: Endpoint>(&self, packet: &Packet) -> Option<&T::Extra> {
        T::peek(self.extras.get(packet.extra as usize)?)
    }
}

/// What the wire would show of a packet; `overhead`: bytes around the IP packet.
pub fn decode(packet: &Packet, extra: Option<&Extra>, overhead: u16) -> Decoded {
    let overhead = u32::from(overhead);
    dispatch!(Family::of(packet), T => T::decode(packet, extra.and_then(T::peek), overhead))
}

/// Whether a packet asks routers for something.
pub fn is_request(packet: &Packet, extra: Option<&Extra>) -> bool {
    dispatch!(Family::of(packet), T => extra.and_then(T::peek).is_some_and(T::is_request))
}

/// The hash of a connection that its packets carry.
pub fn flow_hash(flow: u64) -> u32 {
    (mix(flow, 0x0f10) >> 32) as u32
}
