//! One transfer between a sending and a receiving process, each in its namespace and on its processor. Both report
//! their cost.

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

/// Time without output, beyond the sending time, after which a process is considered hung.
const HANG_TIMEOUT: Duration = Duration::from_secs(30);

/// Result of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Application bytes written or received.
    pub(super) bytes: f64,
    /// Seconds from the first byte to the last.
    pub(super) seconds: f64,
    /// Processor time, user and system, in seconds.
    pub(super) cpu: f64,
}

/// Results of both processes, and the kernel's share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) sender: End,
    pub(super) receiver: End,
    /// Processor time of ksoftirqd in seconds: soft interrupts outside of the two processes, on the whole machine.
    pub(super) ksoftirqd: f64,
}

impl Transfer {
    /// Returns the goodput in Gbps: bytes received over the receiver's time.
    pub(super) fn gbps(&self) -> f64 {
        self.receiver.bytes * 8.0 / self.receiver.seconds / 1e9
    }

    /// Returns the bytes received, in gigabytes.
    pub(super) fn gigabytes(&self) -> f64 {
        self.receiver.bytes / 1e9
    }
}

/// Sends for `milliseconds` and waits until all data has arrived.
pub(super) fn transfer(
    network: &Network,
    kind: &str,
    milliseconds: u64,
) -> Result<Transfer, String> {
    let before = ksoftirqd_seconds();
    let mut receiver = Measured::start(network, Side::Receiver, kind, milliseconds, "")?;
    // For transports whose sender needs more than the receiver's address, such as a certificate.
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

/// Measured process, killed when dropped.
struct Measured {
    name: String,
    child: Child,
    lines: mpsc::Receiver<String>,
    timeout: Duration,
}

impl Drop for Measured {
    fn drop(&mut self) {
        // The process has already ended, or something has failed.
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
        let output = child.stdout.take().ok_or("the output is piped")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            name,
            child,
            lines,
            timeout: HANG_TIMEOUT + Duration::from_millis(milliseconds),
        })
    }

    /// Returns the next line that the process prints.
    fn line(&mut self) -> Result<String, String> {
        let line = self.lines.recv_timeout(self.timeout);
        line.map_err(|why| match why {
            mpsc::RecvTimeoutError::Timeout => format!("{}: timed out", self.name),
            mpsc::RecvTimeoutError::Disconnected => format!("{} failed", self.name),
        })
    }
}

/// Runs the measured process with the arguments `SIDE NAMESPACE KIND MILLISECONDS INTRODUCTION`.
pub(crate) fn child(arguments: &[&str]) -> Result<(), String> {
    let &[side, namespace, kind, milliseconds, introduction] = arguments else {
        return Err("host-child is for internal use".to_owned());
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
    print_line(&json!({ "bytes": bytes, "seconds": seconds, "cpu": cpu }).to_string())?;
    // The transport may still have to answer the other side, so the process waits until it is killed.
    let mut rest = Vec::new();
    std::io::stdin()
        .read_to_end(&mut rest)
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// Start of the measured processor time.
#[derive(Debug, Default)]
pub(super) struct Meter {
    before: f64,
}

impl Meter {
    /// Starts measuring, after the set-up.
    pub(super) fn start(&mut self) -> Result<(), String> {
        self.before = cpu_seconds()?;
        Ok(())
    }

    /// Announces that the receiver is ready, passes `introduction` to the sender and starts measuring.
    pub(super) fn ready(&mut self, introduction: &str) -> Result<(), String> {
        print_line(introduction)?;
        self.start()
    }
}

/// Pins a side to one processor, as if each host had only one.
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

/// Returns the user and system time of all threads of this process, in seconds.
fn cpu_seconds() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Returns the processor time of the kernel's soft-interrupt threads, in seconds.
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

fn print_line(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}
