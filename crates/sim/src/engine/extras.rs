//! Contents of all packets in a partition, by family.

use super::contents::Contents;
use super::family::{Family, families};
use crate::capture::Decoded;
use crate::packet::{NONE, Packet};
use duetime_core::prefetch::prefetch;
use slab::Slab;

/// Contents that [`Extras`] stores; implemented for each family by `extras!`.
pub trait Stored: Contents {
    /// Family of the packets.
    const FAMILY: Family;

    /// Returns the contents of the family's packets for reading.
    fn slab(extras: &Extras) -> &Slab<Self>;

    /// Returns the contents of the family's packets for modification.
    fn slab_mut(extras: &mut Extras) -> &mut Slab<Self>;
}

/// Generates the storage of a list of families. The contents of a family are the type `Extra` of its module.
macro_rules! extras {
    (($dollar:tt) $($family:ident: $module:ident;)+) => {
        /// Protocol-specific contents of packets, in addition to their fixed fields, by family and [`Packet::extra`].
        #[derive(Default)]
        pub struct Extras {
            $($module: Slab<crate::engine::$module::Extra>,)+
        }

        /// Protocol-specific contents of a packet that changes partitions.
        #[derive(Debug)]
        pub enum Extra {
            $(
                #[doc = concat!("Contents of the module `", stringify!($module), "`.")]
                $family(crate::engine::$module::Extra),
            )+
        }

        impl Extras {
            /// Removes and returns the contents of a packet that has some.
            pub fn remove(&mut self, packet: &Packet) -> Extra {
                let index = packet.extra as usize;
                match Family::of(packet) {
                    $(Family::$family => Extra::$family(self.$module.remove(index)),)+
                }
            }

            /// Prefetches the contents of a packet, if it has some, for [`Extras::remove`].
            #[inline(always)]
            pub fn prefetch(&self, packet: &Packet) {
                if packet.extra == NONE {
                    return;
                }
                match Family::of(packet) {
                    $(Family::$family => {
                        if let Some(extra) = self.$module.get(packet.extra as usize) {
                            prefetch(extra);
                        }
                    })+
                }
            }

            /// Stores the contents of a packet. Returns their index for [`Packet::extra`].
            pub fn insert(&mut self, extra: Extra) -> u32 {
                let index = match extra {
                    $(Extra::$family(extra) => self.$module.insert(extra),)+
                };
                index as u32
            }

            /// Frees the contents of a packet that has some and goes no further.
            pub fn discard(&mut self, packet: &Packet) {
                let index = packet.extra as usize;
                match Family::of(packet) {
                    $(Family::$family => drop(self.$module.remove(index)),)+
                }
            }

            /// Returns the packet as a capture would show it. `overhead` is the number of bytes around the IP packet.
            pub fn decode(&self, packet: &Packet, overhead: u16) -> Decoded {
                let overhead = u32::from(overhead);
                match Family::of(packet) {
                    $(Family::$family => Contents::decode(
                        packet,
                        self.peek::<crate::engine::$module::Extra>(packet),
                        overhead,
                    ),)+
                }
            }

            /// Returns true if the packet carries a request to routers.
            pub fn is_request(&self, packet: &Packet) -> bool {
                match Family::of(packet) {
                    $(Family::$family => self
                        .peek::<crate::engine::$module::Extra>(packet)
                        .is_some_and(Contents::is_request),)+
                }
            }
        }

        $(impl Stored for crate::engine::$module::Extra {
            const FAMILY: Family = Family::$family;

            #[inline(always)]
            fn slab(extras: &Extras) -> &Slab<Self> {
                &extras.$module
            }

            #[inline(always)]
            fn slab_mut(extras: &mut Extras) -> &mut Slab<Self> {
                &mut extras.$module
            }
        })+
    };
}

families!(extras, $);

impl Extras {
    /// Returns the contents of a packet, or `None` if it has none or is of another family.
    #[inline]
    pub fn peek<C: Stored>(&self, packet: &Packet) -> Option<&C> {
        let is_of_family = Family::of(packet) == C::FAMILY;
        let extra = C::slab(self).get(packet.extra as usize);
        extra.filter(|_| is_of_family)
    }

    /// Returns the contents of a packet for modification, or `None` if it has none or is of another family.
    #[inline]
    pub fn peek_mut<C: Stored>(&mut self, packet: &Packet) -> Option<&mut C> {
        let is_of_family = Family::of(packet) == C::FAMILY;
        let extra = C::slab_mut(self).get_mut(packet.extra as usize);
        extra.filter(|_| is_of_family)
    }
}
