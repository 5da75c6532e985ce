//! Test library with one small experiment.

use std::fs;
use std::path::{Path, PathBuf};

use duetime_papers::{Campaign, Extent, choose, library};

/// Scenario with five senders and three bursts.
pub const SCENARIO: &str = r#"
transport = "dctcp"

[topology]
kind = "star"
hosts = 6
link = { rate = "1 Gbps", latency = "20 us" }

[switch]
buffer = "100 KB"
ecn_threshold = "5 packets"

[[workload]]
kind = "burst"
senders = 5
size = "uniform 20 KB..100 KB"
deadline = "2 ms"
repeat = 3
every = "5 ms"
"#;

/// Experiment on the scenario.
pub const EXPERIMENT: &str = r#"
title = "A burst"
source = "nowhere"
metric = "missed"
repetitions = { full = 5, quick = 2 }

[axis]
key = "workload.senders"
label = "Senders"
values = [2, 5]

[[scheme]]
name = "dctcp"
set = { transport = "dctcp" }

[[scheme]]
name = "d2tcp"
set = { transport = "d2tcp", "d2tcp.imminence" = [1.0, 1.0] }

[[scheme]]
name = "free"
set = { transport = "d2tcp" }

[[scheme]]
name = "optimum"
method = "fluid"

[[scheme]]
name = "edf"
method = "fluid"

[[published]]
scheme = "dctcp"
at = 5
kind = "not-stated"
source = "ours"

[[check]]
text = "D2TCP capped to [1, 1] is DCTCP"
left = { scheme = "d2tcp" }
right = { scheme = "dctcp" }
relation = "same"
stated = true

[[check]]
text = "D2TCP is DCTCP"
left = { scheme = "free", at = 5 }
right = { scheme = "dctcp", at = 5 }
relation = "same"
stated = true

[[check]]
text = "EDF misses no fewer than the optimum"
left = { scheme = "edf" }
right = { scheme = "optimum" }
relation = "difference"
low = 0
stated = false

[[check]]
text = "No transport misses fewer than the optimum"
left = { scheme = "free" }
right = { scheme = "optimum" }
relation = "difference"
low = 0
stated = false
"#;

/// Interpretation notes with the cause of one miss.
pub const READING: &str =
    "# A burst\n\n## Misses\n\n**D2TCP is DCTCP**: the check is false on purpose.\n";

/// Returns the path of an empty test folder.
pub fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("papers-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

/// Writes a library with one experiment, `test/burst`.
pub fn papers(name: &str, experiment: &str, scenario: &str) -> PathBuf {
    let papers = place(name).join("papers");
    add(&papers, "test/burst", experiment, scenario);
    papers
}

/// Adds the experiment `id` to a library.
pub fn add(papers: &Path, id: &str, experiment: &str, scenario: &str) {
    let folder = papers.join(id);
    fs::create_dir_all(&folder).expect("a folder");
    for (file, text) in [
        ("experiment.toml", experiment),
        ("scenario.toml", scenario),
        ("reading.md", READING),
    ] {
        fs::write(folder.join(file), text).expect("a file");
    }
}

/// Returns a campaign of all experiments of a library.
pub fn campaign(papers: &Path, extent: Extent) -> Campaign {
    let experiments = library(papers).unwrap_or_else(|error| panic!("{error}"));
    let chosen = choose(&experiments, &["all".to_owned()]).expect("all");
    Campaign::new(experiments, chosen, extent).unwrap_or_else(|error| panic!("{error}"))
}
