//! Port disciplines: an enum of disciplines, and the list of those with their own queue.

use super::queue::Queue;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::{Span, Time};
use duetime_link::{Offer, Port, Sent, SharedBuffer};
use duetime_scenario::Scenario;

/// Generates the enum of disciplines from the list of those with their own queue.
macro_rules! disciplines {
    ($($(#[$attribute:meta])* $name:ident: $queue:ty;)*) => {
        /// Discipline of a port.
        pub enum Discipline {
            /// First come, first served, in the port's own memory.
            Fifo,
            /// Strict priority by class, in the port's own memory.
            StrictPriority,
            /// First come, first served, in the shared memory with this index.
            SharedFifo(u32),
            /// Strict priority by class, in the shared memory with this index.
            SharedStrictPriority(u32),
            $($(#[$attribute])* #[doc = stringify!($queue)] $name(Box<$queue>),)*
        }

        impl Discipline {
            /// Returns the discipline of the port of `link`, whose shared memory, if any, is `pool`. A discipline with
            /// its own queue replaces `port`.
            pub fn choose(
                scenario: &Scenario,
                setup: &Setup,
                link: u32,
                port: &mut Port<Packet>,
                pool: Option<u32>,
            ) -> Self {
                // Avoid unused-variable warnings if the list is empty.
                let _ = (scenario, setup, link);
                $($(#[$attribute])* if let Some((queue, queue_port)) = <$queue>::try_new(scenario, setup, link) {
                    *port = queue_port;
                    return Self::$name(Box::new(queue));
                })*
                match (pool, port.has_classes()) {
                    (None, false) => Self::Fifo,
                    (None, true) => Self::StrictPriority,
                    (Some(pool), false) => Self::SharedFifo(pool),
                    (Some(pool), true) => Self::SharedStrictPriority(pool),
                }
            }

            /// Offers a packet to the port of `link`, which it leaves later by `delay`. Dropped packets are added to
            /// `dropped`. `at_once` is true if the port is idle and has no limit.
            pub fn offer(
                &mut self,
                memory: Memory<'_>,
                now: Time,
                packet: Packet,
                (at_once, delay): (bool, Span),
                dropped: &mut Vec<Packet>,
            ) -> Offer {
                let Memory { ports, pools, link } = memory;
                let offer = match self {
                    Self::Fifo => fifo(offer_fifo(&mut ports[link as usize], now, packet, at_once, delay)),
                    Self::StrictPriority => offer_classed(&mut ports[link as usize], now, packet, delay),
                    // Only switches share memory, and only hosts delay packets.
                    Self::SharedFifo(pool) => {
                        fifo(pools[*pool as usize].offer_fifo(ports, link, now, packet))
                    }
                    Self::SharedStrictPriority(pool) => {
                        pools[*pool as usize].offer(ports, link, now, packet)
                    }
                    $($(#[$attribute])* Self::$name(queue) => {
                        return queue.offer(&mut ports[link as usize], now, packet, dropped);
                    })*
                };
                if offer == Offer::Dropped {
                    dropped.push(packet);
                }
                offer
            }

            /// Sends the next packet of a port that requested a departure event, now that the link is free. Returns the
            /// packet sent and the time of the next departure event, if any.
            pub fn departure(
                &mut self,
                port: &mut Port<Packet>,
                now: Time,
            ) -> Option<(Sent, Option<Time>)> {
                match self {
                    Self::Fifo | Self::SharedFifo(_) => None,
                    Self::StrictPriority | Self::SharedStrictPriority(_) => port.departure(now),
                    $($(#[$attribute])* Self::$name(queue) => queue.departure(port, now),)*
                }
            }

            /// Returns the packets that wait in a queue outside the port.
            pub fn waiting(&self) -> Vec<Packet> {
                match self {
                    Self::Fifo
                    | Self::StrictPriority
                    | Self::SharedFifo(_)
                    | Self::SharedStrictPriority(_) => Vec::new(),
                    $($(#[$attribute])* Self::$name(queue) => queue.waiting().collect(),)*
                }
            }
        }
    };
}

disciplines! {
    #[cfg(test)] LowestLast: crate::openness::LowestLast;
    PFabric: crate::engine::pfabric::RankedQueue;
}

/// A port among all ports, and the shared memories.
pub struct Memory<'a> {
    pub ports: &'a mut [Port<Packet>],
    pub pools: &'a mut [SharedBuffer],
    pub link: u32,
}

/// Offers a packet to a port without classes, which it leaves later by `delay`. `at_once` is true if the port is idle
/// and has no limit. Returns `None` if the packet is dropped.
#[inline(always)]
fn offer_fifo(
    port: &mut Port<Packet>,
    now: Time,
    packet: Packet,
    at_once: bool,
    delay: Span,
) -> Option<Sent> {
    if at_once {
        return Some(port.send_at_once(now, packet, delay));
    }
    port.offer_fifo_delayed(now, packet, delay)
}

/// Offers a packet to a port that serves by class, which it leaves later by `delay`.
#[inline(always)]
pub fn offer_classed(port: &mut Port<Packet>, now: Time, packet: Packet, delay: Span) -> Offer {
    match port.offer(now, packet) {
        Offer::Sent(sent) => Offer::Sent(delayed(port, sent, delay)),
        other => other,
    }
}

/// Delays the packet that a host's port just sent.
#[inline(always)]
pub fn delayed(port: &mut Port<Packet>, sent: Sent, delay: Span) -> Sent {
    if delay == Span::ZERO {
        sent
    } else {
        port.delay_last(sent, delay)
    }
}

/// Converts the result of a port without classes to an [`Offer`].
fn fifo(sent: Option<Sent>) -> Offer {
    sent.map_or(Offer::Dropped, Offer::Sent)
}
