//! One transfer: a sending and a receiving process, each in its namespace and on its processor, which say what it cost them.

use super::network::{Network, Side, enter};
use super::transports;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A process that has said nothing for so long beyond its sending time hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What one process says of its transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Bytes of the application: written, or received.
    pub(super) bytes: f64,
    /// From the first byte to the last, in seconds.
    pub(super) seconds: f64,
    /// Processor time, user and system, in seconds.
    pub(super) cpu: f64,
}

/// What both say, and what the kernel's threads took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) sender: End,
    pub(super) receiver: End,
    /// Processor time of ksoftirqd, in seconds: soft interrupts outside of the two processes, on all of the machine.
    pub(super) ksoftirqd: f64,
}

impl Transfer {
    /// The goodput in Gbps: what has arrived, in the receiver's time.
    pub(super) fn gbps(&self) -> f64 {
        self.receiver.bytes * 8.0 / self.receiver.seconds / 1e9
    }

    /// What has arrived, in gigabytes.
    pub(super) fn gigabytes(&self) -> f64 {
        self.receiver.bytes / 1e9
    }
}

/// Sends for so long, and waits until all of it has arrived.
pub(super) fn transfer(
    network: &Network,
    kind: &str,
    milliseconds: u64,
) -> Result<Transfer, String> {
    let before = ksoftirqd_seconds();
    let mut receiver = Measured::start(network, Side::Receiver, kind, milliseconds, "")?;
    // Where it is known to the sender by something else than its address.
    let introduction = receiver.line()?;
    let mut sender = Measured::start(network, Side::Sender, kind, milliseconds, &introduction)?;
    Ok(Transfer {
        sender: End::parse(&sender.line()?)?,
        receiver: End::parse(&receiver.line()?)?,
        ksoftirqd: ksoftirqd_seconds() - before,
    })
}

impl End {
    fn parse(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|_| line.to_owned())?;
        let number = |key: &str| value[key].as_f64().ok_or_else(|| line.to_owned());
        Ok(Self {
            bytes: number("bytes")?,
            seconds: number("seconds")?,
            cpu: number("cpu")?,
        })
    }
}

/// A process that is ended when this is dropped.
struct Measured {
    name: String,
    child: Child,
    lines: mpsc::Receiver<String>,
    patience: Duration,
}

impl Drop for Measured {
    fn drop(&mut self) {
        // It has ended by itself, or something has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Measured {
    fn start(
        network: &Network,
        side: Side,
        kind: &str,
        milliseconds: u64,
        introduction: &str,
    ) -> Result<Self, String> {
        let name = format!("{kind} {}", side.name());
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .args(["host-child", side.name(), &network.path(side), kind])
            .args([&milliseconds.to_string(), introduction])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = child.stdout.take().ok_or("it is piped")?;
        let (told, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if told.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            name,
            child,
            lines,
            patience: PATIENCE + Duration::from_millis(milliseconds),
        })
    }

    /// The next line that it prints.
    fn line(&mut self) -> Result<String, String> {
        let line = self.lines.recv_timeout(self.patience);
        line.map_err(|why| match why {
            mpsc::RecvTimeoutError::Timeout => format!("{}: no end", self.name),
            mpsc::RecvTimeoutError::Disconnected => format!("{} failed", self.name),
        })
    }
}

/// The measured process: `SIDE NAMESPACE KIND MILLISECONDS INTRODUCTION`.
pub(crate) fn child(arguments: &[&str]) -> Result<(), String> {
    let &[side, namespace, kind, milliseconds, introduction] = arguments else {
        return Err("host-child is for this program alone".to_owned());
    };
    let side = Side::parse(side)?;
    let milliseconds = milliseconds.parse().map_err(|_| "a time in milliseconds")?;
    let duration = Duration::from_millis(milliseconds);
    enter(namespace)?;
    stay_on_one_processor(side)?;
    let mut meter = Meter::default();
    let (bytes, seconds) = match side {
        Side::Sender => transports::send(kind, introduction, duration, &mut meter)?,
        Side::Receiver => transports::receive(kind, &mut meter)?,
    };
    let cpu = cpu_seconds()? - meter.before;
    say(&json!({ "bytes": bytes, "seconds": seconds, "cpu": cpu }).to_string())?;
    // Its transport may still have to answer the other side: the process stays until it is ended.
    let mut rest = Vec::new();
    std::io::stdin()
        .read_to_end(&mut rest)
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// Where a transport's processor time begins to count.
#[derive(Debug, Default)]
pub(super) struct Meter {
    before: f64,
}

impl Meter {
    /// All is set up.
    pub(super) fn start(&mut self) -> Result<(), String> {
        self.before = cpu_seconds()?;
        Ok(())
    }

    /// The receiver is ready, and the sender may know this of it.
    pub(super) fn ready(&mut self, introduction: &str) -> Result<(), String> {
        say(introduction)?;
        self.start()
    }
}

/// Each side has one processor, as two hosts with one each.
fn stay_on_one_processor(side: Side) -> Result<(), String> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = match side {
        Side::Sender => 0,
        Side::Receiver => 1,
    };
    let mut set = CpuSet::new();
    set.set(processor % available)
        .map_err(|error| error.to_string())?;
    sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| error.to_string())
}

/// User and system time of all threads of this process.
fn cpu_seconds() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Processor time of the kernel's threads for soft interrupts.
fn ksoftirqd_seconds() -> f64 {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0.0;
    };
    let seconds = processes.filter_map(|process| {
        let path = process.ok()?.path();
        let name = fs::read_to_string(path.join("comm")).ok()?;
        name.starts_with("ksoftirqd/").then_some(())?;
        let statistics = fs::read_to_string(path.join("schedstat")).ok()?;
        let nanoseconds: f64 = statistics.split(' ').next()?.parse().ok()?;
        Some(nanoseconds / 1e9)
    });
    seconds.sum()
}

fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}
