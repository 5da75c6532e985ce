//! `duetime topology`, `duetime workload` and `duetime schema`.

use std::io::Write;

use duetime_analysis::{
    Description, RateCount, TopologyDescription, WorkloadDescription, describe,
};
use duetime_study::{Plan, StudyError, text};

use super::{json_line, request};
use crate::args;
use crate::failure::Failure;
use crate::terminal::stdout;

/// Prints the properties of the network.
pub fn topology(args: &args::Show) -> Result<(), Failure> {
    let (plan, description) = described(args)?;
    if args.json {
        return json_line(&mut stdout(), &description.topology);
    }
    lines(plan.name(), &network(&description.topology))
}

/// Prints the workloads.
pub fn workload(args: &args::Show) -> Result<(), Failure> {
    let (_, description) = described(args)?;
    if args.json {
        return json_line(&mut stdout(), &description.workloads);
    }
    description.workloads.iter().try_for_each(|workload| {
        lines(
            &format!("{} ({})", workload.name, workload.kind),
            &flows(workload),
        )
    })
}

/// Prints the JSON Schema of the scenario file.
pub fn schema() -> Result<(), Failure> {
    writeln!(stdout(), "{:#}", duetime_scenario::json_schema())?;
    Ok(())
}

/// Returns the plan and the description of its scenario.
pub(super) fn described(args: &args::Show) -> Result<(Plan, Description), Failure> {
    let plan = Plan::new(request(&args.scenario, &args.choice)?)?;
    let description = describe(&plan.base).map_err(StudyError::from)?;
    Ok((plan, description))
}

/// Prints a heading and, below it, names with values.
fn lines(heading: &str, facts: &[(&str, String)]) -> Result<(), Failure> {
    let wide = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut to = stdout();
    writeln!(to, "{heading}")?;
    for (name, value) in facts {
        writeln!(to, "  {name:<wide$}  {value}")?;
    }
    Ok(())
}

fn network(topology: &TopologyDescription) -> Vec<(&'static str, String)> {
    let rate = |rate: &RateCount| {
        format!(
            "{} to hosts and {} between switches at {}",
            rate.host_links,
            rate.switch_links,
            text::rate(rate.rate_bps as f64)
        )
    };
    let between = format!(
        "{} ({} of the capacity of either half)",
        text::rate(topology.between_halves_bps as f64),
        text::percent(topology.between_halves_share)
    );
    vec![
        ("hosts", topology.hosts.to_string()),
        ("switches", topology.switches.to_string()),
        (
            "links",
            topology
                .rates
                .iter()
                .map(rate)
                .collect::<Vec<_>>()
                .join("; "),
        ),
        (
            "longest path",
            format!("{} links", topology.longest_path_links),
        ),
        (
            "longest idle round trip",
            text::seconds(topology.base_rtt_ns as f64 * 1e-9),
        ),
        (
            "bandwidth-delay product",
            text::bytes(topology.bandwidth_delay_product_bytes as f64),
        ),
        ("between halves", between),
        (
            "routing tables",
            text::bytes(topology.routing_table_bytes as f64),
        ),
    ]
}

fn flows(workload: &WorkloadDescription) -> Vec<(&'static str, String)> {
    let mut facts = vec![("senders", workload.senders.to_string())];
    let mut add =
        |name: &'static str, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("trees", workload.trees.map(|trees| trees.to_string()));
    let fan_in: Vec<String> = workload.fan_in.iter().map(u32::to_string).collect();
    add("fan-in", (!fan_in.is_empty()).then(|| fan_in.join(" x ")));
    add(
        "largest fan-in",
        workload.largest_fan_in.map(|fan_in| fan_in.to_string()),
    );
    add(
        "answers needed",
        workload.answers_needed.map(|needed| needed.to_string()),
    );
    add(
        "queries expected",
        workload.expected_queries.map(text::count),
    );
    add("flows expected", workload.expected_flows.map(text::count));
    add("mean size", workload.mean_size_bytes.map(text::bytes));
    add(
        "mean on the wire",
        workload.mean_wire_bytes.map(text::bytes),
    );
    add("offered", workload.offered_bps.map(text::rate));
    let load = |load: f64| {
        format!(
            "{} of {}",
            text::percent(load),
            workload.load_of.unwrap_or("capacity")
        )
    };
    add("load", workload.offered_load.map(load));
    let busiest = workload
        .busiest_link
        .as_ref()
        .map(|link| format!("`{}`, {} of it", link.link, text::percent(link.load)));
    add("most loaded link", busiest);
    let ms = |ns: u64| text::seconds(ns as f64 * 1e-9);
    add("starts spread over", workload.jitter_ns.map(ms));
    let deadline = workload.deadline.as_ref().map(|deadline| {
        format!(
            "p1 {}, p25 {}, p50 {}, p75 {}, p99 {}",
            ms(deadline.p1_ns),
            ms(deadline.p25_ns),
            ms(deadline.p50_ns),
            ms(deadline.p75_ns),
            ms(deadline.p99_ns)
        )
    });
    add("deadlines", deadline);
    let drain = workload.burst_drain_ns.map_or(String::new(), |ns| {
        format!(", {} on the receiver's link", ms(ns))
    });
    add(
        "one burst",
        workload
            .burst_bytes
            .map(|bytes| format!("{}{drain}", text::bytes(bytes))),
    );
    facts
}
