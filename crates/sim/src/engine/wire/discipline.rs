//! How a port queues: an enum of disciplines, and the list of those with a queue of their own.

use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::{Span, Time};
use duetime_link::{Offer, Port, Sent, SharedBuffer};
use duetime_scenario::Scenario;

/// A discipline with a queue of its own in front of the link; it may drop another packet than the one that arrives. The
/// port's statistics tell what it sends and refuses, but nothing of what waits in this queue.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "no scenario asks for such a discipline yet")
)]
pub trait Queue: Sized {
    /// The queue and the port of `link`, if the scenario wants it there.
    fn of(scenario: &Scenario, setup: &Setup, link: u32) -> Option<(Self, Port<Packet>)>;

    /// A packet comes to the port at `now`. What is dropped, this packet or others, is put into `dropped`; this
    /// packet is among them where [`Offer::Dropped`] is returned.
    fn offer(
        &mut self,
        port: &mut Port<Packet>,
        now: Time,
        packet: Packet,
        dropped: &mut Vec<Packet>,
    ) -> Offer;

    /// The link is free at `now`, as the last [`Offer::Queued`] or departure asked to be told: sends the next packet.
    /// Returns it and when the link is free again, if packets still wait.
    fn departure(&mut self, port: &mut Port<Packet>, now: Time) -> Option<(Sent, Option<Time>)>;

    /// The packets that wait.
    fn waiting(&self) -> impl Iterator<Item = Packet> + '_;
}

/// Makes the enum of disciplines from the list of those with a queue of their own.
macro_rules! disciplines {
    ($($(#[$attribute:meta])* $name:ident: $queue:ty;)*) => {
        /// How a port queues.
        pub enum Discipline {
            /// First come, first served, in memory of its own.
            Fifo,
            /// By class, in memory of its own.
            StrictPriority,
            /// First come, first served, in memory that is shared with other ports: which one.
            SharedFifo(u32),
            /// By class, in memory that is shared with other ports: which one.
            SharedStrictPriority(u32),
            $($(#[$attribute])* #[doc = stringify!($queue)] $name(Box<$queue>),)*
        }

        impl Discipline {
            /// That of the port of `link`, which shares the memory `pool` if there is one. A discipline with a queue
            /// of its own brings its port.
            pub fn of(
                scenario: &Scenario,
                setup: &Setup,
                link: u32,
                port: &mut Port<Packet>,
                pool: Option<u32>,
            ) -> Self {
                // The list may be empty.
                let _ = (scenario, setup, link);
                $($(#[$attribute])* if let Some((queue, own)) = <$queue>::of(scenario, setup, link) {
                    *port = own;
                    return Self::$name(Box::new(queue));
                })*
                match (pool, port.has_classes()) {
                    (None, false) => Self::Fifo,
                    (None, true) => Self::StrictPriority,
                    (Some(pool), false) => Self::SharedFifo(pool),
                    (Some(pool), true) => Self::SharedStrictPriority(pool),
                }
            }

            /// Offers a packet to the port of `link`, which it leaves later by `delay`; what is dropped is put into
            /// `dropped`. `at_once`: the port is idle and has no limit.
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
                    Self::Fifo => fifo(take_in(&mut ports[link as usize], now, packet, at_once, delay)),
                    Self::StrictPriority => {
                        let port = &mut ports[link as usize];
                        match port.offer(now, packet) {
                            Offer::Sent(sent) => Offer::Sent(delayed(port, sent, delay)),
                            other => other,
                        }
                    }
                    // Only switches share memory, and only hosts delay.
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

            /// The link is free: sends the next packet of a port that asked to be told. Returns it and when to tell it
            /// again.
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

            /// The packets that wait in a queue of its own.
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

// The list of disciplines with a queue of their own.
disciplines! {
    #[cfg(test)] LowestLast: crate::openness::LowestLast;
}

/// A port among the others, and the shared memories.
pub struct Memory<'a> {
    pub ports: &'a mut [Port<Packet>],
    pub pools: &'a mut [SharedBuffer],
    pub link: u32,
}

/// Offers a packet to a port without classes, which it leaves later by `delay`; `at_once`: the port is idle and has no
/// limit. `None`: dropped.
#[inline(always)]
pub fn take_in(
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

/// Lets the packet just sent leave later: a host's.
#[inline(always)]
pub fn delayed(port: &mut Port<Packet>, sent: Sent, delay: Span) -> Sent {
    if delay == Span::ZERO {
        sent
    } else {
        port.delay_last(sent, delay)
    }
}

/// What a port without classes says.
fn fifo(sent: Option<Sent>) -> Offer {
    sent.map_or(Offer::Dropped, Offer::Sent)
}
