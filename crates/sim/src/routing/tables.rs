//! Tables of routes, for any network.
//!
//! There is one column per switch with hosts. A switch has few different entries: most are the single link to take, the
//! others are lists of equally good links, shared by all columns that need the same list. A row therefore contains small
//! codes, numbered in order of appearance, and switches in equivalent positions share a row. So most of a table stays in
//! the cache.

use super::SwitchGraph;
use crate::SetupError;
use crate::topology::Network;
use rustc_hash::FxHashMap;

/// Tables of the next link at every switch towards every host.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    attachment: Vec<Attachment>,
    switches: Vec<Switch>,
    codes: Vec<u16>,
    entries: Vec<u32>,
    choices: Vec<u32>,
}

/// Attachment of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attachment {
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

impl Tables {
    /// Finds all shortest paths by search.
    pub(super) fn build(network: &Network) -> Result<Self, SetupError> {
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
        let table = table(network, &graph, &attachments, &mut lists)?;
        let row = |switch: usize| &table[switch * columns..][..columns];
        let switches = (0..graph.switches()).map(|switch| rows.add(row(switch)));
        Ok(Self {
            attachment: attachment.collect(),
            switches: switches.collect::<Result<_, _>>()?,
            codes: rows.codes,
            entries: rows.entries,
            choices: lists.links,
        })
    }

    /// Returns the attachment of a host, or `None` if the tables are empty.
    #[inline(always)]
    pub(super) fn attachment(&self, host: u32) -> Option<Attachment> {
        self.attachment.get(host as usize).copied()
    }

    /// Returns the link that a packet takes at `switch` towards a host. `pick` chooses one of a number of equally good
    /// links.
    #[inline(always)]
    pub(super) fn link(&self, switch: u32, to: Attachment, pick: impl FnOnce(u32) -> u32) -> u32 {
        let Attachment {
            switch: last,
            column,
            downlink,
        } = to;
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
        self.choices[(offset + pick(count)) as usize]
    }

    /// Returns the size in bytes.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.entries.len() + self.choices.len())
            + 2 * self.codes.len()
            + size_of::<Attachment>() * self.attachment.len()
            + size_of::<Switch>() * self.switches.len()
    }
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
