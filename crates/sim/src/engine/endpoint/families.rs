//! List of transport families, and the types and macros generated from it.

use super::{Connection, Endpoint, ReceivingEnd, Sender, SendingEnd};
use crate::capture::Decoded;
use crate::engine::context::Context;
use crate::engine::hosts::Owner;
use crate::output::WindowSample;
use crate::packet::{NONE, Packet};
use crate::setup::Setup;
use duetime_core::Time;
use duetime_scenario::model::Protocol;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::sync::Arc;

/// Reference to a sender or receiver of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Family of the endpoint.
    pub family: Family,
    /// Index among the family's senders or receivers.
    pub index: u32,
}

/// Endpoints of one family in a partition.
pub struct Table<T: Endpoint> {
    pub(super) senders: Slab<SendingEnd<T::Sender>>,
    pub(super) receivers: Slab<ReceivingEnd<T::Receiver>>,
    /// Senders of persistent connections.
    pub(super) connections: FxHashMap<Connection, u32>,
    /// Receivers by [`Receiver::key`](super::Receiver::key).
    pub(super) known: FxHashMap<u64, u32>,
    /// Options by transport of the run; `None` or missing for a transport of another family.
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

    /// Adds a transport of this family.
    fn add(&mut self, transport: usize, config: T::Config) {
        self.configs.resize_with(transport, || None);
        self.configs.push(Some(Arc::new(config)));
    }

    pub(super) fn config(&self, transport: u8) -> &Arc<T::Config> {
        let config = &self.configs[usize::from(transport)];
        config.as_ref().expect("the transport is of this family")
    }
}

/// Link between a family's endpoint type and the generated enums; implemented by `families!`.
pub trait Listed: Sized {
    /// Family of this endpoint type.
    const FAMILY: Family;

    /// Returns the family's endpoints for modification.
    fn table(endpoints: &mut Endpoints) -> &mut Table<Self>
    where
        Self: Endpoint;

    /// Returns the family's endpoints for reading.
    fn table_ref(endpoints: &Endpoints) -> &Table<Self>
    where
        Self: Endpoint;

    /// Returns the contents of the family's packets for modification.
    fn extras(extras: &mut Extras) -> &mut Slab<<Self as Endpoint>::Extra>
    where
        Self: Endpoint;

    /// Returns the contents of the family's packets for reading.
    fn extras_ref(extras: &Extras) -> &Slab<<Self as Endpoint>::Extra>
    where
        Self: Endpoint;
}

/// Generates the enums of a list of families and two macros: `dispatch!(family, T => …)` runs an expression for one
/// family, `every!(T => …)` for all. Each family lists a pattern for its protocol and an expression for the options. The
/// compiler checks that every protocol has a family, and warns if it has two.
macro_rules! families {
    (($d:tt) $($family:ident, $field:ident: $endpoint:ty, $claim:pat => $config:expr;)+) => {
        /// A family of transports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Family {
            $(#[doc = stringify!($endpoint)] $family,)+
        }

        impl Family {
            /// Returns the family of a packet.
            #[inline(always)]
            pub fn of(packet: &Packet) -> Self {
                let number = packet.family();
                $(if number == Self::$family as u16 {
                    return Self::$family;
                })+
                unreachable!("a packet carries the number of a family")
            }
        }

        /// Endpoints of a partition.
        pub struct Endpoints {
            $($field: Table<$endpoint>,)+
            /// Family by transport of the run.
            families: Vec<Family>,
        }

        impl Endpoints {
            /// Creates empty tables.
            pub fn new(setup: &Setup) -> Self {
                let mut endpoints = Self {
                    $($field: Table::new(),)+
                    families: Vec::new(),
                };
                for (number, transport) in setup.transports.iter().enumerate() {
                    let family = match &transport.protocol {
                        $($claim => {
                            endpoints.$field.add(number, $config);
                            Family::$family
                        })+
                    };
                    endpoints.families.push(family);
                }
                endpoints
            }
        }

        /// Protocol-specific contents of packets, in addition to their fixed fields, by family and [`Packet::extra`].
        #[derive(Default)]
        pub struct Extras {
            $($field: Slab<<$endpoint as Endpoint>::Extra>,)+
        }

        /// Protocol-specific contents of a packet that changes partitions.
        #[derive(Debug)]
        pub enum Extra {
            $(#[doc = stringify!($endpoint)] $family(<$endpoint as Endpoint>::Extra),)+
        }

        impl Extras {
            /// Removes and returns the contents of a packet that has some.
            pub fn remove(&mut self, packet: &Packet) -> Extra {
                let index = packet.extra as usize;
                match Family::of(packet) {
                    $(Family::$family => Extra::$family(self.$field.remove(index)),)+
                }
            }

            /// Stores the contents of a packet. Returns their index for [`Packet::extra`].
            pub fn insert(&mut self, extra: Extra) -> u32 {
                let index = match extra {
                    $(Extra::$family(extra) => self.$field.insert(extra),)+
                };
                index as u32
            }
        }

        $(impl Listed for $endpoint {
            const FAMILY: Family = Family::$family;

            #[inline(always)]
            fn table(endpoints: &mut Endpoints) -> &mut Table<Self> {
                &mut endpoints.$field
            }

            #[inline(always)]
            fn table_ref(endpoints: &Endpoints) -> &Table<Self> {
                &endpoints.$field
            }

            #[inline(always)]
            fn extras(extras: &mut Extras) -> &mut Slab<<Self as Endpoint>::Extra> {
                &mut extras.$field
            }

            #[inline(always)]
            fn extras_ref(extras: &Extras) -> &Slab<<Self as Endpoint>::Extra> {
                &extras.$field
            }
        })+

        macro_rules! dispatch {
            ($d family:expr, $d T:ident => $d body:expr) => {
                match $d family {
                    $(crate::engine::endpoint::Family::$family => {
                        type $d T = $endpoint;
                        $d body
                    })+
                }
            };
        }

        macro_rules! every {
            ($d T:ident => $d body:expr) => {
                $({
                    type $d T = $endpoint;
                    $d body;
                })+
            };
        }
    };
}

families! { ($)
    Tcp, tcp: crate::engine::tcp::Tcp, Protocol::Tcp(config) => *config;
    D3, d3: crate::engine::d3::D3, Protocol::D3(config) => *config;
    Due, due: crate::engine::due::Due, Protocol::Due(config) => *config;
    PFabric, pfabric: crate::engine::pfabric::PFabric, Protocol::PFabric(config) => *config;
    Homa, homa: crate::engine::homa::Homa, Protocol::Homa(config) => *config;
    Pdq, pdq: crate::engine::pdq::Pdq, Protocol::Pdq(config) => *config;
    Sird, sird: crate::engine::sird::Sird, Protocol::Sird(config) => *config;
}

pub(in crate::engine) use {dispatch, every};

impl Endpoints {
    /// Returns the family of a transport of the run.
    pub fn family(&self, transport: u8) -> Family {
        self.families[usize::from(transport)]
    }

    /// Pulls a packet from a sender in the NIC's ready queue. Returns the packet and true if the sender has more.
    #[inline(never)]
    pub fn pull(&mut self, context: &mut Context, sender: Handle) -> (Option<Packet>, bool) {
        dispatch!(sender.family, T => match T::table(self).senders.get_mut(sender.index as usize) {
            Some(end) => end.pull(context, sender.index),
            None => (None, false),
        })
    }

    /// Returns a sender's backlog in bytes: data that could have left in earlier round trips and is still unsent.
    pub fn overdue(&self, sender: Handle) -> u64 {
        let index = sender.index as usize;
        dispatch!(sender.family, T => T::table_ref(self)
            .senders
            .get(index)
            .map_or(0, |end| end.machine.overdue()))
    }

    /// Returns the congestion windows of all senders that have one.
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

    /// Completes the records of all unfinished messages at the end of a run.
    pub fn finish(&mut self, context: &mut Context) {
        every!(T => for (_, end) in &mut T::table(self).senders {
            end.machine.finish(context);
        });
    }

    /// Prefetches the endpoint state that an arriving packet will need. The value has no meaning.
    #[inline(always)]
    pub fn prefetch_input(&self, packet: &Packet) -> u64 {
        let index = packet.endpoint as usize;
        dispatch!(Family::of(packet), T => if packet.is_reverse() {
            T::table_ref(self).senders.get(index).map_or(0, SendingEnd::prefetch)
        } else {
            T::table_ref(self).receivers.get(index).map_or(0, ReceivingEnd::prefetch)
        })
    }

    /// Prefetches the state of a sender that the NIC will pull from. The value has no meaning.
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
    /// Prefetches the state of a timer's owner. The value has no meaning.
    pub fn prefetch_owner(&self, owner: Owner) -> u64 {
        match owner {
            Owner::Sender(sender) => self.prefetch_sender(sender),
            Owner::Receiver(Handle { family, index }) => dispatch!(family, T => {
                let end = T::table_ref(self).receivers.get(index as usize);
                end.map_or(0, ReceivingEnd::prefetch)
            }),
            Owner::Free | Owner::Death { .. } | Owner::Wake { .. } => 0,
        }
    }
}

impl Extras {
    /// Returns the contents of a packet, or `None` if it has none or is of another family.
    #[inline]
    pub fn peek<T: Endpoint>(&self, packet: &Packet) -> Option<&T::Extra> {
        let is_of_family = Family::of(packet) == T::FAMILY;
        let extra = T::extras_ref(self).get(packet.extra as usize);
        extra.filter(|_| is_of_family)
    }

    /// Returns the contents of a packet for modification, or `None` if it has none or is of another family.
    #[inline]
    pub fn peek_mut<T: Endpoint>(&mut self, packet: &Packet) -> Option<&mut T::Extra> {
        let is_of_family = Family::of(packet) == T::FAMILY;
        let extra = T::extras(self).get_mut(packet.extra as usize);
        extra.filter(|_| is_of_family)
    }

    /// Frees the contents of a packet that has some and goes no further.
    pub fn discard(&mut self, packet: &Packet) {
        dispatch!(Family::of(packet), T => {
            T::extras(self).remove(packet.extra as usize);
        });
    }
}

impl Context {
    /// Stores the protocol-specific contents of a packet. Returns their index for [`Packet::extra`].
    #[inline]
    pub fn attach<T: Endpoint>(&mut self, extra: T::Extra) -> u32 {
        T::extras(&mut self.extras).insert(extra) as u32
    }

    /// Removes and returns the protocol-specific contents of a packet of the family, or `None` if it has none.
    #[inline]
    pub fn take<T: Endpoint>(&mut self, packet: &Packet) -> Option<T::Extra> {
        if packet.extra == NONE {
            return None;
        }
        Some(T::extras(&mut self.extras).remove(packet.extra as usize))
    }
}

/// Returns the packet as a capture would show it. `overhead` is the number of bytes around the IP packet.
pub fn decode(packet: &Packet, extras: &Extras, overhead: u16) -> Decoded {
    let overhead = u32::from(overhead);
    dispatch!(Family::of(packet), T => T::decode(packet, extras.peek::<T>(packet), overhead))
}

/// Returns true if the packet carries a request to routers.
pub fn is_request(packet: &Packet, extras: &Extras) -> bool {
    dispatch!(Family::of(packet), T => extras.peek::<T>(packet).is_some_and(T::is_request))
}
