//! Arguments of `duetime capacity`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use duetime_study::capacity::Target;

use super::{Choice, Tables};

/// Examples and notes below the long help.
pub const EXAMPLES: &str = "\
Examples:
  duetime capacity scenarios/incast.toml --of deadline --transport d2tcp,dctcp --seeds 20
  duetime capacity scenarios/search-fanout.toml --of rate --target 95% --step 1%
  duetime capacity feed.toml --of budget --step '0.1 ms' --transport dctcp,d2tcp
  duetime capacity feed.toml --of fan-in --layer 2 --on answers

The result is the largest value for which it and all smaller values reach the target (deadlines and budgets: all looser \
values). If a workload has an objective, the target applies to queries; --on answers counts flows with deadlines instead. \
The search bisects, then tests smaller values where the curve is not monotonic or is close to the target; --check-all \
tests all of them. The interval is 95 %, by bootstrap over seeds. A journal stores finished runs for reuse.";

/// `duetime capacity`
#[derive(Args, Debug)]
pub struct Capacity {
    /// Scenario file, or `-` for standard input (relative paths in it then start at the current folder)
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Quantity to search for
    #[arg(long, value_enum, value_name = "WHAT")]
    pub of: Quantity,
    /// Layer of the trees for `fan-in`, counted from 1 at the root [default: the only one]
    #[arg(long, value_name = "N")]
    pub layer: Option<u32>,
    /// Unit that must be in time [default: queries if a workload has an objective, otherwise answers]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on: Option<Criterion>,
    /// Share that must be in time [default: for queries, the objective's `share` or 99%; for answers, 99%, or 95% with
    /// `--of deadline`]
    #[arg(long, value_name = "SHARE")]
    pub target: Option<Target>,
    /// Workloads to vary (comma-separated) [default: those with deadlines, if they agree]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workload: Vec<String>,
    /// Resolution, such as `2`, `50 /s`, `1%`, `0.01` (deadlines) or `0.1 ms` (budget) [default: 1 sender; about 1/20
    /// of the file's rate or budget; 0.05 of its deadlines]
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    pub step: Option<String>,
    /// Test every value below the result
    #[arg(long)]
    pub check_all: bool,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Number of parallel runs [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for the journal and the report [default: out/NAME-capacity, where NAME is the scenario's name]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
    /// Print JSON lines: each event, then each row of the tables (docs/events.md)
    #[arg(long)]
    pub json: bool,
    /// Suppress progress output: print only warnings, failures and errors; with --json, omit progress events
    #[arg(long, short)]
    pub quiet: bool,
    /// Do not write `capacity.html`
    #[arg(long)]
    pub no_report: bool,
}

/// Quantity that `duetime capacity` searches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Quantity {
    /// Most senders of a burst, or largest fan-in.
    Senders,
    /// Largest fan-in of one layer of trees.
    FanIn,
    /// Highest rate of flows or queries, or load if the scenario sets it.
    Rate,
    /// Highest load.
    Load,
    /// Tightest deadlines, as a factor of the file's.
    Deadline,
    /// Tightest budget in milliseconds; deadlines shrink in proportion.
    Budget,
}

/// Unit that must be in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Criterion {
    /// Queries that meet their objective.
    Queries,
    /// Requested answers, and other flows with deadlines.
    Answers,
}
