//! Fat tree: numbers of its switches, ports and links, and paths.
//!
//! Edge switches come first, followed by aggregation switches and core switches. The first half of the ports of an edge
//! or aggregation switch leads down. A link has the number of the port at its near end, port p of switch s being s·k +
//! p; the hosts' own links follow. For the ends of links, the hosts of each edge switch are one more node: node s is
//! switch s for all switches, and then come the racks of hosts, in which host number i of a rack has port i.

use crate::random::Random;

/// Fat tree whose links have a common rate and a latency of 1 µs.
#[derive(Clone, Copy, Debug)]
pub struct FatTree {
    /// Number of ports of a switch and of pods: an even number up to 64.
    pub k: u32,
    /// Rate of every link in Gbps.
    pub gbps: u32,
}

/// Bits of a port in a path.
pub(crate) const PORT_BITS: u32 = 6;
/// Bit mask of a path's first port.
pub(crate) const PORT: u32 = (1 << PORT_BITS) - 1;

impl FatTree {
    /// Returns the number of hosts.
    pub const fn hosts(self) -> u32 {
        self.racks() * self.half()
    }

    /// Returns the number of edge switches, which is also that of aggregation switches.
    pub(crate) const fn racks(self) -> u32 {
        self.k * self.half()
    }

    /// Returns the number of switches.
    pub(crate) const fn switches(self) -> u32 {
        2 * self.racks() + self.half() * self.half()
    }

    /// Returns half the number of a switch's ports: the number of hosts per rack and of racks per pod.
    pub(crate) const fn half(self) -> u32 {
        self.k / 2
    }

    /// Returns the far end of each link: its node in the high bits, and [`PORT_BITS`] of the node's port.
    pub(crate) fn far_ends(self) -> Vec<u32> {
        let (k, half, racks) = (self.k, self.half(), self.racks());
        let end = |node: u32, port: u32| node << PORT_BITS | port;
        let from_switch = |switch: u32, port: u32| {
            let (pod, place) = (switch % racks / half, switch % half);
            match (switch / racks, port.checked_sub(half)) {
                (0, None) => end(self.switches() + switch, port),
                (0, Some(up)) => end(racks + pod * half + up, place),
                (1, None) => end(pod * half + port, half + place),
                (1, Some(up)) => end(2 * racks + place * half + up, pod),
                _ => {
                    let core = switch - 2 * racks;
                    end(racks + port * half + core / half, half + core % half)
                }
            }
        };
        let between_switches = (0..self.switches() * k).map(|link| from_switch(link / k, link % k));
        let from_hosts = (0..self.hosts()).map(|host| end(host / half, host % half));
        between_switches.chain(from_hosts).collect()
    }

    /// Returns a random one of the shortest paths between two hosts: [`PORT_BITS`] for the port of each switch, in
    /// order from the low bits.
    pub(crate) fn path(self, from: u32, to: u32, random: &mut Random) -> u32 {
        let half = self.half();
        let (from_rack, rack) = (from / half, to / half);
        let pod = rack / half;
        let mut up = || half + random.below(u64::from(half)) as u32;
        let join = |ports: &[u32]| {
            let later_first = ports.iter().rev();
            later_first.fold(0, |path, port| path << PORT_BITS | port)
        };
        if from_rack == rack {
            join(&[to % half])
        } else if from_rack / half == pod {
            join(&[up(), rack % half, to % half])
        } else {
            join(&[up(), up(), pod, rack % half, to % half])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path leads from its source's link to its destination, and crosses as many links as the tree requires.
    #[test]
    fn paths_reach_their_destinations() {
        let tree = FatTree { k: 6, gbps: 10 };
        let ends = tree.far_ends();
        let mut random = Random(0);
        for from in 0..tree.hosts() {
            for to in (0..tree.hosts()).filter(|&to| to != from) {
                let mut path = tree.path(from, to, &mut random);
                let mut end = ends[(tree.switches() * tree.k + from) as usize];
                let mut links = 1;
                while end >> PORT_BITS < tree.switches() {
                    let port = path & PORT;
                    end = ends[((end >> PORT_BITS) * tree.k + port) as usize];
                    path >>= PORT_BITS;
                    links += 1;
                }
                let rack = (end >> PORT_BITS) - tree.switches();
                assert_eq!(rack * tree.half() + (end & PORT), to);
                let least = match (from / 3 == to / 3, from / 9 == to / 9) {
                    (true, _) => 2,
                    (_, true) => 4,
                    _ => 6,
                };
                assert_eq!(links, least);
            }
        }
    }

    /// Each port of each node is the far end of one link.
    #[test]
    fn far_ends_are_distinct() {
        let tree = FatTree { k: 6, gbps: 10 };
        let mut ends = tree.far_ends();
        let links = tree.switches() * tree.k + tree.hosts();
        assert_eq!(ends.len(), links as usize);
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), links as usize);
    }
}
