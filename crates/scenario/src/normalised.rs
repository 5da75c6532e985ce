//! Resolved scenario as JSON, for the manifest of a run. Quantities are integers in their smallest unit, which the key
//! names, so equal scenarios have equal text.

use crate::model::Scenario;
use crate::values::Resolved;
use crate::{transports, workloads};
use serde_json::{Value, json};

/// Returns the scenario with all defaults as JSON with sorted keys. A trace is stored as the number and a digest of its
/// flows. `[lab]` is not included: a scaled scenario has other times and rates.
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
