//! `duetime check`: the load and the expected measurements of a scenario.

use std::io::Write;

use duetime_analysis::{Description, LoadDescription, ServersDescription};
use duetime_scenario::ProfileOverride;
use duetime_study::{About, Effort, text, warnings};
use serde_json::json;

use super::at_once;
use super::show::described;
use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::terminal::{Widths, stdout};

/// Prints the load of the links and what will be measured, without running the scenario.
pub fn check(args: &args::Check) -> Result<(), Failure> {
    let (plan, description) = described(&args.show)?;
    let described = [(String::new(), description)];
    let warnings = warnings::of_plan(&plan, &described);
    let effort = Effort::of(&plan, &described, at_once(None, 1));
    let [(_, description)] = described;
    let overrides = plan.profile_overrides();
    let mut to = stdout();
    if args.show.json {
        let line = json!({
            "scenario": plan.name(),
            "load": description.load,
            "servers": description.servers,
            "measured": measured(&description)
                .map(|(name, kind, expected)| json!({ "workload": name, "kind": kind, "expected": expected }))
                .collect::<Vec<_>>(),
            "effort": effort,
            "profile_overrides": overrides
                .iter()
                .map(|found| json!({ "key": found.key, "profile": found.profile, "name": found.name }))
                .collect::<Vec<_>>(),
            "warnings": warnings,
        });
        writeln!(to, "{line}")?;
    } else {
        let widths = Widths::of_stdout(args.tables.wide);
        human(&mut to, widths, plan.name(), &description, effort)?;
        for line in overriding(&overrides) {
            writeln!(to, "{}", widths.wrapped(&line))?;
        }
        for warning in &warnings {
            writeln!(to, "\n{}", widths.wrapped(&warning.line()))?;
        }
    }
    // Other warnings are suspicions; only a scenario that cannot measure anything is an error.
    if description.measures_nothing() {
        let message = warnings
            .iter()
            .find(|warning| warning.about == About::NothingMeasured)
            .map_or(String::new(), |warning| warning.text.clone());
        return Err(Failure::Runs(message));
    }
    Ok(())
}

fn human(
    to: &mut impl Write,
    widths: Widths,
    name: &str,
    description: &Description,
    effort: Option<Effort>,
) -> Result<(), Failure> {
    writeln!(to, "{name}: offered load of the busiest links")?;
    links(to, widths, &description.load)?;
    for kind in &description.load.oversubscription {
        let (which, hosts) = match kind.switches {
            1 => (format!("`{}`", kind.switch), "its hosts can send"),
            many => (
                format!("{many} switches, such as `{}`", kind.switch),
                "the hosts of each can send",
            ),
        };
        let line = format!(
            "oversubscription {} : 1 at {which}: {hosts} {}, the links to other switches carry {}",
            text::significant(kind.ratio),
            text::rate(kind.from_hosts_bps as f64),
            text::rate(kind.to_switches_bps as f64)
        );
        writeln!(to, "{}", widths.wrapped(&line))?;
    }
    servers(to, widths, &description.servers)?;
    for out in &description.load.not_sustained {
        writeln!(to, "not in the load: {} ({})", out.workload, out.why)?;
    }
    let workloads = description.workloads.iter();
    let expected: Vec<String> = workloads
        .map(|workload| {
            let name = &workload.name;
            let has_queries = workload.trees.is_some();
            let kind = if has_queries { "queries" } else { "flows" };
            match workload.expected_measured {
                Some(number) => format!("{} {kind} of {name}", text::count(number)),
                None => format!("{kind} of {name}, limited by the network"),
            }
        })
        .collect();
    let line = format!("expected measurements per run: {}", expected.join("; "));
    writeln!(to, "{}", widths.wrapped(&line))?;
    if let Some(effort) = effort {
        let runs = if effort.runs == 1 { "run" } else { "runs" };
        writeln!(to, "{} {runs}: {effort}", effort.runs)?;
    }
    Ok(())
}

/// Says, for each profile, which keys win over it.
fn overriding(overrides: &[ProfileOverride]) -> Vec<String> {
    let mut profiles: Vec<(&str, &str)> = Vec::new();
    for found in overrides {
        let profile = (found.profile.as_str(), found.name.as_str());
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    let line = |(profile, name): (&str, &str)| {
        let keys = overrides.iter().filter(|found| found.profile == profile);
        let keys: Vec<String> = keys.map(|found| format!("`{}`", found.key)).collect();
        let verb = if keys.len() == 1 {
            "overrides"
        } else {
            "override"
        };
        format!("{} {verb} `{profile} = \"{name}\"`", keys.join(", "))
    };
    profiles.into_iter().map(line).collect()
}

fn links(to: &mut impl Write, widths: Widths, load: &LoadDescription) -> Result<(), Failure> {
    if load.links.is_empty() {
        return Ok(writeln!(to, "none: no workload has a sustained load")?);
    }
    let mut table = Table::new(&[
        ("link", Align::Left),
        ("load", Align::Right),
        ("offered", Align::Right),
        ("of", Align::Right),
        ("by", Align::Left),
    ])
    .sparing(&["offered", "of", "by"]);
    for link in &load.links {
        table.row(vec![
            link.link.clone(),
            text::percent(link.load),
            text::rate(link.offered_bps),
            text::rate(link.rate_bps as f64),
            warnings::shares(&link.by_workload),
        ]);
    }
    writeln!(to, "{}", table.within(widths.tables))?;
    let line = format!(
        "of {} directed links, {} are loaded above 90 % and {} are overloaded (with headers, without acknowledgements and \
         retransmissions)",
        load.of_links, load.heavy_links, load.overloaded_links
    );
    writeln!(to, "{}", widths.wrapped(&line))?;
    Ok(())
}

/// Prints the load of the hosts' servers, or that they are unlimited.
fn servers(
    to: &mut impl Write,
    widths: Widths,
    description: &ServersDescription,
) -> Result<(), Failure> {
    let Some(slots) = description.slots else {
        if description.computes {
            writeln!(
                to,
                "servers: unlimited, so no computation waits (`host.servers`)"
            )?;
        }
        return Ok(());
    };
    let slots = warnings::slots_of(slots);
    if description.hosts.is_empty() {
        let why = if description.computes {
            "no workload computes with a sustained load"
        } else {
            "no workload computes"
        };
        return Ok(writeln!(to, "servers: {slots} on each host; {why}")?);
    }
    writeln!(
        to,
        "\nservers: offered load of the busiest hosts, {slots} each"
    )?;
    let mut table = Table::new(&[
        ("host", Align::Left),
        ("load", Align::Right),
        ("busy slots", Align::Right),
        ("by", Align::Left),
    ])
    .sparing(&["busy slots", "by"]);
    for host in &description.hosts {
        table.row(vec![
            host.host.clone(),
            text::percent(host.load),
            text::significant(host.offered_slots),
            warnings::shares(&host.by_workload),
        ]);
    }
    writeln!(to, "{}", table.within(widths.tables))?;
    let line = format!(
        "of {} computing hosts with a mean load of {}, {} are loaded above 90 % and {} are overloaded (without hedges and \
         retries)",
        description.of_hosts,
        text::percent(description.mean_load),
        description.heavy_hosts,
        description.overloaded_hosts
    );
    writeln!(to, "{}", widths.wrapped(&line))?;
    Ok(())
}

/// Returns the name, kind and expected number of measured flows or queries of each workload.
fn measured(description: &Description) -> impl Iterator<Item = (&str, &'static str, Option<f64>)> {
    let workloads = description.workloads.iter();
    workloads.map(|workload| {
        (
            workload.name.as_str(),
            workload.kind,
            workload.expected_measured,
        )
    })
}
