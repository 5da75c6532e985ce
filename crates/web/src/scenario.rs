//! Checks of a scenario's text.

use crate::controls;
use crate::error::Error;
use crate::limits::{self, MAX_TEXT_BYTES};
use crate::transports;
use duetime_analysis::{Description, describe};
use duetime_scenario::{Document, NoFiles, Scenario, Sources};
use serde_json::{Value, json};

/// Name of the text in messages.
pub const NAME: &str = "scenario.toml";

/// Parses the text and describes its contents. References to files are errors, since a page has no files.
pub fn check(text: &str) -> Result<(Scenario, Value), Error> {
    let document = parse(text)?;
    let (scenario, described) = resolve(&document, &NoFiles)?;
    limits::contents(&scenario, &described)?;
    let mut facts = facts(&scenario, &described, &controls::of(text));
    facts["more_transports"] = transports::addable(&document, &scenario).into();
    Ok((scenario, facts))
}

/// Parses the text as a document.
pub fn parse(text: &str) -> Result<Document, Error> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!(
            "too large for a page: the scenario has {} bytes",
            text.len()
        );
        return Err(Error::plain(message).allowed(format!("at most {MAX_TEXT_BYTES} bytes")));
    }
    Ok(Document::parse(text, NAME)?)
}

/// Resolves a document to a scenario and its description.
pub fn resolve(
    document: &Document,
    sources: &dyn Sources,
) -> Result<(Scenario, Description), Error> {
    let scenario = document.resolve(sources)?;
    limits::network(&scenario)?;
    if let Some(unknown) = duetime_sim::unknown_link(&scenario) {
        let message = format!(
            "no such link; links are named `from->to`, such as `{}`",
            unknown.example
        );
        return Err(document
            .mistake(&["record", unknown.key], unknown.index, message)
            .into());
    }
    let described = describe(&scenario)?;
    Ok((scenario, described))
}

fn facts(scenario: &Scenario, description: &Description, controls: &[Value]) -> Value {
    let workloads = description.workloads.iter().map(|workload| {
        json!({
            "name": workload.name,
            "kind": workload.kind,
            "flows": workload.expected_flows,
            "queries": workload.expected_queries,
        })
    });
    let busiest = description.load.links.first();
    json!({
        "name": scenario.name,
        "transports": transports::all(scenario),
        "seeds": scenario.seeds,
        "duration_s": scenario.duration.as_secs_f64(),
        "hosts": description.topology.hosts,
        "switches": description.topology.switches,
        "base_rtt_ns": description.topology.base_rtt_ns,
        "packet_hops": description.load.packet_hops,
        "busiest": busiest.map(|link| json!({ "link": link.link, "load": link.load })),
        "overloaded_links": description.load.overloaded_links,
        "measures_nothing": description.measures_nothing(),
        "workloads": workloads.collect::<Vec<_>>(),
        "controls": controls,
    })
}
