//! Opening and closing: errors, and restored devices.

use crate::bench::{Bench, interfaces, link};
use crate::namespace::Namespace;
use crate::port;
use duetime_core::{Rate, Span};
use duetime_switch::{Config, Error, Switch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn promiscuity(namespace: &Namespace, device: &str) -> String {
    let words = namespace.ip_output(&format!("-d link show {device}"));
    let mut words = words
        .split_whitespace()
        .skip_while(|word| *word != "promiscuity");
    words
        .nth(1)
        .expect("promiscuity in the output of ip")
        .to_owned()
}

#[test]
fn devices_are_restored() {
    let Some(bench) = Bench::star(2, link(Rate::from_gbps(1), Span::ZERO), &port()) else {
        return;
    };
    assert_eq!(promiscuity(bench.middle(), "port1"), "1");
    let config = Config::star(
        "again",
        interfaces(2, link(Rate::from_gbps(1), Span::ZERO)),
        &port(),
        None,
    );
    let (_, ()) = bench.stop_and(|middle| {
        assert_eq!(promiscuity(middle, "port1"), "0");
        // The devices can be opened again.
        middle.enter(|| Switch::open(&config)).expect("opened");
        assert_eq!(promiscuity(middle, "port1"), "0");
    });
}

#[test]
fn errors_name_the_device() {
    let Some(namespace) = Namespace::new() else {
        println!("skipped: network namespaces need root");
        return;
    };
    namespace.ip("link add port0 type veth peer name far0");
    namespace.ip("link set port0 up");
    namespace.ip("link add port1 type veth peer name far1");
    let open = |names: [&str; 2]| {
        let mut interfaces = interfaces(2, link(Rate::from_gbps(1), Span::ZERO));
        for (interface, name) in interfaces.iter_mut().zip(names) {
            name.clone_into(&mut interface.name);
        }
        let config = Config::star("star", interfaces, &port(), None);
        let error = namespace
            .enter(|| Switch::open(&config))
            .expect_err("an error");
        error.to_string()
    };
    assert_eq!(
        open(["port0", "port1"]),
        "interface `port1` is down: ip link set port1 up"
    );
    assert_eq!(
        open(["lo", "port0"]),
        "interface `lo` is not an Ethernet device"
    );
    let missing = open(["port0", "port7"]);
    assert!(
        missing.starts_with("interface `port7`: no such device"),
        "{missing}"
    );
    assert_eq!(promiscuity(&namespace, "port0"), "0");
}

#[test]
fn removed_devices_end_the_switch() {
    let Some(namespace) = Namespace::new() else {
        println!("skipped: network namespaces need root");
        return;
    };
    for number in 0..2 {
        namespace.ip(&format!(
            "link add port{number} type veth peer name far{number}"
        ));
        namespace.ip(&format!("link set port{number} up"));
        namespace.ip(&format!("link set far{number} up"));
    }
    let config = Config::star(
        "star",
        interfaces(2, link(Rate::from_gbps(1), Span::ZERO)),
        &port(),
        None,
    );
    let mut switch = namespace.enter(|| Switch::open(&config)).expect("opened");
    let stop = Arc::new(AtomicBool::new(false));
    let halt = Arc::clone(&stop);
    let runner = std::thread::spawn(move || switch.run(&halt));
    namespace.ip("link del port1");
    // Broadcasts go to all devices.
    namespace.ip("addr add 10.9.0.9/24 dev far0");
    for _ in 0..3_000 {
        let sent = namespace.enter(|| {
            let socket = std::net::UdpSocket::bind("10.9.0.9:4000").expect("a socket");
            socket.set_broadcast(true).expect("a socket option");
            socket.send_to(&[7; 100], "10.9.0.255:9")
        });
        sent.expect("sent");
        if runner.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    stop.store(true, Ordering::Relaxed);
    match runner.join().expect("no panic") {
        Err(Error::Gone { name }) => assert_eq!(name, "port1"),
        other => panic!("{other:?}"),
    }
}
