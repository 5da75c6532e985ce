//! The resolved scenario as JSON: what a run's manifest keeps. Quantities are integers in their smallest unit, named
//! in the key, so that equal scenarios give equal text.

use crate::model::Scenario;
use crate::options::Resolved;
use crate::{transports, workloads};
use serde_json::{Value, json};

/// Everything that the scenario means, with no default left open; its keys are sorted. A trace is kept as the number
/// of its flows and a digest of them. `[lab]` is not a part: a scenario that was scaled has other times and rates.
pub fn resolved_json(scenario: &Scenario) -> Value {
    json!({
        "name": scenario.name,
        "transports": scenario.transports.iter().map(transports::resolved).collect::<Vec<_>>(),
        "seeds": scenario.seeds,
        "seed": scenario.seed,
        "warm_up_ps": scenario.warm_up.as_ps(),
        "duration_ps": scenario.duration.as_ps(),
        "drain_ps": scenario.drain.as_ps(),
        "topology": scenario.topology.resolved(),
        "switch": scenario.switch.resolved(),
        "host": scenario.host.resolved(),
        "workloads": scenario.workloads.iter().map(workloads::resolved).collect::<Vec<_>>(),
        "record": scenario.record.resolved(),
    })
}
