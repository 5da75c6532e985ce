//! `duetime new`: its scenarios run, and existing files are kept.

use crate::sandbox::Sandbox;

#[test]
fn every_kind_runs_at_its_extremes() {
    let sandbox = Sandbox::new("new-runs");
    for kind in ["search", "feed", "storage", "inference"] {
        for (number, flags) in [
            "",
            "--fan-in 1 --hosts 2 --rate 1/s --answer 1B",
            "--fan-in 2,2 --hosts 17 --link 100Mbps --rate 20/s --answer 2KB --budget 60s",
            "--fan-in 300 --hosts 1000 --link 1Tbps --answer 1MB --budget 100ms --rate 500/s",
            "--fan-in 3 --hosts 5 --answer 100MB --budget 10s --rate 1/s",
        ]
        .iter()
        .enumerate()
        {
            let file = format!("{kind}-{number}.toml");
            let new = format!("new {kind} {flags} --defaults -q -o {file}");
            assert_eq!(sandbox.duetime(&new).ok(), "");
            // A few milliseconds are enough, since only the success of the run matters.
            let run = [
                "run",
                &file,
                "--seeds",
                "1",
                "--transport",
                "dctcp,d3",
                "--quiet",
                "--no-report",
                "--set",
                "warm_up=0 ms",
                "--set",
                "duration=2 ms",
                "--set",
                "drain=1 ms",
            ];
            let output = sandbox.duetime_args(&run);
            assert!(
                output.code == 0 || output.code == 1 && output.err.contains("Nothing was measured"),
                "{kind} {flags}: {}\n{}",
                output.code,
                output.err
            );
            assert!(
                sandbox
                    .0
                    .join(format!("out/{kind}-{number}/runs/d3/0"))
                    .exists(),
                "{flags}"
            );
            sandbox.duetime(&format!("check {file}")).ok();
        }
    }
}

#[test]
fn existing_files_are_kept() {
    let sandbox = Sandbox::new("new-files");
    let output = sandbox.duetime("new search --rate 500/s -o mine.toml");
    assert!(
        output
            .err
            .contains("defaults used: --fan-in '40' --budget '50 ms'")
            && !output.err.contains("--rate"),
        "{}",
        output.err
    );
    let out = output.ok();
    assert!(
        out.contains("wrote mine.toml") && out.contains("duetime capacity mine.toml --of budget"),
        "{out}"
    );
    let text = sandbox.read("mine.toml");
    assert!(
        text.contains("name = \"mine\"") && text.contains("rate = \"500 /s\""),
        "{text}"
    );
    sandbox
        .duetime("new feed -o mine.toml")
        .refused(&["mine.toml already exists", "--overwrite"]);
    assert_eq!(sandbox.read("mine.toml"), text);
    sandbox.duetime("new feed -o mine.toml --overwrite").ok();
    assert!(sandbox.read("mine.toml").contains("layer_share"));
    // Standard output can be piped to another command.
    let text = sandbox.duetime("new storage --defaults").ok();
    assert!(text.starts_with("# A storage service"), "{text}");
    let checked = sandbox.duetime_reading("check -", &text).ok();
    assert!(checked.contains("queries of storage"), "{checked}");
}

#[test]
fn invalid_input_is_refused() {
    let sandbox = Sandbox::new("new-refused");
    for (command, parts) in [
        (
            "new",
            &["missing SERVICE", "search, feed, storage, inference"][..],
        ),
        ("new ads", &["`ads`", "search, feed"]),
        (
            "new search --fan-in 0 -o a.toml",
            &["--fan-in 0", "such as 40 or 4,10"],
        ),
        (
            "new search --budget 50 -o a.toml",
            &["--budget 50", "unit", "such as \"20 us\""],
        ),
        (
            "new search --hosts 12 -o a.toml",
            &["--fan-in 40", "41 hosts", "default value", "--hosts 41"],
        ),
        (
            "new search --answer 10MB --rate 1/s -o a.toml",
            &["--budget 50 ms", "at least"],
        ),
        (
            "new search -o nowhere/a.toml",
            &["nowhere/a.toml: cannot write the file"],
        ),
        ("new search --overwrite", &["--out"]),
    ] {
        sandbox.duetime(command).refused(parts);
    }
    assert!(sandbox.names().is_empty(), "{:?}", sandbox.names());
}
