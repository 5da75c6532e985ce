//! Numbering of the nodes of a tree.

use super::super::token::MAX_ROLES;

/// Nodes of a tree in breadth-first order: the root is 0, and each layer follows the one above it.
#[derive(Debug)]
pub(super) struct Shape {
    fan_in: Vec<u32>,
    /// First node of each depth, and the number of nodes at the end.
    first: Vec<u32>,
}

impl Shape {
    pub(super) fn new(fan_in: &[u32]) -> Self {
        let mut first = vec![0, 1];
        let mut width = 1u64;
        for &children in fan_in {
            width = (width * u64::from(children)).min(MAX_ROLES);
            let end = u64::from(first[first.len() - 1]) + width;
            first.push(end.min(MAX_ROLES) as u32);
        }
        Self {
            fan_in: fan_in.to_vec(),
            first,
        }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    pub(super) fn leaves(&self) -> u32 {
        self.nodes() - self.first[self.first.len() - 2]
    }

    pub(super) fn depth(&self, node: u32) -> usize {
        self.first
            .iter()
            .rposition(|&first| first <= node)
            .unwrap_or(0)
    }

    pub(super) fn is_leaf(&self, depth: usize) -> bool {
        depth == self.fan_in.len()
    }

    /// Returns the number of children of a node at this depth.
    pub(super) fn fan_in(&self, depth: usize) -> u32 {
        self.fan_in.get(depth).copied().unwrap_or(0)
    }

    pub(super) fn parent(&self, node: u32) -> u32 {
        let depth = self.depth(node).max(1);
        self.first[depth - 1] + (node - self.first[depth]) / self.fan_in[depth - 1]
    }

    pub(super) fn children(&self, node: u32) -> std::ops::Range<u32> {
        let depth = self.depth(node);
        let Some(&fan_in) = self.fan_in.get(depth) else {
            return 0..0;
        };
        let start = self.first[depth + 1] + (node - self.first[depth]) * fan_in;
        start..start + fan_in
    }
}
