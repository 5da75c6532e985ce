//! The compiled programs, and their loading through the kernel's verifier.

use crate::handover;
use crate::release::supports_links;
use crate::{Error, Parameters};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, Program};
use std::os::fd::AsFd;
use std::sync::Mutex;

/// Program that lists the sockets, the only one of type tracing.
pub(crate) const LIST: &str = "duetime_sockets";

/// Compiled programs.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/duetime.o"));

/// Verifier statistics of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Name of the program.
    pub program: String,
    /// Number of instructions that the verifier walked; the kernel allows 1,000,000.
    pub instructions: u32,
}

/// Loads the programs with these parameters, without attaching them, and unloads them again. The result lacks the
/// program that lists the sockets if the kernel permits no tracing programs.
pub fn verify(parameters: Parameters) -> Result<Vec<Verified>, Error> {
    parameters.check()?;
    let object = load(parameters, supports_links())?;
    let refused = |error: libbpf_rs::Error| Error::Refused {
        what: "to describe its programs".into(),
        reason: error.to_string(),
    };
    object
        .progs()
        .filter(Program::autoload)
        .map(|program| {
            let id = Program::id_from_fd(program.as_fd()).map_err(refused)?;
            let info = ProgInfoIter::default().find(|info| info.id == id);
            Ok(Verified {
                program: program.name().to_string_lossy().into_owned(),
                instructions: info.map_or(0, |info| info.verified_insns),
            })
        })
        .collect()
}

/// Messages of libbpf while it loads, including the verifier's log.
static LOG: Mutex<String> = Mutex::new(String::new());

#[expect(clippy::needless_pass_by_value, reason = "required by libbpf-rs")]
fn append_log(_level: PrintLevel, message: String) {
    if let Ok(mut log) = LOG.lock() {
        log.push_str(&message);
    }
}

/// Loads the programs into the kernel, with the maps of remaining connections. With `links` (Linux 6.4 or newer), a
/// link registers each congestion control and its end unregisters it. Without, the map's own entry does and must be
/// deleted explicitly.
///
/// Omits the program that lists the sockets if the kernel refuses it alone; [`has_list`] then returns false.
pub(crate) fn load(parameters: Parameters, links: bool) -> Result<Object, Error> {
    let loaded = try_load(parameters, links, true).or_else(|refusal| {
        if refusal.forbids_only_list() {
            try_load(parameters, links, false)
        } else {
            Err(refusal)
        }
    });
    loaded.map_err(Error::from)
}

/// Returns true if the program that lists the sockets is loaded.
pub(crate) fn has_list(object: &Object) -> bool {
    object
        .progs()
        .any(|program| program.name() == LIST && program.autoload())
}

/// Error of loading, with the messages of libbpf.
struct Refusal {
    error: libbpf_rs::Error,
    log: String,
}

impl Refusal {
    /// Returns true if the kernel permits no tracing programs, for example because of lockdown or a security module.
    fn forbids_only_list(&self) -> bool {
        let forbidden = forbidden_programs(&self.log);
        self.error.kind() == libbpf_rs::ErrorKind::PermissionDenied && forbidden == [LIST]
    }
}

impl From<Refusal> for Error {
    fn from(Refusal { error, log }: Refusal) -> Self {
        // The verifier returns the same error as missing permission, but writes a log.
        let verified = log.contains("BEGIN PROG LOAD LOG");
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !verified {
            return Self::NotPermitted;
        }
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(30)..];
        Self::Refused {
            what: "to load the programs".into(),
            reason: format!("{error}\n{}", last.join("\n")),
        }
    }
}

/// Returns the programs for which the log reports missing permission (`EPERM`). Programs that the verifier rejects,
/// usually with `EACCES`, are not among them.
fn forbidden_programs(log: &str) -> Vec<&str> {
    log.lines()
        .filter_map(|line| {
            let (name, message) = line.strip_prefix("libbpf: prog '")?.split_once("': ")?;
            (message == "BPF program load failed: -EPERM").then_some(name)
        })
        .collect()
}

fn try_load(parameters: Parameters, links: bool, list: bool) -> Result<Object, Refusal> {
    if let Ok(mut log) = LOG.lock() {
        log.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, append_log)));
    let loaded = open(parameters, links, list).and_then(OpenObject::load);
    loaded.map_err(|error| Refusal {
        error,
        log: LOG.lock().map(|log| log.clone()).unwrap_or_default(),
    })
}

fn open(parameters: Parameters, links: bool, list: bool) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().open_memory(PROGRAMS)?;
    if !links {
        for mut map in object.maps_mut() {
            if map.map_type() == MapType::StructOps {
                map.set_map_flags(0)?;
            }
        }
    }
    for mut program in object.progs_mut() {
        if program.name() == LIST {
            program.set_autoload(list);
        }
    }
    let mut map = object
        .maps_mut()
        .find(|map| map.name() == ".rodata.parameters")
        .expect("present in the object file");
    map.set_initial_value(&parameters.to_bytes())?;
    handover::take_over(&mut object)?;
    Ok(object)
}

/// Returns the map with this name.
pub(crate) fn find_map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Map<'a> {
    object
        .maps()
        .find(|map| map.name() == name)
        .expect("present in the object file")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages about a program that the kernel refuses.
    fn log(program: &str, error: &str) -> String {
        format!(
            "libbpf: prog '{program}': BPF program load failed: {error}\n\
             libbpf: prog '{program}': -- BEGIN PROG LOAD LOG --\n\
             processed 0 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n\
             -- END PROG LOAD LOG --\n\
             libbpf: prog '{program}': failed to load: {error}\n"
        )
    }

    #[test]
    fn forbidden_programs_are_not_rejected_ones() {
        assert_eq!(forbidden_programs(&log(LIST, "-EPERM")), [LIST]);
        assert!(forbidden_programs(&log(LIST, "-EACCES")).is_empty());
        let other = log("duetime_release", "-EPERM");
        assert_eq!(forbidden_programs(&other), ["duetime_release"]);
    }
}
