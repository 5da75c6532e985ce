//! A port discipline that serves the first packet of the highest class, and that drops the last packet of the lowest
//! class when the queue is full, whichever packet arrives.

use crate::engine::wire::Queue;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::Time;
use duetime_link::{Frame, Offer, Port, Sent};
use duetime_scenario::Scenario;

/// Name of the scenarios that use this discipline at the ports of their switches.
pub const NAME: &str = "lowest-last";
/// Maximum number of queued packets.
const MAX_WAITING: usize = 16;

/// Queued packets, in the order of departure.
#[derive(Default)]
pub struct LowestLast {
    waiting: Vec<Packet>,
}

impl Queue for LowestLast {
    fn try_new(scenario: &Scenario, setup: &Setup, link: u32) -> Option<(Self, Port<Packet>)> {
        let link = &setup.network.links[link as usize];
        let at_switch = setup.network.nodes[link.from as usize].host.is_none();
        (scenario.name == NAME && at_switch)
            .then(|| (Self::default(), Port::new(link.rate, link.latency)))
    }

    fn offer(
        &mut self,
        port: &mut Port<Packet>,
        now: Time,
        packet: Packet,
        dropped: &mut Vec<Packet>,
    ) -> Offer {
        if self.waiting.is_empty() && port.is_idle(now) {
            return port.offer(now, packet);
        }
        let wake = self.waiting.is_empty().then(|| port.busy_until());
        let place = self
            .waiting
            .partition_point(|other| other.class() <= packet.class());
        self.waiting.insert(place, packet);
        if self.waiting.len() > MAX_WAITING {
            let last = self.waiting.pop().expect("more than `MAX_WAITING`");
            port.refuse(last);
            dropped.push(last);
            if place == MAX_WAITING {
                return Offer::Dropped;
            }
        }
        Offer::Queued { wake }
    }

    fn departure(&mut self, port: &mut Port<Packet>, now: Time) -> Option<(Sent, Option<Time>)> {
        let first = (!self.waiting.is_empty()).then(|| self.waiting.remove(0))?;
        let Offer::Sent(sent) = port.offer(now, first) else {
            unreachable!("the port is free and has no limit")
        };
        let more = !self.waiting.is_empty();
        Some((sent, more.then(|| port.busy_until())))
    }

    fn waiting(&self) -> impl Iterator<Item = Packet> + '_ {
        self.waiting.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::{Rate, Span};

    #[test]
    fn last_packet_of_lowest_class_is_dropped() {
        let (mut queue, mut dropped) = (LowestLast::default(), Vec::new());
        let mut port = Port::new(Rate::from_gbps(1), Span::ZERO);
        let packet = |number, class| Packet::new(0, 0, 0, number, 1_500, Packet::label(0, class));
        let mut offer = |number, class| {
            let offer = queue.offer(&mut port, Time::ZERO, packet(number, class), &mut dropped);
            (
                offer,
                dropped
                    .drain(..)
                    .map(|packet| packet.seq)
                    .collect::<Vec<_>>(),
            )
        };
        assert!(matches!(offer(0, 3), (Offer::Sent(_), none) if none.is_empty()));
        for number in 1..=16 {
            let (offer, dropped) = offer(number, 2);
            assert!(matches!(offer, Offer::Queued { wake } if wake.is_some() == (number == 1)));
            assert!(dropped.is_empty());
        }
        assert_eq!(offer(17, 1), (Offer::Queued { wake: None }, vec![16]));
        assert_eq!(offer(18, 2), (Offer::Dropped, vec![18]));
        assert_eq!(offer(19, 3), (Offer::Dropped, vec![19]));
        assert_eq!(port.counters().drops, 3);
        let mut served = Vec::new();
        loop {
            let free = port.busy_until();
            let Some((_, wake)) = queue.departure(&mut port, free) else {
                break;
            };
            served.push(port.last_sent().expect("just sent").seq);
            assert_eq!(wake.is_some(), served.len() < 16);
        }
        assert_eq!(served, [17].into_iter().chain(1..=15).collect::<Vec<_>>());
    }
}
