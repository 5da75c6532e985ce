//! Ports under test, driven as the simulator drives them: an event only for the next arrival of a link and, under
//! strict priority with departure notification, for the next departure.

use crate::plain::NEVER;
use crate::schedule::{FarEnd, Memory, Shape};
use crate::{Crossed, Packet};
use duetime_core::{Rate, Span, Time};
use duetime_link::{Offer, Port, Sent, SharedBuffer};

pub struct Driver {
    pub ports: Vec<Port<Packet>>,
    buffer: Option<(Memory, SharedBuffer)>,
    links: Vec<Link>,
}

/// State of one port's link.
struct Link {
    /// Time of the next call of `departure`, or [`NEVER`].
    departure: u64,
    arrival: u64,
    far_end: FarEnd,
    /// Lead of the far end's clock over the port's clock.
    lead: u64,
    crossed: Vec<Crossed>,
}

impl Driver {
    pub fn new(shapes: &[Shape], memory: Option<Memory>) -> Self {
        let ports = shapes.iter().map(|shape| {
            let mut port = Port::new(
                Rate::from_bps(shape.rate_bps),
                Span::from_ps(shape.latency_ps),
            )
            .with_limit(shape.limit)
            .with_mark_at(shape.mark_at)
            .with_classes(shape.classes);
            if matches!(shape.far_end, FarEnd::HereNotified | FarEnd::Remote) {
                port.notify_departures();
            }
            port
        });
        let links = shapes.iter().map(|shape| Link {
            departure: NEVER,
            arrival: NEVER,
            far_end: shape.far_end,
            lead: match shape.far_end {
                FarEnd::Ahead => shape.latency_ps,
                _ => 0,
            },
            crossed: Vec::new(),
        });
        let buffer = memory.map(|memory| {
            let members = (0..shapes.len())
                .filter(|&port| memory.shares(port))
                .map(|port| port as u32);
            (
                memory,
                SharedBuffer::new(memory.capacity_bytes, memory.alpha, members.collect()),
            )
        });
        Self {
            ports: ports.collect(),
            buffer,
            links: links.collect(),
        }
    }

    /// Processes every event before `now`, the departures at `now`, and the arrivals at `now` if requested: arrivals
    /// and offers at `now` may come in either order.
    pub fn run_until(&mut self, now: u64, arrivals_at_now: bool) {
        loop {
            // A departure comes before an arrival at the same time.
            let due = |(port, link): (usize, &Link)| {
                let arrival = match link.arrival {
                    NEVER => NEVER,
                    at => at - link.lead,
                };
                if link.departure <= arrival {
                    (link.departure, 0, port)
                } else {
                    (arrival, 1, port)
                }
            };
            let Some((at, kind, port)) = self.links.iter().enumerate().map(due).min() else {
                return;
            };
            if at > now || (at == now && kind == 1 && !arrivals_at_now) {
                return;
            }
            if kind == 0 {
                self.depart(at, port);
            } else {
                self.arrive(at + self.links[port].lead, port);
            }
        }
    }

    fn depart(&mut self, now: u64, port: usize) {
        let (sent, wake) = self.ports[port]
            .departure(Time::from_ps(now))
            .expect("packets wait");
        self.links[port].departure = wake.map_or(NEVER, Time::as_ps);
        self.sent(now, port, sent);
    }

    fn arrive(&mut self, now: u64, port: usize) {
        let packet = self.ports[port].arriving();
        let next = self.ports[port].arrived_classed(Time::from_ps(now), packet);
        let link = &mut self.links[port];
        link.crossed.push(Crossed {
            number: packet.number,
            marked: packet.marked,
            arrival: now,
        });
        link.arrival = next.map_or(NEVER, Time::as_ps);
    }

    fn sent(&mut self, now: u64, port: usize, sent: Sent) {
        let link = &mut self.links[port];
        if link.far_end == FarEnd::Remote {
            let packet = self.ports[port]
                .last_sent()
                .expect("a packet was just sent");
            link.crossed.push(Crossed {
                number: packet.number,
                marked: packet.marked,
                arrival: sent.arrival.as_ps(),
            });
            self.ports[port].forget_departed(Time::from_ps(now));
            return;
        }
        assert_eq!(
            sent.first,
            link.arrival == NEVER,
            "`first` is true if the driver must schedule an arrival"
        );
        if sent.first {
            link.arrival = sent.arrival.as_ps();
        }
    }

    /// Offers a packet and returns true if it is accepted.
    pub fn offer(&mut self, now: u64, to: usize, packet: Packet) -> bool {
        let time = Time::from_ps(now);
        let offer = match &mut self.buffer {
            Some((memory, buffer)) if memory.shares(to) => {
                buffer.offer(&mut self.ports, to as u32, time, packet)
            }
            _ if self.ports[to].has_classes() || packet.number.is_multiple_of(2) => {
                self.ports[to].offer(time, packet)
            }
            _ => self.ports[to]
                .offer_fifo(time, packet)
                .map_or(Offer::Dropped, Offer::Sent),
        };
        match offer {
            Offer::Dropped => return false,
            Offer::Sent(sent) => self.sent(now, to, sent),
            Offer::Queued { wake } => {
                let notified = matches!(
                    self.links[to].far_end,
                    FarEnd::HereNotified | FarEnd::Remote
                );
                assert_eq!(
                    wake.is_some(),
                    notified && self.links[to].departure == NEVER,
                    "at most one departure is pending"
                );
                if let Some(wake) = wake {
                    self.links[to].departure = wake.as_ps();
                }
            }
        }
        true
    }

    /// Returns the packets that have crossed the link of `port`; for a remote far end, also those still in flight.
    pub fn crossed(&self, port: usize) -> &[Crossed] {
        &self.links[port].crossed
    }
}
