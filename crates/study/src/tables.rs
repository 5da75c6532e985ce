//! The tables of a study's results, for the terminal and for the page: what each shows, of what, and how its numbers are
//! written. How a table is drawn is up to its renderer.

use std::collections::BTreeSet;

use duetime_results::{Estimate, Summary};

use crate::bound::{BestPossible, BestRow, NO_TRANSPORT};
use crate::gather::{self, Gathered, QueryRow, Row};
use crate::objective::{objective_of_all, target};
use crate::plan::{Plan, Point};
use crate::text;

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
    pub condition: &'static str,
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
    ]);
    tables.extend(differences(plan, gathered));
    tables.retain(|table| !table.lines.is_empty());
    tables
}

/// A column with what it says of a row, and of the best possible beside the rows.
struct Spec<R> {
    column: Column,
    of: fn(&R) -> Cell,
    best: fn(&BestRow) -> Cell,
}

/// A column of numbers that is shown everywhere.
fn column<R>(head: &str, of: fn(&R) -> Cell) -> Spec<R> {
    Spec {
        column: Column {
            head: head.to_owned(),
            page_head: head.to_owned(),
            on: On::Both,
            words: false,
            intervals: false,
        },
        of,
        best: |_| Cell::default(),
    }
}

impl<R> Spec<R> {
    fn page_head(mut self, head: &str) -> Self {
        head.clone_into(&mut self.column.page_head);
        self
    }

    fn on(mut self, on: On) -> Self {
        self.column.on = on;
        self
    }

    fn words(mut self) -> Self {
        self.column.words = true;
        self
    }

    fn intervals(mut self) -> Self {
        self.column.intervals = true;
        self
    }

    fn best(mut self, best: fn(&BestRow) -> Cell) -> Self {
        self.best = best;
        self
    }
}

impl Table {
    /// The rows, and behind the last of each point the best possible there.
    fn new<R>(
        title: impl Into<String>,
        flows: &'static str,
        specs: Vec<Spec<R>>,
        rows: &[R],
        names: impl Fn(&R) -> [String; 3],
        best: &[&BestRow],
    ) -> Self {
        let of_row = |row: &R| Line {
            names: names(row),
            cells: specs.iter().map(|spec| (spec.of)(row)).collect(),
        };
        let of_best = |row: &&&BestRow| Line {
            names: [
                row.point.clone(),
                row.transport.to_owned(),
                row.flows_name(),
            ],
            cells: specs.iter().map(|spec| (spec.best)(row)).collect(),
        };
        let mut lines = Vec::new();
        let mut own = rows.iter().map(of_row).peekable();
        while let Some(line) = own.next() {
            let point = line.names[0].clone();
            lines.push(line);
            if own.peek().is_none_or(|next| next.names[0] != point) {
                let here = best.iter().filter(|row| row.point == point);
                lines.extend(here.map(|row| of_best(&row)));
            }
        }
        Self {
            title: title.into(),
            note: String::new(),
            condition: "",
            on: On::Both,
            is_overview: false,
            names: ["point", "transport", flows],
            columns: specs.into_iter().map(|spec| spec.column).collect(),
            lines,
        }
    }

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
    let specs = vec![
        column("queries", |row| number(row.queries.queries)).best(|row| number(row.asked)),
        column("in time", |row| {
            share(row.queries.objective.map(|of| of.in_time))
        })
        .intervals()
        .best(|row| percent(&row.in_time)),
        column("p50", |row| time(row.queries.completion_s.p50)).page_head("completion p50"),
        column("p90", |row| time(row.queries.completion_s.p90)),
        column("p99", |row| time(row.queries.completion_s.p99)),
        column("p99.9", |row| time(row.queries.completion_s.p999)),
        column("answers in time of those asked", |row| {
            share(row.queries.answers_in_time)
        }),
        column("leaf coverage", |row| share(row.queries.leaf_coverage))
            .page_head("leaves whose answers were in time"),
        column("gave up", |row| some(row.queries.gave_up)).page_head("aggregators that gave up"),
        column("answers asked", |row| some(row.queries.asked)).on(On::Page),
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
               Answers in time are those that met their own deadlines, of all that were asked for, sent or not. A dash: \
               in some run that percentile never came."
            .to_owned(),
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
        .best(|row| number(row.asked)),
        column("missed", |row| {
            share(row.group.deadlines.map(|of| of.missed))
        })
        .intervals()
        .best(|row| percent(&row.missed)),
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
        column("p50", |row| time(row.group.completion_s.p50)).page_head("completion p50"),
        column("p99", |row| time(row.group.completion_s.p99)).page_head("completion p99"),
        column("slack p50", |row| time(row.group.slack_s.p50)).on(On::Page),
        column("slack p99", |row| time(row.group.slack_s.p99)),
        column("timeouts/flow", |row| mean(row.group.timeouts_per_flow)).on(On::Terminal),
        column("denied", |row| share(row.group.denied_requests)).on(On::Terminal),
        column("inverted", |row| share(row.group.inverted_denials)).on(On::Terminal),
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
            "Missed: late, ended early, reset and unfinished alike. A dash: in some run that percentile never \
             finished.{bound}"
        ),
        condition,
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
        column("number", |row| number(row.group.flows)),
        column("finished", |row| number(row.group.finished)),
        column("goodput, mean", |row| {
            goodput(row.group.goodput_bytes_per_s.mean)
        })
        .intervals(),
        column("goodput, p50", |row| {
            goodput(row.group.goodput_bytes_per_s.p50)
        }),
        column("goodput, p99", |row| {
            goodput(row.group.goodput_bytes_per_s.p99)
        })
        .on(On::Page),
        column("p50", |row| time(row.group.completion_s.p50)).page_head("completion p50"),
        column("p99", |row| time(row.group.completion_s.p99)).page_head("completion p99"),
        column("timeouts/flow", |row| mean(row.group.timeouts_per_flow)).on(On::Terminal),
        column("fairness", |row| mean(row.group.fairness)).page_head("fairness (Jain)"),
    ];
    Table {
        note: "Goodput: bytes delivered in order per second while the flow is active, per flow. Its p99 is what 99 % \
               of the flows had at least."
            .to_owned(),
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
        column("requests denied", |row| share(row.group.denied_requests)),
        column("of them inverted", |row| share(row.group.inverted_denials)),
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
        column("drops", |row| count(row.network.drops)),
        column("most at", |row| {
            word(&text::named(row.network.most_drops_link.as_ref(), row.runs))
        })
        .words(),
        column("losses", |row| {
            count(row.network.losses.filter(|of| of.value > 0.0))
        }),
        column("marks", |row| {
            count(row.network.marks.filter(|of| of.value > 0.0))
        }),
        column("largest queue", |row| bytes(row.network.queue_max_bytes)),
        column("its mean", |row| bytes(row.network.queue_mean_bytes))
            .page_head("mean of that queue"),
        column("busiest link", |row| share(row.network.utilisation)),
        column("which", |row| {
            word(&text::named(row.network.busiest_link.as_ref(), row.runs))
        })
        .words(),
    ];
    let mut unique: Vec<&Row> = rows.iter().collect();
    unique.dedup_by(|a, b| a.point == b.point && a.transport == b.transport);
    let names = |row: &&Row| [row.point.clone(), row.transport.clone(), String::new()];
    Table {
        note: "From the warm-up until sources stop, or until the run ends where they stop by themselves.".to_owned(),
        ..Table::new("Network, per run", "", specs, &unique, names, &[])
    }
}

/// What each transport does differently from the first one, paired by seed.
fn differences(plan: &Plan, gathered: &Gathered) -> Option<Table> {
    type Difference = ([String; 3], Estimate);
    let comparisons = gathered.comparisons();
    let baseline = comparisons.first()?.1.baseline.clone();
    let rows = comparisons.iter().filter_map(|(point, of)| {
        let names = [
            plan.points[*point].label(),
            of.transport.clone(),
            String::new(),
        ];
        Some((names, of.missed?))
    });
    let rows: Vec<Difference> = rows.collect();
    let column = column::<Difference>;
    let specs = vec![
        column("difference", |(_, missed)| {
            cell(missed, |share| format!("{:+.2} points", share * 100.0))
        }),
        column("missed", |(_, missed)| {
            word(match missed.interval {
                Some(range) if range.high < 0.0 => "fewer",
                Some(range) if range.low > 0.0 => "more",
                Some(_) => "cannot be told apart",
                None => "",
            })
        })
        .words(),
    ];
    let title = format!("Missed deadlines beside {baseline}");
    Some(Table {
        note: format!(
            "Difference to {baseline} in percentage points. Runs with the same seed offer the same flows, so they are \
             compared in pairs."
        ),
        on: On::Page,
        ..Table::new(title, "", specs, &rows, |(names, _)| names.clone(), &[])
    })
}

/// What is read of a summary, or of a bound.
type Read<T> = fn(&T) -> Option<Estimate>;

/// Queries in time and missed deadlines: a line per point of the sweep and a column per transport.
fn overviews(plan: &Plan, gathered: &Gathered) -> Vec<Table> {
    let all: [(&str, &str, Read<Summary>, Read<BestPossible>); 2] = [
        (
            "Queries in time",
            "Share of the queries with enough answers at their root within the budget",
            |of| of.objective.map(|of| of.in_time),
            |best| best.objective.map(|of| of.in_time()),
        ),
        (
            "Missed deadlines",
            "Share of the flows with deadlines that were not delivered in time",
            |of| of.deadlines.map(|of| of.missed),
            |best| best.deadlines.map(|of| of.late),
        ),
    ];
    let mut names: Vec<&str> = Vec::new();
    for cell in &gathered.cells {
        if !names.contains(&cell.summary.transport.as_str()) {
            names.push(&cell.summary.transport);
        }
    }
    let heads = names.iter().chain(&[NO_TRANSPORT]).map(|&name| Column {
        intervals: true,
        ..column::<()>(name, |()| Cell::default()).column
    });
    let heads: Vec<Column> = heads.collect();
    let overview = |(title, note, of, best): &(&str, &str, Read<Summary>, Read<BestPossible>)| {
        let line = |(index, point): (usize, &Point)| {
            let under = |name: &&str| {
                let mut cells = gathered.cells.iter();
                let here =
                    |cell: &&gather::Cell| cell.point == index && cell.summary.transport == **name;
                let found = cells.find(here).and_then(|cell| of(&cell.summary));
                found.map_or_else(never, |of| percent(&of))
            };
            let most = gathered.best_at(index).and_then(best);
            Line {
                names: [point.label(), String::new(), String::new()],
                cells: names.iter().map(under).chain([share(most)]).collect(),
            }
        };
        let mut cells = gathered.cells.iter();
        cells.find_map(|cell| of(&cell.summary))?;
        Some(Table {
            title: (*title).to_owned(),
            note: format!(
                "{note}, all workloads and runs together. In brackets: 95 % interval over runs."
            ),
            condition: "",
            on: On::Both,
            is_overview: true,
            names: ["point", "", ""],
            columns: heads.clone(),
            lines: plan.points.iter().enumerate().map(line).collect(),
        })
    };
    all.iter().filter_map(overview).collect()
}

fn word(text: &str) -> Cell {
    Cell {
        value: text.to_owned(),
        interval: String::new(),
    }
}

/// What a percentile shows where it falls among flows or queries that never finished.
fn never() -> Cell {
    word("–")
}

fn number(of: u64) -> Cell {
    word(&text::count(of as f64))
}

/// Nothing instead of none.
fn some(of: u64) -> Cell {
    if of > 0 { number(of) } else { Cell::default() }
}

/// A statistic with its interval.
fn cell(of: &Estimate, show: impl Fn(f64) -> String) -> Cell {
    let (value, interval) = text::estimate(of, show);
    Cell {
        value,
        interval: interval.unwrap_or_default(),
    }
}

fn shown(of: Option<Estimate>, show: impl Fn(f64) -> String) -> Cell {
    of.map_or(Cell::default(), |of| cell(&of, show))
}

/// A share in per cent.
pub(crate) fn percent(of: &Estimate) -> Cell {
    cell(of, text::percent)
}

fn share(of: Option<Estimate>) -> Cell {
    shown(of, text::percent)
}

fn mean(of: Option<Estimate>) -> Cell {
    shown(of, text::significant)
}

fn count(of: Option<Estimate>) -> Cell {
    shown(of, text::count)
}

fn bytes(of: Option<Estimate>) -> Cell {
    shown(of, text::bytes)
}

fn goodput(of: Option<Estimate>) -> Cell {
    of.map_or_else(never, |of| cell(&of, |bytes| text::rate(bytes * 8.0)))
}

fn time(of: Option<Estimate>) -> Cell {
    of.map_or_else(never, |of| cell(&of, text::seconds))
}
