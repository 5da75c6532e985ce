//! Reference page of all keys, `docs/scenario.md`, generated from the declarations of the keys.

use crate::all_keys::SCENARIO;
use crate::devices::{BUFFERS, ECN, HOSTS, LAB, RECORD, SLOTS, SWITCH};
use crate::distribution::{DEADLINES, SIZES, TIMES};
use crate::expected::Expected;
use crate::keys::{Key, Kind, Table};
use crate::network::{EDGE, LINK, TOPOLOGIES};
use crate::published::{MEASURED, PUBLISHED};
use crate::quantity::{RATE, SIZE, TIME, Units};
use crate::transports;
use crate::workloads::{HEDGE, OBJECTIVE, RETRY, WORKLOADS};
use std::fmt;

/// Returns the reference page as Markdown.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    heading(&mut page, "##", "Top level", SCENARIO.doc);
    rows(&mut page, SCENARIO.all());
    page.push_str("\n## Topologies\n\n`[topology]`, with a required `kind`. A link is a table:\n");
    rows(&mut page, LINK.table.keys[0]);
    tagged(&mut page, TOPOLOGIES);
    own_keys(&mut page, EDGE.name, &EDGE);
    page.push_str("\nA link also has the keys of the table above.\n");
    section(&mut page, "##", "`[switch]`", SWITCH.table);
    tagged(&mut page, BUFFERS);
    section(&mut page, "###", ECN.name, &ECN);
    section(&mut page, "##", "`[host]`", HOSTS.table);
    section(&mut page, "###", "Servers with slots", SLOTS.table);
    page.push_str("\n## Workloads\n\n`[[workload]]`, by `kind`.\n");
    page.push_str("\nKeys of all kinds:\n");
    if let Some((common, _)) = WORKLOADS[0].1.keys.split_first() {
        rows(&mut page, *common);
    }
    for (_, one) in WORKLOADS {
        heading(&mut page, "###", one.name, one.doc);
        one.keys
            .iter()
            .skip(1)
            .for_each(|group| rows(&mut page, *group));
    }
    section(&mut page, "###", "Objective", &OBJECTIVE);
    section(&mut page, "###", "Hedge", HEDGE.table);
    section(&mut page, "###", "Retry", RETRY.table);
    page.push_str(DISTRIBUTIONS);
    for (name, text) in PUBLISHED.iter().chain(MEASURED) {
        let lines: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .take(3)
            .map(|line| match line.strip_prefix("source: ") {
                Some(source) => format!("Source: {source}."),
                None => line.to_owned(),
            })
            .collect();
        line(
            &mut page,
            format_args!("| `{name}` | {} |", lines.join(" ")),
        );
    }
    section(&mut page, "###", "Size as a table", &SIZES);
    section(&mut page, "###", "Deadline as a table", &DEADLINES);
    section(&mut page, "###", "Random time as a table", &TIMES);
    page.push_str("\n## Transports\n");
    for key in transports::OPTIONS {
        match key.kind {
            Kind::Table(_) if key.name == "rcpdc" => page.push_str(RCPDC),
            Kind::Table(table) => own_keys(&mut page, &format!("`[{}]`", key.name), table),
            _ => {}
        }
    }
    page.push_str(VARIANTS);
    section(&mut page, "##", "`[record]`", RECORD.table);
    section(&mut page, "##", "`[lab]`", LAB.table);
    page.push_str(SWEEPS);
    page
}

fn tagged(page: &mut String, tables: &'static [(&'static str, &'static Table)]) {
    for (_, one) in tables {
        heading(page, "###", one.name, one.doc);
        rows(page, one.all());
    }
}

fn section(page: &mut String, level: &str, title: &str, table: &'static Table) {
    heading(page, level, title, table.doc);
    table.keys.iter().for_each(|group| rows(page, *group));
}

/// Writes only the keys that the table does not share with others.
fn own_keys(page: &mut String, title: &str, table: &'static Table) {
    heading(page, "###", title, table.doc);
    rows(page, table.keys[0]);
}

fn heading(page: &mut String, level: &str, title: &str, doc: &str) {
    let mut letters = title.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let title: String = first.chain(letters).collect();
    line(page, format_args!("\n{level} {title}\n\n{doc}"));
}

fn rows(page: &mut String, keys: impl IntoIterator<Item = &'static Key>) {
    page.push_str("\n| key | value | default | meaning |\n|---|---|---|---|\n");
    // Headings name the only value of such a `kind`.
    let is_tag = |key: &&Key| matches!(key.kind, Kind::Choice([_])) && key.name == "kind";
    for key in keys.into_iter().filter(|key| !is_tag(key)) {
        let cell = |text: &str| text.replace('|', "\\|");
        let default = match key.default {
            "" => "**required**".to_owned(),
            default => cell(default),
        };
        let value = value(&key.kind);
        let (name, value, doc) = (key.name, cell(&value), cell(key.doc));
        line(
            page,
            format_args!("| `{name}` | {value} | {default} | {doc} |"),
        );
    }
}

/// Describes the values of a key, shorter than in messages.
fn value(kind: &Kind) -> String {
    let range = |units: &Units, low: u64, high: u64| {
        let show = units.show;
        format!("{}, {} to {}", units.what, show(low), show(high))
    };
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer(low, high) => format!("{low} to {high}"),
        Kind::Number(low, high) => format!("{low} to {high}"),
        Kind::Share(low, high) => format!("share, {low} to {high}"),
        Kind::Time(low, high) => range(&TIME, *low, *high),
        Kind::Rate(low, high) => range(&RATE, *low, *high),
        Kind::Size(low, high) => range(&SIZE, *low, *high),
        Kind::Amount => "packets or bytes".to_owned(),
        Kind::Frequency => "frequency".to_owned(),
        Kind::Percentile => "percentile, \"p1\" to \"p99.99\"".to_owned(),
        Kind::OutOf => "\"n of m\"".to_owned(),
        Kind::Gap => "random time".to_owned(),
        Kind::Sizes => "size".to_owned(),
        Kind::Deadline => "deadline".to_owned(),
        Kind::List(Kind::Tagged(..)) => "tables".to_owned(),
        Kind::List(kind) => format!("list of: {}", value(kind)),
        Kind::OneOrMore(kind) => format!("{}; or a list", value(kind)),
        Kind::Table(table) => format!("table: {}", table.name),
        Kind::Tagged(..) | Kind::Open => "table".to_owned(),
        Kind::Any(kinds) => kinds.iter().map(value).collect::<Vec<_>>().join("; or "),
        Kind::Choice(_) | Kind::Gain => Expected::from(kind).to_string(),
    }
}

fn line(page: &mut String, text: fmt::Arguments<'_>) {
    page.push_str(&text.to_string());
    page.push('\n');
}

const INTRODUCTION: &str = r#"# The scenario file

<!-- Made from the declarations in `crates/scenario/src/` by its tests; run them with UPDATE=1 after a change. -->

A scenario is a TOML file that describes one experiment: a network, the transports to compare, and the traffic. See
`scenarios/` for examples.

- **Quantities** are texts with a unit: times `"20 us"` (ps, ns, us, ms, s, min, h), rates `"1 Gbps"` (bps, Kbps, Mbps,
  Gbps, Tbps), sizes `"10 KB"` (B, KB = 1000 B, MB, GB; KiB = 1024 B, MiB, GiB), queues `"20 packets"` or `"30 KB"`,
  frequencies `"2000 /s"`. The unit is required.
- **Shares** are numbers or percentages: `0.15` or `"15%"`.
- **Hosts** are numbered from 0, in the order of the topology.
- **Errors** report file, line, value and the allowed values. Unknown keys are errors.
"#;

const DISTRIBUTIONS: &str = r#"
## Sizes, deadlines and random times

A **size** is `"10 KB"`, `"uniform 2 KB..50 KB"`, the name of a published distribution, `{ cdf = "file.csv" }` or
`{ points = [["1 KB", 0], ["10 KB", 1]] }`. A CDF is piecewise linear from probability 0 to 1. A first point above 0 is
an atom; two points of equal size are a jump.

A **deadline** is `"none"`, `"30 ms"`, `{ base = "35 ms", variation = "uniform 50%" }` or
`{ mean = "30 ms", floor = "5 ms" }`.

A **random time** is `"300 ms"`, `"exponential 300 ms"`, `"uniform 1 ms..5 ms"`, a lognormal table
`{ median = "2 ms", sigma = 1 }` (or `mean`), a Pareto table `{ min = "1 ms", shape = 1.5, cap = "1 s" }`, a CDF
`{ cdf = "file.csv" }` or `{ points = [["1 ms", 0], ["10 ms", 1]] }`, or the name of a measured distribution.

| published size or measured time | source |
|---|---|
"#;

const RCPDC: &str =
    "\n`[rcpdc]` has the keys of `[d3]` and overrides them for `rcpdc` and `rcpdc-prio`.\n";

const VARIANTS: &str = r#"
### `[[variant]]`

A variant is an additional transport: a `base` with changed keys. `classes` sets its priorities.

```toml
transport = ["tcp", "tcp-300"]

[[variant]]
name = "tcp-300"
base = "tcp"
rto_min = "300 ms"
```
"#;

const SWEEPS: &str = r#"
## `[sweep]` and key paths

Each key of `[sweep]` is a key path, with a list or a range as its value: an axis of `duetime sweep`. `--set KEY=VALUE`
and `--vary KEY=LOW..HIGH:STEP` use the same paths.

```toml
[sweep]
workload.fan_in = [10, 20, 40]
workload.load = "0.05..0.2:0.05"
switch.buffer = ["100 packets", "4 MB"]
```

`workload.KEY` is a key of the first workload; `workload.NAME.KEY` and `workload[1].KEY` select another. `response[2]`
is an entry of a list. Indices start at 0.
"#;
