//! The list of families, and what is made of it.

use super::{Connection, Endpoint, ReceivingEnd, Sender, SendingEnd};
use crate::capture::Decoded;
use crate::engine::context::Context;
use crate::engine::hosts::Owner;
use crate::output::WindowSample;
use crate::packet::{NONE, Packet};
use crate::setup::Setup;
use duetime_core::Time;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::sync::Arc;

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
    pub(super) connections: FxHashMap<Connection, u32>,
    /// Receivers by [`Receiver::key`](super::Receiver::key).
    pub(super) known: FxHashMap<u64, u32>,
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

    pub(super) fn config(&self, transport: u8) -> &Arc<T::Config> {
        let config = &self.configs[usize::from(transport)];
        config.as_ref().expect("the transport is of this family")
    }
}

/// What `families!` says of a family.
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

pub(in crate::engine) use {dispatch, every};

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

impl Endpoints {
    /// Reads what the timer of an end will need, ahead of time. The value means nothing.
    pub fn prefetch_owner(&self, owner: Owner) -> u64 {
        match owner {
            Owner::Sender(sender) => self.prefetch_sender(sender),
            Owner::Receiver(Handle { family, index }) => dispatch!(family, T => {
                let end = T::table_ref(self).receivers.get(index as usize);
                end.map_or(0, ReceivingEnd::prefetch)
            }),
            Owner::Nobody | Owner::Death { .. } | Owner::Wake { .. } => 0,
        }
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
