//! Two anonymous network namespaces connected by a veth pair. They are removed with their last descriptor, however the
//! process ends.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::Command;

/// Maximum size of an IP packet in bytes.
pub(super) const MTU: u32 = 1_500;

/// Both hosts.
#[derive(Debug)]
pub(super) struct Network {
    sender: File,
    receiver: File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

impl Side {
    /// Returns the name that is passed to the measured process.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    pub(super) fn parse(name: &str) -> Result<Self, String> {
        [Self::Sender, Self::Receiver]
            .into_iter()
            .find(|side| side.name() == name)
            .ok_or_else(|| format!("no such side: {name}"))
    }

    pub(super) const fn address(self) -> Ipv4Addr {
        match self {
            Self::Sender => Ipv4Addr::new(10, 9, 0, 1),
            Self::Receiver => Ipv4Addr::new(10, 9, 0, 2),
        }
    }
}

impl Network {
    /// Creates both namespaces and the link. The interfaces keep the default offloads of veth pairs.
    pub(super) fn build() -> Result<Self, String> {
        let network = Self {
            sender: namespace()?,
            receiver: namespace()?,
        };
        let peer = network.path(Side::Receiver);
        let link = format!(
            "link add d3host0 mtu {MTU} type veth peer name d3host0 mtu {MTU} netns {peer}"
        );
        network.ip(Side::Sender, &link)?;
        for side in [Side::Sender, Side::Receiver] {
            let address = side.address();
            network.ip(side, &format!("addr add {address}/24 dev d3host0"))?;
            network.ip(side, "link set d3host0 up")?;
            network.ip(side, "link set lo up")?;
        }
        Ok(network)
    }

    /// Returns a path to a host's namespace that other processes can open while this process lives.
    pub(super) fn path(&self, side: Side) -> String {
        let file = match side {
            Side::Sender => &self.sender,
            Side::Receiver => &self.receiver,
        };
        format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
    }

    /// Runs `ip` with the arguments `words` in a host's namespace.
    fn ip(&self, side: Side, words: &str) -> Result<(), String> {
        let path = self.path(side);
        within(move || {
            enter(&path)?;
            let output = Command::new("ip").args(words.split(' ')).output();
            let output = output.map_err(|error| format!("ip: {error}"))?;
            if output.status.success() {
                return Ok(());
            }
            let why = String::from_utf8_lossy(&output.stderr);
            Err(format!("ip {words}: {}", why.trim()))
        })
    }
}

/// Moves the calling thread, and threads that it starts later, into a namespace.
pub(super) fn enter(path: &str) -> Result<(), String> {
    let failed = |why: String| format!("{path}: {why}");
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    setns(&file, CloneFlags::CLONE_NEWNET).map_err(|error| failed(error.to_string()))
}

fn namespace() -> Result<File, String> {
    within(|| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| error.to_string())?;
        File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
    })
}

/// Runs `work` on a new thread, so that the caller stays in its namespace.
fn within<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let inside = scope.spawn(work);
        inside
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
