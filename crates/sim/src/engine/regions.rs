//! A large network region by region. The state of a thousand ports fits the processor's caches, that of a hundred
//! thousand does not. So a region is run alone for as long as nothing from outside can reach it, which is the latency
//! of the links that lead into it and twice that where it borders only on regions that do not border on each other, as
//! racks do on the switches above them; then the next one is. The result does not depend on it: it is the one of
//! conservative windows on several threads (`parallel`), on one.

use super::{LARGE, MEDIUM, Partition, SMALL, foresight};
use crate::partition::Regions;
use crate::queue::EventQueue;
use crate::topology::Network;
use duetime_core::{Span, Time};

/// Links per region, about.
const LINKS: usize = 640;
/// Packets of full size that the fastest link can send within the latency of a link, at least: with fewer a port is
/// hardly looked at twice before it is the next region's turn, and nothing is won.
const PACKETS: u64 = 2;

/// How many regions a network pays for.
pub fn worthwhile(network: &Network) -> usize {
    let links = network.links.len();
    if links < foresight::LARGE {
        return 1;
    }
    let fast = network.links.iter().map(|link| link.rate).max();
    let packet = fast.map_or(Span::ZERO, |rate| rate.transmit(1_538));
    let latency = network.links.iter().map(|link| link.latency).min();
    if latency.unwrap_or(Span::ZERO).as_ps() < PACKETS * packet.as_ps() {
        return 1;
    }
    (links / LINKS).min(EventQueue::MOST_REGIONS)
}

/// Where the regions of a partition stand.
pub(super) struct Turns {
    /// Per region: those with a link into it, each with the shortest latency of these links.
    neighbours: Vec<Vec<(u16, Span)>>,
    /// Per region: its events before this time have all been processed.
    clocks: Vec<Time>,
}

impl Turns {
    pub(super) fn new(regions: &Regions) -> Self {
        Self {
            neighbours: regions.neighbours.clone(),
            clocks: vec![Time::ZERO; regions.len()],
        }
    }

    /// When something from another region may reach this one.
    fn horizon(&self, region: usize) -> Time {
        self.neighbours[region]
            .iter()
            .map(|&(from, latency)| self.clocks[usize::from(from)] + latency)
            .min()
            .unwrap_or(Time::MAX)
    }
}

impl Partition {
    /// Processes every event before `end`.
    pub fn run_before(&mut self, end: Time) {
        if self.turns.clocks.len() > 1 {
            return self.run_in_turns(end);
        }
        match self.ports.len() {
            foresight::LARGE.. => self.run::<LARGE, true>(end),
            foresight::MEDIUM.. => self.run::<MEDIUM, true>(end),
            _ => self.run::<SMALL, true>(end),
        }
    }

    fn run_in_turns(&mut self, end: Time) {
        loop {
            let next = self.next_event();
            if next >= end {
                return;
            }
            // No region sends anything before the next event of all.
            for clock in &mut self.turns.clocks {
                *clock = next.max(*clock);
            }
            for region in 0..self.turns.clocks.len() {
                let horizon = self.turns.horizon(region).min(end);
                self.turns.clocks[region] = horizon;
                if self.queue.next_time_of(region) < horizon.as_ps() {
                    self.queue.enter(region);
                    self.run::<MEDIUM, false>(horizon);
                }
            }
        }
    }

    /// The region of a link's far end.
    #[inline]
    pub(super) fn region_of_target(&self, link: u32) -> usize {
        usize::from(self.target_region[link as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn lasts one latency where regions border on each other, two where they do not.
    #[test]
    fn a_turn_ends_when_a_neighbour_may_be_heard() {
        let us = Span::from_us;
        let region_of = vec![0; 3];
        let around = |of: u16| {
            (0..3)
                .filter(|&other| other != of)
                .map(|other| (other, us(20)))
                .collect()
        };
        let ring = Regions {
            region_of: region_of.clone(),
            neighbours: (0..3).map(around).collect(),
        };
        assert_eq!(
            turns_of(&ring, 2),
            [[20, 20, 40], [40, 60, 60]].map(|turn| turn.map(|at| Time::ZERO + us(at)))
        );
        let star = Regions {
            region_of,
            neighbours: vec![
                vec![(2, us(20))],
                vec![(2, us(20))],
                vec![(0, us(20)), (1, us(30))],
            ],
        };
        assert_eq!(
            turns_of(&star, 2),
            [[20, 20, 40], [60, 60, 80]].map(|turn| turn.map(|at| Time::ZERO + us(at)))
        );
    }

    /// The clocks after each of the first turns.
    fn turns_of(regions: &Regions, count: usize) -> Vec<[Time; 3]> {
        let mut turns = Turns::new(regions);
        let mut seen = Vec::new();
        for _ in 0..count {
            for region in 0..3 {
                turns.clocks[region] = turns.horizon(region);
            }
            seen.push([0, 1, 2].map(|region| turns.clocks[region]));
        }
        seen
    }
}
