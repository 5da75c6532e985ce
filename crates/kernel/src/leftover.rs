//! Duetime's objects in the kernel, and those left by killed processes.

use crate::Error;
use crate::attachment::CONTROLS;
use crate::host_default::{self, HostDefault};
use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use libbpf_rs::{MapCore, MapHandle, MapType};

/// Program of the deadline option, `duetime_setsockopt` in the kernel's 15 bytes. On every kernel, only descriptors of
/// the attaching process refer to it, including its link to the cgroup, so it ends with the process.
const PROCESS_PROGRAM: &str = "duetime_setsock";
/// Program of both congestion controls, loaded while one is registered.
const REGISTRATION_PROGRAM: &str = "duetime_release";

/// Returns the programs and maps of Duetime in the kernel, such as `program duetime_release`, sorted. Without privilege
/// the result is empty.
///
/// The kernel frees them shortly after the last link, registration or socket that uses them.
pub fn in_kernel() -> Vec<String> {
    let programs = ProgInfoIter::default().map(|program| ("program", program.name));
    let maps = MapInfoIter::default().map(|map| ("map", map.name));
    let mut found: Vec<String> = programs
        .chain(maps)
        .map(|(kind, name)| (kind, name.to_string_lossy().into_owned()))
        // The kernel keeps 15 bytes of a name.
        .filter(|(_, name)| name.starts_with("duetime") || name.starts_with(".rodata.paramet"))
        .map(|(kind, name)| format!("{kind} {name}"))
        .collect();
    found.sort();
    found
}

/// Returns the registered congestion controls of Duetime whose attaching process has ended.
///
/// This happens only before Linux 6.4, after `kill -9`, because a registration without a link does not end with its
/// process. Without privilege the result is empty.
pub fn left_registered() -> Vec<&'static str> {
    let loaded = |name: &str| ProgInfoIter::default().any(|program| program.name == name);
    if loaded(REGISTRATION_PROGRAM) && !loaded(PROCESS_PROGRAM) {
        offered()
    } else {
        Vec::new()
    }
}

/// Unregisters the congestion controls of [`left_registered`] and returns their names. Connections that use them keep
/// them until they close.
///
/// # Errors
///
/// Returns an error if the kernel refuses, for example without privilege.
pub fn unregister_left() -> Result<Vec<&'static str>, Error> {
    let left = left_registered();
    for name in &left {
        // An unregistered older map of this name may still exist for an open connection. The kernel refuses to delete
        // it, so only the registered names count afterwards.
        let refusals: Vec<String> = MapInfoIter::default()
            .filter(|map| map.ty == MapType::StructOps && map.name == *name)
            .filter_map(|info| {
                let map = MapHandle::from_map_id(info.id);
                map.and_then(|map| map.delete(&0_u32.to_ne_bytes())).err()
            })
            .map(|error| error.to_string())
            .collect();
        if offered().contains(name) {
            return Err(Error::Refused {
                what: format!("to unregister {name}"),
                reason: match refusals.last() {
                    Some(refusal) => refusal.clone(),
                    None => "no map with this name was found".into(),
                },
            });
        }
    }
    Ok(left)
}

/// Returns the network namespaces whose default is a controller of Duetime that is no longer registered. This happens if
/// the attaching process is killed. Without privilege the result is empty.
pub fn left_defaults() -> Vec<HostDefault> {
    let offered = offered();
    let mut defaults = host_default::all();
    defaults.retain(|default| {
        host_default::is_ours(&default.name) && !offered.contains(&default.name.as_str())
    });
    defaults
}

/// Replaces the defaults of [`left_defaults`] by CUBIC or Reno. Returns the namespaces with their new defaults.
pub fn restore_left_defaults() -> Vec<HostDefault> {
    if left_defaults().is_empty() {
        Vec::new()
    } else {
        host_default::restore(&[])
    }
}

/// Returns the registered congestion controls of Duetime.
pub(crate) fn offered() -> Vec<&'static str> {
    let offered = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    let mut names = CONTROLS.to_vec();
    names.retain(|name| offered.split_whitespace().any(|word| word == *name));
    names
}
