//! Regular shapes, whose routes follow from the numbering of their switches without a search.

use std::ops::Range;

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

    /// Returns the switches with hosts that are below `switch`, or `switch` itself if it has hosts. The links to
    /// switches of a higher number lead up and are equally good for all other hosts.
    pub(crate) fn racks_below(self, switch: u32) -> Range<u32> {
        let all = self.with_hosts();
        match self {
            _ if switch < all => switch..switch + 1,
            Self::FatTree { half } if switch < 2 * all => {
                let first = self.pod_of(switch) * half;
                first..first + half
            }
            _ => 0..all,
        }
    }
}
