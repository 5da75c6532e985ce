//! An interface with an MTU below the configured packet length, in a network namespace.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "tests print skips")]

use duetime_due::{Failure, Message, Options, Rate, Socket, failure};
use std::io::ErrorKind;
use std::process::Command;

/// Set in the process that runs in the namespace.
const INSIDE: &str = "DUE_IN_SMALL_NAMESPACE";
const SMALL: u32 = 1_280;

#[test]
fn packets_above_the_mtu_fail() {
    if std::env::var_os(INSIDE).is_some() {
        return exchange();
    }
    let probe = Command::new("unshare").args(["-n", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    let script = format!("ip link set lo mtu {SMALL} up; exec \"$0\" --exact --nocapture \"$1\"");
    let inside = Command::new("unshare")
        .args(["-n", "sh", "-ec", &script])
        .arg(std::env::current_exe().expect("this test"))
        .arg("packets_above_the_mtu_fail")
        .env(INSIDE, "1")
        .output()
        .expect("unshare runs");
    assert!(
        inside.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&inside.stdout),
        String::from_utf8_lossy(&inside.stderr)
    );
}

/// Checks, in the namespace, that a message with long packets fails and messages with short packets arrive.
fn exchange() {
    let long = Options::new(Rate::from_gbps(1));
    let mut short = long;
    short.config.mtu = SMALL;
    let [receiver, long, short] =
        [long, long, short].map(|options| Socket::bind("127.0.0.1:0", options).unwrap());
    let address = receiver.local_addr().unwrap();
    let message = || Message::new(vec![7; 100_000]);
    let error = long.send(address, message()).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(failure(&error), Some(Failure::TooLong));
    // One packet below the MTU.
    let query = Message::new("query");
    long.send(address, query).unwrap().wait().unwrap();
    assert_eq!(receiver.receive().unwrap().bytes, b"query");
    short.send(address, message()).unwrap().wait().unwrap();
    assert_eq!(receiver.receive().unwrap().bytes, vec![7; 100_000]);
}
