//! Configuration of a host's kernel for the scenario's transport, as far as the kernel supports it.

use std::fs;

use duetime_core::Span;
use duetime_proto::tcp::Config;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::linux::namespace::run;
use crate::linux::plan;
use crate::linux::socket;
use crate::linux::transport::Stack;

/// Bytes of IP and TCP headers without options.
pub const TCP_HEADERS: u32 = 40;
/// Largest receive window, half of a receiving socket's memory, in bytes.
const MAX_WINDOW: u64 = 32 << 20;
/// Kernel's timeout before the first round-trip measurement (RFC 6298 §2.1).
const KERNEL_RTO_INITIAL: Span = Span::from_secs(1);

/// Setting of the scenario that the kernel does not support.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refused {
    /// Key of the scenario.
    pub key: String,
    /// Requested value and the kernel's behaviour instead.
    pub why: String,
}

impl Refused {
    pub(crate) fn new(key: &str, why: impl Into<String>) -> Self {
        Self {
            key: key.to_owned(),
            why: why.into(),
        }
    }
}

/// Loss recovery of senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// SACK, RACK-TLP and F-RTO, as in the kernel's defaults.
    #[default]
    Kernel,
    /// Only duplicate acknowledgements and timeouts, as in the papers' TCP.
    Plain,
}

/// Settings shared by all hosts of a run.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Options of the kernel's TCP, from the first transport that runs on it.
    config: Config,
    /// Congestion controller of sockets that select none.
    congestion_control: String,
    /// True if no transport runs on the kernel's TCP.
    is_idle: bool,
    /// Maximum IP packet size, so that a full segment has the scenario's size.
    mtu: u32,
    recovery: Recovery,
}

impl Tuning {
    /// Returns the tuning of hosts with these stacks.
    pub fn of(stacks: &[Stack], recovery: Recovery) -> Self {
        let kernel = stacks.iter().find_map(Stack::kernel);
        let congestion_control = kernel.map_or("reno", |kernel| &kernel.congestion_control);
        let mtu = stacks.iter().map(Stack::mtu).max();
        Self {
            config: kernel.map(|kernel| kernel.config).unwrap_or_default(),
            congestion_control: congestion_control.to_owned(),
            is_idle: kernel.is_none(),
            mtu: mtu.unwrap_or(1500),
            recovery,
        }
    }

    /// Returns the MTU of the hosts' interfaces.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Configures the host in the calling thread's namespace, which already has its interface `eth0`. Returns the
    /// settings that the kernel does not support.
    pub fn host(&self, host: u32, hosts: u32) -> Result<Vec<Refused>, LabError> {
        let mut refused = Vec::new();
        run("ip", &["-batch", "-"], &self.commands(host, hosts))?;
        duetime_switch::disable_offloads("eth0")?;
        for (key, value) in self.settings() {
            let path = format!("/proc/sys/net/{key}");
            let is_set = || fs::read_to_string(&path).is_ok_and(|now| now.trim() == value);
            if let Err(error) = fs::write(&path, &value)
                && !is_set()
            {
                refused.push(Refused::new(
                    "host",
                    format!("net/{key} = {value}: {error}"),
                ));
            }
        }
        let us = self.config.rto_min.as_ns() / 1_000;
        if fs::write("/proc/sys/net/ipv4/tcp_rto_min_us", us.to_string()).is_err() {
            // Before Linux 6.11, only routes have a minimum timeout, in milliseconds.
            let ms = us.div_ceil(1_000).max(1);
            let route = format!("{} rto_min {ms}ms", self.route(host));
            if run("ip", &["-batch", "-"], &route).is_err() {
                refused.push(Refused::new("tcp.rto_min", "the kernel keeps its 200 ms"));
            }
        }
        if !self.is_idle {
            refused.extend(self.unsupported());
        }
        Ok(refused)
    }

    fn route(&self, host: u32) -> String {
        let config = &self.config;
        let quickack = u8::from(config.delayed_ack == 1);
        let address = socket::address(host);
        // The window is limited by the memory of sockets and by the scenario.
        let window = config.receive_window.min(MAX_WINDOW);
        format!(
            "route replace 10.0.0.0/16 dev eth0 src {address} initcwnd {} quickack {quickack} window {window}",
            config.initial_window
        )
    }

    fn commands(&self, host: u32, hosts: u32) -> String {
        let mut lines = vec![
            "link set lo up".to_owned(),
            format!(
                "link set eth0 address {} mtu {} txqueuelen 10000 up",
                colons(plan::mac(host)),
                self.mtu
            ),
            format!("addr add {}/32 dev eth0", socket::address(host)),
            self.route(host),
        ];
        for other in (0..hosts).filter(|&other| other != host) {
            let (address, mac) = (socket::address(other), colons(plan::mac(other)));
            lines.push(format!(
                "neigh replace {address} lladdr {mac} dev eth0 nud permanent"
            ));
        }
        lines.join("\n") + "\n"
    }

    /// Returns settings below `/proc/sys/net`.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let config = &self.config;
        let plain = self.recovery == Recovery::Plain;
        let on = |on: bool| u8::from(on).to_string();
        let mut settings = vec![
            ("ipv6/conf/all/disable_ipv6", on(true)),
            // Default for programs that select none.
            (
                "ipv4/tcp_congestion_control",
                self.congestion_control.clone(),
            ),
            // Controllers that react to marks request ECN themselves; other sockets must not.
            ("ipv4/tcp_ecn", "2".to_owned()),
            (
                "ipv4/tcp_slow_start_after_idle",
                on(config.slow_start_restart),
            ),
            ("ipv4/tcp_autocorking", on(false)),
            ("ipv4/tcp_no_metrics_save", on(true)),
            // A receiver's packets use the class of its sender's packets.
            ("ipv4/tcp_reflect_tos", on(true)),
            // Timestamps add twelve bytes to every segment, which the simulator's segments do not have.
            ("ipv4/tcp_timestamps", on(false)),
            ("ipv4/tcp_sack", on(!plain)),
            ("ipv4/tcp_syncookies", on(false)),
            ("ipv4/tcp_max_syn_backlog", "4096".to_owned()),
            ("core/somaxconn", "4096".to_owned()),
            ("ipv4/ip_local_port_range", "10000 65001".to_owned()),
            // Windows must not be limited by memory.
            ("ipv4/tcp_rmem", "4096 4194304 67108864".to_owned()),
            ("ipv4/tcp_wmem", "4096 1048576 67108864".to_owned()),
        ];
        if plain {
            settings.extend([
                ("ipv4/tcp_recovery", on(false)),
                ("ipv4/tcp_early_retrans", on(false)),
                ("ipv4/tcp_frto", on(false)),
            ]);
        }
        settings
    }

    /// Returns the scenario's options that no kernel setting provides.
    fn unsupported(&self) -> Vec<Refused> {
        let config = &self.config;
        let mut refused = Vec::new();
        let segment = self.mtu - TCP_HEADERS;
        if config.mss != segment {
            refused.push(Refused::new(
                "tcp.mss",
                format!(
                    "{} B requested; with D3's packet size, the kernel sends {segment} B",
                    config.mss
                ),
            ));
        }
        if config.rto_initial != KERNEL_RTO_INITIAL {
            refused.push(Refused::new(
                "tcp.rto_initial",
                format!(
                    "{} requested; the kernel waits {KERNEL_RTO_INITIAL} before the first round-trip measurement",
                    config.rto_initial
                ),
            ));
        }
        if config.delayed_ack > 2 {
            refused.push(Refused::new(
                "tcp.delayed_ack",
                format!(
                    "{} segments requested; the kernel acknowledges every second segment",
                    config.delayed_ack
                ),
            ));
        }
        if config.ack_coalescing.is_some() {
            refused.push(Refused::new(
                "tcp.ack_coalescing",
                "the testbed's interfaces have no receive offload",
            ));
        }
        if config.slow_start_limit == 1 && config.delayed_ack > 1 {
            refused.push(Refused::new(
                "tcp.slow_start_limit",
                "1 requested; the kernel grows the window by all acknowledged segments",
            ));
        }
        refused
    }
}

fn colons(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
