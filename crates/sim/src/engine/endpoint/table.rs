//! Endpoints of one family in a partition.

use super::{Connection, Endpoint, ReceivingEnd, SendingEnd};
use rustc_hash::FxHashMap;
use slab::Slab;
use std::sync::Arc;

/// Endpoints of one family in a partition.
pub struct Table<T: Endpoint> {
    pub senders: Slab<SendingEnd<T::Sender>>,
    pub receivers: Slab<ReceivingEnd<T::Receiver>>,
    /// Senders of persistent connections.
    pub connections: FxHashMap<Connection, u32>,
    /// Receivers by [`Receiver::key`](super::Receiver::key).
    pub known: FxHashMap<u64, u32>,
    /// Options by transport of the run; `None` or missing for a transport of another family.
    configs: Vec<Option<Arc<T::Config>>>,
}

impl<T: Endpoint> Table<T> {
    /// Creates a table without endpoints and transports.
    pub fn new() -> Self {
        Self {
            senders: Slab::new(),
            receivers: Slab::new(),
            connections: FxHashMap::default(),
            known: FxHashMap::default(),
            configs: Vec::new(),
        }
    }

    /// Adds a transport of this family.
    pub fn add(&mut self, transport: usize, config: T::Config) {
        self.configs.resize_with(transport, || None);
        self.configs.push(Some(Arc::new(config)));
    }

    /// Returns the options of a transport of this family.
    pub fn config(&self, transport: u8) -> &Arc<T::Config> {
        let config = &self.configs[usize::from(transport)];
        config.as_ref().expect("the transport is of this family")
    }
}
