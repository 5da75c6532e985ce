//! Endpoints of one family in a partition.

use super::indexed::Indexed;
use super::{Connection, Endpoint, ReceivingEnd, SendingEnd};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Endpoints of one family in a partition.
pub struct Table<T: Endpoint> {
    pub senders: Indexed<SendingEnd<T::Sender>>,
    pub receivers: Indexed<ReceivingEnd<T::Receiver>>,
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
            senders: Indexed::default(),
            receivers: Indexed::default(),
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

    /// Prefetches the state of a sender that `input` will read.
    #[inline(always)]
    pub fn prefetch_sender(&self, index: u32) {
        self.senders.prefetch::<4>(index);
    }

    /// Prefetches the state of a receiver that `input` will read.
    #[inline(always)]
    pub fn prefetch_receiver(&self, index: u32) {
        self.receivers.prefetch::<3>(index);
    }
}
