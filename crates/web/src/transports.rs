//! Transports of a scenario for a page: names, colours and requirements.

use crate::error::Error;
use crate::scenario::parse;
use duetime_figures::Palette;
use duetime_scenario::model::Transport;
use duetime_scenario::{Diagnostic, Document, NoFiles, Scenario, TRANSPORTS};
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
        let mut described = described(transport);
        described["colour"] = look.colour.svg().into();
        described
    });
    all.collect()
}

/// Returns the built-in transports that can be added to a scenario, with descriptions and requirements.
pub fn addable(document: &Document, scenario: &Scenario) -> Vec<Value> {
    let compared = scenario.transport_names();
    let others = TRANSPORTS.iter().filter(|name| !compared.contains(name));
    let added = others.filter_map(|name| {
        let text = with(document, &compared, name).ok()?;
        let scenario = parse(&text).ok()?.resolve(&NoFiles).ok()?;
        scenario.transports.last().map(described)
    });
    added.collect()
}

/// Returns the text with a transport added to those compared. Comments are kept.
///
/// # Errors
/// If the text is invalid. The name is checked with the returned text.
pub fn add(text: &str, transport: &str) -> Result<String, Error> {
    let document = parse(text)?;
    let scenario = document.resolve(&NoFiles)?;
    Ok(with(&document, &scenario.transport_names(), transport)?)
}

fn with(document: &Document, compared: &[&str], added: &str) -> Result<String, Diagnostic> {
    let names: Vec<&str> = compared.iter().copied().chain([added]).collect();
    let mut document = document.clone();
    document.set("transport", &json!(names).to_string())?;
    Ok(document.to_toml())
}

fn described(transport: &Transport) -> Value {
    let about = transport.about();
    let queues = if transport.priorities > 1 {
        "; strict-priority queues in the switches"
    } else {
        ""
    };
    json!({
        "name": transport.name,
        "what": about.what,
        "needs": format!("{}{queues}", about.needs),
    })
}
