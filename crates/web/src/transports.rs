//! The transports of a scenario for a page: names, colours, and what each needs.

use duetime_figures::Palette;
use duetime_scenario::Scenario;
use serde_json::{Value, json};

/// Returns the looks of a scenario's transports, so that a transport keeps its colour in a figure that shows only some.
pub fn palette(scenario: &Scenario) -> Palette {
    let names = scenario.transport_names();
    let mut palette = Palette::of_transports();
    for (name, look) in names.iter().zip(palette.looks(&names)) {
        // A name that cannot be listed is listed already, or is one of too many for looks of their own.
        let _ = palette.add(name, look);
    }
    palette
}

/// Returns each transport of a scenario with its colour in figures, a sentence about it, and what it needs.
pub fn all(scenario: &Scenario) -> Vec<Value> {
    let looks = palette(scenario).looks(&scenario.transport_names());
    let all = scenario.transports.iter().zip(looks);
    let all = all.map(|(of, look)| {
        let about = of.about();
        let queues = if of.priorities > 1 {
            "; strict-priority queues in the switches"
        } else {
            ""
        };
        json!({
            "name": of.name,
            "colour": look.colour.svg(),
            "what": about.what,
            "needs": format!("{}{queues}", about.needs),
        })
    });
    all.collect()
}
