//! Networks that cannot be.

use super::{Files, load, said_of};

/// A graph scenario with the given hosts, switches and links, under D3.
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
fn a_disconnected_topology() {
    let links = [("a", "s"), ("b", "s"), ("c", "t")];
    let said = said_of(&graph(r#"["a", "b", "c"]"#, r#"["s", "t"]"#, &links), &[]);
    let start = "search.toml:6:9: topology.links: disconnected: no path from a to c\n   6 | links = [{ between";
    assert!(said.starts_with(start), "{said}");
    assert!(
        said.ends_with("\n   allowed: a path between any two hosts"),
        "{said}"
    );
}

#[test]
fn a_host_without_a_link_and_a_node_that_does_not_exist() {
    let links = [("a", "s")];
    let said = said_of(&graph(r#"["a", "b"]"#, r#"["s"]"#, &links), &[]);
    assert!(
        said.contains("topology.links: disconnected: host b has no link\n"),
        "{said}"
    );
    let text = graph(
        r#"["host1", "host2"]"#,
        r#"["s"]"#,
        &[("host1", "s"), ("hots2", "s")],
    );
    let said = said_of(&text, &[]);
    assert!(
        said.contains("topology.links.between = \"hots2\": no such node\n"),
        "{said}"
    );
    assert!(said.ends_with("help: did you mean \"host2\"?"), "{said}");
}

#[test]
fn a_path_longer_than_six_links_under_d3_alone() {
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
    let said = said_of(&text, &[]);
    let start = "search.toml:6:9: topology.links: the path from a to b has 7 links, but a request of d3 has 6 slots\n";
    assert!(said.starts_with(start), "{said}");
    assert!(
        said.contains("\n   allowed: paths of at most 6 links, the hosts' own included\n"),
        "{said}"
    );
    let tcp = text.replace(", \"d3\"", "");
    load(&tcp, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
}
