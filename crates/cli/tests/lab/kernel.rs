//! `duetime kernel`: attach, status and detach.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::machine::{self, Machine, Traces};
use crate::{duetime, output_of};

/// Process that attaches, killed on drop.
struct Attached(Child);

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn attach_status_and_detach() {
    let Some(_machine) = Machine::take("duetime kernel") else {
        return;
    };
    let before = Traces::now();
    let child = duetime(&["kernel", "attach"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut attached = Attached(child.expect("the binary starts"));
    machine::eventually(|| output_of(&["kernel", "status"]).code == Some(0));
    let json = output_of(&["kernel", "status", "--json"]).out;
    let status: Value = serde_json::from_str(&json).expect("JSON");
    let table = output_of(&["kernel", "status"]).out;
    let (shown, left) = if let Some(error) = status["sockets_error"].as_str() {
        // This kernel permits no tracing programs.
        assert!(status["sockets"].is_null(), "{json}");
        (error, "keep it until they close")
    } else {
        assert_eq!(status["sockets"], serde_json::json!([]), "{json}");
        ("no socket uses", "detached\n")
    };
    assert!(table.contains(shown), "{table}");
    let detach = output_of(&["kernel", "detach"]);
    assert_eq!(detach.code, Some(0), "{}", detach.err);
    assert!(detach.out.contains(left), "{}", detach.out);
    assert!(attached.0.wait().expect("the process ends").success());
    machine::eventually(|| Traces::now() == before);
}
