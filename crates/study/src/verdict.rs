//! Verdict on a service: the main causes of its late queries and the settings to try.
//!
//! [`verdicts`] repeats the runs of the first transport, traces the critical path of every late query, and counts the
//! queries by the kind of waiting that takes the largest part of their time ([`Limit`]). The settings to try follow
//! from the most frequent kind, the scenario and the best possible result.

mod accounting;
mod advice;

use duetime_analysis::bound::BestPossible;
use duetime_analysis::explain::Limit;
use duetime_store::RunFolder;
use serde::{Deserialize, Serialize};

use crate::bound;
use crate::error::StudyError;
use crate::event::Listener;
use crate::gather::Gathered;
use crate::looks::known_as;
use crate::objective::target_of;
use crate::plan::Plan;
use crate::pool::{Engine, Execution};
use crate::text;

use accounting::Accounting;

/// Verdict on the queries of one workload under the first transport of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Name of the transport.
    pub transport: String,
    /// Index of the workload.
    pub workload: u16,
    /// Name of the workload.
    pub workload_name: String,
    /// Measured queries that could be late, over all runs.
    pub queries: u64,
    /// Late queries.
    pub late: u64,
    /// Late queries that were explained: all of them, or every n-th if the traces would need too much memory.
    pub explained: u64,
    /// Explained queries by the kind that took the largest part of their time, most frequent first.
    pub limits: Vec<Limited>,
    /// Verdict as text, in a few sentences.
    pub text: String,
    /// Settings to try, each with its values, the current value first. Empty if no setting would help.
    pub settings: Vec<(String, Vec<String>)>,
    /// Command that tries the settings. `None` without settings, or if the scenario was not read from a file.
    pub command: Option<String>,
}

/// Number of late queries with a given limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// Limit.
    pub limit: Limit,
    /// Number of queries.
    pub queries: u64,
}

/// Name of the file with the verdicts in a run folder.
const FILE: &str = "verdict.json";

/// Minimum share of the late queries for a cause to be named. The most frequent cause is always named.
const MIN_SHARE: f64 = 0.05;

/// Computes the verdicts of a finished study, one for each workload whose queries can be late, and stores them in the
/// folder. A study with a sweep gets none, because its points already compare settings. Returns no verdicts if the
/// execution is stopped.
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
    let judged = |index: u16| {
        let workload = &point.scenario.workloads[usize::from(index)];
        workload.objective().is_some() && workload.can_be_late()
    };
    let workloads: Vec<u16> = (0..)
        .take(point.scenario.workloads.len())
        .filter(|&index| judged(index))
        .collect();
    if workloads.is_empty() {
        return Ok(Vec::new());
    }
    let Some(accounting) = accounting::account(plan, folder, execution, engine, listener)? else {
        return Ok(Vec::new());
    };
    let best = bound::of_points(plan, std::iter::once(0))?;
    let best = best.first().map(|(_, best)| best);
    let verdict = |&workload: &u16| {
        let accounting = accounting.get(&workload).cloned().unwrap_or_default();
        (accounting.queries > 0).then(|| Verdict::new(plan, workload, &accounting, best))
    };
    let verdicts: Vec<Verdict> = workloads.iter().filter_map(verdict).collect();
    folder.write_json(FILE, &verdicts)?;
    Ok(verdicts)
}

/// Returns the stored verdicts of a folder, without those that no longer match its runs.
pub(crate) fn kept(folder: &RunFolder, gathered: &Gathered) -> Result<Vec<Verdict>, StudyError> {
    let mut verdicts: Vec<Verdict> = folder.read_optional_json(FILE)?.unwrap_or_default();
    verdicts.retain(|verdict| {
        let cells = gathered.cells.iter();
        let mut queries = cells
            .filter(|cell| cell.summary.transport == verdict.transport)
            .flat_map(|cell| &cell.summary.queries);
        queries.any(|queries| {
            let judged = queries.objective.map(|objective| objective.queries);
            queries.workload == verdict.workload && judged == Some(verdict.queries)
        })
    });
    Ok(verdicts)
}

impl Verdict {
    fn new(
        plan: &Plan,
        workload: u16,
        accounting: &Accounting,
        best: Option<&BestPossible>,
    ) -> Self {
        let scenario = &plan.points[0].scenario;
        let transport = &scenario.transports[0];
        let target = target_of(scenario, workload);
        let best = best.and_then(|best| {
            let mut queries = best.queries.iter();
            Some(queries.find(|queries| queries.workload == workload)?.best)
        });
        let mut limits: Vec<Limited> = accounting
            .limits
            .iter()
            .map(|(&limit, &queries)| Limited { limit, queries })
            .collect();
        limits.sort_by_key(|limited| std::cmp::Reverse(limited.queries));
        let met =
            accounting.late as f64 <= accounting.queries as f64 * (1.0 - target.unwrap_or(1.0));
        let advice = match limits.first() {
            Some(first) if !met => advice::advise(scenario, first.limit, workload),
            _ => advice::Advice::default(),
        };
        let mut sentences = vec![count(
            &known_as(&transport.name),
            accounting,
            target.filter(|_| met),
        )];
        if !limits.is_empty() {
            sentences.push(causes(&limits, accounting));
        }
        if !met && let Some(best) = best {
            let late = best.late.value * accounting.queries as f64;
            sentences.extend(unavoidable(late, accounting, target));
        }
        sentences.extend((!advice.text.is_empty()).then(|| format!("{}.", advice.text)));
        let command = command(plan, &transport.name, &advice);
        Self {
            transport: transport.name.clone(),
            workload,
            workload_name: scenario.workloads[usize::from(workload)].name.clone(),
            queries: accounting.queries,
            late: accounting.late,
            explained: accounting.explained,
            limits,
            text: sentences.join(" "),
            settings: advice.settings,
            command,
        }
    }
}

/// Returns the sentence with the number of late queries, such as `1836 of 5280 queries are late under CUBIC.` `met` is
/// the target if it is met.
fn count(transport: &str, accounting: &Accounting, met: Option<f64>) -> String {
    let [late, queries] =
        [accounting.late, accounting.queries].map(|count| text::count(count as f64));
    let target = met.map_or(String::new(), |share| {
        format!(
            ", which meets the target of {} in time",
            text::percent(share)
        )
    });
    let verb = if accounting.late == 1 { "is" } else { "are" };
    format!("{late} of {queries} queries {verb} late under {transport}{target}.")
}

/// Returns the sentence with the causes, such as `Main causes: retransmission timeouts (97.0 %), queueing, mostly at
/// switch->host3 (5.0 %).`
fn causes(limits: &[Limited], accounting: &Accounting) -> String {
    let share = |limited: &Limited| limited.queries as f64 / accounting.explained as f64;
    let named = limits
        .iter()
        .enumerate()
        .filter(|&(index, limited)| index == 0 || share(limited) >= MIN_SHARE)
        .map(|(_, limited)| {
            let queues = match limited.limit {
                Limit::Queue => accounting.queue(),
                _ => None,
            };
            let cause = advice::cause(limited.limit, queues);
            format!("{cause} ({})", text::percent(share(limited)))
        });
    let named: Vec<String> = named.collect();
    let noun = if named.len() == 1 { "cause" } else { "causes" };
    let sample = if accounting.explained < accounting.late {
        format!(" in a sample of {}", accounting.explained)
    } else {
        String::new()
    };
    format!("Main {noun}{sample}: {}.", named.join(", "))
}

/// Returns the sentence with the share of late queries that are late under any transport, or `None` if the share is
/// small.
fn unavoidable(late: f64, accounting: &Accounting, target: Option<f64>) -> Option<String> {
    let share = late / accounting.late as f64;
    if share < MIN_SHARE {
        return None;
    }
    let allowed = target.map_or(0.0, |target| (1.0 - target) * accounting.queries as f64);
    let misses = if target.is_some() && late > allowed {
        ", so no transport can reach the target on this network"
    } else {
        ""
    };
    Some(format!(
        "{} of the late queries are late under any transport{misses}.",
        text::percent(share.min(1.0))
    ))
}

/// Returns the command that tries the advice on the same scenario, or `None` if there is nothing to vary.
fn command(plan: &Plan, transport: &str, advice: &advice::Advice) -> Option<String> {
    let settings = &advice.settings;
    let file = plan
        .request
        .file
        .to_str()
        .filter(|file| *file != "<stdin>")?;
    let mut words = match (settings.is_empty(), advice.includes_dctcp) {
        (true, false) => return None,
        (true, true) => vec!["duetime run".to_owned()],
        (false, _) => vec!["duetime sweep".to_owned()],
    };
    words.push(text::quoted(file));
    let dctcp = if advice.includes_dctcp { ",dctcp" } else { "" };
    words.push(format!("--transport {transport}{dctcp}"));
    for (key, value) in &plan.request.settings {
        words.push(match key.as_str() {
            "seeds" | "seed" => format!("--{key} {value}"),
            _ if settings.iter().any(|(varied, _)| varied == key) => continue,
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
