//! Regular shapes, whose routes follow from the numbering of their switches without a search.

use crate::routing::SwitchGraph;

/// A regular shape. Switches are numbered from 0, those with hosts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regular {
    /// Racks, followed by spines. Each rack has one link to each spine.
    LeafSpine {
        /// Number of racks.
        racks: u32,
    },
    /// A fat-tree with 2 `half` pods: edge switches, followed by aggregation switches and core switches.
    FatTree {
        /// Number of edge switches per pod, of aggregation switches per pod, and of links from each to the other layer.
        half: u32,
    },
}

/// Links that a switch takes towards hosts on a range of switches.
pub(crate) enum Towards<'a> {
    /// One link.
    Link(u32),
    /// Any of these links.
    AnyOf(&'a [u32]),
}

impl Regular {
    /// Returns the number of switches with hosts.
    pub fn with_hosts(self) -> u32 {
        match self {
            Self::LeafSpine { racks } => racks,
            Self::FatTree { half } => 2 * half * half,
        }
    }

    /// Returns the number of pods: groups of switches with hosts that have equivalent positions.
    pub fn pods(self) -> u32 {
        match self {
            Self::LeafSpine { racks } => racks,
            Self::FatTree { half } => 2 * half,
        }
    }

    /// Returns the pod of a switch with hosts or of an aggregation switch.
    pub fn pod_of(self, switch: u32) -> u32 {
        match self {
            Self::LeafSpine { .. } => switch,
            Self::FatTree { half } => switch % self.with_hosts() / half,
        }
    }

    /// Returns the maximum length of a shortest path between two hosts, in links.
    pub(crate) fn longest_path(self) -> u32 {
        match self {
            Self::LeafSpine { racks: 1 } => 2,
            Self::LeafSpine { .. } => 4,
            Self::FatTree { .. } => 6,
        }
    }

    /// Computes the routes of `switch`: calls `each` with ranges of other switches with hosts and the links of the
    /// shortest paths to them.
    pub(crate) fn routes<E>(
        self,
        graph: &SwitchGraph,
        switch: u32,
        mut each: impl FnMut(std::ops::Range<u32>, Towards<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let all = self.with_hosts();
        let neighbours = graph.neighbours(switch as usize);
        let above = |from: u32| -> Vec<u32> {
            let up = neighbours.iter().filter(|(to, _)| *to >= from);
            up.map(|&(_, link)| link).collect()
        };
        match self {
            _ if switch < all => {
                let up = above(all);
                each(0..switch, Towards::AnyOf(&up))?;
                each(switch + 1..all, Towards::AnyOf(&up))
            }
            Self::FatTree { half } if switch < 2 * all => {
                let first = self.pod_of(switch) * half;
                let up = above(2 * all);
                each(0..first, Towards::AnyOf(&up))?;
                for &(to, link) in neighbours.iter().filter(|(to, _)| *to < all) {
                    each(to..to + 1, Towards::Link(link))?;
                }
                each(first + half..all, Towards::AnyOf(&up))
            }
            // Each link of a spine or core leads to one group.
            _ => {
                let size = all / self.pods();
                for &(to, link) in neighbours {
                    let first = self.pod_of(to) * size;
                    each(first..first + size, Towards::Link(link))?;
                }
                Ok(())
            }
        }
    }
}
