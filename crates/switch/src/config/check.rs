//! Validation of a switch configuration.

use super::{Config, End, LinkConfig, NodeConfig, PortConfig};
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_proto::d3::Rounding;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Error in a [`Config`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}; allowed: {allowed}")]
pub struct ConfigError {
    /// Node, port or interface with the error.
    pub place: String,
    /// Description of the error, with the value.
    pub message: String,
    /// Allowed values.
    pub allowed: String,
}

type Result<T> = std::result::Result<T, ConfigError>;

/// Maximum number of interfaces, whose indices take 16 bits.
const INTERFACES: usize = 1024;
const NODES: usize = 1024;
const LATENCY: Span = Span::from_secs(10);

fn wrong<T>(place: impl Display, message: impl Display, allowed: impl Display) -> Result<T> {
    Err(ConfigError {
        place: place.to_string(),
        message: message.to_string(),
        allowed: allowed.to_string(),
    })
}

pub(super) fn check(config: &Config) -> Result<()> {
    let counts = [
        ("nodes", config.nodes.len(), 1, NODES),
        ("interfaces", config.interfaces.len(), 2, INTERFACES),
        ("buffers", config.options.buffers, 1, 1 << 20),
    ];
    for (noun, count, min, max) in counts {
        if !(min..=max).contains(&count) {
            return wrong(
                "the switch",
                format!("{count} {noun}"),
                format!("{min} to {max}"),
            );
        }
    }
    options(config)?;
    interfaces(config)?;
    config
        .nodes
        .iter()
        .try_for_each(|node| self::node(config, node))?;
    (0..config.interfaces.len()).try_for_each(|destination| Paths::new(config, destination).check())
}

fn options(config: &Config) -> Result<()> {
    let options = &config.options;
    if options.overhead_bytes > 1024 {
        let message = format!("an overhead of {} bytes", options.overhead_bytes);
        return wrong("the switch", message, "0 to 1024 bytes");
    }
    if let Some(sampling) = options.sampling
        && sampling.every < Span::from_us(1)
    {
        let message = format!("a sample every {}", sampling.every);
        return wrong("the switch", message, "at least 1 us");
    }
    let d3 = &options.d3;
    if !(Span::from_us(10)..=Span::from_secs(1)).contains(&d3.interval()) {
        let message = format!("an update interval of {}", d3.interval());
        return wrong("D3", message, "10 us to 1 s");
    }
    if let Some(allowance) = d3.router.police.filter(|_| !d3.router.repair) {
        let message = format!("an allowance of {allowance} without the census");
        return wrong("D3", message, "`police` with `repair`");
    }
    if let Some(scale) = d3.wire.scale.filter(|scale| !(-16..16).contains(scale)) {
        return wrong("D3", format!("a scale of {scale}"), "-16 to 15");
    }
    if d3.wire.rounding == Rounding::Exact {
        let message = "exact rates, which cannot be encoded";
        return wrong("D3", message, "rounded rates");
    }
    Ok(())
}

fn interfaces(config: &Config) -> Result<()> {
    let mut names = BTreeMap::new();
    let mut addresses = BTreeMap::new();
    let mut macs = BTreeMap::new();
    for (index, interface) in config.interfaces.iter().enumerate() {
        let place = Interface(&interface.name);
        // Linux device names have at most 15 bytes.
        if interface.name.is_empty() || interface.name.len() > 15 {
            let message = "not a device name";
            return wrong(place, message, "1 to 15 bytes");
        }
        if interface.node >= config.nodes.len() {
            let message = format!("attached to node {}", interface.node);
            return wrong(place, message, format!("below {}", config.nodes.len()));
        }
        link(&place, &interface.uplink)?;
        let previous = [
            ("name", names.insert(interface.name.clone(), index)),
            (
                "address",
                interface
                    .address
                    .and_then(|address| addresses.insert(address, index)),
            ),
            (
                "link-layer address",
                interface.mac.and_then(|mac| macs.insert(mac, index)),
            ),
        ];
        for (noun, previous) in previous {
            if let Some(previous) = previous {
                let other = &config.interfaces[previous].name;
                let message = format!("interface {previous} (`{other}`) has the same {noun}");
                return wrong(place, message, "a different one for each interface");
            }
        }
        if let Some(mac) = interface.mac.filter(|mac| mac[0] & 1 != 0) {
            let message = format!("{mac:02x?} is a group address");
            return wrong(place, message, "a unicast link-layer address");
        }
    }
    Ok(())
}

fn node(config: &Config, node: &NodeConfig) -> Result<()> {
    let place = Node(&node.name);
    for (index, port) in node.ports.iter().enumerate() {
        self::port(config, &Port(&node.name, index), port)?;
    }
    if node.next_port.len() != config.interfaces.len() {
        let message = format!("{} entries in `next_port`", node.next_port.len());
        let allowed = format!("one for each of the {} interfaces", config.interfaces.len());
        return wrong(place, message, allowed);
    }
    if let Some(shared) = node.shared_buffer {
        if !(1..=u64::from(u32::MAX)).contains(&shared.bytes) {
            let message = format!("a shared buffer of {} bytes", shared.bytes);
            return wrong(place, message, "1 byte to 4 GiB");
        }
        if !(1.0 / 256.0..=1024.0).contains(&shared.alpha) {
            let message = format!("alpha = {}", shared.alpha);
            return wrong(place, message, "1/256 to 1024");
        }
    }
    Ok(())
}

fn port(config: &Config, place: &Port<'_>, port: &PortConfig) -> Result<()> {
    let (noun, index, count) = match port.to {
        End::Node(index) => ("node", index, config.nodes.len()),
        End::Interface(index) => ("interface", index, config.interfaces.len()),
    };
    if index >= count {
        return wrong(
            place,
            format!("leads to {noun} {index}"),
            format!("below {count}"),
        );
    }
    classes(place, port.classes)?;
    rate_and_latency(place, port.rate, port.latency)?;
    loss(place, port.loss)?;
    limit(place, "limit", port.limit)?;
    port.mark_at
        .map_or(Ok(()), |mark_at| limit(place, "marking threshold", mark_at))
}

fn link(place: &Interface<'_>, link: &LinkConfig) -> Result<()> {
    classes(place, link.classes)?;
    rate_and_latency(place, link.rate, link.latency)?;
    loss(place, link.loss)?;
    limit(place, "limit", link.limit)
}

fn classes(place: &impl Display, classes: usize) -> Result<()> {
    if (1..=32).contains(&classes) {
        return Ok(());
    }
    wrong(place, format!("{classes} classes"), "1 to 32")
}

fn rate_and_latency(place: &impl Display, rate: Rate, latency: Span) -> Result<()> {
    // One packet would take more than a day on a slower link.
    if rate.as_bps() < 1_000 {
        return wrong(place, format!("a rate of {rate}"), "at least 1 Kbps");
    }
    if latency > LATENCY {
        return wrong(
            place,
            format!("a latency of {latency}"),
            format!("at most {LATENCY}"),
        );
    }
    Ok(())
}

fn loss(place: &impl Display, loss: f64) -> Result<()> {
    if (0.0..=0.99).contains(&loss) {
        return Ok(());
    }
    wrong(place, format!("a loss of {loss}"), "0 to 0.99")
}

fn limit(place: &impl Display, noun: &str, limit: Limit) -> Result<()> {
    let (value, unit) = match limit {
        Limit::Unlimited => return Ok(()),
        Limit::Packets(packets) => (u64::from(packets), "packets"),
        Limit::Bytes(bytes) => (bytes, "bytes"),
    };
    if (1..u64::from(u32::MAX)).contains(&value) {
        return Ok(());
    }
    wrong(
        place,
        format!("a {noun} of {value} {unit}"),
        format!("1 to {} {unit}", u32::MAX - 1),
    )
}

/// Depth-first search over all paths to one interface.
struct Paths<'a> {
    config: &'a Config,
    destination: usize,
    /// By node.
    state: Vec<Visit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Unvisited,
    /// On the current path.
    Active,
    Done,
}

impl<'a> Paths<'a> {
    fn new(config: &'a Config, destination: usize) -> Self {
        Self {
            config,
            destination,
            state: vec![Visit::Unvisited; config.nodes.len()],
        }
    }

    fn check(mut self) -> Result<()> {
        let config = self.config;
        let starts = config.interfaces.iter().map(|interface| interface.node);
        starts.into_iter().try_for_each(|node| self.follow(node))
    }

    fn follow(&mut self, index: usize) -> Result<()> {
        let node = &self.config.nodes[index];
        let to = &self.config.interfaces[self.destination].name;
        match self.state[index] {
            Visit::Done => return Ok(()),
            Visit::Active => {
                let message = format!("the path to interface `{to}` returns to this node");
                return wrong(Node(&node.name), message, "paths without loops");
            }
            Visit::Unvisited => self.state[index] = Visit::Active,
        }
        let ports = node.next_port[self.destination].ports();
        if ports.is_empty() || ports.len() > usize::from(u16::MAX) {
            let message = format!("{} ports towards interface `{to}`", ports.len());
            return wrong(Node(&node.name), message, "at least one");
        }
        for &port in ports {
            let Some(next_port) = node.ports.get(port) else {
                let message = format!("port {port} towards interface `{to}`");
                let allowed = format!("below {}", node.ports.len());
                return wrong(Node(&node.name), message, allowed);
            };
            match next_port.to {
                End::Node(next) => self.follow(next)?,
                End::Interface(end) if end == self.destination => {}
                End::Interface(end) => {
                    let other = &self.config.interfaces[end].name;
                    let message = format!("the path to interface `{to}` ends at `{other}`");
                    let allowed = "a port towards the interface";
                    return wrong(Port(&node.name, port), message, allowed);
                }
            }
        }
        self.state[index] = Visit::Done;
        Ok(())
    }
}

struct Interface<'a>(&'a str);
struct Node<'a>(&'a str);
struct Port<'a>(&'a str, usize);

impl Display for Interface<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interface `{}`", self.0)
    }
}

impl Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}`", self.0)
    }
}

impl Display for Port<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}`, port {}", self.0, self.1)
    }
}
