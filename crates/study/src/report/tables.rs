//! The page's tables.

use duetime_results::Estimate;
use serde::Serialize;

use crate::gather::{Gathered, Row};
use crate::plan::Plan;
use crate::text;

/// A table of the page.
#[derive(Debug, Serialize)]
pub struct Table {
    title: String,
    note: String,
    /// Columns of words, before those of numbers.
    words: usize,
    head: Vec<String>,
    /// Whether it is shown only when asked for.
    folded: bool,
    rows: Vec<Vec<Entry>>,
}

/// A cell of a table.
#[derive(Debug, Default, Serialize)]
pub struct Entry {
    /// What it says.
    pub value: String,
    /// Its interval, or nothing.
    pub interval: String,
}

/// All tables, in the order of the page.
pub fn tables(plan: &Plan, gathered: &Gathered, rows: &[Row]) -> Vec<Table> {
    let (deadline, other): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.group.deadlines.is_some());
    let mut tables = vec![
        deadlines(&deadline),
        without(&other),
        protocol(rows),
        network(rows),
    ];
    tables.extend(differences(plan, gathered));
    if plan.points.len() > 1 {
        for table in &mut tables {
            table.folded = true;
        }
        tables.splice(0..0, by_point(plan, gathered));
    }
    tables.retain(|table| !table.rows.is_empty());
    for table in &mut tables {
        table.drop_empty_columns();
    }
    tables
}

fn deadlines(rows: &[&Row]) -> Table {
    let cells = |row: &&Row| {
        let group = &row.group;
        let queries = row.queries.as_ref();
        let deadlines = group.deadlines.as_ref();
        vec![
            word(&row.transport),
            word(&row.point),
            word(&row.flows_name()),
            word(&text::count(group.flows as f64)),
            deadlines.map(|of| percent(&of.missed)).unwrap_or_default(),
            queries
                .and_then(|of| of.in_time.as_ref())
                .map(percent)
                .unwrap_or_default(),
            queries
                .and_then(|of| of.below_95.as_ref())
                .map(percent)
                .unwrap_or_default(),
            queries
                .and_then(|of| of.no_answer.as_ref())
                .map(percent)
                .unwrap_or_default(),
            time(group.completion_s.p50.as_ref()),
            time(group.completion_s.p99.as_ref()),
            time(group.slack_s.p50.as_ref()),
            time(group.slack_s.p99.as_ref()),
        ]
    };
    Table {
        title: "Flows with deadlines".to_owned(),
        note: "Missed: late, ended early, reset and unfinished alike. A dash: that percentile never finished."
            .to_owned(),
        words: 3,
        head: heads(&[
            "transport",
            "point",
            "flows",
            "number",
            "missed",
            "answers in time per query",
            "queries below 95 % complete",
            "queries without an answer",
            "completion p50",
            "completion p99",
            "slack p50",
            "slack p99",
        ]),
        rows: rows.iter().map(cells).collect(),
        folded: false,
    }
}

fn without(rows: &[&Row]) -> Table {
    let cells = |row: &&Row| {
        let group = &row.group;
        vec![
            word(&row.transport),
            word(&row.point),
            word(&row.flows_name()),
            word(&text::count(group.flows as f64)),
            word(&text::count(group.finished as f64)),
            goodput(group.goodput_bytes_per_s.mean.as_ref()),
            goodput(group.goodput_bytes_per_s.p50.as_ref()),
            goodput(group.goodput_bytes_per_s.p99.as_ref()),
            time(group.completion_s.p50.as_ref()),
            time(group.completion_s.p99.as_ref()),
            group
                .fairness
                .as_ref()
                .map(|of| number(of, text::significant))
                .unwrap_or_default(),
        ]
    };
    Table {
        title: "Flows without deadlines".to_owned(),
        note: "Goodput: bytes delivered in order per second while the flow is active, per flow. Its p99 is what 99 % \
               of the flows had at least."
            .to_owned(),
        words: 3,
        head: heads(&[
            "transport",
            "point",
            "flows",
            "number",
            "finished",
            "goodput mean",
            "goodput p50",
            "goodput p99",
            "completion p50",
            "completion p99",
            "fairness (Jain)",
        ]),
        rows: rows.iter().map(cells).collect(),
        folded: false,
    }
}

fn protocol(rows: &[Row]) -> Table {
    let cells = |row: &Row| {
        let group = &row.group;
        let per_flow = |of: &Option<Estimate>| {
            of.as_ref()
                .map(|of| number(of, text::significant))
                .unwrap_or_default()
        };
        let share = |of: &Option<Estimate>| of.as_ref().map(percent).unwrap_or_default();
        vec![
            word(&row.transport),
            word(&row.point),
            word(&row.flows_name()),
            per_flow(&group.timeouts_per_flow),
            per_flow(&group.retransmits_per_flow),
            per_flow(&group.marks_per_flow),
            word(&if group.quenched > 0 {
                text::count(group.quenched as f64)
            } else {
                String::new()
            }),
            share(&group.denied_requests),
            share(&group.inverted_denials),
        ]
    };
    Table {
        title: "What the transports did".to_owned(),
        note: "Timeouts, segments sent again and marked segments are means per flow. Denied: requests that D3 granted \
               less than they asked for; inverted: of those, the ones denied while a later deadline held more than \
               the base rate."
            .to_owned(),
        words: 3,
        head: heads(&[
            "transport",
            "point",
            "flows",
            "timeouts",
            "sent again",
            "marked",
            "ended early",
            "requests denied",
            "of them inverted",
        ]),
        rows: rows.iter().map(cells).collect(),
        folded: false,
    }
}

fn network(rows: &[Row]) -> Table {
    let mut unique: Vec<&Row> = rows.iter().collect();
    unique.dedup_by(|a, b| a.point == b.point && a.transport == b.transport);
    let cells = |row: &&Row| {
        let of = |of: &Option<Estimate>, show: fn(f64) -> String| {
            of.as_ref().map(|of| number(of, show)).unwrap_or_default()
        };
        let network = &row.network;
        vec![
            word(&row.transport),
            word(&row.point),
            of(&network.drops, text::count),
            word(&text::named(network.most_drops_link.as_ref(), row.runs)),
            of(&network.losses.filter(|of| of.value > 0.0), text::count),
            of(&network.marks, text::count),
            of(&network.queue_max_bytes, text::bytes),
            of(&network.queue_mean_bytes, text::bytes),
            network
                .utilisation
                .as_ref()
                .map(percent)
                .unwrap_or_default(),
            word(&text::named(network.busiest_link.as_ref(), row.runs)),
        ]
    };
    Table {
        title: "Network, per run".to_owned(),
        note: "From the warm-up until sources stop, or until the run ends where they stop by themselves.".to_owned(),
        words: 2,
        head: heads(&[
            "transport",
            "point",
            "drops",
            "most at",
            "losses",
            "marks",
            "largest queue",
            "mean of that queue",
            "busiest link",
            "which",
        ]),
        rows: unique.iter().map(cells).collect(),
        folded: false,
    }
}

/// What each transport does differently from the first one, paired by seed.
fn differences(plan: &Plan, gathered: &Gathered) -> Option<Table> {
    let comparisons = gathered.comparisons();
    let baseline = comparisons.first()?.1.baseline.clone();
    let row = |(point, of): &(usize, duetime_results::summary::Comparison)| {
        let missed = of.missed?;
        let value = number(&missed, |share| format!("{:+.2} points", share * 100.0));
        let sure = match missed.interval {
            Some(range) if range.high < 0.0 => "fewer",
            Some(range) if range.low > 0.0 => "more",
            Some(_) => "cannot be told apart",
            None => "",
        };
        Some(vec![
            word(&of.transport),
            word(&plan.points[*point].label()),
            word(sure),
            value,
        ])
    };
    Some(Table {
        title: format!("Missed deadlines beside {baseline}"),
        note: format!(
            "Difference to {baseline} in percentage points. Runs with the same seed offer the same flows, so they are compared in pairs."
        ),
        words: 3,
        head: heads(&["transport", "point", "missed", "difference"]),
        rows: comparisons.iter().filter_map(row).collect(),
        folded: false,
    })
}

/// Missed deadlines, a row per point of the sweep and a column per transport.
fn by_point(plan: &Plan, gathered: &Gathered) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &gathered.cells {
        if !names.contains(&cell.summary.transport.as_str()) {
            names.push(&cell.summary.transport);
        }
    }
    let row = |(index, point): (usize, &crate::plan::Point)| {
        let missed = |name: &&str| {
            let cell = gathered
                .cells
                .iter()
                .find(|cell| cell.point == index && cell.summary.transport == **name);
            cell.and_then(|cell| cell.summary.deadlines)
                .map(|of| percent(&of.missed))
                .unwrap_or_default()
        };
        [word(&point.label())]
            .into_iter()
            .chain(names.iter().map(missed))
            .collect()
    };
    gathered
        .cells
        .iter()
        .find(|cell| cell.summary.deadlines.is_some())?;
    Some(Table {
        title: "Missed deadlines".to_owned(),
        note: "Share of the flows with deadlines that were not delivered in time, all workloads and runs together. \
               In brackets: 95 % interval over runs."
            .to_owned(),
        words: 1,
        head: [""].iter().chain(&names).map(|&name| name.to_owned()).collect(),
        rows: plan.points.iter().enumerate().map(row).collect(),
        folded: false,
    })
}

/// Column heads.
fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

impl Table {
    /// Leaves out the columns in which no row says anything.
    fn drop_empty_columns(&mut self) {
        let said = |column: usize| self.rows.iter().any(|row| !row[column].value.is_empty());
        let keep: Vec<bool> = (0..self.head.len()).map(said).collect();
        self.words = keep[..self.words].iter().filter(|&&keep| keep).count();
        for row in &mut self.rows {
            let mut column = keep.iter();
            row.retain(|_| *column.next().expect("as many as the head"));
        }
        let mut column = keep.iter();
        self.head
            .retain(|_| *column.next().expect("as many as the head"));
    }
}

fn word(text: &str) -> Entry {
    Entry {
        value: text.to_owned(),
        interval: String::new(),
    }
}

fn number(of: &Estimate, show: impl Fn(f64) -> String) -> Entry {
    let (value, interval) = text::estimate(of, show);
    Entry {
        value,
        interval: interval.unwrap_or_default(),
    }
}

/// A share in per cent.
pub fn percent(of: &Estimate) -> Entry {
    number(of, text::percent)
}

/// A time, or a dash where the percentile falls among flows that never finished.
fn time(of: Option<&Estimate>) -> Entry {
    of.map_or_else(|| word("–"), |of| number(of, text::seconds))
}

fn goodput(of: Option<&Estimate>) -> Entry {
    of.map_or_else(
        || word("–"),
        |of| number(of, |bytes| text::rate(bytes * 8.0)),
    )
}
