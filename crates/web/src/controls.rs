//! The values of a scenario that a page has sliders for: which of them a text has, on which ladder, and the text with one
//! of them changed.

mod ladder;

use crate::error::Error;
use crate::scenario::{self, NAME};
use duetime_scenario::{Document, parse_packets, parse_rate, parse_size, parse_time};
use ladder::{Form, ladder, shown_bytes};
use serde_json::{Value, json};
use toml::{Table, Value as Toml};

/// One value of a scenario.
struct Control {
    id: &'static str,
    label: &'static str,
    /// The key that has it, as `--set` takes it.
    key: String,
    /// As shown.
    value: String,
    form: Form,
}

/// What the sliders of a text are; a text that is no TOML has none.
pub fn of(text: &str) -> Vec<Value> {
    let controls = find(text).into_iter().map(|of| {
        let ladder = ladder(&of.value, &of.form, of.id == "buffer");
        let at = ladder.iter().position(|value| *value == of.value);
        json!({
            "id": of.id,
            "label": of.label,
            "key": of.key,
            "value": of.value,
            "values": ladder,
            "at": at,
        })
    });
    controls.collect()
}

/// The text with `control` at `value`, a value of its ladder. Comments are kept.
///
/// # Errors
/// If the text has no such control, or the value is not one.
pub fn turn(text: &str, control: &str, value: &str) -> Result<String, Error> {
    scenario::parse(text)?;
    let all = find(text);
    let Some(of) = all.iter().find(|of| of.id == control) else {
        let names: Vec<&str> = all.iter().map(|of| of.id).collect();
        let message = format!("`{control}`: the scenario has no such control");
        return Err(Error::plain(message).allowed(names.join(", ")));
    };
    let edit = |text: &str, key: &str, value: &str| -> Result<String, Error> {
        Ok(Document::parse(text, NAME)?.edited(key, value)?)
    };
    let not = || Error::plain(format!("`{value}`: not a value of `{}`", of.key));
    match of.form {
        Form::Uniform(low, high) => {
            let wanted = parse_size(value).map_err(|_| not())?.0 as f64;
            let factor = wanted * 2.0 / (low + high) as f64;
            // To three digits, and the other end so that the mean is as wanted.
            let low = low as f64 * factor;
            let digit = 10f64.powf((low.max(1.0).log10() - 2.0).floor());
            let low = ((low / digit).round() * digit).round().max(1.0);
            let high = (2.0 * wanted - low).max(low);
            let [low, high] = [low, high].map(shown_bytes);
            edit(text, &of.key, &format!("\"uniform {low}..{high}\""))
        }
        Form::Time => {
            let (old, new) = (parse_time(&of.value), parse_time(value).map_err(|_| not())?);
            let factor = new.as_ps() as f64 / old.map_err(|_| not())?.as_ps() as f64;
            // A budget and the deadlines of its answers move together.
            let mut text = text.to_owned();
            for (key, old) in times(&text) {
                let new = if old == of.value {
                    value.to_owned()
                } else {
                    scaled(&old, factor).ok_or_else(not)?
                };
                text = edit(&text, &key, &format!("\"{new}\""))?;
            }
            Ok(text)
        }
        Form::Load | Form::Count(_) => {
            let number: f64 = value.parse().map_err(|_| not())?;
            edit(text, &of.key, &number.to_string())
        }
        Form::Bytes | Form::PerSecond | Form::BitsPerSecond | Form::Packets => {
            edit(text, &of.key, &format!("\"{value}\""))
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
    if let Some((at, workload)) = principal(&tree) {
        let key = |name: &str| format!("workload[{at}].{name}");
        let get = |name: &str| workload.get(name);
        let most = hosts.saturating_sub(1).max(1);
        match (get("fan_in"), get("senders")) {
            (Some(Toml::Array(layers)), _) if !layers.is_empty() => {
                let last = layers.len() - 1;
                add(
                    "fan_in",
                    "Fan-in",
                    &key(&format!("fan_in[{last}]")),
                    count(layers.get(last), most),
                );
            }
            (Some(one), _) => add("fan_in", "Fan-in", &key("fan_in"), count(Some(one), most)),
            (None, Some(senders)) if workload.get("from").is_none() => {
                add(
                    "fan_in",
                    "Senders at once",
                    &key("senders"),
                    count(Some(senders), most),
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
    let own = buffer
        .and_then(|of| of.get("size"))
        .filter(|_| buffer.is_some_and(Toml::is_table));
    let key = if own.is_some() {
        "switch.buffer.size"
    } else {
        "switch.buffer"
    };
    add(
        "buffer",
        "Switch buffer",
        key,
        quantity(own.or(buffer), |text| {
            let packets = parse_packets(text).ok().map(|_| Form::Packets);
            packets.or_else(|| parse_size(text).ok().map(|_| Form::Bytes))
        }),
    );
    add(
        "seeds",
        "Runs of each transport",
        "seeds",
        count(tree.get("seeds"), u64::from(crate::MOST_SEEDS)),
    );
    found
}

/// The workload that the sliders are for, with its position: the first with queries, else the first that has a size.
fn principal(tree: &Table) -> Option<(usize, &Table)> {
    let workloads = || {
        let list = tree.get("workload").and_then(Toml::as_array);
        let tables = list.into_iter().flatten().enumerate();
        tables.filter_map(|(at, of)| Some((at, of.as_table()?)))
    };
    let kind = |of: &Table, kinds: &[&str]| {
        let kind = of.get("kind").and_then(Toml::as_str);
        kind.is_some_and(|kind| kinds.contains(&kind))
    };
    let first = |kinds: &[&str]| workloads().find(|(_, of)| kind(of, kinds));
    first(&["oldi"]).or_else(|| first(&["burst", "poisson", "permutation"]))
}

/// The keys of the principal workload that say when something is late, the budget first, with their values.
fn times(text: &str) -> Vec<(String, String)> {
    let Ok(tree) = text.trim_start_matches('\u{feff}').parse::<Table>() else {
        return Vec::new();
    };
    let Some((at, workload)) = principal(&tree) else {
        return Vec::new();
    };
    let within = workload.get("objective").and_then(|of| of.get("within"));
    let deadline = workload.get("deadline");
    let part = |name: &str| {
        deadline
            .filter(|of| of.is_table())
            .and_then(|of| of.get(name))
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

/// Hosts of the network, as far as its few numbers say.
fn hosts(tree: &Table) -> u64 {
    let get = |name: &str| {
        let value = tree.get("topology").and_then(|of| of.get(name));
        value
            .and_then(Toml::as_integer)
            .and_then(|of| u64::try_from(of).ok())
    };
    let racks = get("racks").zip(get("hosts_per_rack"));
    get("hosts")
        .or(racks.map(|(racks, each)| racks.saturating_mul(each)))
        .unwrap_or(100)
}

fn count(value: Option<&Toml>, most: u64) -> Option<(String, Form)> {
    Some((value?.as_integer()?.to_string(), Form::Count(most)))
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

/// A time of a text times a factor, to the nanosecond.
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
            .find(|of| of["id"] == id)
            .expect("a ready scenario");
        found["text"].as_str().expect("text").to_owned()
    }

    fn values(text: &str) -> Vec<(String, String)> {
        let own = |of: &Value, key: &str| of[key].as_str().expect("text").to_owned();
        of(text)
            .iter()
            .map(|of| (own(of, "id"), own(of, "value")))
            .collect()
    }

    #[test]
    fn a_ready_scenario_has_its_sliders_and_each_can_be_turned_all_the_way() {
        for (id, wanted) in [
            ("feature-store", "fan_in size budget load link buffer seeds"),
            ("search", "fan_in size budget rate link buffer seeds"),
            ("feed", "fan_in size budget rate link buffer seeds"),
            ("incast", "fan_in size budget link buffer seeds"),
        ] {
            let text = ready(id);
            let ids: Vec<String> = values(&text).into_iter().map(|(id, _)| id).collect();
            assert_eq!(ids.join(" "), wanted, "{id}");
            for control in of(&text) {
                let name = control["id"].as_str().expect("an id");
                assert!(
                    control["at"].is_u64(),
                    "{id} {name}: its value is on the ladder"
                );
                for value in control["values"].as_array().expect("a ladder") {
                    let value = value.as_str().expect("text");
                    let turned = turn(&text, name, value).expect("a value of the ladder");
                    let now = values(&turned).into_iter().find(|(of, _)| of == name);
                    assert_eq!(now, Some((name.to_owned(), value.to_owned())), "{id}");
                }
            }
        }
    }

    #[test]
    fn a_budget_takes_its_deadline_along_and_comments_stay() {
        let text = turn(&ready("search"), "budget", "10 ms").expect("a time");
        assert!(text.contains("deadline = \"9 ms\""), "{text}");
        assert!(text.contains("within = \"10 ms\""), "{text}");
        assert!(text.contains("# A search service"));
    }

    #[test]
    fn the_ends_of_a_uniform_size_keep_their_ratio() {
        let text = turn(&ready("feature-store"), "size", "110 KB");
        // 55 KB in the mean.
        assert!(text.expect("a size").contains("uniform 20 KB..200 KB"));
    }

    #[test]
    fn what_is_no_control_is_named() {
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
