//! Computed routes of regular shapes.
//!
//! Hosts and links of a regular shape are numbered regularly, so a few numbers describe the position of a switch. They
//! are in one cache line, while the tables need four dependent loads.

use super::SwitchGraph;
use crate::topology::{Network, Regular};
use std::ops::Range;

/// Position of a switch in a regular shape: the hosts below it, and its links.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Position {
    /// First host below the switch.
    first: u32,
    /// Number of hosts below the switch.
    hosts: u32,
    /// Reciprocal of the number of hosts below each link down, times 2^`shift`.
    reciprocal: u32,
    shift: u16,
    /// Number of links up, which are equally good for all other hosts.
    ups: u16,
    /// First link down, and the distance from each to the next.
    down: u32,
    down_stride: u32,
    /// First link up, and the distance from each to the next.
    up: u32,
    up_stride: u32,
}

const _: () = assert!(size_of::<Position>() == 32);

/// Maximum number of hosts for which [`quotient`] is exact.
const MAX_HOSTS: u32 = 1 << 30;

/// Returns the positions of all switches, or `None` if the network is not regular.
pub(super) fn positions(network: &Network) -> Option<Vec<Position>> {
    let regular = network.regular?;
    let per_rack = network.hosts() / regular.with_hosts();
    let mut racks = (0..).zip(&network.uplink).map(|(host, &link)| {
        let rack = network.links[link as usize].to - network.hosts();
        rack == host / per_rack
    });
    if network.hosts() > MAX_HOSTS || !racks.all(|is_regular| is_regular) {
        return None;
    }
    let graph = SwitchGraph::new(network);
    let positions = (0..network.switches())
        .map(|switch| Position::new(network, &graph, (regular, per_rack), switch));
    positions.collect()
}

impl Position {
    /// Returns the position of a switch in a network with `per_rack` hosts per rack.
    fn new(
        network: &Network,
        graph: &SwitchGraph,
        (regular, per_rack): (Regular, u32),
        switch: u32,
    ) -> Option<Self> {
        let racks = regular.racks_below(switch);
        let (first, hosts) = (racks.start * per_rack, racks.len() as u32 * per_rack);
        let neighbours = graph.neighbours(switch as usize);
        let (below, above): (Vec<(u32, u32)>, Vec<_>) =
            neighbours.iter().partition(|(to, _)| *to < switch);
        let downs = if below.is_empty() {
            network.downlink[first as usize..(first + hosts) as usize].to_vec()
        } else {
            let parts = below.iter().map(|&(to, _)| regular.racks_below(to));
            if !splits_evenly(&racks, parts) {
                return None;
            }
            links(&below)
        };
        let ups = links(&above);
        let (reciprocal, shift) = reciprocal(hosts / downs.len() as u32);
        let ((down, down_stride), (up, up_stride)) = (progression(&downs)?, progression(&ups)?);
        Some(Self {
            first,
            hosts,
            reciprocal,
            shift,
            ups: u16::try_from(ups.len()).ok()?,
            down,
            down_stride,
            up,
            up_stride,
        })
    }

    /// Returns the link that a packet takes towards `host`. `pick` chooses one of a number of equally good links.
    #[inline(always)]
    pub(super) fn link(&self, host: u32, pick: impl FnOnce(u32) -> u32) -> u32 {
        let below = host.wrapping_sub(self.first);
        if below < self.hosts {
            return self.down + self.down_stride * quotient(below, self.reciprocal, self.shift);
        }
        if self.ups == 1 {
            return self.up;
        }
        self.up + self.up_stride * pick(u32::from(self.ups))
    }
}

/// Returns true if `parts` are equally long and together are `racks`, in order.
fn splits_evenly(racks: &Range<u32>, mut parts: impl ExactSizeIterator<Item = Range<u32>>) -> bool {
    let length = (racks.len() / parts.len()) as u32;
    let mut end = racks.start;
    parts.all(|part| {
        let start = std::mem::replace(&mut end, part.end);
        part == (start..start + length)
    }) && end == racks.end
}

/// Returns the links to neighbours.
fn links(neighbours: &[(u32, u32)]) -> Vec<u32> {
    neighbours.iter().map(|&(_, link)| link).collect()
}

/// Returns the first of `links` and the distance from each to the next, or `None` if the distances differ.
fn progression(links: &[u32]) -> Option<(u32, u32)> {
    let [first, rest @ ..] = links else {
        return Some((0, 0));
    };
    let stride = rest
        .first()
        .map_or(Some(0), |link| link.checked_sub(*first))?;
    let is_regular = links.windows(2).all(|pair| pair[1] == pair[0] + stride);
    is_regular.then_some((*first, stride))
}

/// Returns the reciprocal of `divisor` for [`quotient`]: a factor and a shift.
fn reciprocal(divisor: u32) -> (u32, u16) {
    // The factor exceeds 2^s / divisor by less than 1, where s is the shift and 2^s > 2^30 divisor. So a product with
    // n < 2^30 exceeds n / divisor by less than 1 / divisor after the shift.
    let shift = 31 + divisor.ilog2();
    let factor = (1_u64 << shift).div_ceil(u64::from(divisor));
    (factor as u32, shift as u16)
}

/// Returns `dividend`, which is below [`MAX_HOSTS`], divided by the divisor with this reciprocal.
#[inline(always)]
fn quotient(dividend: u32, factor: u32, shift: u16) -> u32 {
    ((u64::from(dividend) * u64::from(factor)) >> shift) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        for divisor in (1..3_000).chain([65_535, 65_536, 1_000_003, MAX_HOSTS - 1]) {
            let (factor, shift) = reciprocal(divisor);
            let largest = (MAX_HOSTS - 1) / divisor;
            for multiple in [1, 2, 3, largest / 2, largest - largest / 7, largest] {
                let exact = multiple.clamp(1, largest) * divisor;
                for dividend in [exact - 1, exact, (exact + divisor - 1).min(MAX_HOSTS - 1)] {
                    let found = quotient(dividend, factor, shift);
                    assert_eq!(found, dividend / divisor, "{dividend} / {divisor}");
                }
            }
        }
    }

    #[test]
    fn only_equal_distances_are_progressions() {
        assert_eq!(progression(&[]), Some((0, 0)));
        assert_eq!(progression(&[7]), Some((7, 0)));
        assert_eq!(progression(&[7, 9, 11]), Some((7, 2)));
        assert_eq!(progression(&[7, 9, 12]), None);
        assert_eq!(progression(&[9, 7]), None);
    }
}
