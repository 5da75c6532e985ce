//! A large network sub-partition by sub-partition. The state of a thousand ports fits the processor's caches, that of
//! a hundred thousand does not. So a sub-partition is run alone for as long as nothing from outside can reach it,
//! which is the latency of the links that lead into it and twice that where it borders only on sub-partitions that do
//! not border on each other, as racks do on the switches above them; then the next one is. The result does not depend
//! on it: these are the conservative windows of several threads (`parallel`), on one.

use super::{LARGE, MEDIUM, Partition, SMALL, prefetch};
use crate::partition::Subpartitions;
use crate::queue::EventQueue;
use crate::topology::Network;
use duetime_core::{Span, Time};
use std::hint::black_box;

/// Links per sub-partition, about.
const LINKS: usize = 640;
/// Packets of full size that the fastest link can send within the latency of a link, at least: with fewer a port is
/// hardly looked at twice within a window, and nothing is won.
const PACKETS: u64 = 2;

/// How many sub-partitions a network pays for.
pub fn worthwhile(network: &Network) -> usize {
    let links = network.links.len();
    if links < prefetch::LARGE {
        return 1;
    }
    let fast = network.links.iter().map(|link| link.rate).max();
    let packet = fast.map_or(Span::ZERO, |rate| rate.transmit(1_538));
    let latency = network.links.iter().map(|link| link.latency).min();
    if latency.unwrap_or(Span::ZERO).as_ps() < PACKETS * packet.as_ps() {
        return 1;
    }
    (links / LINKS).min(EventQueue::MOST_SUBPARTITIONS)
}

/// The windows of a partition's sub-partitions.
pub(super) struct Windows {
    /// Per sub-partition: those with a link into it, each with the shortest latency of these links.
    neighbours: Vec<Vec<(u16, Span)>>,
    /// Per sub-partition: its events before this time have all been processed.
    clocks: Vec<Time>,
}

impl Windows {
    pub(super) fn new(subpartitions: &Subpartitions) -> Self {
        Self {
            neighbours: subpartitions.neighbours.clone(),
            clocks: vec![Time::ZERO; subpartitions.len()],
        }
    }

    /// Where the window of a sub-partition ends: something from another one may reach it then.
    fn horizon(&self, subpartition: usize) -> Time {
        self.neighbours[subpartition]
            .iter()
            .map(|&(from, latency)| self.clocks[usize::from(from)] + latency)
            .min()
            .unwrap_or(Time::MAX)
    }
}

impl Partition {
    /// Processes every event before `end`.
    pub fn run_before(&mut self, end: Time) {
        if self.context.events.windows.clocks.len() > 1 {
            return self.run_in_windows(end);
        }
        loop {
            let until = self.complete_queue(end);
            self.context.events.follow_density(self.wire.packet_hops());
            match self.wire.links() {
                prefetch::LARGE.. => self.run::<LARGE, true>(until),
                prefetch::MEDIUM.. => self.run::<MEDIUM, true>(until),
                _ => self.run::<SMALL, true>(until),
            }
            if until == end {
                return;
            }
        }
    }

    /// Moves the events that are due before `end`, or as soon as the calendar reaches, into the queue; returns until when
    /// it is complete. What their timers belong to has rested for long: it is read now, for all of them at once.
    fn complete_queue(&mut self, end: Time) -> Time {
        let (hosts, endpoints) = (&self.hosts, &self.endpoints);
        self.context.events.complete_queue(end, |host, slot| {
            black_box(endpoints.prefetch_owner(hosts.owner(host, slot)));
        })
    }

    fn run_in_windows(&mut self, end: Time) {
        loop {
            let next = self.next_event();
            if next >= end {
                return;
            }
            let end = self.complete_queue(end);
            // No sub-partition sends anything before the next event of all.
            let clocks = &mut self.context.events.windows.clocks;
            for clock in &mut *clocks {
                *clock = next.max(*clock);
            }
            for subpartition in 0..clocks.len() {
                let events = &mut self.context.events;
                let horizon = events.windows.horizon(subpartition).min(end);
                events.windows.clocks[subpartition] = horizon;
                if events.queue.next_time_of(subpartition) < horizon.as_ps() {
                    events.queue.enter(subpartition);
                    self.run::<MEDIUM, false>(horizon);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window lasts one latency where sub-partitions border on each other, two where they do not.
    #[test]
    fn a_window_ends_when_a_neighbour_may_be_heard() {
        let us = Span::from_us;
        let of_node = vec![0; 3];
        let around = |of: u16| {
            (0..3)
                .filter(|&other| other != of)
                .map(|other| (other, us(20)))
                .collect()
        };
        let ring = Subpartitions {
            of_node: of_node.clone(),
            neighbours: (0..3).map(around).collect(),
        };
        assert_eq!(
            windows_of(&ring, 2),
            [[20, 20, 40], [40, 60, 60]].map(|window| window.map(|at| Time::ZERO + us(at)))
        );
        let star = Subpartitions {
            of_node,
            neighbours: vec![
                vec![(2, us(20))],
                vec![(2, us(20))],
                vec![(0, us(20)), (1, us(30))],
            ],
        };
        assert_eq!(
            windows_of(&star, 2),
            [[20, 20, 40], [60, 60, 80]].map(|window| window.map(|at| Time::ZERO + us(at)))
        );
    }

    /// The clocks after each of the first windows.
    fn windows_of(subpartitions: &Subpartitions, count: usize) -> Vec<[Time; 3]> {
        let mut windows = Windows::new(subpartitions);
        let mut seen = Vec::new();
        for _ in 0..count {
            for subpartition in 0..3 {
                windows.clocks[subpartition] = windows.horizon(subpartition);
            }
            seen.push([0, 1, 2].map(|subpartition| windows.clocks[subpartition]));
        }
        seen
    }
}
