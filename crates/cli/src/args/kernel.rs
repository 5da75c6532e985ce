//! Arguments of `duetime kernel`.

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

Both ends, including the listening socket, must select duetime_d2tcp (or duetime_dctcp); otherwise ECN is not negotiated.";

/// `duetime kernel`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Kernel {
    /// Subcommand to run.
    #[command(subcommand)]
    pub command: KernelCommand,
}

/// Subcommands of `duetime kernel`.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Attach both congestion controllers and the deadline option until Ctrl-C; SIGHUP reloads the policy.
    Attach(Attach),
    /// Show the sockets that use the congestion controllers, and their state.
    Status(Status),
    /// Stop the process that attached them, which restores the machine's previous state.
    Detach,
    /// Check this kernel for the required features and suggest fixes.
    Doctor,
    /// Print a systemd unit that attaches them with these options.
    Unit(Attach),
}

/// Computation of Tc, the completion estimate of a flow (D2TCP §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Completion {
    /// B / (3W/4).
    Approximate,
    /// Sum over the sawtooth.
    Precise,
}

/// `duetime kernel attach`, `duetime kernel unit`
#[derive(Args, Debug)]
pub struct Attach {
    /// Deadlines for programs that set none
    #[arg(long, value_name = "FILE.toml")]
    pub policy: Option<PathBuf>,
    /// Limit the deadline option to sockets created in this cgroup [default: all sockets]
    #[arg(long, value_name = "DIRECTORY")]
    pub cgroup: Option<PathBuf>,
    /// Programs cannot read the state of their deadlines, so that `getsockopt` costs no process more than before
    #[arg(long)]
    pub write_only: bool,
    /// Gain of the moving average α, as 2^-SHIFT
    #[arg(long, value_name = "SHIFT", default_value_t = 4)]
    pub gain_shift: u32,
    /// Initial α of a connection; with 1, about the first 16 windows ignore the deadline
    #[arg(long, value_name = "ALPHA", default_value_t = 1.0)]
    pub initial_alpha: f64,
    /// Smallest deadline imminence d
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    pub d_min: f64,
    /// Largest deadline imminence d
    #[arg(long, value_name = "D", default_value_t = 2.0)]
    pub d_max: f64,
    /// d after the deadline has passed, before clamping
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    pub d_expired: f64,
    /// Computation of the completion estimate
    #[arg(long, value_enum, default_value_t = Completion::Approximate)]
    pub completion: Completion,
    /// Minimum window after a reduction by marks, in segments
    #[arg(long, value_name = "SEGMENTS", default_value_t = 2)]
    pub min_window: u32,
}

/// `duetime kernel status`
#[derive(Args, Debug)]
pub struct Status {
    /// Refresh every second until Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "prometheus"])]
    pub watch: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "prometheus")]
    pub json: bool,
    /// Serve the status as Prometheus metrics over HTTP at /metrics until Ctrl-C
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
}
