//! `duetime compare`

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
use crate::terminal::{Room, stdout};

const METHOD: &str = "percentile bootstrap over pairs of runs with the same seed, 95 %";

/// Compares two run folders and prints what differs.
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
        let room = Room::of_stdout(args.tables.wide);
        write!(to, "{}", text_within(&compared, room))?;
    }
    Ok(())
}

/// What `duetime compare --wide` prints.
pub fn compared_text(of: &Compared) -> String {
    text_within(of, Room::UNLIMITED)
}

fn text_within(of: &Compared, room: Room) -> String {
    let mut text = String::new();
    write_text(&mut text, of, room).expect("a text takes all that is written");
    text
}

fn write_text(to: &mut String, of: &Compared, room: Room) -> fmt::Result {
    writeln!(to, "{}", room.wrapped(&answer(of)))?;
    writeln!(to, "{}\n", room.wrapped(&method(of)))?;
    for note in &of.notes {
        writeln!(to, "{}", room.wrapped(&format!("WARNING  {note}")))?;
    }
    for (side, folder) in of.folders.iter().enumerate() {
        let name = ["A", "B"][side];
        let transport = of
            .pair
            .as_ref()
            .map_or(String::new(), |pair| format!(", {}", pair[side]));
        writeln!(to, "{name}  {}{transport}", folder.display())?;
    }
    if of.settings.is_empty() && of.pair.is_none() {
        writeln!(to, "their scenarios are the same")?;
    }
    for change in &of.settings {
        writeln!(to, "{}: {} -> {}", change.key, change.old, change.new)?;
    }
    writeln!(to, "\n{}", table(of).within(room.tables))?;
    let sure = of.rows.iter().filter_map(judged);
    let sure: Vec<Verdict> = sure
        .filter(|of| *of != Verdict::FewSeeds && *of != Verdict::Equal)
        .collect();
    let differ = sure.iter().filter(|of| **of != Verdict::Open).count();
    if !sure.is_empty() {
        let line = format!(
            "{differ} of {} numbers that are not equal differ by more than chance: their interval leaves out 0. By chance alone \
             about one in 20 would.",
            sure.len()
        );
        writeln!(to, "{}", room.wrapped(&line))?;
    }
    Ok(())
}

/// The first line: by how much the share in time differs.
fn answer(of: &Compared) -> String {
    let (Some(counted), Some(difference)) = (of.counted, of.in_time.difference) else {
        return "B - A: nothing in both has a budget or a deadline, so no share is in time or late; see completion times"
            .to_owned();
    };
    let what = match counted {
        Counted::Queries => "queries",
        Counted::Flows => "flows with deadlines",
    };
    let asked = of.in_time.of.unwrap_or_default();
    let share = |of: Option<Estimate>, asked: u64| {
        of.map_or(String::new(), |of| text::part(of.value, asked))
    };
    let words = match verdict(&difference) {
        Verdict::Equal => ", equal in every pair",
        Verdict::Open => ", not told apart from chance",
        Verdict::Higher | Verdict::Lower | Verdict::FewSeeds => "",
    };
    let (by, interval) = with_sign(&difference, points);
    let interval = interval.map_or(String::new(), |range| format!(" {range}"));
    format!(
        "B - A: {by}{interval} of the {what} in time, {} in A and {} in B{words}",
        share(of.in_time.first, asked[0]),
        share(of.in_time.second, asked[1]),
    )
}

/// The second line: over what, and what the interval is.
fn method(of: &Compared) -> String {
    let over = format!("over {}", text::list(of.transports.iter().cloned()));
    match of.seeds {
        1 => format!("{over}; one seed: there is no interval, run both with more --seeds"),
        seeds if seeds < 4 => format!(
            "{over}; {seeds} seeds in pairs: in brackets only the range that {METHOD} can give, run both with more --seeds"
        ),
        seeds => format!("{over}; {seeds} seeds in pairs; in brackets: {METHOD}"),
    }
}

fn table(of: &Compared) -> Table {
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
    let of_one =
        |a: &&ComparedRow, b: &&ComparedRow| a.point == b.point && a.transport == b.transport;
    let rows: Vec<&ComparedRow> = of.rows.iter().collect();
    for rows in rows.chunk_by(|a, b| of_one(a, b)) {
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

/// A row of the table.
fn cells(row: &ComparedRow) -> Vec<String> {
    let is_share = row.measure.unit() == Unit::Share;
    let side = |of: Option<Estimate>, index: usize| match (of, row.values.of) {
        (None, _) => "–".to_owned(),
        (Some(of), Some(asked)) if is_share => text::part(of.value, asked[index]),
        (Some(of), _) => shown(row, of.value),
    };
    let (difference, interval) = match row.values.difference {
        None => ("–".to_owned(), None),
        Some(of) => with_sign(&of, |by| signed(row, by)),
    };
    let words = match judged(row) {
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
        words.to_owned(),
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

/// A difference, and its interval without signs of what is more.
fn with_sign(of: &Estimate, show: impl Fn(f64) -> String) -> (String, Option<String>) {
    let (by, interval) = text::estimate(of, show);
    (by, interval.map(|range| range.replace('+', "")))
}

/// A difference, with its sign.
fn signed(row: &ComparedRow, by: f64) -> String {
    let sign = if by > 0.0 { "+" } else { "" };
    match row.measure.unit() {
        Unit::Share => points(by),
        _ => format!("{sign}{}", shown(row, by)),
    }
}

/// A difference of two shares.
fn points(by: f64) -> String {
    let sign = if by > 0.0 { "+" } else { "" };
    format!("{sign}{} points", text::significant(by * 100.0))
}

/// The events of `duetime compare --json`, in their order: names and fields.
pub fn compared_events(of: &Compared) -> Vec<(&'static str, Value)> {
    let counted = of.counted.map(|of| match of {
        Counted::Queries => "queries",
        Counted::Flows => "flows",
    });
    let answer = json!({
        "a": of.folders[0],
        "b": of.folders[1],
        "transports": of.transports,
        "seeds": of.seeds,
        "pairs": of.pairs,
        "in_time_of": counted,
        "in_time": values(&of.in_time),
        "method": METHOD,
        "notes": of.notes,
    });
    let settings = of.settings.iter().map(|change| {
        let line = json!({ "key": change.key, "a": change.old, "b": change.new });
        ("setting", line)
    });
    let rows = of.rows.iter().map(|row| {
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

/// Both values, their difference and what it says.
fn values(of: &Paired) -> Value {
    let words = of.difference.as_ref().map(|of| match verdict(of) {
        Verdict::Equal => "equal",
        Verdict::Higher => "higher",
        Verdict::Lower => "lower",
        Verdict::Open => "open",
        Verdict::FewSeeds => "few-seeds",
    });
    json!({ "a": of.first, "b": of.second, "of": of.of, "difference": of.difference, "differs": words })
}

fn unit(of: Unit) -> &'static str {
    match of {
        Unit::Share => "share",
        Unit::Seconds => "s",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}
