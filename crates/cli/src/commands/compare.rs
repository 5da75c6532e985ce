//! `duetime compare`.

use std::fmt::{self, Write as _};
use std::io::Write;

use duetime_results::Estimate;
use duetime_results::summary::{Paired, Unit};
use duetime_study::compare::{Compared, ComparedRow, Counted, Verdict, verdict};
use duetime_study::text;
use serde_json::{Value, json};

use super::json_event;
use crate::args;
use crate::failure::Failure;
use crate::progress::Pieces;
use crate::table::{Align, Table};
use crate::terminal::{Widths, stdout};

const METHOD: &str = "percentile bootstrap over pairs of runs with the same seed, 95 %";

/// Compares two run folders and prints the differences.
pub fn compare(args: &args::Compare) -> Result<(), Failure> {
    let bar = Pieces::new(!args.quiet);
    let reads = |done: usize, all: usize| bar.set(done, all);
    let compared = duetime_study::compare::compare(&args.a, &args.b, &args.transport, reads)?;
    drop(bar);
    let mut to = stdout();
    if args.json {
        for (event, line) in compared_events(&compared) {
            json_event(&mut to, event, &line)?;
        }
    } else {
        let widths = Widths::of_stdout(args.tables.wide);
        write!(to, "{}", text_within(&compared, widths))?;
    }
    Ok(())
}

/// Renders the output of `duetime compare --wide`.
pub fn compared_text(compared: &Compared) -> String {
    text_within(compared, Widths::UNLIMITED)
}

fn text_within(compared: &Compared, widths: Widths) -> String {
    let mut text = String::new();
    write_text(&mut text, compared, widths).expect("a string can always grow");
    text
}

fn write_text(to: &mut String, compared: &Compared, widths: Widths) -> fmt::Result {
    writeln!(to, "{}", widths.wrapped(&answer(compared)))?;
    writeln!(to, "{}\n", widths.wrapped(&method(compared)))?;
    for note in &compared.notes {
        writeln!(to, "{}", widths.wrapped(&format!("WARNING  {note}")))?;
    }
    for (side, folder) in compared.folders.iter().enumerate() {
        let name = ["A", "B"][side];
        let transport = compared
            .pair
            .as_ref()
            .map_or(String::new(), |pair| format!(", {}", pair[side]));
        writeln!(to, "{name}  {}{transport}", folder.display())?;
    }
    if compared.settings.is_empty() && compared.pair.is_none() {
        writeln!(to, "identical scenarios")?;
    }
    for change in &compared.settings {
        writeln!(to, "{}: {} -> {}", change.key, change.old, change.new)?;
    }
    writeln!(to, "\n{}", table(compared).within(widths.tables))?;
    let verdicts = compared.rows.iter().filter_map(judged);
    let verdicts: Vec<Verdict> = verdicts
        .filter(|verdict| *verdict != Verdict::FewSeeds && *verdict != Verdict::Equal)
        .collect();
    let differ = verdicts
        .iter()
        .filter(|verdict| **verdict != Verdict::Open)
        .count();
    if !verdicts.is_empty() {
        let line = format!(
            "{differ} of {} unequal numbers differ by more than chance: their intervals exclude 0. By chance alone, about 1 in 20 \
             would.",
            verdicts.len()
        );
        writeln!(to, "{}", widths.wrapped(&line))?;
    }
    Ok(())
}

/// Returns the first line, the difference of the shares in time.
fn answer(compared: &Compared) -> String {
    let (Some(counted), Some(difference)) = (compared.counted, compared.in_time.difference) else {
        return "B - A: the folders have no budgets or deadlines in common, so no share in time is defined; compare completion times"
            .to_owned();
    };
    let unit = match counted {
        Counted::Queries => "queries",
        Counted::Flows => "flows with deadlines",
    };
    let asked = compared.in_time.of.unwrap_or_default();
    let share = |estimate: Option<Estimate>, asked: u64| {
        estimate.map_or(String::new(), |estimate| text::part(estimate.value, asked))
    };
    let verdict = match verdict(&difference) {
        Verdict::Equal => ", equal in every pair",
        Verdict::Open => ", not distinguishable from chance",
        Verdict::Higher | Verdict::Lower | Verdict::FewSeeds => "",
    };
    let (by, interval) = with_sign(&difference, points);
    let interval = interval.map_or(String::new(), |range| format!(" {range}"));
    format!(
        "B - A: {by}{interval} of the {unit} in time, {} in A and {} in B{verdict}",
        share(compared.in_time.first, asked[0]),
        share(compared.in_time.second, asked[1]),
    )
}

/// Returns the second line, the compared runs and the kind of interval.
fn method(compared: &Compared) -> String {
    let over = format!("over {}", text::list(compared.transports.iter().cloned()));
    match compared.seeds {
        1 => format!("{over}; one seed: no interval, run both with more --seeds"),
        seeds if seeds < 4 => format!(
            "{over}; {seeds} seeds in pairs: the brackets show only the range that {METHOD}, can reach; run both with more --seeds"
        ),
        seeds => format!("{over}; {seeds} seeds in pairs; in brackets: {METHOD}"),
    }
}

fn table(compared: &Compared) -> Table {
    let mut table = Table::new(&[
        ("point", Align::Left),
        ("transport", Align::Left),
        ("of", Align::Left),
        ("number", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B - A", Align::Right),
        ("95 % interval", Align::Right),
        ("B is", Align::Left),
    ])
    .sparing(&["B is", "A", "B"]);
    let same_group =
        |a: &&ComparedRow, b: &&ComparedRow| a.point == b.point && a.transport == b.transport;
    let rows: Vec<&ComparedRow> = compared.rows.iter().collect();
    for rows in rows.chunk_by(|a, b| same_group(a, b)) {
        let is_equal = |row: &&ComparedRow| judged(row) == Some(Verdict::Equal);
        if let Some(first) = rows.first().filter(|_| rows.iter().all(is_equal)) {
            let mut cells = vec![first.point.clone(), first.transport.clone()];
            cells.push(format!("all {} numbers", rows.len()));
            cells.resize(8, String::new());
            cells.push("equal".to_owned());
            table.row(cells);
            continue;
        }
        for row in rows {
            table.row(cells(row));
        }
    }
    table.without_empty_columns()
}

/// Returns the cells of a row.
fn cells(row: &ComparedRow) -> Vec<String> {
    let is_share = row.measure.unit() == Unit::Share;
    let side = |estimate: Option<Estimate>, index: usize| match (estimate, row.values.of) {
        (None, _) => "–".to_owned(),
        (Some(estimate), Some(asked)) if is_share => text::part(estimate.value, asked[index]),
        (Some(estimate), _) => shown(row, estimate.value),
    };
    let (difference, interval) = match row.values.difference {
        None => ("–".to_owned(), None),
        Some(estimate) => with_sign(&estimate, |by| signed(row, by)),
    };
    let verdict = match judged(row) {
        Some(Verdict::Higher) => "higher",
        Some(Verdict::Lower) => "lower",
        Some(Verdict::Equal) => "equal",
        Some(Verdict::Open | Verdict::FewSeeds) | None => "",
    };
    vec![
        row.point.clone(),
        row.transport.clone(),
        row.subject(),
        row.measure.name().to_owned(),
        side(row.values.first, 0),
        side(row.values.second, 1),
        difference,
        interval.unwrap_or_default(),
        verdict.to_owned(),
    ]
}

fn judged(row: &ComparedRow) -> Option<Verdict> {
    row.values.difference.as_ref().map(verdict)
}

fn shown(row: &ComparedRow, value: f64) -> String {
    match row.measure.unit() {
        Unit::Share => text::percent(value),
        Unit::Seconds => text::seconds(value),
        Unit::BytesPerSecond => text::rate(value * 8.0),
        Unit::Bytes => text::bytes(value),
        Unit::Count => text::count(value),
    }
}

/// Formats a difference and its interval, without plus signs in the interval.
fn with_sign(estimate: &Estimate, show: impl Fn(f64) -> String) -> (String, Option<String>) {
    let (difference, interval) = text::estimate(estimate, show);
    (difference, interval.map(|range| range.replace('+', "")))
}

/// Formats a difference with its sign.
fn signed(row: &ComparedRow, by: f64) -> String {
    let sign = if by > 0.0 { "+" } else { "" };
    match row.measure.unit() {
        Unit::Share => points(by),
        _ => format!("{sign}{}", shown(row, by)),
    }
}

/// Formats a difference of two shares in percentage points.
fn points(by: f64) -> String {
    let sign = if by > 0.0 { "+" } else { "" };
    format!("{sign}{} points", text::significant(by * 100.0))
}

/// Returns the names and fields of the events of `duetime compare --json`, in order.
pub fn compared_events(compared: &Compared) -> Vec<(&'static str, Value)> {
    let counted = compared.counted.map(|counted| match counted {
        Counted::Queries => "queries",
        Counted::Flows => "flows",
    });
    let answer = json!({
        "a": compared.folders[0],
        "b": compared.folders[1],
        "transports": compared.transports,
        "seeds": compared.seeds,
        "pairs": compared.pairs,
        "in_time_of": counted,
        "in_time": values(&compared.in_time),
        "method": METHOD,
        "notes": compared.notes,
    });
    let settings = compared.settings.iter().map(|change| {
        let line = json!({ "key": change.key, "a": change.old, "b": change.new });
        ("setting", line)
    });
    let rows = compared.rows.iter().map(|row| {
        let mut line = values(&row.values);
        line["point"] = json!(row.point);
        line["transport"] = json!(row.transport);
        line["pairs"] = json!(row.pairs);
        line["workload_name"] = json!(row.workload);
        line["class"] = json!(row.class);
        line["number"] = json!(row.measure.name());
        line["unit"] = json!(unit(row.measure.unit()));
        ("difference", line)
    });
    let answer = std::iter::once(("compared", answer));
    answer.chain(settings).chain(rows).collect()
}

/// Returns both values, their difference and its verdict as JSON.
fn values(paired: &Paired) -> Value {
    let verdict_name = paired
        .difference
        .as_ref()
        .map(|paired| match verdict(paired) {
            Verdict::Equal => "equal",
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::Open => "open",
            Verdict::FewSeeds => "few-seeds",
        });
    json!({ "a": paired.first, "b": paired.second, "of": paired.of, "difference": paired.difference, "differs": verdict_name })
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "share",
        Unit::Seconds => "s",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}
