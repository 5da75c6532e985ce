//! Command-line arguments.

mod capacity;
mod fit;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod kernel;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod lab;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod load;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod quantity;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod switch;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use capacity::{Capacity, Criterion, Quantity};
pub use fit::{Fit, InputKind};

/// Command line of `duetime`.
#[derive(Debug, Parser)]
#[command(
    name = "duetime",
    version,
    about = "Duetime predicts how many answers of a datacenter service meet their deadlines, under each transport, and runs \
             the deadline-aware ones for real.",
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "Exit codes: 0 success; 1 a run failed, was stopped or measured nothing, or a file could not be written; 2 invalid \
                  input (nothing was run or written); 3 the machine was too busy for valid runs on real stacks."
)]
pub struct Cli {
    /// Subcommand to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands of `duetime`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a first scenario for a search, feed, storage or inference service, from flags or interactively.
    #[command(after_long_help = NEW_EXAMPLES)]
    New(New),
    /// Fit a scenario to a packet capture, recorded spans or a table of calls of an existing service.
    #[command(after_long_help = fit::EXAMPLES)]
    Fit(Fit),
    /// Run a scenario with each of its transports and seeds, and print the results.
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Run),
    /// Run a grid of settings, reusing the runs that are already in the folder.
    #[command(after_long_help = SWEEP_EXAMPLES)]
    Sweep(Sweep),
    /// Find the most senders, highest rate, tightest deadlines or tightest budget that each transport sustains.
    #[command(after_long_help = capacity::EXAMPLES)]
    Capacity(Capacity),
    /// Compute the fewest late answers and queries that any transport could achieve, without running the scenario.
    #[command(after_long_help = BOUND_EXAMPLES)]
    Bound(Bound),
    /// Break down the time of one query or flow: computing, queues, handshakes, pauses, denials, timeouts.
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Compare two run folders, paired by seed, and report each difference with its confidence interval.
    #[command(after_long_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Write the self-contained HTML report of a finished study.
    Report(Report),
    /// Print the load of each link and what will be measured, without running the scenario.
    Check(Check),
    /// Print the properties of a scenario's network.
    Topology(Show),
    /// Print the flows that a scenario offers.
    Workload(Show),
    /// Export the tables of a study as CSV, or its queries as spans.
    Export(Export),
    /// Run the papers' experiments and compare the results with the published values.
    #[command(after_long_help = PAPER_EXAMPLES)]
    Paper(Paper),
    /// Serve the playground, a web page that contains the simulator, on this machine.
    #[command(after_long_help = PLAY_EXAMPLES)]
    Play(Play),
    /// Forward packets like a datacenter switch: rate, delay, buffer, ECN, D3 router (requires root).
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Switch(switch::Switch),
    /// Run DCTCP and D2TCP in this machine's kernel, for sockets that select them (requires root).
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Kernel(kernel::Kernel),
    /// Run scenarios on kernel TCP, D3 and due, between network namespaces on this machine (requires root).
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Lab(lab::Lab),
    /// Send fan-out queries to other hosts over kernel TCP, D3 or due, and report the share of answers in time.
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Load(load::Load),
    /// Print the JSON Schema of scenario files, for editors.
    Schema,
    /// Print a shell completion script.
    #[command(
        after_help = "Example: duetime completions bash > ~/.local/share/bash-completion/completions/duetime"
    )]
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
}

const NEW_EXAMPLES: &str = "\
Examples:
  duetime new search --fan-in 40 --budget 50ms --answer 20KB --rate '2000 /s' --hosts 48 --link '10 Gbps' -o search.toml
  duetime new feed --fan-in 4,10 --budget 20ms > feed.toml
  duetime new

On a terminal, `new` prompts for missing options. Otherwise, or with --defaults, it uses defaults and prints them.";

const RUN_EXAMPLES: &str = "\
Examples:
  duetime run scenarios/search-fanout.toml
  duetime run scenarios/incast.toml --transport d2tcp,dctcp --seeds 20
  duetime run scenarios/incast.toml --set workload.senders=60 --set 'switch.buffer=\"512 KB\"' --out out/tight
  duetime run scenarios/incast.toml --json | jq 'select(.event == \"row\")'";

const SWEEP_EXAMPLES: &str = "\
Examples:
  duetime sweep scenarios/search-fanout.toml --vary 'workload.deadline.base=20 ms..50 ms:10 ms' --vary workload.load=0.1,0.2
  duetime sweep scenarios/search-fanout.toml --vary workload.fan_in=5..40:5 --dry-run

Values have the units of the scenario file. Several --vary options form a grid. Runs that are already in the folder are \
reused.";

const BOUND_EXAMPLES: &str = "\
Examples:
  duetime bound scenarios/search-fanout.toml
  duetime bound scenarios/incast.toml --set workload.senders=60 --json

The bound counts answers that are late under every transport: those that are late even without other traffic, and those \
that exceed the capacity of a sender's link, a receiver's link or the links between racks. A second column shows what \
earliest deadline first on the receivers' links would miss. For queries the bound is a relaxation: each query needs only \
the smallest answers that suffice.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  duetime explain out/incast worst --transport dctcp
  duetime explain out/incast worst-missed --transport d3 --run 2
  duetime explain out/search-fanout query:12884901890 --transport d2tcp
  duetime explain out/incast row:17

Runs are deterministic: `explain` repeats the run and traces the selected flow or query.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  duetime run scenarios/feed.toml --out out/marks
  duetime run scenarios/feed.toml --set switch.ecn_threshold=off --out out/no-marks
  duetime compare out/marks out/no-marks
  duetime compare out/marks out/no-marks --json | jq 'select(.differs == \"lower\")'

Differences are B minus A. Runs with the same seed share their random draws, so they are compared in pairs, which cancels \
the common variation. The interval is 95 %, by percentile bootstrap over the pairs; a single pair has no interval.";

const PAPER_EXAMPLES: &str = "\
Examples:
  duetime paper                          list the experiments
  duetime paper d3 fig10                 run one experiment
  duetime paper all                      run all, until their verdicts are settled
  duetime paper d2tcp --json | jq 'select(.verdict == \"missed\")'

Runs that are already in the folder are reused, also those of --quick, so a campaign can be stopped and restarted. \
Points are repeated until the verdicts that need them are settled: until the interval, widened to 99.9 %, is clear of the bound. \
A value is met if it is within 15 % of the published one, or if our 95 % interval contains the published value and is no \
wider than ± 5 % of it or ± 1 point.";

const PLAY_EXAMPLES: &str = "\
Examples:
  duetime play
  duetime play --port 0
  duetime play --export site/playground

The simulator runs in the browser; no data leaves it. Any web server can publish the files that --export writes. \
Requires a build with the feature `play`.";

/// Options that select transports and change settings of a scenario.
#[derive(Args, Debug, Clone)]
pub struct Choice {
    /// Run only these transports (comma-separated), e.g. `d2tcp,dctcp`
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Override a setting of the file, e.g. `workload.fan_in=40`; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub settings: Vec<(String, String)>,
    /// Number of runs per transport, each with separate random streams [default: the file's `seeds`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(duetime_scenario::MAX_SEEDS)))]
    pub seeds: Option<u32>,
    /// Root of all random streams [default: the file's `seed`]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

impl Choice {
    /// Returns true if any option is set.
    pub fn any(&self) -> bool {
        let changes_file = !self.transport.is_empty() || !self.settings.is_empty();
        changes_file || self.seeds.is_some() || self.seed.is_some()
    }
}

/// Table output options.
#[derive(Args, Debug, Clone, Copy)]
pub struct Tables {
    /// Print all columns [default: those that fit the terminal, or 100 characters if there is none]
    #[arg(long)]
    pub wide: bool,
}

/// Execution and output options.
#[derive(Args, Debug, Clone)]
pub struct Work {
    /// Number of parallel runs [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Threads per run; does not change results
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Folder for the results [default: out/NAME, where NAME is the scenario's name]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace existing output
    #[arg(long)]
    pub overwrite: bool,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
    /// Print JSON lines: each event, then each row of the tables (docs/events.md)
    #[arg(long)]
    pub json: bool,
    /// Suppress progress output: print only warnings, failures and errors; with --json, omit progress events
    #[arg(long, short)]
    pub quiet: bool,
    /// Do not write `report.html`
    #[arg(long)]
    pub no_report: bool,
}

/// `duetime new`
#[derive(Args, Debug)]
pub struct New {
    /// search: a root queries leaves. feed: a root queries aggregators, which query leaves. storage: some fragments are
    /// spare. inference: inputs as large as outputs [default: prompt on a terminal]
    #[arg(value_name = "SERVICE")]
    pub kind: Option<String>,
    /// Servers per query; for two layers, aggregators and leaves per aggregator, such as `4,10`
    #[arg(long, value_name = "N[,N]")]
    pub fan_in: Option<String>,
    /// Time by which the root needs enough answers, such as `50ms`
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Size of each answer, such as `20KB`
    #[arg(long, value_name = "SIZE")]
    pub answer: Option<String>,
    /// Query rate of the whole service, such as `'2000 /s'`
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Number of hosts in the network
    #[arg(long, value_name = "N")]
    pub hosts: Option<String>,
    /// Rate of each host's link, such as `'10 Gbps'`
    #[arg(long, value_name = "RATE")]
    pub link: Option<String>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace existing output
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Do not prompt; use defaults for missing options
    #[arg(long)]
    pub defaults: bool,
    /// Do not print the defaults used and the next commands
    #[arg(long, short)]
    pub quiet: bool,
}

/// `duetime run`
#[derive(Args, Debug)]
pub struct Run {
    /// Scenario file, or `-` for standard input (relative paths in it then start at the current folder)
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Execution and output options.
    #[command(flatten)]
    pub work: Work,
    /// Keep finished runs of the same study in the folder and run only the missing ones
    #[arg(long, conflicts_with = "overwrite")]
    pub resume: bool,
}

/// `duetime sweep`
#[derive(Args, Debug)]
pub struct Sweep {
    /// Scenario file, `-` for standard input (relative paths in it then start at the current folder), or a sweep's plan
    /// in JSON: a file written by the Python package, or a sweep's `manifest.json`
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Axis of the grid, as a range FIRST..LAST:STEP with both ends, e.g. `workload.fan_in=5..40:5`, or as a list, e.g.
    /// `workload.load=0.1,0.2`; repeatable [default: the file's `[sweep]`]
    #[arg(long, value_name = "KEY=VALUES")]
    pub vary: Vec<String>,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Execution and output options.
    #[command(flatten)]
    pub work: Work,
    /// Only print the number of runs and their estimated duration
    #[arg(long)]
    pub dry_run: bool,
}

/// `duetime bound`
#[derive(Args, Debug)]
pub struct Bound {
    /// Scenario file, or `-` for standard input (relative paths in it then start at the current folder)
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Number of parallel runs [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `duetime explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// Folder of a study
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// A query: `query:ID` or `worst-query`. A flow: its ID, `row:N` (row of flows.parquet, from 0), `worst-flow`
    /// (latest relative to its deadline; without deadlines, slowest) or `worst-missed`. `worst`: the worst query, or
    /// the worst flow in a run without queries
    #[arg(value_name = "WHAT")]
    pub what: String,
    /// Transport of the run [default: the only one]
    #[arg(long, short, value_name = "NAME")]
    pub transport: Option<String>,
    /// Index of the run, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub run: u32,
    /// Point of a sweep, e.g. `workload.fan_in=40`; repeatable
    #[arg(long = "at", value_name = "KEY=VALUE", value_parser = key_value)]
    pub at: Vec<(String, String)>,
    /// Also print every event of the flow, or of the flows on the query's critical path
    #[arg(long)]
    pub events: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `duetime compare`
#[derive(Args, Debug)]
pub struct Compare {
    /// Folder of a study
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Folder of another study with the same `seed`
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Compare only these transports (comma-separated) [default: all transports in both folders]
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
    /// Print JSON lines: the summary, each differing setting and each compared value (docs/events.md)
    #[arg(long)]
    pub json: bool,
    /// Suppress progress output: print only warnings, failures and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `duetime play`
#[derive(Args, Debug)]
pub struct Play {
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "N", default_value_t = 7788)]
    pub port: u16,
    /// Write the page's files to this folder instead of serving them; it must be empty or not exist
    #[arg(long, value_name = "DIR", conflicts_with = "port")]
    pub export: Option<PathBuf>,
}

/// `duetime report`
#[derive(Args, Debug)]
pub struct Report {
    /// Folder of a study
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Open the report in a browser
    #[arg(long, value_enum, default_value_t = Open::No, value_name = "YES|NO", num_args = 0..=1, default_missing_value = "yes")]
    pub open: Open,
}

/// Choice to open the report in a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Open {
    /// Open the report.
    Yes,
    /// Only write the report.
    No,
}

/// `duetime paper`
#[derive(Args, Debug)]
pub struct Paper {
    /// Paper, optionally followed by names of its experiments; `all` papers; or `beyond`, our own experiments
    /// [default: list them; with --quick, all]
    #[arg(value_name = "PAPER [EXPERIMENT]")]
    pub which: Vec<String>,
    /// Use few repetitions and points, whether or not they settle the verdicts
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Use all repetitions, not only those that settle the verdicts: slower, with narrower intervals
    #[arg(long)]
    pub full: bool,
    /// Number of parallel runs [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for the results
    #[arg(long, short, value_name = "DIR", default_value = "out/papers")]
    pub out: PathBuf,
    /// Folder with the experiments [default: the built-in ones]
    #[arg(long, value_name = "DIR")]
    pub papers: Option<PathBuf>,
    /// Print the rows of the table as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Suppress progress output: print only warnings, failures and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Write the verdicts to this file, in the format of `docs/papers.md` or, for `beyond`, `docs/beyond.md`
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "docs/papers.md")]
    pub write_docs: Option<PathBuf>,
}

/// `duetime check`
#[derive(Args, Debug)]
pub struct Check {
    /// Scenario and settings.
    #[command(flatten)]
    pub show: Show,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
}

/// `duetime topology`, `duetime workload`, and part of `duetime check`
#[derive(Args, Debug)]
pub struct Show {
    /// Scenario file, or `-` for standard input (relative paths in it then start at the current folder)
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `duetime export`
#[derive(Args, Debug)]
pub struct Export {
    /// Folder of a study
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Export the tables as CSV files
    #[arg(long, required_unless_present = "spans")]
    pub csv: bool,
    /// Export the queries as spans in JSON lines (docs/spans.md)
    #[arg(long)]
    pub spans: bool,
    /// Destination folder [default: DIR/csv; for spans alone, DIR/spans]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Parses `key=value`.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write KEY=VALUE, e.g. workload.fan_in=40".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn setting_keeps_later_equal_signs() {
        assert_eq!(
            key_value("a.b = c=d"),
            Ok(("a.b".to_owned(), "c=d".to_owned()))
        );
        assert!(key_value("a.b=").is_err());
        assert!(key_value("fan_in").is_err());
    }
}
