//! Workloads of a partition and their scheduled wake-ups.

use crate::topology::Network;
use crate::workload::{Actions, Note, Workloads};
use duetime_core::Time;
use duetime_results::{QueryRecord, ServerRecord};

/// The workloads of a partition.
pub struct Applications {
    pub workloads: Workloads,
    /// Scratch buffer, empty between calls.
    pub actions: Actions,
    /// Number of scheduled wake-ups.
    pub wakes: u64,
}

impl Applications {
    /// Creates the applications of a partition that has not started.
    pub fn new(workloads: Workloads) -> Self {
        Self {
            workloads,
            actions: Actions::default(),
            wakes: 0,
        }
    }

    /// Returns true if a workload of this partition has a wake-up scheduled.
    pub fn has_wakes(&self) -> bool {
        self.wakes > 0
    }

    /// Returns the server use of this partition's hosts, by host.
    pub fn servers(&mut self, end: Time, network: &Network) -> Vec<(u32, ServerRecord)> {
        self.workloads.take_servers(end, network)
    }

    /// Returns the queries rooted in this partition, and the notes about queries whose roots are in other partitions.
    pub fn finish(&mut self) -> (Vec<QueryRecord>, Vec<(u64, Note)>) {
        let queries = self.workloads.take_queries();
        (queries, self.workloads.take_notes())
    }
}
