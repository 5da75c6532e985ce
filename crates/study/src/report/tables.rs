//! The page's tables.

use duetime_results::{Estimate, Summary};
use serde::Serialize;

use crate::bound::{BestPossible, BestRow, NO_TRANSPORT};
use crate::gather::{Gathered, QueryRow, Row};
use crate::plan::Plan;
use crate::text;

/// A table of the page.
#[derive(Debug, Serialize)]
pub struct Table {
    title: String,
    note: String,
    /// The first column names the row; all others are numbers.
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
    /// Its interval, or, in the first column, what the row is about beside its transport.
    pub interval: String,
}

/// All tables, in the order of the page.
pub fn tables(plan: &Plan, gathered: &Gathered, rows: &[Row]) -> Vec<Table> {
    let (deadline, other): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.group.deadlines.is_some());
    let best = gathered.best_rows(plan);
    let mut tables = vec![
        queries(&gathered.query_rows(plan), &best),
        deadlines(&deadline, &best),
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

fn queries(rows: &[QueryRow], best: &[BestRow]) -> Table {
    let cells = |row: &QueryRow| {
        let of = &row.queries;
        let share = |share: &Option<Estimate>| share.as_ref().map(percent).unwrap_or_default();
        let several = |count: u64| {
            let count = Some(count).filter(|&count| count > 0);
            count.map_or(Entry::default(), |count| word(&text::count(count as f64)))
        };
        vec![
            named(&row.transport, &[&row.point, &row.workload_name]),
            share(&of.objective.map(|of| of.in_time)),
            share(&of.answers_in_time),
            share(&of.leaf_coverage),
            time(of.completion_s.p50.as_ref()),
            time(of.completion_s.p90.as_ref()),
            time(of.completion_s.p99.as_ref()),
            time(of.completion_s.p999.as_ref()),
            several(of.gave_up),
            several(of.asked),
            word(&text::count(of.queries as f64)),
        ]
    };
    let bound = |of: &BestRow| {
        let mut cells = vec![
            named(of.transport, &[&of.point, &of.workload_name]),
            percent(&of.in_time),
        ];
        cells.resize_with(10, Entry::default);
        cells.push(word(&text::count(of.asked as f64)));
        cells
    };
    let points: Vec<&str> = rows.iter().map(|row| row.point.as_str()).collect();
    let of_queries = |of: &BestRow| of.class.is_none();
    let all = with_best(rows.iter().map(cells), &points, best, of_queries, bound);
    Table {
        title: "Queries".to_owned(),
        note: "In time: enough answers were at the root within the budget, which begins when the query arrives there. \
               Answers in time are those that met their own deadlines, of all that were asked for, sent or not. A dash: \
               in some run that percentile never came."
            .to_owned(),
        head: heads(&[
            "transport",
            "in time",
            "answers in time, of those asked",
            "leaves whose answers were in time",
            "completion p50",
            "p90",
            "p99",
            "p99.9",
            "aggregators that gave up",
            "answers asked",
            "queries",
        ]),
        rows: all,
        folded: false,
    }
}

fn deadlines(rows: &[&Row], best: &[BestRow]) -> Table {
    let cells = |row: &&Row| {
        let group = &row.group;
        let queries = row.queries.as_ref();
        let deadlines = group.deadlines.as_ref();
        vec![
            named(&row.transport, &[&row.point, &row.flows_name()]),
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
            // Those that have one: a workload may give deadlines to some of its flows only.
            deadlines
                .map(|of| word(&text::count(of.flows as f64)))
                .unwrap_or_default(),
        ]
    };
    let bound = |of: &BestRow| {
        let mut cells = vec![
            named(of.transport, &[&of.point, &of.flows_name()]),
            percent(&of.missed),
        ];
        cells.resize_with(9, Entry::default);
        cells.push(word(&text::count(of.asked as f64)));
        cells
    };
    let points: Vec<&str> = rows.iter().map(|row| row.point.as_str()).collect();
    let of_flows = |of: &BestRow| of.class.is_some();
    let all = with_best(rows.iter().map(cells), &points, best, of_flows, bound);
    Table {
        title: "Flows with deadlines".to_owned(),
        note: format!(
            "Missed: late, ended early, reset and unfinished alike. A dash: in some run that percentile never finished. {}",
            bound_note(best)
        ),
        head: heads(&[
            "transport",
            "missed",
            "answers in time per query",
            "queries below 95 % complete",
            "queries without an answer",
            "completion p50",
            "completion p99",
            "slack p50",
            "slack p99",
            "number",
        ]),
        rows: all,
        folded: false,
    }
}

/// The rows of the transports, and behind the last of each point those of the best possible that `wanted` picks.
fn with_best(
    rows: impl Iterator<Item = Vec<Entry>>,
    points: &[&str],
    best: &[BestRow],
    wanted: impl Fn(&BestRow) -> bool,
    bound: impl Fn(&BestRow) -> Vec<Entry>,
) -> Vec<Vec<Entry>> {
    let mut all = Vec::new();
    for (at, row) in rows.enumerate() {
        all.push(row);
        let point = points[at];
        if points.get(at + 1).is_none_or(|next| *next != point) {
            let here = best.iter().filter(|of| of.point == point && wanted(of));
            all.extend(here.map(&bound));
        }
    }
    all
}

/// What the rows of the best possible are.
fn bound_note(best: &[BestRow]) -> &'static str {
    if best.is_empty() {
        ""
    } else if best.iter().any(|row| row.class.is_some() && row.if_prompt) {
        "No transport misses fewer than the bound, as long as it does not hold queries back: some deadlines start when a \
         query has come down its tree."
    } else {
        "No transport misses fewer than the bound."
    }
}

fn without(rows: &[&Row]) -> Table {
    let cells = |row: &&Row| {
        let group = &row.group;
        vec![
            named(&row.transport, &[&row.point, &row.flows_name()]),
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
        head: heads(&[
            "transport",
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
            named(&row.transport, &[&row.point, &row.flows_name()]),
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
        head: heads(&[
            "transport",
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
            named(&row.transport, &[&row.point]),
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
        head: heads(&[
            "transport",
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
            named(&of.transport, &[&plan.points[*point].label()]),
            value,
            word(sure),
        ])
    };
    Some(Table {
        title: format!("Missed deadlines beside {baseline}"),
        note: format!(
            "Difference to {baseline} in percentage points. Runs with the same seed offer the same flows, so they are compared in pairs."
        ),
        head: heads(&["transport", "difference", "missed"]),
        rows: comparisons.iter().filter_map(row).collect(),
        folded: false,
    })
}

/// What is read of a summary or of a bound.
type Of<'a, T> = &'a dyn Fn(&T) -> Option<Estimate>;

/// Queries in time and missed deadlines, a row per point of the sweep and a column per transport.
fn by_point(plan: &Plan, gathered: &Gathered) -> Vec<Table> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &gathered.cells {
        if !names.contains(&cell.summary.transport.as_str()) {
            names.push(&cell.summary.transport);
        }
    }
    let table = |title: &str, note: &str, value: Of<'_, Summary>, best: Of<'_, BestPossible>| {
        let row = |(index, point): (usize, &crate::plan::Point)| {
            let found = |name: &&str| {
                let mut cells = gathered.cells.iter();
                let cell =
                    cells.find(|cell| cell.point == index && cell.summary.transport == **name);
                cell.and_then(|cell| value(&cell.summary))
                    .map(|of| percent(&of))
                    .unwrap_or_default()
            };
            let most = gathered.best_at(index).and_then(best);
            let label = [word(&point.label())];
            label
                .into_iter()
                .chain(names.iter().map(found))
                .chain([most.map(|of| percent(&of)).unwrap_or_default()])
                .collect()
        };
        let mut cells = gathered.cells.iter();
        cells
            .any(|cell| value(&cell.summary).is_some())
            .then(|| Table {
                title: title.to_owned(),
                note: format!(
                    "{note}, all workloads and runs together. In brackets: 95 % interval over runs."
                ),
                head: [""]
                    .iter()
                    .chain(&names)
                    .chain(&[NO_TRANSPORT])
                    .map(|&name| name.to_owned())
                    .collect(),
                rows: plan.points.iter().enumerate().map(row).collect(),
                folded: false,
            })
    };
    let tables = [
        table(
            "Queries in time",
            "Share of the queries with enough answers at their root within the budget",
            &|of| of.objective.map(|of| of.in_time),
            &|best| best.objective.map(|of| of.in_time()),
        ),
        table(
            "Missed deadlines",
            "Share of the flows with deadlines that were not delivered in time",
            &|of| of.deadlines.map(|of| of.missed),
            &|best| best.deadlines.map(|of| of.late),
        ),
    ];
    tables.into_iter().flatten().collect()
}

/// Column heads.
fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

impl Table {
    /// Whether it is shown without being asked for.
    pub fn is_open(&self) -> bool {
        !self.folded
    }

    /// Leaves out the columns in which no row says anything.
    fn drop_empty_columns(&mut self) {
        let said = |column: usize| self.rows.iter().any(|row| !row[column].value.is_empty());
        let keep: Vec<bool> = (0..self.head.len()).map(said).collect();
        for row in &mut self.rows {
            let mut column = keep.iter();
            row.retain(|_| *column.next().expect("as many as the head"));
        }
        let mut column = keep.iter();
        self.head
            .retain(|_| *column.next().expect("as many as the head"));
    }
}

/// The first cell of a row: its transport, and below it what else tells it from others.
fn named(transport: &str, about: &[&str]) -> Entry {
    let about: Vec<&str> = about.iter().copied().filter(|of| !of.is_empty()).collect();
    Entry {
        value: transport.to_owned(),
        interval: about.join(", "),
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
    // A line breaks between the brackets and the number of seeds alone.
    let interval = interval.unwrap_or_default();
    let parts: Vec<String> = interval
        .split(" from ")
        .enumerate()
        .map(|(i, part)| format!("{}{part}", if i == 0 { "" } else { "from " }))
        .map(|part| part.replace(' ', "\u{a0}"))
        .collect();
    Entry {
        value,
        interval: parts.join(" "),
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
