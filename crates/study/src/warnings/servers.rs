//! Warnings about hosts whose servers are nearly or fully overloaded.

use super::{About, Warning, at_point, shares};
use crate::text;
use duetime_analysis::{Description, HEAVY, HostLoad};

/// Returns a warning about the busiest host of all points, if it is busy enough.
pub(super) fn load(points: &[(String, Description)]) -> Option<Warning> {
    let busiest = |point: &Description| point.servers.hosts.first().map_or(0.0, |host| host.load);
    let heavy = || points.iter().filter(|(_, point)| busiest(point) > HEAVY);
    let (label, worst) = heavy().max_by(|a, b| busiest(&a.1).total_cmp(&busiest(&b.1)))?;
    let servers = &worst.servers;
    let (host, slots) = (servers.hosts.first()?, servers.slots?);
    let others = match (servers.overloaded_hosts, servers.heavy_hosts) {
        (0 | 1, 1) => String::new(),
        (0, heavy) => format!(
            ", and {heavy} of {} hosts in total are offered more than 90 %",
            servers.of_hosts
        ),
        (over, _) => format!(
            ", and {over} of {} hosts in total are overloaded",
            servers.of_hosts
        ),
    };
    let effect = if host.load > 1.0 {
        "Queues for slots grow as long as queries arrive, so the results depend on `duration`."
    } else {
        "This is close to their capacity: queues for slots are long, and short runs do not show the longest."
    };
    let extent = match heavy().count() {
        _ if points.len() == 1 => String::new(),
        count => format!(
            " At {count} of {} points servers are offered more than 90 %; this is the highest load.",
            points.len()
        ),
    };
    let text = format!(
        "The servers of `{}` are offered {} of their {} ({}){}{others}. {effect}{extent}",
        host.host,
        text::percent(host.load),
        slots_of(slots),
        by(host),
        at_point(label),
    );
    Some(Warning {
        about: About::Servers,
        text,
    })
}

/// Formats a number of slots: `1 slot`, `8 slots`.
pub fn slots_of(slots: u32) -> String {
    match slots {
        1 => "1 slot".to_owned(),
        many => format!("{many} slots"),
    }
}

fn by(host: &HostLoad) -> String {
    shares(&host.by_workload)
}
