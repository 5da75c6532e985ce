//! Tables of a study's results for the terminal and the HTML report: their columns, lines and formatted numbers.
//! Renderers decide on the layout.

use duetime_results::summary::{Percentiles, Reissues, ReissuesEstimate, ServersEstimate};
use duetime_results::{Class, Estimate};
use std::collections::BTreeSet;

use crate::bound::BestRow;
use crate::gather::{Gathered, QueryRow, Row};
use crate::objective::{objective_of_all, target};
use crate::plan::Plan;
use crate::text;

mod across;
mod capacity;
mod cell;
mod column;

pub use capacity::{capacities, capacity_sentence};
pub use cell::DASH;
pub(crate) use cell::{percent, percentile};

use across::{differences, overviews};
use cell::{
    bytes, count, goodput, mean, near, never, number, part, seconds, share, some, time, word,
};
use column::column;

/// Output that shows a table or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Terminal and page.
    Both,
    /// Terminal only.
    Terminal,
    /// Page only, which has more space.
    Page,
}

/// Table of results.
#[derive(Clone, Debug)]
pub struct Table {
    /// Title.
    pub title: String,
    /// Explanation, shown on the page only.
    pub note: String,
    /// Condition under which the numbers hold, shown everywhere; empty without one.
    pub condition: String,
    /// Meaning of the dashes, shown if a dash is; empty without dashes.
    pub dashes: String,
    /// Output that shows the table.
    pub on: On,
    /// True if the table summarizes the others, with one number per point of a sweep and transport.
    pub is_overview: bool,
    /// Heads of the three names of a line on the terminal: point, transport and flows. Names with an empty head are not
    /// shown.
    pub names: [&'static str; 3],
    /// Columns of cells.
    pub columns: Vec<Column>,
    /// Lines.
    pub lines: Vec<Line>,
}

/// Column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Head on the terminal.
    pub head: String,
    /// Head on the page.
    pub page_head: String,
    /// Output that shows the column.
    pub on: On,
    /// True if the cells are words and not numbers.
    pub words: bool,
    /// True if the terminal shows the intervals. The page always does.
    pub intervals: bool,
    /// Content that a narrow terminal may omit.
    pub spare: Spare,
}

/// Content of a column that may be omitted if the table is wider than the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Nothing. The column is the main result of the table.
    Nothing,
    /// Intervals.
    Intervals,
    /// Intervals and, after all intervals have been omitted, the column. Columns with larger ranks are omitted first,
    /// and of equal ranks the rightmost.
    All(u8),
}

/// Line of a table.
#[derive(Clone, Debug)]
pub struct Line {
    /// Point of the sweep, transport, and workload or flows. Each may be empty.
    pub names: [String; 3],
    /// Cells, one per column.
    pub cells: Vec<Cell>,
}

/// Cell of a table; empty without a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Formatted value.
    pub value: String,
    /// Interval in brackets; empty without one.
    pub interval: String,
    /// Reason why there is no number; empty if there is one.
    pub hint: String,
}

/// Returns all non-empty tables of a study in order.
pub fn tables(plan: &Plan, gathered: &Gathered) -> Vec<Table> {
    let rows = gathered.rows(plan);
    let best = gathered.best_rows(plan);
    let (deadline, other): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.group.deadlines.is_some());
    let mut tables = Vec::new();
    if plan.points.len() > 1 {
        tables.extend(overviews(plan, gathered));
    }
    tables.extend([
        queries(plan, &gathered.query_rows(plan), &best),
        deadlines(&deadline, &best),
        without(&other),
        protocol(&rows),
        network(&rows),
        servers(&rows),
    ]);
    tables.extend(differences(plan, gathered));
    tables.retain(|table| !table.lines.is_empty());
    tables
}

impl Table {
    /// Returns the indices of the columns to show: those with at least one non-empty cell.
    pub fn shown(&self, on: On) -> Vec<usize> {
        let has_content = |index: usize| {
            self.lines
                .iter()
                .any(|line| !line.cells[index].value.is_empty())
        };
        let is_on = |index: usize| [On::Both, on].contains(&self.columns[index].on);
        (0..self.columns.len())
            .filter(|&index| is_on(index) && has_content(index))
            .collect()
    }
}

fn queries(plan: &Plan, rows: &[QueryRow], best: &[BestRow]) -> Table {
    let column = column::<QueryRow>;
    let has_objective = rows.iter().any(|row| row.queries.objective.is_some());
    let specs = vec![
        column("queries", |row| number(row.queries.queries))
            .best(|row| number(row.asked))
            .spare(Spare::All(1)),
        column("in time", |row| {
            let objective = row.queries.objective;
            objective.map_or(Cell::default(), |objective| {
                let cell = near(&objective.in_time, row.target);
                if objective.queries == row.queries.queries {
                    cell
                } else {
                    cell.of(&text::count(objective.queries as f64))
                }
            })
        })
        .intervals()
        .spare(Spare::Nothing)
        .best(|row| near(&row.in_time, row.target)),
        column("p50", |row| query_time(row, 500, |p| p.p50))
            .page_head("completion p50")
            .intervals()
            .spare(Spare::All(2)),
        column("p90", |row| query_time(row, 900, |p| p.p90))
            .intervals()
            .spare(Spare::All(4)),
        column("p99", |row| query_time(row, 990, |p| p.p99))
            .intervals()
            .spare(if has_objective {
                Spare::All(1)
            } else {
                Spare::Nothing
            }),
        column("p99.9", |row| query_time(row, 999, |p| p.p999))
            .intervals()
            .spare(Spare::All(3)),
        column("answers in time", |row| {
            part(row.queries.answers_in_time, row.queries.asked)
        })
        .page_head("answers in time, of all requested"),
        column("leaf coverage", |row| {
            part(row.queries.leaf_coverage, row.queries.leaves)
        })
        .page_head("leaf coverage"),
        column("gave up", |row| some(row.queries.gave_up)).page_head("aggregators that timed out"),
        column("hedged", |row| {
            retry_share(
                row,
                |again| (again.counts.hedges, again.hedged),
                row.queries.leaves,
            )
        }),
        column("hedges won", |row| {
            retry_count(row, |again| again.hedges_won)
        }),
        column("retries", |row| {
            retry_share(
                row,
                |again| (again.counts.retries, again.retried),
                row.queries.leaves,
            )
        }),
        column("retries won", |row| {
            retry_count(row, |again| again.retries_won)
        }),
        column("added computations", |row| {
            retry_share(
                row,
                |again| (again.counts.extra_computes, again.extra_computes),
                row.queries.leaves,
            )
        }),
        column("added answer bytes", |row| {
            let again = row.queries.again.as_ref();
            again.map_or(Cell::default(), |again| {
                let cell = share(again.extra_answer_bytes);
                if again.extra_answer_bytes.is_none() {
                    cell
                } else {
                    cell.of(&text::bytes(again.counts.answer_bytes as f64))
                }
            })
        }),
    ];
    let workloads: BTreeSet<&str> = rows.iter().map(|row| row.workload_name.as_str()).collect();
    let wanted = objective_of_all(&plan.base).map_or(String::new(), |wanted| format!(": {wanted}"));
    let target = target(&plan.base).map_or(String::new(), |share| {
        format!(" for {} of them", text::percent(share))
    });
    let names = |row: &QueryRow| {
        [
            row.point.clone(),
            row.transport.clone(),
            row.workload_name.clone(),
        ]
    };
    let best: Vec<&BestRow> = best.iter().filter(|row| row.class.is_none()).collect();
    Table {
        note: "In time: the root received enough answers within the budget, which starts when the query arrives there. \
               Answers in time met their own deadlines; the share is of all requested answers, sent or not. \
               Percentiles are over the queries of all runs."
            .to_owned(),
        dashes: dashes(
            rows.iter().any(|row| {
                let took = &row.queries.completion_s;
                [took.p50, took.p90, took.p99, took.p999].contains(&None)
            }),
            "queries",
        ),
        ..Table::new(
            format!("Queries{wanted}{target}"),
            if workloads.len() > 1 { "workload" } else { "" },
            specs,
            rows,
            names,
            &best,
        )
    }
}

/// Returns the share of leaves that received a hedge or retry, or an empty cell if none did.
fn retry_share(
    row: &QueryRow,
    pick: fn(&ReissuesEstimate) -> (u64, Option<Estimate>),
    whole: u64,
) -> Cell {
    let picked = row.queries.again.as_ref().map(pick);
    let (_, estimate) = picked.filter(|(count, _)| *count > 0).unwrap_or_default();
    part(estimate, whole)
}

type Pick = fn(&Percentiles<Option<Estimate>>) -> Option<Estimate>;

/// Returns a percentile of the completion times of queries.
fn query_time(row: &QueryRow, per_mille: u32, pick: Pick) -> Cell {
    time(
        pick(&row.queries.completion_s),
        row.queries.queries,
        per_mille,
    )
}

/// Returns a percentile of the completion times of flows.
fn flow_time(row: &Row, per_mille: u32, pick: Pick) -> Cell {
    if row.group.class == Class::Long {
        return Cell {
            hint: "Long flows do not complete".to_owned(),
            ..never()
        };
    }
    time(pick(&row.group.completion_s), row.group.flows, per_mille)
}

/// Returns a percentile of the slack of flows with deadlines.
fn slack(row: &Row, per_mille: u32, pick: Pick) -> Cell {
    let flows = row.group.deadlines.map_or(0, |deadlines| deadlines.flows);
    time(pick(&row.group.slack_s), flows, per_mille)
}

/// Returns a percentile of the goodput of flows that were not quenched.
fn goodput_at(row: &Row, per_mille: u32, pick: Pick) -> Cell {
    let flows = row.group.flows - row.group.quenched;
    percentile(
        pick(&row.group.goodput_bytes_per_s),
        flows,
        per_mille,
        |bytes_per_s| text::rate(bytes_per_s * 8.0),
    )
}

/// Returns true if a row of finite flows lacks a percentile that its table shows.
fn lacks_percentile(rows: &[&Row]) -> bool {
    rows.iter().any(|row| {
        let took = &row.group.completion_s;
        row.group.class != Class::Long && (took.p50.is_none() || took.p99.is_none())
    })
}

/// Explains the dashes of a table, if it has any. `items` is the plural name of the counted items.
fn dashes(has_dashes: bool, items: &str) -> String {
    if has_dashes {
        format!(
            "{DASH}: too few {items} for this percentile (p99 needs 1000), or too many never finished."
        )
    } else {
        String::new()
    }
}

/// Returns a count of hedges or retries, or an empty cell if there were none.
fn retry_count(row: &QueryRow, pick: fn(&Reissues) -> u64) -> Cell {
    row.queries
        .again
        .map_or(Cell::default(), |again| some(pick(&again.counts)))
}

/// Returns the names of a row of flows.
fn flow_names(row: &Row) -> [String; 3] {
    [row.point.clone(), row.transport.clone(), row.flows_name()]
}

fn deadlines(rows: &[&Row], best: &[BestRow]) -> Table {
    let column = column::<&Row>;
    let specs = vec![
        // Only some flows of a workload may have a deadline.
        column("number", |row| {
            let deadlines = row.group.deadlines.as_ref();
            deadlines.map_or(Cell::default(), |deadlines| number(deadlines.flows))
        })
        .best(|row| number(row.asked))
        .spare(Spare::All(2)),
        column("missed", |row| {
            share(row.group.deadlines.map(|deadlines| deadlines.missed))
        })
        .intervals()
        .spare(Spare::Nothing)
        .best(|row| percent(&row.missed)),
        column("queries", |row| {
            let queries = row.queries.as_ref();
            queries.map_or(Cell::default(), |queries| number(queries.queries))
        }),
        column("answers in time per query", |row| {
            share(row.queries.as_ref().and_then(|queries| queries.in_time))
        })
        .intervals(),
        column("queries below 95 %", |row| {
            share(row.queries.as_ref().and_then(|queries| queries.below_95))
        })
        .page_head("queries below 95 % complete"),
        column("queries without an answer", |row| {
            share(row.queries.as_ref().and_then(|queries| queries.no_answer))
        })
        .on(On::Page),
        column("p50", |row| flow_time(row, 500, |p| p.p50))
            .page_head("completion p50")
            .intervals()
            .spare(Spare::All(3)),
        column("p99", |row| flow_time(row, 990, |p| p.p99))
            .page_head("completion p99")
            .intervals()
            .spare(Spare::All(1)),
        column("slack p50", |row| slack(row, 500, |p| p.p50)).on(On::Page),
        column("slack p99", |row| slack(row, 990, |p| p.p99)).intervals(),
        column("timeouts/flow", |row| mean(row.group.timeouts_per_flow)).on(On::Terminal),
        column("denied", |row| {
            part(row.group.denied_requests, row.group.requests)
        })
        .on(On::Terminal),
        column("inverted", |row| {
            part(row.group.inverted_denials, row.group.denials)
        })
        .on(On::Terminal),
    ];
    let best: Vec<&BestRow> = best.iter().filter(|row| row.class.is_some()).collect();
    let bound = if best.is_empty() {
        ""
    } else {
        " No transport can miss fewer than the bound."
    };
    let condition = if best.iter().any(|row| row.if_prompt) {
        "Some deadlines start when the query arrives at a leaf: the bound holds for transports that deliver queries at \
         once."
    } else {
        ""
    };
    Table {
        note: format!(
            "Missed: late, quenched, reset or unfinished. Percentiles are over the flows of all runs.{bound}"
        ),
        condition: condition.to_owned(),
        dashes: dashes(lacks_percentile(rows), "flows"),
        ..Table::new(
            "Flows with deadlines",
            "flows",
            specs,
            rows,
            |row| flow_names(row),
            &best,
        )
    }
}

fn without(rows: &[&Row]) -> Table {
    let column = column::<&Row>;
    let specs = vec![
        column("number", |row| number(row.group.flows)).spare(Spare::All(2)),
        column("finished", |row| number(row.group.finished)),
        column("mean goodput", |row| {
            goodput(row.group.goodput_bytes_per_s.mean)
        })
        .intervals()
        .spare(Spare::Nothing),
        column("goodput p50", |row| goodput_at(row, 500, |p| p.p50)),
        column("goodput p99", |row| goodput_at(row, 990, |p| p.p99)).on(On::Page),
        column("p50", |row| flow_time(row, 500, |p| p.p50))
            .page_head("completion p50")
            .intervals()
            .spare(Spare::All(3)),
        column("p99", |row| flow_time(row, 990, |p| p.p99))
            .page_head("completion p99")
            .intervals()
            .spare(Spare::All(1)),
        column("timeouts/flow", |row| mean(row.group.timeouts_per_flow)).on(On::Terminal),
        column("fairness", |row| mean(row.group.fairness)).page_head("fairness (Jain)"),
    ];
    Table {
        note: "Goodput: bytes delivered in order per second while the flow is active, per flow. 99 % of the flows had \
               at least the p99 of goodput. Percentiles are over the flows of all runs."
            .to_owned(),
        dashes: dashes(lacks_percentile(rows), "flows"),
        ..Table::new(
            "Flows without deadlines",
            "flows",
            specs,
            rows,
            |row| flow_names(row),
            &[],
        )
    }
}

fn protocol(rows: &[Row]) -> Table {
    let column = column::<&Row>;
    let specs = vec![
        column("timeouts", |row| mean(row.group.timeouts_per_flow)),
        column("retransmissions", |row| {
            mean(row.group.retransmits_per_flow)
        }),
        column("marks", |row| mean(row.group.marks_per_flow)),
        column("quenched", |row| some(row.group.quenched)),
        column("denied requests", |row| {
            part(row.group.denied_requests, row.group.requests)
        }),
        column("inverted denials", |row| {
            part(row.group.inverted_denials, row.group.denials)
        }),
    ];
    let rows: Vec<&Row> = rows.iter().collect();
    Table {
        note: "Timeouts, retransmitted segments and marked segments are means per flow. Denied: D3 granted less than \
               the request asked for. Inverted: denied while a flow with a later deadline held more than the base rate."
            .to_owned(),
        on: On::Page,
        ..Table::new(
            "Transport events",
            "flows",
            specs,
            &rows,
            |row| flow_names(row),
            &[],
        )
    }
}

/// Creates the table of the network, with one line per transport and point.
fn network(rows: &[Row]) -> Table {
    let column = column::<&Row>;
    let specs = vec![
        column("runs", |row| number(row.runs)).on(On::Terminal),
        column("drops", |row| count(row.network.drops)).spare(Spare::Nothing),
        column("most at", |row| {
            word(&text::named(row.network.most_drops_link.as_ref(), row.runs))
        })
        .words(),
        column("losses", |row| {
            count(row.network.losses.filter(|losses| losses.value > 0.0))
        })
        .spare(Spare::All(4)),
        column("marks", |row| {
            count(row.network.marks.filter(|marks| marks.value > 0.0))
        })
        .spare(Spare::All(4)),
        column("largest queue", |row| bytes(row.network.queue_max_bytes)).spare(Spare::All(1)),
        column("its mean", |row| bytes(row.network.queue_mean_bytes))
            .page_head("mean of that queue"),
        column("busiest link", |row| share(row.network.utilisation)).spare(Spare::All(2)),
        column("which", |row| {
            word(&text::named(row.network.busiest_link.as_ref(), row.runs))
        })
        .words()
        .spare(Spare::All(3)),
    ];
    let mut unique: Vec<&Row> = rows.iter().collect();
    unique.dedup_by(|a, b| a.point == b.point && a.transport == b.transport);
    // `duetime load` measures no ports.
    unique.retain(|row| row.network.drops.is_some());
    let names = |row: &&Row| [row.point.clone(), row.transport.clone(), String::new()];
    Table {
        note: "Measured from the warm-up until the sources stop, or until the end of the run if the sources stop by \
               themselves."
           .to_owned(),
        ..Table::new("Network, per run", "", specs, &unique, names, &[])
    }
}

/// Creates the table of the hosts' servers, with one line per transport and point. It is empty if servers are
/// unlimited.
fn servers(rows: &[Row]) -> Table {
    let column = column::<(&Row, &ServersEstimate)>;
    let specs = vec![
        column("slots", |(_, servers)| number(servers.slots.into())).spare(Spare::All(2)),
        column("busiest host", |(_, servers)| share(servers.utilisation)).spare(Spare::Nothing),
        column("which", |(row, servers)| {
            let busiest = servers.busiest_host.as_ref();
            busiest.map_or(Cell::default(), |busiest| {
                word(&text::name_with_runs(&busiest.host, busiest.runs, row.runs))
            })
        })
        .words(),
        column("mean of all", |(_, servers)| {
            share(servers.utilisation_mean)
        })
        .spare(Spare::All(1)),
        column("mean wait", |(_, servers)| seconds(servers.wait_mean_s)).spare(Spare::All(1)),
        column("longest wait", |(_, servers)| seconds(servers.wait_max_s)),
        column("longest queue", |(_, servers)| count(servers.queue_max)),
    ];
    let mut unique: Vec<(&Row, &ServersEstimate)> = rows
        .iter()
        .filter_map(|row| Some((row, row.servers.as_ref()?)))
        .collect();
    unique.dedup_by(|a, b| a.0.point == b.0.point && a.0.transport == b.0.transport);
    let names = |(row, _): &(&Row, &ServersEstimate)| {
        [row.point.clone(), row.transport.clone(), String::new()]
    };
    Table {
        note: "Utilisation: share of the time of a host's slots that computations occupied, for hosts with \
               computations. Waits are of computations that got a slot. Measured from the warm-up until the sources \
               stop, or until the end of the run if the sources stop by themselves."
            .to_owned(),
        ..Table::new("Servers of the hosts, per run", "", specs, &unique, names, &[])
    }
}
