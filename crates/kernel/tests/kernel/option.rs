//! The deadline option through the Python helper, from an unprivileged process: invalid input is rejected, messages
//! count down, and sockets created outside the cgroup lack the option.

use crate::attach::wait_until_clean;
use crate::machine::Machine;
use duetime_kernel::deadline::{self, Deadline};
use duetime_kernel::{Attachment, Options};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Cgroup of this test, removed on drop.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new() -> Self {
        let mounts = fs::read_to_string("/proc/mounts").expect("mounts");
        let root = mounts
            .lines()
            .find(|line| line.split(' ').nth(2) == Some("cgroup2"))
            .and_then(|line| line.split(' ').nth(1))
            .expect("a cgroup v2 mount");
        let path = Path::new(root).join(format!("duetime-test-{}", std::process::id()));
        fs::create_dir(&path).expect("a cgroup");
        Self(path)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn option_rejects_invalid_input() {
    let Some(_machine) = Machine::take("option") else {
        return;
    };
    let cgroup = Cgroup::new();
    let attachment = Attachment::attach(&Options {
        cgroup: Some(cgroup.0.clone()),
        ..Options::default()
    })
    .expect("attached");
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    for place in ["inside", "outside"] {
        let command = match place {
            "inside" => r#"echo $$ > "$0/cgroup.procs" && exec python3 "$@""#,
            _ => r#"exec python3 "$@""#,
        };
        let output = Command::new("sh")
            .args(["-c", command])
            .arg(&cgroup.0)
            .arg(crate_directory.join("tests/kernel/option.py"))
            .arg(place)
            .arg(crate_directory.join("../../python/duetime"))
            .output()
            .expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {errors}");
    }
    drop(attachment);
    wait_until_clean();
}

#[test]
fn write_only_option_cannot_be_read() {
    let Some(_machine) = Machine::take("write-only option") else {
        return;
    };
    let attachment = Attachment::attach(&Options {
        write_only: true,
        ..Options::default()
    })
    .expect("attached");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let message = Deadline {
        bytes: 1_000,
        within: Duration::from_secs(1),
    };
    deadline::set(socket.as_fd(), &message).expect("a deadline");
    let refused = deadline::get(socket.as_fd()).expect_err("no program reads the option");
    let errors = [libc::EOPNOTSUPP, libc::ENOPROTOOPT].map(Some);
    assert!(errors.contains(&refused.raw_os_error()), "{refused}");
    drop(attachment);
    wait_until_clean();
}
