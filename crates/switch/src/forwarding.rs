//! Forwarding decisions.

use crate::config::Config;
use crate::frame::ALL;
use crate::headers::{Headers, Mac};
use rustc_hash::FxHashMap;
use std::net::Ipv4Addr;

/// Maximum number of learned addresses. Frames to further addresses are flooded.
const MAX_LEARNED: usize = 4096;

/// Addresses of the hosts. Configured addresses are fixed; learned addresses follow the host that last used them.
#[derive(Debug)]
pub(crate) struct Forwarding {
    addresses: FxHashMap<Ipv4Addr, u16>,
    configured: FxHashMap<Mac, u16>,
    learned: FxHashMap<Mac, u16>,
    macs: Vec<Option<Mac>>,
}

/// Forwarding decision for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Interface, or [`ALL`].
    pub interface: u16,
    /// Link-layer destination to set.
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
            macs: config
                .interfaces
                .iter()
                .map(|interface| interface.mac)
                .collect(),
        }
    }

    /// Learns the frame's source address at interface `from`.
    pub fn learn(&mut self, from: u16, headers: &Headers) {
        let group = headers.source[0] & 1 != 0;
        if group || self.configured.contains_key(&headers.source) {
            return;
        }
        if self.learned.len() < MAX_LEARNED || self.learned.contains_key(&headers.source) {
            self.learned.insert(headers.source, from);
        }
    }

    pub fn decide(&self, headers: &Headers) -> Decision {
        let to = |interface| Decision {
            interface,
            mac: None,
        };
        if headers.is_multicast() {
            return to(ALL);
        }
        if let Some(&interface) = headers
            .address
            .and_then(|address| self.addresses.get(&address))
        {
            let mac = self.macs[usize::from(interface)].filter(|mac| *mac != headers.destination);
            return Decision { interface, mac };
        }
        let known = self.configured.get(&headers.destination);
        let known = known.or_else(|| self.learned.get(&headers.destination));
        to(known.copied().unwrap_or(ALL))
    }
}
