//! Hosts in namespaces around a switch.

use crate::namespace::Namespace;
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_switch::{
    Config, InterfaceConfig, LinkConfig, PortConfig, Report, Statistics, Switch, disable_offloads,
};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Running switch with its hosts; host n has the address 10.9.0.(n + 1).
pub struct Bench {
    config: Config,
    hosts: Vec<Namespace>,
    middle: Arc<Namespace>,
    running: Running,
    /// Prevents two switches from competing for the processors under the real-time scheduler.
    _alone: MutexGuard<'static, ()>,
}

/// Switch in a separate thread.
struct Running {
    stop: Arc<AtomicBool>,
    statistics: Arc<Statistics>,
    runner: JoinHandle<Report>,
}

impl Running {
    fn start(middle: &Arc<Namespace>, config: &Config) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (to, from) = channel();
        let (config, halt) = (config.clone(), Arc::clone(&stop));
        let inside = Arc::clone(middle);
        let runner = thread::spawn(move || {
            let opened = inside.enter(move || Switch::open(&config));
            let mut switch = opened.expect("the switch opens");
            to.send(switch.statistics()).expect("a receiver");
            switch.run(&halt).expect("the switch runs")
        });
        let statistics = from.recv().expect("the switch is open");
        Self {
            stop,
            statistics,
            runner,
        }
    }
}

static ALONE: Mutex<()> = Mutex::new(());

/// Returns a host's NIC.
pub fn link(rate: Rate, latency: Span) -> LinkConfig {
    LinkConfig {
        rate,
        latency,
        loss: 0.0,
        limit: Limit::Unlimited,
        classes: 1,
    }
}

impl Bench {
    /// Starts hosts on one switch. Without root, prints a message and returns `None`.
    pub fn star(hosts: u8, uplink: LinkConfig, port: &PortConfig) -> Option<Self> {
        Self::new(&Config::star("star", interfaces(hosts, uplink), port, None))
    }

    /// Starts the hosts of a configuration with the interfaces of [`interfaces`].
    pub fn new(config: &Config) -> Option<Self> {
        let Some(middle) = Namespace::new() else {
            println!("skipped: network namespaces need root");
            return None;
        };
        // A failed test leaves no state behind, so a poisoned lock is fine.
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let middle = Arc::new(middle);
        middle.enter(quiet);
        let hosts = (0u8..).zip(&config.interfaces);
        let hosts = hosts.map(|(host, _)| attach(&middle, host, config));
        let hosts = hosts.collect();
        Some(Self {
            config: config.clone(),
            running: Running::start(&middle, config),
            hosts,
            middle,
            _alone: alone,
        })
    }

    /// Runs `action` in the namespace of a host.
    pub fn in_host<T: Send>(&self, host: usize, action: impl FnOnce() -> T + Send) -> T {
        self.hosts[host].enter(action)
    }

    /// Returns the namespace of the switch.
    pub fn middle(&self) -> &Namespace {
        &self.middle
    }

    /// Sets a kernel parameter below `/proc/sys/net/ipv4` in every host.
    pub fn set_in_hosts(&self, parameter: &str, value: &str) {
        for host in &self.hosts {
            let path = format!("/proc/sys/net/ipv4/{parameter}");
            host.enter(|| std::fs::write(path, value))
                .expect("a parameter");
        }
    }

    /// Returns the switch's current report.
    pub fn report(&self) -> Report {
        self.running.statistics.report()
    }

    /// Replaces the switch with a new one; packets and state are lost.
    pub fn restart(&mut self) {
        self.running.stop.store(true, Ordering::Relaxed);
        while !self.running.runner.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        self.running = Running::start(&self.middle, &self.config);
    }

    /// Stops the switch.
    pub fn stop(self) -> Report {
        self.stop_and(|_| ()).0
    }

    /// Stops the switch, then runs `action` while the hosts still exist.
    pub fn stop_and<T>(self, action: impl FnOnce(&Namespace) -> T) -> (Report, T) {
        self.running.stop.store(true, Ordering::Relaxed);
        let report = self.running.runner.join().expect("no panic");
        let answer = action(&self.middle);
        (report, answer)
    }
}

/// Returns the interfaces of this many hosts on node 0.
pub fn interfaces(hosts: u8, uplink: LinkConfig) -> Vec<InterfaceConfig> {
    let interface = |host: u8| InterfaceConfig {
        name: format!("port{host}"),
        host: format!("host{host}"),
        address: Some(Ipv4Addr::new(10, 9, 0, host + 1)),
        mac: Some(mac(host)),
        node: 0,
        uplink,
    };
    (0..hosts).map(interface).collect()
}

fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host + 1]
}

fn text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Creates a host with its device `eth0`, connected to the switch's `portN`.
fn attach(middle: &Namespace, number: u8, config: &Config) -> Namespace {
    let host = Namespace::new().expect("a namespace");
    host.enter(quiet);
    let interface = &config.interfaces[usize::from(number)];
    let name = &interface.name;
    middle.ip(&format!(
        "link add {name} type veth peer name eth0 address {} netns {}",
        text(mac(number)),
        host.path()
    ));
    middle.ip(&format!("link set {name} up"));
    host.ip(&format!("addr add 10.9.0.{}/24 dev eth0", number + 1));
    host.ip("link set eth0 up");
    if interface.mac.is_some() {
        for (other, _) in (0u8..)
            .zip(&config.interfaces)
            .filter(|(other, _)| *other != number)
        {
            host.ip(&format!(
                "neigh add 10.9.0.{} lladdr {} nud permanent dev eth0",
                other + 1,
                text(mac(other))
            ));
        }
    }
    host.enter(|| disable_offloads("eth0"))
        .expect("offloads off");
    host
}

/// Disables the kernel's own packets in this namespace.
fn quiet() {
    let path = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
    // Without IPv6, the file does not exist.
    let _ = std::fs::write(path, "1");
}
