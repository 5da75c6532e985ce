//! The process that has the congestion controllers attached, and how others ask it: one line over a local socket, one
//! JSON object back.

use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use duetime_kernel::{Attachment, Options, Policy, SocketState};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde_json::{Value, json};

use super::parameters;
use crate::args::kernel::Attach;
use crate::failure::Failure;
use crate::terminal::{stderr, stdout};

/// Root's alone.
const FOLDER: &str = "/run/duetime";
const SOCKET: &str = "/run/duetime/kernel.sock";

/// Asks the process that has attached the congestion controllers.
pub fn ask(what: &str) -> Result<Value, Failure> {
    let failed = |why: std::io::Error| {
        Failure::Input(match why.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                "nothing is attached here (sudo duetime kernel attach)".into()
            }
            ErrorKind::PermissionDenied => "this needs root".into(),
            _ => format!("{SOCKET}: {why}"),
        })
    };
    let mut stream = UnixStream::connect(SOCKET).map_err(failed)?;
    writeln!(stream, "{what}").map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    serde_json::from_str(&answer).map_err(|why| Failure::Runs(format!("{SOCKET}: {why}")))
}

/// Removes the socket that a killed process has left. One that is listened on stays.
pub fn remove_stale_socket() {
    let refused = UnixStream::connect(SOCKET).err().map(|why| why.kind());
    if refused == Some(ErrorKind::ConnectionRefused) {
        remove_socket();
    }
}

fn remove_socket() {
    let _ = remove_file(SOCKET);
    let _ = remove_dir(FOLDER);
}

/// `duetime kernel attach`
pub fn attach(args: &Attach) -> Result<(), Failure> {
    let policy = args.policy.as_deref().map(Policy::read).transpose()?;
    let options = Options {
        parameters: parameters(args),
        cgroup: args.cgroup.clone(),
        policy,
        ..Options::default()
    };
    let signals = signals()?;
    let mut attached = Attached {
        attachment: Attachment::attach(&options)?,
        since: Instant::now(),
        options,
    };
    let control = ControlSocket::open()?;
    writeln!(
        stdout(),
        "duetime_dctcp and duetime_d2tcp are attached{}; Ctrl-C detaches",
        args.policy.as_ref().map_or_else(String::new, |path| {
            format!(", {} is in force, SIGHUP reads it again", path.display())
        })
    )?;
    let last = serve(&mut attached, &control, &signals, args.policy.as_deref())?;
    let sockets = attached.attachment.sockets()?.len();
    drop(attached);
    match last {
        Some(mut stream) => answer(&mut stream, &json!({ "sockets": sockets })),
        None => writeln!(stdout(), "detached")?,
    }
    Ok(())
}

struct Attached {
    attachment: Attachment,
    since: Instant,
    options: Options,
}

/// Serves until a signal, or until somebody asks for the end, who is to be answered after it.
fn serve(
    attached: &mut Attached,
    control: &ControlSocket,
    signals: &SignalFd,
    policy: Option<&Path>,
) -> Result<Option<UnixStream>, Failure> {
    loop {
        let mut ready = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(control.0.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(why) => return Err(Failure::Runs(format!("poll: {why}"))),
        }
        let signal = signals.read_signal().ok().flatten();
        match signal.map(|it| it.ssi_signo) {
            Some(number) if number == Signal::SIGHUP as u32 => reload(attached, policy),
            Some(_) => return Ok(None),
            None => {}
        }
        let Ok((mut stream, _)) = control.0.accept() else {
            continue;
        };
        match asked(&stream).as_deref() {
            Some("detach") => return Ok(Some(stream)),
            Some("status") => {
                let status = attached.status();
                answer(&mut stream, &status);
            }
            _ => {}
        }
    }
}

/// What somebody asks; who says nothing within a second asks nothing.
fn asked(stream: &UnixStream) -> Option<String> {
    let patience = Some(Duration::from_secs(1));
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(patience).ok()?;
    stream.set_write_timeout(patience).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(64)).read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

/// Whoever asked may be gone.
fn answer(stream: &mut UnixStream, value: &Value) {
    let _ = writeln!(stream, "{value}");
}

/// Reads the policy again. One with a mistake leaves the old in force.
fn reload(attached: &mut Attached, path: Option<&Path>) {
    let Some(path) = path else {
        let _ = writeln!(stderr(), "there is no policy to read again (--policy)");
        return;
    };
    let read = Policy::read(path).map_err(|error| error.to_string());
    let set = read.and_then(|policy| {
        let set = attached.attachment.set_policy(&policy);
        set.map_err(|error| error.to_string()).map(|()| policy)
    });
    let _ = match set {
        Ok(policy) => {
            let rules = policy.rules.len();
            attached.options.policy = Some(policy);
            writeln!(stdout(), "{}: {rules} rules are in force", path.display())
        }
        Err(error) => writeln!(stderr(), "error: {error}\nthe old policy stays in force"),
    };
}

impl Attached {
    fn status(&self) -> Value {
        let sockets = match self.attachment.sockets() {
            Ok(sockets) => sockets,
            Err(error) => return json!({ "error": error.to_string() }),
        };
        let parameters = &self.options.parameters;
        json!({
            "pid": std::process::id(),
            "attached_s": self.since.elapsed().as_secs(),
            "rules": self.options.policy.as_ref().map_or(0, |policy| policy.rules.len()),
            "parameters": {
                "gain_shift": parameters.gain_shift,
                "initial_alpha": parameters.initial_alpha,
                "d_min": parameters.d_min,
                "d_max": parameters.d_max,
                "d_expired": parameters.d_expired,
                "min_window": parameters.min_window,
            },
            "sockets": sockets.iter().map(socket).collect::<Vec<_>>(),
        })
    }
}

fn socket(it: &SocketState) -> Value {
    json!({
        "congestion_control": it.algorithm.name(),
        "local": it.local.to_string(),
        "remote": it.remote.to_string(),
        "network_namespace": it.network_namespace,
        "tcp_state": it.tcp_state,
        "ecn": it.ecn,
        "alpha": it.alpha.to_f64(),
        "imminence": it.imminence.to_f64(),
        "messages": it.messages,
        "remaining_bytes": it.message.map(|message| message.remaining_bytes),
        "left_us": it.message.map(|message| message.left_ns / 1_000),
        "cwnd_segments": it.cwnd,
        "ssthresh_segments": (it.ssthresh < i32::MAX as u32).then_some(it.ssthresh),
        "mss_bytes": it.mss,
        "srtt_us": it.srtt_us,
        "acked_bytes": it.bytes_acked,
        "delivered_packets": it.delivered,
        "marked_packets": it.marks,
        "reductions": it.reductions,
        "losses": it.losses,
        "retransmits": it.retransmits,
    })
}

/// The signals that end this process or make it read its policy again, as something to wait for.
fn signals() -> Result<SignalFd, Failure> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()
        .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|why| Failure::Input(format!("signals: {why}")))
}

/// The socket at which others ask; its file is there as long as this is.
struct ControlSocket(UnixListener);

impl ControlSocket {
    /// Whoever is attached holds the names in the kernel, so what lies here is left by a process that was killed.
    fn open() -> Result<Self, Failure> {
        let failed = |why: std::io::Error| Failure::Input(format!("{SOCKET}: {why}"));
        match DirBuilder::new().mode(0o700).create(FOLDER) {
            Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(failed(why)),
            _ => {}
        }
        let _ = remove_file(SOCKET);
        let listener = UnixListener::bind(SOCKET).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self(listener))
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        remove_socket();
    }
}
