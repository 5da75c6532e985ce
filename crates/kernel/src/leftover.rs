//! What of Duetime is in the kernel, and what a process that was killed has left there.

use crate::Error;
use crate::attachment::CONTROLS;
use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use libbpf_rs::{MapCore, MapHandle, MapType};

/// The program that lists the sockets. Its link ends with the process that has attached it, on every kernel.
const OF_PROCESS: &str = "duetime_sockets";
/// A program of both congestion controls, in the kernel as long as one is registered.
const OF_REGISTRATION: &str = "duetime_release";

/// Programs and maps of Duetime in the kernel, as `program duetime_release`: sorted, empty without privilege.
///
/// The kernel frees them a moment after the last link, registration or socket that uses them.
pub fn in_kernel() -> Vec<String> {
    let programs = ProgInfoIter::default().map(|it| ("program", it.name));
    let maps = MapInfoIter::default().map(|it| ("map", it.name));
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

/// The congestion controls of Duetime that the kernel offers although the process that attached them is gone.
///
/// This happens before Linux 6.4 only, after `kill -9`: a registration without a link does not end with its process.
/// Without privilege nothing of it can be seen, and none is named.
pub fn left_registered() -> Vec<&'static str> {
    let loaded = |name: &str| ProgInfoIter::default().any(|it| it.name == name);
    if loaded(OF_REGISTRATION) && !loaded(OF_PROCESS) {
        offered()
    } else {
        Vec::new()
    }
}

/// Takes the congestion controls of [`left_registered`] out of the kernel; returns their names. Connections that use
/// them keep them until they close.
///
/// # Errors
///
/// The kernel refuses: without privilege, for one.
pub fn unregister_left() -> Result<Vec<&'static str>, Error> {
    let left = left_registered();
    for name in &left {
        // An older map of this name may be there for a connection that uses it still; it is not registered, so the kernel
        // refuses to take it out, and only what is offered afterwards counts.
        let refusals: Vec<String> = MapInfoIter::default()
            .filter(|it| it.ty == MapType::StructOps && it.name == *name)
            .filter_map(|it| {
                let map = MapHandle::from_map_id(it.id);
                map.and_then(|map| map.delete(&0_u32.to_ne_bytes())).err()
            })
            .map(|error| error.to_string())
            .collect();
        if offered().contains(name) {
            return Err(Error::Refused {
                what: format!("to unregister {name}"),
                reason: match refusals.last() {
                    Some(refusal) => refusal.clone(),
                    None => "no map of this name can be found".into(),
                },
            });
        }
    }
    Ok(left)
}

/// The congestion controls of Duetime that the kernel offers.
pub(crate) fn offered() -> Vec<&'static str> {
    let offered = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    let mut names = CONTROLS.to_vec();
    names.retain(|name| offered.split_whitespace().any(|it| it == *name));
    names
}
