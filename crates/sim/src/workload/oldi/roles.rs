//! Position of a role in its tree.

use super::{Trees, needed};

impl Trees {
    /// Returns the number of links between a role and its root.
    pub fn depth_of(&self, role: u32) -> usize {
        self.plan.depth(role)
    }

    /// Returns true if the role has no children.
    pub fn is_leaf(&self, role: u32) -> bool {
        self.plan.forest.is_leaf(role)
    }

    /// Returns the role's parent.
    pub fn parent_of(&self, role: u32) -> u32 {
        self.plan.parent(role)
    }

    /// Returns the maximum number of leaves in one answer to the root of a query. An aggregator waits for no more
    /// answers than it needs.
    pub fn leaves_per_answer(&self, query: u64) -> u32 {
        let tree = self.plan.tree_of(query);
        let (root, nodes) = (self.plan.root(tree), self.plan.forest.nodes(tree));
        if self.plan.forest.recorded().is_none() {
            let config = &self.plan.config;
            let layers = config.fan_in.iter().skip(1);
            return layers.fold(1, |leaves, &fan_in| {
                leaves.saturating_mul(needed(fan_in, config.complete_at))
            });
        }
        // Roles are numbered breadth first, so children follow their parents.
        let mut leaves = vec![1u32; nodes as usize];
        for role in (root..root + nodes).rev() {
            let below = self.plan.children(role);
            if below.is_empty() {
                continue;
            }
            let mut largest: Vec<u32> =
                below.map(|child| leaves[(child - root) as usize]).collect();
            largest.sort_unstable_by(|a, b| b.cmp(a));
            largest.truncate(self.plan.needed(role) as usize);
            leaves[(role - root) as usize] =
                (largest.iter()).fold(0, |sum, part| sum.saturating_add(*part));
        }
        let top = self.plan.children(root);
        let top = top.map(|child| leaves[(child - root) as usize]);
        top.max().unwrap_or(1)
    }
}
