//! List of the families of transports, the family of a packet, and references to endpoints.

use crate::packet::Packet;

/// Passes the list of families to the macro `generate`, preceded by `dollar`, which must be a dollar sign. Each line
/// has the name of the family, which is also that of its endpoint type and of its [`Protocol`], and the name of its
/// module.
///
/// [`Protocol`]: duetime_scenario::model::Protocol
macro_rules! families {
    ($generate:ident, $dollar:tt) => {
        $generate! { ($dollar)
            Tcp: tcp;
            D3: d3;
            Due: due;
            PFabric: pfabric;
            Homa: homa;
            Pdq: pdq;
            Sird: sird;
        }
    };
}

pub(super) use families;

/// Generates the enum of families.
macro_rules! family {
    (($dollar:tt) $($family:ident: $module:ident;)+) => {
        /// A family of transports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Family {
            $(#[doc = concat!("Family of the module `", stringify!($module), "`.")] $family,)+
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

            /// Returns [`Packet::kind`] of the family's packets; `reverse` is true for those from receivers.
            #[inline(always)]
            pub const fn kind(self, reverse: bool) -> u16 {
                self as u16 | if reverse { Packet::REVERSE_KIND } else { 0 }
            }
        }
    };
}

families!(family, $);

/// Reference to a sender or receiver of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Family of the endpoint.
    pub family: Family,
    /// Index among the family's senders or receivers.
    pub index: u32,
}
