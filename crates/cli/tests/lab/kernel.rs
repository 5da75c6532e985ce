//! `duetime kernel`: attach, status and detach.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::machine::{self, Machine, Traces};
use crate::{duetime, output_of};

/// States of a TCP connection that its program has closed: `FIN_WAIT1`, `FIN_WAIT2`, `LAST_ACK` and `CLOSING`
/// (`tcp_states.h`).
const CLOSED_BY_PROGRAM: [u64; 4] = [4, 5, 9, 11];

/// Process that attaches, killed on drop.
struct Attached(Child);

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a command with the privileges of the systemd unit.
fn attach_as_unit() -> Command {
    let unit = output_of(&["kernel", "unit"]).out;
    let mut lines = unit.lines();
    let bounds = lines.find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let bounds = bounds.expect("capabilities").to_lowercase();
    let bounds = bounds.replace("cap_", "+").replace(' ', ",");
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--bounding-set=-all,{bounds}"))
        .arg("--no-new-privs")
        .arg(duetime(&[]).get_program())
        .args(["kernel", "attach"]);
    command
}

#[test]
fn attach_status_and_detach() {
    let Some(machine) = Machine::take("duetime kernel") else {
        return;
    };
    // What a process that was killed has left would be removed during the test.
    output_of(&["kernel", "detach"]);
    let before = Traces::now();
    let path = machine.path("notify");
    let systemd = UnixDatagram::bind(&path).expect("a socket");
    let child = attach_as_unit()
        .env("NOTIFY_SOCKET", &path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut attached = Attached(child.expect("the binary starts"));
    systemd
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a limit");
    let mut notification = [0; 100];
    let length = systemd.recv(&mut notification).expect("a notification");
    assert_eq!(&notification[..length], b"READY=1");
    let json = output_of(&["kernel", "status", "--json"]).out;
    let status: Value = serde_json::from_str(&json).expect("JSON");
    let table = output_of(&["kernel", "status"]).out;
    let (shown, left) = if let Some(error) = status["sockets_error"].as_str() {
        // This kernel permits no tracing programs.
        assert!(status["sockets"].is_null(), "{json}");
        (error, "keep it until they close")
    } else {
        let sockets = status["sockets"].as_array().expect("sockets");
        if sockets.is_empty() {
            ("no socket uses", "detached\n")
        } else {
            // Connections of earlier tests are closing: their peers' namespaces are gone, and the kernel repeats what is not
            // acknowledged for up to two minutes.
            let mut states = sockets.iter().map(|socket| socket["tcp_state"].as_u64());
            assert!(
                states.all(|state| state.is_some_and(|state| CLOSED_BY_PROGRAM.contains(&state))),
                "{json}"
            );
            ("duetime_", "detached")
        }
    };
    assert!(table.contains(shown), "{table}");
    let detach = output_of(&["kernel", "detach"]);
    assert_eq!(detach.code, Some(0), "{}", detach.err);
    assert!(detach.out.contains(left), "{}", detach.out);
    assert!(attached.0.wait().expect("the process ends").success());
    machine::wait_for(&before, Traces::now);
}
