//! Transports of a scenario for a page: names, colours and requirements.

use duetime_figures::Palette;
use duetime_scenario::Scenario;
use serde_json::{Value, json};

/// Returns the styles of a scenario's transports, so that transports keep their colours in figures that show only some.
pub fn palette(scenario: &Scenario) -> Palette {
    let names = scenario.transport_names();
    let mut palette = Palette::of_transports();
    for (name, look) in names.iter().zip(palette.looks(&names)) {
        // Adding fails for known names and if there are too many names for distinct styles.
        let _ = palette.add(name, look);
    }
    palette
}

/// Returns the transports of a scenario with their colours in figures, descriptions and requirements.
pub fn all(scenario: &Scenario) -> Vec<Value> {
    let looks = palette(scenario).looks(&scenario.transport_names());
    let all = scenario.transports.iter().zip(looks);
    let all = all.map(|(transport, look)| {
        let about = transport.about();
        let queues = if transport.priorities > 1 {
            "; strict-priority queues in the switches"
        } else {
            ""
        };
        json!({
            "name": transport.name,
            "colour": look.colour.svg(),
            "what": about.what,
            "needs": format!("{}{queues}", about.needs),
        })
    });
    all.collect()
}
