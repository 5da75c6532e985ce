//! Numbering of the roles of all trees of a workload: tree after tree, each breadth first.

use super::shape::Shape;
use duetime_core::{Span, Time};
use duetime_scenario::model::RecordedQuery;
use std::ops::Range;

/// Trees of a workload.
#[derive(Debug)]
pub(super) enum Forest {
    /// Trees of one shape.
    Regular(Shape),
    /// One tree per recorded query.
    Recorded(Recorded),
}

/// Trees of recorded queries, each with one query.
#[derive(Debug)]
pub(super) struct Recorded {
    /// Start of each tree's query.
    starts: Vec<Span>,
    /// Root of each tree, and the number of roles at the end.
    roots: Vec<u32>,
    roles: Vec<Role>,
}

/// Recorded properties of one role.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) tree: u32,
    pub(super) parent: u32,
    first_child: u32,
    children: u32,
    depth: u32,
    /// Number of layers of the tree: links from the root to the deepest leaf.
    pub(super) layers: u32,
    pub(super) request: u64,
    pub(super) response: u64,
    pub(super) compute: Span,
}

impl Recorded {
    /// Numbers the nodes, of which there must be fewer than 2²⁸. Returns an error that names a query whose nodes are
    /// not a tree in breadth-first order.
    pub(super) fn new(queries: &[RecordedQuery]) -> Result<Self, String> {
        let mut all = Self {
            starts: queries.iter().map(|query| query.start).collect(),
            roots: Vec::with_capacity(queries.len() + 1),
            roles: Vec::new(),
        };
        for (tree, query) in (0u32..).zip(queries) {
            let root = all.roles.len() as u32;
            all.roots.push(root);
            all.grow(tree, root, query).ok_or_else(|| {
                let number = tree + 1;
                format!("the nodes of query {number} are not a tree in breadth-first order")
            })?;
        }
        all.roots.push(all.roles.len() as u32);
        Ok(all)
    }

    /// Adds the roles of one tree, or returns `None` if the nodes are not a tree.
    fn grow(&mut self, tree: u32, root: u32, query: &RecordedQuery) -> Option<()> {
        let nodes = query.nodes.len() as u32;
        let mut next_child = 1u32;
        for (position, node) in (0u32..).zip(&query.nodes) {
            let depth = if position == 0 {
                0
            } else {
                let parent = self.roles.get((root + node.parent) as usize)?;
                let below = parent.first_child..parent.first_child + parent.children;
                below
                    .contains(&(root + position))
                    .then_some(parent.depth + 1)?
            };
            self.roles.push(Role {
                tree,
                parent: root + node.parent,
                first_child: root + next_child,
                children: node.children,
                depth,
                layers: 0,
                request: node.request.0,
                response: node.response.0,
                compute: node.compute,
            });
            next_child = next_child
                .checked_add(node.children)
                .filter(|next| *next <= nodes)?;
        }
        let roles = &mut self.roles[root as usize..];
        let layers = roles.iter().map(|role| role.depth).max()?;
        for role in roles {
            role.layers = layers;
        }
        (next_child == nodes && layers > 0).then_some(())
    }

    pub(super) fn role(&self, role: u32) -> &Role {
        &self.roles[role as usize]
    }
}

impl Forest {
    pub(super) fn recorded(&self) -> Option<&Recorded> {
        match self {
            Self::Regular(_) => None,
            Self::Recorded(recorded) => Some(recorded),
        }
    }

    /// Returns the arrival time of a recorded tree's only query, or `None` for other trees.
    pub(super) fn start(&self, tree: u32) -> Option<Time> {
        let start = self.recorded()?.starts[tree as usize];
        Some(Time::ZERO + start)
    }

    pub(super) fn root(&self, tree: u32) -> u32 {
        match self {
            Self::Regular(shape) => tree * shape.nodes(),
            Self::Recorded(recorded) => recorded.roots[tree as usize],
        }
    }

    pub(super) fn tree(&self, role: u32) -> u32 {
        match self {
            Self::Regular(shape) => role / shape.nodes(),
            Self::Recorded(recorded) => recorded.role(role).tree,
        }
    }

    /// Returns the number of nodes of a tree.
    pub(super) fn nodes(&self, tree: u32) -> u32 {
        match self {
            Self::Regular(shape) => shape.nodes(),
            Self::Recorded(recorded) => {
                recorded.roots[tree as usize + 1] - recorded.roots[tree as usize]
            }
        }
    }

    pub(super) fn leaves(&self, tree: u32) -> u32 {
        match self {
            Self::Regular(shape) => shape.leaves(),
            Self::Recorded(_) => {
                let root = self.root(tree);
                let leaf = |role: &u32| self.children(*role).is_empty();
                (root..root + self.nodes(tree)).filter(leaf).count() as u32
            }
        }
    }

    pub(super) fn depth(&self, role: u32) -> usize {
        match self {
            Self::Regular(shape) => shape.depth(role % shape.nodes()),
            Self::Recorded(recorded) => recorded.role(role).depth as usize,
        }
    }

    pub(super) fn is_leaf(&self, role: u32) -> bool {
        match self {
            Self::Regular(shape) => shape.is_leaf(self.depth(role)),
            Self::Recorded(_) => self.children(role).is_empty(),
        }
    }

    /// Returns the number of children of a role.
    pub(super) fn fan_in(&self, role: u32) -> u32 {
        match self {
            Self::Regular(shape) => shape.fan_in(self.depth(role)),
            Self::Recorded(recorded) => recorded.role(role).children,
        }
    }

    pub(super) fn parent(&self, role: u32) -> u32 {
        match self {
            Self::Regular(shape) => {
                let node = role % shape.nodes();
                role - node + shape.parent(node)
            }
            Self::Recorded(recorded) => recorded.role(role).parent,
        }
    }

    pub(super) fn children(&self, role: u32) -> Range<u32> {
        match self {
            Self::Regular(shape) => {
                let node = role % shape.nodes();
                let children = shape.children(node);
                role - node + children.start..role - node + children.end
            }
            Self::Recorded(recorded) => {
                let role = recorded.role(role);
                role.first_child..role.first_child + role.children
            }
        }
    }
}
