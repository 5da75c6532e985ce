//! The tables of a study's results, for the terminal and for the page: what each shows, of what, and how its numbers are
//! written. How a table is drawn is up to its renderer.

use duetime_results::summary::{AskedAgain, AskedAgainEstimate, Percentiles, ServersEstimate};
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

/// Where a table or column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Everywhere.
    Both,
    /// On the terminal alone.
    Terminal,
    /// On the page alone, which has more space.
    Page,
}

/// A table of results.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// How to read it; the page alone says it.
    pub note: String,
    /// On what its numbers depend; empty if on nothing. It is said everywhere.
    pub condition: String,
    /// What its dashes mean; empty if it has none. It is said wherever a dash is shown.
    pub dashes: String,
    /// Where it is shown.
    pub on: On,
    /// Whether it sums up all others: one figure of all points of a sweep.
    pub is_overview: bool,
    /// What the terminal calls the three names of a line: its point, its transport and its flows. It leaves out those
    /// that are called nothing.
    pub names: [&'static str; 3],
    /// What is shown of each line.
    pub columns: Vec<Column>,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A column of cells.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its head on the terminal.
    pub head: String,
    /// Its head on the page.
    pub page_head: String,
    /// Where it is shown.
    pub on: On,
    /// Whether it holds words, and not numbers.
    pub words: bool,
    /// Whether the terminal shows its intervals; the page always does.
    pub intervals: bool,
    /// What the terminal may leave out of it.
    pub spare: Spare,
}

/// What may be left out of a column where the table is wider than the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Nothing: the column answers the question of the table.
    Nothing,
    /// Its intervals.
    Intervals,
    /// Its intervals, and after all intervals the column: columns with larger numbers first, and of equal numbers the
    /// rightmost first.
    All(u8),
}

/// A line of a table.
#[derive(Clone, Debug)]
pub struct Line {
    /// The point of the sweep, the transport, and the workload or flows; each may be empty.
    pub names: [String; 3],
    /// One per column.
    pub cells: Vec<Cell>,
}

/// A cell of a table. One without a value is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What it says.
    pub value: String,
    /// Its interval, in brackets; empty without one.
    pub interval: String,
    /// Why there is no number; empty if there is one.
    pub hint: String,
}

/// All tables of a study that say something, in their order.
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
    /// The columns to show, by number: those in which some line says something.
    pub fn shown(&self, on: On) -> Vec<usize> {
        let says = |at: usize| {
            self.lines
                .iter()
                .any(|line| !line.cells[at].value.is_empty())
        };
        let is_on = |at: usize| [On::Both, on].contains(&self.columns[at].on);
        (0..self.columns.len())
            .filter(|&at| is_on(at) && says(at))
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
            objective.map_or(Cell::default(), |of| {
                let cell = near(&of.in_time, row.target);
                if of.queries == row.queries.queries {
                    cell
                } else {
                    cell.of(&text::count(of.queries as f64))
                }
            })
        })
        .intervals()
        .spare(Spare::Nothing)
        .best(|row| near(&row.in_time, row.target)),
        column("p50", |row| of_query(row, 500, |of| of.p50))
            .page_head("completion p50")
            .intervals()
            .spare(Spare::All(2)),
        column("p90", |row| of_query(row, 900, |of| of.p90))
            .intervals()
            .spare(Spare::All(4)),
        column("p99", |row| of_query(row, 990, |of| of.p99))
            .intervals()
            .spare(if has_objective {
                Spare::All(1)
            } else {
                Spare::Nothing
            }),
        column("p99.9", |row| of_query(row, 999, |of| of.p999))
            .intervals()
            .spare(Spare::All(3)),
        column("answers in time", |row| {
            part(row.queries.answers_in_time, row.queries.asked)
        })
        .page_head("answers in time of those asked"),
        column("leaf coverage", |row| {
            part(row.queries.leaf_coverage, row.queries.leaves)
        })
        .page_head("leaves whose answers were in time"),
        column("gave up", |row| some(row.queries.gave_up)).page_head("aggregators that gave up"),
        column("hedged", |row| {
            again(row, |of| (of.counts.hedges, of.hedged), row.queries.leaves)
        }),
        column("hedges won", |row| again_count(row, |of| of.hedges_won)),
        column("retries", |row| {
            again(
                row,
                |of| (of.counts.retries, of.retried),
                row.queries.leaves,
            )
        }),
        column("retries won", |row| again_count(row, |of| of.retries_won)),
        column("added computations", |row| {
            again(
                row,
                |of| (of.counts.extra_computes, of.extra_computes),
                row.queries.leaves,
            )
        }),
        column("added answer bytes", |row| {
            let again = row.queries.again.as_ref();
            again.map_or(Cell::default(), |of| {
                let cell = share(of.extra_answer_bytes);
                if of.extra_answer_bytes.is_none() {
                    cell
                } else {
                    cell.of(&text::bytes(of.counts.answer_bytes as f64))
                }
            })
        }),
    ];
    let workloads: BTreeSet<&str> = rows.iter().map(|row| row.workload_name.as_str()).collect();
    let wanted = objective_of_all(&plan.base).map_or(String::new(), |of| format!(": {of}"));
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
        note: "In time: enough answers were at the root within the budget, which begins when the query arrives there. \
               Answers in time are those that met their own deadlines, of all that were asked for, sent or not. \
               Percentiles are of the queries of all runs."
            .to_owned(),
        dashes: dashes(
            rows.iter().any(|row| {
                let of = &row.queries.completion_s;
                [of.p50, of.p90, of.p99, of.p999].contains(&None)
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

/// A share of leaves that were asked again, where any were.
fn again(
    row: &QueryRow,
    pick: fn(&AskedAgainEstimate) -> (u64, Option<Estimate>),
    whole: u64,
) -> Cell {
    let picked = row.queries.again.as_ref().map(pick);
    let (_, estimate) = picked.filter(|(count, _)| *count > 0).unwrap_or_default();
    part(estimate, whole)
}

type Pick = fn(&Percentiles<Option<Estimate>>) -> Option<Estimate>;

/// A percentile of the completion times of queries.
fn of_query(row: &QueryRow, per_mille: u32, pick: Pick) -> Cell {
    time(
        pick(&row.queries.completion_s),
        row.queries.queries,
        per_mille,
    )
}

/// A percentile of the completion times of flows.
fn of_flow(row: &Row, per_mille: u32, pick: Pick) -> Cell {
    if row.group.class == Class::Long {
        return Cell {
            hint: "These flows have no end".to_owned(),
            ..never()
        };
    }
    time(pick(&row.group.completion_s), row.group.flows, per_mille)
}

/// A percentile of the slack of flows with deadlines.
fn slack(row: &Row, per_mille: u32, pick: Pick) -> Cell {
    let flows = row.group.deadlines.map_or(0, |of| of.flows);
    time(pick(&row.group.slack_s), flows, per_mille)
}

/// A percentile of the goodput of flows that were not quenched.
fn goodput_at(row: &Row, per_mille: u32, pick: Pick) -> Cell {
    let flows = row.group.flows - row.group.quenched;
    percentile(
        pick(&row.group.goodput_bytes_per_s),
        flows,
        per_mille,
        |of| text::rate(of * 8.0),
    )
}

/// Returns true if a row with an end lacks a percentile that its table shows.
fn lacks_percentile(rows: &[&Row]) -> bool {
    rows.iter().any(|row| {
        let of = &row.group.completion_s;
        row.group.class != Class::Long && (of.p50.is_none() || of.p99.is_none())
    })
}

/// Explains the dashes of a table that has some.
fn dashes(has_some: bool, things: &str) -> String {
    if has_some {
        format!(
            "{DASH}: too few {things} for that percentile (p99 needs 1000), or so many never finished."
        )
    } else {
        String::new()
    }
}

/// How many leaves were asked again, where any were.
fn again_count(row: &QueryRow, pick: fn(&AskedAgain) -> u64) -> Cell {
    row.queries
        .again
        .map_or(Cell::default(), |of| some(pick(&of.counts)))
}

/// What names a row of flows.
fn of_flows(row: &Row) -> [String; 3] {
    [row.point.clone(), row.transport.clone(), row.flows_name()]
}

fn deadlines(rows: &[&Row], best: &[BestRow]) -> Table {
    let column = column::<&Row>;
    let specs = vec![
        // Those that have a deadline: a workload may give one to some of its flows only.
        column("number", |row| {
            let deadlines = row.group.deadlines.as_ref();
            deadlines.map_or(Cell::default(), |of| number(of.flows))
        })
        .best(|row| number(row.asked))
        .spare(Spare::All(2)),
        column("missed", |row| {
            share(row.group.deadlines.map(|of| of.missed))
        })
        .intervals()
        .spare(Spare::Nothing)
        .best(|row| percent(&row.missed)),
        column("queries", |row| {
            let queries = row.queries.as_ref();
            queries.map_or(Cell::default(), |of| number(of.queries))
        }),
        column("answers in time per query", |row| {
            share(row.queries.as_ref().and_then(|of| of.in_time))
        })
        .intervals(),
        column("queries below 95 %", |row| {
            share(row.queries.as_ref().and_then(|of| of.below_95))
        })
        .page_head("queries below 95 % complete"),
        column("queries without an answer", |row| {
            share(row.queries.as_ref().and_then(|of| of.no_answer))
        })
        .on(On::Page),
        column("p50", |row| of_flow(row, 500, |of| of.p50))
            .page_head("completion p50")
            .intervals()
            .spare(Spare::All(3)),
        column("p99", |row| of_flow(row, 990, |of| of.p99))
            .page_head("completion p99")
            .intervals()
            .spare(Spare::All(1)),
        column("slack p50", |row| slack(row, 500, |of| of.p50)).on(On::Page),
        column("slack p99", |row| slack(row, 990, |of| of.p99)).intervals(),
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
        " No transport misses fewer than the bound."
    };
    let condition = if best.iter().any(|row| row.if_prompt) {
        "Some deadlines start when a query has come down its tree: the bound is for transports that do not hold queries back."
    } else {
        ""
    };
    Table {
        note: format!(
            "Missed: late, ended early, reset and unfinished alike. Percentiles are of the flows of all runs.{bound}"
        ),
        condition: condition.to_owned(),
        dashes: dashes(lacks_percentile(rows), "flows"),
        ..Table::new(
            "Flows with deadlines",
            "flows",
            specs,
            rows,
            |row| of_flows(row),
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
        column("goodput p50", |row| goodput_at(row, 500, |of| of.p50)),
        column("goodput p99", |row| goodput_at(row, 990, |of| of.p99)).on(On::Page),
        column("p50", |row| of_flow(row, 500, |of| of.p50))
            .page_head("completion p50")
            .intervals()
            .spare(Spare::All(3)),
        column("p99", |row| of_flow(row, 990, |of| of.p99))
            .page_head("completion p99")
            .intervals()
            .spare(Spare::All(1)),
        column("timeouts/flow", |row| mean(row.group.timeouts_per_flow)).on(On::Terminal),
        column("fairness", |row| mean(row.group.fairness)).page_head("fairness (Jain)"),
    ];
    Table {
        note: "Goodput: bytes delivered in order per second while the flow is active, per flow. Its p99 is what 99 % \
               of the flows had at least. Percentiles are of the flows of all runs."
            .to_owned(),
        dashes: dashes(lacks_percentile(rows), "flows"),
        ..Table::new(
            "Flows without deadlines",
            "flows",
            specs,
            rows,
            |row| of_flows(row),
            &[],
        )
    }
}

fn protocol(rows: &[Row]) -> Table {
    let column = column::<&Row>;
    let specs = vec![
        column("timeouts", |row| mean(row.group.timeouts_per_flow)),
        column("sent again", |row| mean(row.group.retransmits_per_flow)),
        column("marked", |row| mean(row.group.marks_per_flow)),
        column("ended early", |row| some(row.group.quenched)),
        column("requests denied", |row| {
            part(row.group.denied_requests, row.group.requests)
        }),
        column("of them inverted", |row| {
            part(row.group.inverted_denials, row.group.denials)
        }),
    ];
    let rows: Vec<&Row> = rows.iter().collect();
    Table {
        note: "Timeouts, segments sent again and marked segments are means per flow. Denied: requests that D3 granted \
               less than they asked for; inverted: of those, the ones denied while a later deadline held more than \
               the base rate."
            .to_owned(),
        on: On::Page,
        ..Table::new(
            "What the transports did",
            "flows",
            specs,
            &rows,
            |row| of_flows(row),
            &[],
        )
    }
}

/// One line per transport and point.
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
            count(row.network.losses.filter(|of| of.value > 0.0))
        })
        .spare(Spare::All(4)),
        column("marks", |row| {
            count(row.network.marks.filter(|of| of.value > 0.0))
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
    let names = |row: &&Row| [row.point.clone(), row.transport.clone(), String::new()];
    Table {
        note: "From the warm-up until sources stop, or until the run ends where they stop by themselves.".to_owned(),
        ..Table::new("Network, per run", "", specs, &unique, names, &[])
    }
}

/// Creates the table of the hosts' servers, with one line per transport and point; it is empty where they are unlimited.
fn servers(rows: &[Row]) -> Table {
    let column = column::<(&Row, &ServersEstimate)>;
    let specs = vec![
        column("slots", |(_, of)| number(of.slots.into())).spare(Spare::All(2)),
        column("busiest host", |(_, of)| share(of.utilisation)).spare(Spare::Nothing),
        column("which", |(row, of)| {
            let busiest = of.busiest_host.as_ref();
            busiest.map_or(Cell::default(), |of| {
                word(&text::most_often(&of.host, of.runs, row.runs))
            })
        })
        .words(),
        column("mean of all", |(_, of)| share(of.utilisation_mean)).spare(Spare::All(1)),
        column("mean wait", |(_, of)| seconds(of.wait_mean_s)).spare(Spare::All(1)),
        column("longest wait", |(_, of)| seconds(of.wait_max_s)),
        column("longest queue", |(_, of)| count(of.queue_max)),
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
        note: "Utilisation: share of the time of all slots that computations occupied, of the hosts that computed. Waits \
               are of the computations that got a slot. From the warm-up until sources stop, or until the run ends where \
               they stop by themselves."
            .to_owned(),
        ..Table::new("Servers of the hosts, per run", "", specs, &unique, names, &[])
    }
}
