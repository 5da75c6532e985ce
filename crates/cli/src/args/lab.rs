//! Arguments of `duetime lab`.

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

A testbed removes its namespaces and interfaces when its process ends, for any reason.";

/// `duetime lab`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Lab {
    /// Subcommand to run.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// Subcommands of `duetime lab`.
#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Run a scenario on the testbed and print the results.
    Run(LabRun),
    /// Run a scenario on the testbed and in the simulator at the same scale, and compare the results.
    Compare(LabRun),
    /// Create the network of a scenario, for `lab shell`, and remove it at Ctrl-C.
    Up(LabUp),
    /// Open a shell in a host of a running testbed, or run a command there.
    Shell(LabShell),
    /// Remove leftovers of killed testbeds.
    Clean,
    /// Check this machine for the testbed's requirements and suggest fixes.
    Doctor,
}

/// Loss recovery of the senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Recovery {
    /// The kernel's recovery: SACK, RACK-TLP, F-RTO.
    Kernel,
    /// The simulated TCP's recovery: only duplicate acknowledgements and timeouts.
    Plain,
}

/// `duetime lab run`, `duetime lab compare`
#[derive(Args, Debug)]
pub struct LabRun {
    /// Scenario file
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Factor that divides all rates and multiplies all times [default: the scenario's `lab.scale`, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub scale: Option<u32>,
    /// Loss recovery of the senders
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Recovery::Kernel)]
    pub recovery: Recovery,
    /// Maximum repetitions of an invalid run
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub repeats: u32,
    /// Run the switch and the applications with normal instead of real-time priority
    #[arg(long)]
    pub normal_priority: bool,
    /// Folder for the results [default: out/NAME-lab, where NAME is the scenario's name]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keep finished runs in the folder and run only the missing ones
    #[arg(long)]
    pub resume: bool,
    /// Replace existing output
    #[arg(long, conflicts_with = "resume")]
    pub overwrite: bool,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `duetime lab up`
#[derive(Args, Debug)]
pub struct LabUp {
    /// Scenario file
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Transports and settings.
    #[command(flatten)]
    pub choice: Choice,
    /// Factor that divides all rates and multiplies all times [default: the scenario's `lab.scale`, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub scale: Option<u32>,
    /// Policy file with deadlines for programs that set none
    #[arg(long, value_name = "POLICY.toml")]
    pub policy: Option<PathBuf>,
}

/// `duetime lab shell`
#[derive(Args, Debug)]
pub struct LabShell {
    /// Name of the host, such as `host0`, or `switch`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// Command to run [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
