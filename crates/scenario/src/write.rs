//! Formatting of a document as text, including values set later.

use crate::Diagnostic;
use crate::document::{Document, Node, Value};
use toml::{Table, Value as Toml};

impl Document {
    /// Returns the scenario as TOML without comments, including values set later. Values that are not allowed in a
    /// scenario, such as dates, are errors.
    pub fn to_toml(&self) -> Result<String, Diagnostic> {
        Ok(text(&self.tree()?))
    }

    /// Returns the scenario as TOML with a trace. `flows` is the text of the trace in CSV or JSON lines. The trace
    /// replaces all workloads unless `keep` is true.
    pub fn with_trace(&self, flows: &str, name: &str, keep: bool) -> Result<String, Diagnostic> {
        let mut tree = self.tree()?;
        let trace = [("name", name), ("kind", "trace"), ("flows", flows)];
        let trace = trace.map(|(key, value)| (key.to_owned(), Toml::from(value)));
        let trace = Toml::Table(Table::from_iter(trace));
        match tree.get_mut("workload") {
            Some(Toml::Array(workloads)) if keep => workloads.push(trace),
            _ => {
                tree.insert("workload".to_owned(), Toml::Array(vec![trace]));
            }
        }
        Ok(text(&tree))
    }

    fn tree(&self) -> Result<Table, Diagnostic> {
        let entries = self.root.table().unwrap_or_default().iter();
        entries
            .map(|entry| Ok((entry.key.clone(), self.value(&entry.node, &entry.key)?)))
            .collect()
    }

    pub(crate) fn value(&self, node: &Node, path: &str) -> Result<Toml, Diagnostic> {
        Ok(match &node.value {
            Value::String(text) => Toml::String(text.clone()),
            Value::Integer(number) => Toml::Integer(*number),
            Value::Float(number) => Toml::Float(*number),
            Value::Boolean(flag) => Toml::Boolean(*flag),
            Value::HugeInteger | Value::Datetime => {
                let found = format!("{} is not allowed in a scenario", node.describe());
                return Err(self.wrong(node, path, found));
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(item, path));
                Toml::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Table(entries) => {
                let values = entries.iter().map(|entry| {
                    let path = format!("{path}.{}", entry.key);
                    Ok((entry.key.clone(), self.value(&entry.node, &path)?))
                });
                Toml::Table(values.collect::<Result<_, Diagnostic>>()?)
            }
        })
    }
}

fn text(tree: &Table) -> String {
    toml::to_string_pretty(tree).expect("a tree of plain values is TOML")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoFiles, Sources, load, resolved_json};

    const TEXT: &str = "name = \"x\" # a comment\ntransport = [\"d3\"]\n[topology]\nkind = \"star\"\nhosts = 5\n\
        link = { rate = \"1 Gbps\", latency = \"5 us\" }\n[[workload]]\nkind = \"burst\"\nsenders = 3\nsize = \"2 KB\"\n";

    fn resolved(text: &str, set: &[(String, String)], sources: &dyn Sources) -> serde_json::Value {
        resolved_json(&load(text, "x.toml", set, sources).expect("a scenario"))
    }

    #[test]
    fn set_values_are_in_the_text() {
        let set = [
            ("workload.senders".to_owned(), "2".to_owned()),
            ("switch.buffer".to_owned(), "64 KB".to_owned()),
        ];
        let mut document = Document::parse(TEXT, "x.toml").expect("TOML");
        for (key, value) in &set {
            document.set(key, value).expect("known keys");
        }
        let text = document.to_toml().expect("plain values");
        assert_eq!(
            resolved(&text, &[], &NoFiles),
            resolved(TEXT, &set, &NoFiles)
        );
        assert_ne!(
            resolved(&text, &[], &NoFiles),
            resolved(TEXT, &[], &NoFiles)
        );
    }

    #[test]
    fn trace_replaces_or_joins_the_workloads() {
        let document = Document::parse(TEXT, "x.toml").expect("TOML");
        let flows = "start_ns,source,destination,size_bytes\n0,0,1,1000\n5,1,2,10\n";
        for (keep, names) in [(false, &["mine"][..]), (true, &["burst", "mine"])] {
            let text = document.with_trace(flows, "mine", keep).expect("TOML");
            let scenario = load(&text, "x.toml", &[], &NoFiles).expect("a scenario");
            assert_eq!(scenario.workload_names(), names);
        }
    }

    #[test]
    fn date_is_refused() {
        let document = Document::parse("[topology]\nhosts = 1979-05-27\n", "x.toml").expect("TOML");
        let error = document.to_toml().expect_err("a date");
        assert_eq!((error.line, error.key.as_str()), (2, "topology.hosts"));
    }
}
