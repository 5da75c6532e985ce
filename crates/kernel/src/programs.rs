//! The compiled programs, and their loading through the kernel's verifier.

use crate::release::supports_links;
use crate::{Error, Parameters};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, Program};
use std::os::fd::AsFd;
use std::sync::Mutex;

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

/// Loads the programs with these parameters, without attaching them, and unloads them again.
pub fn verify(parameters: Parameters) -> Result<Vec<Verified>, Error> {
    parameters.check()?;
    let object = load(parameters, supports_links())?;
    let refused = |error: libbpf_rs::Error| Error::Refused {
        what: "to describe its programs".into(),
        reason: error.to_string(),
    };
    object
        .progs()
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

/// Loads the programs into the kernel. With `links` (Linux 6.4 or newer), a link registers each congestion control and
/// its end unregisters it. Without, the map's own entry does and must be deleted explicitly.
pub(crate) fn load(parameters: Parameters, links: bool) -> Result<Object, Error> {
    if let Ok(mut log) = LOG.lock() {
        log.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, append_log)));
    let loaded = open(parameters, links).and_then(OpenObject::load);
    loaded.map_err(|error| {
        let log = LOG.lock().map(|log| log.clone()).unwrap_or_default();
        // The verifier returns the same error as missing permission, but writes a log.
        let verified = log.contains("BEGIN PROG LOAD LOG");
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !verified {
            return Error::NotPermitted;
        }
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(30)..];
        Error::Refused {
            what: "to load the programs".into(),
            reason: format!("{error}\n{}", last.join("\n")),
        }
    })
}

fn open(parameters: Parameters, links: bool) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().open_memory(PROGRAMS)?;
    if !links {
        for mut map in object.maps_mut() {
            if map.map_type() == MapType::StructOps {
                map.set_map_flags(0)?;
            }
        }
    }
    let mut map = object
        .maps_mut()
        .find(|map| map.name() == ".rodata.parameters")
        .expect("present in the object file");
    map.set_initial_value(&parameters.to_bytes())?;
    Ok(object)
}

/// Returns the map with this name.
pub(crate) fn find_map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Map<'a> {
    object
        .maps()
        .find(|map| map.name() == name)
        .expect("present in the object file")
}
