//! Help and completions.

use crate::sandbox::Sandbox;

#[test]
fn help_lists_commands_and_examples() {
    let sandbox = Sandbox::new("help");
    let out = sandbox.duetime("--help").ok();
    for command in [
        "new",
        "fit",
        "run",
        "sweep",
        "capacity",
        "bound",
        "explain",
        "compare",
        "report",
        "check",
        "topology",
        "workload",
        "export",
        "play",
        "schema",
        "completions",
    ] {
        assert!(
            out.lines()
                .any(|line| line.trim_start().starts_with(command)),
            "{command} in:\n{out}"
        );
    }
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let purpose = "Duetime predicts how many answers of a datacenter service meet their deadlines, under each transport, \
                   and runs the deadline-aware ones for real. Usage:";
    assert!(words.starts_with(purpose), "{out}");
    let run = sandbox.duetime("run --help").ok();
    assert!(
        run.contains("Examples:") && run.contains("--transport d2tcp,dctcp --seeds 20"),
        "{run}"
    );
    assert!(
        sandbox
            .duetime("sweep --help")
            .ok()
            .contains("workload.fan_in=5..40:5")
    );
    assert!(sandbox.names().is_empty(), "help writes nothing");
}

#[test]
fn completions_for_each_shell() {
    let sandbox = Sandbox::new("completions");
    for (shell, part) in [
        ("bash", "_duetime"),
        ("zsh", "#compdef duetime"),
        ("fish", "complete -c duetime"),
    ] {
        let script = sandbox.duetime(&format!("completions {shell}")).ok();
        assert!(script.contains(part), "{shell}");
        assert!(
            script.contains("--overwrite") || script.contains("overwrite"),
            "{shell} knows the options"
        );
    }
}

#[test]
fn schema_is_json() {
    let sandbox = Sandbox::new("schema");
    let schema: serde_json::Value =
        serde_json::from_str(&sandbox.duetime("schema").ok()).expect("JSON");
    let keys = schema["properties"].as_object().expect("properties");
    for key in [
        "name",
        "transport",
        "seeds",
        "topology",
        "switch",
        "workload",
    ] {
        assert!(keys.contains_key(key), "{key}");
    }
}
