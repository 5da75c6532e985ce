//! `duetime check`: is the scenario what was meant, and can the network carry it?

use std::io::Write;

use duetime_sim::describe::{Description, LoadDescription, ServersDescription};
use duetime_study::{About, Effort, Warning, text, warnings};
use serde_json::json;

use super::at_once;
use super::show::described;
use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::terminal::{Room, stdout};

/// Says how busy the links will be and what will count, without running anything.
pub fn check(args: &args::Check) -> Result<(), Failure> {
    let (plan, description) = described(&args.show)?;
    let described = [(String::new(), description)];
    let warnings = warnings::of_plan(&plan, &described);
    let effort = Effort::of(&plan, &described, at_once(None, 1));
    let [(_, description)] = described;
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
            "warnings": warnings,
        });
        writeln!(to, "{line}")?;
    } else {
        let room = Room::of_stdout(args.tables.wide);
        human(&mut to, room, plan.name(), &description, effort, &warnings)?;
    }
    // Suspected is not certain: only what cannot count is a failure.
    if description.counts_nothing() {
        let certain = warnings
            .iter()
            .find(|of| of.about == About::NothingMeasured)
            .map_or(String::new(), |of| of.text.clone());
        return Err(Failure::Runs(certain));
    }
    Ok(())
}

fn human(
    to: &mut impl Write,
    room: Room,
    name: &str,
    of: &Description,
    effort: Option<Effort>,
    warnings: &[Warning],
) -> Result<(), Failure> {
    writeln!(to, "{name}: offered load of the busiest links")?;
    links(to, room, &of.load)?;
    for kind in &of.load.oversubscription {
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
        writeln!(to, "{}", room.wrapped(&line))?;
    }
    servers(to, room, &of.servers)?;
    for out in &of.load.not_sustained {
        writeln!(to, "not in the load: {} ({})", out.workload, out.why)?;
    }
    let workloads = of.workloads.iter();
    let expected: Vec<String> = workloads
        .map(|workload| {
            let name = &workload.name;
            let has_queries = workload.trees.is_some();
            let what = if has_queries { "queries" } else { "flows" };
            match workload.expected_measured {
                Some(number) => format!("{} {what} of {name}", text::count(number)),
                None => format!("{what} of {name}, as many as the network lets through"),
            }
        })
        .collect();
    let line = format!("expected to count, in each run: {}", expected.join("; "));
    writeln!(to, "{}", room.wrapped(&line))?;
    if let Some(effort) = effort {
        let runs = if effort.runs == 1 { "run" } else { "runs" };
        writeln!(to, "{} {runs}: {effort}", effort.runs)?;
    }
    for warning in warnings {
        writeln!(to, "\n{}", room.wrapped(&warning.line()))?;
    }
    Ok(())
}

fn links(to: &mut impl Write, room: Room, of: &LoadDescription) -> Result<(), Failure> {
    if of.links.is_empty() {
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
    for link in &of.links {
        table.row(vec![
            link.link.clone(),
            text::percent(link.load),
            text::rate(link.offered_bps),
            text::rate(link.rate_bps as f64),
            warnings::shares(&link.by_workload),
        ]);
    }
    writeln!(to, "{}", table.within(room.tables))?;
    let line = format!(
        "of {} directed links, {} are offered more than 90 %, {} more than they carry \
         (headers in, acknowledgements and retransmissions not)",
        of.of_links, of.heavy_links, of.overloaded_links
    );
    writeln!(to, "{}", room.wrapped(&line))?;
    Ok(())
}

/// Writes the load of the hosts' servers, or that they are unlimited.
fn servers(to: &mut impl Write, room: Room, of: &ServersDescription) -> Result<(), Failure> {
    let Some(slots) = of.slots else {
        if of.computes {
            writeln!(
                to,
                "servers: unlimited, so no computation waits (`host.servers`)"
            )?;
        }
        return Ok(());
    };
    let slots = warnings::slots_of(slots);
    if of.hosts.is_empty() {
        let why = if of.computes {
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
    for host in &of.hosts {
        table.row(vec![
            host.host.clone(),
            text::percent(host.load),
            text::significant(host.offered_slots),
            warnings::shares(&host.by_workload),
        ]);
    }
    writeln!(to, "{}", table.within(room.tables))?;
    let line = format!(
        "of {} computing hosts with a mean load of {}, {} are offered more than 90 %, {} are overloaded (hedges and \
         retries not counted)",
        of.of_hosts,
        text::percent(of.mean_load),
        of.heavy_hosts,
        of.overloaded_hosts
    );
    writeln!(to, "{}", room.wrapped(&line))?;
    Ok(())
}

/// Name and kind of each workload, and how many of its flows or queries are expected to count.
fn measured(of: &Description) -> impl Iterator<Item = (&str, &'static str, Option<f64>)> {
    let workloads = of.workloads.iter();
    workloads.map(|of| (of.name.as_str(), of.kind, of.expected_measured))
}
