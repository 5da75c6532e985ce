//! Topology, switches, hosts and what is recorded.

use super::Result;
use crate::diagnostic::nearest;
use crate::document::Value;
use crate::keys::{self, BUFFERS, HOSTS, PACKETS_RANGE, POOL, RECORD, SWITCH, TOPOLOGIES, Table};
use crate::model::{Amount, Buffer, Edge, Host, Link, Nic, Node, Record, Switch, Topology};
use crate::place::Place;
use crate::quantity::{PACKETS, SIZE};
use crate::table::Reader;
use duetime_core::{Bytes, Rate, Span};

/// The network.
pub(super) fn topology(place: &Place<'_>) -> Result<Topology> {
    let (kind, reader) = Reader::open_tagged(place.clone(), "kind", TOPOLOGIES)?;
    let count =
        |key: &'static str| -> Result<u32> { Ok(reader.needed(key, Reader::integer)? as u32) };
    let link = |key: &'static str| link(&Reader::open(reader.need(key)?, &keys::LINK)?);
    Ok(match kind {
        "star" => Topology::Star {
            hosts: count("hosts")?,
            link: link("link")?,
        },
        "dumbbell" => Topology::Dumbbell {
            left: count("left")?,
            right: count("right")?,
            link: link("link")?,
            bottleneck: link("bottleneck")?,
        },
        "d3-testbed" => {
            let usual = Link {
                rate: Rate::from_gbps(1),
                latency: Span::from_us(125),
                loss: 0.0,
            };
            Topology::D3Testbed {
                link: reader.get("link").map_or(Ok(usual), |_| link("link"))?,
            }
        }
        "leaf-spine" => Topology::LeafSpine {
            racks: count("racks")?,
            hosts_per_rack: count("hosts_per_rack")?,
            spines: reader.integer("spines")?.unwrap_or(1) as u32,
            host_link: link("host_link")?,
            uplink: link("uplink")?,
        },
        "fat-tree" => {
            let k = count("k")?;
            if k % 2 == 1 {
                return Err(reader
                    .need("k")?
                    .wrong("odd")
                    .allowed("an even number, 2..=128"));
            }
            Topology::FatTree {
                k,
                link: link("link")?,
            }
        }
        _ => graph(&reader)?,
    })
}

fn link(reader: &Reader<'_>) -> Result<Link> {
    Ok(Link {
        rate: reader.needed("rate", Reader::rate)?,
        latency: reader.needed("latency", Reader::time)?,
        loss: reader.number("loss")?.unwrap_or(0.0),
    })
}

fn graph(reader: &Reader<'_>) -> Result<Topology> {
    let mut nodes: Vec<Node> = Vec::new();
    for (key, host) in [("hosts", true), ("switches", false)] {
        for (name, place) in reader.needed(key, Reader::texts)? {
            if name.is_empty() || name.contains("->") {
                return Err(place.wrong("not a name").allowed("a text without `->`"));
            }
            if nodes.iter().any(|node| node.name == name) {
                return Err(place
                    .wrong("the name of two nodes")
                    .allowed("a name of its own for each node"));
            }
            nodes.push(Node {
                name: name.to_owned(),
                host,
            });
        }
    }
    let mut edges = Vec::new();
    for place in reader.need("links")?.array()? {
        let reader = Reader::open(place, &keys::EDGE)?;
        let between = reader.need("between")?;
        let ends = between.array()?;
        let [a, b] = &ends[..] else {
            return Err(between
                .wrong("a link has two ends")
                .allowed("[\"a\", \"b\"]"));
        };
        let end = |place: &Place<'_>| -> Result<usize> {
            let name = place.str("the name of a node", "a name of `hosts` or `switches`")?;
            nodes
                .iter()
                .position(|node| node.name == name)
                .ok_or_else(|| {
                    let error = place
                        .wrong("no such node")
                        .allowed("a name of `hosts` or `switches`");
                    match nearest(name, nodes.iter().map(|node| node.name.as_str())) {
                        Some(near) => error.help(format!("did you mean \"{near}\"?")),
                        None => error,
                    }
                })
        };
        let (a, b) = (end(a)?, end(b)?);
        if a == b {
            return Err(between
                .wrong("a link from a node to itself")
                .allowed("two different nodes"));
        }
        edges.push(Edge {
            a,
            b,
            link: link(&reader)?,
        });
    }
    Ok(Topology::Graph { nodes, edges })
}

/// A reader of an optional table; absent, all its keys are.
pub(super) fn optional<'a>(
    reader: &Reader<'a>,
    key: &'static str,
    table: &'static Table,
) -> Result<Option<Reader<'a>>> {
    reader
        .get(key)
        .map(|place| Reader::open(place, table))
        .transpose()
}

/// `[switch]`.
pub(super) fn switch(reader: &Reader<'_>) -> Result<Switch> {
    let mut switch = Switch {
        buffer: Buffer::Dynamic {
            pool: Bytes(4_000_000),
            alpha: 1.0,
        },
        ecn_threshold: vec![
            (Rate::default(), Amount::Packets(20)),
            (Rate::from_gbps(10), Amount::Packets(65)),
        ],
    };
    let Some(reader) = optional(reader, "switch", &SWITCH)? else {
        return Ok(switch);
    };
    if let Some(place) = reader.get("buffer") {
        switch.buffer = buffer(&place)?;
    }
    if let Some(place) = reader.get("ecn_threshold") {
        switch.ecn_threshold = threshold(&place)?;
    }
    Ok(switch)
}

fn buffer(place: &Place<'_>) -> Result<Buffer> {
    if place.node.table().is_some() {
        let (kind, reader) = Reader::open_tagged(place.clone(), "kind", BUFFERS)?;
        return Ok(match kind {
            "unlimited" => Buffer::Unlimited,
            "static" => Buffer::Static(reader.need("size")?.amount()?),
            _ => Buffer::Dynamic {
                pool: reader.needed("pool", Reader::size)?,
                alpha: reader.number("alpha")?.unwrap_or(1.0),
            },
        });
    }
    let allowed =
        "\"4 MB\" (one pool), \"100 packets\" (each port), \"unlimited\", or a table with `kind`";
    if matches!(place.node.value, Value::Integer(_) | Value::Float(_)) {
        return Err(place
            .wrong("the unit of this buffer is missing")
            .allowed(allowed));
    }
    let text = place.str("a buffer", allowed)?;
    if text == "unlimited" {
        return Ok(Buffer::Unlimited);
    }
    if text.contains("packet") {
        return Ok(Buffer::Static(Amount::Packets(
            place.part(text, &PACKETS, PACKETS_RANGE)? as u32,
        )));
    }
    if SIZE.parse(text).is_err() && text.trim().parse::<f64>().is_ok() {
        return Err(place
            .wrong("the unit of this buffer is missing")
            .allowed(allowed));
    }
    Ok(Buffer::Dynamic {
        pool: Bytes(place.part(text, &SIZE, POOL)?),
        alpha: 1.0,
    })
}

fn threshold(place: &Place<'_>) -> Result<Vec<(Rate, Amount)>> {
    if !matches!(place.node.value, Value::Array(_)) {
        return Ok(vec![(Rate::default(), place.amount()?)]);
    }
    let mut list: Vec<(Rate, Amount)> = Vec::new();
    for entry in place.array()? {
        let reader = Reader::open(entry, &keys::ECN)?;
        let rate = reader.needed("rate", Reader::rate)?;
        if list.last().is_some_and(|(before, _)| *before >= rate) {
            return Err(reader
                .need("rate")?
                .wrong("not above the entry before")
                .allowed("entries sorted by rate"));
        }
        list.push((rate, reader.need("threshold")?.amount()?));
    }
    match list.first_mut() {
        // Links slower than the first entry take it too.
        Some(first) => first.0 = Rate::default(),
        None => return Err(place.wrong("an empty list").allowed("at least one entry")),
    }
    Ok(list)
}

/// What a host's packets wait for at most where the scenario does not say: see `docs/validation.md`.
const SEND_JITTER: Span = Span::from_ns(1);

/// `[host]`.
pub(super) fn host(reader: &Reader<'_>) -> Result<Host> {
    let mut host = Host {
        nic: Nic::Pull,
        frame_overhead: 0,
        start_jitter: true,
        send_jitter: SEND_JITTER,
    };
    let Some(reader) = optional(reader, "host", &HOSTS)? else {
        return Ok(host);
    };
    if reader.choice("nic")? == Some("fifo") {
        host.nic = Nic::Fifo;
    }
    if let Some(overhead) = reader.size("frame_overhead")? {
        host.frame_overhead = overhead.0 as u32;
    }
    host.start_jitter = reader.boolean("start_jitter")?.unwrap_or(true);
    host.send_jitter = reader.time("send_jitter")?.unwrap_or(SEND_JITTER);
    Ok(host)
}

/// `[record]`.
pub(super) fn record(reader: &Reader<'_>) -> Result<Record> {
    let mut record = Record {
        every: None,
        links: Vec::new(),
        pcap: Vec::new(),
        snap_length: 128,
    };
    let Some(reader) = optional(reader, "record", &RECORD)? else {
        return Ok(record);
    };
    record.every = reader.time("every")?;
    record.links = links(&reader, "links")?;
    record.pcap = links(&reader, "pcap")?;
    if let Some(length) = reader.size("snap_length")? {
        record.snap_length = length.0 as u32;
    }
    Ok(record)
}

fn links(reader: &Reader<'_>, key: &'static str) -> Result<Vec<String>> {
    let mut links = Vec::new();
    for (name, place) in reader.texts(key)?.unwrap_or_default() {
        match name.split_once("->") {
            Some((from, to)) if !from.trim().is_empty() && !to.trim().is_empty() => {
                links.push(format!("{}->{}", from.trim(), to.trim()));
            }
            _ => {
                return Err(place
                    .wrong("not a directed link")
                    .allowed("\"from->to\", by the names of nodes"));
            }
        }
    }
    Ok(links)
}
