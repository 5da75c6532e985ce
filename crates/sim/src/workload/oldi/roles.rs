//! Where a role is in its tree.

use super::{Oldi, needed};

impl Oldi {
    /// Links of the tree between a role and its root.
    pub(crate) fn depth_of(&self, role: u32) -> usize {
        self.plan.depth(role)
    }

    /// Whether a role has no children.
    pub(crate) fn is_leaf(&self, role: u32) -> bool {
        self.plan.forest.is_leaf(role)
    }

    /// The role that asks this one.
    pub(crate) fn parent_of(&self, role: u32) -> u32 {
        self.plan.parent(role)
    }

    /// Leaves whose answers an answer to the root of a query can hold: an aggregator waits for no more than it needs.
    pub(crate) fn leaves_per_answer(&self, query: u64) -> u32 {
        let tree = self.plan.tree_of(query);
        let (root, nodes) = (self.plan.root(tree), self.plan.forest.nodes(tree));
        if self.plan.forest.recorded().is_none() {
            let config = &self.plan.config;
            let layers = config.fan_in.iter().skip(1);
            return layers.fold(1, |leaves, &fan_in| {
                leaves.saturating_mul(needed(fan_in, config.complete_at))
            });
        }
        // Breadth first, so that all children come after their parents.
        let mut held = vec![1u32; nodes as usize];
        for role in (root..root + nodes).rev() {
            let below = self.plan.children(role);
            if below.is_empty() {
                continue;
            }
            let mut most: Vec<u32> = below.map(|child| held[(child - root) as usize]).collect();
            most.sort_unstable_by(|a, b| b.cmp(a));
            most.truncate(self.plan.needed(role) as usize);
            held[(role - root) as usize] = most.iter().fold(0, |sum, of| sum.saturating_add(*of));
        }
        let top = self.plan.children(root);
        let top = top.map(|child| held[(child - root) as usize]);
        top.max().unwrap_or(1)
    }
}
