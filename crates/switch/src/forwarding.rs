//! To which interface a frame goes.

use crate::config::Config;
use crate::frame::ALL;
use crate::headers::{Headers, Mac};
use rustc_hash::FxHashMap;
use std::net::Ipv4Addr;

/// The most learned addresses. What comes after them is sent to all.
const LEARNED: usize = 4096;

/// The addresses of the hosts: configured ones stay, others are learned and follow the host that sends from them.
#[derive(Debug)]
pub(crate) struct Forwarding {
    addresses: FxHashMap<Ipv4Addr, u16>,
    configured: FxHashMap<Mac, u16>,
    learned: FxHashMap<Mac, u16>,
    /// By interface.
    macs: Vec<Option<Mac>>,
}

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Towards {
    /// An interface, or [`ALL`].
    pub interface: u16,
    /// The link-layer destination to set.
    pub mac: Option<Mac>,
}

impl Forwarding {
    pub fn new(config: &Config) -> Self {
        let interfaces = || (0u16..).zip(&config.interfaces);
        Self {
            addresses: interfaces()
                .filter_map(|(index, interface)| Some((interface.address?, index)))
                .collect(),
            configured: interfaces()
                .filter_map(|(index, interface)| Some((interface.mac?, index)))
                .collect(),
            learned: FxHashMap::default(),
            macs: config.interfaces.iter().map(|one| one.mac).collect(),
        }
    }

    /// Learns who sent the frame from interface `from`.
    pub fn learn(&mut self, from: u16, headers: &Headers) {
        let group = headers.source[0] & 1 != 0;
        if group || self.configured.contains_key(&headers.source) {
            return;
        }
        if self.learned.len() < LEARNED || self.learned.contains_key(&headers.source) {
            self.learned.insert(headers.source, from);
        }
    }

    pub fn towards(&self, headers: &Headers) -> Towards {
        let to = |interface| Towards {
            interface,
            mac: None,
        };
        if headers.is_for_many() {
            return to(ALL);
        }
        if let Some(&interface) = headers
            .address
            .and_then(|address| self.addresses.get(&address))
        {
            let mac = self.macs[usize::from(interface)].filter(|mac| *mac != headers.destination);
            return Towards { interface, mac };
        }
        let known = self.configured.get(&headers.destination);
        let known = known.or_else(|| self.learned.get(&headers.destination));
        to(known.copied().unwrap_or(ALL))
    }
}
