//! Where a role is in its tree.

use super::Oldi;

impl Oldi {
    /// Links of the tree between a role and its root.
    pub(crate) fn depth_of(&self, role: u32) -> usize {
        self.plan.depth(role)
    }

    /// Whether a role has no children.
    pub(crate) fn is_leaf(&self, role: u32) -> bool {
        self.plan.shape.is_leaf(self.plan.depth(role))
    }

    /// The role that asks this one.
    pub(crate) fn parent_of(&self, role: u32) -> u32 {
        self.plan.parent(role)
    }

    /// Leaves whose answers an answer to the root can hold: an aggregator waits for no more than it needs.
    pub(crate) fn leaves_per_answer(&self) -> u32 {
        let layers = 1..self.plan.config.fan_in.len();
        layers.fold(1, |leaves, depth| {
            leaves.saturating_mul(self.plan.needed(depth))
        })
    }
}
