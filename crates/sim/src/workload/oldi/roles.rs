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

    /// Leaves below a child of the root, or one if it is a leaf.
    pub(crate) fn leaves_per_answer(&self) -> u32 {
        let layers = self.plan.config.fan_in.iter().skip(1);
        layers.fold(1, |leaves, &fan_in| leaves.saturating_mul(fan_in))
    }
}
