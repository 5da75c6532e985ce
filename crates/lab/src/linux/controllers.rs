//! The kernel's congestion controllers, attached with the parameters of a run.

use std::os::fd::BorrowedFd;
#[cfg(feature = "bpf")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
#[cfg(feature = "bpf")]
use std::time::Instant;

use duetime_core::Span;
use duetime_kernel::Policy;
use duetime_kernel::deadline::{self, Deadline};
use duetime_proto::window::{Completion, CongestionControl, D2tcp, Dctcp};

use crate::LabError;
use crate::linux::socket::has_congestion_control;
use crate::linux::transport::{Kernel, Stack};

/// Maximum wait for the kernel to free the controllers of a run that has just ended.
#[cfg(feature = "bpf")]
const FREE_TIMEOUT: Duration = Duration::from_secs(3);

/// Locked while a run of this process has the controllers attached: runs of one process wait for each other.
#[cfg(feature = "bpf")]
static ATTACHED: Mutex<()> = Mutex::new(());

/// Handle that keeps the controllers in the kernel.
#[cfg(feature = "bpf")]
type Loaded = (duetime_kernel::Attachment, MutexGuard<'static, ()>);
#[cfg(not(feature = "bpf"))]
type Loaded = ();

/// Congestion controllers of a run, attached until dropped.
pub struct Controllers {
    _loaded: Option<Loaded>,
}

impl Controllers {
    /// Attaches the controllers that the stacks of a run need and the kernel lacks, with a policy for programs that set
    /// no deadlines.
    pub fn new(stacks: &[Stack], policy: Option<&Policy>) -> Result<Self, LabError> {
        let mut needed: Option<(duetime_kernel::Parameters, &str)> = None;
        let stacks: Vec<&Kernel> = stacks.iter().filter_map(Stack::kernel).collect();
        for stack in &stacks {
            let Some(parameters) = parameters(stack) else {
                continue;
            };
            match needed {
                Some((other, name)) if other != parameters => {
                    return Err(LabError::Unsupported(format!(
                        "`{name}` and `{}` run concurrently with different options; the kernel has one set",
                        stack.name
                    )));
                }
                _ => needed = Some((parameters, &stack.name)),
            }
        }
        let loaded = match needed {
            Some((parameters, _)) => Some(load(parameters, policy)?),
            None => None,
        };
        for stack in stacks {
            let name = &stack.congestion_control;
            has_congestion_control(name)
                .map_err(|why| LabError::Kernel(format!("this kernel has no `{name}`: {why}")))?;
        }
        Ok(Self { _loaded: loaded })
    }
}

#[cfg(feature = "bpf")]
fn load(
    parameters: duetime_kernel::Parameters,
    policy: Option<&Policy>,
) -> Result<Loaded, LabError> {
    let options = duetime_kernel::Options {
        parameters,
        policy: policy.cloned(),
        ..duetime_kernel::Options::default()
    };
    let turn = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    loop {
        match duetime_kernel::Attachment::attach(&options) {
            Err(duetime_kernel::Error::Attached { .. }) if began.elapsed() < FREE_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(200));
            }
            result => {
                let attachment = result.map_err(|error| LabError::Kernel(error.to_string()))?;
                return Ok((attachment, turn));
            }
        }
    }
}

#[cfg(not(feature = "bpf"))]
fn load(
    _parameters: duetime_kernel::Parameters,
    _policy: Option<&Policy>,
) -> Result<Loaded, LabError> {
    let why = "this build cannot attach them; build with the feature `lab` of duetime-cli";
    Err(LabError::Kernel(why.to_owned()))
}

/// Returns the parameters of the kernel's controllers for a stack, or `None` if it uses none of them.
fn parameters(stack: &Kernel) -> Option<duetime_kernel::Parameters> {
    let shared = |marks: Dctcp| duetime_kernel::Parameters {
        gain_shift: u32::from(marks.gain_shift),
        initial_alpha: marks.initial_alpha,
        min_window: stack.config.min_window,
        ..duetime_kernel::Parameters::default()
    };
    match stack.config.congestion_control {
        CongestionControl::NewReno | CongestionControl::Cubic(_) => None,
        CongestionControl::Dctcp(marks) => Some(shared(marks)),
        CongestionControl::D2tcp(marks, deadlines) => {
            let D2tcp {
                d_min,
                d_max,
                d_expired,
                completion,
            } = deadlines;
            Some(duetime_kernel::Parameters {
                d_min,
                d_max,
                d_expired,
                completion: match completion {
                    Completion::Approximate => duetime_kernel::Completion::Approximate,
                    Completion::Precise => duetime_kernel::Completion::Precise,
                },
                ..shared(marks)
            })
        }
    }
}

/// Announces the next message of a socket: its bytes, and the time until its deadline. Returns false if the kernel
/// cannot store more messages for the socket; this message then has no deadline.
pub fn announce(socket: BorrowedFd<'_>, bytes: u64, left: Span) -> std::io::Result<bool> {
    // A late message is due immediately; the controller decides how to handle it.
    let within = Duration::from_nanos(left.as_ns()).max(Duration::from_micros(1));
    match deadline::set(socket, &Deadline { bytes, within }) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(false),
        Err(error) => Err(error),
    }
}
