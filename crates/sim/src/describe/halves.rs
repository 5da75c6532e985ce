//! The capacity between the two halves of the hosts: a maximum flow, by Dinic's algorithm.

use crate::topology::Network;

/// Most bits per second that the first half of the hosts, in their numbering, can send to the second half.
pub(super) fn capacity(network: &Network) -> u64 {
    Residual::new(network).maximum()
}

/// What each link can still take, with the two halves drawn together into one source and one sink.
struct Residual {
    /// Per node: its arcs.
    arcs: Vec<Vec<usize>>,
    /// Per arc: where it leads and what is left. Arc `a ^ 1` is its reverse.
    to: Vec<u32>,
    left: Vec<u64>,
    source: u32,
    sink: u32,
}

impl Residual {
    fn new(network: &Network) -> Self {
        let half = network.hosts() / 2;
        // Source and sink take the places of nodes 0 and 1: hosts stand for their half.
        let node = |node: u32| match network.nodes[node as usize].host {
            Some(host) => u32::from(host >= half),
            None => node + 2 - network.hosts(),
        };
        let mut this = Self {
            arcs: vec![Vec::new(); network.switches() as usize + 2],
            to: Vec::new(),
            left: Vec::new(),
            source: 0,
            sink: 1,
        };
        // The two directions of a link follow each other, so that an arc's opposite is the next or the one before.
        for link in &network.links {
            this.arcs[node(link.from) as usize].push(this.to.len());
            this.to.push(node(link.to));
            this.left.push(link.rate.as_bps());
        }
        this
    }

    fn maximum(&mut self) -> u64 {
        let mut total = 0;
        while let Some(depth) = self.layers() {
            let mut next = vec![0; self.arcs.len()];
            loop {
                let pushed = self.push(self.source, u64::MAX, &depth, &mut next);
                if pushed == 0 {
                    break;
                }
                total += pushed;
            }
        }
        total
    }

    /// Distance of every node from the source over arcs with capacity left; `None` when the sink is out of reach.
    fn layers(&self) -> Option<Vec<u32>> {
        let mut depth = vec![u32::MAX; self.arcs.len()];
        depth[self.source as usize] = 0;
        let mut queue = vec![self.source];
        let mut done = 0;
        while let Some(&node) = queue.get(done) {
            done += 1;
            for &arc in &self.arcs[node as usize] {
                let to = self.to[arc];
                if self.left[arc] > 0 && depth[to as usize] == u32::MAX {
                    depth[to as usize] = depth[node as usize] + 1;
                    queue.push(to);
                }
            }
        }
        (depth[self.sink as usize] != u32::MAX).then_some(depth)
    }

    /// Sends as much as fits along one path from `node`; paths are as deep as the network, not larger.
    fn push(&mut self, node: u32, most: u64, depth: &[u32], next: &mut [usize]) -> u64 {
        if node == self.sink {
            return most;
        }
        while let Some(&arc) = self.arcs[node as usize].get(next[node as usize]) {
            let to = self.to[arc];
            if self.left[arc] > 0 && depth[to as usize] == depth[node as usize] + 1 {
                let pushed = self.push(to, most.min(self.left[arc]), depth, next);
                if pushed > 0 {
                    self.left[arc] -= pushed;
                    self.left[arc ^ 1] += pushed;
                    return pushed;
                }
            }
            next[node as usize] += 1;
        }
        0
    }
}
