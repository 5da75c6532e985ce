//! Inputs for placing a workload on the network, and checks of the hosts that it names.

use super::context::Context;
use crate::SetupError;
use crate::topology::Network;
use duetime_scenario::model::{Connection, Scenario};

/// Inputs for placing a workload on the network.
pub(super) struct Place<'a> {
    pub(super) workload: u16,
    pub(super) name: &'a str,
    pub(super) scenario: &'a Scenario,
    pub(super) network: &'a Network,
    pub(super) context: &'a Context,
    /// Number of OLDI trees of the preceding workloads; trees are numbered across workloads.
    pub(super) trees_before: u32,
    /// Returns the hosts of the roots of a preceding workload's trees; empty if it has no trees.
    pub(super) roots_of: &'a dyn Fn(usize) -> Vec<u32>,
}

impl Place<'_> {
    pub(super) fn invalid(&self, message: impl Into<String>) -> SetupError {
        SetupError::Workload {
            workload: self.name.to_owned(),
            what: message.into(),
        }
    }

    /// Returns true if flows between the same two hosts share a connection.
    pub(super) fn keeps_connections(&self) -> bool {
        let workload = &self.scenario.workloads[usize::from(self.workload)];
        workload.connection == Connection::Persistent
    }

    /// Returns `host`, or an error if it does not exist. `label` names the setting.
    pub(super) fn host(
        &self,
        host: u32,
        label: impl FnOnce() -> String,
    ) -> Result<u32, SetupError> {
        if host < self.network.hosts() {
            return Ok(host);
        }
        let last = self.network.hosts() - 1;
        Err(SetupError::NoSuchHost {
            workload: self.name.to_owned(),
            what: label(),
            host,
            last,
        })
    }

    /// Checks the two ends of a flow. `label` names the setting.
    pub(super) fn ends(
        &self,
        source: u32,
        destination: u32,
        label: impl Fn() -> String,
    ) -> Result<(), SetupError> {
        self.host(source, || format!("the source of {}", label()))?;
        self.host(destination, || format!("the destination of {}", label()))?;
        if source == destination {
            return Err(SetupError::ToItself {
                workload: self.name.to_owned(),
                what: label(),
                host: source,
            });
        }
        Ok(())
    }
}
