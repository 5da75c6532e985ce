//! Capacity between the two halves of the hosts: a maximum flow by Dinic's algorithm.

use duetime_sim::topology::Network;

/// Returns the maximum rate in bits per second from the first half of the hosts, in index order, to the second half.
pub(super) fn capacity(network: &Network) -> u64 {
    Residual::new(network).maximum()
}

/// Residual network, in which each half of the hosts is merged into one node: the source and the sink.
struct Residual {
    /// Arcs of each node.
    arcs: Vec<Vec<usize>>,
    /// Target of each arc. Arc `a ^ 1` is the reverse of arc `a`.
    to: Vec<u32>,
    /// Residual capacity of each arc.
    capacity: Vec<u64>,
    source: u32,
    sink: u32,
}

impl Residual {
    fn new(network: &Network) -> Self {
        let half = network.hosts() / 2;
        // Source and sink replace the hosts of their halves and are nodes 0 and 1.
        let node = |node: u32| match network.nodes[node as usize].host {
            Some(host) => u32::from(host >= half),
            None => node + 2 - network.hosts(),
        };
        let mut this = Self {
            arcs: vec![Vec::new(); network.switches() as usize + 2],
            to: Vec::new(),
            capacity: Vec::new(),
            source: 0,
            sink: 1,
        };
        // The two directions of a link are consecutive, so an arc's reverse is the next or the previous arc.
        for link in &network.links {
            this.arcs[node(link.from) as usize].push(this.to.len());
            this.to.push(node(link.to));
            this.capacity.push(link.rate.as_bps());
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

    /// Returns every node's distance from the source over arcs with residual capacity, or `None` if the sink is
    /// unreachable.
    fn layers(&self) -> Option<Vec<u32>> {
        let mut depth = vec![u32::MAX; self.arcs.len()];
        depth[self.source as usize] = 0;
        let mut queue = vec![self.source];
        let mut done = 0;
        while let Some(&node) = queue.get(done) {
            done += 1;
            for &arc in &self.arcs[node as usize] {
                let to = self.to[arc];
                if self.capacity[arc] > 0 && depth[to as usize] == u32::MAX {
                    depth[to as usize] = depth[node as usize] + 1;
                    queue.push(to);
                }
            }
        }
        (depth[self.sink as usize] != u32::MAX).then_some(depth)
    }

    /// Sends up to `limit` along one path from `node`, and returns the amount. The recursion is as deep as the
    /// network's diameter.
    fn push(&mut self, node: u32, limit: u64, depth: &[u32], next: &mut [usize]) -> u64 {
        if node == self.sink {
            return limit;
        }
        while let Some(&arc) = self.arcs[node as usize].get(next[node as usize]) {
            let to = self.to[arc];
            if self.capacity[arc] > 0 && depth[to as usize] == depth[node as usize] + 1 {
                let pushed = self.push(to, limit.min(self.capacity[arc]), depth, next);
                if pushed > 0 {
                    self.capacity[arc] -= pushed;
                    self.capacity[arc ^ 1] += pushed;
                    return pushed;
                }
            }
            next[node as usize] += 1;
        }
        0
    }
}
