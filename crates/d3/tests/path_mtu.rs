//! An interface with an MTU below the configured packet length, in a network namespace.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "tests print skips")]

use duetime_d3::{Endpoint, Flow, Options, Rate, StreamError, stream_error};
use std::io::{ErrorKind, Read, Write};
use std::process::Command;
use std::thread;

/// Set in the process that runs in the namespace.
const INSIDE: &str = "D3_IN_SMALL_NAMESPACE";
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
    let inside = Command::new("unshare")
        .args(["-n", "sh", "-ec"])
        .arg(format!(
            "ip link set lo mtu {SMALL} up; exec \"$0\" --exact --nocapture \"$1\""
        ))
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

/// Checks, in the namespace, that a stream with long packets fails and one with short packets succeeds.
fn exchange() {
    let options = Options::new(Rate::from_gbps(1));
    let server = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let (listener, address) = (server.listen(8), server.local_addr().unwrap());
    let serving = thread::spawn(move || {
        // The first stream never ends, because its peer is silent after the error.
        let _long = listener.accept().unwrap();
        let (mut short, _) = listener.accept().unwrap();
        short.read_to_end(&mut Vec::new())
    });
    let flow = Flow::new(100_000, None);
    let long = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let mut stream = long.connect(address, flow).unwrap();
    stream.write_all(&vec![7; 100_000]).unwrap();
    let error = stream.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(stream_error(&error), Some(StreamError::TooLong));
    let error = stream.write(&[7]).unwrap_err();
    assert_eq!(stream_error(&error), Some(StreamError::TooLong));

    let mut small = options;
    small.config.wire.mtu = SMALL;
    let short = Endpoint::bind("127.0.0.1:0", small).unwrap();
    let mut stream = short.connect(address, flow).unwrap();
    stream.write_all(&vec![7; 100_000]).unwrap();
    stream.close().unwrap();
    assert_eq!(serving.join().unwrap().unwrap(), 100_000);
}
