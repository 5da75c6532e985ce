//! Text of a document with the values set later. Comments, order and formatting of the file are kept.

use crate::document::{Document, Entry, Node, Value as Parsed};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value};

impl Document {
    /// Returns the scenario as TOML, including values set later.
    pub fn to_toml(&self) -> String {
        self.edited().to_string()
    }

    /// Returns the scenario as TOML with a trace. `flows` is the text of the trace in CSV or JSON lines. The trace
    /// replaces all workloads unless `keep` is true.
    pub fn with_trace(&self, flows: &str, name: &str, keep: bool) -> String {
        let mut file = self.edited();
        let trace = [("name", name), ("kind", "trace"), ("flows", flows)];
        let trace = Table::from_iter(trace);
        match &mut file["workload"] {
            Item::ArrayOfTables(workloads) if keep => workloads.push(trace),
            Item::Value(Value::Array(workloads)) if keep => {
                workloads.push(trace.into_inline_table());
            }
            workloads => *workloads = ArrayOfTables::from_iter([trace]).into(),
        }
        file.to_string()
    }

    fn edited(&self) -> DocumentMut {
        let text = &self.texts[0].content;
        let mut file: DocumentMut = text.parse().expect("TOML, since the document was parsed");
        for entry in self.root.table().unwrap_or_default() {
            let item = file.entry(&entry.key).or_insert(Item::None);
            let is_new = item.is_none();
            self.edit(&entry.node, item);
            if is_new {
                let value = std::mem::take(item);
                *item = value.into_table().map_or_else(|other| other, Item::Table);
            }
        }
        file
    }

    /// Writes the values below `node` that were set later into `item`, the same value in the file.
    fn edit(&self, node: &Node, item: &mut Item) {
        match &node.value {
            _ if node.text != 0 => self.replace(node, item),
            Parsed::Table(entries) => {
                let is_new = |entry: &Entry| item.get(&entry.key).is_none();
                let is_longer = entries.iter().any(is_new);
                for entry in entries {
                    if let Some(below) = item.get_mut(&entry.key) {
                        self.edit(&entry.node, below);
                    }
                }
                if is_longer && let Some(table) = item.as_inline_table_mut() {
                    table.fmt();
                }
            }
            Parsed::Array(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    if let Some(below) = item.get_mut(index) {
                        self.edit(node, below);
                    }
                }
            }
            _ => {}
        }
    }

    fn replace(&self, node: &Node, item: &mut Item) {
        let mut value = self.value(node);
        if let Item::Value(old) = item {
            *value.decor_mut() = old.decor().clone();
        }
        *item = value.into();
    }

    /// Returns a value that was set later, as written.
    fn value(&self, node: &Node) -> Value {
        match &node.value {
            Parsed::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Parsed::Table(entries) => {
                let pair = |entry: &Entry| (entry.key.clone(), self.value(&entry.node));
                entries.iter().map(pair).collect()
            }
            _ => {
                let written = &self.texts[node.text].content[node.span.clone()];
                written.parse().unwrap_or_else(|_| written.into())
            }
        }
    }
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
            ("topology.hosts", "7"),
            ("topology.link.rate", "10 Gbps"),
            ("topology.link.loss", "1 %"),
            ("workload.senders", "2"),
            ("workload.receiver", "4"),
            ("switch.buffer", "64 KB"),
            ("tcp.ack_coalescing", "{ segments = 3, within = \"50 us\" }"),
            ("tcp.ack_coalescing.segments", "4"),
        ];
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
        for text in [
            TEXT,
            "name = \"x\"\ntransport = \"d3\"\nworkload = [{ kind = \"burst\", senders = 3, size = \"2 KB\" }]\n\
             topology.kind = \"star\"\ntopology.hosts = 5\ntopology.link.rate = \"1 Gbps\"\n\
             topology.link.latency = \"5 us\"\n",
            "name = \"x\"\ntransport = \"d3\"\n[[workload]]\nkind = \"burst\"\nsenders = 3\nsize = \"2 KB\"\n\
             [topology.link]\nrate = \"1 Gbps\"\nlatency = \"5 us\"\n[topology]\nkind = \"star\"\nhosts = 5\n\
             [tcp]\nrto_min = \"1 s\"\n",
        ] {
            let mut document = Document::parse(text, "x.toml").expect("TOML");
            for (key, value) in &set {
                document.set(key, value).expect("known keys");
            }
            let written = document.to_toml();
            let expected = resolved(text, &set, &NoFiles);
            assert_eq!(resolved(&written, &[], &NoFiles), expected, "{written}");
            assert_ne!(resolved(text, &[], &NoFiles), expected);
        }
    }

    #[test]
    fn trace_replaces_or_joins_the_workloads() {
        let document = Document::parse(TEXT, "x.toml").expect("TOML");
        let flows = "start_ns,source,destination,size_bytes\n0,0,1,1000\n5,1,2,10\n";
        for (keep, names) in [(false, &["mine"][..]), (true, &["burst", "mine"])] {
            let text = document.with_trace(flows, "mine", keep);
            let scenario = load(&text, "x.toml", &[], &NoFiles).expect("a scenario");
            assert_eq!(scenario.workload_names(), names);
        }
    }

    const COMMENTED: &str = "name = \"x\" # a comment\n[topology]\nlink = { rate = \"1 Gbps\", latency = \"5 us\" }  # both\n\
        \n[[workload]]\nkind = \"burst\"\nsenders = 3 # three\n[[workload]]\nkind = \"oldi\"\nfan_in = [2, 4]\n# end\n";

    fn edited(key: &str, value: &str) -> String {
        let mut document = Document::parse(COMMENTED, "x.toml").expect("TOML");
        document.set(key, value).expect("a known key");
        document.to_toml()
    }

    #[test]
    fn other_text_is_unchanged() {
        for (key, value, old, new) in [
            ("workload.senders", "17", "senders = 3", "senders = 17"),
            ("topology.link.rate", "10 Gbps", "1 Gbps", "10 Gbps"),
            (
                "topology.link",
                "{ rate = \"1 kbps\" }",
                "{ rate = \"1 Gbps\", latency = \"5 us\" }",
                "{ rate = \"1 kbps\" }",
            ),
            ("workload[1].fan_in[1]", "8", "[2, 4]", "[2, 8]"),
            ("workload[1].fan_in", "[3]", "[2, 4]", "[3]"),
            ("name", "y \"z\"", "\"x\"", "'y \"z\"'"),
            (
                "workload.receiver",
                "1",
                "senders = 3 # three\n",
                "senders = 3 # three\nreceiver = 1\n",
            ),
            (
                "topology.link.loss",
                "0.1",
                "\"5 us\" }",
                "\"5 us\", loss = 0.1 }",
            ),
            ("seeds", "2", "\n[topology]", "\nseeds = 2\n[topology]"),
            (
                "workload[1].objective.share",
                "0.5",
                "# end",
                "objective = { share = 0.5 }\n# end",
            ),
        ] {
            assert_eq!(edited(key, value), COMMENTED.replacen(old, new, 1), "{key}");
        }
    }

    #[test]
    fn new_table_is_added() {
        let text = edited("switch.buffer", "64 KB");
        let end = COMMENTED.replace("# end\n", "\n[switch]\nbuffer = \"64 KB\"\n# end\n");
        assert_eq!(text, end);
    }
}
