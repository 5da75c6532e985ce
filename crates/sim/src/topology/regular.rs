//! Shapes whose routes follow from the numbers of their switches, so that none has to be searched for.

use crate::routing::SwitchGraph;

/// A regular shape. Its switches are numbered from 0, those with hosts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regular {
    /// Racks, then spines; each rack has one link to each spine.
    LeafSpine {
        /// Number of racks.
        racks: u32,
    },
    /// A fat-tree of 2 `half` pods: edge switches, aggregation switches, cores.
    FatTree {
        /// Edge switches in a pod, aggregation switches in a pod, and links from each to the other layer.
        half: u32,
    },
}

/// The links that a switch takes towards hosts on one switch after another.
pub(crate) enum Towards<'a> {
    /// One link.
    Link(u32),
    /// Any of these.
    AnyOf(&'a [u32]),
}

impl Regular {
    /// Number of switches with hosts.
    pub(crate) fn with_hosts(self) -> u32 {
        match self {
            Self::LeafSpine { racks } => racks,
            Self::FatTree { half } => 2 * half * half,
        }
    }

    /// Number of groups of switches with hosts that lie alike to all others.
    pub(crate) fn pods(self) -> u32 {
        match self {
            Self::LeafSpine { racks } => racks,
            Self::FatTree { half } => 2 * half,
        }
    }

    /// The group of a switch with hosts, or of an aggregation switch.
    pub(crate) fn pod_of(self, switch: u32) -> u32 {
        match self {
            Self::LeafSpine { .. } => switch,
            Self::FatTree { half } => switch % self.with_hosts() / half,
        }
    }

    /// Links on the longest of the shortest paths between two hosts.
    pub(crate) fn longest_path(self) -> u32 {
        match self {
            Self::LeafSpine { racks: 1 } => 2,
            Self::LeafSpine { .. } => 4,
            Self::FatTree { .. } => 6,
        }
    }

    /// Where `switch` sends what is for hosts on other switches: tells `each` range of them, in their numbering, and the
    /// shortest ways there. Its own hosts are left out.
    pub(crate) fn ways<E>(
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
                let own = self.pod_of(switch) * half;
                let up = above(2 * all);
                each(0..own, Towards::AnyOf(&up))?;
                for &(to, link) in neighbours.iter().filter(|(to, _)| *to < all) {
                    each(to..to + 1, Towards::Link(link))?;
                }
                each(own + half..all, Towards::AnyOf(&up))
            }
            // A spine or a core: each of its links leads to a group.
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
