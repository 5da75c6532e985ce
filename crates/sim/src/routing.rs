//! Shortest paths by number of links, with equal-cost paths chosen per flow or per packet.
//!
//! The table has one column per switch with hosts. A switch has few different entries: most are the single link to
//! take, the others are lists of equally good links, shared by all columns that need the same list. A row therefore
//! contains small codes, numbered in order of appearance, and switches in equivalent positions share a row. A fat-tree
//! of 16,000 hosts has 42 rows for 2,000 switches, and what a packet needs stays in the cache.

use crate::SetupError;
use crate::topology::{Network, Regular, Towards};
use duetime_core::Time;
use rustc_hash::FxHashMap;

/// Routing table: the next link at every switch towards every host.
#[derive(Clone, Debug)]
pub struct Routing {
    hosts: u32,
    uplink: Vec<u32>,
    attachment: Vec<Attachment>,
    switches: Vec<Switch>,
    codes: Vec<u16>,
    entries: Vec<u32>,
    choices: Vec<u32>,
    /// Key of the choice among equal paths.
    key: u64,
    /// All bits if each packet chooses its path, no bits if a flow keeps its path.
    spraying: u64,
}

/// Attachment of a host.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    /// Switch of the host, which needs no table entry for it.
    switch: u32,
    column: u32,
    downlink: u32,
}

/// Part of the table that belongs to a switch.
#[derive(Clone, Copy, Debug)]
struct Switch {
    /// Start of the switch's row in `codes`.
    row: u32,
    /// Start of the switch's entries, which codes index.
    entries: u32,
}

// An entry is a link, or `MULTI` with the offset and length of a list, or, during construction, `LOCAL`.
const MULTI: u32 = 1 << 31;
const COUNT_BITS: u32 = 10;
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
const MAX_OFFSET: u32 = (1 << (31 - COUNT_BITS)) - 1;
/// Entry for a host on the switch itself. No list has this entry, because it would have the maximum length at the last
/// offset.
const LOCAL: u32 = u32::MAX;

impl Routing {
    /// Computes all shortest paths: from the numbering of a regular shape, or else by search.
    pub fn build(network: &Network) -> Result<Self, SetupError> {
        let graph = SwitchGraph::new(network);
        let attachments = graph.attachments(network);
        let columns = attachments.len();
        let mut column_of = vec![u32::MAX; graph.switches()];
        for (column, &switch) in attachments.iter().enumerate() {
            column_of[switch as usize] = column as u32;
        }
        let hosts = network.hosts();
        let attachment = (0..hosts).map(|host| {
            let switch = network.switch_of(host) - hosts;
            Attachment {
                switch,
                column: column_of[switch as usize],
                downlink: network.downlink[host as usize],
            }
        });
        let mut lists = Lists::default();
        let mut rows = Rows::default();
        let switches = if let Some(regular) = network.regular {
            regular_rows(regular, &graph, &mut lists, &mut rows)?
        } else {
            let table = table(network, &graph, &attachments, &mut lists)?;
            let row = |switch: usize| &table[switch * columns..][..columns];
            let switches = (0..graph.switches()).map(|switch| rows.add(row(switch)));
            switches.collect::<Result<_, _>>()?
        };
        Ok(Self {
            hosts,
            uplink: network.uplink.clone(),
            attachment: attachment.collect(),
            switches,
            codes: rows.codes,
            entries: rows.entries,
            choices: lists.links,
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
        let Attachment {
            switch: last,
            column,
            downlink,
        } = self.attachment[dst_host as usize];
        if switch == last {
            return downlink;
        }
        let Switch { row, entries } = self.switches[switch as usize];
        let code = self.codes[row as usize + column as usize];
        let entry = self.entries[entries as usize + usize::from(code)];
        if entry < MULTI {
            return entry;
        }
        let (offset, count) = ((entry & !MULTI) >> COUNT_BITS, entry & MAX_COUNT);
        self.choices[(offset + self.pick(flow_hash, switch, count, arrival)) as usize]
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
        4 * (self.uplink.len() + self.entries.len() + self.choices.len())
            + 2 * self.codes.len()
            + size_of::<Attachment>() * self.attachment.len()
            + size_of::<Switch>() * self.switches.len()
    }
}

/// Returns the rows of a regular shape.
fn regular_rows(
    regular: Regular,
    graph: &SwitchGraph,
    lists: &mut Lists,
    rows: &mut Rows,
) -> Result<Vec<Switch>, SetupError> {
    let mut row = Vec::new();
    let switches = (0..graph.switches() as u32).map(|switch| {
        row.clear();
        row.resize(regular.with_hosts() as usize, LOCAL);
        regular.routes(graph, switch, |columns, towards| {
            let entry = match towards {
                Towards::Link(link) | Towards::AnyOf(&[link]) => link,
                Towards::AnyOf(links) => lists.entry(links)?,
            };
            row[columns.start as usize..columns.end as usize].fill(entry);
            Ok(())
        })?;
        rows.add(&row)
    });
    switches.collect()
}

/// Returns the entries of all switches (rows) in all columns, by one breadth-first search over the switches per column.
fn table(
    network: &Network,
    graph: &SwitchGraph,
    attachments: &[u32],
    lists: &mut Lists,
) -> Result<Vec<u32>, SetupError> {
    let (hosts, columns) = (network.hosts(), attachments.len());
    let mut table = vec![LOCAL; graph.switches() * columns];
    let (mut distance, mut next) = (Vec::new(), Vec::new());
    for (column, &destination) in attachments.iter().enumerate() {
        graph.distances(destination, &mut distance);
        if let Some(&cut_off) = attachments
            .iter()
            .find(|&&switch| distance[switch as usize] == u32::MAX)
        {
            return Err(SetupError::Disconnected {
                from: first_host_on(network, cut_off + hosts),
                to: first_host_on(network, destination + hosts),
            });
        }
        for switch in 0..graph.switches() {
            let here = distance[switch];
            // A switch without a path to hosts is never used.
            if here == 0 || here == u32::MAX {
                continue;
            }
            next.clear();
            let nearer = graph
                .neighbours(switch)
                .iter()
                .filter(|(to, _)| distance[*to as usize] == here - 1);
            next.extend(nearer.map(|&(_, link)| link));
            table[switch * columns + column] = if let [link] = next[..] {
                link
            } else {
                lists.entry(&next)?
            };
        }
    }
    Ok(table)
}

fn first_host_on(network: &Network, switch: u32) -> String {
    let host = (0..network.hosts())
        .find(|&host| network.switch_of(host) == switch)
        .unwrap_or(0);
    network.nodes[host as usize].name.clone()
}

/// Lists of equally good links, each stored once.
#[derive(Default)]
struct Lists {
    links: Vec<u32>,
    known: FxHashMap<Vec<u32>, u32>,
}

impl Lists {
    fn entry(&mut self, list: &[u32]) -> Result<u32, SetupError> {
        if let Some(&entry) = self.known.get(list) {
            return Ok(entry);
        }
        let (offset, count) = (self.links.len() as u32, list.len() as u32);
        let too_large = |what, value: u32, allowed: u32| SetupError::TooLarge {
            what,
            value: u64::from(value),
            allowed: u64::from(allowed),
        };
        if count >= MAX_COUNT {
            return Err(too_large(
                "number of equally short paths at one switch",
                count,
                MAX_COUNT - 1,
            ));
        }
        if offset > MAX_OFFSET {
            return Err(too_large(
                "total of lists of equally short paths",
                offset,
                MAX_OFFSET,
            ));
        }
        let entry = MULTI | offset << COUNT_BITS | count;
        self.links.extend_from_slice(list);
        self.known.insert(list.to_vec(), entry);
        Ok(entry)
    }
}

/// Rows of the table, each stored once, and the entries of every switch.
#[derive(Default)]
struct Rows {
    codes: Vec<u16>,
    known: FxHashMap<Vec<u16>, u32>,
    entries: Vec<u32>,
}

impl Rows {
    /// Adds a switch by its entries in each column.
    fn add(&mut self, columns: &[u32]) -> Result<Switch, SetupError> {
        let first = self.entries.len();
        let mut code_of = FxHashMap::default();
        let mut row = Vec::with_capacity(columns.len());
        // Previous entry, because consecutive columns mostly have the same one.
        let mut before = (LOCAL, 0);
        for &entry in columns {
            // This code is never read, so it can be chosen to make rows equal.
            if entry == LOCAL {
                row.push(0);
                continue;
            }
            if entry != before.0 {
                let code = *code_of.entry(entry).or_insert_with(|| {
                    self.entries.push(entry);
                    self.entries.len() - 1 - first
                });
                let code = u16::try_from(code).map_err(|_| SetupError::TooLarge {
                    what: "number of different next hops at one switch",
                    value: code as u64 + 1,
                    allowed: 1 << 16,
                })?;
                before = (entry, code);
            }
            row.push(before.1);
        }
        if let Some(&known) = self.known.get(&row) {
            return Ok(Switch {
                row: known,
                entries: first as u32,
            });
        }
        let start = self.codes.len() as u32;
        self.codes.extend_from_slice(&row);
        self.known.insert(row, start);
        Ok(Switch {
            row: start,
            entries: first as u32,
        })
    }
}

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
