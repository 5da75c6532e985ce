//! The process that attaches the congestion controllers, and its control protocol: a request line over a local socket,
//! answered with a JSON object.

use std::ffi::OsStr;
use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use duetime_kernel::{Algorithm, Attachment, Error, HostDefault, Options, Policy, SocketState};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde_json::{Value, json};

use super::{count_by_name, parameters, print_restored};
use crate::args::kernel::Attach;
use crate::failure::Failure;
use crate::terminal::{stderr, stdout};

/// Only accessible to root.
const FOLDER: &str = "/run/duetime";
const SOCKET: &str = "/run/duetime/kernel.sock";
/// Maximum time until the process answers a request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a request to the process that attached the congestion controllers and returns its answer.
pub fn ask(request: &str) -> Result<Value, Failure> {
    let failed = |why: std::io::Error| {
        Failure::Input(match why.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                "nothing is attached here (sudo duetime kernel attach)".into()
            }
            ErrorKind::PermissionDenied => "requires root".into(),
            _ => format!("{SOCKET}: {why}"),
        })
    };
    let mut stream = UnixStream::connect(SOCKET).map_err(failed)?;
    let timeout = Some(ANSWER_TIMEOUT);
    stream.set_read_timeout(timeout).map_err(failed)?;
    writeln!(stream, "{request}").map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    serde_json::from_str(&answer).map_err(|why| Failure::Runs(format!("{SOCKET}: {why}")))
}

/// Removes the socket of a killed process. A socket with a listener is kept.
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

/// Runs `duetime kernel attach`.
pub fn attach(args: &Attach) -> Result<(), Failure> {
    let policy = args.policy.as_deref().map(Policy::read).transpose()?;
    let options = Options {
        parameters: parameters(args),
        cgroup: args.cgroup.clone(),
        policy,
        write_only: args.write_only,
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
        "duetime_dctcp and duetime_d2tcp are attached{}; press Ctrl-C to detach",
        args.policy.as_ref().map_or_else(String::new, |path| {
            format!(" with the policy {} (SIGHUP reloads it)", path.display())
        })
    )?;
    for (name, count) in count_by_name(&attached.attachment.defaults()) {
        writeln!(
            stdout(),
            "net.ipv4.tcp_congestion_control is {name} in {count}, which use it from now on"
        )?;
    }
    if !attached.attachment.lists_sockets() {
        writeln!(stderr(), "note: {}", Error::NoList)?;
    }
    notify_ready();
    let last = serve(&mut attached, &control, &signals, args.policy.as_deref())?;
    // Unknown if the sockets cannot be listed.
    let sockets = attached.attachment.sockets().ok().map(|list| list.len());
    let restored = attached.attachment.restore_defaults();
    drop(attached);
    if let Some(mut stream) = last {
        let restored: Vec<Value> = restored.iter().map(default).collect();
        let status = json!({ "sockets": sockets, "restored_defaults": restored });
        answer(&mut stream, &status);
        return Ok(());
    }
    writeln!(stdout(), "detached")?;
    print_restored(&restored)
}

/// Informs systemd, if it started this process, that everything is attached (`sd_notify(3)`).
fn notify_ready() {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        path => SocketAddr::from_pathname(OsStr::from_bytes(path)),
    };
    let send = |address| UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address);
    if let Err(why) = address.and_then(send) {
        let _ = writeln!(stderr(), "note: NOTIFY_SOCKET: {why}");
    }
}

struct Attached {
    attachment: Attachment,
    since: Instant,
    options: Options,
}

/// Serves requests until a signal or a request to detach, whose stream is returned to be answered afterwards.
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
        match signal.map(|info| info.ssi_signo) {
            Some(number) if number == Signal::SIGHUP as u32 => reload(attached, policy),
            Some(_) => return Ok(None),
            None => {}
        }
        let Ok((mut stream, _)) = control.0.accept() else {
            continue;
        };
        match read_request(&stream).as_deref() {
            Some("detach") => return Ok(Some(stream)),
            Some("status") => {
                let status = attached.status();
                answer(&mut stream, &status);
            }
            _ => {}
        }
    }
}

/// Reads a request, or returns `None` if none arrives within a second.
fn read_request(stream: &UnixStream) -> Option<String> {
    let timeout = Some(Duration::from_secs(1));
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(timeout).ok()?;
    stream.set_write_timeout(timeout).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(64)).read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

/// Sends an answer, ignoring clients that disconnected.
fn answer(stream: &mut UnixStream, value: &Value) {
    let _ = writeln!(stream, "{value}");
}

/// Reloads the policy. An invalid policy leaves the old one active.
fn reload(attached: &mut Attached, path: Option<&Path>) {
    let Some(path) = path else {
        let _ = writeln!(stderr(), "no policy to reload (--policy)");
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
            writeln!(stdout(), "{}: {rules} rules are active", path.display())
        }
        Err(error) => writeln!(stderr(), "error: {error}\nthe old policy stays active"),
    };
}

impl Attached {
    fn status(&self) -> Value {
        let (sockets, error) = match self.attachment.sockets() {
            Ok(sockets) => (Some(sockets.iter().map(socket).collect::<Vec<_>>()), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let totals = [Algorithm::Dctcp, Algorithm::D2tcp].map(|algorithm| self.totals(algorithm));
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
            "policy_generation": self.attachment.policy_generation(),
            "totals": totals,
            "sockets": sockets,
            "sockets_error": error,
        })
    }

    /// Returns the totals of a controller, or an object with only its name if they cannot be read.
    fn totals(&self, algorithm: Algorithm) -> Value {
        let name = algorithm.name();
        match self.attachment.totals(algorithm) {
            Ok(totals) => json!({
                "congestion_control": name,
                "opened": totals.opened,
                "closed": totals.closed,
                "acked_bytes": totals.acked_bytes,
                "delivered_packets": totals.delivered,
                "marked_packets": totals.marks,
                "reductions": totals.reductions,
                "losses": totals.losses,
                "deadlines_met": totals.met,
                "deadlines_missed": totals.missed,
            }),
            Err(_) => json!({ "congestion_control": name }),
        }
    }
}

fn default(default: &HostDefault) -> Value {
    json!({
        "network_namespace": default.namespace,
        "congestion_control": default.name,
    })
}

fn socket(state: &SocketState) -> Value {
    json!({
        "congestion_control": state.algorithm.name(),
        "local": state.local.to_string(),
        "remote": state.remote.to_string(),
        "network_namespace": state.network_namespace,
        "tcp_state": state.tcp_state,
        "ecn": state.ecn,
        "alpha": state.alpha.to_f64(),
        "imminence": state.imminence.to_f64(),
        "messages": state.messages,
        "remaining_bytes": state.message.map(|message| message.remaining_bytes),
        "left_us": state.message.map(|message| message.left_ns / 1_000),
        "cwnd_segments": state.cwnd,
        "ssthresh_segments": (state.ssthresh < i32::MAX as u32).then_some(state.ssthresh),
        "mss_bytes": state.mss,
        "srtt_us": state.srtt_us,
        "acked_bytes": state.bytes_acked,
        "delivered_packets": state.delivered,
        "marked_packets": state.marks,
        "reductions": state.reductions,
        "losses": state.losses,
        "retransmits": state.retransmits,
    })
}

/// Returns a descriptor of the signals that end this process or reload its policy.
fn signals() -> Result<SignalFd, Failure> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()
        .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|why| Failure::Input(format!("signals: {why}")))
}

/// Control socket, whose file is removed when this is dropped.
struct ControlSocket(UnixListener);

impl ControlSocket {
    /// Opens the socket. Only one process can be attached at a time, so an existing file is left by a killed process.
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
