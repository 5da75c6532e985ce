//! Windows in which a large network runs one sub-partition at a time.
//!
//! The state of a switch with its hosts fits the processor's first cache; the state of a thousand switches does not fit
//! the last. So each sub-partition, which is a rack or a switch if there are not too many, runs alone for as long as no
//! other one can affect it, and then the next one runs. Before it runs, the packets that arrive from other ones in this
//! time are gathered (see `wire::inlets`), and the state that they and the other events need is prefetched.
//! This window is the latency of the links into the sub-partition. It is twice that latency if the sub-partition borders
//! only on sub-partitions that do not border on each other, such as racks, which border only on the switches above them.
//! If all switches form two such sides with equal latencies, the sides run in turn (see `sides`), and no sub-partition's
//! window need be computed.
//! Results do not depend on the windows: they are the conservative windows of several threads (`parallel`) on one
//! thread.

use super::events::FULL_FRAME;
use super::size::LARGE_LINKS;
use super::wire::Gathered;
use crate::options::Options;
use crate::partition::Subpartitions;
use crate::queue::EventQueue;
use crate::setup::Setup;
use crate::sides::Sides;
use crate::topology::Network;
use duetime_core::{Span, Time};

/// Minimum mean number of full-size packets that the links of a sub-partition can carry within a window. With fewer, a
/// window has too few events for the time that it takes to open it.
const PACKETS: u128 = 256;
/// Minimum number of sub-partitions. The state of fewer ones does not fit the caches either.
const FEW: u128 = 40;

/// Returns the number of sub-partitions of each partition. `observed` is true if packets are watched, which requires
/// one.
pub fn subpartitions(setup: &Setup, options: &Options, observed: bool) -> usize {
    match options.subpartitions {
        _ if observed || options.windows.is_some() => 1,
        0 => default_subpartitions(&setup.network),
        count => count.min(EventQueue::MAX_SUBPARTITIONS),
    }
}

/// Returns the number of sub-partitions that suits the size and latencies of a network.
fn default_subpartitions(network: &Network) -> usize {
    if network.links.len() < LARGE_LINKS {
        return 1;
    }
    let latency = network.links.iter().map(|link| link.latency).min();
    let bits_per_s: u128 = (network.links.iter())
        .map(|link| u128::from(link.rate.as_bps()))
        .sum();
    let bits = bits_per_s * u128::from(latency.unwrap_or(Span::ZERO).as_ps()) / 1_000_000_000_000;
    let count = bits / u128::from(8 * FULL_FRAME) / PACKETS;
    if count < FEW {
        1
    } else {
        count.min(EventQueue::MAX_SUBPARTITIONS as u128) as usize
    }
}

/// Windows of a partition's sub-partitions.
pub(super) struct Windows {
    /// Neighbours of each sub-partition that have a link into it, with the shortest latency of these links.
    neighbours: Vec<Vec<(u16, Span)>>,
    /// Time before which all events of each sub-partition have been processed.
    pub(super) clocks: Vec<Time>,
    /// Sub-partitions of each side of the network; see [`Subpartitions::sides`].
    pub(super) of_side: Option<[Vec<u16>; 2]>,
    /// Progress of the sides on one thread.
    pub(super) sides: Sides,
    /// True if the last window of a side had many events, so that the next one probably begins with one.
    pub(super) is_busy: bool,
    /// Arrivals over inlets in the current window.
    pub(super) gathered: Gathered,
    /// Ids of the queue's events in the current window; empty between windows.
    pub(super) due: Vec<u32>,
}

impl Windows {
    pub(super) fn new(subpartitions: &Subpartitions) -> Self {
        Self {
            neighbours: subpartitions.neighbours.clone(),
            clocks: vec![Time::ZERO; subpartitions.len()],
            of_side: subpartitions.sides.clone(),
            sides: Sides::new(2, subpartitions.latency),
            is_busy: false,
            gathered: Gathered::default(),
            due: Vec::new(),
        }
    }

    /// Returns the time before which all events of both sides have been processed.
    pub(super) fn reached(&self) -> Time {
        self.sides.reached()
    }

    /// Returns the end of a sub-partition's window: the earliest time at which another sub-partition may affect it.
    pub(super) fn horizon(&self, subpartition: usize) -> Time {
        self.neighbours[subpartition]
            .iter()
            .map(|&(from, latency)| self.clocks[usize::from(from)] + latency)
            .min()
            .unwrap_or(Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window lasts one latency if the neighbours border on each other, two if they do not.
    #[test]
    fn window_ends_at_earliest_neighbour_event() {
        let us = Span::from_us;
        let of_node = vec![0; 3];
        let around = |subpartition: u16| {
            (0..3)
                .filter(|&other| other != subpartition)
                .map(|other| (other, us(20)))
                .collect()
        };
        let ring = Subpartitions {
            of_node: of_node.clone(),
            neighbours: (0..3).map(around).collect(),
            sides: None,
            latency: us(20),
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
            sides: None,
            latency: us(20),
        };
        assert_eq!(
            windows_of(&star, 2),
            [[20, 20, 40], [60, 60, 80]].map(|window| window.map(|at| Time::ZERO + us(at)))
        );
    }

    /// Returns the clocks after each of the first `count` rounds.
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
