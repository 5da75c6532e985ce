//! What may be typed.

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
use duetime_study::capacity::Target;

pub use fit::{Fit, InputKind};

/// Datacenter flows that meet their deadlines: D3 and D2TCP beside what they are measured against.
#[derive(Debug, Parser)]
#[command(
    name = "duetime",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "Exit codes: 0 done; 1 a run failed, was stopped or measured nothing, or a file could not be written; 2 bad input \
                  (nothing was run or written); 3 the machine was too busy for valid runs on real stacks."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a first scenario for a search, feed, storage or inference service: from flags, or from questions.
    #[command(after_long_help = NEW_EXAMPLES)]
    New(New),
    /// Fit a scenario to what a service already has: a capture of packets, recorded spans, or a table of its calls.
    #[command(after_long_help = fit::EXAMPLES)]
    Fit(Fit),
    /// Run a scenario under each of its transports and seeds, and print the table.
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Run),
    /// Run a grid of settings; runs that are already in the folder are kept.
    #[command(after_long_help = SWEEP_EXAMPLES)]
    Sweep(Sweep),
    /// Search for the most senders, the highest rate, the tightest deadlines or the tightest budget that a transport
    /// carries.
    #[command(after_long_help = CAPACITY_EXAMPLES)]
    Capacity(Capacity),
    /// Bound what any transport can do: the fewest late answers and queries of a scenario, without running it.
    #[command(after_long_help = BOUND_EXAMPLES)]
    Bound(Bound),
    /// Show where the time of one query or one flow went: computing, queues, handshakes, pauses, denials, timeouts.
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Compare two run folders, run by run with the same seed: what differs, by how much, and whether by more than chance.
    #[command(after_long_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Write one self-contained HTML page about a finished study.
    Report(Report),
    /// Say how busy each link will be and what will count, without running anything.
    Check(Check),
    /// Show the network of a scenario without running it.
    Topology(Show),
    /// Show the flows that a scenario will offer, without running it.
    Workload(Show),
    /// Write the tables of a study as CSV, or its queries as spans.
    Export(Export),
    /// Run the papers' experiments and hold what comes out against what the papers say.
    #[command(after_long_help = PAPER_EXAMPLES)]
    Paper(Paper),
    /// Open the playground: a page on this machine with the simulator in it, for a browser.
    #[command(after_long_help = PLAY_EXAMPLES)]
    Play(Play),
    /// Forward between network interfaces as a datacenter switch does: rate, delay, buffer, ECN, D3's router (as root).
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Switch(switch::Switch),
    /// Run DCTCP and D2TCP in this machine's kernel, for sockets that choose them (as root).
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Kernel(kernel::Kernel),
    /// Run scenarios on kernel TCP and on D3 over UDP: network namespaces, joined by the software switch (as root).
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Lab(lab::Lab),
    /// Ask other hosts many queries at once, over kernel TCP or D3, and tell how many answers were in time.
    #[cfg(all(feature = "lab", target_os = "linux"))]
    Load(load::Load),
    /// Print the JSON Schema of the scenario file, for editors.
    Schema,
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example: duetime completions bash > ~/.local/share/bash-completion/completions/duetime"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

const NEW_EXAMPLES: &str = "\
Examples:
  duetime new search --fan-in 40 --budget 50ms --answer 20KB --rate '2000 /s' --hosts 48 --link '10 Gbps' -o search.toml
  duetime new feed --fan-in 4,10 --budget 20ms > feed.toml
  duetime new

On a terminal, what no flag says is asked for. Elsewhere, or with --defaults, a usual value is taken and told.";

const RUN_EXAMPLES: &str = "\
Examples:
  duetime run scenarios/search-fanout.toml
  duetime run scenarios/incast.toml --transport d2tcp,dctcp --seeds 20
  duetime run scenarios/incast.toml --set workload.senders=60 --set 'switch.buffer=\"512 KB\"' --out out/tight
  duetime run scenarios/incast.toml --json | jq 'select(.event == \"row\")'";

const SWEEP_EXAMPLES: &str = "\
Examples:
  duetime sweep scenarios/search-fanout.toml --vary workload.fan_in=5..40:5
  duetime sweep scenarios/search-fanout.toml --vary 'workload.deadline.base=20 ms..50 ms:10 ms' --vary workload.load=0.1,0.2
  duetime sweep scenarios/search-fanout.toml --vary workload.fan_in=5..40:5 --dry-run

Values: FIRST..LAST:STEP with both ends included, or a list with commas; with units, as in the file.
Several --vary make a grid. What is in the folder already is not run again.";

const CAPACITY_EXAMPLES: &str = "\
Examples:
  duetime capacity scenarios/incast.toml --of senders
  duetime capacity scenarios/incast.toml --of deadline --transport d2tcp,dctcp --seeds 20
  duetime capacity scenarios/search-fanout.toml --of rate --target 95% --step 1%
  duetime capacity feed.toml --of budget --step '0.1 ms' --transport dctcp,d2tcp
  duetime capacity feed.toml --of fan-in --layer 2 --on answers

The answer is the largest value such that every smaller one reaches the target too (of deadlines: every looser one). The
target is one on queries where a workload has an objective: --on answers counts flows with deadlines instead. It is
bisected; what lies below is tried where the curve is not falling steadily or is near the target, and everywhere with
--check-all. The interval is 95 %, by bootstrap over seeds. Runs are kept in a journal and are not made again.";

const BOUND_EXAMPLES: &str = "\
Examples:
  duetime bound scenarios/search-fanout.toml
  duetime bound scenarios/incast.toml --set workload.senders=60 --json

What is late under every transport: even alone, or because a receiver's or a sender's link, or the links between a rack
and the others, cannot carry in time all that is asked. Beside it, what earliest deadline first on the receivers' links
would leave late. For queries it is a relaxation: each claims no more than the smallest answers that would do.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  duetime explain out/incast worst --transport dctcp
  duetime explain out/incast worst-missed --transport d3 --run 2
  duetime explain out/search-fanout worst-query --transport d2tcp
  duetime explain out/search-fanout query:12884901890 --transport d2tcp
  duetime explain out/incast 12884901888
  duetime explain out/incast row:17

Runs are deterministic, so nothing is stored for this: the run is repeated while the one flow or query
is watched.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  duetime run scenarios/feed.toml --out out/marks
  duetime run scenarios/feed.toml --set switch.ecn_threshold=off --out out/no-marks
  duetime compare out/marks out/no-marks
  duetime compare out/marks out/no-marks --transport dctcp,d2tcp --json | jq 'select(.differs == \"lower\")'

Every difference is B less A. Runs of the same seed have the same random draws, so they are compared in pairs: what the draws
have in common cancels. The interval is 95 %, by percentile bootstrap over the pairs; one pair gives none.";

const PAPER_EXAMPLES: &str = "\
Examples:
  duetime paper                          list the experiments
  duetime paper d3 fig10                 one of them
  duetime paper all --quick              all, with few repetitions
  duetime paper d2tcp --json | jq 'select(.verdict == \"missed\")'

Runs that are in the folder already are kept, of a quick campaign as well: stop it at any time and start it again.
A number is met within 15 % of the published one, or if our 95 % interval holds it and is no wider than ± 5 % of it or
± 1 point.";

const PLAY_EXAMPLES: &str = "\
Examples:
  duetime play
  duetime play --port 0
  duetime play --export site/playground

The page runs the simulator in the browser itself: nothing is sent anywhere. What --export writes can be published by any web
server. In a program that was built without the feature `play`, the command says how to get it.";

/// What narrows or changes a scenario.
#[derive(Args, Debug, Clone)]
pub struct Choice {
    /// Compare only these transports, with commas, e.g. `d2tcp,dctcp`
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Change one setting of the file, e.g. `workload.fan_in=40`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub settings: Vec<(String, String)>,
    /// Number of runs per transport, each with random streams of its own [default: the file's `seeds`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(duetime_scenario::MOST_SEEDS)))]
    pub seeds: Option<u32>,
    /// Root of all random streams [default: the file's `seed`]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

impl Choice {
    /// Whether anything is chosen.
    pub fn any(&self) -> bool {
        let named = !self.transport.is_empty() || !self.settings.is_empty();
        named || self.seeds.is_some() || self.seed.is_some()
    }
}

/// How tables are printed.
#[derive(Args, Debug, Clone, Copy)]
pub struct Tables {
    /// All columns of all tables [default: those for which the terminal is wide enough; 100 characters elsewhere]
    #[arg(long)]
    pub wide: bool,
}

/// How to run.
#[derive(Args, Debug, Clone)]
pub struct Work {
    /// Runs at the same time [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Threads that one run is split over; results stay the same
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Folder for the results [default: out/NAME, by the name of the scenario]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace what the folder holds
    #[arg(long)]
    pub overwrite: bool,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
    /// JSON lines on standard output: every event, then every row of the table (docs/events.md)
    #[arg(long)]
    pub json: bool,
    /// No progress: standard error has only warnings, failures and errors, and --json only lasting events
    #[arg(long, short)]
    pub quiet: bool,
    /// Do not write `report.html`
    #[arg(long)]
    pub no_report: bool,
}

/// `duetime new`
#[derive(Args, Debug)]
pub struct New {
    /// search: a root asks leaves. feed: a root asks aggregators, each asks leaves. storage: fragments, some of them spare.
    /// inference: inputs as large as outputs [default: asked for on a terminal]
    #[arg(value_name = "SERVICE")]
    pub kind: Option<String>,
    /// Servers that a query asks; of two layers `4,10`: aggregators, and leaves of each
    #[arg(long, value_name = "N[,N]")]
    pub fan_in: Option<String>,
    /// Time within which enough answers must be at the root, such as `50ms`
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Size of each answer, such as `20KB`
    #[arg(long, value_name = "SIZE")]
    pub answer: Option<String>,
    /// Queries per second of the whole service, such as `'2000 /s'`
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Hosts of the network
    #[arg(long, value_name = "N")]
    pub hosts: Option<String>,
    /// Rate of each host's link, such as `'10 Gbps'`
    #[arg(long, value_name = "RATE")]
    pub link: Option<String>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file where there is one
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Ask nothing: take a usual value for what no flag says
    #[arg(long)]
    pub defaults: bool,
    /// Do not tell the values taken nor the next commands
    #[arg(long, short)]
    pub quiet: bool,
}

/// `duetime run`
#[derive(Args, Debug)]
pub struct Run {
    /// The scenario file; `-`: standard input, with the files that it names seen from the current folder
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// How to run.
    #[command(flatten)]
    pub work: Work,
    /// Keep finished runs of this very study in the folder, and run only what is missing
    #[arg(long, conflicts_with = "overwrite")]
    pub resume: bool,
}

/// `duetime sweep`
#[derive(Args, Debug)]
pub struct Sweep {
    /// The scenario file; `-`: standard input, with the files that it names seen from the current folder; PLAN.json: the plan
    /// of a sweep, as the package for Python writes it, or the `manifest.json` of one
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// One axis of the grid, e.g. `workload.fan_in=5..40:5`, `workload.load=0.1,0.2`; may be repeated [default: the
    /// file's `[sweep]`]
    #[arg(long, value_name = "KEY=VALUES")]
    pub vary: Vec<String>,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// How to run.
    #[command(flatten)]
    pub work: Work,
    /// Only say how many runs there are and how long they may take
    #[arg(long)]
    pub dry_run: bool,
}

/// `duetime capacity`
#[derive(Args, Debug)]
pub struct Capacity {
    /// The scenario file; `-`: standard input, with the files that it names seen from the current folder
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// What to search for
    #[arg(long, value_enum, value_name = "WHAT")]
    pub of: Of,
    /// Which layer of trees `fan-in` is about, the root's is 1 [default: the only one]
    #[arg(long, value_name = "N")]
    pub layer: Option<u32>,
    /// What must be in time [default: queries where a workload has an objective, otherwise answers]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on: Option<On>,
    /// Share that must be in time [default: of queries the `share` of the objective, or 99%; of answers 99%, of their
    /// deadlines 95%]
    #[arg(long, value_name = "SHARE")]
    pub target: Option<Target>,
    /// Workloads that change, by name, with commas [default: those with deadlines, if they agree]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workload: Vec<String>,
    /// Resolution, such as `2`, `50 /s`, `1%`; of deadlines `0.01`, of a budget `0.1 ms` [default: 1 sender; about a
    /// twentieth of the file's rate or budget; 0.05 of the file's deadlines]
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    pub step: Option<String>,
    /// Try every value below the answer
    #[arg(long)]
    pub check_all: bool,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// Runs at the same time [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for the journal of runs and for the page [default: out/NAME-capacity, by the name of the scenario]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
    /// JSON lines on standard output: every event, then every row of the table (docs/events.md)
    #[arg(long)]
    pub json: bool,
    /// No progress: standard error has only warnings, failures and errors, and --json only lasting events
    #[arg(long, short)]
    pub quiet: bool,
    /// Do not write `capacity.html`
    #[arg(long)]
    pub no_report: bool,
}

/// `duetime bound`
#[derive(Args, Debug)]
pub struct Bound {
    /// The scenario file; `-`: standard input, with the files that it names seen from the current folder
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// Runs at the same time [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `duetime capacity` searches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Of {
    /// The most senders of a burst, or the largest fan-in of a tree.
    Senders,
    /// The largest fan-in of one layer of trees.
    FanIn,
    /// The highest rate of flows or queries, or load where the scenario gives that.
    Rate,
    /// The highest load.
    Load,
    /// The tightest deadlines, as a factor on those of the file.
    Deadline,
    /// The tightest budget of queries, in milliseconds; deadlines shrink in proportion.
    Budget,
}

/// What must be in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Queries, as their objective says.
    Queries,
    /// Answers over all that were asked for, and other flows with deadlines.
    Answers,
}

/// `duetime explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// The folder of a study
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// A query: `query:ID` or `worst-query`. A flow: its id, `row:N` (row of flows.parquet, from 0), `worst-flow` (latest
    /// for its deadline or, without deadlines, slowest) or `worst-missed`. `worst`: the worst query or, in a run
    /// without queries, the worst flow
    #[arg(value_name = "WHAT")]
    pub what: String,
    /// Which transport [default: the only one]
    #[arg(long, short, value_name = "NAME")]
    pub transport: Option<String>,
    /// Which run, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub run: u32,
    /// Which point of a sweep, e.g. `workload.fan_in=40`; may be repeated
    #[arg(long = "at", value_name = "KEY=VALUE", value_parser = key_value)]
    pub at: Vec<(String, String)>,
    /// Every event of the flow, or of the flows on the query's path, not only the sums
    #[arg(long)]
    pub events: bool,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// `duetime compare`
#[derive(Args, Debug)]
pub struct Compare {
    /// The folder of a study
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The folder of a study with the same `seed`
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Compare only these transports, with commas [default: all that both have]
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
    /// JSON lines on standard output: the answer, each key and each number that is compared (docs/events.md)
    #[arg(long)]
    pub json: bool,
    /// No progress: standard error has only warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `duetime play`
#[derive(Args, Debug)]
pub struct Play {
    /// Port on 127.0.0.1; 0: any that is free
    #[arg(long, value_name = "N", default_value_t = 7788)]
    pub port: u16,
    /// Write the page's files into this folder instead, which must be empty or not exist
    #[arg(long, value_name = "DIR", conflicts_with = "port")]
    pub export: Option<PathBuf>,
}

/// `duetime report`
#[derive(Args, Debug)]
pub struct Report {
    /// The folder of a study
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Open the page in a browser afterwards
    #[arg(long, value_enum, default_value_t = Open::No, value_name = "YES|NO", num_args = 0..=1, default_missing_value = "yes")]
    pub open: Open,
}

/// Whether to open the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Open {
    /// Open it.
    Yes,
    /// Only write it.
    No,
}

/// `duetime paper`
#[derive(Args, Debug)]
pub struct Paper {
    /// A paper, with or without names of its experiments; or `all` [default: list them; with --quick, all]
    #[arg(value_name = "PAPER [EXPERIMENT]")]
    pub which: Vec<String>,
    /// Fewer repetitions and points: wider intervals, in a fraction of the time
    #[arg(long)]
    pub quick: bool,
    /// Runs at the same time [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for the results
    #[arg(long, short, value_name = "DIR", default_value = "out/papers")]
    pub out: PathBuf,
    /// Folder of the experiments [default: those that this program was built with]
    #[arg(long, value_name = "DIR")]
    pub papers: Option<PathBuf>,
    /// The rows of the table as JSON lines on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress: standard error has only warnings, failures and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Write the verdicts to this file, as `docs/papers.md` has them
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "docs/papers.md")]
    pub write_docs: Option<PathBuf>,
}

/// `duetime check`
#[derive(Args, Debug)]
pub struct Check {
    /// Of what.
    #[command(flatten)]
    pub show: Show,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
}

/// `duetime topology`, `duetime workload`, and what `duetime check` takes too
#[derive(Args, Debug)]
pub struct Show {
    /// The scenario file; `-`: standard input, with the files that it names seen from the current folder
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// `duetime export`
#[derive(Args, Debug)]
pub struct Export {
    /// The folder of a study
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The tables, as CSV files
    #[arg(long, required_unless_present = "spans")]
    pub csv: bool,
    /// The queries, as spans in JSON lines (docs/spans.md)
    #[arg(long)]
    pub spans: bool,
    /// Where to [default: DIR/csv; of spans alone DIR/spans]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `key=value`, as typed.
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
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_setting_keeps_later_equal_signs() {
        assert_eq!(
            key_value("a.b = c=d"),
            Ok(("a.b".to_owned(), "c=d".to_owned()))
        );
        assert!(key_value("a.b=").is_err());
        assert!(key_value("fan_in").is_err());
    }
}
