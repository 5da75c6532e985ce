//! What may be typed after `duetime lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Choice, Tables};

const EXAMPLES: &str = "\
Examples:
  sudo duetime lab run scenarios/lab/incast.toml --transport cubic,dctcp
  sudo duetime lab run scenarios/incast.toml --transport dctcp,d2tcp --set topology.hosts=16 --scale 10
  sudo duetime lab compare scenarios/lab/one-flow.toml --seeds 5
  sudo duetime lab up scenarios/lab/near-far.toml &
  sudo duetime lab shell host0 -- ip addr

All that a testbed makes is gone when its process ends, however it ends.";

/// `duetime lab`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What to do on the testbed.
#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Run a scenario on the testbed, and print the table.
    Run(LabRun),
    /// Run a scenario on the testbed and in the simulator at equal scale, and put both side by side.
    Compare(LabRun),
    /// Build the network of a scenario and keep it until Ctrl-C, for `shell`.
    Up(LabUp),
    /// Open a shell in a host of a testbed that runs, or run one command there.
    Shell(LabShell),
    /// Remove what testbeds have left that were killed.
    Clean,
    /// Say what this machine has of what the testbed needs, and what to do about the rest.
    Doctor,
}

/// How senders repair losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Recovery {
    /// As the kernel does: SACK, RACK-TLP, F-RTO.
    Kernel,
    /// As the simulated TCP does: duplicate acknowledgements and timeouts alone.
    Plain,
}

/// `duetime lab run`, `duetime lab compare`
#[derive(Args, Debug)]
pub struct LabRun {
    /// The scenario file
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// Divide all rates by this and multiply all times by it [default: the scenario's `lab.scale`, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub scale: Option<u32>,
    /// How senders repair losses
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Recovery::Kernel)]
    pub recovery: Recovery,
    /// How often an invalid run is made again
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub repeats: u32,
    /// Run the switch and the applications under the normal scheduler, not the real-time one
    #[arg(long)]
    pub normal_priority: bool,
    /// Folder for the results [default: out/NAME-lab, by the name of the scenario]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keep the runs that the folder holds, and make the missing ones
    #[arg(long)]
    pub resume: bool,
    /// Replace what the folder holds
    #[arg(long, conflicts_with = "resume")]
    pub overwrite: bool,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
    /// JSON lines on standard output
    #[arg(long)]
    pub json: bool,
}

/// `duetime lab up`
#[derive(Args, Debug)]
pub struct LabUp {
    /// The scenario file
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// What to change.
    #[command(flatten)]
    pub choice: Choice,
    /// Divide all rates by this and multiply all times by it [default: the scenario's `lab.scale`, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub scale: Option<u32>,
    /// Deadlines for programs that set none: a policy file
    #[arg(long, value_name = "POLICY.toml")]
    pub policy: Option<PathBuf>,
}

/// `duetime lab shell`
#[derive(Args, Debug)]
pub struct LabShell {
    /// The host's name, such as `host0`, or `switch`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// What to run there [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
