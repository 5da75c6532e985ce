//! Graph of the switches, and distances in it.

use crate::topology::Network;

/// Graph of the switches and the links between them. Switches are indexed from 0.
pub struct SwitchGraph {
    first: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

impl SwitchGraph {
    /// Builds the graph of a network.
    pub fn new(network: &Network) -> Self {
        let hosts = network.hosts();
        let switches = network.switches() as usize;
        let between = || {
            let links = network.links.iter().enumerate();
            links.filter(|(_, link)| link.from >= hosts && link.to >= hosts)
        };
        let mut first = vec![0; switches + 1];
        for (_, link) in between() {
            first[(link.from - hosts) as usize + 1] += 1;
        }
        for switch in 0..switches {
            first[switch + 1] += first[switch];
        }
        let mut fill = first.clone();
        let mut edges = vec![(0, 0); first[switches] as usize];
        for (index, link) in between() {
            let slot = &mut fill[(link.from - hosts) as usize];
            edges[*slot as usize] = (link.to - hosts, index as u32);
            *slot += 1;
        }
        Self { first, edges }
    }

    /// Returns the number of switches.
    pub fn switches(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the neighbours of a switch as (switch, link to it).
    pub fn neighbours(&self, switch: usize) -> &[(u32, u32)] {
        &self.edges[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// Returns the switches that have hosts, in order.
    pub fn attachments(&self, network: &Network) -> Vec<u32> {
        let mut has_hosts = vec![false; self.switches()];
        for host in 0..network.hosts() {
            has_hosts[(network.switch_of(host) - network.hosts()) as usize] = true;
        }
        (0..self.switches() as u32)
            .filter(|&switch| has_hosts[switch as usize])
            .collect()
    }

    /// Computes the number of links from `from` to every switch; `u32::MAX` if there is no path.
    pub fn distances(&self, from: u32, distance: &mut Vec<u32>) {
        distance.clear();
        distance.resize(self.switches(), u32::MAX);
        distance[from as usize] = 0;
        let mut queue = Vec::with_capacity(self.switches());
        queue.push(from);
        let mut done = 0;
        while let Some(&switch) = queue.get(done) {
            done += 1;
            for &(to, _) in self.neighbours(switch as usize) {
                if distance[to as usize] == u32::MAX {
                    distance[to as usize] = distance[switch as usize] + 1;
                    queue.push(to);
                }
            }
        }
    }
}
