//! What may be typed after `duetime kernel`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  sudo duetime kernel doctor
  sudo duetime kernel attach --policy policy.toml
  sudo duetime kernel status --watch
  sudo duetime kernel status --prometheus 127.0.0.1:9980
  duetime kernel unit --policy /etc/duetime/policy.toml | sudo tee /etc/systemd/system/duetime-kernel.service

Both ends must choose duetime_d2tcp (or duetime_dctcp), the listening socket included, or ECN is not negotiated.";

/// `duetime kernel`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Kernel {
    /// What to do.
    #[command(subcommand)]
    pub command: KernelCommand,
}

/// What to do with the running kernel.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Attach both congestion controllers and the deadline option until Ctrl-C; SIGHUP reads the policy again.
    Attach(Attach),
    /// Show the sockets that use the congestion controllers, and their state.
    Status(Status),
    /// Stop the process that has attached them; the machine is as it was before.
    Detach,
    /// Say what this kernel has and lacks of what they need, and what to do.
    Doctor,
    /// Print a systemd unit that attaches them with these options.
    Unit(Attach),
}

/// How Tc, the time that a flow needs, is computed (D2TCP §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Completion {
    /// B / (3W/4).
    Approximate,
    /// The sawtooth summed.
    Precise,
}

/// `duetime kernel attach`, `duetime kernel unit`
#[derive(Args, Debug)]
pub struct Attach {
    /// Deadlines for programs that set none
    #[arg(long, value_name = "FILE.toml")]
    pub policy: Option<PathBuf>,
    /// Only sockets made in this cgroup have the deadline option [default: all]
    #[arg(long, value_name = "DIRECTORY")]
    pub cgroup: Option<PathBuf>,
    /// The gain of the average α is 2^-SHIFT
    #[arg(long, value_name = "SHIFT", default_value_t = 4)]
    pub gain_shift: u32,
    /// α of a fresh connection; at 1, the first 16 windows or so ignore the deadline
    #[arg(long, value_name = "ALPHA", default_value_t = 1.0)]
    pub initial_alpha: f64,
    /// Smallest deadline imminence d
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    pub d_min: f64,
    /// Largest deadline imminence d
    #[arg(long, value_name = "D", default_value_t = 2.0)]
    pub d_max: f64,
    /// d of a flow whose deadline has passed, before the clamp
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    pub d_expired: f64,
    /// How the time that a flow needs is computed
    #[arg(long, value_enum, default_value_t = Completion::Approximate)]
    pub completion: Completion,
    /// Floor of the window after a reduction by marks, in segments
    #[arg(long, value_name = "SEGMENTS", default_value_t = 2)]
    pub min_window: u32,
}

/// `duetime kernel status`
#[derive(Args, Debug)]
pub struct Status {
    /// Show it again each second, until Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "prometheus"])]
    pub watch: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "prometheus")]
    pub json: bool,
    /// Serve it as Prometheus metrics over HTTP at /metrics, until Ctrl-C
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
}
