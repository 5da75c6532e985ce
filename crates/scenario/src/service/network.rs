//! The tables of a usual network, with comments.

use crate::quantity::{RATE, TIME};
use duetime_core::{Rate, Span};
use std::fmt::{self, Write};

/// The tables `[topology]` and `[switch]` of a network of at least so many hosts: one switch for up to 16, else racks below
/// two spines. `latency` is that of each link, `buffer` what `switch.buffer` says.
pub fn network(hosts: u32, link: Rate, latency: Span, buffer: &str) -> String {
    let mut text = String::new();
    write(&mut text, hosts, link, latency, buffer).expect("a text takes all that is written");
    text
}

fn write(to: &mut String, hosts: u32, link: Rate, latency: Span, buffer: &str) -> fmt::Result {
    let rate = (RATE.show)(link.as_bps());
    let latency = (TIME.show)(latency.as_ps());
    let a_link = format!("{{ rate = \"{rate}\", latency = \"{latency}\" }}");
    writeln!(to, "\n[topology]")?;
    if hosts <= SMALL {
        line(to, "kind = \"star\"", "one switch")?;
        line(to, &format!("hosts = {hosts}"), "")?;
        line(
            to,
            &format!("link = {a_link}"),
            "the latency of a link and of half a switch",
        )?;
    } else {
        let (racks, each) = racks(hosts);
        let why = match racks * each {
            all if all == hosts => format!("{all} hosts"),
            all => format!("{all} hosts: {hosts} in equal racks"),
        };
        line(to, "kind = \"leaf-spine\"", "")?;
        line(to, &format!("racks = {racks}"), &why)?;
        line(to, &format!("hosts_per_rack = {each}"), "")?;
        let (up, down) = (f64::from(each), 8.0);
        line(
            to,
            "spines = 2",
            &format!(
                "{:.2} : 1 of what a rack's hosts send can leave it",
                up / down
            ),
        )?;
        line(
            to,
            &format!("host_link = {a_link}"),
            "the latency of a link and of half a switch",
        )?;
        let uplink = (RATE.show)(link.as_bps() * 4);
        line(
            to,
            &format!("uplink = {{ rate = \"{uplink}\", latency = \"{latency}\" }}"),
            "to each spine",
        )?;
    }
    writeln!(to, "\n[switch]")?;
    let why = if buffer.contains("packet") {
        "each port's own; `\"4 MB\"` would be one pool per switch"
    } else {
        "one pool per switch; `\"100 packets\"` would be each port's own"
    };
    line(to, &format!("buffer = \"{buffer}\""), why)?;
    writeln!(
        to,
        "# ecn_threshold: 20 packets below 10 Gbps and 65 from there on (DCTCP's paper); \"off\" for switches that do not mark"
    )
}

/// Hosts that one switch takes.
const SMALL: u32 = 16;

/// Links of the longest way between two hosts of [`network`].
pub fn longest_way(hosts: u32) -> u32 {
    if hosts <= SMALL { 2 } else { 4 }
}

/// Writes a line with a comment behind it; none where `why` is empty.
pub fn line(to: &mut String, what: &str, why: &str) -> fmt::Result {
    if why.is_empty() {
        writeln!(to, "{what}")
    } else {
        writeln!(to, "{what:<44} # {why}")
    }
}

/// Racks and the hosts of each, at least as many as asked: of equal racks of 8 to 24 the largest that fit, or else of 16
/// at the most.
fn racks(hosts: u32) -> (u32, u32) {
    let fits = (8..=24)
        .rev()
        .find(|&each| hosts.is_multiple_of(each) && hosts > each);
    if let Some(each) = fits {
        return (hosts / each, each);
    }
    let racks = hosts.div_ceil(16);
    (racks, hosts.div_ceil(racks))
}
