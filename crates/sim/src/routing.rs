//! Shortest paths by number of links, with equal-cost paths chosen per flow or per packet.

mod computed;
mod graph;
mod tables;

use crate::SetupError;
use crate::topology::Network;
use computed::{Position, positions};
use duetime_core::Time;
pub use graph::SwitchGraph;
use tables::Tables;

/// Routes: the next link at every switch towards every host.
#[derive(Clone, Debug)]
pub struct Routing {
    hosts: u32,
    uplink: Vec<u32>,
    /// Positions of all switches in a regular shape; empty if the routes are in `tables`.
    positions: Vec<Position>,
    /// Empty if the routes follow from `positions`.
    tables: Tables,
    /// Key of the choice among equal paths.
    key: u64,
    /// All bits if each packet chooses its path, no bits if a flow keeps its path.
    spraying: u64,
}

impl Routing {
    /// Computes all shortest paths: from the numbering of a regular shape, or else by search.
    pub fn build(network: &Network) -> Result<Self, SetupError> {
        let (positions, tables) = match positions(network) {
            Some(positions) => (positions, Tables::default()),
            None => (Vec::new(), Tables::build(network)?),
        };
        Ok(Self {
            hosts: network.hosts(),
            uplink: network.uplink.clone(),
            positions,
            tables,
            key: 0,
            spraying: 0,
        })
    }

    /// Sets the key that randomises the choice among equal paths: flows that share a path under one key may use
    /// different paths under another.
    #[must_use]
    pub const fn keyed(mut self, key: u64) -> Self {
        self.key = key;
        self
    }

    /// Makes each packet choose its path if `is_sprayed` is true (Dixit et al., INFOCOM 2013).
    #[must_use]
    pub const fn sprayed(mut self, is_sprayed: bool) -> Self {
        self.spraying = if is_sprayed { u64::MAX } else { 0 };
        self
    }

    /// Returns true if the packets of a flow arrive in the order in which they were sent, unless priority classes
    /// change it.
    pub const fn keeps_order(&self) -> bool {
        self.spraying == 0
    }

    /// Returns the link that `node` takes towards a host; with spraying, one of the equally good links. `flow_hash` must
    /// be well mixed and equal for all packets of a flow in one direction. Each switch salts it, so that the choices
    /// along a path are independent.
    #[inline]
    pub fn next(&self, node: u32, dst_host: u32, flow_hash: u32) -> u32 {
        match node.checked_sub(self.hosts) {
            None => self.uplink[node as usize],
            Some(switch) => self.next_at_switch(switch, dst_host, flow_hash, Time::ZERO),
        }
    }

    /// Returns the switch index of a node for [`Routing::next_at_switch`].
    pub fn switch(&self, node: u32) -> u32 {
        node - self.hosts
    }

    /// Returns the link that a packet takes at a switch towards a host; see [`Routing::next`]. `arrival` is the packet's
    /// time of arrival at the switch, which differs between packets that came over one link. It matters only with
    /// spraying.
    #[inline(always)]
    pub fn next_at_switch(&self, switch: u32, dst_host: u32, flow_hash: u32, arrival: Time) -> u32 {
        let pick = |count| self.pick(flow_hash, switch, count, arrival);
        match self.tables.attachment(dst_host) {
            Some(attachment) => self.tables.link(switch, attachment, pick),
            None => self.positions[switch as usize].link(dst_host, pick),
        }
    }

    /// Picks one of `count` by key, flow and switch, and with spraying by time: two rounds of multiply and fold, then
    /// the high half of a product.
    #[inline]
    fn pick(&self, flow_hash: u32, switch: u32, count: u32, arrival: Time) -> u32 {
        let salt = arrival.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) & self.spraying;
        let mut x = (self.key ^ salt ^ (u64::from(flow_hash) << 32 | u64::from(switch)))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (((x >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Returns the links from one host to another, in order; with spraying, one of the equal paths.
    pub fn path(
        &self,
        network: &Network,
        source: u32,
        destination: u32,
        flow_hash: u32,
    ) -> Vec<u32> {
        let (mut node, mut links) = (source, Vec::new());
        while node != destination {
            let link = self.next(node, destination, flow_hash);
            node = network.links[link as usize].to;
            links.push(link);
        }
        links
    }

    /// Returns the size of the tables in bytes.
    pub fn table_bytes(&self) -> usize {
        4 * self.uplink.len() + size_of::<Position>() * self.positions.len() + self.tables.bytes()
    }
}
