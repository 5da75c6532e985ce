//! Description of a scenario, computed without a run.

use crate::feasibility::{self, InfeasibleDeadlines};
use crate::offered_load::{self, LoadDescription, servers, servers::ServersDescription};
use crate::settings::{self, QuestionableSetting};
use crate::topology::TopologyDescription;
use crate::traffic::{self, WorkloadDescription};
use duetime_core::random::Streams;
use duetime_scenario::Scenario;
use duetime_sim::SetupError;
use duetime_sim::routing::Routing;
use duetime_sim::topology::Network;
use duetime_sim::workload::Workloads;
use serde::Serialize;

/// Description of a scenario's network and workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The network.
    pub topology: TopologyDescription,
    /// Workloads, in the order of the file.
    pub workloads: Vec<WorkloadDescription>,
    /// Load that the workloads offer to the links.
    pub load: LoadDescription,
    /// Load of the hosts' servers.
    pub servers: ServersDescription,
    /// Settings that are valid but probably unintended.
    pub doubts: Vec<QuestionableSetting>,
    /// Deadlines that no transport can meet, by workload.
    pub hopeless: Vec<InfeasibleDeadlines>,
}

impl Description {
    /// Returns true if the run will certainly measure nothing: no workload starts a flow or query between the warm-up
    /// and the duration.
    pub fn measures_nothing(&self) -> bool {
        let mut measured = (self.workloads.iter()).map(|workload| workload.expected_measured);
        measured.all(|expected| expected == Some(0.0))
    }
}

/// Describes a scenario as its first run would set it up.
pub fn describe(scenario: &Scenario) -> Result<Description, SetupError> {
    let network = Network::build(&scenario.topology)?;
    let routing = Routing::build(&network)?;
    let workloads = Workloads::new(scenario, &network, &Streams::new(scenario.seed, 0))?;
    let mut described = traffic::describe(scenario, &network, &workloads);
    let load = offered_load::describe(scenario, &network, &workloads, &mut described);
    let topology = TopologyDescription::new(&network, &routing, &scenario.host);
    Ok(Description {
        doubts: settings::find(scenario, &network, &workloads, topology.base_rtt_ns),
        hopeless: feasibility::find(scenario, &network, &workloads),
        servers: servers::describe(scenario, &network, &workloads),
        topology,
        workloads: described,
        load,
    })
}
