//! An interface that takes no packets of the configured length, in a network namespace of its own.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "a test says what it skips")]

use duetime_d3::{Endpoint, Flow, Options, Rate, StreamError, stream_error};
use std::io::{ErrorKind, Read, Write};
use std::process::Command;
use std::thread;

/// Set in the process that runs in the namespace.
const INSIDE: &str = "D3_IN_SMALL_NAMESPACE";
const SMALL: u32 = 1_280;

#[test]
fn packets_longer_than_the_interface_takes_are_an_error_of_their_own() {
    if std::env::var_os(INSIDE).is_some() {
        return exchange();
    }
    let may = Command::new("unshare").args(["-n", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    let inside = Command::new("unshare")
        .args(["-n", "sh", "-ec"])
        .arg(format!(
            "ip link set lo mtu {SMALL} up; exec \"$0\" --exact --nocapture \"$1\""
        ))
        .arg(std::env::current_exe().expect("this test"))
        .arg("packets_longer_than_the_interface_takes_are_an_error_of_their_own")
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

/// In the namespace: a stream with long packets ends, one with shorter ones arrives.
fn exchange() {
    let options = Options::new(Rate::from_gbps(1));
    let server = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let (listener, address) = (server.listen(8), server.local_addr().unwrap());
    let serving = thread::spawn(move || {
        // The first never comes to its end: its peer is silent after the error.
        let _long = listener.accept().unwrap();
        let (mut short, _) = listener.accept().unwrap();
        short.read_to_end(&mut Vec::new())
    });
    let flow = Flow {
        bytes: 100_000,
        deadline: None,
    };
    let long = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let mut stream = long.connect(address, flow).unwrap();
    stream.write_all(&vec![7; 100_000]).unwrap();
    let error = stream.delivered().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(stream_error(&error), Some(StreamError::TooLong));
    let again = stream.write(&[7]).unwrap_err();
    assert_eq!(stream_error(&again), Some(StreamError::TooLong));

    let mut small = options;
    small.config.mtu = SMALL;
    let short = Endpoint::bind("127.0.0.1:0", small).unwrap();
    let mut stream = short.connect(address, flow).unwrap();
    stream.write_all(&vec![7; 100_000]).unwrap();
    stream.finish().unwrap();
    stream.delivered().unwrap();
    assert_eq!(serving.join().unwrap().unwrap(), 100_000);
}
