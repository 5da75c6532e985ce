//! Differences between the keys of two scenarios, from their resolved forms.

use crate::key_path::KeyPath;
use serde_json::Value;

/// Key with different values in two scenarios. Values are formatted as in a file and cut to one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Key path, such as `workload.fan_in` or `tcp.rto_min`.
    pub key: String,
    /// Value in the first scenario; `none` if absent.
    pub old: String,
    /// Value in the second scenario; `none` if absent.
    pub new: String,
}

/// Returns the differences between the resolved scenarios `old` and `new`, in the order of the keys. `seeds` and
/// transports that only one scenario has are ignored, because they change only the number of runs. Workloads and
/// transports are compared by name. Different workloads, or another order, are a difference of the key `workload`.
pub fn changes(old: &Value, new: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    for key in keys_of(old, new) {
        match key.as_str() {
            "seeds" => {}
            "transports" => {
                for (_, name, a, b) in common(&old[&key], &new[&key]) {
                    let place = format!("transports.{}", Value::from(name));
                    below(old, &place, a, b, &mut found);
                }
            }
            "workloads" => {
                let (a, b) = (names(&old[&key]), names(&new[&key]));
                if a != b {
                    found.push(Change {
                        key: "workload".to_owned(),
                        old: a.join(", "),
                        new: b.join(", "),
                    });
                }
                for (index, _, a, b) in common(&old[&key], &new[&key]) {
                    below(old, &format!("workloads[{index}]"), a, b, &mut found);
                }
            }
            _ => below(old, &key, &old[&key], &new[&key], &mut found),
        }
    }
    found
}

/// Adds the differences below a place of both scenarios.
fn below(scenario: &Value, place: &str, old: &Value, new: &Value, found: &mut Vec<Change>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Value::Object(_), Value::Object(_)) if has_same_form(old, new) => {
            for key in keys_of(old, new) {
                let place = format!("{place}.{key}");
                below(scenario, &place, &old[&key], &new[&key], found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() && !is_single_value(place) => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                below(scenario, &format!("{place}[{index}]"), a, b, found);
            }
        }
        _ => {
            let path = KeyPath::of(scenario, place);
            found.push(Change {
                old: path.show(old),
                new: path.show(new),
                key: path.key,
            });
        }
    }
}

/// Returns true if the list at a place is a single value.
fn is_single_value(place: &str) -> bool {
    place == "switch.ecn_threshold"
}

/// Returns true if two tables have the same form: the same `kind` or none, and a common key.
fn has_same_form(a: &Value, b: &Value) -> bool {
    let both = |key: &String| a.get(key).is_some() && b.get(key).is_some();
    a.get("kind") == b.get("kind") && keys_of(a, b).iter().any(both)
}

/// Returns the keys of both tables, in order.
fn keys_of(a: &Value, b: &Value) -> std::collections::BTreeSet<String> {
    let objects = [a, b].into_iter().filter_map(Value::as_object);
    objects.flat_map(|object| object.keys().cloned()).collect()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(name).collect()
}

/// Returns the name of an entry, which is a name or has one.
fn name(item: &Value) -> Option<&str> {
    item.get("name").unwrap_or(item).as_str()
}

/// Returns the entries with the same name in both lists: index in the first list, name, and both entries.
fn common<'v>(a: &'v Value, b: &'v Value) -> Vec<(usize, &'v str, &'v Value, &'v Value)> {
    let (a, b) = (a.as_array(), b.as_array());
    let pair = |(index, ours): (usize, &'v Value)| {
        let shared = name(ours)?;
        let theirs = b?.iter().find(|entry| name(entry) == Some(shared))?;
        Some((index, shared, ours, theirs))
    };
    a.into_iter()
        .flatten()
        .enumerate()
        .filter_map(pair)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoFiles, load, resolved_json};

    const TEXT: &str = r#"transport = ["dctcp", "d3"]
duration = "1 s"
[topology]
kind = "star"
hosts = 20
link = { rate = "10 Gbps", latency = "2 us" }
[[workload]]
name = "feed"
kind = "oldi"
fan_in = 8
response = ["10 KB"]
deadline = "5 ms"
load = 0.1
[[workload]]
kind = "poisson"
size = "1 KB"
rate = "10 /s"
"#;

    fn resolved(sets: &[(&str, &str)]) -> Value {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let sets: Vec<_> = sets.iter().map(owned).collect();
        let scenario = load(TEXT, "test.toml", &sets, &NoFiles);
        resolved_json(&scenario.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Returns the changes after setting keys of the file.
    fn changed(sets: &[(&str, &str)]) -> Vec<String> {
        let all = changes(&resolved(&[]), &resolved(sets));
        let line = |change: Change| format!("{}: {} -> {}", change.key, change.old, change.new);
        all.into_iter().map(line).collect()
    }

    #[test]
    fn changes_are_formatted_as_in_a_file() {
        for (key, value, expected) in [
            (
                "switch.ecn_threshold",
                "off",
                "switch.ecn_threshold: 20 packets; from 10 Gbps 65 packets -> off",
            ),
            ("workload.feed.fan_in", "9", "workload.feed.fan_in: 8 -> 9"),
            (
                "workload.feed.compute",
                "uniform 1 ms..2 ms",
                "workload.feed.compute: 0 us -> uniform 1 ms..2 ms",
            ),
            (
                "workload.feed.response",
                "uniform 1 KB..2 KB",
                "workload.feed.response: 10 KB -> uniform 1 KB..2 KB",
            ),
            (
                "switch.buffer",
                "100 packets",
                "switch.buffer: { alpha = 1.0, kind = \"dynamic\", pool = 4 MB } -> { kind = \"static\", size = 100 packets }",
            ),
            ("dctcp.gain", "1/8", "dctcp.gain: 4 -> 3"),
            ("d3.rto_min", "20 ms", "d3.rto_min: 10 ms -> 20 ms"),
            ("seed", "2", "seed: 1 -> 2"),
            ("record.every", "1 ms", "record.every: none -> 1 ms"),
        ] {
            assert_eq!(changed(&[(key, value)]), [expected]);
        }
    }

    #[test]
    fn thresholds_differ_as_a_whole_list() {
        let (a, b) = ("20 packets", "30 KB");
        let with = |value| resolved(&[("switch.ecn_threshold", value)]);
        let [change] = &changes(&with(a), &with(b))[..] else {
            panic!("one change")
        };
        assert_eq!(
            (&change.key[..], &change.old[..], &change.new[..]),
            ("switch.ecn_threshold", "20 packets", "30 KB")
        );
    }

    #[test]
    fn more_runs_are_no_change() {
        assert!(changed(&[]).is_empty());
        assert!(changed(&[("seeds", "9"), ("transport", "[\"d3\", \"tcp\"]")]).is_empty());
    }

    #[test]
    fn workloads_are_compared_by_name() {
        let mut other = resolved(&[("workload.poisson.rate", "20 /s")]);
        let list = other["workloads"].as_array_mut().expect("a list");
        list.reverse();
        let all = changes(&resolved(&[]), &other);
        let line = |change: &Change| format!("{}: {} -> {}", change.key, change.old, change.new);
        let lines: Vec<String> = all.iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "workload: feed, poisson -> poisson, feed",
                "workload.poisson.rate: 10.0 -> 20.0"
            ]
        );
    }
}
