//! Tables of a typical network, with comments.

use crate::quantity::{RATE, TIME};
use duetime_core::{Rate, Span};
use std::fmt::{self, Write};

/// Returns the tables `[topology]` and `[switch]` of a network of at least `hosts` hosts: one switch for up to 16
/// hosts, otherwise racks under two spines. `latency` applies to each link; `buffer` is the value of `switch.buffer`.
pub fn network(hosts: u32, link: Rate, latency: Span, buffer: &str) -> String {
    let mut text = String::new();
    write(&mut text, hosts, link, latency, buffer).expect("writing to a string cannot fail");
    text
}

fn write(to: &mut String, hosts: u32, link: Rate, latency: Span, buffer: &str) -> fmt::Result {
    let rate = (RATE.show)(link.as_bps());
    let latency = (TIME.show)(latency.as_ps());
    let a_link = format!("{{ rate = \"{rate}\", latency = \"{latency}\" }}");
    writeln!(to, "\n[topology]")?;
    if hosts <= MAX_STAR_HOSTS {
        line(to, "kind = \"star\"", "one switch")?;
        line(to, &format!("hosts = {hosts}"), "")?;
        line(
            to,
            &format!("link = {a_link}"),
            "latency of the link and half of the switch",
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
            &format!("oversubscription of a rack's uplinks {:.2} : 1", up / down),
        )?;
        line(
            to,
            &format!("host_link = {a_link}"),
            "latency of the link and half of the switch",
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
        "per port; `\"4 MB\"` is one pool per switch"
    } else {
        "one pool per switch; `\"100 packets\"` is per port"
    };
    line(to, &format!("buffer = \"{buffer}\""), why)?;
    writeln!(
        to,
        "# ecn_threshold: 20 packets below 10 Gbps and 65 at 10 Gbps and above (DCTCP paper); \"off\" for switches without ECN"
    )
}

/// Maximum number of hosts on one switch.
const MAX_STAR_HOSTS: u32 = 16;

/// Returns the number of links of the longest path between two hosts of [`network`].
pub fn longest_way(hosts: u32) -> u32 {
    if hosts <= MAX_STAR_HOSTS { 2 } else { 4 }
}

/// Writes a line, with a comment unless `comment` is empty.
pub fn line(to: &mut String, text: &str, comment: &str) -> fmt::Result {
    if comment.is_empty() {
        writeln!(to, "{text}")
    } else {
        writeln!(to, "{text:<44} # {comment}")
    }
}

/// Returns the number of racks and of hosts per rack, for at least `hosts` hosts: the largest equal racks of 8 to 24
/// hosts that fit exactly, or else racks of at most 16 hosts.
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
