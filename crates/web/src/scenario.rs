//! A scenario's text, checked: what it contains, or the line that is wrong.

use crate::controls;
use crate::error::Error;
use crate::limits::{self, MOST_TEXT};
use crate::transports;
use duetime_scenario::{Document, NoFiles, Scenario, Sources};
use duetime_sim::describe::{Description, describe};
use serde_json::{Value, json};

/// What messages call the text.
pub const NAME: &str = "scenario.toml";

/// Reads the text. Files that it names are not there: a page has its text and nothing else.
pub fn check(text: &str) -> Result<(Scenario, Value), Error> {
    let document = parse(text)?;
    let (scenario, described) = resolve(&document, &NoFiles)?;
    limits::contents(&scenario, &described)?;
    let facts = facts(&scenario, &described, &controls::of(text));
    Ok((scenario, facts))
}

/// The text as a document.
pub fn parse(text: &str) -> Result<Document, Error> {
    if text.len() > MOST_TEXT {
        let message = format!(
            "too large for a page: the scenario has {} bytes",
            text.len()
        );
        return Err(Error::plain(message).allowed(format!("at most {MOST_TEXT} bytes")));
    }
    Ok(Document::parse(text, NAME)?)
}

/// The document as a scenario with what it contains.
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

fn facts(scenario: &Scenario, of: &Description, controls: &[Value]) -> Value {
    let workloads = of.workloads.iter().map(|of| {
        json!({
            "name": of.name,
            "kind": of.kind,
            "flows": of.expected_flows,
            "queries": of.expected_queries,
        })
    });
    let busiest = of.load.links.first();
    json!({
        "name": scenario.name,
        "transports": transports::all(scenario),
        "seeds": scenario.seeds,
        "duration_s": scenario.duration.as_secs_f64(),
        "hosts": of.topology.hosts,
        "switches": of.topology.switches,
        "base_rtt_ns": of.topology.base_rtt_ns,
        "packet_hops": of.load.packet_hops,
        "busiest": busiest.map(|of| json!({ "link": of.link, "load": of.load })),
        "overloaded_links": of.load.overloaded_links,
        "counts_nothing": of.counts_nothing(),
        "workloads": workloads.collect::<Vec<_>>(),
        "controls": controls,
    })
}
