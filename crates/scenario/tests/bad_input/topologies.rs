//! Errors of topologies.

use super::{Files, error_of, load};

/// Returns a graph scenario with these hosts, switches and links, under TCP and D3.
fn graph(hosts: &str, switches: &str, links: &[(&str, &str)]) -> String {
    let links: Vec<String> = links
        .iter()
        .map(|(a, b)| {
            format!("{{ between = [\"{a}\", \"{b}\"], rate = \"1 Gbps\", latency = \"1 us\" }}")
        })
        .collect();
    format!(
        "transport = [\"tcp\", \"d3\"]\n[topology]\nkind = \"graph\"\nhosts = {hosts}\nswitches = {switches}\nlinks = [{}]\n\
         [[workload]]\nkind = \"permutation\"\nsize = \"1 KB\"\n",
        links.join(", ")
    )
}

#[test]
fn disconnected_topology() {
    let links = [("a", "s"), ("b", "s"), ("c", "t")];
    let error_text = error_of(&graph(r#"["a", "b", "c"]"#, r#"["s", "t"]"#, &links), &[]);
    let start = "search.toml:6:9: topology.links: disconnected: no path from a to c\n   6 | links = [{ between";
    assert!(error_text.starts_with(start), "{error_text}");
    assert!(
        error_text.ends_with("\n   allowed: a path between any two hosts"),
        "{error_text}"
    );
}

#[test]
fn host_without_link_and_unknown_node() {
    let links = [("a", "s")];
    let error_text = error_of(&graph(r#"["a", "b"]"#, r#"["s"]"#, &links), &[]);
    assert!(
        error_text.contains("topology.links: disconnected: host b has no link\n"),
        "{error_text}"
    );
    let text = graph(
        r#"["host1", "host2"]"#,
        r#"["s"]"#,
        &[("host1", "s"), ("hots2", "s")],
    );
    let error_text = error_of(&text, &[]);
    assert!(
        error_text.contains("topology.links.between = \"hots2\": no such node\n"),
        "{error_text}"
    );
    assert!(
        error_text.ends_with("help: did you mean \"host2\"?"),
        "{error_text}"
    );
}

#[test]
fn path_too_long_for_d3() {
    let links = [
        ("a", "s1"),
        ("s1", "s2"),
        ("s2", "s3"),
        ("s3", "s4"),
        ("s4", "s5"),
        ("s5", "s6"),
        ("b", "s6"),
    ];
    let switches = r#"["s1", "s2", "s3", "s4", "s5", "s6"]"#;
    let text = graph(r#"["a", "b"]"#, switches, &links);
    let error_text = error_of(&text, &[]);
    let start = "search.toml:6:9: topology.links: the path from a to b has 7 links, but a request of d3 has 6 slots\n";
    assert!(error_text.starts_with(start), "{error_text}");
    assert!(
        error_text.contains("\n   allowed: paths of at most 6 links, including the hosts' own\n"),
        "{error_text}"
    );
    let tcp = text.replace(", \"d3\"", "");
    load(&tcp, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
}
