//! Table and sentences with the results of a capacity search.

use super::cell::{near, number, some, word};
use super::column::column;
use super::{Cell, Line, On, Spare, Table};
use crate::capacity::{Check, Found, Search, Subject, Tried};
use crate::text;

/// Returns the table of the results, with a line for each transport and for the best possible.
pub fn capacities(subject: &Subject, search: &Search, found: &[Found]) -> Table {
    let head = |name: &str| column::<()>(name, |()| Cell::default());
    let seeds = match subject.base().seeds {
        1 => "1 run (no interval)".to_owned(),
        seeds => format!("{seeds} runs"),
    };
    let columns = [
        head("capacity").spare(Spare::Nothing),
        head("in time there").intervals().spare(Spare::All(1)),
        head("next").spare(Spare::All(2)),
        head("in time at next").intervals().spare(Spare::All(2)),
        head("tried"),
        head("not tried"),
        head("remark").words().spare(Spare::Nothing),
    ];
    let line = |row: &Found| {
        let capacity = &row.capacity;
        let met = |tried: Option<&Tried>| {
            tried.map_or_else(Cell::default, |tried| {
                let share = near(&tried.throughput, Some(search.target.share()));
                share.of(&text::count(tried.deadlines.measured as f64))
            })
        };
        let next = row.at(capacity.value + 1);
        let untried = match search.check {
            Check::Doubtful => capacity.untried,
            Check::All => 0,
        };
        Line {
            names: [
                String::new(),
                row.name(subject.base()).to_owned(),
                String::new(),
            ],
            cells: vec![
                word(&subject.text_with(capacity.value, capacity.interval)),
                met(row.at(capacity.value)),
                word(&next.map_or_else(String::new, |tried| subject.text(tried.x))),
                met(next),
                number(capacity.curve.len() as u64),
                some(untried.into()),
                word(&remark(subject, row)),
            ],
        }
    };
    Table {
        title: format!(
            "{} at {} of {} in time, over {seeds}",
            subject.keys().join(", "),
            search.target,
            subject.what(),
        ),
        note: "Capacity: the last value up to which all tried values reach the target. Next: the following value, \
               which misses it. Tried: number of values that were run. Not tried: easier values that were skipped."
            .to_owned(),
        condition: String::new(),
        dashes: String::new(),
        on: On::Both,
        is_overview: false,
        names: ["", "transport", ""],
        columns: columns.into_iter().map(|spec| spec.column).collect(),
        lines: found.iter().map(line).collect(),
    }
}

/// Returns a result as a sentence: `d3: 4.25 ms [3.25, 5.25]; at 4 ms 98.7 % of 1575 queries are in time`.
pub fn capacity_sentence(subject: &Subject, search: &Search, row: &Found) -> String {
    let (name, capacity) = (row.name(subject.base()), &row.capacity);
    let verb = match row.transport {
        Some(_) => "are",
        None => "can be",
    };
    let beyond = match row.at(capacity.value + 1) {
        Some(next) => format!(
            "; at {} {} of {} {} {verb} in time",
            subject.text(next.x),
            text::percent_near(next.throughput.value, Some(search.target.share())),
            text::count(next.deadlines.measured as f64),
            subject.what()
        ),
        None if capacity.at_limit => " or more (search limit reached)".to_owned(),
        None => String::new(),
    };
    let value = match capacity.value {
        0 => format!(
            "no value reaches {} of the {}",
            search.target,
            subject.what()
        ),
        value => subject.text_with(value, capacity.interval),
    };
    format!("{name}: {value}{beyond}")
}

fn remark(subject: &Subject, row: &Found) -> String {
    let capacity = &row.capacity;
    let mut parts = Vec::new();
    if row.if_prompt {
        parts.push("if queries are delivered at once".to_owned());
    }
    if capacity.at_limit {
        parts.push("or more (search limit reached)".to_owned());
    }
    if capacity.value == 0 {
        parts.push(format!("misses the target at {}", subject.text(1)));
    }
    parts.join("; ")
}
