//! Sliders for values of a scenario: the values in a text, their ranges, and edits of the text.

mod ladder;

use crate::error::Error;
use crate::scenario::{self, NAME};
use duetime_scenario::{Document, parse_packets, parse_rate, parse_size, parse_time};
use ladder::{Form, ladder, shown_bytes};
use serde_json::{Value, json};
use toml::{Table, Value as Toml};

/// Value of a scenario with a slider.
struct Control {
    id: &'static str,
    label: &'static str,
    /// Key of the value, in the syntax of `--set`.
    key: String,
    /// Displayed value.
    value: String,
    form: Form,
}

/// Returns the sliders of a text. Invalid TOML has none.
pub fn of(text: &str) -> Vec<Value> {
    let controls = find(text).into_iter().map(|control| {
        let ladder = ladder(&control.value, &control.form, control.id == "buffer");
        let index = ladder.iter().position(|value| *value == control.value);
        json!({
            "id": control.id,
            "label": control.label,
            "key": control.key,
            "value": control.value,
            "values": ladder,
            "at": index,
        })
    });
    controls.collect()
}

/// Returns the text with `control` set to `value`, one of the slider's values. Comments are kept.
///
/// # Errors
/// If the text has no such control or the value is invalid.
pub fn turn(text: &str, control: &str, value: &str) -> Result<String, Error> {
    scenario::parse(text)?;
    let all = find(text);
    let Some(selected) = all.iter().find(|candidate| candidate.id == control) else {
        let names: Vec<&str> = all.iter().map(|candidate| candidate.id).collect();
        let message = format!("`{control}`: unknown control of the scenario");
        return Err(Error::plain(message).allowed(names.join(", ")));
    };
    let edit = |text: &str, key: &str, value: &str| -> Result<String, Error> {
        let mut document = Document::parse(text, NAME)?;
        document.set(key, value)?;
        Ok(document.to_toml())
    };
    let invalid = || Error::plain(format!("`{value}`: not a value of `{}`", selected.key));
    match selected.form {
        Form::Uniform(low, high) => {
            let mean = parse_size(value).map_err(|_| invalid())?.0 as f64;
            let factor = mean * 2.0 / (low + high) as f64;
            // Round to three digits and choose the other end for the requested mean.
            let low = low as f64 * factor;
            let digit = 10f64.powf((low.max(1.0).log10() - 2.0).floor());
            let low = ((low / digit).round() * digit).round().max(1.0);
            let high = (2.0 * mean - low).max(low);
            let [low, high] = [low, high].map(shown_bytes);
            edit(text, &selected.key, &format!("\"uniform {low}..{high}\""))
        }
        Form::Time => {
            let (old, new) = (
                parse_time(&selected.value),
                parse_time(value).map_err(|_| invalid())?,
            );
            let factor = new.as_ps() as f64 / old.map_err(|_| invalid())?.as_ps() as f64;
            // The answers' deadlines change in proportion to the budget.
            let mut text = text.to_owned();
            for (key, old) in times(&text) {
                let new = if old == selected.value {
                    value.to_owned()
                } else {
                    scaled(&old, factor).ok_or_else(invalid)?
                };
                text = edit(&text, &key, &format!("\"{new}\""))?;
            }
            Ok(text)
        }
        Form::Load | Form::Count(_) => {
            let number: f64 = value.parse().map_err(|_| invalid())?;
            edit(text, &selected.key, &number.to_string())
        }
        Form::Bytes | Form::PerSecond | Form::BitsPerSecond | Form::Packets => {
            edit(text, &selected.key, &format!("\"{value}\""))
        }
    }
}

fn find(text: &str) -> Vec<Control> {
    let Ok(tree) = text.trim_start_matches('\u{feff}').parse::<Table>() else {
        return Vec::new();
    };
    let hosts = hosts(&tree);
    let mut found = Vec::new();
    let mut add = |id, label, key: &str, value: Option<(String, Form)>| {
        let key = key.to_owned();
        found.extend(value.map(|(value, form)| Control {
            id,
            label,
            key,
            value,
            form,
        }));
    };
    if let Some((index, workload)) = principal(&tree) {
        let key = |name: &str| format!("workload[{index}].{name}");
        let get = |name: &str| workload.get(name);
        let max_fan_in = hosts.saturating_sub(1).max(1);
        match (get("fan_in"), get("senders")) {
            (Some(Toml::Array(layers)), _) if !layers.is_empty() => {
                let last = layers.len() - 1;
                add(
                    "fan_in",
                    "Fan-in",
                    &key(&format!("fan_in[{last}]")),
                    count(layers.get(last), max_fan_in),
                );
            }
            (Some(one), _) => add(
                "fan_in",
                "Fan-in",
                &key("fan_in"),
                count(Some(one), max_fan_in),
            ),
            (None, Some(senders)) if workload.get("from").is_none() => {
                add(
                    "fan_in",
                    "Senders at once",
                    &key("senders"),
                    count(Some(senders), max_fan_in),
                );
            }
            _ => {}
        }
        for name in ["response", "size"] {
            match get(name) {
                Some(Toml::Array(sizes)) if sizes.len() == 1 => {
                    add(
                        "size",
                        "Size of an answer",
                        &key(&format!("{name}[0]")),
                        size(sizes.first()),
                    );
                }
                one => add("size", "Size of an answer", &key(name), size(one)),
            }
        }
        if let Some((key, value)) = times(text).into_iter().next() {
            let label = if key.ends_with("within") {
                "Budget"
            } else {
                "Deadline"
            };
            add("budget", label, &key, Some((value, Form::Time)));
        }
        add(
            "rate",
            "Queries per second",
            &key("rate"),
            per_second(get("rate")),
        );
        add("load", "Load", &key("load"), load(get("load")));
    }
    if let Some(topology) = tree.get("topology").and_then(Toml::as_table) {
        for name in ["link", "host_link"] {
            let rate = topology.get(name).and_then(|link| link.get("rate"));
            add(
                "link",
                "Link rate of a host",
                &format!("topology.{name}.rate"),
                quantity(rate, |text| {
                    parse_rate(text).is_ok().then_some(Form::BitsPerSecond)
                }),
            );
        }
    }
    let buffer = tree.get("switch").and_then(|switch| switch.get("buffer"));
    let pool_size = buffer
        .and_then(|buffer| buffer.get("size"))
        .filter(|_| buffer.is_some_and(Toml::is_table));
    let key = if pool_size.is_some() {
        "switch.buffer.size"
    } else {
        "switch.buffer"
    };
    add(
        "buffer",
        "Switch buffer",
        key,
        quantity(pool_size.or(buffer), |text| {
            let packets = parse_packets(text).ok().map(|_| Form::Packets);
            packets.or_else(|| parse_size(text).ok().map(|_| Form::Bytes))
        }),
    );
    add(
        "seeds",
        "Runs of each transport",
        "seeds",
        count(tree.get("seeds"), u64::from(crate::MAX_SEEDS)),
    );
    found
}

/// Returns the workload that the sliders change, with its position: the first one with queries, else the first one with
/// sizes.
fn principal(tree: &Table) -> Option<(usize, &Table)> {
    let workloads = || {
        let list = tree.get("workload").and_then(Toml::as_array);
        let tables = list.into_iter().flatten().enumerate();
        tables.filter_map(|(at, workload)| Some((at, workload.as_table()?)))
    };
    let has_kind = |workload: &Table, kinds: &[&str]| {
        let kind = workload.get("kind").and_then(Toml::as_str);
        kind.is_some_and(|kind| kinds.contains(&kind))
    };
    let first = |kinds: &[&str]| workloads().find(|(_, workload)| has_kind(workload, kinds));
    first(&["oldi"]).or_else(|| first(&["burst", "poisson", "permutation"]))
}

/// Returns the keys and values of the principal workload's budget and deadlines, the budget first.
fn times(text: &str) -> Vec<(String, String)> {
    let Ok(tree) = text.trim_start_matches('\u{feff}').parse::<Table>() else {
        return Vec::new();
    };
    let Some((at, workload)) = principal(&tree) else {
        return Vec::new();
    };
    let within = workload
        .get("objective")
        .and_then(|table| table.get("within"));
    let deadline = workload.get("deadline");
    let part = |name: &str| {
        deadline
            .filter(|table| table.is_table())
            .and_then(|table| table.get(name))
    };
    let all = [
        ("objective.within", within),
        ("deadline", deadline),
        ("deadline.base", part("base")),
        ("deadline.mean", part("mean")),
    ];
    let all = all.into_iter().filter_map(|(name, value)| {
        let value = value?.as_str()?;
        parse_time(value).ok()?;
        Some((format!("workload[{at}].{name}"), value.to_owned()))
    });
    all.collect()
}

/// Returns the number of hosts if the topology states it, or else 100.
fn hosts(tree: &Table) -> u64 {
    let get = |name: &str| {
        let value = tree.get("topology").and_then(|table| table.get(name));
        value
            .and_then(Toml::as_integer)
            .and_then(|number| u64::try_from(number).ok())
    };
    let racks = get("racks").zip(get("hosts_per_rack"));
    get("hosts")
        .or(racks.map(|(racks, each)| racks.saturating_mul(each)))
        .unwrap_or(100)
}

fn count(value: Option<&Toml>, maximum: u64) -> Option<(String, Form)> {
    Some((value?.as_integer()?.to_string(), Form::Count(maximum)))
}

fn load(value: Option<&Toml>) -> Option<(String, Form)> {
    let number = value?.as_float()?;
    Some((number.to_string(), Form::Load))
}

fn quantity(value: Option<&Toml>, form: impl Fn(&str) -> Option<Form>) -> Option<(String, Form)> {
    let text = value?.as_str()?;
    Some((text.to_owned(), form(text)?))
}

fn size(value: Option<&Toml>) -> Option<(String, Form)> {
    let text = value?.as_str()?;
    if let Some(ends) = text.strip_prefix("uniform ") {
        let (low, high) = ends.split_once("..")?;
        let (low, high) = (parse_size(low).ok()?.0, parse_size(high).ok()?.0);
        let mean = (low.checked_add(high)? / 2).max(1);
        return Some((shown_bytes(mean as f64), Form::Uniform(low, high)));
    }
    parse_size(text).ok()?;
    Some((text.to_owned(), Form::Bytes))
}

fn per_second(value: Option<&Toml>) -> Option<(String, Form)> {
    quantity(value, |text| {
        let number: f64 = text.strip_suffix("/s")?.trim().parse().ok()?;
        (number > 0.0).then_some(Form::PerSecond)
    })
}

/// Multiplies a time by a factor, rounded to nanoseconds.
fn scaled(time: &str, factor: f64) -> Option<String> {
    let ns = (parse_time(time).ok()?.as_ps() as f64 * factor / 1e3)
        .round()
        .max(1.0);
    Some(if ns >= 1e6 {
        format!("{} ms", round(ns / 1e6))
    } else {
        format!("{} us", round(ns / 1e3))
    })
}

fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ready;

    fn ready(id: &str) -> String {
        let all = ready::all();
        let found = all
            .iter()
            .find(|scenario| scenario["id"] == id)
            .expect("a ready scenario");
        found["text"].as_str().expect("text").to_owned()
    }

    fn values(text: &str) -> Vec<(String, String)> {
        let text_of = |control: &Value, key: &str| control[key].as_str().expect("text").to_owned();
        of(text)
            .iter()
            .map(|control| (text_of(control, "id"), text_of(control, "value")))
            .collect()
    }

    #[test]
    fn ready_scenarios_have_working_sliders() {
        for (id, expected) in [
            ("feature-store", "fan_in size budget load link buffer seeds"),
            ("search", "fan_in size budget rate link buffer seeds"),
            ("feed", "fan_in size budget rate link buffer seeds"),
            ("incast", "fan_in size budget link buffer seeds"),
        ] {
            let text = ready(id);
            let ids: Vec<String> = values(&text).into_iter().map(|(id, _)| id).collect();
            assert_eq!(ids.join(" "), expected, "{id}");
            for control in of(&text) {
                let name = control["id"].as_str().expect("an id");
                assert!(
                    control["at"].is_u64(),
                    "{id} {name}: the value is one of the slider's"
                );
                for value in control["values"].as_array().expect("a ladder") {
                    let value = value.as_str().expect("text");
                    let turned = turn(&text, name, value).expect("a value of the ladder");
                    let now = values(&turned).into_iter().find(|(id, _)| id == name);
                    assert_eq!(now, Some((name.to_owned(), value.to_owned())), "{id}");
                }
            }
        }
    }

    #[test]
    fn budget_scales_deadline_and_keeps_comments() {
        let text = turn(&ready("search"), "budget", "10 ms").expect("a time");
        assert!(text.contains("deadline = \"9 ms\""), "{text}");
        assert!(text.contains("within = \"10 ms\""), "{text}");
        assert!(text.contains("# A search service"));
    }

    #[test]
    fn uniform_size_keeps_its_ratio() {
        let text = turn(&ready("feature-store"), "size", "110 KB");
        // The mean was 55 KB.
        assert!(text.expect("a size").contains("uniform 20 KB..200 KB"));
    }

    #[test]
    fn unknown_controls_are_refused() {
        let error = turn(&ready("incast"), "rate", "10 /s").expect_err("no rate");
        let error = serde_json::to_string(&error).expect("plain data");
        assert!(
            error.contains("fan_in, size, budget, link, buffer, seeds"),
            "{error}"
        );
        assert!(turn(&ready("incast"), "size", "many").is_err());
        assert!(of("not = [toml").is_empty());
    }
}
