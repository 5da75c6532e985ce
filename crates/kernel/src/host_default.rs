//! Default congestion control of network namespaces (`net.ipv4.tcp_congestion_control`).
//!
//! A default refers to the controller's programs, not to its name. Without the changes here, a namespace whose default
//! is Duetime's would keep the programs after they are detached: its new connections would use them, but could set no
//! deadline, and programs attached later would not replace them.

use crate::attachment::CONTROLS;
use nix::sched::{CloneFlags, setns};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;

/// File of the default in the network namespace of the thread that opens it.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Defaults where no earlier one is known. Every kernel has Reno.
const FALLBACKS: [&str; 2] = ["cubic", "reno"];

/// Default congestion control of a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDefault {
    /// Inode number of the namespace.
    pub namespace: u64,
    /// Name of the controller.
    pub name: String,
}

/// Returns the defaults of all network namespaces.
pub(crate) fn all() -> Vec<HostDefault> {
    in_each_namespace(|namespace| {
        Some(HostDefault {
            namespace,
            name: current()?,
        })
    })
}

/// Makes defaults that have the name of one of Duetime's controllers refer to the attached programs.
pub(crate) fn renew() {
    in_each_namespace(|_| fs::write(DEFAULT, current_of_ours()?).ok());
}

/// Replaces the defaults that are Duetime's by those of `earlier`. A namespace without an earlier default takes the one
/// of this process's namespace, which new namespaces inherit, or CUBIC or Reno. Returns the new defaults.
pub(crate) fn restore(earlier: &[HostDefault]) -> Vec<HostDefault> {
    let own = fs::metadata("/proc/self/ns/net").map_or(0, |file| file.ino());
    let earlier_of = |namespace: u64| {
        let is_earlier =
            |default: &&HostDefault| default.namespace == namespace && !is_ours(&default.name);
        earlier
            .iter()
            .find(is_earlier)
            .map(|default| &*default.name)
    };
    in_each_namespace(|namespace| {
        current_of_ours()?;
        let names = [earlier_of(namespace), earlier_of(own)];
        let mut names = names.into_iter().flatten().chain(FALLBACKS);
        names.find(|name| fs::write(DEFAULT, name).is_ok());
        Some(HostDefault {
            namespace,
            name: current()?,
        })
    })
}

/// Returns true for the name of one of Duetime's controllers.
pub(crate) fn is_ours(name: &str) -> bool {
    CONTROLS.contains(&name)
}

fn current() -> Option<String> {
    let name = fs::read_to_string(DEFAULT).ok()?;
    Some(name.trim().to_owned())
}

fn current_of_ours() -> Option<String> {
    current().filter(|name| is_ours(name))
}

/// Calls `visit` with the inode number of each network namespace, on a thread that is in the namespace. Namespaces that
/// this process may not enter are left out.
fn in_each_namespace<T: Send>(visit: impl Fn(u64) -> Option<T> + Sync) -> Vec<T> {
    let visit_all = || {
        let visit_one = |(number, file): (u64, File)| {
            setns(&file, CloneFlags::CLONE_NEWNET).ok()?;
            visit(number)
        };
        namespaces().into_iter().filter_map(visit_one).collect()
    };
    thread::scope(|scope| {
        let visitor = scope.spawn(visit_all);
        visitor
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns the network namespaces of all processes, and those with a name (`ip netns`), by inode number.
fn namespaces() -> BTreeMap<u64, File> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let is_process = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let processes = entries("/proc").map(|entry| entry.path());
    let processes = processes.filter(is_process).map(|path| path.join("ns/net"));
    let named = entries("/run/netns").map(|entry| entry.path());
    processes
        .chain(named)
        .filter_map(|path| {
            let file = File::open(path).ok()?;
            Some((file.metadata().ok()?.ino(), file))
        })
        .collect()
}
