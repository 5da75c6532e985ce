//! Endpoints of a partition: a table for each family in the list of [`family`](super::family).

use super::context::Context;
use super::endpoint::{Endpoint, Sender, Table};
use super::family::{Family, Handle, families};
use crate::output::WindowSample;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::Time;
use duetime_scenario::model::Protocol;

/// Family with a table in [`Endpoints`]; implemented by `endpoints!`.
pub trait Listed: Endpoint {
    /// Returns the family's endpoints for modification.
    fn table(endpoints: &mut Endpoints) -> &mut Table<Self>;

    /// Returns the family's endpoints for reading.
    fn table_ref(endpoints: &Endpoints) -> &Table<Self>;
}

/// Generates the tables of a list of families and three macros. `dispatch!(family, T => …)` runs an expression for one
/// family, `every!(T => …)` for all. `dispatch_packet!(packet, T => …, …)` runs the first expression for the family of
/// a packet from a sender, or the second for the family of a packet from a receiver, with one jump for both choices.
/// The compiler checks that every protocol has a family, and warns if it has two.
macro_rules! endpoints {
    (($d:tt) $($family:ident: $module:ident;)+) => {
        /// Endpoints of a partition.
        pub struct Endpoints {
            $($module: Table<crate::engine::$module::$family>,)+
            /// Family by transport of the run.
            families: Vec<Family>,
        }

        impl Endpoints {
            /// Creates empty tables.
            pub fn new(setup: &Setup) -> Self {
                let mut endpoints = Self {
                    $($module: Table::new(),)+
                    families: Vec::new(),
                };
                for (number, transport) in setup.transports.iter().enumerate() {
                    let family = match &transport.protocol {
                        $(Protocol::$family(config) => {
                            endpoints.$module.add(number, *config);
                            Family::$family
                        })+
                    };
                    endpoints.families.push(family);
                }
                endpoints
            }
        }

        $(impl Listed for crate::engine::$module::$family {
            #[inline(always)]
            fn table(endpoints: &mut Endpoints) -> &mut Table<Self> {
                &mut endpoints.$module
            }

            #[inline(always)]
            fn table_ref(endpoints: &Endpoints) -> &Table<Self> {
                &endpoints.$module
            }
        })+

        macro_rules! dispatch {
            ($d family:expr, $d T:ident => $d body:expr) => {
                match $d family {
                    $(crate::engine::family::Family::$family => {
                        type $d T = crate::engine::$module::$family;
                        $d body
                    })+
                }
            };
        }

        macro_rules! dispatch_packet {
            ($d packet:expr, $d T:ident => $d data:expr, $d reply:expr) => {{
                let kind = $d packet.kind();
                $(if kind == crate::engine::family::Family::$family.kind(false) {
                    type $d T = crate::engine::$module::$family;
                    $d data
                } else if kind == crate::engine::family::Family::$family.kind(true) {
                    type $d T = crate::engine::$module::$family;
                    $d reply
                } else)+ {
                    unreachable!("a packet carries the number of a family")
                }
            }};
        }

        macro_rules! every {
            ($d T:ident => $d body:expr) => {
                $({
                    type $d T = crate::engine::$module::$family;
                    $d body;
                })+
            };
        }

        pub(super) use {dispatch, dispatch_packet, every};
    };
}

families!(endpoints, $);

impl Endpoints {
    /// Returns the family of a transport of the run.
    pub fn family(&self, transport: u8) -> Family {
        self.families[usize::from(transport)]
    }

    /// Pulls a packet from a sender in the NIC's ready queue and passes it to `send`. Returns true if there was a
    /// packet, and true if the sender has more. The packet is not returned because copying it from memory right after
    /// it was written field by field would wait for all earlier stores.
    #[inline(never)]
    pub fn pull(
        &mut self,
        context: &mut Context,
        sender: Handle,
        send: impl FnOnce(&mut Context, Packet),
    ) -> (bool, bool) {
        let (packet, more) = dispatch!(sender.family, T => {
            match T::table(self).senders.get_mut(sender.index) {
                Some(end) => end.pull(context, sender.index),
                None => (None, false),
            }
        });
        let Some(packet) = packet else {
            return (false, more);
        };
        send(context, packet);
        (true, more)
    }

    /// Returns a sender's backlog in bytes: data that could have left in earlier round trips and is still unsent.
    pub fn overdue(&self, sender: Handle) -> u64 {
        dispatch!(sender.family, T => T::table_ref(self)
            .senders
            .get(sender.index)
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
        every!(T => for (_, end) in T::table(self).senders.iter_mut() {
            end.machine.finish(context);
        });
    }

    /// Prefetches the endpoint state that an arriving packet will need.
    #[inline(always)]
    pub fn prefetch_input(&self, packet: &Packet) {
        dispatch!(Family::of(packet), T => if packet.is_reverse() {
            T::table_ref(self).prefetch_sender(packet.endpoint);
        } else {
            T::table_ref(self).prefetch_receiver(packet.endpoint);
        });
    }

    /// Prefetches the state of a sender that the NIC will pull from.
    #[inline(always)]
    pub fn prefetch_sender(&self, sender: Handle) {
        dispatch!(sender.family, T => T::table_ref(self).prefetch_sender(sender.index));
    }

    /// Prefetches the state that a sender keeps elsewhere. The sender must have been prefetched.
    #[inline(always)]
    pub fn prefetch_boxed(&self, sender: Handle) {
        dispatch!(sender.family, T => {
            if let Some(end) = T::table_ref(self).senders.get(sender.index) {
                end.machine.prefetch_boxed();
            }
        });
    }

    /// Prefetches the first and last segments that a sender has in flight. [`Self::prefetch_boxed`] must have been
    /// called.
    #[inline(always)]
    pub fn prefetch_segments(&self, sender: Handle) {
        dispatch!(sender.family, T => {
            if let Some(end) = T::table_ref(self).senders.get(sender.index) {
                end.machine.prefetch_segments();
            }
        });
    }

    /// Prefetches the state of a receiver.
    pub fn prefetch_receiver(&self, receiver: Handle) {
        dispatch!(receiver.family, T => T::table_ref(self).prefetch_receiver(receiver.index));
    }
}
