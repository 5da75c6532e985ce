//! The verdict: what limits a service, and what to change first.
//!
//! [`verdicts`] repeats the runs of the first transport, watches the critical path of every late query, and counts the
//! queries by the kind of waiting that takes the largest part of their time ([`Limit`]). The scenario's settings and the
//! best possible decide what to change.

mod accounting;
mod advice;

use duetime_results::explain::limit::Limit;
use duetime_store::RunFolder;
use serde::{Deserialize, Serialize};

use crate::bound::BestPossible;
use crate::error::StudyError;
use crate::event::Listener;
use crate::gather::Gathered;
use crate::looks::known_as;
use crate::objective::target_of;
use crate::plan::Plan;
use crate::pool::{Engine, Execution};
use crate::text;

use accounting::Accounting;

/// What limits the queries of one workload under the first transport of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The transport.
    pub transport: String,
    /// Index of the workload.
    pub workload: u16,
    /// Name of the workload.
    pub workload_name: String,
    /// Measured queries that could be late, over all runs.
    pub queries: u64,
    /// Of them, those that were late.
    pub late: u64,
    /// Of them, those whose time was explained: all, unless their traces would not fit into memory; then every n-th.
    pub explained: u64,
    /// Explained queries by what took the largest part of their time, most first.
    pub limits: Vec<Limited>,
    /// The verdict in one to three sentences.
    pub text: String,
    /// Settings to try, each with its values, the present one first; empty where no setting would help.
    pub settings: Vec<(String, Vec<String>)>,
    /// Command that tries them; `None` without settings, or where the scenario came from no file.
    pub command: Option<String>,
}

/// Number of late queries with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// The limit.
    pub limit: Limit,
    /// Queries.
    pub queries: u64,
}

/// Name of the file that keeps the verdicts in a run folder.
const FILE: &str = "verdict.json";

/// Smallest share of the explained queries for a limit beside the first to be named.
const NAMED: f64 = 0.05;

/// Finds the verdicts of a finished study without a sweep, one for each workload whose queries can be late, and keeps
/// them in its folder. A sweep gets none: its points are the settings to compare. None are found if the execution is
/// stopped.
///
/// # Errors
/// If the folder cannot be read or written, or a run cannot be repeated with the same result.
pub fn verdicts(
    plan: &Plan,
    folder: &RunFolder,
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<Vec<Verdict>, StudyError> {
    let [point] = plan.points.as_slice() else {
        return Ok(Vec::new());
    };
    let judged = |at: u16| {
        let workload = &point.scenario.workloads[usize::from(at)];
        workload.objective().is_some() && workload.is_judged()
    };
    let workloads: Vec<u16> = (0..)
        .take(point.scenario.workloads.len())
        .filter(|&at| judged(at))
        .collect();
    if workloads.is_empty() {
        return Ok(Vec::new());
    }
    let Some(accounting) = accounting::account(plan, folder, execution, engine, listener)? else {
        return Ok(Vec::new());
    };
    let best = BestPossible::of_points(plan, std::iter::once(0))?;
    let best = best.first().map(|(_, best)| best);
    let verdict = |&at: &u16| {
        let of = accounting.get(&at).cloned().unwrap_or_default();
        (of.queries > 0).then(|| Verdict::new(plan, at, &of, best))
    };
    let verdicts: Vec<Verdict> = workloads.iter().filter_map(verdict).collect();
    folder.write_json(FILE, &verdicts)?;
    Ok(verdicts)
}

/// Returns the verdicts that a folder keeps, without those that no longer fit its runs.
pub(crate) fn kept(folder: &RunFolder, gathered: &Gathered) -> Result<Vec<Verdict>, StudyError> {
    let mut verdicts: Vec<Verdict> = folder.read_json_if_there(FILE)?.unwrap_or_default();
    verdicts.retain(|verdict| {
        let cells = gathered.cells.iter();
        let mut queries = cells
            .filter(|cell| cell.summary.transport == verdict.transport)
            .flat_map(|cell| &cell.summary.queries);
        queries.any(|of| {
            let judged = of.objective.map(|of| of.queries);
            of.workload == verdict.workload && judged == Some(verdict.queries)
        })
    });
    Ok(verdicts)
}

impl Verdict {
    fn new(plan: &Plan, workload: u16, of: &Accounting, best: Option<&BestPossible>) -> Self {
        let scenario = &plan.points[0].scenario;
        let transport = &scenario.transports[0];
        let target = target_of(scenario, workload);
        let best = best.and_then(|best| {
            let mut queries = best.queries.iter();
            Some(queries.find(|of| of.workload == workload)?.best)
        });
        let mut limits: Vec<Limited> = of
            .limits
            .iter()
            .map(|(&limit, &queries)| Limited { limit, queries })
            .collect();
        limits.sort_by_key(|of| std::cmp::Reverse(of.queries));
        let met = of.late as f64 <= of.queries as f64 * (1.0 - target.unwrap_or(1.0));
        let advice = match limits.first() {
            Some(first) if !met => advice::of(scenario, first.limit, workload),
            _ => advice::Advice::default(),
        };
        let mut sentences = vec![count(
            &known_as(&transport.name),
            of,
            target.filter(|_| met),
        )];
        if !limits.is_empty() {
            sentences.push(shares(&limits, of));
        }
        if !met && let Some(best) = best {
            let late = best.late.value * of.queries as f64;
            sentences.extend(impossible(late, of, target));
        }
        sentences.extend((!advice.words.is_empty()).then(|| format!("{}.", advice.words)));
        let command = command(plan, &transport.name, &advice.settings);
        Self {
            transport: transport.name.clone(),
            workload,
            workload_name: scenario.workloads[usize::from(workload)].name.clone(),
            queries: of.queries,
            late: of.late,
            explained: of.explained,
            limits,
            text: sentences.join(" "),
            settings: advice.settings,
            command,
        }
    }
}

/// `CUBIC: 1,836 of 5,280 queries are late.`
fn count(transport: &str, of: &Accounting, met: Option<f64>) -> String {
    let [late, queries] = [of.late, of.queries].map(|count| text::count(count as f64));
    let target = met.map_or(String::new(), |share| {
        format!("; the target, {} in time, is met", text::percent(share))
    });
    match of.late {
        0 => format!("{transport}: none of {queries} queries is late{target}."),
        1 => format!("{transport}: 1 of {queries} queries is late{target}."),
        _ => format!("{transport}: {late} of {queries} queries are late{target}."),
    }
}

/// `Most of their time goes into waiting for a retransmission timeout (97 %) or queueing at switch->host3 (2 %).`
fn shares(limits: &[Limited], of: &Accounting) -> String {
    let share = |limited: &Limited| limited.queries as f64 / of.explained as f64;
    let named = limits
        .iter()
        .enumerate()
        .filter(|&(at, limited)| at == 0 || share(limited) >= NAMED)
        .map(|(_, limited)| {
            let queues = match limited.limit {
                Limit::Queue => of.queue(),
                _ => None,
            };
            let what = advice::waiting(limited.limit, queues);
            format!("{what} ({})", text::percent(share(limited)))
        });
    let only = if of.explained < of.late {
        format!(" (of {} that were explained)", of.explained)
    } else {
        String::new()
    };
    let their = if of.late == 1 { "its" } else { "their" };
    format!(
        "The largest part of {their} time is {}{only}.",
        text::either(&named.collect::<Vec<_>>())
    )
}

/// Says how many of the late queries no transport can save, where they are worth a word.
fn impossible(late: f64, of: &Accounting, target: Option<f64>) -> Option<String> {
    let share = late / of.late as f64;
    if share < NAMED {
        return None;
    }
    let allowed = target.map_or(0.0, |target| (1.0 - target) * of.queries as f64);
    let misses = if target.is_some() && late > allowed {
        "; no transport reaches the target on this network"
    } else {
        ""
    };
    Some(format!(
        "{} of them are late under every transport{misses}.",
        text::percent(share.min(1.0))
    ))
}

/// Command that tries the settings over the same scenario.
fn command(plan: &Plan, transport: &str, settings: &[(String, Vec<String>)]) -> Option<String> {
    let file = plan
        .request
        .file
        .to_str()
        .filter(|file| *file != "<stdin>")?;
    if settings.is_empty() {
        return None;
    }
    let mut words = vec!["duetime sweep".to_owned(), text::quoted(file)];
    words.push(format!("--transport {transport}"));
    for (key, value) in &plan.request.settings {
        words.push(match key.as_str() {
            "seeds" | "seed" => format!("--{key} {value}"),
            _ if settings.iter().any(|(of, _)| of == key) => continue,
            _ => format!("--set {}", text::quoted(&format!("{key}={value}"))),
        });
    }
    for (key, values) in settings {
        let axis = format!("{key}={}", values.join(","));
        words.push(format!("--vary {}", text::quoted(&axis)));
    }
    Some(words.join(" "))
}

#[cfg(test)]
mod tests;
